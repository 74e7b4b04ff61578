"""Analogies a : b :: c : ? by 3CosAdd and 3CosMul over the whole vocabulary.

Every question needs the best of all V words. The cosines of the words that occur in questions with a block of the
vocabulary are one matrix product, and a question then only adds (or multiplies) three rows of it. Google's 19,544
questions contain 905 words, so this costs a twentieth of one product per question. A kernel first checks whether a
block holds anything better than the best answer so far, which is vectorised, and only then looks where. Threads share
the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.utils.threads import available_cores, use_one_blas_thread
from mumon.vectors.lookup import Lookup
from mumon.vectors.neighbours import Floats

Method = Literal["add", "mul"]
BLOCK_ROWS = 512  # rows of the vocabulary at a time: their cosines with 1,000 words fill 2 MB, a second-level cache


def solve(
    wv: Lookup,
    questions: Sequence[Sequence[int]] | NDArray[np.int64],
    method: Method = "add",
    *,
    limit: int | None = None,
    workers: int | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> NDArray[np.int64]:
    """Answer many analogies at once: a is to b as c is to which word?

    Parameters
    ----------
    wv
        The `WordVectors`.
    questions
        (Q, 3) row numbers a, b, c, none of which can be the answer.
    method
        "add" for 3CosAdd, "mul" for 3CosMul.
    limit
        Search only this many rows from the start.
    workers
        The number of threads; None uses all cores.
    on_rows
        Called with the number of rows searched so far, to show progress.

    Returns
    -------
    array of Q int64
        The row of each answer; -1 where no row is left to choose from.

    Examples
    --------
    >>> from mumon import WordVectors
    >>> vectors = np.array([[2, 1], [2, 3], [5, 1], [5, 3]], np.float32) - 3
    >>> wv = WordVectors(["man", "king", "woman", "queen"], vectors)
    >>> wv.index_to_key[solve(wv, [(0, 1, 2)])[0]]
    'queen'
    """
    if method not in ("add", "mul"):
        raise OptionError(f"method is {method!r}; it must be add or mul")
    asked = np.asarray(questions, np.int64).reshape(-1, 3)
    end = len(wv) if limit is None else min(limit, len(wv))
    rows, places = np.unique(asked, return_inverse=True)
    places = np.ascontiguousarray(places.reshape(-1, 3).astype(np.int32))
    units = _scale_rows(wv, rows)
    workers = max(1, min(workers or available_cores(), -(-end // BLOCK_ROWS)))
    edges = np.linspace(0, end, workers + 1).astype(int).tolist()
    done = [0] * workers

    def search(worker: int) -> tuple[Floats, NDArray[np.int64]]:
        from mumon.kernels.analogies import find_best_answers

        scores = np.full(len(asked), -np.inf, np.float32)
        answers = np.full(len(asked), -1, np.int64)
        for first in range(edges[worker], edges[worker + 1], BLOCK_ROWS):
            block = slice(first, min(first + BLOCK_ROWS, edges[worker + 1]))
            cosines = np.ascontiguousarray(units @ _scale_rows(wv, block).T)
            find_best_answers(cosines, places, rows, first, method == "mul", scores, answers)
            done[worker] = block.stop - edges[worker]
            if on_rows is not None:
                on_rows(sum(done))
        return scores, answers

    with use_one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        parts = list(pool.map(search, range(workers)))
    scores = np.array([part[0] for part in parts])
    winner = np.argmax(scores, axis=0)  # of equal scores the first part's: the most frequent word
    return np.asarray(np.array([part[1] for part in parts])[winner, np.arange(len(asked))])


def _scale_rows(wv: Lookup, rows: slice | NDArray[np.int64]) -> Floats:
    """Return rows scaled to length 1; zeros stay zeros."""
    lengths = wv.norms[rows][:, None]
    return np.divide(wv.vectors[rows], lengths, out=np.zeros_like(wv.vectors[rows]), where=lengths > 0)
