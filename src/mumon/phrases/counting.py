"""Counting the words and pairs of a text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.errors import CorpusError
from mumon.phrases.stream import Ids, Sentences, batch_sentences, encode_source, find_ends, read_parts
from mumon.phrases.table import FIRST_PLACES, Numbers, Strings, StringTable
from mumon.utils.progress import Progress

MOST_NUMBERED_WORDS = 1 << 22  # of an iterable, before words are numbered afresh
MOST_PLACE_BITS = 22  # of the places that a table has from the start


class PairCounter:
    """Counts words and pairs of numbered text in a table of strings.

    When a sentence ends with more than `most` types counted, those that occurred less often than a bound are forgotten,
    and the bound rises by one: gensim's way of bounding memory.

    Parameters
    ----------
    connectors
        Words that may be inside a phrase but not at its ends.
    glue
        The bytes of the delimiter.
    most
        The number of types above which the rare ones are forgotten.
    tokens
        The length of the text, if known.
    """

    def __init__(self, connectors: frozenset[str], glue: npt.NDArray[np.uint8], most: int, tokens: int = 0) -> None:
        places = 1 << min((tokens // 2).bit_length(), MOST_PLACE_BITS)  # a guess, so that it need not grow often
        self.table, self.words, self.least = StringTable(max(places, FIRST_PLACES)), 0, 1
        self._connectors, self._glue, self._most = connectors, glue, most
        self._reset_words()

    def forget_words(self) -> None:
        """Start numbering words afresh; the counts stay."""
        self.table.collect_counts(forget=True)
        self._reset_words()

    def _reset_words(self) -> None:
        self._strings = Strings.from_texts([])
        self._codes, self._powers = self._strings.compute_hashes()
        self._connector: npt.NDArray[np.bool_] = np.zeros(0, bool)
        self._word_types: Numbers = np.zeros(0, np.int64)

    def add_words(self, strings: Strings, texts: list[str]) -> None:
        """Give the next numbers to these words, which come both as bytes and as text."""
        self._strings = self._strings.concatenate(strings)
        codes, powers = strings.compute_hashes()
        self._codes, self._powers = np.concatenate([self._codes, codes]), np.concatenate([self._powers, powers])
        connector = np.fromiter(map(self._connectors.__contains__, texts), bool, len(texts))
        self._connector = np.concatenate([self._connector, connector])
        self._word_types = np.concatenate([self._word_types, np.full(len(texts), -1)])

    def count(self, ids: Ids, ends: Numbers) -> None:
        """Count some whole sentences: numbered words, and where each sentence ends."""
        from mumon.kernels.pairs import count_pairs

        at, sentence, start = 0, 0, -1
        while sentence < len(ends):
            table = self.table
            at, sentence, start, table.types, too_many = count_pairs(
                ids, ends, self._strings.data, self._strings.bounds, self._codes, self._powers, self._connector,
                self._word_types, self._glue, at, sentence, start,
                table.slots, table.starts, table.arena, table.count_array, table.types, self._most,
            )  # fmt: skip
            if too_many:
                table.collect_counts()
                self.table, self.least = table.drop_rare(self.least), self.least + 1
                self._word_types[:] = -1
            elif sentence < len(ends):
                table.make_room()
        self.words += len(ids)


def count_text(
    sentences: Any, connectors: frozenset[str], glue: npt.NDArray[np.uint8], most: int, progress: Progress
) -> PairCounter:
    """Count the words and pairs of a text.

    Parameters
    ----------
    sentences
        A path, an encoded corpus or an iterable of token lists.
    connectors, glue, most
        As for `PairCounter`.
    progress
        Where reading and counting are reported.

    Returns
    -------
    PairCounter
        With the table, the number of `words` of the text, and the bound for rare types, `least`.
    """
    corpus = encode_source(sentences, progress)
    counter = PairCounter(connectors, glue, most, 0 if corpus is None else corpus.tokens)
    progress.start("counting", 0 if corpus is None else corpus.tokens, "tokens")
    if corpus is None:
        parts = _number_sentences(batch_sentences(sentences), counter)
    else:
        parts = _number_corpus(corpus, counter)
    for ids, ends in parts:
        counter.count(ids, ends)
        progress.update(counter.words, tokens=counter.words)
    counter.table.collect_counts(forget=True)
    progress.finish(f"counted {len(counter.table):,} words and pairs in {counter.words:,} tokens", tokens=counter.words)
    return counter


def _number_corpus(corpus: EncodedCorpus, counter: PairCounter) -> Iterator[tuple[Ids, Numbers]]:
    words = Strings.from_arrow(corpus.words)
    counter.add_words(words, words.decode())
    return read_parts(corpus)


def _number_sentences(parts: Iterator[Sentences], counter: PairCounter) -> Iterator[tuple[Ids, Numbers]]:
    numbers = _WordNumbers()
    for sentences in parts:
        if len(numbers) > MOST_NUMBERED_WORDS:
            numbers = _WordNumbers()
            counter.forget_words()
        ends = find_ends(sentences)
        ids = np.fromiter(map(numbers.__getitem__, chain.from_iterable(sentences)), np.int32, int(ends[-1]))
        if new := numbers.new:
            try:
                counter.add_words(Strings.from_texts(new), new)
            except AttributeError:
                wrong = next(token for token in new if not isinstance(token, str))
                raise CorpusError(
                    f"token {wrong!r} is a {type(wrong).__name__}, not a string; convert it first with str()"
                ) from None
            numbers.new = []
        yield ids, ends


class _WordNumbers(dict[str, int]):
    """A number for each token, in the order in which they are first looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []

    def __missing__(self, token: str) -> int:
        number = self[token] = len(self)
        self.new.append(token)
        return number
