"""How rows lie in memory: padded to whole cache lines, and where the first one begins."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CACHE_LINE = 64  # bytes that come from memory together
PADDING = 16  # a row is a multiple of 16 floats: whole cache lines, whole AVX-512 registers


def zeros_on_cache_lines(size: int) -> npt.NDArray[np.uint8]:
    """So many zero bytes, the first of which begins a cache line."""
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size]


def row_bytes(columns: int) -> int:
    """What a row takes, padding included."""
    return -(-columns // PADDING) * PADDING * 4
