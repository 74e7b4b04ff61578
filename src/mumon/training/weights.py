"""The two matrices: how their memory is laid out and what it starts as."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from mumon.kernels.layout import row_bytes, zeros_on_cache_lines
from mumon.training.sampling import INITIAL, stream_seed
from mumon.utils.progress import Progress

Matrix = npt.NDArray[np.float32]
Told = Callable[[int], None]  # of how many rows were filled
LARGE = 10**9  # bytes of a matrix that takes more than a moment to fill


def new_matrix(rows: int, columns: int, on_disk: bool = False) -> Matrix:
    """A zero matrix whose rows are padded and start on cache lines; the caller uses the first `columns`.

    On disk it is a mapped file, whose bytes are treated like any others.
    """
    size = rows * row_bytes(columns)
    if on_disk:
        from mumon.training.mmap_matrix import mapped_zeros

        memory = mapped_zeros(size)
    else:
        memory = zeros_on_cache_lines(size)
    return memory.view(np.float32).reshape(rows, -1)


class Filling:
    """Tells how far the rows of large matrices are filled: from some gigabytes on that is no matter of a moment."""

    def __init__(self, matrix: Matrix, passes: int, progress: Progress) -> None:
        self._progress = progress if matrix.nbytes >= LARGE else Progress()
        self._rows, self._done = len(matrix), 0
        self._progress.start("filling the matrices", passes * len(matrix), "rows")

    def __call__(self, rows: int) -> None:
        self._done += rows
        self._progress.update(self._done)

    def finish(self) -> None:
        self._progress.finish(f"filled the {self._rows:,} rows of both matrices")


def _nobody(rows: int) -> None:
    pass


def initial_rows(matrix: Matrix, columns: int, rows: npt.NDArray[np.int64], seed: int, told: Told = _nobody) -> None:
    """word2vec's start for source vectors: uniform in ±½/D. Row i does not depend on which others are filled."""
    generator = np.random.Generator(np.random.PCG64(int(stream_seed(seed, 0, 0, INITIAL))))
    wanted = np.zeros(len(matrix), bool)
    wanted[rows] = True
    for part in _parts(matrix):
        values = generator.random((part.stop - part.start, columns), np.float32)
        values -= np.float32(0.5)
        values /= np.float32(columns)
        matrix[part, :columns][wanted[part]] = values[wanted[part]]
        told(len(values))


def move_rows(old: Matrix, new: Matrix, known: npt.NDArray[np.int64], told: Told = _nobody) -> None:
    """Copy row known[i] of `old` to row i of `new`, where known[i] is not -1."""
    for part in _parts(new):
        moved = known[part] >= 0
        new[part][moved] = old[known[part][moved]]
        told(len(moved))


def copy_rows(given: Matrix, new: Matrix, columns: int, told: Told = _nobody) -> None:
    """Copy all rows from elsewhere, where they have no padding."""
    for part in _parts(new):
        new[part, :columns] = given[part]
        told(part.stop - part.start)


def _parts(matrix: Matrix) -> Iterator[slice]:
    """Some rows after the other, so that a copy of them takes little beside the matrix."""
    rows = max(1, min(4096, (1 << 22) // max(matrix.shape[1], 1)))
    for first in range(0, len(matrix), rows):
        yield slice(first, min(first + rows, len(matrix)))
