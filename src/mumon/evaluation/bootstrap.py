"""Scores of resampled items: 95 % intervals, and whether one model is better than another.

What is drawn depends on the seed and the number of items alone: every model is asked the same resamples of the same
items, which is what makes a comparison paired.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ITEMS_AT_A_TIME = 1 << 19  # items drawn at once: 4 MB, which stays in the cache


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a model did with each item of a task.

    `values` are cosines, or 1 for right and 0 for wrong; they are 0 where a word was not `found`. With `gold` scores
    the statistic is Spearman's correlation with them, otherwise the mean of the values.
    """

    values: Array
    found: NDArray[np.bool_]
    gold: Array | None = None

    def select(self, items: NDArray[np.bool_]) -> Outcome:
        """The outcome on some of the items."""
        return Outcome(self.values[items], self.found[items], None if self.gold is None else self.gold[items])

    def score(self, skip_missing: bool = True) -> float:
        """The statistic × 100; nan where it is not defined."""
        kept = self.select(self.found) if skip_missing else self
        if self.gold is None:
            return 100 * float(kept.values.mean()) if len(kept.values) else float("nan")
        assert kept.gold is not None
        if len(kept.values) < 2 or np.ptp(kept.gold) == 0 or np.ptp(kept.values) == 0:
            return float("nan")
        from scipy.stats import spearmanr

        return 100 * float(spearmanr(kept.gold, kept.values)[0])

    def resample(self, resamples: int, seed: int) -> tuple[Array, Array]:
        """The statistic × 100 on each of so many resamples of all items: missing words skipped, and counted."""
        skip: list[Array] = [np.empty(0)]
        zero: list[Array] = [np.empty(0)]
        for drawn in draw_items(len(self.values), resamples, seed):
            with np.errstate(invalid="ignore", divide="ignore"):  # a resample may hold nothing to score: nan
                if self.gold is None:
                    total = self.values[drawn].sum(axis=1)
                    skip.append(100 * total / self.found[drawn].sum(axis=1))
                    zero.append(100 * total / len(self.values))
                else:
                    counts = count_draws(drawn, len(self.values))
                    skip.append(self._resample_spearman(counts, self.found))
                    zero.append(self._resample_spearman(counts, np.ones_like(self.found)))
        return np.concatenate(skip), np.concatenate(zero)

    def _resample_spearman(self, counts: Array, items: NDArray[np.bool_]) -> Array:
        kept = self.select(items)
        assert kept.gold is not None
        return 100 * compute_spearman(kept.gold, kept.values, counts[:, items])


def draw_items(items: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """The items of each resample, (some, items) at a time."""
    random = np.random.default_rng([seed, items])
    at_once = max(1, ITEMS_AT_A_TIME // max(items, 1))
    for first in range(0, resamples if items else 0, at_once):
        yield random.integers(items, size=(min(at_once, resamples - first), items))


def count_draws(drawn: NDArray[np.int64], items: int) -> Array:
    """How often each item is in each resample: with these, the sorting behind the ranks is done only once."""
    rows = np.arange(len(drawn))[:, None] * items
    return np.bincount((drawn + rows).ravel(), minlength=len(drawn) * items).reshape(-1, items).astype(np.float64)


def compute_spearman(x: Array, y: Array, weights: Array) -> Array:
    """Spearman's correlation of x and y (n,) in which item i occurs weights[r, i] times, for each row r.

    >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    >>> compute_spearman(x, y, np.ones((1, 3))).round(3).tolist()
    [0.5]
    """
    total = weights.sum(axis=1, keepdims=True)
    ranks = [_compute_ranks(values, weights) for values in (x, y)]
    centred = [rank - (weights * rank).sum(axis=1, keepdims=True) / total for rank in ranks]
    variances = [(weights * c * c).sum(axis=1) for c in centred]
    return np.asarray((weights * centred[0] * centred[1]).sum(axis=1) / np.sqrt(variances[0] * variances[1]))


def _compute_ranks(values: Array, weights: Array) -> Array:
    """The mean rank of each item among its weighted peers, per row of weights."""
    distinct, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(distinct)))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
    return np.asarray(middle[:, group])


def average_over_seeds(scores: Array, seed: int) -> Array:
    """The mean over seeds of scores (seeds, resamples of the items) when the seeds are drawn anew as well.

    The draws depend on `seed` and the shape alone, so that those of two models can be subtracted. Drawing k seeds out
    of k shows only (k - 1) / k of the variance between them, which is made up for.

    >>> average_over_seeds(np.array([[1.0, 2.0]]), 0).tolist()
    [1.0, 2.0]
    """
    seeds, resamples = scores.shape
    mean = scores.mean(axis=0)
    if seeds == 1:
        return np.asarray(mean)
    picked = np.random.default_rng([seed, seeds]).integers(seeds, size=(seeds, resamples))
    drawn_mean = np.take_along_axis(scores, picked, axis=0).mean(axis=0)
    return np.asarray(mean + math.sqrt(seeds / (seeds - 1)) * (drawn_mean - mean))


def compute_interval(scores: Array, level: float = 0.95) -> tuple[float, float]:
    """The middle 95 % of resampled scores."""
    defined = scores[np.isfinite(scores)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def derive_seed(seed: int, *names: str) -> int:
    """A seed for one named thing, so that no two tasks or folds share their resamples."""
    return zlib.crc32("\t".join([str(seed), *names]).encode())
