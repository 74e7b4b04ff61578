"""Which word stands amid these? CBOW's own question, answered by the softmax of its scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mumon.training.weights import Matrix


def word_probabilities(vectors: Matrix, output: Matrix, rows: list[int], mean: bool) -> npt.NDArray[np.float32]:
    """The softmax over all words of v'_w · h, with h the mean (or sum) of the context words' vectors.

    >>> eye = np.eye(2, dtype=np.float32)
    >>> [round(chance, 2) for chance in word_probabilities(eye, 2 * eye, [0], mean=True).tolist()]
    [0.88, 0.12]
    """
    h = vectors[rows].sum(axis=0, dtype=np.float64)
    scores = output @ (h / len(rows) if mean else h).astype(np.float32)
    weights = np.exp(scores - scores.max())  # gensim's overflow where scores are large
    return np.asarray(weights / weights.sum(), np.float32)
