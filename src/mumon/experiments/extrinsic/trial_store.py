"""What is done already: a folder in which every finished trial has a file, so that none is trained twice."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from mumon.experiments.extrinsic.plan import Trial
from mumon.utils.atomic import atomic_file
from mumon.utils.strict_json import parse


class Shelf:
    """The files of a folder, by trial: its result on dev, its weights, where it stands, and, if chosen, its test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def weights(self, trial: Trial) -> Path:
        """The best weights; only those of trials that may still be chosen."""
        return self.folder / f"{trial.key}.weights.safetensors"

    def state(self, trial: Trial) -> Path:
        """Where an unfinished trial goes on."""
        return self.folder / f"{trial.key}.state.safetensors"

    def result(self, trial: Trial) -> dict[str, Any] | None:
        """What a finished trial reached on dev."""
        return self._read(trial, "dev")

    def test(self, trial: Trial) -> dict[str, Any] | None:
        """The outcomes of a chosen trial, by the name of the score."""
        return self._read(trial, "test")

    def put_result(self, trial: Trial, result: dict[str, Any]) -> None:
        """Keep the result of a trial; its state is no longer needed."""
        self._write(trial, "dev", result)
        self._drop(self.state(trial))

    def put_test(self, trial: Trial, result: dict[str, Any]) -> None:
        """Keep the test of a chosen trial; nothing else of it is needed any longer."""
        self._write(trial, "test", result)
        self.drop_weights(trial)
        self._drop(self.state(trial))

    def drop_weights(self, trial: Trial) -> None:
        """A trial was tested, or not chosen."""
        self._drop(self.weights(trial))

    def _read(self, trial: Trial, what: str) -> dict[str, Any] | None:
        with suppress(OSError, ValueError):  # not there, or of a machine that lost power: train it again
            record = parse((self.folder / f"{trial.key}.{what}.json").read_bytes())
            return record if isinstance(record, dict) else None
        return None

    def _write(self, trial: Trial, what: str, record: dict[str, Any]) -> None:
        with atomic_file(self.folder / f"{trial.key}.{what}.json") as file:
            file.write(json.dumps(record).encode())

    @staticmethod
    def _drop(path: Path) -> None:
        path.unlink(missing_ok=True)
