"""What all objectives do once they have a vector h: score its target and noise words, and exchange gradients with them.

`step_exactly` does it for one h and fresh noise words, `score_batch` for the batches of the fast kernels, whose
products with noise words are in `products`.
"""

from __future__ import annotations

from typing import Any

from mumon.kernels.jit import inlined
from mumon.kernels.numerics import minus_log_sigmoid, sigmoid, target_rate
from mumon.kernels.row_ops import Carry, Row, Scalar, dot, locate, prefetch, scan_operation


@scan_operation
def exchange_rows(dh: Carry, row: Row, h: Row, gradient: Scalar, step: Scalar) -> tuple[Carry, Row]:
    """Update dh by a target row as it was, and the target row by h at its own rate: one logistic unit after another."""
    return dh + gradient * row, row + step * h


@inlined
def step_exactly(
    h: Any,
    dh: Any,
    target: Any,
    word: Any,
    noise: Any,
    next_noise: Any,
    rates: Any,
    alpha: Any,
    places: Any,
    factors: Any,
    sampled: Any,
) -> Any:
    """Take SGD steps on the target rows of a word and of its noise words, in this order; return the loss if `sampled`.

    A word that is drawn twice is scored by its row as the first step will have left it, without waiting for that step.
    The first row of dh receives the gradient of h, times alpha. `places` and `factors` are memory for 1 + noise words.
    Prefetches the rows of the noise words of the next step.
    """
    real, loss = h.dtype.type, 0.0
    dh[:] = real(0)
    places[:, 1] = locate(h, 0)
    score, count = dot(h, 0, target, word), 1
    places[0, 0], factors[0, 0] = locate(target, word), alpha * (real(1) - sigmoid(score))
    factors[0, 1] = target_rate(rates, word) * factors[0, 0]
    if sampled:
        loss += minus_log_sigmoid(score)
    for m in range(noise.shape[0]):
        other = noise[m]
        prefetch(target, next_noise[m])  # one by one: all at once would wait for each other
        if other != word:  # a target is not its own noise
            score, places[count, 0] = dot(h, 0, target, other), locate(target, other)
            for q in range(count):
                if places[q, 0] == places[count, 0]:
                    score += factors[q, 1] * dot(h, 0, h, 0)
            factors[count, 0] = -alpha * sigmoid(score)
            factors[count, 1] = target_rate(rates, other) * factors[count, 0]
            count += 1
            if sampled:
                loss += minus_log_sigmoid(-score)
    exchange_rows(dh, 0, target, h, places, factors, 0, count, 0, h.shape[1])
    return loss


@inlined
def noise_gradients(scores: Any, r: Any, scale: Any, words: Any, word: Any) -> Any:
    """Turn the scores of one target into gradients, and return whether the target is among the noise words.

    A target is not its own noise: its gradient there is 0.
    """
    found = False
    for m in range(scores.shape[1]):
        gradient = scale * sigmoid(scores[r, m])
        scores[r, m] = gradient if words[m] != word else gradient * 0
        found |= words[m] == word
    return found


@inlined
def score_batch(
    scores: Any,
    factors: Any,
    rows: Any,
    h: Any,
    target: Any,
    centres: Any,
    words: Any,
    rates: Any,
    alpha: Any,
    weight: Any,
    sampled: Any,
) -> Any:
    """Turn the scores of a batch into gradients, and return its loss if `sampled`.

    The gradients of noise words replace their scores; those of the targets `centres` are the first of the factors, and
    times the rate of the target row the second. Target rows learn from noise first, then one after another: if the row
    of a target is among those before it, its score is that of the row as it will be, without waiting for it.
    """
    real, loss = scores.dtype.type, 0.0
    if sampled:
        for r in range(rows):
            for m in range(words.shape[0]):
                if words[m] != centres[r]:
                    loss += weight * minus_log_sigmoid(-scores[r, m])
    for r in range(rows):
        factors[r, 1] = real(noise_gradients(scores, r, -alpha * weight, words, centres[r]))
    for r in range(rows):
        word, is_noise = centres[r], factors[r, 1] > 0
        score = dot(h, r, target, word)
        for q in range(r):
            if centres[q] == word:
                score += factors[q, 1] * dot(h, r, h, q)
        if is_noise:
            for m in range(words.shape[0]):
                if words[m] == word:
                    for q in range(rows):
                        score += target_rate(rates, word) * scores[q, m] * dot(h, r, h, q)
        factors[r, 0] = alpha * (real(1) - sigmoid(score))
        factors[r, 1] = target_rate(rates, word) * factors[r, 0]
        if sampled:
            loss += minus_log_sigmoid(score)
    return loss
