"""How strongly two words belong together, for one pair or for many; and the words that may be between them."""

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
SCORER_PARAMETERS = ("worda_count", "wordb_count", "bigram_count", "len_vocab", "min_count", "corpus_word_count")
ROUNDING_ERROR = 1e-9  # more than two ways of computing a logarithm differ by

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
    """Score a pair as Mikolov et al. (2013) do: (pair - min_count) / (first × second) × distinct words and pairs.

    Parameters
    ----------
    worda_count, wordb_count
        How often the first and the last word of the pair occur.
    bigram_count
        How often they occur as a pair.
    len_vocab
        The number of distinct words and pairs.
    min_count
        What is taken off the count of the pair.
    corpus_word_count
        The number of words of the text.

    Returns
    -------
    float
        The score; -inf where one of the words does not occur.

    Examples
    --------
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
    """Score a pair by its normalised pointwise mutual information (Bouma, 2009).

    Parameters
    ----------
    worda_count, wordb_count
        How often the first and the last word of the pair occur.
    bigram_count
        How often they occur as a pair.
    len_vocab
        The number of distinct words and pairs.
    min_count
        Pairs that are rarer score -inf.
    corpus_word_count
        The number of words of the text.

    Returns
    -------
    float
        The score, from -1 to 1 (always together), or -inf.

    Examples
    --------
    >>> npmi_scorer(10, 10, bigram_count=10, len_vocab=0, min_count=5, corpus_word_count=5000)
    1.0
    """
    total = float(corpus_word_count)
    if bigram_count < min_count or not (worda_count and wordb_count and bigram_count):
        return -math.inf
    first, second, both = worda_count / total, wordb_count / total, bigram_count / total
    return math.log(both / (first * second)) / -math.log(both) if both != 1 else 1.0


SCORERS: dict[str, Scorer] = {"default": original_scorer, "npmi": npmi_scorer}


def choose_scorer(scoring: str | Scorer) -> Scorer:
    """Return the function that `scoring` names or is, and check that it takes what gensim's scorers take."""
    if isinstance(scoring, str):
        if scoring not in SCORERS:
            raise OptionError(f"scoring is {scoring!r}; it must be default, npmi or a function")
        return SCORERS[scoring]
    if not callable(scoring):
        raise OptionError(f"scoring is a {type(scoring).__name__}; it must be default, npmi or a function")
    known = inspect.signature(scoring).parameters
    missing = [name for name in SCORER_PARAMETERS if name not in known]
    if missing and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        raise OptionError(f"the scoring function lacks the parameters {', '.join(missing)}; it must take them by name")
    return scoring


def find_least_count(scorer: Scorer, min_count: float, threshold: float) -> float:
    """Return the count below which no pair can score above the threshold, or 1 if the scorer is unknown."""
    if scorer is original_scorer and threshold >= 0:
        return math.floor(min_count) + 1  # a pair that occurs min_count times scores 0
    return max(min_count, 1) if scorer is npmi_scorer else 1


def score_pairs(scorer: Scorer, first: Any, second: Any, pair: Any, threshold: float, **options: Any) -> Floats:
    """Score pairs exactly as the scorer does one by one.

    Only the scorers above are computed for all pairs at once; the doubtful cases of the second go to the function.

    Parameters
    ----------
    scorer
        A function of gensim's six parameters.
    first, second, pair
        The counts of the two words and of the pair.
    threshold
        Pairs that do not score more are not phrases.
    **options
        The scorer's other parameters.

    Returns
    -------
    numpy.ndarray
        The scores, nan for pairs that are not phrases.
    """
    first, second, pair = (np.asarray(counts, np.float64) for counts in (first, second, pair))
    if scorer is original_scorer:
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = (pair - options["min_count"]) / (first * second) * options["len_vocab"]
        scores[(first * second == 0) | ~(scores > threshold)] = np.nan
        return np.asarray(scores)
    likely = np.ones(len(pair), bool)
    if scorer is npmi_scorer:
        total = float(options["corpus_word_count"])
        with np.errstate(divide="ignore", invalid="ignore"):
            rough = np.log(pair / total / (first / total * (second / total))) / -np.log(pair / total)
        likely = (pair >= options["min_count"]) & ~(rough <= threshold - ROUNDING_ERROR)
    scores = np.full(len(pair), np.nan)
    memory: dict[tuple[int, int, int], float] = {}
    for i in np.flatnonzero(likely).tolist():
        counts = (int(first[i]), int(second[i]), int(pair[i]))
        if counts not in memory:
            values = dict(zip(SCORER_PARAMETERS, counts, strict=False))
            memory[counts] = scorer(**values, **options)
        scores[i] = memory[counts] if memory[counts] > threshold else np.nan
    return scores
