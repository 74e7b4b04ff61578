"""Phrases: pairs of words that occur together more often than chance would have it, joined into one token.

Names, meanings and results are gensim 4's. Counting and joining run in compiled code over numbered words.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mumon.corpus.vocabulary import MAX_COUNT
from mumon.errors import OptionError
from mumon.phrases.files import check_words, read_phrases, refuse_damage
from mumon.phrases.finder import PhraseFinder, check_delimiter
from mumon.phrases.matching import Floats, Matcher
from mumon.phrases.scorers import SCORERS, Scorer, choose_scorer, find_least_count, score_pairs
from mumon.phrases.stream import Ids
from mumon.phrases.table import Numbers, Strings, StringTable
from mumon.utils.progress import Progress, choose_progress
from mumon.utils.validation import check_float, check_integer


class FrozenPhrases(PhraseFinder):
    """Phrases that are known, without the counts that they were learnt from.

    Parameters
    ----------
    phrases_model
        A `Phrases`, or gensim's.

    Attributes
    ----------
    phrasegrams
        Each phrase and its score.
    """

    _kind = "frozen"

    def __init__(self, phrases_model: Any) -> None:
        self.threshold, self.min_count = phrases_model.threshold, phrases_model.min_count
        self.delimiter, self.scoring = phrases_model.delimiter, phrases_model.scoring
        self.connector_words = frozenset(phrases_model.connector_words)
        self.phrasegrams: dict[str, float] = phrases_model.export_phrases()

    def __str__(self) -> str:
        return f"FrozenPhrases<{len(self.phrasegrams)} phrases, min_count={self.min_count}, threshold={self.threshold}>"

    __repr__ = __str__

    def _find_score(self, phrase: str, word_a: str, word_b: str) -> float | None:
        return self.phrasegrams.get(phrase)

    def _build_matcher(self) -> Matcher:
        """Build what finds these phrases in numbered text."""
        phrases = {name: score for name, score in self.phrasegrams.items() if score > self.threshold}
        return _FrozenMatcher(phrases, self.delimiter, self.connector_words)

    def _list_fields(self) -> dict[str, Any]:
        return {"phrasegrams": self.phrasegrams}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> FrozenPhrases:
        """Read what `save` wrote.

        Parameters
        ----------
        path
            A JSON file. Nothing in it is run.
        """
        fields = read_phrases(path, cls._kind)
        frozen = FrozenPhrases.__new__(FrozenPhrases)
        with refuse_damage(path):
            check_float("min_count", fields["min_count"])
            check_float("threshold", fields["threshold"])
            frozen.min_count, frozen.threshold = fields["min_count"], fields["threshold"]
            frozen.delimiter = check_delimiter(fields["delimiter"])
            frozen.connector_words = frozenset(check_words(fields["connector_words"]))
            frozen.scoring = None if fields["scoring"] is None else SCORERS[fields["scoring"]]
            frozen.phrasegrams = {
                name: check_float(f"the score of {name[:40]!r}", score) for name, score in fields["phrasegrams"].items()
            }
        return frozen


Phraser = FrozenPhrases  # its name in older gensim


class _FrozenMatcher(Matcher):
    """Takes every string that it has for a phrase."""

    def __init__(self, phrases: dict[str, float], delimiter: str, connectors: frozenset[str]) -> None:
        super().__init__(dict.fromkeys(phrases, 1), delimiter, connectors)
        self._scores = np.array([*phrases.values(), np.nan])  # the last is for -1

    def score(self, ids: Ids, first: Numbers, found: Numbers) -> Floats:
        return np.asarray(self._scores[found])


class Phrases(PhraseFinder):
    """Phrases learnt from a text, which can learn from more.

    Parameters
    ----------
    sentences
        An iterable of token lists, or the path of a text with one sentence per line (plain or compressed).
    min_count
        Words and pairs that occur less often are ignored.
    threshold
        A pair that scores more is a phrase.
    max_vocab_size
        When there are more distinct words and pairs than this, the rarest are forgotten, to bound memory.
    delimiter
        What joins the words of a phrase.
    progress_per
        Accepted for compatibility with gensim, without effect; see `progress`.
    scoring
        "default" (Mikolov et al., 2013), "npmi", or a function of gensim's six parameters.
    connector_words
        Words that may be inside a phrase but not at its ends, such as `ENGLISH_CONNECTOR_WORDS`.
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

    _kind = "counts"

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
        self.scoring: Scorer = choose_scorer(scoring)
        self.min_count, self.threshold = min_count, threshold
        self.max_vocab_size = check_integer("max_vocab_size", max_vocab_size)
        self.delimiter, self.connector_words = check_delimiter(delimiter), frozenset(connector_words)
        self.progress_per = progress_per
        self.min_reduce = 1  # what is counted less often is forgotten when room runs out
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
        """How often each word and each joined pair occurred: read-only, built on first use."""
        if self._vocab is None:
            self._vocab = MappingProxyType(self.table.to_dict())
        return self._vocab

    def add_vocab(self, sentences: Any) -> None:
        """Count the words and pairs of more text.

        Parameters
        ----------
        sentences
            An iterable of token lists, the path of a text, or an encoded corpus.
        """
        from mumon.phrases.counting import count_text

        with choose_progress(self._progress) as progress:
            new = count_text(sentences, self.connector_words, self._encode_delimiter(), self.max_vocab_size, progress)
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

    def _scorer_options(self) -> dict[str, float]:
        """Return what scorers take beside the counts of a pair."""
        return {
            "len_vocab": len(self.table),
            "min_count": self.min_count,
            "corpus_word_count": self.corpus_word_count,
        }

    def _find_score(self, phrase: str, word_a: str, word_b: str) -> float | None:
        frequent = self._find_candidates()
        pair = frequent.get(phrase, 0)
        if not pair:
            return None
        first, second = (frequent.get(word) or self.table.get_count(word) for word in (word_a, word_b))
        if not (first and second):
            return None
        return self.scoring(worda_count=first, wordb_count=second, bigram_count=pair, **self._scorer_options())

    def _find_candidates(self) -> dict[str, int]:
        """Return every string that is frequent enough for a phrase, and its count."""
        least = find_least_count(self.scoring, self.min_count, self.threshold)
        if self._frequent is None or self._frequent[0] != least:
            self._frequent = (least, self.table.to_dict(np.flatnonzero(self.table.counts >= least)))
        return self._frequent[1]

    def _build_matcher(self) -> Matcher:
        """Build what finds these phrases in numbered text."""
        candidates = {name: count for name, count in self._find_candidates().items() if self.delimiter in name}
        return _CountingMatcher(self, candidates)

    def export_phrases(self) -> dict[str, float]:
        """Return every phrase that was learnt, and its score."""
        from mumon.kernels.strings import find_parts

        table, counts = self.table, self.table.counts
        pairs = np.flatnonzero(counts >= find_least_count(self.scoring, self.min_count, self.threshold))
        first, last = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.int64)
        find_parts(pairs, self._encode_delimiter(), table.slots, table.starts, table.arena, first, last)
        both = (first >= 0) & (last >= 0)
        pairs, first, last = pairs[both], first[both], last[both]
        scores = score_pairs(
            self.scoring, counts[first], counts[last], counts[pairs], self.threshold, **self._scorer_options()
        )
        accepted = ~np.isnan(scores)
        return dict(zip(table.strings.decode(pairs[accepted]), scores[accepted].tolist(), strict=True))

    def freeze(self) -> FrozenPhrases:
        """Return the phrases without the counts: smaller and faster, but they learn no more."""
        return FrozenPhrases(self)

    def _list_fields(self) -> dict[str, Any]:
        if self.scoring not in SCORERS.values():
            raise OptionError(
                "a scoring function of your own cannot be written to a file; freeze() the phrases and save those"
            )
        fields = {name: getattr(self, name) for name in ("max_vocab_size", "min_reduce", "corpus_word_count")}
        return {**fields, "vocab": dict(self.vocab)}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Phrases:
        """Read what `save` wrote.

        Parameters
        ----------
        path
            A JSON file. Nothing in it is run.
        """
        fields = read_phrases(path, cls._kind)
        with refuse_damage(path):
            phrases = Phrases(
                None,
                fields["min_count"],
                fields["threshold"],
                fields["max_vocab_size"],
                fields["delimiter"],
                scoring=fields["scoring"],
                connector_words=check_words(fields["connector_words"]),
            )
            phrases.min_reduce = check_integer("min_reduce", fields["min_reduce"])
            phrases.corpus_word_count = check_integer("corpus_word_count", fields["corpus_word_count"], least=0)
            for name, count in fields["vocab"].items():
                check_integer(f"the count of {name[:40]!r}", count, least=0, most=MAX_COUNT)
            phrases.table = StringTable.from_counts(fields["vocab"])
        return phrases


class _CountingMatcher(Matcher):
    """Scores pairs by the counts of a `Phrases`, for pairs that join to the same string may have different scores."""

    def __init__(self, phrases: Phrases, candidates: dict[str, int]) -> None:
        super().__init__(candidates, phrases.delimiter, phrases.connector_words)
        self._phrases = phrases
        self._pairs = np.append(self.table.counts, 0)  # the last is for -1
        self._words = np.append(phrases.table.counts, 0)[phrases.table.find(Strings.from_texts(self.words))]

    def score(self, ids: Ids, first: Numbers, found: Numbers) -> Floats:
        at, phrases = np.flatnonzero(found >= 0), self._phrases
        one, two = self._words[ids[first[at]]], self._words[ids[at]]
        at, one, two = (values[(one > 0) & (two > 0)] for values in (at, one, two))
        scores = np.full(len(found), np.nan)
        scores[at] = score_pairs(
            phrases.scoring, one, two, self._pairs[found[at]], phrases.threshold, **phrases._scorer_options()
        )
        return scores
