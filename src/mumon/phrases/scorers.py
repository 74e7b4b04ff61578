"""How strongly two words belong together, for one pair or for many; and the words that may stand between them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.errors import OptionError

Scorer = Callable[..., float]
Floats = npt.NDArray[np.float64]
PARAMETERS = ("worda_count", "wordb_count", "bigram_count", "len_vocab", "min_count", "corpus_word_count")
ROUNDING = 1e-9  # more than two ways of computing a logarithm differ by

# Articles, and the commonest prepositions and conjunctions: bank_of_america, not of_america.
ENGLISH_CONNECTOR_WORDS = frozenset(
    ["a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with", "without"]
)


def original_scorer(
    worda_count: float,
    wordb_count: float,
    bigram_count: float,
    len_vocab: float,
    min_count: float,
    corpus_word_count: float,
) -> float:
    """The score of Mikolov et al. (2013): (pair - min_count) / (first × second) × distinct words and pairs.

    >>> original_scorer(10, 20, bigram_count=9, len_vocab=1000, min_count=5, corpus_word_count=5000)
    20.0
    """
    product = worda_count * wordb_count
    return (bigram_count - min_count) / float(product) * len_vocab if product else -math.inf


def npmi_scorer(
    worda_count: float,
    wordb_count: float,
    bigram_count: float,
    len_vocab: float,
    min_count: float,
    corpus_word_count: float,
) -> float:
    """Normalised pointwise mutual information (Bouma, 2009), from -1 to 1; -inf for pairs rarer than `min_count`.

    >>> npmi_scorer(10, 10, bigram_count=10, len_vocab=0, min_count=5, corpus_word_count=5000)
    1.0
    """
    total = float(corpus_word_count)
    if bigram_count < min_count or not (worda_count and wordb_count and bigram_count):
        return -math.inf
    first, second, both = worda_count / total, wordb_count / total, bigram_count / total
    return math.log(both / (first * second)) / -math.log(both) if both != 1 else 1.0


NAMED: dict[str, Scorer] = {"default": original_scorer, "npmi": npmi_scorer}


def chosen_scorer(scoring: str | Scorer) -> Scorer:
    """The function that `scoring` names or is, if it takes what gensim's take."""
    if isinstance(scoring, str):
        if scoring not in NAMED:
            raise OptionError(f"scoring is {scoring!r}; it must be default, npmi or a function")
        return NAMED[scoring]
    if not callable(scoring):
        raise OptionError(f"scoring is a {type(scoring).__name__}; it must be default, npmi or a function")
    known = inspect.signature(scoring).parameters
    missing = [name for name in PARAMETERS if name not in known]
    if missing and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        raise OptionError(f"the scoring function lacks the parameters {', '.join(missing)}; it must take them by name")
    return scoring


def least_count(scorer: Scorer, min_count: float, threshold: float) -> float:
    """The count below which no pair can score above the threshold, or 1 if nothing is known of the scorer."""
    if scorer is original_scorer and threshold >= 0:
        return math.floor(min_count) + 1  # as many as min_count score 0
    return max(min_count, 1) if scorer is npmi_scorer else 1


def accepted_scores(scorer: Scorer, first: Any, second: Any, pair: Any, threshold: float, **about: Any) -> Floats:
    """The score of each pair by its three counts, as the scorer itself computes it; nan where it is no phrase.

    Only the scorers above are computed for all pairs at once; the doubtful cases of the second go to the function.
    """
    first, second, pair = (np.asarray(counts, np.float64) for counts in (first, second, pair))
    if scorer is original_scorer:
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = (pair - about["min_count"]) / (first * second) * about["len_vocab"]
        scores[(first * second == 0) | ~(scores > threshold)] = np.nan
        return np.asarray(scores)
    likely = np.ones(len(pair), bool)
    if scorer is npmi_scorer:
        total = float(about["corpus_word_count"])
        with np.errstate(divide="ignore", invalid="ignore"):
            rough = np.log(pair / total / (first / total * (second / total))) / -np.log(pair / total)
        likely = (pair >= about["min_count"]) & ~(rough <= threshold - ROUNDING)
    scores = np.full(len(pair), np.nan)
    memory: dict[tuple[int, int, int], float] = {}
    for i in np.flatnonzero(likely).tolist():
        counts = (int(first[i]), int(second[i]), int(pair[i]))
        if counts not in memory:
            values = dict(zip(PARAMETERS, counts, strict=False))
            memory[counts] = scorer(**values, **about)
        scores[i] = memory[counts] if memory[counts] > threshold else np.nan
    return scores
