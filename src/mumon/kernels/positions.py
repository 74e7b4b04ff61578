"""CBOW with learned position weights: context vectors are weighed, column by column, by where their word stands.

    h = (1/C) Σ_g d_g ⊙ S_g        S_g: the sum of the source rows of the context words in group g of places

Row g of `weights` (2G, D) is d_g. The rows are in the order of the text, and the two in the middle are the neighbours
of the centre. Each side has G groups, with the distances 1, 2, 3-4, 5-8 …; the last takes all that are left. Groups
that a window does not reach are empty. The weights learn at the rate `weight_rate` · alpha, all rows alike.

A call works on a copy of the weights and at its end adds what has changed to those that threads share: otherwise they
would write the same few cache lines after every window. The other arguments, and what is returned, are those of `cbow`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.cbow import REBASE, add_next, noise_gradients, settle, subtract_row
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


@row_operation
def add_weighed(a: Row, scale: Scalar, weight: Row, b: Row) -> Row:
    """Add scale · weight ⊙ b to a."""
    return a + scale * weight * b


@row_operation
def weigh_group(h: Row, share: Scalar, begin: Row, end: Row, weight: Row) -> Row:
    """Add the weighed sum of a group to h, from the running sums at its edges."""
    return h + share * weight * (end - begin)


@row_operation
def return_group(
    weight: Row, begin: Row, end: Row, share: Scalar, rate: Scalar, dh: Row, begin_sum: Row, end_sum: Row
) -> tuple[Row, Row, Row]:
    """Give a group its gradient, as differences between neighbours, and its weight the gradient of the weight."""
    gradient = share * dh
    part = weight * gradient
    return weight + rate * gradient * (end_sum - begin_sum), begin + part, end - part


@row_operation
def weigh_two(h: Row, share: Scalar, begin: Row, middle: Row, end: Row, first: Row, second: Row) -> Row:
    """Add the weighed sums of two groups that stand side by side."""
    return h + share * (first * (middle - begin) + second * (end - middle))


@row_operation
def return_two(
    first: Row,
    second: Row,
    begin: Row,
    middle: Row,
    end: Row,
    share: Scalar,
    rate: Scalar,
    dh: Row,
    begin_sum: Row,
    middle_sum: Row,
    end_sum: Row,
) -> tuple[Row, Row, Row, Row, Row]:
    """Give two groups that stand side by side, and their weights, their gradients."""
    gradient = share * dh
    step, part, other = rate * gradient, first * gradient, second * gradient
    return (
        first + step * (middle_sum - begin_sum),
        second + step * (end_sum - middle_sum),
        begin + part,
        middle + (other - part),
        end - other,
    )


@row_operation
def add_change(weight: Row, own: Row, before: Row) -> Row:
    """Add what has changed in a copy of a row since it was made."""
    return weight + (own - before)


@inlined
def find_row(offset: Any, groups: Any) -> Any:
    """Return the row of the weights for a place relative to the centre, of `groups` groups on each side."""
    distance, group = abs(offset), 0
    while group < groups - 1 and distance > 1 << group:
        group += 1
    return groups + group if offset > 0 else groups - 1 - group


# A piece of a window is a group that is not empty or, to read and write their common edge once, two of them side by
# side: tokens begin … middle - 1 have the weights of a row, and middle … end - 1 those of the next. In a piece of one
# group, middle is its end.
BEGIN, MIDDLE, END, ROW = range(4)


@inlined
def add_group(pieces: Any, r: Any, count: Any, begin: Any, end: Any, row: Any) -> Any:
    """Add a group to the `count` pieces of window r, as one more or as a part of the last; count them again."""
    if begin == end:
        return count
    if count > 0 and pieces[r, count - 1, MIDDLE] == begin and pieces[r, count - 1, END] == begin:
        pieces[r, count - 1, END] = end
        return count
    pieces[r, count, BEGIN], pieces[r, count, MIDDLE], pieces[r, count, END] = begin, end, end
    pieces[r, count, ROW] = row
    return count + 1


@inlined
def cut_window(pieces: Any, r: Any, i: Any, left: Any, right: Any, groups: Any) -> Any:
    """Cut the window of token i into pieces, in the order of the text, for window r of a batch; count them."""
    count, begin = 0, np.int64(left)
    for g in range(groups - 1, -1, -1):
        end = np.int64(max(left, i - ((1 << g) >> 1)))
        count = add_group(pieces, r, count, begin, end, groups - 1 - g)
        begin = end
    begin = np.int64(i + 1)
    for g in range(groups):
        end = np.int64(min(right, i + 1 + (1 << g)) if g < groups - 1 else right)
        count = add_group(pieces, r, count, begin, end, groups + g)
        begin = end
    return count


@kernel
def cbow_positions_exact(
    source: Any,
    target: Any,
    weights: Any,
    ids: Any,
    left: Any,
    right: Any,
    alias: Any,
    rates: Any,
    negative: Any,
    alpha: Any,
    weight_rate: Any,
    seed: Any,
) -> Any:
    """Take one SGD step per window with `negative` fresh noise words, as `cbow_exact` does."""
    real, state, places = source.dtype.type, seed, weights.shape[0]
    h, dh, sums = allocate_rows(1, source), allocate_rows(1, source), allocate_rows(places, source)
    own, before = allocate_rows(places, source), allocate_rows(places, source)
    own[:] = weights
    before[:] = weights
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
        sums[:] = real(0)
        for j in range(left[i], right[i]):
            if j != i:
                add_row(sums, find_row(j - i, places // 2), share, source, ids[j])
        for g in range(places):
            add_weighed(h, 0, real(1), own, g, sums, g)
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
                row = find_row(j - i, places // 2)
                add_weighed(source, ids[j], source_rate(rates, ids[j]) * share, own, row, dh, 0)
        for g in range(places):
            add_weighed(own, g, real(weight_rate), sums, g, dh, 0)
    for g in range(places):
        add_change(weights, g, own, g, before, g)
    return loss, counted


@kernel
def cbow_positions_fast(
    source: Any,
    target: Any,
    weights: Any,
    ids: Any,
    left: Any,
    right: Any,
    alias: Any,
    rates: Any,
    negative: Any,
    shared: Any,
    batch: Any,
    alpha: Any,
    weight_rate: Any,
    seed: Any,
) -> Any:
    """Take SGD steps on batches of targets that share `shared` noise words, each weighted negative/shared.

    The sum of a group is the difference of two running sums, and its gradient is added to a difference array, as in
    `cbow_fast`: the cost of a token grows with the number of groups, not with the window. The running sums of a batch
    are kept until its gradients are known, because those of the weights need them again.
    """
    n, real, state, places = ids.shape[0], source.dtype.type, seed, weights.shape[0]
    reach: Any = np.int64(0)
    for i in range(n):
        reach = max(reach, i - left[i], right[i] - i - 1)
    short = 2
    while short < 2 * reach + 2:
        short *= 2
    long = short
    while long < 2 * reach + batch + 1:
        long *= 2
    # Row j of prefix is the sum of the source rows before j; row j of change is what is added to source row j less
    # what is added to row j - 1. Token j is at j & ring of the one and at j & last of the other.
    ring, last = long - 1, short - 1
    prefix, change = allocate_rows(long, source), allocate_rows(short, source)
    own, before = allocate_rows(places, source), allocate_rows(places, source)
    prefix[:] = real(0)
    change[:] = real(0)
    own[:] = weights
    before[:] = weights
    h, dh = allocate_rows(batch, source), allocate_rows(batch, source)
    scores = np.empty((batch, shared), source.dtype)
    pieces, counts = np.empty((batch, places, 4), np.int64), np.empty(batch, np.int64)
    words, next_words = np.empty(shared, np.int32), np.empty(shared, np.int32)
    state = draw_words(alias, state, next_words)
    weight, rate = real(negative) / real(shared), real(weight_rate)
    loss, counted = 0.0, 0
    seen, base = 0, 0  # source rows in prefix; where its sum began

    for first in range(0, n, batch):
        rows = min(batch, n - first)
        sampled = (first // batch) % LOSS_BATCHES == 0
        words, next_words = next_words, words
        state = draw_words(alias, state, next_words)
        if seen - base >= max(REBASE, 2 * long):
            base = seen
            for k in range(seen + 1, seen + long + 1):  # the row itself last
                subtract_row(prefix, k & ring, prefix, seen & ring)
        h[:] = real(0)
        for r in range(rows):
            i = first + r
            while seen < right[i]:
                add_next(prefix, (seen + 1) & ring, prefix, seen & ring, source, ids[seen])
                seen += 1
            share = real(1) / real(right[i] - left[i] - 1)
            counts[r] = cut_window(pieces, r, i, left[i], right[i], places // 2)
            for p in range(counts[r]):
                g, begin, end = pieces[r, p, ROW], pieces[r, p, BEGIN] & ring, pieces[r, p, END] & ring
                middle = pieces[r, p, MIDDLE] & ring
                if middle == end:
                    weigh_group(h, r, share, prefix, begin, prefix, end, own, g)
                else:
                    weigh_two(h, r, share, prefix, begin, prefix, middle, prefix, end, own, g, own, g + 1)

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

        # The targets themselves, one row each; then each gradient goes to the groups of its window and their weights.
        for r in range(rows):
            i = first + r
            word = ids[i]
            score = dot(h, r, target, word)
            gradient = alpha * (real(1) - sigmoid(score))
            exchange(target, word, dh, r, gradient, target_rate(rates, word) * gradient, h, r)
            if sampled:
                loss += minus_log_sigmoid(score)
            share = real(1) / real(right[i] - left[i] - 1)
            for p in range(counts[r]):
                g, begin, end = pieces[r, p, ROW], pieces[r, p, BEGIN], pieces[r, p, END]
                middle = pieces[r, p, MIDDLE]
                if middle == end:
                    return_group(
                        own, g, change, begin & last, change, end & last,
                        share, rate, dh, r, prefix, begin & ring, prefix, end & ring,
                    )  # fmt: skip
                else:
                    return_two(
                        own, g, own, g + 1, change, begin & last, change, middle & last, change, end & last,
                        share, rate, dh, r, prefix, begin & ring, prefix, middle & ring, prefix, end & ring,
                    )  # fmt: skip
            if i >= reach:
                j = i - reach
                settle(source, ids[j], change, (j + 1) & last, change, j & last, source_rate(rates, ids[j]))
    for j in range(max(n - reach, 0), n):
        settle(source, ids[j], change, (j + 1) & last, change, j & last, source_rate(rates, ids[j]))
    for g in range(places):
        add_change(weights, g, own, g, before, g)
    return loss, counted
