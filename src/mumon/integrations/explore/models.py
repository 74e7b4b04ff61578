"""The vectors that the page shows, with their name, settings and history, and the completion of words."""

from __future__ import annotations

import ast
from bisect import bisect_left
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import MissingWordError
from mumon.vectors.neighbours import Floats
from mumon.vectors.word_vectors import WordVectors

MOST_EXAMPLES = 8


class AbsentWordError(MissingWordError):
    """A word is missing; `suggestion` is the word that the sentence proposes instead, if it does."""

    def __init__(self, sentence: str, word: str, suggestion: str | None = None) -> None:
        super().__init__(sentence)
        self.word, self.suggestion = word, suggestion


class Model:
    """One model on the page. The page knows every word as text; integer keys are converted here.

    >>> model = Model("m", WordVectors(["tea", "Team", "cup"], np.eye(3, dtype=np.float32)))
    >>> model.complete("te", 5)
    [0, 1]
    """

    def __init__(
        self,
        name: str,
        wv: WordVectors,
        settings: dict[str, Any] | None = None,
        history: list[dict[str, Any]] | None = None,
    ) -> None:
        self.name, self.wv = name, wv
        self.settings, self.history = settings or {}, history or []
        self.numbered = bool(getattr(wv, "integer_keys", False))
        self.words: list[str] = [str(key) for key in wv.index_to_key] if self.numbered else wv.index_to_key
        self._rows = {word: row for row, word in enumerate(self.words)} if self.numbered else wv.key_to_index
        self._completing = Lock()

    def __contains__(self, word: str) -> bool:
        return word in self._rows

    def find_row(self, word: str) -> int:
        """Return the row of a word, or raise an error that says it is missing."""
        row = self._rows.get(word)
        if row is not None:
            return row
        if self.numbered:
            sentence = f"{word!r} is not among the {len(self.words)} keys, which are whole numbers; check it"
            raise AbsentWordError(sentence, word)
        try:
            return self.wv.get_index(word)
        except MissingWordError as error:
            raise AbsentWordError(str(error), word, self._parse_suggestion(str(error))) from None

    def _parse_suggestion(self, sentence: str) -> str | None:
        _, _, end = sentence.rpartition("; did you mean ")
        try:
            word = ast.literal_eval(end.removesuffix("?"))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
        return word if isinstance(word, str) and word in self else None

    def composes(self, word: str) -> bool:
        """Return whether a word has no row and yet a vector, made of its n-grams."""
        return word not in self and not self.numbered and word in self.wv

    def find_key(self, word: str) -> Any:
        """Return the key that the vectors have for a word."""
        return word if self.composes(word) else self.wv.index_to_key[self.find_row(word)]

    def select_vectors(self, rows: NDArray[np.int64]) -> Floats:
        """Return some rows of the matrix."""
        chosen: Floats = self.wv.vectors[rows]
        return chosen

    def find_count(self, row: int) -> int | None:
        """Return how often a word was seen, if that is known."""
        return None if self.wv.counts is None else int(self.wv.counts[row])

    @cached_property
    def by_frequency(self) -> NDArray[np.int64]:
        """Rows, the most frequent first; without counts, the file is assumed to be in that order."""
        if self.wv.counts is None:
            return np.arange(len(self.words))
        return np.argsort(-self.wv.counts, kind="stable")

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of each row by frequency, from 0."""
        ranks = np.empty(len(self.words), np.int64)
        ranks[self.by_frequency] = np.arange(len(ranks))
        return ranks

    @property
    def first_rate(self) -> float | None:
        """The rate at which training began, if it is known; the history has only the rates at the end of each epoch.

        A model keeps the schedule of its last training alone, and an earlier training may have begun at another rate.
        """
        schedule = self.settings.get("schedule")
        if not self.history or not isinstance(schedule, dict):
            return None
        first, least, total = (schedule.get(name) for name in ("alpha", "min_alpha", "total"))
        if not (isinstance(first, float | int) and isinstance(least, float | int) and isinstance(total, int) and total):
            return None
        falls = [first - (first - least) * epoch / total for epoch in range(1, len(self.history) + 1)]
        return float(first) if np.allclose(falls, [one["rate"] for one in self.history], rtol=1e-6) else None

    def complete(self, prefix: str, most: int) -> list[int]:
        """Return the rows of the words that begin with a prefix in any case, the most frequent first."""
        folded = prefix.casefold()
        with self._completing:  # sorted once, even if several threads need it first
            words, rows = self._sorted
        begin, end = bisect_left(words, folded), bisect_left(words, folded + "\U0010ffff")
        found = rows[begin:end]
        if len(found) > most:
            found = found[np.argpartition(self.ranks[found], most)[:most]]
        return [int(row) for row in found[np.argsort(self.ranks[found])]]

    @cached_property
    def _sorted(self) -> tuple[list[str], NDArray[np.int64]]:
        folded = [word.casefold() for word in self.words]
        order = sorted(range(len(folded)), key=folded.__getitem__)
        return [folded[row] for row in order], np.array(order, np.int64)

    @cached_property
    def examples(self) -> list[str]:
        """Words to begin with: neither the most frequent, which say little, nor rare ones."""
        found: list[str] = []
        for rank in np.unique(np.geomspace(150, 6000, 2 * MOST_EXAMPLES).astype(int)):
            nearby = (self.words[row] for row in self.by_frequency[rank : rank + 40])
            word = next((word for word in nearby if _is_example(word) and word not in found), None)
            found += [] if word is None else [word]
        return found[:: max(1, len(found) // MOST_EXAMPLES)][:MOST_EXAMPLES] or self.words[:MOST_EXAMPLES]


def _is_example(word: str) -> bool:
    return word.isalpha() and (len(word) > 4 or not word.isascii()) and len(word) < 16


def open_model(path: str, limit: int | None = None) -> Model:
    """Load vectors, and from a model folder also how they were trained."""
    wv = WordVectors.load(path, limit=limit)
    settings: dict[str, Any] = {}
    history: list[dict[str, Any]] = []
    if Path(path).is_dir():
        from mumon.formats.directory import load_model
        from mumon.training.run_state import Epoch

        saved = load_model(path, output=False)  # the matrix is mapped: only the vocabulary is read twice
        settings = saved.config
        history = [
            {"epoch": one.epoch, "loss": number, "rate": one.alpha, "speed": round(one.tokens_per_second)}
            for one in map(Epoch.from_json, saved.history)
            for number in (None if one.loss != one.loss else one.loss,)
        ]
    return Model(Path(path).resolve().name, wv, settings, history)


def open_models(paths: list[str], limit: int | None = None) -> list[Model]:
    """Open models; if two have the same name, parts of their folders are added until the names differ."""
    models = [open_model(path, limit) for path in paths]
    parts = [Path(path).resolve().parts for path in paths]
    if len(models) > 1 and models[0].name == models[1].name and parts[0] != parts[1]:
        shared = 1
        longest = min(map(len, parts))
        while shared < longest and parts[0][-shared:] == parts[1][-shared:]:
            shared += 1
        for model, names in zip(models, parts, strict=True):
            model.name = "/".join(names[-shared:])
    return models
