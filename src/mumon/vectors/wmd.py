"""The Word Mover's Distance: the least cost of moving the words of one text to those of another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mumon.vectors.neighbours import Floats


def compute_wmd(first: Sequence[Any], second: Sequence[Any], vector_of: Callable[[Any], Floats]) -> float:
    """Compute the distance of two lists of words, exact but for rounding.

    Words that both texts have in common need not move, because distances obey the triangle inequality. Only the surplus
    of one text over the other is moved.

    Parameters
    ----------
    first, second
        The words; neither list is empty.
    vector_of
        Returns the vector of a word.

    Returns
    -------
    float
    """
    from scipy.spatial.distance import cdist

    from mumon.kernels.transport import find_least_cost

    pieces = math.lcm(len(first), len(second))  # into which both texts are cut, of equal weight
    have, want = (
        Counter({word: count * (pieces // len(text)) for word, count in Counter(text).items()})
        for text in (first, second)
    )
    supply, demand = have - want, want - have
    if not supply:
        return 0.0
    costs = cdist(*([vector_of(word) for word in side] for side in (supply, demand)))
    amounts = [np.array(list(side.values()), np.int64) for side in (supply, demand)]
    unit = int(np.gcd.reduce(np.concatenate(amounts)))
    supplies, demands = (amount // unit for amount in amounts)
    return float(find_least_cost(supplies, demands, costs)) * unit / pieces
