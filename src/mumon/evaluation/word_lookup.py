"""Finding the words of a task among the words of the vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from mumon.evaluation.tasks import Task, is_possessive
from mumon.vectors.word_vectors import WordVectors

AS_IS, LOWER, APOSTROPHE = "as is", "lower case", "other apostrophe"


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


@dataclass
class WordFinder:
    """Finds words among the vectors, in several spellings.

    Parameters
    ----------
    wv
        The vectors.
    limit
        Only the first `limit` words count; None means all.
    """

    wv: WordVectors
    limit: int | None = None
    _rows: dict[str, tuple[int, str]] = field(default_factory=dict)

    def find(self, word: str) -> tuple[int, str]:
        """Return the row of a word and how it was spelt, or -1 and "missing"."""
        if word not in self._rows:
            end = len(self.wv) if self.limit is None else self.limit
            found = ((self.wv.key_to_index.get(form, -1), how) for form, how in list_spellings(word))
            self._rows[word] = next(((row, how) for row, how in found if 0 <= row < end), (-1, "missing"))
        return self._rows[word]

    def find_rows(self, words: Iterable[str]) -> list[int]:
        """Return the rows of words, -1 for those that are missing."""
        return [self.find(word)[0] for word in words]

    def count_found(self, task: Task) -> dict[str, int]:
        """Count how many different words of a task were found in which spelling."""
        return dict(Counter(self.find(word)[1] for word in {word for item in task.items for word in item}))
