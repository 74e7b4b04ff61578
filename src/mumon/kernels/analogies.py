"""Answering analogies from the cosines of the words they ask about."""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel

EPSILON = np.float32(1e-6)  # Levy and Goldberg's: keeps the quotient finite
ONE, HALF = np.float32(1), np.float32(0.5)


@inlined
def _add(a: Any, b: Any, c: Any) -> Any:
    return (b - a) + c


@inlined
def _multiply(a: Any, b: Any, c: Any) -> Any:
    """3CosMul, on cosines moved from [-1, 1] to [0, 1] as in Levy and Goldberg's footnote 7."""
    return ((ONE + b) * HALF) * ((ONE + c) * HALF) / ((ONE + a) * HALF + EPSILON)


@kernel
def find_best_answers(
    cosines: Any, questions: Any, rows: Any, first: Any, multiply: Any, scores: Any, answers: Any
) -> None:
    """Improve the answers to a : b :: c : ? with the words of one block.

    cosines (U, n) of the U words that are asked about with rows first … first + n of the vocabulary; questions (Q, 3)
    are indices into those U, whose own rows are `rows` (U,); scores and answers (Q,) hold the best so far. The words
    of a question are no answers to it. Of equal answers the first stays.
    """
    n = cosines.shape[1]
    for q in range(questions.shape[0]):
        a, b, c = questions[q, 0], questions[q, 1], questions[q, 2]
        best, better = scores[q], False
        # Most blocks hold nothing better. To ask just that vectorises; to ask where it is does not.
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
