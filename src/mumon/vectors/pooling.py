"""Vectors of documents: the mean of their words' vectors, plain or weighted by how rare the words are (SIF).

Smooth inverse frequency is the baseline of Arora, Liang and Ma (2017): a word has the weight a / (a + p), where p is
its share of the text, and the first singular vector, which all documents have in common, is removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mumon.vectors.neighbours import Floats

if TYPE_CHECKING:
    from mumon.corpus.subwords import Subwords


def find_rows(documents: Sequence[Sequence[str]], index: Mapping[str, int]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Look up the words of many documents.

    Parameters
    ----------
    documents
        Lists of words.
    index
        The row of each known word.

    Returns
    -------
    (rows, edges)
        The rows of all known words, document after document; those of document i are rows[edges[i] : edges[i + 1]].
    """
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    rows = np.fromiter(map(index.get, chain.from_iterable(documents), repeat(-1)), np.int64, int(lengths.sum()))
    known = np.concatenate([[0], np.cumsum(rows >= 0)])
    return rows[rows >= 0], known[np.concatenate([[0], np.cumsum(lengths)])]


def compose_unknown(
    documents: Sequence[Sequence[str]], index: Mapping[str, int], subwords: Subwords
) -> tuple[dict[str, int], Floats]:
    """Compose vectors for the words of documents that have no row, from their n-grams.

    Parameters
    ----------
    documents
        Lists of words.
    index
        The row of each known word.
    subwords
        The rows of n-grams.

    Returns
    -------
    (numbers, vectors)
        A number for each word that has an n-gram, and its vector.
    """
    from mumon.corpus.subwords import encode_word

    unknown = dict.fromkeys(word for word in chain.from_iterable(documents) if word not in index)
    words = [word for word in unknown if subwords.has_ngrams(word)]
    return {word: number for number, word in enumerate(words)}, subwords.average_rows([*map(encode_word, words)])[0]


def pool_rows(rows: NDArray[Any], edges: NDArray[Any], vectors: Floats, weights: Floats | None = None) -> Floats:
    """Return a vector for each document: the sum of weight × vector over its words, divided by their number.

    Parameters
    ----------
    rows, edges
        What `find_rows` returned.
    vectors
        The (V, D) matrix.
    weights
        One for each row of it; None weighs all words 1.

    Returns
    -------
    (documents, D) array of float32
        Rows of zeros for documents without known words.

    Examples
    --------
    >>> vectors = np.array([[1, 0], [0, 2]], np.float32)
    >>> pool_rows(np.array([0, 1, 1]), np.array([0, 2, 2, 3]), vectors).tolist()
    [[0.5, 1.0], [0.0, 0.0], [0.0, 2.0]]
    """
    from scipy.sparse import csr_matrix

    lengths = np.diff(edges)
    each = (1 if weights is None else weights[rows]) / np.repeat(lengths, lengths)
    matrix = csr_matrix((each.astype(np.float32), rows, edges), shape=(len(lengths), len(vectors)))
    return np.asarray(matrix @ vectors, np.float32)


def compute_sif_weights(counts: NDArray[np.int64], a: float) -> Floats:
    """Compute a / (a + p) for each word, where p is its share of all counts."""
    shares = counts / max(int(counts.sum()), 1)
    return (a / (a + shares)).astype(np.float32)


def count_words(rows: NDArray[Any], words: int) -> NDArray[np.int64]:
    """Count how often each of `words` rows occurs."""
    return np.bincount(rows, minlength=words).astype(np.int64)


def find_common_direction(vectors: Floats) -> Floats:
    """Compute the first right singular vector of a matrix; zeros if it is all zeros."""
    exact = vectors.astype(np.float64)
    gram = exact.T @ exact
    direction = np.linalg.eigh(gram)[1][:, -1] if gram.any() else np.zeros(len(gram))
    return direction.astype(np.float32)


def remove_direction(vectors: Floats, direction: Floats) -> Floats:
    """Subtract from each row its component along a direction of length 1."""
    return np.asarray(vectors - np.outer(vectors @ direction, direction))


def scale_rows_to_unit(vectors: Floats) -> Floats:
    """Scale each row to length 1; rows of zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1), np.float32)
