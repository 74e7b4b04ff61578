"""Finding phrases in text, and the text with its phrases joined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sized
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mumon.phrases.stream import Ids, as_encoded, encoded_parts, ends_of, taken_together
from mumon.phrases.table import Numbers, Strings, StringTable

if TYPE_CHECKING:
    from mumon.phrases.finder import PhraseFinder

Floats = npt.NDArray[np.float64]
FEW = 64  # sentences that are not worth preparing for
NO_MORE = (1 << 62, 0, 0)
OTHER = "\ud800"  # stands for every word that no phrase begins or ends with; half a character, so in no phrase


@dataclass
class Found:
    """Phrases from left to right: the positions of their first and last words, their names' numbers, their scores."""

    first: Numbers
    last: Numbers
    kinds: Numbers
    scores: Floats


class Matcher:
    """Finds the phrases of numbered text, given every string that may be one and a count of each.

    Words are numbered by `numbers`: those that a phrase may begin or end with and those that connect them; 0 is every
    other. What scores them comes with the subclasses.
    """

    def __init__(self, phrases: Mapping[str, int], delimiter: str, connectors: frozenset[str]) -> None:
        self.names, self.table = list(phrases), StringTable.from_counts(phrases)
        self._glue = np.frombuffer(delimiter.encode(), np.uint8)
        heads, tails = _heads_and_tails(self.names, delimiter)
        self.words = [OTHER, *sorted(connectors | heads | tails)]
        self.numbers = {word: number for number, word in enumerate(self.words)}
        self._strings = Strings.from_texts(self.words)
        self._codes, self._powers = self._strings.compute_hashes()
        self._connector, self._head, self._tail = (
            np.fromiter(map(some.__contains__, self.words), bool, len(self.words))
            for some in (connectors, heads, tails)
        )

    def scores(self, ids: Ids, first: Numbers, found: Numbers) -> Floats:
        """For each word the score of the phrase that it ends, nan where it ends none."""
        raise NotImplementedError

    def find(self, ids: Ids, ends: Numbers) -> Found:
        """The phrases of some sentences."""
        from mumon.kernels.pairs import choose_phrases, find_pairs

        first, found, lasts = (np.empty(len(ids), np.int64) for _ in range(3))
        find_pairs(
            ids, ends, self._strings.data, self._strings.bounds, self._codes, self._powers, self._connector,
            self._head, self._tail, self._glue, self.table.slots, self.table.starts, self.table.arena, first, found,
        )  # fmt: skip
        scores = self.scores(ids, first, found)
        last = lasts[: choose_phrases(ends, first, ~np.isnan(scores), lasts)]
        return Found(first[last], last, found[last], scores[last])

    def found_in(self, source: Any) -> Iterator[Found]:
        """The phrases of a corpus, a good many sentences at a time."""
        for _, ids, ends in self._parts(source):
            yield self.find(ids, ends)

    def joined(self, source: Any) -> Iterator[list[str]]:
        """The sentences of a corpus with their phrases joined."""
        for tokens, ids, ends in self._parts(source):
            yield from self._joined(tokens(), ends, self.find(ids, ends))

    def _parts(self, source: Any) -> Iterator[tuple[Callable[[], list[str]], Ids, Numbers]]:
        """The tokens of some sentences after the others, to be asked for, their numbers and where sentences end."""
        corpus = as_encoded(source)
        if corpus is None:
            for sentences in taken_together(source):
                tokens = list(chain.from_iterable(sentences))
                yield partial(_same, tokens), self._of_texts(tokens), ends_of(sentences)
            return
        texts = Strings.from_arrow(corpus.words).decode()
        ranks = self._of_texts(texts)
        for ids, ends in encoded_parts(corpus):
            yield partial(_taken, texts, ids), ranks[ids], ends

    def _of_texts(self, texts: list[str]) -> Ids:
        return np.fromiter(map(self.numbers.get, texts, repeat(0)), np.int32, len(texts))

    def _joined(self, tokens: list[str], ends: Numbers, found: Found) -> Iterator[list[str]]:
        names = self.names
        phrases = zip(found.first.tolist(), found.last.tolist(), found.kinds.tolist(), strict=True)
        first, last, kind = next(phrases, NO_MORE)
        at = 0
        for end in ends.tolist():
            if first >= end:
                yield tokens[at:end]
            else:
                joined: list[str] = []
                while first < end:
                    joined += tokens[at:first]
                    joined.append(names[kind])
                    at = last + 1
                    first, last, kind = next(phrases, NO_MORE)
                joined += tokens[at:end]
                yield joined
            at = end


def _same(tokens: list[str]) -> list[str]:
    return tokens


def _taken(texts: list[str], ids: Ids) -> list[str]:
    return list(map(texts.__getitem__, ids.tolist()))


def _heads_and_tails(names: list[str], delimiter: str) -> tuple[set[str], set[str]]:
    """What stands before and after some delimiter: words may hold delimiters themselves, so it may be any."""
    heads, tails = set(), set()
    for name in names:
        at = name.find(delimiter)
        while at >= 0:
            heads.add(name[:at])
            tails.add(name[at + len(delimiter) :])
            at = name.find(delimiter, at + 1)
    return heads, tails


class JoinedSentences:
    """The sentences of a corpus with their phrases joined, made anew whenever they are iterated over."""

    def __init__(self, phrases: PhraseFinder, corpus: Any) -> None:
        self.phrases, self.corpus = phrases, corpus

    def __iter__(self) -> Iterator[list[str]]:
        corpus = as_encoded(self.corpus)
        if corpus is not None:
            yield from self.phrases.matcher().joined(corpus)
            return
        rest, count = iter(self.corpus), 0
        for sentences in taken_together(rest, 1):  # one by one: someone may wait for them, or they may be all
            for sentence in sentences:
                yield [token for token, _ in self.phrases.analyze_sentence(sentence)]
            count += len(sentences)
            if count >= FEW:
                yield from self.phrases.matcher().joined(rest)

    def __len__(self) -> int:
        if not isinstance(self.corpus, Sized):
            raise TypeError("the corpus does not say how many sentences it has")
        return len(self.corpus)

    def __getitem__(self, number: int) -> list[str]:
        return self.phrases[self.corpus[number]]  # type: ignore[no-any-return]
