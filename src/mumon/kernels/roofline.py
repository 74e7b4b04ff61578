"""What a machine can do at most: the small products of the training kernels, and rows read and written at random."""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import kernel


@kernel
def small_products(a: Any, b: Any, out: Any, times: Any) -> None:
    """out = a · bᵀ, again and again: the shape and the way in which the fast kernels multiply."""
    for _ in range(times):
        np.dot(a, b.T, out)


@kernel
def copy(source: Any, target: Any) -> None:
    """target = source, in order."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def add_to_rows(matrix: Any, order: Any, step: Any) -> None:
    """Read and write whole rows in a given order, as training does with the rows of words."""
    for i in range(order.shape[0]):
        row = order[i]
        for d in range(matrix.shape[1]):
            matrix[row, d] += step
