"""FrozenPhrases: phrases that are known, without the counts that they were learnt from."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from mumon.phrases.finder import PhraseFinder, Verdict
from mumon.phrases.matching import Floats, Matcher
from mumon.phrases.stream import Ids
from mumon.phrases.table import Numbers


class FrozenPhrases(PhraseFinder):
    """The phrases of a `Phrases` without its counts: `phrasegrams` has each phrase and its score."""

    def __init__(self, phrases_model: Any) -> None:
        self.threshold, self.min_count = phrases_model.threshold, phrases_model.min_count
        self.delimiter, self.scoring = phrases_model.delimiter, phrases_model.scoring
        self.connector_words = frozenset(phrases_model.connector_words)
        self.phrasegrams: dict[str, float] = phrases_model.export_phrases()

    def __str__(self) -> str:
        return f"FrozenPhrases<{len(self.phrasegrams)} phrases, min_count={self.min_count}, threshold={self.threshold}>"

    __repr__ = __str__

    def score_candidate(self, word_a: str, word_b: str, in_between: list[str]) -> Verdict:
        """(the joined words, their score), or (None, None) if they are no phrase."""
        phrase = self.delimiter.join([word_a, *in_between, word_b])
        score = self.phrasegrams.get(phrase)
        return (phrase, score) if score is not None and score > self.threshold else (None, None)

    def matcher(self) -> Matcher:
        """What finds these phrases in numbered text."""
        phrases = {name: score for name, score in self.phrasegrams.items() if score > self.threshold}
        return _FrozenMatcher(phrases, self.delimiter, self.connector_words)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FrozenPhrases:
        """What `save` wrote."""
        from mumon.phrases.files import load_frozen

        return load_frozen(path)


Phraser = FrozenPhrases  # its name in older gensim


class _FrozenMatcher(Matcher):
    """Takes every string that it is given for a phrase."""

    def __init__(self, phrases: dict[str, float], delimiter: str, connectors: frozenset[str]) -> None:
        super().__init__(dict.fromkeys(phrases, 1), delimiter, connectors)
        self._scores = np.array([*phrases.values(), np.nan])  # the last is for -1

    def scores(self, ids: Ids, first: Numbers, found: Numbers) -> Floats:
        return np.asarray(self._scores[found])
