"""Phrases: pairs of words that occur together more often than chance would have it, joined into one token.

Names, meanings and results are gensim 4's. Counting and joining run in compiled code over numbered words.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mumon.errors import OptionError
from mumon.phrases.finder import PhraseFinder, Verdict, checked_delimiter
from mumon.phrases.frozen import FrozenPhrases
from mumon.phrases.matching import Floats, Matcher
from mumon.phrases.scorers import Scorer, accepted_scores, chosen_scorer, least_count
from mumon.phrases.stream import Ids
from mumon.phrases.table import Numbers, Strings, StringTable
from mumon.utils.progress import Progress, choose_progress
from mumon.utils.validation import check_float, check_integer


class Phrases(PhraseFinder):
    """Phrases learnt from a text, which can learn from more.

    Parameters
    ----------
    sentences
        An iterable of token lists, or the path of a text with one sentence per line (plain or packed).
    min_count
        Words and pairs that occur less often are of no account.
    threshold
        A pair is a phrase if it scores more.
    max_vocab_size
        When there are more distinct words and pairs than that, the rarest are forgotten, to bound memory.
    delimiter
        What joins the words of a phrase.
    progress_per
        Taken for gensim's sake; `progress` is what reports.
    scoring
        "default" (Mikolov et al., 2013), "npmi", or a function of gensim's six parameters.
    connector_words
        Words that may stand inside a phrase but not at its ends, such as `ENGLISH_CONNECTOR_WORDS`.
    progress
        True for a progress bar, False for silence; by default a bar on a terminal.

    Examples
    --------
    >>> text = [["in", "new", "york", "city"], ["new", "york", "is", "new"], ["old", "york"]]
    >>> phrases = Phrases(text, min_count=1, threshold=1)
    >>> phrases[["a", "new", "york", "minute"]]
    ['a', 'new_york', 'minute']
    >>> [" ".join(sentence) for sentence in phrases[text]]
    ['in new_york city', 'new_york is new', 'old york']
    """

    def __init__(
        self,
        sentences: Any = None,
        min_count: float = 5,
        threshold: float = 10.0,
        max_vocab_size: int = 40_000_000,
        delimiter: str = "_",
        progress_per: int = 10_000,
        scoring: str | Scorer = "default",
        connector_words: Iterable[str] = frozenset(),
        *,
        progress: bool | Progress | None = None,
    ) -> None:
        check_float("min_count", min_count, above=0)
        check_float("threshold", threshold)
        if scoring == "default" and threshold <= 0:
            raise OptionError(f"threshold is {threshold}; it must be above 0 for the default scoring")
        if scoring == "npmi" and not -1 <= threshold <= 1:
            raise OptionError(f"threshold is {threshold}; it must be between -1 and 1 for npmi scoring")
        self.scoring: Scorer = chosen_scorer(scoring)
        self.min_count, self.threshold = min_count, threshold
        self.max_vocab_size = check_integer("max_vocab_size", max_vocab_size)
        self.delimiter, self.connector_words = checked_delimiter(delimiter), frozenset(connector_words)
        self.progress_per = progress_per
        self.min_reduce = 1  # what is counted less often is forgotten when there is no more room
        self.corpus_word_count = 0
        self.table = StringTable()
        self._vocab: Mapping[str, int] | None = None
        self._frequent: tuple[float, dict[str, int]] | None = None
        self._progress = progress
        if sentences is not None:
            self.add_vocab(sentences)

    def __str__(self) -> str:
        return (
            f"Phrases<{len(self.table)} vocab, min_count={self.min_count}, threshold={self.threshold}, "
            f"max_vocab_size={self.max_vocab_size}>"
        )

    __repr__ = __str__

    @property
    def vocab(self) -> Mapping[str, int]:
        """How often each word and each joined pair occurred: read-only, put together when first asked for."""
        if self._vocab is None:
            self._vocab = MappingProxyType(self.table.to_dict())
        return self._vocab

    def add_vocab(self, sentences: Any) -> None:
        """Count the words and pairs of more text."""
        from mumon.phrases.counting import count_text

        with choose_progress(self._progress) as progress:
            new = count_text(sentences, self.connector_words, self.glue(), self.max_vocab_size, progress)
        self.corpus_word_count += new.words
        if not len(self.table):
            self.table = new.table
        else:
            self.min_reduce = max(self.min_reduce, new.least)
            self.table.add(new.table.strings, new.table.counts)
            if len(self.table) > self.max_vocab_size:
                self.table = self.table.drop_rare(self.min_reduce)
                self.min_reduce += 1
        self._vocab = self._frequent = None

    def about(self) -> dict[str, float]:
        """What scorers are told beside the counts of a pair."""
        return {
            "len_vocab": len(self.table),
            "min_count": self.min_count,
            "corpus_word_count": self.corpus_word_count,
        }

    def score_candidate(self, word_a: str, word_b: str, in_between: list[str]) -> Verdict:
        """(the joined words, their score), or (None, None) if they are no phrase."""
        frequent = self._candidates()
        phrase = self.delimiter.join([word_a, *in_between, word_b])
        pair = frequent.get(phrase, 0)
        if not pair:
            return None, None
        first, second = (frequent.get(word) or self.table.get_count(word) for word in (word_a, word_b))
        if not (first and second):
            return None, None
        score = self.scoring(worda_count=first, wordb_count=second, bigram_count=pair, **self.about())
        return (phrase, score) if score > self.threshold else (None, None)

    def _candidates(self) -> dict[str, int]:
        """Every string that is frequent enough for a phrase, and its count."""
        least = least_count(self.scoring, self.min_count, self.threshold)
        if self._frequent is None or self._frequent[0] != least:
            self._frequent = (least, self.table.to_dict(np.flatnonzero(self.table.counts >= least)))
        return self._frequent[1]

    def matcher(self) -> Matcher:
        """What finds these phrases in numbered text."""
        return _CountingMatcher(self, {name: n for name, n in self._candidates().items() if self.delimiter in name})

    def export_phrases(self) -> dict[str, float]:
        """Every phrase that was learnt, and its score."""
        from mumon.kernels.strings import find_parts

        table, counts = self.table, self.table.counts
        pairs = np.flatnonzero(counts >= least_count(self.scoring, self.min_count, self.threshold))
        first, last = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.int64)
        find_parts(pairs, self.glue(), table.slots, table.starts, table.arena, first, last)
        both = (first >= 0) & (last >= 0)
        pairs, first, last = pairs[both], first[both], last[both]
        scores = accepted_scores(
            self.scoring, counts[first], counts[last], counts[pairs], self.threshold, **self.about()
        )
        chosen = ~np.isnan(scores)
        return dict(zip(table.strings.decode(pairs[chosen]), scores[chosen].tolist(), strict=True))

    def freeze(self) -> FrozenPhrases:
        """The phrases without the counts: smaller, faster, and done with learning."""
        return FrozenPhrases(self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Phrases:
        """What `save` wrote."""
        from mumon.phrases.files import load_phrases

        return load_phrases(path)


class _CountingMatcher(Matcher):
    """Scores pairs by the counts of a `Phrases`, for words that join to the same string may have different scores."""

    def __init__(self, phrases: Phrases, candidates: dict[str, int]) -> None:
        super().__init__(candidates, phrases.delimiter, phrases.connector_words)
        self._phrases = phrases
        self._pairs = np.append(self.table.counts, 0)  # the last is for -1
        self._words = np.append(phrases.table.counts, 0)[phrases.table.find(Strings.from_texts(self.words))]

    def scores(self, ids: Ids, first: Numbers, found: Numbers) -> Floats:
        at, phrases = np.flatnonzero(found >= 0), self._phrases
        one, two = self._words[ids[first[at]]], self._words[ids[at]]
        at, one, two = (values[(one > 0) & (two > 0)] for values in (at, one, two))
        scores = np.full(len(found), np.nan)
        scores[at] = accepted_scores(
            phrases.scoring, one, two, self._pairs[found[at]], phrases.threshold, **phrases.about()
        )
        return scores
