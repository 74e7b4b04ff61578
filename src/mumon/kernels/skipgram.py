"""Skip-gram with negative sampling: the centre's source row predicts each context word's target row.

Shapes and returns as in cbow.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import kernel
from mumon.kernels.layout import BAND
from mumon.kernels.negative_sampling import step_exactly
from mumon.kernels.noise import draw_words
from mumon.kernels.numerics import (
    LOSS_BATCHES,
    LOSS_TARGETS,
    minus_log_sigmoid,
    sigmoid,
    source_rate,
    target_rate,
    target_rates,
)
from mumon.kernels.products import collect_noise, score_noise, update_noise
from mumon.kernels.row_ops import (
    Band,
    Carry,
    Row,
    Scalar,
    add_row,
    allocate_bands,
    allocate_rows,
    copy_row,
    dot,
    locate,
    scan_operation,
)


@scan_operation
def exchange_pairs(
    dh: Carry, target: Row, sums: Row, h: Row, keep: Scalar, gradient: Scalar, step: Scalar
) -> tuple[Carry, Row, Row]:
    """Exchange gradients between a centre and a context word; `keep` is 0 for the first context word of a centre."""
    total = keep * dh + gradient * target
    return total, target + step * h, total


@scan_operation
def update_centres(source: Row, dh: Band, sums: Row, rate: Scalar) -> Row:
    """Give a centre's row the gradients from its noise words and its context words."""
    return source + rate * (dh + sums)


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
    state = seed
    h, dh = allocate_rows(1, source), allocate_rows(1, source)
    noise, next_noise = np.empty(negative, np.int64), np.empty(negative, np.int64)
    state = draw_words(alias, state, next_noise)
    places, factors = np.empty((negative + 1, 2), np.int64), np.empty((negative + 1, 2), source.dtype)
    loss, counted = 0.0, 0
    for i in range(ids.shape[0]):
        sampled = i % LOSS_TARGETS == 0
        counted += sampled
        for j in range(left[i], right[i]):
            if j == i:
                continue
            noise, next_noise = next_noise, noise
            state = draw_words(alias, state, next_noise)
            word = ids[j]
            copy_row(h, 0, source, ids[i])
            loss += step_exactly(h, dh, target, word, noise, next_noise, rates, alpha, places, factors, sampled)
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
    n, real, state, D = ids.shape[0], source.dtype.type, seed, source.shape[1]
    pairs = 0
    for first in range(0, n, batch):
        count = 0
        for i in range(first, min(first + batch, n)):
            count += right[i] - left[i] - 1
        pairs = max(pairs, count)
    h, sums, dh = allocate_rows(batch, source), allocate_rows(batch, source), allocate_bands(batch, BAND, source)
    scores, weights = np.empty((batch, shared), source.dtype), np.empty((batch, shared), source.dtype)
    # What the scans need of each pair and of each centre: where its rows are, and numbers. The carried row is not used
    # from one call to the next.
    carried = allocate_rows(1, source)
    carried[:] = real(0)
    places, factors = np.empty((pairs, 3), np.int64), np.empty((pairs, 3), source.dtype)
    centres, centre_rates = np.empty((batch, 3), np.int64), np.empty((batch, 1), source.dtype)
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
            centres[r, 0], centres[r, 1], centres[r, 2] = locate(source, ids[i]), locate(dh, r), locate(sums, r)
            centre_rates[r, 0] = source_rate(rates, ids[i])
        for m in range(shared):
            for j in range(low, high):
                if ids[j] == words[m]:
                    for r in range(rows):
                        if left[first + r] <= j < right[first + r] and j != first + r:
                            weights[r, m] -= weight

        score_noise(scores, rows, h, target, words, source, ids[min(first + batch, n - 1) :])
        if sampled:
            counted += rows
            for r in range(rows):
                for m in range(shared):
                    loss += weights[r, m] * minus_log_sigmoid(-scores[r, m])
        for r in range(rows):
            for m in range(shared):
                scores[r, m] = -alpha * weights[r, m] * sigmoid(scores[r, m])
        pair = 0
        for r in range(rows):
            i, before = first + r, pair
            for j in range(left[i], right[i]):
                if j != i:
                    word = ids[j]
                    score = dot(h, r, target, word)
                    gradient = alpha * (real(1) - sigmoid(score))
                    places[pair, 0], places[pair, 1], places[pair, 2] = (
                        locate(target, word),
                        locate(sums, r),
                        locate(h, r),
                    )
                    factors[pair, 0], factors[pair, 1] = real(pair > before), gradient
                    factors[pair, 2] = target_rate(rates, word) * gradient
                    pair += 1
                    if sampled:
                        loss += minus_log_sigmoid(score)

        following = ids[high : high + rows] if high + rows <= n else ids[first : first + rows]
        for begin in range(0, D, BAND):
            end = min(begin + BAND, D)
            collect_noise(dh, rows, scores, target, words, begin, end, next_words)
            exchange_pairs(carried, 0, target, sums, h, places, factors, 0, pair, begin, end)
            update_centres(source, dh, sums, centres, centre_rates, 0, rows, begin, end)
            update_noise(target, words, target_rates(rates), scores, h, rows, begin, end, following)
    return loss, counted
