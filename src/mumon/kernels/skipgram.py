"""Skip-gram with negative sampling: the centre's source row predicts each context word's target row.

Shapes and returns as in cbow.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import kernel
from mumon.kernels.noise import draw_from_alias, draw_words
from mumon.kernels.numerics import (
    GAMMA,
    LOSS_BATCHES,
    LOSS_TARGETS,
    minus_log_sigmoid,
    mix,
    sigmoid,
    source_rate,
    target_rate,
    target_rates,
)
from mumon.kernels.products import exchange_gradients, score_noise
from mumon.kernels.row_ops import add_row, allocate_rows, copy_row, dot, exchange, prefetch


@kernel
def skipgram_exact(
    source: Any,
    target: Any,
    ids: Any,
    left: Any,
    right: Any,
    alias: Any,
    rates: Any,
    negative: Any,
    alpha: Any,
    seed: Any,
) -> Any:
    """Take one SGD step per (centre, context) pair with `negative` fresh noise words."""
    real, state = source.dtype.type, seed
    h, dh = allocate_rows(1, source), allocate_rows(1, source)
    noise = np.empty(negative, np.int64)
    loss, counted = 0.0, 0
    for i in range(ids.shape[0]):
        sampled = i % LOSS_TARGETS == 0
        counted += sampled
        for j in range(left[i], right[i]):
            if j == i:
                continue
            for m in range(negative):
                state += GAMMA
                noise[m] = draw_from_alias(alias, mix(state))
                prefetch(target, noise[m])
            word = ids[j]
            copy_row(h, 0, source, ids[i])
            dh[:] = real(0)
            score = dot(h, 0, target, word)
            gradient = alpha * (real(1) - sigmoid(score))
            exchange(target, word, dh, 0, gradient, target_rate(rates, word) * gradient, h, 0)
            if sampled:
                loss += minus_log_sigmoid(score)
            for m in range(negative):
                other = noise[m]
                if other != word:
                    score = dot(h, 0, target, other)
                    gradient = -alpha * sigmoid(score)
                    exchange(target, other, dh, 0, gradient, target_rate(rates, other) * gradient, h, 0)
                    if sampled:
                        loss += minus_log_sigmoid(-score)
            add_row(source, ids[i], source_rate(rates, ids[i]), dh, 0)
    return loss, counted


@kernel
def skipgram_fast(
    source: Any,
    target: Any,
    ids: Any,
    left: Any,
    right: Any,
    alias: Any,
    rates: Any,
    negative: Any,
    shared: Any,
    batch: Any,
    alpha: Any,
    seed: Any,
) -> Any:
    """Take SGD steps on batches of centres that share `shared` noise words.

    A centre meets each noise word once for all its C contexts, with weight C·negative/shared (less the contexts that
    are that very word), so it costs C + shared products instead of C·(negative + 1).
    """
    n, real, state = ids.shape[0], source.dtype.type, seed
    h, dh = allocate_rows(batch, source), allocate_rows(batch, source)
    scores, weights = np.empty((batch, shared), source.dtype), np.empty((batch, shared), source.dtype)
    words, next_words = np.empty(shared, np.int32), np.empty(shared, np.int32)
    state = draw_words(alias, state, next_words)
    weight = real(negative) / real(shared)
    loss, counted = 0.0, 0

    for first in range(0, n, batch):
        rows = min(batch, n - first)
        sampled = (first // batch) % LOSS_BATCHES == 0
        words, next_words = next_words, words
        state = draw_words(alias, state, next_words)
        low, high = np.int64(first), np.int64(first + rows)
        for r in range(rows):
            i = first + r
            low, high = min(low, left[i]), max(high, right[i])
            weights[r] = weight * real(right[i] - left[i] - 1)
            copy_row(h, r, source, ids[i])
        for m in range(shared):
            for j in range(low, high):
                if ids[j] == words[m]:
                    for r in range(rows):
                        if left[first + r] <= j < right[first + r] and j != first + r:
                            weights[r, m] -= weight

        score_noise(scores, rows, h, target, words, source, ids, first + batch)
        if sampled:
            counted += rows
            for r in range(rows):
                for m in range(shared):
                    loss += weights[r, m] * minus_log_sigmoid(-scores[r, m])
        for r in range(rows):
            for m in range(shared):
                scores[r, m] = -alpha * weights[r, m] * sigmoid(scores[r, m])
        exchange_gradients(dh, h, rows, scores, target, words, target_rates(rates), next_words, ids, high)

        for r in range(rows):
            i = first + r
            for j in range(left[i], right[i]):
                if j != i:
                    word = ids[j]
                    score = dot(h, r, target, word)
                    gradient = alpha * (real(1) - sigmoid(score))
                    exchange(target, word, dh, r, gradient, target_rate(rates, word) * gradient, h, r)
                    if sampled:
                        loss += minus_log_sigmoid(score)
            add_row(source, ids[i], source_rate(rates, ids[i]), dh, r)
    return loss, counted
