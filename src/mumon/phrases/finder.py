"""Finding phrases in sentences and joining them: what `Phrases` and `FrozenPhrases` have in common."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sized
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.errors import OptionError
from mumon.phrases.files import write_phrases
from mumon.phrases.matching import Matcher
from mumon.phrases.scorers import SCORERS, Scorer
from mumon.phrases.stream import batch_sentences, encode_source

ScoredCandidate = tuple[str, float] | tuple[None, None]
FEW_SENTENCES = 64  # for which building a matcher does not pay


class PhraseFinder:
    """Base of `Phrases` and `FrozenPhrases`: finds phrases and joins them."""

    _kind: str  # as which it is written to a file
    connector_words: frozenset[str]
    delimiter: str
    min_count: float
    threshold: float
    scoring: Scorer | None

    def score_candidate(self, word_a: str, word_b: str, in_between: list[str]) -> ScoredCandidate:
        """Score two words as a phrase.

        Parameters
        ----------
        word_a, word_b
            The words that the phrase begins and ends with.
        in_between
            The connector words between them.

        Returns
        -------
        tuple
            The joined words and their score, or (None, None) if they are not a phrase.
        """
        phrase = self.delimiter.join([word_a, *in_between, word_b])
        score = self._find_score(phrase, word_a, word_b)
        return (phrase, score) if score is not None and score > self.threshold else (None, None)

    @abstractmethod
    def _find_score(self, phrase: str, word_a: str, word_b: str) -> float | None:
        """Return the score of a phrase that joins two words, None if one of the three is unknown."""

    @abstractmethod
    def _build_matcher(self) -> Matcher:
        """Build what finds these phrases in numbered text."""

    @abstractmethod
    def _list_fields(self) -> dict[str, Any]:
        """Return what is written to a file beside the options."""

    def _encode_delimiter(self) -> npt.NDArray[np.uint8]:
        """Return the bytes of the delimiter."""
        return np.frombuffer(self.delimiter.encode(), np.uint8)

    def analyze_sentence(self, sentence: Iterable[str]) -> Iterator[tuple[str, float | None]]:
        """Yield the tokens of a sentence, its phrases joined.

        Parameters
        ----------
        sentence
            The words.

        Yields
        ------
        tuple
            From left to right, (phrase, score) or (word, None).
        """
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
        """Join the phrases of a sentence or of a corpus.

        Parameters
        ----------
        sentence
            A list of words; or a corpus: an iterable of such lists, or a path (not as a string).

        Returns
        -------
        list or JoinedSentences
            The tokens of a sentence; of a corpus, an iterable of such lists, which starts again as often as the corpus
            does.
        """
        if isinstance(sentence, os.PathLike | EncodedCorpus):
            return JoinedSentences(self, sentence)
        if isinstance(sentence, str):
            raise OptionError("a string was given where a list of words is wanted; split it first (text.split())")
        rest = iter(sentence)
        is_iterator = rest is sentence
        for first in rest:
            sentence = chain([first], rest) if is_iterator else sentence
            if not isinstance(first, str):
                return JoinedSentences(self, sentence)
            return [token for token, _ in self.analyze_sentence(sentence)]
        return []  # nothing is a sentence without words

    def find_phrases(self, sentences: Any) -> dict[str, float]:
        """Find the distinct phrases of a corpus.

        Parameters
        ----------
        sentences
            An iterable of token lists, or the path of a text.

        Returns
        -------
        dict
            The phrases and their scores.
        """
        phrases: dict[str, float] = {}
        matcher = self._build_matcher()
        for found in matcher.find_in(sentences):
            types, last = np.unique(found.types[::-1], return_index=True)  # the last score of each, as in gensim
            names = map(matcher.names.__getitem__, types.tolist())
            phrases.update(zip(names, found.scores[::-1][last].tolist(), strict=True))
        return phrases

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything as one JSON file, whole or not at all.

        Parameters
        ----------
        path
            The file. `load` reads it again.
        """
        options = {
            "min_count": self.min_count,
            "threshold": self.threshold,
            "delimiter": self.delimiter,
            "connector_words": sorted(self.connector_words),
            "scoring": next((name for name, scorer in SCORERS.items() if scorer is self.scoring), None),
        }
        write_phrases(path, self._kind, {**options, **self._list_fields()})


class JoinedSentences:
    """The sentences of a corpus with their phrases joined, computed whenever they are iterated over."""

    def __init__(self, phrases: PhraseFinder, corpus: Any) -> None:
        self.phrases, self.corpus = phrases, corpus

    def __iter__(self) -> Iterator[list[str]]:
        corpus = encode_source(self.corpus)
        if corpus is not None:
            yield from self.phrases._build_matcher().join(corpus)
            return
        rest, count = iter(self.corpus), 0
        for sentences in batch_sentences(rest, 1):  # one by one: they may come slowly, or be few
            for sentence in sentences:
                yield [token for token, _ in self.phrases.analyze_sentence(sentence)]
            count += len(sentences)
            if count >= FEW_SENTENCES:
                yield from self.phrases._build_matcher().join(rest)

    def __len__(self) -> int:
        if not isinstance(self.corpus, Sized):
            raise TypeError("the corpus does not say how many sentences it has")
        return len(self.corpus)

    def __getitem__(self, number: int) -> list[str]:
        return self.phrases[self.corpus[number]]  # type: ignore[no-any-return]


def check_delimiter(delimiter: Any) -> str:
    """Check that words can be joined by a delimiter and the result be written."""
    if not isinstance(delimiter, str) or not delimiter:
        raise OptionError(f"delimiter is {delimiter!r}; it must be a string of at least 1 character")
    try:
        delimiter.encode()
    except UnicodeEncodeError:
        raise OptionError(f"delimiter is {delimiter!r}, which cannot be written as UTF-8; choose another") from None
    return delimiter
