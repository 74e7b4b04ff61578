"""The Word Mover's Distance: the least cost of moving the words of one text to those of another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.vectors.neighbours import Floats

Matrix = NDArray[np.float64]
MAX_PIECES = 250  # of equal weight, up to which assigning them one by one is faster than a linear programme


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
    few = supplies.sum() <= max(MAX_PIECES, 2 * min(costs.shape))  # with many equal costs the assignment is slow
    solve = solve_by_assignment if few else solve_by_linear_programme
    return solve(supplies, demands, costs) * unit / pieces


def solve_by_assignment(supply: NDArray[np.int64], demand: NDArray[np.int64], costs: Matrix) -> float:
    """Compute the least cost by assigning each single piece to a place."""
    from scipy.optimize import linear_sum_assignment

    single = np.repeat(np.repeat(costs, supply, axis=0), demand, axis=1)
    rows, columns = linear_sum_assignment(single)
    return float(single[rows, columns].sum())


def solve_by_linear_programme(supply: NDArray[np.int64], demand: NDArray[np.int64], costs: Matrix) -> float:
    """Compute the least cost of a flow that empties every row of `supply` and fills every column of `demand`."""
    from scipy.optimize import linprog
    from scipy.sparse import eye, kron, vstack

    n, m = costs.shape
    sums = vstack([kron(eye(n), np.ones((1, m))), kron(np.ones((1, n)), eye(m))], format="csr")
    total = supply.sum()
    shares = np.concatenate([supply, demand]) / total
    # The last equation follows from the others; without it rounding cannot make them contradict each other.
    found = linprog(costs.ravel(), A_eq=sums[:-1], b_eq=shares[:-1], method="highs")
    if not found.success:
        raise ArithmeticError(f"the linear programme of {n} and {m} words ended with: {found.message}")
    return float(found.fun) * float(total)
