"""The two matrices: how their memory is laid out and what it starts as."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from mumon.kernels.layout import row_bytes, zeros_on_cache_lines
from mumon.training.sampling import INITIAL, derive_seed
from mumon.utils.progress import Progress

Matrix = npt.NDArray[np.float32]
ReportRows = Callable[[int], None]  # called with the number of rows that were filled
REPORTED_BYTES = 10**9  # a matrix of this size takes more than a moment to fill


def allocate_matrix(rows: int, columns: int, on_disk: bool = False) -> Matrix:
    """Make a zero matrix whose rows are padded and start on cache lines; the caller uses the first `columns`.

    Parameters
    ----------
    rows, columns
        Its size, without padding.
    on_disk
        Whether it is a mapped file, whose bytes are treated like any others.
    """
    size = rows * row_bytes(columns)
    if on_disk:
        from mumon.training.mmap_matrix import map_zeros

        memory = map_zeros(size)
    else:
        memory = zeros_on_cache_lines(size)
    return memory.view(np.float32).reshape(rows, -1)


class FillProgress:
    """Reports how many rows of large matrices are filled: filling some gigabytes takes a while."""

    def __init__(self, matrix: Matrix, passes: int, progress: Progress) -> None:
        self._progress = progress if matrix.nbytes >= REPORTED_BYTES else Progress()
        self._rows, self._done = len(matrix), 0
        self._progress.start("filling the matrices", passes * len(matrix), "rows")

    def __call__(self, rows: int) -> None:
        self._done += rows
        self._progress.update(self._done)

    def finish(self) -> None:
        """Report that all rows are filled."""
        self._progress.finish(f"filled the {self._rows:,} rows of both matrices")


def _report_nothing(rows: int) -> None:
    pass


def fill_initial_rows(
    matrix: Matrix, columns: int, rows: npt.NDArray[np.int64], seed: int, report: ReportRows = _report_nothing
) -> None:
    """Fill some rows with word2vec's first values for source vectors, uniform in ±½/D.

    Row i does not depend on which other rows are filled.
    """
    generator = np.random.Generator(np.random.PCG64(int(derive_seed(seed, 0, 0, INITIAL))))
    wanted = np.zeros(len(matrix), bool)
    wanted[rows] = True
    for part in _parts(matrix):
        values = generator.random((part.stop - part.start, columns), np.float32)
        values -= np.float32(0.5)
        values /= np.float32(columns)
        matrix[part, :columns][wanted[part]] = values[wanted[part]]
        report(len(values))


def move_rows(old: Matrix, new: Matrix, known: npt.NDArray[np.int64], report: ReportRows = _report_nothing) -> None:
    """Copy row known[i] of `old` to row i of `new`, where known[i] is not -1."""
    for part in _parts(new):
        moved = known[part] >= 0
        new[part][moved] = old[known[part][moved]]
        report(len(moved))


def copy_rows(old: Matrix, new: Matrix, columns: int, report: ReportRows = _report_nothing) -> None:
    """Copy all rows of a matrix without padding."""
    for part in _parts(new):
        new[part, :columns] = old[part]
        report(part.stop - part.start)


def _parts(matrix: Matrix) -> Iterator[slice]:
    """Yield slices of rows, so that a copy of each takes little memory beside the matrix."""
    rows = max(1, min(4096, (1 << 22) // max(matrix.shape[1], 1)))
    for first in range(0, len(matrix), rows):
        yield slice(first, min(first + rows, len(matrix)))
