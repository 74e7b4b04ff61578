"""The two matrices and shared weights: how their memory is laid out and what it starts as."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mumon.corpus.subwords import Subwords
from mumon.kernels.layout import row_bytes, zeros_on_cache_lines
from mumon.training.sampling import INITIAL, derive_seed
from mumon.utils.progress import Progress
from mumon.utils.threads import share_work

Matrix = npt.NDArray[np.float32]
ReportRows = Callable[[int], None]  # called with the number of rows that were filled

FILLED_NUMBERS = 1 << 15  # drawn at a time: they stay in the cache
REPORTED_BYTES = 10**9  # a matrix of this size takes more than a moment to fill


@dataclass(frozen=True)
class ModelMatrices:
    """What a saved model or a checkpoint has of its matrices, without padding (`formats.directory.save_model`)."""

    vectors: Matrix
    output: Matrix
    positions: Matrix | None = None
    own: Matrix | None = None
    subwords: Subwords | None = None


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


def make_shared_weights(rows: int, columns: int) -> Matrix:
    """Make the weights that all words share, in memory: all 1, in rows as long as those of `allocate_matrix`."""
    return np.ones((rows, row_bytes(columns) // np.dtype(np.float32).itemsize), np.float32)


class FillProgress:
    """Reports how many rows of large matrices are filled: filling some gigabytes takes a while.

    Parameters
    ----------
    matrix
        One of them.
    passes
        How many times all its rows are visited.
    progress
        Where to report.
    doing, done
        What to call it, while it lasts and at its end.
    """

    def __init__(
        self,
        matrix: Matrix,
        passes: int,
        progress: Progress,
        doing: str = "filling the matrices",
        done: str = "filled the {:,} rows of both matrices",
    ) -> None:
        self._progress = progress if matrix.nbytes >= REPORTED_BYTES else Progress()
        self._rows, self._done, self._end = len(matrix), 0, done
        self._progress.start(doing, passes * len(matrix), "rows")

    def __call__(self, rows: int) -> None:
        self._done += rows
        self._progress.update(self._done)

    def finish(self) -> None:
        """Report that all rows are filled."""
        self._progress.finish(self._end.format(self._rows))


def _report_nothing(rows: int) -> None:
    pass


def fill_initial_rows(
    matrix: Matrix,
    columns: int,
    rows: npt.NDArray[np.int64],
    seed: int,
    report: ReportRows = _report_nothing,
    workers: int = 1,
) -> None:
    """Fill some rows with word2vec's first values for source vectors, uniform in ±½/D.

    Row i does not depend on which other rows are filled, nor on the number of threads. On a machine of several
    processors, memory belongs to the one whose thread touches it first: with several threads, the matrix is spread.

    Parameters
    ----------
    matrix, columns
        The matrix, and how many of its columns are used.
    rows
        The rows to fill.
    seed
        Of the training.
    report
        Called with the number of rows that were visited.
    workers
        The number of threads.
    """
    wanted = np.zeros(len(matrix), bool)
    wanted[rows] = True
    start = int(derive_seed(seed, 0, 0, INITIAL))

    def fill(part: slice) -> None:
        generator = _make_generator(start, part.start * columns)
        at_once = max(1, FILLED_NUMBERS // columns)
        for first in range(part.start, part.stop, at_once):
            some = slice(first, min(first + at_once, part.stop))
            values = generator.random((some.stop - some.start, columns), np.float32)
            values -= np.float32(0.5)
            chosen = matrix[some, :columns]
            if wanted[some].all():
                np.divide(values, np.float32(columns), out=chosen)
            else:
                values /= np.float32(columns)
                chosen[wanted[some]] = values[wanted[some]]

    parts = list(_parts(matrix))
    share_work(fill, parts, min(workers, len(parts)), lambda part: report(part.stop - part.start))


def _make_generator(seed: int, skipped: int) -> np.random.Generator:
    """Make a generator that has drawn `skipped` numbers of 32 bits already, each of which is half a step of it."""
    bits = np.random.PCG64(seed)
    bits.advance(skipped // 2)
    generator = np.random.Generator(bits)
    if skipped % 2:
        generator.random(dtype=np.float32)
    return generator


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


def add_scaled_rows(
    matrix: Matrix,
    other: Matrix,
    factor: float,
    chosen: npt.NDArray[np.bool_] | None = None,
    report: ReportRows = _report_nothing,
) -> None:
    """Add a multiple of another matrix, in place.

    Parameters
    ----------
    matrix
        What to add to.
    other
        A matrix of the same shape.
    factor
        By what its rows are multiplied.
    chosen
        Which rows to change; None for all.
    report
        Called with the number of rows that were visited.
    """
    for part in _parts(matrix):
        change = np.float32(factor) * other[part]
        if chosen is not None:
            change[~chosen[part]] = 0
        matrix[part] += change
        report(len(change))


def find_unchanged_rows(
    matrix: Matrix, other: Matrix, factor: float, before: Matrix, chosen: npt.NDArray[np.bool_] | None = None
) -> npt.NDArray[np.bool_]:
    """Return which rows are still as `add_scaled_rows` made them.

    Parameters
    ----------
    matrix, other, factor, chosen
        As they were given to `add_scaled_rows`.
    before
        A copy of the matrix from before it.

    Returns
    -------
    array of bool
    """
    unchanged = np.zeros(len(matrix), bool)
    for part in _parts(matrix):
        rows = before[part].copy()
        add_scaled_rows(rows, other[part], factor, None if chosen is None else chosen[part])
        unchanged[part] = (rows == matrix[part]).all(axis=1)
    return unchanged


def _parts(matrix: Matrix) -> Iterator[slice]:
    """Yield slices of rows, so that a copy of each takes little memory beside the matrix."""
    rows = max(1, min(4096, (1 << 22) // max(matrix.shape[1], 1)))
    for first in range(0, len(matrix), rows):
        yield slice(first, min(first + rows, len(matrix)))
