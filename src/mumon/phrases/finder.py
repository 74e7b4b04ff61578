"""What all kinds of phrases have in common: finding them in sentences and joining them."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.errors import OptionError
from mumon.phrases.matching import JoinedSentences, Matcher
from mumon.phrases.scorers import Scorer

Verdict = tuple[str, float] | tuple[None, None]


class PhraseFinder:
    """What `Phrases` and `FrozenPhrases` have in common: finding phrases and joining them."""

    connector_words: frozenset[str]
    delimiter: str
    min_count: float
    threshold: float
    scoring: Scorer | None

    @abstractmethod
    def score_candidate(self, word_a: str, word_b: str, in_between: list[str]) -> Verdict:
        """(the joined words, their score), or (None, None) if they are no phrase."""

    @abstractmethod
    def matcher(self) -> Matcher:
        """What finds these phrases in numbered text."""

    def glue(self) -> npt.NDArray[np.uint8]:
        """The bytes of the delimiter."""
        return np.frombuffer(self.delimiter.encode(), np.uint8)

    def analyze_sentence(self, sentence: Iterable[str]) -> Iterator[tuple[str, float | None]]:
        """The tokens of a sentence, from left to right, as (phrase, score) or (word, None)."""
        start: str | None = None
        between: list[str] = []
        for word in sentence:
            if word in self.connector_words:
                if start is None:
                    yield word, None
                else:
                    between.append(word)
                continue
            if start is not None:
                phrase, score = self.score_candidate(start, word, between)
                if phrase is not None:
                    yield phrase, score
                    start, between = None, []
                    continue
                yield start, None
                yield from ((other, None) for other in between)
            start, between = word, []
        if start is not None:
            yield start, None
            yield from ((other, None) for other in between)

    def __getitem__(self, sentence: Any) -> Any:
        """A sentence (an iterable of words) with its phrases joined; of a corpus, the sentences, one after the other.

        A corpus is an iterable of sentences, or a path. The result can be iterated over as often as the corpus can.
        """
        if isinstance(sentence, os.PathLike | EncodedCorpus):
            return JoinedSentences(self, sentence)
        if isinstance(sentence, str):
            raise OptionError("a string was given where a list of words is wanted; split it first (text.split())")
        rest = iter(sentence)
        once = rest is sentence
        for first in rest:
            sentence = chain([first], rest) if once else sentence
            if not isinstance(first, str):
                return JoinedSentences(self, sentence)
            return [token for token, _ in self.analyze_sentence(sentence)]
        return []  # nothing is a sentence without words

    def find_phrases(self, sentences: Any) -> dict[str, float]:
        """The distinct phrases of a corpus and their scores."""
        phrases: dict[str, float] = {}
        matcher = self.matcher()
        for found in matcher.found_in(sentences):
            kinds, last = np.unique(found.kinds[::-1], return_index=True)  # the last score of each, as in gensim
            names = map(matcher.names.__getitem__, kinds.tolist())
            phrases.update(zip(names, found.scores[::-1][last].tolist(), strict=True))
        return phrases

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as one JSON file, whole or not at all."""
        from mumon.phrases.files import save

        save(self, path)


def checked_delimiter(delimiter: Any) -> str:
    """The delimiter, if words can be joined by it and the result be written."""
    if not isinstance(delimiter, str) or not delimiter:
        raise OptionError(f"delimiter is {delimiter!r}; it must be a string of at least 1 character")
    try:
        delimiter.encode()
    except UnicodeEncodeError:
        raise OptionError(f"delimiter is {delimiter!r}, which cannot be written as UTF-8; choose another") from None
    return delimiter
