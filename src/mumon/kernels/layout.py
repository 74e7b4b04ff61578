"""How rows are placed in memory: padded to whole cache lines, and beginning on one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CACHE_LINE = 64  # the bytes that are fetched from memory together
BAND = 48  # columns that a kernel works on at a time: what a batch needs of them stays in the first-level cache
PIECE = 2048  # tokens, in whole batches, whose words keep one vector where that is made from a bag of rows
PADDING = 16  # a row is a multiple of 16 floats: whole cache lines, whole AVX-512 registers


def zeros_on_cache_lines(size: int) -> npt.NDArray[np.uint8]:
    """Return an array of `size` zero bytes that begins on a cache line."""
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size]


def row_bytes(columns: int) -> int:
    """Return the bytes of a row of float32, including its padding."""
    return -(-columns // PADDING) * PADDING * 4


def count_scratch_rows(tokens: int, words: int, batch: int, reach: int) -> int:
    """Return how many rows of memory a fast kernel over bags is given for a block.

    Parameters
    ----------
    tokens, words
        The most tokens of a block, and of how many different words.
    batch, reach
        The tokens of a batch, and to each side of a window.
    """
    piece = max(PIECE // batch, 1) * batch
    return 2 * min(tokens, words) + 2 * min(piece + 2 * reach, tokens)
