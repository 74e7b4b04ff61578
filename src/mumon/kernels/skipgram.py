"""Skip-gram with negative sampling: the centre's source row predicts each context word's target row.

Shapes and returns as in cbow.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import kernel, prefetch
from mumon.kernels.numerics import (
    GAMMA,
    LOSS_EVERY,
    add_row,
    alias_draw,
    dot,
    exchange,
    minus_log_sigmoid,
    mix,
    sigmoid,
)


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
    """One SGD step per (centre, context) pair with `negative` fresh noise words."""
    D, real, state = source.shape[1], source.dtype.type, seed
    dh = np.empty((1, D), source.dtype)
    h = np.empty((1, D), source.dtype)
    noise = np.empty(negative, np.int64)
    loss, counted = 0.0, 0
    for i in range(ids.shape[0]):
        sampled = i % LOSS_EVERY == 0
        counted += sampled
        for j in range(left[i], right[i]):
            if j == i:
                continue
            for m in range(negative):
                state += GAMMA
                noise[m] = alias_draw(alias, mix(state))
                prefetch(target, noise[m])
            for d in range(D):
                h[0, d] = source[ids[i], d]
                dh[0, d] = real(0)
            score = dot(h, 0, target, ids[j])
            exchange(target, ids[j], rates, h, dh, 0, alpha * (real(1) - sigmoid(score)))
            if sampled:
                loss += minus_log_sigmoid(score)
            for m in range(negative):
                if noise[m] != ids[j]:
                    score = dot(h, 0, target, noise[m])
                    exchange(target, noise[m], rates, h, dh, 0, -alpha * sigmoid(score))
                    if sampled:
                        loss += minus_log_sigmoid(-score)
            add_row(source, ids[i], rates[ids[i]], dh, 0)
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
    """SGD on batches of centres that share `shared` noise words.

    A centre meets each noise word once for all its C contexts, with weight C·negative/shared (less the contexts that
    are that very word), so it costs C + shared products instead of C·(negative + 1).
    """
    n, D, real, state = ids.shape[0], source.shape[1], source.dtype.type, seed
    h, dh = np.empty((batch, D), source.dtype), np.empty((batch, D), source.dtype)
    noise, dnoise = np.empty((shared, D), source.dtype), np.empty((shared, D), source.dtype)
    scores, weights = np.empty((batch, shared), source.dtype), np.empty((batch, shared), source.dtype)
    words = np.empty(shared, np.int64)
    weight = real(negative) / real(shared)
    loss, counted = 0.0, 0

    for first in range(0, n, batch):
        rows = min(batch, n - first)
        sampled = (first // batch) % LOSS_EVERY == 0
        for m in range(shared):
            state += GAMMA
            words[m] = alias_draw(alias, mix(state))
            prefetch(target, words[m])
        low, high = np.int64(first), np.int64(first + rows)
        for r in range(rows):
            i = first + r
            low, high = min(low, left[i]), max(high, right[i])
            for m in range(shared):
                weights[r, m] = weight * real(right[i] - left[i] - 1)
            for d in range(D):
                h[r, d] = source[ids[i], d]
        for m in range(shared):
            for d in range(D):
                noise[m, d] = target[words[m], d]
            for j in range(low, high):
                if ids[j] == words[m]:
                    for r in range(rows):
                        if left[first + r] <= j < right[first + r] and j != first + r:
                            weights[r, m] -= weight

        np.dot(h[:rows], noise.T, scores[:rows])
        if sampled:
            counted += rows
            for r in range(rows):
                for m in range(shared):
                    loss += weights[r, m] * minus_log_sigmoid(-scores[r, m])
        for r in range(rows):
            for m in range(shared):
                scores[r, m] = -alpha * weights[r, m] * sigmoid(scores[r, m])
        np.dot(scores[:rows], noise, dh[:rows])
        np.dot(scores[:rows].T, h[:rows], dnoise)

        for r in range(rows):
            i = first + r
            if i + batch < n:
                prefetch(source, ids[i + batch])
                prefetch(target, ids[i + batch])
            for j in range(left[i], right[i]):
                if j != i:
                    score = dot(h, r, target, ids[j])
                    exchange(target, ids[j], rates, h, dh, r, alpha * (real(1) - sigmoid(score)))
                    if sampled:
                        loss += minus_log_sigmoid(score)
        for m in range(shared):
            add_row(target, words[m], rates[words[m]], dnoise, m)
        for r in range(rows):
            add_row(source, ids[first + r], rates[ids[first + r]], dh, r)
    return loss, counted
