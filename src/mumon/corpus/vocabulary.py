"""The vocabulary: which words get a row, in which order, and how often each occurred."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.errors import CorpusError, FormatError, OptionError
from mumon.utils.arrow import unwrap_numbers, wrap_bytes, wrap_numbers
from mumon.utils.validation import check_integer

Counts = npt.NDArray[np.int64]
# gensim's trim rules return 0 (min_count decides), 1 (drop) or 2 (keep).
TrimRule = Callable[[str, int, int], int]
RULE_DEFAULT, RULE_DISCARD, RULE_KEEP = 0, 1, 2
MAX_COUNT = (1 << 63) - 1  # the largest number that int64 holds


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words by count, most frequent first, ties by UTF-8 bytes; row i of a model belongs to words[i].

    Parameters
    ----------
    words, counts
        The words in order, and how often each occurred.
    unk
        One of the words, which represents every word outside the vocabulary.
    integers
        Whether the words are the decimals of integers, such as item ids, and users see integers (`keys`). Otherwise 7
        would mean row 7 in a query and word 7 in training.

    Examples
    --------
    >>> Vocabulary.from_counts({"b": 2, "a": 2, "c": 9}).words
    ['c', 'a', 'b']
    """

    words: list[str]
    counts: Counts
    unk: str | None = None
    integers: bool = False

    def __post_init__(self) -> None:
        if self.unk is not None and self.unk not in self.index:
            raise OptionError(f"unk is {self.unk!r}, which is not among the {len(self)} words; add it with with_words")
        if self.unk is not None and self.integers:
            raise OptionError(f"unk is {self.unk!r} and the tokens are integers; leave it out, or give strings (str())")

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """The row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def keys(self) -> list[str] | list[int]:
        """The words as users see them: strings, or integers if the tokens were integers."""
        return list(map(int, self.words)) if self.integers else self.words

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], unk: str | None = None, integers: bool = False) -> Vocabulary:
        """Make a vocabulary of exactly these words.

        Parameters
        ----------
        counts
            Each word and how often it occurred.
        unk, integers
            As for `Vocabulary`.

        Returns
        -------
        Vocabulary
            The words by count.
        """
        total = sum(counts.values())
        if total > MAX_COUNT:
            raise OptionError(
                f"the counts come to {total} in all, more than the {MAX_COUNT} that can be held; lower them"
            )
        ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0].encode("utf-8", "surrogatepass")))
        return cls([word for word, _ in ordered], np.array([count for _, count in ordered], np.int64), unk, integers)

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
        """Choose the words of a corpus that get a row.

        Parameters
        ----------
        corpus
            The encoded text.
        min_count
            Words that occur less often are dropped.
        max_final_vocab
            The largest number of words; the most frequent are kept.
        trim_rule
            A function of word, count and `min_count` that returns gensim's `RULE_DEFAULT` (0), `RULE_DISCARD` (1) or
            `RULE_KEEP` (2).
        unk
            A word under which the dropped words are counted; without it they are ignored.

        Returns
        -------
        Vocabulary
            The words by count.

        Raises
        ------
        CorpusError
            If no word is left.
        """
        limits = (min_count, max_final_vocab, _adapt_rule(trim_rule, corpus.integers))
        if trim_rule is None:  # words are sorted by count: rarer ones need not be decoded
            frequent = int(np.searchsorted(-corpus.counts, -max(min_count, 0), side="right"))
            words, counts = _select_words(_decode_words(corpus, frequent), corpus.counts[:frequent].copy(), *limits)
        else:
            words, counts = _select_words(_decode_words(corpus, len(corpus.counts)), corpus.counts, *limits)
        if not words:
            raise _make_empty_error(_decode_words(corpus, 1)[0], int(corpus.counts[0]), min_count)
        if unk is None:
            return cls(words, counts, integers=corpus.integers)
        known = dict(zip(words, map(int, counts), strict=True))
        known[unk] = known.get(unk, 0) + corpus.tokens - int(counts.sum())
        return cls.from_counts(known, unk, corpus.integers)

    @classmethod
    def from_frequencies(
        cls,
        frequencies: Mapping[str, int] | Mapping[int, int],
        *,
        min_count: int = 5,
        max_final_vocab: int | None = None,
        trim_rule: TrimRule | None = None,
    ) -> Vocabulary:
        """Choose the words that get a row from words (or integers) that were counted elsewhere.

        Parameters
        ----------
        frequencies
            Each word and how often it occurred.
        min_count
            Words that occur less often are dropped.
        max_final_vocab
            The largest number of words; the most frequent are kept.
        trim_rule
            A function of word, count and `min_count` that returns gensim's `RULE_DEFAULT` (0), `RULE_DISCARD` (1) or
            `RULE_KEEP` (2).

        Returns
        -------
        Vocabulary
            The words by count.

        Examples
        --------
        >>> Vocabulary.from_frequencies({"rare": 1, "the": 90, "cat": 7}, min_count=5).words
        ['the', 'cat']
        """
        tokens = list(frequencies)
        integers = bool(tokens) and all(isinstance(word, int | np.integer) for word in tokens)
        if not integers and not all(isinstance(word, str) for word in tokens):
            raise OptionError(
                f"some of the {len(tokens)} words that were counted are not strings; convert them to one kind"
            )
        counts = {str(word): check_integer("a count", count, 0, MAX_COUNT) for word, count in frequencies.items()}
        every = cls.from_counts(counts, integers=integers)
        words, selected = _select_words(
            every.words, every.counts, min_count, max_final_vocab, _adapt_rule(trim_rule, integers)
        )
        if not words:
            first = (every.words[0], int(every.counts[0])) if every.words else ("none of 0 words", 0)
            raise _make_empty_error(*first, min_count)
        return cls(words, selected, integers=integers)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Vocabulary:
        """Read a file of `word count` lines.

        Parameters
        ----------
        path
            The file. The count follows the last blank of a line, so words may contain blanks.

        Returns
        -------
        Vocabulary
            The words by count.

        Raises
        ------
        FormatError
            If the file cannot be read, or a line is not a word and its count.
        """
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
            if not count.isdecimal() or not word or len(count) > len(str(MAX_COUNT)) or int(count) > MAX_COUNT:
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
        """Write a file of `word count` lines, whole or not at all.

        Parameters
        ----------
        path
            The file, which is replaced if it exists.
        """
        from mumon.utils.atomic import atomic_file

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
        """Return a vocabulary with more words, whose counts are 0.

        Parameters
        ----------
        words
            The words to add; those that are there already keep their counts.
        unk
            A word to add that represents words outside the vocabulary.

        Returns
        -------
        Vocabulary
            The words of both.

        Examples
        --------
        >>> Vocabulary.from_counts({"a": 3, "b": 1}).with_words(["b", "c"]).words
        ['a', 'b', 'c']
        """
        counts = dict(zip(self.words, map(int, self.counts), strict=True))
        for word in (*words, *([] if unk is None else [unk])):
            counts.setdefault(word, 0)
        return Vocabulary.from_counts(counts, self.unk if unk is None else unk, self.integers)

    def counted_on(self, corpus: EncodedCorpus, only: str | None = None) -> Vocabulary:
        """Return the same words with their occurrences in a corpus added to their counts.

        Parameters
        ----------
        corpus
            The encoded text.
        only
            The one word whose count is to grow; by default all do.

        Returns
        -------
        Vocabulary
            The words by their new counts.
        """
        rows, found = self.lookup(corpus), np.zeros(len(self), np.int64)
        counted = rows >= 0 if only is None else rows == self.index[only]
        np.add.at(found, rows[counted], corpus.counts[counted])
        sums = map(int.__add__, self.counts.tolist(), found.tolist())  # as Python's integers, which do not overflow
        return Vocabulary.from_counts(dict(zip(self.words, sums, strict=True)), self.unk, self.integers)

    def merged_with(self, other: Vocabulary) -> Vocabulary:
        """Return the words of both vocabularies, with their counts added up.

        Parameters
        ----------
        other
            The other vocabulary, of the same kind of tokens.

        Returns
        -------
        Vocabulary
            The words by their new counts.
        """
        if self.integers != other.integers:
            raise OptionError(
                f"of {len(self)} words and {len(other)} new ones some are integers; convert them to one kind"
            )
        counts = dict(zip(self.words, map(int, self.counts), strict=True))
        for word, count in zip(other.words, map(int, other.counts), strict=True):
            counts[word] = counts.get(word, 0) + count
        return Vocabulary.from_counts(counts, self.unk, self.integers)

    def for_tokens_of(self, corpus: EncodedCorpus, merging: bool = False) -> Vocabulary:
        """Return this vocabulary with keys of the same kind, strings or integers, as the tokens of a corpus.

        Decimals in a text count as integers, so that a model of integers can continue with a file of them.

        Parameters
        ----------
        corpus
            The encoded text.
        merging
            Whether the words of the corpus will be added, which then must all be integers, too.

        Returns
        -------
        Vocabulary
            This one, or the same words with integers as keys.

        Raises
        ------
        OptionError
            If some are integers and others are not.
        """
        if self.integers == corpus.integers:
            return self
        words = [word.decode() for word in corpus.words.to_pylist()] if self.integers and merging else self.words
        strange = next((word for word in words if not _is_decimal(word)), None)
        if strange is None or (self.integers and not merging):
            return replace(self, integers=True)
        has, gets = ("integers", "strings") if self.integers else ("strings", "integers")
        raise OptionError(
            f"the {len(self)} words of the model are {has} and those of the new text {gets} (one is {strange!r}); "
            "convert the tokens to one kind"
        )

    def rows_of(self, words: Iterable[str]) -> npt.NDArray[np.int64]:
        """Return the row of each word, -1 for words that have none."""
        return np.array([self.index.get(word, -1) for word in words], np.int64)

    def lookup(self, corpus: EncodedCorpus) -> npt.NDArray[np.int32]:
        """Return the row of each word of a corpus.

        Parameters
        ----------
        corpus
            The encoded text.

        Returns
        -------
        ndarray
            Rows by rank; -1 (or the row of `unk`) for words outside the vocabulary.
        """
        known = wrap_bytes([word.encode("utf-8", "surrogatepass") for word in self.words])
        other = np.int32(-1 if self.unk is None else self.index[self.unk])
        rows = np.full(len(corpus.words), other, np.int32)
        frequent = corpus.words[: len(known)]
        if known.equals(frequent.combine_chunks() if hasattr(frequent, "combine_chunks") else frequent):
            rows[: len(known)] = np.arange(len(known))  # the usual case: the most frequent words of this very text
        else:
            import pyarrow.compute as pc

            filled = pc.fill_null(pc.index_in(corpus.words, known), wrap_numbers(np.array([other]))[0])
            rows = np.ascontiguousarray(unwrap_numbers(filled), np.int32)
        rows.setflags(write=False)  # always: Numba would compile the kernel again for a writable array
        return rows


def _select_words(
    words: list[str], counts: Counts, min_count: int, max_final_vocab: int | None, trim_rule: TrimRule | None
) -> tuple[list[str], Counts]:
    """Select the words, which are sorted by count, that are frequent enough or kept by the rule, up to the limit."""
    keep = counts >= min_count
    for row, (word, count) in enumerate(zip(words, counts.tolist(), strict=True)) if trim_rule is not None else ():
        verdict = trim_rule(word, count, min_count)  # type: ignore[misc]
        if verdict != RULE_DEFAULT:
            keep[row] = verdict == RULE_KEEP
    rows = np.flatnonzero(keep)[:max_final_vocab]
    return [words[row] for row in rows], counts[rows]


def _adapt_rule(rule: TrimRule | None, integers: bool) -> TrimRule | None:
    """Return a rule that takes words where the user's rule takes integers."""
    if rule is None or not integers:
        return rule
    return lambda word, count, min_count: rule(int(word), count, min_count)  # type: ignore[arg-type]


def _make_empty_error(word: str, count: int, min_count: int) -> CorpusError:
    problem = f"no word is left: the most frequent, {word!r}, occurs {count} times and min_count is {min_count}"
    return CorpusError(f"{problem}; lower it")


def _is_decimal(word: str) -> bool:
    """Return whether a word is the decimal of an integer as Python writes it."""
    digits = word.removeprefix("-")
    return digits.isdecimal() and digits.isascii() and (digits[0] != "0" or word == "0")


def _decode_words(corpus: EncodedCorpus, first: int) -> list[str]:
    return [word.decode() for word in corpus.words[:first].to_pylist()]
