"""Similarity of sentences: the vectors of their words are pooled, and the cosines compared with what people said.

A sentence's vector is the mean of its words' vectors, or that of Arora, Liang and Ma (2017), SIF: a word has the weight
a / (a + p), where p is its share of the training text, and the direction that the sentences of the task have in common
is removed. Nothing is trained on sentences, so this asks only what the word vectors know. Words are runs of letters and
digits, looked up as they are and then in lower case. Vectors with subwords have one for the other words, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.evaluation.bootstrap import Outcome, compute_interval, derive_seed
from mumon.evaluation.word_lookup import WordFinder
from mumon.vectors.neighbours import Floats
from mumon.vectors.pooling import (
    compute_sif_weights,
    find_common_direction,
    find_rows,
    pool_rows,
    remove_direction,
    scale_rows_to_unit,
)
from mumon.vectors.word_vectors import WordVectors

Method = Literal["mean", "sif"]
METHODS: tuple[Method, ...] = ("mean", "sif")
SIF_WEIGHT = 1e-3  # a of a / (a + p), as in its paper
WORD = re.compile(r"\w+")


@dataclass(frozen=True, eq=False)
class SentenceTask:
    """Pairs of sentences and the similarity that people gave them.

    Parameters
    ----------
    name
        How reports call the task.
    pairs
        Two sentences each.
    gold
        One score for each pair.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    gold: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def words(self) -> list[list[str]]:
        """The words of all first sentences, then of all second ones."""
        return [split_words(pair[side]) for side in (0, 1) for pair in self.pairs]


@dataclass(frozen=True)
class SentenceScore:
    """Spearman's correlation × 100 of one task, with its 95 % interval.

    Parameters
    ----------
    task, method
        What was scored, and how words became a sentence.
    score, low, high
        The correlation and the ends of its interval.
    n
        The number of pairs.
    covered
        The number of pairs in which both sentences have a word with a vector. The others have the cosine 0.
    """

    task: str
    method: Method
    score: float
    low: float
    high: float
    n: int
    covered: int

    def to_json(self) -> dict[str, Any]:
        """Return the fields, with None for nan, which JSON lacks."""
        return {name: None if value != value else value for name, value in asdict(self).items()}


def score_sentences(
    wv: WordVectors,
    tasks: Sequence[SentenceTask],
    methods: Sequence[Method] = METHODS,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> list[SentenceScore]:
    """Score word vectors on pairs of sentences.

    Parameters
    ----------
    wv
        The vectors. "sif" needs their counts.
    tasks
        Pairs with scores, such as `load_sentence_tasks` returns.
    methods
        How words become a sentence: "mean", "sif" or both.
    resamples
        Resamples of the bootstrap over pairs; with 0 there are no intervals.
    seed
        Fixes the resamples.

    Returns
    -------
    list of SentenceScore
        One for each task and method.

    Raises
    ------
    OptionError
        If a method is unknown, or if "sif" is asked of vectors without counts.

    Examples
    --------
    >>> wv = WordVectors(["cats", "dogs", "rain"], np.array([[4, 1], [3, 1], [0, 2]], np.float32))
    >>> pairs = (("Cats!", "dogs"), ("cats, dogs", "dogs rain"), ("dogs", "rain"))
    >>> score = score_sentences(wv, [SentenceTask("pets", pairs, np.array([5.0, 3.0, 1.0]))], ["mean"])[0]
    >>> round(score.score), score.covered
    (100, 3)
    """
    scores = []
    for task in tasks:
        for method in methods:
            outcome = answer_pairs(wv, task, method)
            sampled = outcome.resample(resamples, derive_seed(seed, task.name))[1]
            value, covered = outcome.score(skip_missing=False), int(outcome.found.sum())
            scores.append(SentenceScore(task.name, method, value, *compute_interval(sampled), len(task), covered))
    return scores


def answer_pairs(wv: WordVectors, task: SentenceTask, method: Method = "mean") -> Outcome:
    """Compute the cosine of each pair of a task.

    Parameters
    ----------
    wv
        The vectors.
    task
        Pairs of sentences.
    method
        "mean" or "sif".

    Returns
    -------
    Outcome
        The cosines, 0 where a sentence has no word with a vector, and whether both sentences have one.
    """
    pooled, known = embed_sentences(wv, task.words, method)
    first, second = np.split(scale_rows_to_unit(pooled), 2)
    found = known[: len(task)] & known[len(task) :]
    return Outcome(np.where(found, (first * second).sum(axis=1, dtype=np.float64), 0.0), found, task.gold)


def embed_sentences(
    wv: WordVectors, sentences: Sequence[Sequence[str]], method: Method = "mean"
) -> tuple[Floats, NDArray[np.bool_]]:
    """Pool the vectors of the words of each sentence.

    Parameters
    ----------
    wv
        The vectors.
    sentences
        Lists of words.
    method
        "mean", or "sif", which removes what all these sentences have in common.

    Returns
    -------
    tuple
        A row for each sentence, and whether the sentence has a word with a vector; if not, its row is zeros.
    """
    if method not in METHODS:
        raise OptionError(f"the method is {method!r}; it must be one of the {len(METHODS)}: {', '.join(METHODS)}")
    if method == "sif" and wv.counts is None:
        raise OptionError(f"the {len(wv)} words came without counts, which SIF needs; use the method mean")
    finder = WordFinder(wv)
    words = list(dict.fromkeys(chain.from_iterable(sentences)))
    places, edges = find_rows(sentences, dict(zip(words, finder.find_places(words), strict=True)))
    used, rows = np.unique(places, return_inverse=True)
    vectors = finder.take_vectors(used)
    if method == "mean" or wv.counts is None:
        return pool_rows(rows, edges, vectors), np.diff(edges) > 0
    weights = np.ones(len(used), np.float32)  # of a composed word, which the training text did not have
    weights[used < len(wv)] = compute_sif_weights(wv.counts, SIF_WEIGHT)[used[used < len(wv)]]
    pooled = pool_rows(rows, edges, vectors, weights)
    return remove_direction(pooled, find_common_direction(pooled)), np.diff(edges) > 0


def split_words(sentence: str) -> list[str]:
    """Split a sentence into words.

    >>> split_words("It's 5 o'clock: don't run!")
    ['It', 's', '5', 'o', 'clock', 'don', 't', 'run']
    """
    return WORD.findall(sentence)
