"""Finding the words of a task among the words of the vectors, and composing vectors for those that have no row.

A word with a row of its own is *known*. Vectors with subwords (fastText's) compose a vector for any other word, from
the same spelling that the training text had: if the vocabulary is in lower case, so is the word that is composed,
because the n-grams of its capital letters were never trained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mumon.evaluation.tasks import Task, is_possessive
from mumon.vectors.fasttext_vectors import FastTextVectors
from mumon.vectors.neighbours import Floats
from mumon.vectors.word_vectors import WordVectors

AS_IS, LOWER, APOSTROPHE, COMPOSED, MISSING = "as is", "lower case", "other apostrophe", "composed", "missing"
CASE_SAMPLE = 100_000  # frequent words that show whether a vocabulary is in lower case
FEW_CAPITALS = 0.01  # up to this share of words with capitals; a vocabulary with names and nouns has far more


def list_spellings(word: str) -> Iterator[tuple[str, str]]:
    """List the spellings under which a word is looked up, in order, each with how it was changed.

    >>> [form for form, _ in list_spellings("King's")]
    ["King's", "king's", 'King’s', 'king’s']
    """
    yield word, AS_IS
    yield word.lower(), LOWER
    if is_possessive(word):
        other = word[:-2] + ("’s" if word.endswith("'s") else "'s")
        yield other, APOSTROPHE
        yield other.lower(), APOSTROPHE


def composes_vectors(wv: WordVectors) -> bool:
    """Return whether the vectors compose one for words without a row: fastText's do, if they have their n-grams."""
    return isinstance(wv, FastTextVectors) and wv.subwords is not None and wv.subwords.ngrams.exist


@dataclass
class WordFinder:
    """Finds words among the vectors, in several spellings.

    A word has a *place*: its row; from `len(wv)` on, the number of a vector that was composed for it; -1 if it has no
    vector. Words whose place is less than `end` are known.

    Parameters
    ----------
    wv
        The vectors.
    limit
        Only the first `limit` words are known; None means all.
    """

    wv: WordVectors
    limit: int | None = None
    _found: dict[str, tuple[int, str]] = field(default_factory=dict)
    _composed: list[Floats] = field(default_factory=list)
    _composed_places: dict[str, int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """The first place that is not of a known word."""
        return len(self.wv) if self.limit is None else min(self.limit, len(self.wv))

    @cached_property
    def composes(self) -> bool:
        """Whether words without a row have vectors, too."""
        return composes_vectors(self.wv)

    @cached_property
    def is_lower_case(self) -> bool:
        """Whether the vocabulary is in lower case, but for a few words."""
        words = [str(word) for word in islice(self.wv.index_to_key, CASE_SAMPLE)]
        return sum(word != word.lower() for word in words) <= FEW_CAPITALS * len(words)

    def find(self, word: str) -> tuple[int, str]:
        """Return the row of a known word and how it was spelt, or -1 and "composed" or "missing"."""
        place, how = self._find_place(word)
        return (place if place < self.end else -1), how

    def find_rows(self, words: Iterable[str]) -> list[int]:
        """Return the rows of words, -1 for those that are not known."""
        return [self.find(word)[0] for word in words]

    def find_places(self, words: Iterable[str]) -> list[int]:
        """Return the places of words, -1 for those without a vector."""
        return [self._find_place(word)[0] for word in words]

    def take_vectors(self, places: NDArray[np.int64] | list[int]) -> Floats:
        """Return the vectors at places, one row for each.

        Parameters
        ----------
        places
            What `find_places` returned, without any -1.

        Returns
        -------
        array of float32
            Shape (places, D).
        """
        at = np.asarray(places, np.int64)
        composed = at >= len(self.wv)
        taken: Floats = np.empty((len(at), self.wv.vector_size), np.float32)
        taken[~composed] = self.wv.vectors[at[~composed]]
        if composed.any():
            taken[composed] = [self._composed[place - len(self.wv)] for place in at[composed].tolist()]
        return taken

    def count_found(self, task: Task) -> dict[str, int]:
        """Count how many different words of a task were found in which spelling."""
        return dict(Counter(self.find(word)[1] for word in {word for item in task.items for word in item}))

    def _find_place(self, word: str) -> tuple[int, str]:
        if word not in self._found:
            rows = ((self.wv.key_to_index.get(form, -1), how) for form, how in list_spellings(word))
            known = next(((row, how) for row, how in rows if 0 <= row < self.end), None)
            self._found[word] = known or self._compose(word)
        return self._found[word]

    def _compose(self, word: str) -> tuple[int, str]:
        """Return the place of a vector composed for a word, or -1 if it is too short or the vectors have no n-grams."""
        form = word.lower() if self.is_lower_case else word
        subwords = self.wv.subwords if self.composes else None
        if subwords is None or not (self.wv.has_index_for(form) or subwords.has_ngrams(form)):
            return -1, MISSING
        if form not in self._composed_places:  # Haus and haus share it, so that they tie
            self._composed_places[form] = len(self.wv) + len(self._composed)
            self._composed.append(self.wv.get_vector(form))
        return self._composed_places[form], COMPOSED
