"""Finished trials on disk, so that none is trained twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mumon.experiments.extrinsic.plan import Trial
from mumon.experiments.result_store import ResultStore


class TrialStore:
    """The files of each trial: its result on dev, its best weights, its unfinished state and, if chosen, its test.

    Parameters
    ----------
    folder
        Where the files are; they are named by `Trial.key`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._results = folder, ResultStore(folder)

    def weights_path(self, trial: Trial) -> Path:
        """Return the file of the best weights. Only trials that may still be chosen have one."""
        return self._results.path(trial.key, "weights.safetensors")

    def state_path(self, trial: Trial) -> Path:
        """Return the file from which an unfinished trial resumes."""
        return self._results.path(trial.key, "state.safetensors")

    def read_result(self, trial: Trial) -> dict[str, Any] | None:
        """Return the dev result of a finished trial, or None if it has to be trained."""
        return self._results.read(f"{trial.key}.dev")

    def read_test(self, trial: Trial) -> dict[str, Any] | None:
        """Return the outcomes of a chosen trial by the name of the score, or None if it has to be tested."""
        return self._results.read(f"{trial.key}.test")

    def save_result(self, trial: Trial, result: dict[str, Any]) -> None:
        """Save the dev result of a trial; its state is no longer needed."""
        self._results.write(f"{trial.key}.dev", result)
        self.state_path(trial).unlink(missing_ok=True)

    def save_test(self, trial: Trial, result: dict[str, Any]) -> None:
        """Save the test of a chosen trial; its weights and state are no longer needed."""
        self._results.write(f"{trial.key}.test", result)
        self.drop_weights(trial)
        self.state_path(trial).unlink(missing_ok=True)

    def drop_weights(self, trial: Trial) -> None:
        """Remove the weights of a trial that was tested or not chosen."""
        self.weights_path(trial).unlink(missing_ok=True)
