"""Scores on resampled items: 95 % intervals, and whether one model is better than another.

The resamples depend only on the seed and the number of items. Every model is scored on the same resamples of the same
items, which makes a comparison paired.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ITEMS_AT_A_TIME = 1 << 19  # items drawn at once: 4 MB, which stays in the cache


@dataclass(frozen=True, eq=False)
class Outcome:
    """A model's answers to the items of a task.

    The score is Spearman's correlation of `values` with `gold` if there are gold scores, and the mean of `values`
    otherwise.

    Parameters
    ----------
    values
        One number per item: a cosine, or 1 for right and 0 for wrong; 0 where a word is missing.
    found
        Whether the model has vectors for all words of an item.
    gold
        The scores that people gave, for similarity tasks.
    known
        Whether all words of an item have rows of their own. Without it these are the items that were found, as in
        vectors that compose none.
    """

    values: Array
    found: NDArray[np.bool_]
    gold: Array | None = None
    known: NDArray[np.bool_] | None = None

    def select(self, items: NDArray[np.bool_]) -> Outcome:
        """Return the outcome on the items that a mask selects."""
        gold = None if self.gold is None else self.gold[items]
        return Outcome(self.values[items], self.found[items], gold, None if self.known is None else self.known[items])

    def restrict_to_known(self) -> Outcome:
        """Return the outcome as if only the items of known words had been found."""
        if self.known is None:
            return self
        return replace(self, values=np.where(self.known, self.values, 0.0), found=self.known, known=None)

    def score(self, skip_missing: bool = True) -> float:
        """Compute the score × 100, or nan where it is not defined."""
        scored = self.select(self.found) if skip_missing else self
        if self.gold is None:
            return 100 * float(scored.values.mean()) if len(scored.values) else float("nan")
        assert scored.gold is not None
        if len(scored.values) < 2 or np.ptp(scored.gold) == 0 or np.ptp(scored.values) == 0:
            return float("nan")
        from scipy.stats import spearmanr

        return 100 * float(spearmanr(scored.gold, scored.values)[0])

    def resample(self, resamples: int, seed: int) -> tuple[Array, Array]:
        """Score resamples of all items.

        Parameters
        ----------
        resamples
            The number of resamples.
        seed
            Fixes which items are drawn, together with their number.

        Returns
        -------
        tuple of two arrays
            The scores × 100 with missing words skipped, and with missing words counted as 0.
        """
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
                    zero.append(self._resample_spearman(counts, np.ones_like(self.found)))
                    skip.append(zero[-1] if self.found.all() else self._resample_spearman(counts, self.found))
        return np.concatenate(skip), np.concatenate(zero)

    def _resample_spearman(self, counts: Array, items: NDArray[np.bool_]) -> Array:
        scored = self.select(items)
        assert scored.gold is not None
        return 100 * compute_spearman(scored.gold, scored.values, counts[:, items])


def draw_items(items: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Draw items with replacement.

    Parameters
    ----------
    items
        The number of items to draw from, and to draw for each resample.
    resamples
        The number of resamples.
    seed
        Fixes the draws, together with the number of items.

    Yields
    ------
    array (some resamples, items)
        Numbers of items, as many resamples at a time as fit into the cache.
    """
    random = np.random.default_rng([seed, items])
    at_once = max(1, ITEMS_AT_A_TIME // max(items, 1))
    for first in range(0, resamples if items else 0, at_once):
        yield random.integers(items, size=(min(at_once, resamples - first), items))


def count_draws(drawn: NDArray[np.int64], items: int) -> Array:
    """Count how often each item is in each resample, so that items are sorted only once for their ranks."""
    rows = np.arange(len(drawn))[:, None] * items
    return np.bincount((drawn + rows).ravel(), minlength=len(drawn) * items).reshape(-1, items).astype(np.float64)


def compute_spearman(x: Array, y: Array, weights: Array) -> Array:
    """Compute Spearman's correlation of x and y for several weightings of the items.

    Parameters
    ----------
    x, y
        The two values of each item, (items,).
    weights
        How often each item occurs, (weightings, items).

    Returns
    -------
    array (weightings,)
        The correlations.

    Examples
    --------
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
    """Compute the mean rank of each item among its weighted peers, per row of weights."""
    distinct, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(distinct)))
    sizes = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(sizes, axis=1) - (sizes - 1) / 2
    return np.asarray(middle[:, group])


def average_over_seeds(scores: Array, seed: int) -> Array:
    """Average scores over training seeds, with the seeds resampled as well.

    Drawing k seeds out of k shows only (k - 1) / k of the variance between them; the result is corrected for that.

    Parameters
    ----------
    scores
        Scores (seeds, resamples of the items).
    seed
        Fixes which seeds are drawn, together with the shape of `scores`, so that results of two models can be
        subtracted.

    Returns
    -------
    array (resamples,)
        The mean score of each resample.

    Examples
    --------
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
    """Compute the interval that holds the middle part of resampled scores.

    Parameters
    ----------
    scores
        Resampled scores; those that are not finite are left out.
    level
        The part that the interval holds.

    Returns
    -------
    tuple of float
        The two ends; nan if there is no score.
    """
    defined = scores[np.isfinite(scores)]
    if not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def derive_seed(seed: int, *names: str) -> int:
    """Derive a seed for something with a name, so that no two tasks or folds share their resamples."""
    return zlib.crc32("\t".join([str(seed), *names]).encode())
