"""What a machine can do at most: the products of the training kernels, copying, and rows read and written at random."""

from __future__ import annotations

from typing import Any

from mumon.kernels.jit import kernel
from mumon.kernels.layout import BAND
from mumon.kernels.products import collect_noise, score_noise, update_noise


@kernel
def small_products(scores: Any, h: Any, dh: Any, target: Any, words: Any, rates: Any, times: Any) -> None:
    """Compute the three products of a batch many times.

    Parameters
    ----------
    scores, h, dh, target, words, rates
        As for `score_noise`, `collect_noise` and `update_noise`; at least as many words as rows of h.
    times
        How often.
    """
    rows = h.shape[0]
    for _ in range(times):
        score_noise(scores, rows, h, target, words, target, words)
        for begin in range(0, h.shape[1], BAND):
            end = min(begin + BAND, h.shape[1])
            collect_noise(dh, 0, rows, scores, target, words, begin, end, words)
            update_noise(target, words, rates, scores, h, rows, begin, end, words)


@kernel
def copy(source: Any, target: Any) -> None:
    """Copy `source` to `target`, element by element."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def add_to_rows(matrix: Any, order: Any, step: Any) -> None:
    """Read and write whole rows, as training does with the rows of words.

    Parameters
    ----------
    matrix
        The rows.
    order
        The rows to visit.
    step
        What to add to them.
    """
    for i in range(order.shape[0]):
        row = order[i]
        for d in range(matrix.shape[1]):
            matrix[row, d] += step
