"""The vocabulary: which words get a row, in which order, and how often each occurred."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.errors import CorpusError, FormatError, OptionError

Counts = npt.NDArray[np.int64]
# gensim's trim rules answer 0 (as min_count says), 1 (drop) or 2 (keep).
TrimRule = Callable[[str, int, int], int]
RULE_DEFAULT, RULE_DISCARD, RULE_KEEP = 0, 1, 2
MOST = (1 << 63) - 1  # the largest number that int64 holds


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words by count, most frequent first, ties by UTF-8 bytes; row i of a model belongs to words[i].

    `unk`, if given, is one of the words and stands for every word outside the vocabulary.

    >>> Vocabulary.from_counts({"b": 2, "a": 2, "c": 9}).words
    ['c', 'a', 'b']
    """

    words: list[str]
    counts: Counts
    unk: str | None = None

    def __post_init__(self) -> None:
        if self.unk is not None and self.unk not in self.index:
            raise OptionError(f"unk is {self.unk!r}, which is not among the {len(self)} words; add it with with_words")

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], unk: str | None = None) -> Vocabulary:
        """A vocabulary of just these words."""
        total = sum(counts.values())
        if total > MOST:
            raise OptionError(f"the counts come to {total} in all, more than the {MOST} that can be held; lower them")
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0].encode("utf-8", "surrogatepass")))
        return cls([word for word, _ in ordered], np.array([count for _, count in ordered], np.int64), unk)

    @classmethod
    def from_corpus(
        cls,
        corpus: EncodedCorpus,
        *,
        min_count: int = 5,
        max_final_vocab: int | None = None,
        trim_rule: TrimRule | None = None,
        unk: str | None = None,
    ) -> Vocabulary:
        """Words that occur `min_count` times or as `trim_rule` decides; the `max_final_vocab` most frequent of them.

        With `unk`, what is dropped is counted under that word instead of being passed over.
        """
        frequent = int(np.searchsorted(-corpus.counts, -max(min_count, 0), side="right"))
        if trim_rule is None:
            words, counts = _decoded(corpus, frequent), corpus.counts[:frequent].copy()
        else:
            every = _decoded(corpus, len(corpus.counts))
            verdicts = [
                trim_rule(word, int(count), min_count) for word, count in zip(every, corpus.counts, strict=True)
            ]
            rows = [
                row
                for row, verdict in enumerate(verdicts)
                if verdict == RULE_KEEP or (verdict == RULE_DEFAULT and row < frequent)
            ]
            words, counts = [every[row] for row in rows], corpus.counts[rows]
        if max_final_vocab is not None:
            words, counts = words[:max_final_vocab], counts[:max_final_vocab]
        if not words:
            raise CorpusError(
                f"no word is left: the most frequent, {_decoded(corpus, 1)[0]!r}, occurs {corpus.counts[0]} times "
                f"and min_count is {min_count}; lower it"
            )
        if unk is None:
            return cls(words, counts)
        known = dict(zip(words, map(int, counts), strict=True))
        known[unk] = known.get(unk, 0) + corpus.tokens - int(counts.sum())
        return cls.from_counts(known, unk)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Vocabulary:
        """Read `word count` lines; the count is what follows the last blank, so that words may contain blanks."""
        counts: dict[str, int] = {}
        try:
            text = Path(path).read_bytes().decode("utf-8", "replace")
        except OSError as error:
            raise FormatError(f"the vocabulary {fspath(path)} cannot be read ({error.strerror})") from None
        for number, line in enumerate(text.split("\n"), 1):
            line = line.removesuffix("\r")
            if not line:
                continue
            word, _, count = line.rpartition(" " if " " in line else "\t")
            if not count.isdecimal() or not word or len(count) > len(str(MOST)) or int(count) > MOST:
                raise FormatError(f"{fspath(path)} line {number} is not a word and its count: {line[:60]!r}")
            if word in counts:
                raise FormatError(f"{fspath(path)} line {number} repeats the word {word[:60]!r}; remove one of the two")
            counts[word] = int(count)
        if not counts:
            raise FormatError(f"{fspath(path)} holds 0 words; a vocabulary has one word and its count per line")
        try:
            return cls.from_counts(counts)
        except OptionError as error:
            raise FormatError(f"{fspath(path)}: {error}") from None

    def save(self, path: str | PathLike[str]) -> None:
        """Write `word count` lines, whole or not at all."""
        from mumon.atomic import atomic_file

        for word in self.words:
            if not word or "\n" in word or "\r" in word:
                what = "contains a line break" if word else "is empty"
                raise FormatError(f"the word {word!r} {what}, which `word count` lines cannot hold; rename it")
            try:
                word.encode()
            except UnicodeEncodeError:
                raise FormatError(f"the word {word!r} cannot be written as UTF-8; rename it") from None
        with atomic_file(path) as file:
            for word, count in zip(self.words, self.counts, strict=True):
                file.write(f"{word} {count}\n".encode())

    def with_words(self, words: Iterable[str], unk: str | None = None) -> Vocabulary:
        """The same words and more, which have not been counted yet; `unk` becomes one of them.

        >>> Vocabulary.from_counts({"a": 3, "b": 1}).with_words(["b", "c"]).words
        ['a', 'b', 'c']
        """
        counts = dict(zip(self.words, map(int, self.counts), strict=True))
        for word in (*words, *([] if unk is None else [unk])):
            counts.setdefault(word, 0)
        return Vocabulary.from_counts(counts, self.unk if unk is None else unk)

    def counted_on(self, corpus: EncodedCorpus, only: str | None = None) -> Vocabulary:
        """The same words, with their occurrences (or those of one word `only`) in a corpus added to their counts."""
        rows, found = self.lookup(corpus), np.zeros(len(self), np.int64)
        counted = rows >= 0 if only is None else rows == self.index[only]
        np.add.at(found, rows[counted], corpus.counts[counted])
        sums = map(int.__add__, self.counts.tolist(), found.tolist())  # Python's numbers: they cannot wrap around
        return Vocabulary.from_counts(dict(zip(self.words, sums, strict=True)), self.unk)

    def rows_of(self, words: Iterable[str]) -> npt.NDArray[np.int64]:
        """The row of each word, -1 for words that have none."""
        return np.array([self.index.get(word, -1) for word in words], np.int64)

    def lookup(self, corpus: EncodedCorpus) -> npt.NDArray[np.int32]:
        """The row of each word of a corpus by rank; -1 (or the row of `unk`) for words outside the vocabulary."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pa.array([word.encode("utf-8", "surrogatepass") for word in self.words], pa.large_binary())
        rows = pc.fill_null(pc.index_in(corpus.words, known), -1 if self.unk is None else self.index[self.unk])
        return np.ascontiguousarray(rows.to_numpy(), np.int32)


def _decoded(corpus: EncodedCorpus, first: int) -> list[str]:
    return [word.decode() for word in corpus.words[:first].to_pylist()]
