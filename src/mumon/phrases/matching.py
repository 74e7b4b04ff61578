"""Finding phrases in numbered text, many sentences at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.phrases.stream import Ids, batch_sentences, encode_source, find_ends, read_parts
from mumon.phrases.table import Numbers, Strings, StringTable

Floats = npt.NDArray[np.float64]
NO_PHRASE = (1 << 62, 0, 0)  # beyond the end of every sentence
OTHER_WORD = "\ud800"  # any word that no phrase begins or ends with; half a character, so in no phrase


@dataclass
class FoundPhrases:
    """Phrases from left to right: the positions of their first and last words, the numbers of their names, scores."""

    first: Numbers
    last: Numbers
    types: Numbers
    scores: Floats


class Matcher:
    """Finds the phrases of numbered text. Subclasses score them.

    Words are numbered by `numbers`: those that a phrase may begin or end with and those that connect them; 0 is every
    other.

    Parameters
    ----------
    phrases
        Every string that may be a phrase, and a count of each.
    delimiter
        What joins their words.
    connectors
        Words that may be inside a phrase but not at its ends.
    """

    def __init__(self, phrases: Mapping[str, int], delimiter: str, connectors: frozenset[str]) -> None:
        self.names, self.table = list(phrases), StringTable.from_counts(phrases)
        self._glue = np.frombuffer(delimiter.encode(), np.uint8)
        heads, tails = _find_heads_and_tails(self.names, delimiter)
        self.words = [OTHER_WORD, *sorted(connectors | heads | tails)]
        self.numbers = {word: number for number, word in enumerate(self.words)}
        self._strings = Strings.from_texts(self.words)
        self._codes, self._powers = self._strings.compute_hashes()
        self._connector, self._head, self._tail = (
            np.fromiter(map(some.__contains__, self.words), bool, len(self.words))
            for some in (connectors, heads, tails)
        )

    def score(self, ids: Ids, first: Numbers, found: Numbers) -> Floats:
        """Return for each word the score of the phrase that it ends, nan where it ends none.

        Parameters
        ----------
        ids
            The words.
        first
            For each word, where the candidate that it ends begins.
        found
            The number of that candidate's name, -1 for none.
        """
        raise NotImplementedError

    def find(self, ids: Ids, ends: Numbers) -> FoundPhrases:
        """Find the phrases of some sentences: numbered words, and where each sentence ends."""
        from mumon.kernels.pairs import choose_phrases, find_pairs

        first, found, lasts = (np.empty(len(ids), np.int64) for _ in range(3))
        find_pairs(
            ids, ends, self._strings.data, self._strings.bounds, self._codes, self._powers, self._connector,
            self._head, self._tail, self._glue, self.table.slots, self.table.starts, self.table.arena, first, found,
        )  # fmt: skip
        scores = self.score(ids, first, found)
        last = lasts[: choose_phrases(ends, first, ~np.isnan(scores), lasts)]
        return FoundPhrases(first[last], last, found[last], scores[last])

    def find_in(self, source: Any) -> Iterator[FoundPhrases]:
        """Find the phrases of a corpus, part by part."""
        for _, ids, ends in self._number_parts(source):
            yield self.find(ids, ends)

    def join(self, source: Any) -> Iterator[list[str]]:
        """Yield the sentences of a corpus with their phrases joined."""
        for get_tokens, ids, ends in self._number_parts(source):
            yield from self._join_part(get_tokens(), ends, self.find(ids, ends))

    def _number_parts(self, source: Any) -> Iterator[tuple[Callable[[], list[str]], Ids, Numbers]]:
        """Yield parts of a corpus: a function that returns the tokens, their numbers, and where sentences end."""
        corpus = encode_source(source)
        if corpus is None:
            for sentences in batch_sentences(source):
                tokens = list(chain.from_iterable(sentences))
                yield partial(_return_tokens, tokens), self._number_texts(tokens), find_ends(sentences)
            return
        texts = Strings.from_arrow(corpus.words).decode()
        ranks = self._number_texts(texts)
        for ids, ends in read_parts(corpus):
            yield partial(_look_up, texts, ids), ranks[ids], ends

    def _number_texts(self, texts: list[str]) -> Ids:
        return np.fromiter(map(self.numbers.get, texts, repeat(0)), np.int32, len(texts))

    def _join_part(self, tokens: list[str], ends: Numbers, found: FoundPhrases) -> Iterator[list[str]]:
        names = self.names
        phrases = zip(found.first.tolist(), found.last.tolist(), found.types.tolist(), strict=True)
        first, last, name = next(phrases, NO_PHRASE)
        at = 0
        for end in ends.tolist():
            if first >= end:
                yield tokens[at:end]
            else:
                joined: list[str] = []
                while first < end:
                    joined += tokens[at:first]
                    joined.append(names[name])
                    at = last + 1
                    first, last, name = next(phrases, NO_PHRASE)
                joined += tokens[at:end]
                yield joined
            at = end


def _return_tokens(tokens: list[str]) -> list[str]:
    return tokens


def _look_up(texts: list[str], ids: Ids) -> list[str]:
    return list(map(texts.__getitem__, ids.tolist()))


def _find_heads_and_tails(names: list[str], delimiter: str) -> tuple[set[str], set[str]]:
    """Find what comes before and after every delimiter: words may hold delimiters, so any of them may join two."""
    heads, tails = set(), set()
    for name in names:
        at = name.find(delimiter)
        while at >= 0:
            heads.add(name[:at])
            tails.add(name[at + len(delimiter) :])
            at = name.find(delimiter, at + 1)
    return heads, tails
