"""Models on disk, and models that begin with vectors from disk."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, cast

from mumon.corpus import TextOptions
from mumon.errors import FormatError, OptionError, to_one_line
from mumon.training.checkpoints import Checkpoints
from mumon.training.model_runs import COUNTERS, MODEL_OPTIONS, ModelRuns
from mumon.training.run_state import Epoch
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.utils.progress import Progress
from mumon.utils.threads import available_cores
from mumon.utils.validation import check_integer
from mumon.vectors.word_vectors import WordVectors

if TYPE_CHECKING:
    from typing_extensions import Self

LARGE_CORPUS = 10**9  # how many tokens vectors of unknown origin are taken to have seen
# What a saved model tells the constructor.
SAVED_OPTIONS = (
    *(field.name for field in fields(Settings) if field.name != "objective"),
    *(field.name for field in fields(TextOptions)),
    *MODEL_OPTIONS,
    "comment",
)


class ModelDisk(ModelRuns):
    """Runs of training whose results are saved and loaded."""

    _finished: list[Checkpoints]  # of runs that are over, until their model is saved

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as a folder that mumon, model2vec and sentence-transformers load.

        The checkpoints of the training that made it are then removed.
        """
        from mumon.formats.directory import save_model

        self._take_over_rows()
        vocabulary, history = self._require_vocabulary(), [epoch.to_json() for epoch in self.history]
        config = self._config(self._schedule)
        save_model(path, vocabulary.words, vocabulary.counts, self.wv.vectors, self.syn1neg, config, history)
        for finished in self._finished:
            finished.discard()
        self._finished.clear()

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        matrices: Literal["memory", "disk"] = "memory",
        progress: bool | Progress | None = None,
    ) -> Self:
        """A model written by `save`, ready for questions and for more training, on no more cores than there are.

        `matrices` is the constructor's: a saved model does not say where its matrices were.
        """
        from mumon.formats.directory import has_integer_keys, load_model

        if matrices not in ("memory", "disk"):
            raise OptionError(f"matrices is {matrices!r}; it must be memory or disk")
        loaded = load_model(path)
        saved = loaded.config
        options: dict[str, Any] = {name: saved[name] for name in SAVED_OPTIONS if name in saved}
        try:
            _check_saved(saved)
            options["workers"] = min(saved["workers"], available_cores())
            options.update(sg=int(saved["objective"] == "sg"), matrices=matrices, progress=progress)
            model: Any = cls(vector_size=loaded.vectors.shape[1], **options)  # type: ignore[call-arg]
            model._threads = None  # those of the machine that saved it say nothing of a cluster's
            model._schedule = Schedule(**saved["schedule"])
            model._tokens_before = check_integer("tokens_before", saved.get("tokens_before", 0), least=0)
            model.history = [Epoch.from_json(epoch) for epoch in loaded.history]
            for name in COUNTERS:
                setattr(model, name, check_integer(name, saved.get(name, 0), least=0))
            planned = None if model._schedule.total == model.epochs else model._schedule.total
            planned = saved.get("planned_epochs", planned)
            model._planned = None if planned is None else check_integer("planned_epochs", planned)
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(
                f"{os.fspath(path)} does not say how it was trained ({to_one_line(error)}); load it with "
                "WordVectors.load"
            ) from None
        unk = model.unk if model.unk in loaded.words else None
        integers = has_integer_keys(saved, loaded.words, path)
        model._adopt(loaded.words, loaded.counts, unk, loaded.vectors, loaded.output, integers)
        return cast("Self", model)

    @classmethod
    def from_vectors(cls, vectors: WordVectors | str | os.PathLike[str], **options: Any) -> Self:
        """A model that starts from existing vectors (any readable file) and is then trained further.

        The words and rows are those of the file; output vectors start at zero. `options` are the constructor's; with
        matrices="disk" the rows go from file to file, without ever being in memory together.

        >>> import numpy as np
        >>> from mumon import Word2Vec
        >>> start = WordVectors(["cat", "dog"], np.ones((2, 8), np.float32))
        >>> model = Word2Vec.from_vectors(start, min_count=1, workers=1, epochs=1)
        >>> _ = model.train([["cat", "dog", "bird"]] * 20, merge_vocab="union")
        >>> len(model.wv)
        3
        """
        if "vector_size" in options:
            raise OptionError("vector_size comes with the vectors; leave it out")
        on_disk = options.get("matrices") == "disk"
        wv = vectors if isinstance(vectors, WordVectors) else _load_vectors(vectors, on_disk)
        model: Any = cls(vector_size=wv.vector_size, **options)  # type: ignore[call-arg]
        model._tokens_before = LARGE_CORPUS  # rates for a fresh start would undo what the vectors know
        words, unk = [str(key) for key in wv.index_to_key], model.unk if model.unk in wv.key_to_index else None
        model._adopt(words, wv.counts, unk, wv.vectors, None, wv.integer_keys)
        return cast("Self", model)


def _load_vectors(path: str | os.PathLike[str], on_disk: bool) -> WordVectors:
    if not on_disk:
        return WordVectors.load(path)
    from mumon.formats import open_vectors
    from mumon.training.mmap_matrix import gathered_on_disk

    with open_vectors(path) as source:
        loaded = gathered_on_disk(source)
    words: Any = list(map(int, loaded.words)) if loaded.integer_keys else loaded.words
    return WordVectors(words, loaded.vectors, loaded.counts)


def _check_saved(saved: dict[str, Any]) -> None:
    """Refuse what the constructor, which trusts its caller, would take as it is."""
    if saved["objective"] not in ("cbow", "sg"):
        raise OptionError("objective is neither cbow nor sg")
    for name in ("unk", "text_field", "comment"):
        if not isinstance(saved.get(name), str | None):
            raise OptionError(f"{name} is neither text nor null")
    for name in ("tokenize", "lowercase"):
        if not isinstance(saved.get(name, False), bool):
            raise OptionError(f"{name} is neither true nor false")
