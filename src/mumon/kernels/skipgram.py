"""Skip-gram with negative sampling: the centre's source row predicts each context word's target row.

Shapes and returns as in cbow.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel
from mumon.kernels.layout import BAND
from mumon.kernels.negative_sampling import exchange_rows, step_exactly
from mumon.kernels.noise import draw_words
from mumon.kernels.numerics import (
    LOSS_BATCHES,
    LOSS_TARGETS,
    minus_log_sigmoid,
    sigmoid,
    source_rate,
    source_rates,
    target_rates,
)
from mumon.kernels.products import collect_noise, score_noise, update_noise
from mumon.kernels.row_ops import (
    add_row,
    allocate_rows,
    copy_row,
    dot,
    locate,
)

CONTEXTS = 32  # context words whose rows are updated together: each is compared with those before it


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


@inlined
def run_skipgram(
    source: Any,
    target: Any,
    token_rows: Any,
    ids: Any,
    left: Any,
    right: Any,
    begin: Any,
    end: Any,
    alias: Any,
    source_rates: Any,
    target_rates: Any,
    negative: Any,
    shared: Any,
    batch: Any,
    alpha: Any,
    seed: Any,
) -> Any:
    """Train the centres begin … end - 1, as `skipgram_fast` describes; the other arguments are those of `run_cbow`."""
    n, real, state, D = ids.shape[0], source.dtype.type, seed, source.shape[1]
    h, dh = allocate_rows(batch, source), allocate_rows(batch, source)
    scores, weights = np.empty((batch, shared), source.dtype), np.empty((batch, shared), source.dtype)
    # What a scan needs of each context word: where its rows are, and numbers.
    places, factors = np.empty((CONTEXTS, 2), np.int64), np.empty((CONTEXTS, 2), source.dtype)
    words, next_words = np.empty(shared, np.int32), np.empty(shared, np.int32)
    state = draw_words(alias, state, next_words)
    weight = real(negative) / real(shared)
    loss, counted = 0.0, 0

    for first in range(begin, end, batch):
        rows = min(batch, end - first)
        sampled = ((first - begin) // batch) % LOSS_BATCHES == 0
        words, next_words = next_words, words
        state = draw_words(alias, state, next_words)
        low, high = np.int64(first), np.int64(first + rows)
        for r in range(rows):
            i = first + r
            low, high = min(low, left[i]), max(high, right[i])
            weights[r] = weight * real(right[i] - left[i] - 1)
            copy_row(h, r, source, token_rows[i])
        for m in range(shared):
            for j in range(low, high):
                if ids[j] == words[m]:
                    for r in range(rows):
                        if left[first + r] <= j < right[first + r] and j != first + r:
                            weights[r, m] -= weight

        score_noise(scores, rows, h, target, words, source, token_rows[min(first + batch, n - 1) :])
        if sampled:
            counted += rows
            for r in range(rows):
                for m in range(shared):
                    loss += weights[r, m] * minus_log_sigmoid(-scores[r, m])
        for r in range(rows):
            for m in range(shared):
                scores[r, m] = -alpha * weights[r, m] * sigmoid(scores[r, m])
        following = ids[high : high + rows] if high + rows <= n else ids[first : first + rows]
        for start in range(0, D, BAND):
            stop = min(start + BAND, D)
            collect_noise(dh, start, rows, scores, target, words, start, stop, next_words)
            update_noise(target, words, target_rates, scores, h, rows, start, stop, following)

        for r in range(rows):
            i, count = first + r, 0
            for j in range(left[i], right[i]):
                if j != i:
                    word = ids[j]
                    score = dot(h, r, target, word)
                    places[count, 0], places[count, 1] = locate(target, word), locate(h, r)
                    for q in range(count):  # the same word: score its row as it will be by then
                        if places[q, 0] == places[count, 0]:
                            score += factors[q, 1] * dot(h, r, h, r)
                    factors[count, 0] = alpha * (real(1) - sigmoid(score))
                    factors[count, 1] = target_rates[word] * factors[count, 0]
                    count += 1
                    if sampled:
                        loss += minus_log_sigmoid(score)
                    if count == CONTEXTS:
                        exchange_rows(dh, r, target, h, places, factors, 0, count, 0, D)
                        count = 0
            exchange_rows(dh, r, target, h, places, factors, 0, count, 0, D)
            add_row(source, token_rows[i], source_rates[token_rows[i]], dh, r)
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
    return run_skipgram(
        source, target, ids, ids, left, right, 0, ids.shape[0], alias, source_rates(rates), target_rates(rates),
        negative, shared, batch, alpha, seed,
    )  # fmt: skip
