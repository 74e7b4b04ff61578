"""CBOW with negative sampling: `cbow_exact` is per-window SGD, `cbow_fast` shares noise words among a batch of targets.

Shapes: source, target (V, D); ids, left, right (n,): token i's window is [left[i], right[i]) without i itself;
alias (V, 2). A row w learns at the rate alpha · rates[w], rates (V,). Rows are padded with zeros, which every update
leaves zero. Both return (loss summed over some targets, how many targets).

`divide_in` averages the C context vectors into h (else h is their sum); `divide_out` divides the gradient that each of
them receives by C. The true gradient has both or neither; the famous fault is to have just one.
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

# Targets per gather of source rows: long enough that the rows shared with the neighbouring strips are few, short
# enough that its buffers (2 × 128 rows of 1.2 kB at 300 dimensions) stay in the second-level cache.
STRIP = 128


@kernel
def cbow_exact(
    source: Any,
    target: Any,
    ids: Any,
    left: Any,
    right: Any,
    alias: Any,
    rates: Any,
    negative: Any,
    alpha: Any,
    divide_in: Any,
    divide_out: Any,
    seed: Any,
) -> Any:
    """One SGD step per window with `negative` fresh noise words: what the paper and kōan do."""
    D, real, state = source.shape[1], source.dtype.type, seed
    h, dh = np.empty((1, D), source.dtype), np.empty((1, D), source.dtype)
    noise = np.empty(negative, np.int64)
    loss, counted = 0.0, 0
    for i in range(ids.shape[0]):
        for m in range(negative):
            state += GAMMA
            noise[m] = alias_draw(alias, mix(state))
            prefetch(target, noise[m])
        C = real(right[i] - left[i] - 1)
        share = real(1) / C
        h[:] = real(0)
        dh[:] = real(0)
        for j in range(left[i], right[i]):
            if j != i:
                add_row(h, 0, share if divide_in else real(1), source, ids[j])
        score = dot(h, 0, target, ids[i])
        exchange(target, ids[i], rates, h, dh, 0, alpha * (real(1) - sigmoid(score)))
        sampled = i % LOSS_EVERY == 0
        if sampled:
            counted += 1
            loss += minus_log_sigmoid(score)
        for m in range(negative):
            if noise[m] != ids[i]:
                score = dot(h, 0, target, noise[m])
                exchange(target, noise[m], rates, h, dh, 0, -alpha * sigmoid(score))
                if sampled:
                    loss += minus_log_sigmoid(-score)
        for j in range(left[i], right[i]):
            if j != i:
                add_row(source, ids[j], rates[ids[j]] * (share if divide_out else real(1)), dh, 0)
    return loss, counted


@kernel
def cbow_fast(
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
    divide_in: Any,
    divide_out: Any,
    seed: Any,
) -> Any:
    """SGD on batches of targets that share `shared` noise words, each weighted negative/shared.

    The expected gradient is that of `cbow_exact`. Context sums come from prefix sums over a strip of tokens and
    context updates go through a difference array, so the cost of a token hardly grows with the window.
    """
    n, D, real, state = ids.shape[0], source.shape[1], source.dtype.type, seed
    strip, reach = max(STRIP, batch), np.int64(0)
    for i in range(n):
        reach = max(reach, i - left[i], right[i] - i)
    # Row j of prefix is the sum of the strip's first j source rows; row j of change is what is added to source row j
    # less what is added to row j - 1.
    prefix = np.empty((strip + 2 * reach + 1, D), source.dtype)
    change = np.empty((strip + 2 * reach + 1, D), source.dtype)
    h, dh = np.empty((batch, D), source.dtype), np.empty((batch, D), source.dtype)
    noise, dnoise = np.empty((shared, D), source.dtype), np.empty((shared, D), source.dtype)
    scores = np.empty((batch, shared), source.dtype)
    words = np.empty(shared, np.int64)
    weight = real(negative) / real(shared)
    loss, counted, batches = 0.0, 0, 0

    for start in range(0, n, strip):
        stop = min(start + strip, n)
        low, high = np.int64(start), np.int64(stop)
        for i in range(start, stop):
            low, high = min(low, left[i]), max(high, right[i])
        prefix[0] = real(0)
        change[: high - low + 1] = real(0)
        for j in range(low, high):
            if j + 8 < high:
                prefetch(source, ids[j + 8])
            for d in range(D):
                prefix[j - low + 1, d] = prefix[j - low, d] + source[ids[j], d]

        for first in range(start, stop, batch):
            rows = min(batch, stop - first)
            for m in range(shared):
                state += GAMMA
                words[m] = alias_draw(alias, mix(state))
                prefetch(target, words[m])
            for r in range(rows):
                i = first + r
                prefetch(target, ids[i])
                share = real(1) / real(right[i] - left[i] - 1) if divide_in else real(1)
                a, b, c = left[i] - low, i - low, right[i] - low
                for d in range(D):
                    h[r, d] = share * ((prefix[c, d] - prefix[b + 1, d]) + (prefix[b, d] - prefix[a, d]))
            for m in range(shared):
                for d in range(D):
                    noise[m, d] = target[words[m], d]

            # Noise: scores (rows, shared) become gradients in place, and both sides of the product receive theirs.
            np.dot(h[:rows], noise.T, scores[:rows])
            if batches % LOSS_EVERY == 0:
                counted += rows
                for r in range(rows):
                    for m in range(shared):
                        if words[m] != ids[first + r]:
                            loss += weight * minus_log_sigmoid(-scores[r, m])
            for r in range(rows):
                for m in range(shared):
                    gradient = -alpha * weight * sigmoid(scores[r, m])
                    scores[r, m] = gradient if words[m] != ids[first + r] else real(0)
            np.dot(scores[:rows], noise, dh[:rows])
            np.dot(scores[:rows].T, h[:rows], dnoise)

            # The targets themselves, one row each.
            for r in range(rows):
                score = dot(h, r, target, ids[first + r])
                exchange(target, ids[first + r], rates, h, dh, r, alpha * (real(1) - sigmoid(score)))
                if batches % LOSS_EVERY == 0:
                    loss += minus_log_sigmoid(score)
            for m in range(shared):
                add_row(target, words[m], rates[words[m]], dnoise, m)
            # The gradient reaches every row from the window's left edge to its right edge, but not the target's own.
            for r in range(rows):
                i = first + r
                share = real(1) / real(right[i] - left[i] - 1) if divide_out else real(1)
                a, b, c = left[i] - low, i - low, right[i] - low
                for d in range(D):
                    gradient = share * dh[r, d]
                    change[a, d] += gradient
                    change[b, d] -= gradient
                    change[b + 1, d] += gradient
                    change[c, d] -= gradient
            batches += 1

        for j in range(low, high):
            add_row(source, ids[j], rates[ids[j]], change, j - low)
            add_row(change, j - low + 1, real(1), change, j - low)
    return loss, counted
