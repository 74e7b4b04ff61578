"""How rows are placed in memory: padded to whole cache lines, and beginning on one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CACHE_LINE = 64  # the bytes that are fetched from memory together
BAND = 48  # columns that a kernel works on at a time: what a batch needs of them stays in the first-level cache
PIECE = 1024  # tokens, in whole batches, whose words keep one vector where that is made from a bag of rows
PADDING = 16  # a row is a multiple of 16 floats: whole cache lines, whole AVX-512 registers


def zeros_on_cache_lines(size: int) -> npt.NDArray[np.uint8]:
    """Return an array of `size` zero bytes that begins on a cache line."""
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size]


def row_bytes(columns: int) -> int:
    """Return the bytes of a row of float32, including its padding."""
    return -(-columns // PADDING) * PADDING * 4
