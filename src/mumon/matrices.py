"""The two matrices: how their memory is laid out and what it starts as."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mumon.sampling import INITIAL, stream_seed

Matrix = npt.NDArray[np.float32]
CACHE_LINE = 64  # bytes that come from memory together
PADDING = 16  # a row is a multiple of 16 floats: whole cache lines, whole AVX-512 registers


def zeros_on_cache_lines(size: int) -> npt.NDArray[np.uint8]:
    """So many zero bytes, the first of which begins a cache line."""
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size]


def new_matrix(rows: int, columns: int) -> Matrix:
    """A zero matrix whose rows are padded and start on cache lines; the caller uses the first `columns`."""
    width = -(-columns // PADDING) * PADDING
    return zeros_on_cache_lines(rows * width * 4).view(np.float32).reshape(rows, width)


def initial_rows(matrix: Matrix, columns: int, rows: npt.NDArray[np.int64], seed: int) -> None:
    """word2vec's start for source vectors: uniform in ±½/D. Row i does not depend on which others are filled."""
    generator = np.random.Generator(np.random.PCG64(int(stream_seed(seed, 0, 0, INITIAL))))
    wanted = np.zeros(len(matrix), bool)
    wanted[rows] = True
    for first in range(0, len(matrix), 4096):
        part = slice(first, min(first + 4096, len(matrix)))
        values = (generator.random((part.stop - first, columns), np.float32) - np.float32(0.5)) / np.float32(columns)
        matrix[part, :columns][wanted[part]] = values[wanted[part]]
