"""CBOW with negative sampling: `cbow_exact` is per-window SGD, `cbow_fast` shares noise words among a batch of targets.

Shapes: source, target (V, D); ids, left, right (n,): token i's window is [left[i], right[i]) without i itself;
alias (V, 2). A row w learns at the rate alpha · rates[w], rates (V,); or, where source and target rows differ, rates is
(2, V), for source rows first: a rate of 0 freezes a row. Rows are padded with zeros, which every update leaves zero.
Both return (loss summed over some targets, how many targets).

`divide_in` averages the C context vectors into h (else h is their sum); `divide_out` divides the gradient that each of
them receives by C. The true gradient has both or neither; the famous fault is to have just one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel
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
from mumon.kernels.row_ops import Row, Scalar, add_row, allocate_rows, dot, exchange, prefetch, row_operation

REBASE = 128  # tokens after which a running sum begins again, before it loses digits


@row_operation
def add_next(after: Row, before: Row, row: Row) -> Row:
    """Add one more term to a running sum."""
    return before + row


@row_operation
def subtract_row(a: Row, b: Row) -> Row:
    """Subtract: a -= b."""
    return a - b


@row_operation
def sum_between(h: Row, share: Scalar, end: Row, after: Row, at: Row, begin: Row) -> Row:
    """Return the scaled sum of a window's rows but its centre's, from running sums at the edges of both halves."""
    return share * ((end - after) + (at - begin))


@row_operation
def add_between(begin: Row, end: Row, share: Scalar, dh: Row) -> tuple[Row, Row]:
    """Add the scaled gradient to every row from `begin` to before `end`, as differences between neighbours."""
    gradient = share * dh
    return begin + gradient, end - gradient


@row_operation
def settle(row: Row, after: Row, change: Row, rate: Scalar) -> tuple[Row, Row, Row]:
    """Give a source row its summed gradient, pass the sum on to the next, and leave a zero."""
    return row + rate * change, after + change, change - change


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
    """Take one SGD step per window with `negative` fresh noise words: what the paper and kōan do."""
    real, state = source.dtype.type, seed
    h, dh = allocate_rows(1, source), allocate_rows(1, source)
    noise = np.empty(negative, np.int64)
    loss, counted = 0.0, 0
    for i in range(ids.shape[0]):
        for m in range(negative):
            state += GAMMA
            noise[m] = draw_from_alias(alias, mix(state))
            prefetch(target, noise[m])
        word, share = ids[i], real(1) / real(right[i] - left[i] - 1)
        h[:] = real(0)
        dh[:] = real(0)
        for j in range(left[i], right[i]):
            if j != i:
                add_row(h, 0, share if divide_in else real(1), source, ids[j])
        score = dot(h, 0, target, word)
        gradient = alpha * (real(1) - sigmoid(score))
        exchange(target, word, dh, 0, gradient, target_rate(rates, word) * gradient, h, 0)
        sampled = i % LOSS_TARGETS == 0
        if sampled:
            counted += 1
            loss += minus_log_sigmoid(score)
        for m in range(negative):
            other = noise[m]
            if other != word:
                score = dot(h, 0, target, other)
                gradient = -alpha * sigmoid(score)
                exchange(target, other, dh, 0, gradient, target_rate(rates, other) * gradient, h, 0)
                if sampled:
                    loss += minus_log_sigmoid(-score)
        for j in range(left[i], right[i]):
            if j != i:
                add_row(source, ids[j], source_rate(rates, ids[j]) * (share if divide_out else real(1)), dh, 0)
    return loss, counted


@inlined
def noise_gradients(scores: Any, r: Any, scale: Any, words: Any, word: Any) -> None:
    """Turn the scores of one target into gradients; a target is not its own noise."""
    for m in range(scores.shape[1]):
        gradient = scale * sigmoid(scores[r, m])
        scores[r, m] = gradient if words[m] != word else gradient * 0


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
    """Take SGD steps on batches of targets that share `shared` noise words, each weighted negative/shared.

    The expected gradient is that of `cbow_exact`. The sum of a window is the difference of two running sums, and its
    gradient is added to a difference array, so the cost of a token hardly grows with the window. Both arrays are rings
    just long enough for one window, to stay in the nearest caches. A source row is read once, when the first window
    reaches it, and written once, when the last has left it.
    """
    n, real, state = ids.shape[0], source.dtype.type, seed
    reach: Any = np.int64(0)
    for i in range(n):
        reach = max(reach, i - left[i], right[i] - i - 1)
    ring = 2
    while ring < 2 * reach + 2:
        ring *= 2
    last = ring - 1  # j & last is the place of token j in a ring
    # Row j of prefix is the sum of the source rows before j; row j of change is what is added to source row j less
    # what is added to row j - 1.
    prefix, change = allocate_rows(ring, source), allocate_rows(ring, source)
    prefix[:] = real(0)
    change[:] = real(0)
    h, dh = allocate_rows(batch, source), allocate_rows(batch, source)
    scores = np.empty((batch, shared), source.dtype)
    words, next_words = np.empty(shared, np.int32), np.empty(shared, np.int32)
    state = draw_words(alias, state, next_words)
    weight = real(negative) / real(shared)
    loss, counted = 0.0, 0
    seen, base = 0, 0  # source rows in prefix; where its sum began

    for first in range(0, n, batch):
        rows = min(batch, n - first)
        sampled = (first // batch) % LOSS_BATCHES == 0
        words, next_words = next_words, words
        state = draw_words(alias, state, next_words)
        if seen - base >= max(REBASE, 2 * ring):
            base = seen
            for k in range(seen + 1, seen + ring + 1):  # the row itself last
                subtract_row(prefix, k & last, prefix, seen & last)
        for r in range(rows):
            i = first + r
            while seen < right[i]:
                add_next(prefix, (seen + 1) & last, prefix, seen & last, source, ids[seen])
                seen += 1
            share = real(1) / real(right[i] - left[i] - 1) if divide_in else real(1)
            begin, at, after, end = left[i] & last, i & last, (i + 1) & last, right[i] & last
            sum_between(h, r, share, prefix, end, prefix, after, prefix, at, prefix, begin)

        # Noise: scores (rows, shared) become gradients in place, and both sides of the product receive theirs.
        score_noise(scores, rows, h, target, words, source, ids, seen)
        if sampled:
            counted += rows
            for r in range(rows):
                for m in range(shared):
                    if words[m] != ids[first + r]:
                        loss += weight * minus_log_sigmoid(-scores[r, m])
        for r in range(rows):
            noise_gradients(scores, r, -alpha * weight, words, ids[first + r])
        exchange_gradients(dh, h, rows, scores, target, words, target_rates(rates), next_words, ids, first + batch)

        # The targets themselves, one row each; then each gradient goes to both halves of its window.
        for r in range(rows):
            i = first + r
            word = ids[i]
            score = dot(h, r, target, word)
            gradient = alpha * (real(1) - sigmoid(score))
            exchange(target, word, dh, r, gradient, target_rate(rates, word) * gradient, h, r)
            if sampled:
                loss += minus_log_sigmoid(score)
            share = real(1) / real(right[i] - left[i] - 1) if divide_out else real(1)
            if left[i] < i:
                add_between(change, left[i] & last, change, i & last, share, dh, r)
            if i + 1 < right[i]:
                add_between(change, (i + 1) & last, change, right[i] & last, share, dh, r)
            if i >= reach:
                j = i - reach
                settle(source, ids[j], change, (j + 1) & last, change, j & last, source_rate(rates, ids[j]))
    for j in range(max(n - reach, 0), n):
        settle(source, ids[j], change, (j + 1) & last, change, j & last, source_rate(rates, ids[j]))
    return loss, counted
