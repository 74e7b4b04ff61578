"""One statistic for all tasks: the harmonic mean of precision and recall.

Where every item has one label and gets one, it is the accuracy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def score(outcomes: NDArray[np.int64]) -> float:
    """F1 × 100 of outcomes (items, 3): right, given, there; 0 where nothing was right.

    >>> score(np.array([[1, 1, 1], [0, 1, 1]])), score(np.array([[1, 2, 1]]))
    (50.0, 66.66666666666667)
    """
    right, given, there = outcomes.sum(axis=0)
    return 200 * float(right) / float(given + there) if right else 0.0
