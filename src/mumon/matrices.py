"""The two matrices: how their memory is laid out and what it starts as."""

from __future__ import annotations

from collections.abc import Iterator

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


def row_bytes(columns: int) -> int:
    """What a row takes, padding included."""
    return -(-columns // PADDING) * PADDING * 4


def new_matrix(rows: int, columns: int) -> Matrix:
    """A zero matrix whose rows are padded and start on cache lines; the caller uses the first `columns`."""
    return zeros_on_cache_lines(rows * row_bytes(columns)).view(np.float32).reshape(rows, -1)


def initial_rows(matrix: Matrix, columns: int, rows: npt.NDArray[np.int64], seed: int) -> None:
    """word2vec's start for source vectors: uniform in ±½/D. Row i does not depend on which others are filled."""
    generator = np.random.Generator(np.random.PCG64(int(stream_seed(seed, 0, 0, INITIAL))))
    wanted = np.zeros(len(matrix), bool)
    wanted[rows] = True
    for part in _parts(matrix):
        values = generator.random((part.stop - part.start, columns), np.float32)
        values -= np.float32(0.5)
        values /= np.float32(columns)
        matrix[part, :columns][wanted[part]] = values[wanted[part]]


def move_rows(old: Matrix, new: Matrix, known: npt.NDArray[np.int64]) -> None:
    """Copy row known[i] of `old` to row i of `new`, where known[i] is not -1."""
    for part in _parts(new):
        moved = known[part] >= 0
        new[part][moved] = old[known[part][moved]]


def _parts(matrix: Matrix) -> Iterator[slice]:
    """Some rows after the other, so that a copy of them takes little beside the matrix."""
    rows = max(1, min(4096, (1 << 22) // max(matrix.shape[1], 1)))
    for first in range(0, len(matrix), rows):
        yield slice(first, min(first + rows, len(matrix)))
