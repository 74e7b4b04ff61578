"""One line of JSON for every finished run: what is written here is never trained again."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mumon.errors import FormatError, to_one_line
from mumon.experiments.result_store import digest_json
from mumon.experiments.sweep.space import Options
from mumon.utils.atomic import atomic_file
from mumon.utils.strict_json import parse
from mumon.utils.validation import check_float, check_integer

RUNS_NAME = "runs.jsonl"


@dataclass(frozen=True)
class Run:
    """What one training brought: scores × 100 on the dev halves, never on the test halves.

    `covered` of the `asked` dev questions had all their words in the vocabulary. A run that `failed` says why, and has
    no scores.
    """

    options: Options
    seed: int
    dev: dict[str, float] = field(default_factory=dict)
    mean: float = math.nan
    covered: int = 0
    asked: int = 0
    loss: float = math.nan
    seconds: float = 0.0
    failed: str | None = None

    @property
    def key(self) -> str:
        """A short name that only this run has."""
        return make_run_key(self.options, self.seed)

    def to_json(self) -> dict[str, Any]:
        """The fields, with null where JSON has no nan."""
        record = asdict(self)
        record["dev"] = {name: _nan_to_none(score) for name, score in self.dev.items()}
        return {**record, "mean": _nan_to_none(self.mean), "loss": _nan_to_none(self.loss)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Run:
        """The reverse of `to_json`."""
        if not isinstance(record["failed"], str | None):
            raise ValueError("failed is no sentence")
        return cls(
            options={name: _check_value(name, value) for name, value in record["options"].items()},
            seed=check_integer("seed", record["seed"], least=0),
            dev={name: _none_to_nan(name, score) for name, score in record["dev"].items()},
            mean=_none_to_nan("mean", record["mean"]),
            covered=check_integer("covered", record["covered"], least=0),
            asked=check_integer("asked", record["asked"], least=0),
            loss=_none_to_nan("loss", record["loss"]),
            seconds=check_float("seconds", record["seconds"]),
            failed=record["failed"],
        )


class RunLog:
    """The runs of a folder, by their keys; `add` has them on the disk before it returns."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RUNS_NAME
        self.runs = self._read()

    def add(self, run: Run) -> None:
        """Write a finished run."""
        with self.path.open("ab") as file:
            file.write(_format_line(run))
            file.flush()
            os.fsync(file.fileno())
        self.runs[run.key] = run

    def _read(self) -> dict[str, Run]:
        if not self.path.exists():
            return {}
        text = self.path.read_bytes()
        lines = text.splitlines()
        runs = []
        for number, line in enumerate(lines, 1):
            try:
                runs.append(Run.from_json(parse(line)))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                if number < len(lines):
                    raise FormatError(
                        f"{self.path} line {number} is damaged ({to_one_line(error)}); remove it to repeat that run"
                    ) from None
        if len(runs) < len(lines) or not text.endswith(b"\n"):  # the last line was cut off while it was written
            with atomic_file(self.path) as file:
                file.writelines(map(_format_line, runs))
        return {run.key: run for run in runs}


def make_run_key(options: Options, seed: int) -> str:
    """A short name for a configuration and a seed."""
    return digest_json([sorted(options.items()), seed], size=6)


def count_finished_runs(folder: str | os.PathLike[str]) -> int:
    """How many runs a folder holds."""
    path = Path(folder) / RUNS_NAME
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _format_line(run: Run) -> bytes:
    return json.dumps(run.to_json(), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _nan_to_none(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _none_to_nan(name: str, number: float | None) -> float:
    return math.nan if number is None else check_float(name, number)


def _check_value(name: str, value: Any) -> Any:
    """The value of an option, which is no list of values and no number that JSON cannot hold."""
    if value is None or isinstance(value, str | bool):
        return value
    return check_integer(name, value, least=-(1 << 63)) if isinstance(value, int) else check_float(name, value)
