"""Answering analogies from the cosines of the words in the questions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel

EPSILON = np.float32(1e-6)  # Levy and Goldberg's, which keeps the quotient finite
ONE, HALF = np.float32(1), np.float32(0.5)


@inlined
def _add(a: Any, b: Any, c: Any) -> Any:
    return (b - a) + c


@inlined
def _multiply(a: Any, b: Any, c: Any) -> Any:
    """Return 3CosMul of cosines moved from [-1, 1] to [0, 1], as in Levy and Goldberg's footnote 7."""
    return ((ONE + b) * HALF) * ((ONE + c) * HALF) / ((ONE + a) * HALF + EPSILON)


@kernel
def find_best_answers(
    cosines: Any, questions: Any, rows: Any, first: Any, multiply: Any, scores: Any, answers: Any
) -> None:
    """Improve the answers to a : b :: c : ? with the words of one block of the vocabulary.

    The words of a question are not answers to it. Of equal answers the first stays.

    Parameters
    ----------
    cosines
        (U, n): the cosines of the U words that occur in questions with rows first … first + n of the vocabulary.
    questions
        (Q, 3): each question's a, b and c as indices into those U words.
    rows
        (U,): the rows of those words.
    first
        The first row of the block.
    multiply
        Whether to use 3CosMul instead of 3CosAdd.
    scores, answers
        (Q,): the best scores and rows so far, which are updated.
    """
    n = cosines.shape[1]
    for q in range(questions.shape[0]):
        a, b, c = questions[q, 0], questions[q, 1], questions[q, 2]
        best, better = scores[q], False
        # Most blocks have nothing better. A loop that asks only that vectorises; one that asks where does not.
        if multiply:
            for j in range(n):
                better |= _multiply(cosines[a, j], cosines[b, j], cosines[c, j]) > best
        else:
            for j in range(n):
                better |= _add(cosines[a, j], cosines[b, j], cosines[c, j]) > best
        if not better:
            continue
        for j in range(n):
            x, y, z = cosines[a, j], cosines[b, j], cosines[c, j]
            score = _multiply(x, y, z) if multiply else _add(x, y, z)
            row = first + j
            if score > scores[q] and row != rows[a] and row != rows[b] and row != rows[c]:
                scores[q], answers[q] = score, row
