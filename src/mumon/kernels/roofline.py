"""What a machine can do at most: the products of the training kernels, and rows read and written at random."""

from __future__ import annotations

from typing import Any

from mumon.kernels.jit import kernel
from mumon.kernels.products import exchange_gradients, score_noise


@kernel
def small_products(scores: Any, h: Any, dh: Any, target: Any, words: Any, rates: Any, times: Any) -> None:
    """The three products of a batch, again and again."""
    rows = h.shape[0]
    for _ in range(times):
        score_noise(scores, rows, h, target, words, target, words, 0)
        exchange_gradients(dh, h, rows, scores, target, words, rates, words, words, 0)


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
