"""One line of JSON for each finished run; a run that has a line is not trained again."""

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
    """One training and its scores × 100 on the dev halves, never on the test halves.

    Attributes
    ----------
    options, seed
        How it was trained, beside the options that all runs share.
    dev, mean
        Scores by task, and their mean.
    covered, asked
        Dev questions whose words are all in the vocabulary, of all dev questions.
    loss
        Mean loss of the last epoch.
    seconds
        Time of the training.
    failed
        Why there is no score, or None.
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
        """Short name of the run."""
        return make_run_key(self.options, self.seed)

    def to_json(self) -> dict[str, Any]:
        """Return the fields; nan becomes None."""
        record = asdict(self)
        record["dev"] = {name: _nan_to_none(score) for name, score in self.dev.items()}
        return {**record, "mean": _nan_to_none(self.mean), "loss": _nan_to_none(self.loss)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Run:
        """Return the run that `to_json` wrote; raise ValueError or KeyError for anything else."""
        if not isinstance(record["failed"], str | None):
            raise ValueError("failed is neither text nor null")
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
    """The finished runs of a folder, by their keys.

    Parameters
    ----------
    folder
        The folder of the sweep.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / RUNS_NAME
        self.runs = self._read()

    def add(self, run: Run) -> None:
        """Write a finished run; it is on the disk when this returns."""
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
    """Return a short name for a configuration and a seed."""
    return digest_json([sorted(options.items()), seed], size=6)


def count_finished_runs(folder: str | os.PathLike[str]) -> int:
    """Return the number of finished runs in a folder."""
    path = Path(folder) / RUNS_NAME
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _format_line(run: Run) -> bytes:
    return json.dumps(run.to_json(), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _nan_to_none(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _none_to_nan(name: str, number: float | None) -> float:
    return math.nan if number is None else check_float(name, number)


def _check_value(name: str, value: Any) -> Any:
    """Return the value of an option if it is a single value that JSON can hold."""
    if value is None or isinstance(value, str | bool):
        return value
    return check_integer(name, value, least=-(1 << 63)) if isinstance(value, int) else check_float(name, value)
