"""Nearest rows of a matrix by cosine, for a batch of queries: scored block by block, never a normalised copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]

BLOCK_SCORES = 1 << 22  # scores of a batch of queries held at once: 16 MB
QUERY_BATCH = 512  # queries scored in one pass over the matrix


def find_nearest(
    vectors: Floats,
    norms: Floats,
    queries: NDArray[Any],
    topn: int,
    exclude: Sequence[Iterable[int]] | None = None,
    rows: tuple[int, int] | None = None,
) -> tuple[NDArray[np.int64], Floats]:
    """Find the rows of a matrix most similar to each of many vectors.

    Parameters
    ----------
    vectors
        The (V, D) matrix.
    norms
        The lengths of its rows.
    queries
        A (Q, D) matrix.
    topn
        The number of rows to find for each query.
    exclude
        For each query, the rows that it must not be answered with.
    rows
        (start, end) to search only these rows.

    Returns
    -------
    (rows, scores)
        Two (Q, topn) arrays, best first. Row numbers are -1 where fewer than `topn` rows were left. A score is
        q · v / |v|, which is the cosine when the queries have length 1.
    """
    queries = np.asarray(queries, np.float32)
    start, end = rows or (0, len(vectors))
    topn = max(0, min(topn, end - start))
    indices = np.full((len(queries), topn), -1, np.int64)
    scores = np.full((len(queries), topn), -np.inf, np.float32)
    for first in range(0, len(queries) if topn else 0, QUERY_BATCH):
        batch = slice(first, first + QUERY_BATCH)
        left_out = _list_pairs(exclude[batch]) if exclude is not None else np.empty((0, 2), np.int64)
        for begin, block in score_blocks(vectors, norms, queries[batch], start, end):
            here = left_out[(left_out[:, 1] >= begin) & (left_out[:, 1] < begin + block.shape[1])]
            block[here[:, 0], here[:, 1] - begin] = -np.inf
            best = find_largest(block, topn)
            rivals = np.concatenate([scores[batch], np.take_along_axis(block, best, 1)], axis=1)
            places = np.concatenate([indices[batch], best + begin], axis=1)
            winners = find_largest(rivals, topn)
            scores[batch] = np.take_along_axis(rivals, winners, 1)
            indices[batch] = np.take_along_axis(places, winners, 1)
    indices[np.isneginf(scores)] = -1
    return indices, scores


def score_blocks(vectors: Floats, norms: Floats, queries: Floats, start: int, end: int) -> Iterator[tuple[int, Floats]]:
    """Score all queries with b rows at a time, as (Q, b) arrays, so that memory does not grow with V."""
    rows = max(1, BLOCK_SCORES // max(1, len(queries)))
    for begin in range(start, end, rows):
        stop = min(begin + rows, end)
        scores = queries @ vectors[begin:stop].T
        lengths = norms[begin:stop]
        yield begin, np.divide(scores, lengths, out=scores, where=lengths > 0)  # a row of zeros keeps its 0


def score_query(vectors: Floats, norms: Floats, query: Floats, start: int, end: int) -> Floats:
    """Score one query (D,) with rows [start, end)."""
    return join_scores([scores[0] for _, scores in score_blocks(vectors, norms, query[None], start, end)])


def compute_cosines(vectors: Floats, left: NDArray[np.int64], right: NDArray[np.int64]) -> Floats:
    """Compute the cosine of row left[i] with row right[i] for each i; it is 0 where one of them is all zeros.

    Computed in float64 and rounded, so that pairs that are equally similar tie.

    Parameters
    ----------
    vectors
        The (V, D) matrix.
    left, right
        Row numbers, P each.

    Returns
    -------
    array of P float32
    """
    a, b = vectors[left].astype(np.float64), vectors[right].astype(np.float64)
    lengths = compute_norms(a) * compute_norms(b)
    products = np.einsum("ij,ij->i", a, b)
    return np.asarray(np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0), np.float32)


def compute_norms(matrix: NDArray[Any]) -> NDArray[Any]:
    """Compute the Euclidean length of each row."""
    lengths: NDArray[Any] = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))  # no V x D array of squares
    return lengths


def scale_to_unit(vector: NDArray[Any]) -> NDArray[Any]:
    """Scale a vector to length 1; zeros stay zeros."""
    length = np.sqrt(vector @ vector)
    scaled: NDArray[Any] = vector / length if length > 0 else vector.copy()
    return scaled


def find_largest(scores: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Find the columns of the n largest scores of each row, best first; of equal scores the earlier comes first."""
    n = min(n, scores.shape[1])
    if n < scores.shape[1]:
        top = np.sort(np.argpartition(scores, -n, axis=1)[:, scores.shape[1] - n :], axis=1)
        # Of several scores equal to the last, argpartition took any; the earlier columns are wanted.
        last = np.take_along_axis(scores, top, 1).min(axis=1, initial=np.inf)
        for row in np.flatnonzero(np.count_nonzero(scores >= last[:, None], axis=1) > n):
            better = np.flatnonzero(scores[row] > last[row])
            level = np.flatnonzero(scores[row] == last[row])[: n - len(better)]
            top[row] = np.sort(np.concatenate([better, level]))
    else:
        top = np.broadcast_to(np.arange(n), scores.shape)
    order = np.argsort(-np.take_along_axis(scores, top, 1), axis=1, kind="stable")
    return np.take_along_axis(top, order, 1)


def _list_pairs(exclude: Sequence[Iterable[int]]) -> NDArray[np.int64]:
    """List (query, row) for each row that a query must not be answered with."""
    pairs = [(query, row) for query, rows in enumerate(exclude) for row in rows]
    return np.array(pairs, np.int64).reshape(-1, 2)


def join_scores(blocks: list[Floats]) -> Floats:
    """Join the scores of consecutive blocks of rows into one array."""
    return np.concatenate(blocks) if blocks else np.empty(0, np.float32)
