"""The models of a sweep: the best in best.mumon, and in kept/ those that may still be needed."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from mumon.experiments.sweep.runs import Run
from mumon.experiments.sweep.space import Options
from mumon.fasttext import make_model
from mumon.training.model_options import MODEL_OPTIONS
from mumon.training.settings import Settings
from mumon.utils.atomic import CONFIG_NAME
from mumon.utils.strict_json import parse
from mumon.word2vec import Word2Vec

BEST_NAME = "best.mumon"
MODELS_NAME = "kept"


class ModelStore:
    """Models on disk by the run that made them.

    A model is first saved under the name of its run and then moved by renaming. So a sweep that was interrupted finds
    each model that it needs in one place or the other.

    Parameters
    ----------
    folder
        The folder of the sweep.
    fixed
        The options that all runs share.
    """

    def __init__(self, folder: Path, fixed: Options) -> None:
        self.best, self._folder, self._fixed = folder / BEST_NAME, folder / MODELS_NAME, fixed

    def save(self, run: Run, model: Word2Vec) -> None:
        """Save the model of a run."""
        self._folder.mkdir(exist_ok=True)
        model.save(self._path(run))

    def find(self, run: Run) -> Path | None:
        """Return the path of the model of a run, or None if it is gone."""
        signature = self._expect_signature(run)
        return next((path for path in (self.best, self._path(run)) if _read_signature(path) == signature), None)

    def arrange(self, wanted: Sequence[Run], best: Run | None) -> None:
        """Move the best model to best.mumon and remove all models that are not wanted.

        Parameters
        ----------
        wanted
            The runs whose models may still be needed.
        best
            The run of the best model, or None while no configuration is complete.
        """
        if best is not None and self.find(best) == self._path(best):
            holder = next((run for run in wanted if self.find(run) == self.best), None)
            if holder is not None:
                self.best.rename(self._path(holder))
            elif self.best.exists():
                _discard(self.best, self._folder)
            self._path(best).rename(self.best)
        if self._folder.is_dir():
            keep = {self._path(run) for run in wanted}
            for path in self._folder.iterdir():
                if path not in keep:
                    _discard(path, self._folder)
            if not any(self._folder.iterdir()):
                self._folder.rmdir()

    def _path(self, run: Run) -> Path:
        return self._folder / f"{run.key}.mumon"

    def _expect_signature(self, run: Run) -> dict[str, Any]:
        """Return the settings that the saved model of a run must have."""
        model = make_model(seed=run.seed, **self._fixed, **run.options)
        settings = {**model.settings.to_json(), **{name: getattr(model, name) for name in MODEL_OPTIONS}}
        return _select_settings({**settings, "vector_size": model.vector_size})


def _read_signature(path: Path) -> dict[str, Any] | None:
    """Read the settings that identify the run of a saved model, or None if there is no trained model."""
    try:
        config = parse((path / CONFIG_NAME).read_bytes())
        return _select_settings({**config["training"], "vector_size": config["vector_size"]})
    except (OSError, ValueError, KeyError, TypeError):  # no model, or one that was not trained
        return None


def _select_settings(saved: dict[str, Any]) -> dict[str, Any]:
    """Select the settings that identify a run; the number of threads does not."""
    names = (*(field.name for field in fields(Settings)), *MODEL_OPTIONS, "vector_size")
    return {name: saved.get(name) for name in names if name != "workers"}


def _discard(path: Path, beside: Path) -> None:
    """Remove a model. It loses its name first, so that half a model is never taken for a whole one."""
    nameless = path if path.name.startswith(".") else beside / f".{secrets.token_hex(6)}"
    if nameless != path:
        path.rename(nameless)
    shutil.rmtree(nameless, ignore_errors=True)
