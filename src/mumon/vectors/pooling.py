"""Vectors of documents: the mean of their words' vectors, plain or weighted by how rare the words are (SIF).

Smooth inverse frequency is the baseline of Arora, Liang and Ma (2017): words count a / (a + p), where p is a word's
share of the text, and what all documents have in common, the first singular vector of theirs, is taken away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def find_rows(
    documents: Sequence[Sequence[str]], index: Mapping[str, int]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The rows of the words that have one, document after document, and where each document begins and ends in them."""
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    rows = np.fromiter(map(index.get, chain.from_iterable(documents), repeat(-1)), np.int64, int(lengths.sum()))
    known = np.concatenate([[0], np.cumsum(rows >= 0)])
    return rows[rows >= 0], known[np.concatenate([[0], np.cumsum(lengths)])]


def pool_rows(
    rows: npt.NDArray[Any], edges: npt.NDArray[Any], vectors: Floats, weights: Floats | None = None
) -> Floats:
    """The sum of weight × vector over a document's words, divided by their number; zeros where there are none.

    >>> vectors = np.array([[1, 0], [0, 2]], np.float32)
    >>> pool_rows(np.array([0, 1, 1]), np.array([0, 2, 2, 3]), vectors).tolist()
    [[0.5, 1.0], [0.0, 0.0], [0.0, 2.0]]
    """
    from scipy.sparse import csr_matrix

    lengths = np.diff(edges)
    each = (1 if weights is None else weights[rows]) / np.repeat(lengths, lengths)
    matrix = csr_matrix((each.astype(np.float32), rows, edges), shape=(len(lengths), len(vectors)))
    return np.asarray(matrix @ vectors, np.float32)


def sif_weights(counts: npt.NDArray[np.int64], a: float) -> Floats:
    """a / (a + p) for each word, where p is its share of all counts."""
    shares = counts / max(int(counts.sum()), 1)
    return (a / (a + shares)).astype(np.float32)


def count_words(rows: npt.NDArray[Any], words: int) -> npt.NDArray[np.int64]:
    """How often each word occurs."""
    return np.bincount(rows, minlength=words).astype(np.int64)


def find_common_direction(vectors: Floats) -> Floats:
    """The first right singular vector of some rows; zeros if they are."""
    exact = vectors.astype(np.float64)
    gram = exact.T @ exact
    direction = np.linalg.eigh(gram)[1][:, -1] if gram.any() else np.zeros(len(gram))
    return direction.astype(np.float32)


def remove_direction(vectors: Floats, direction: Floats) -> Floats:
    """Rows without what of them lies along a direction."""
    return np.asarray(vectors - np.outer(vectors @ direction, direction))


def scale_rows_to_unit(vectors: Floats) -> Floats:
    """Rows of length 1; those of zeros stay."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)
