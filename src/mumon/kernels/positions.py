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

from mumon.kernels.cbow import (
    REBASE,
    extend_sums,
    find_power,
    find_reach,
    list_new,
    list_settled,
    rebase_sums,
    settle_rows,
)
from mumon.kernels.jit import inlined, kernel
from mumon.kernels.layout import BAND
from mumon.kernels.negative_sampling import score_batch, step_exactly
from mumon.kernels.noise import draw_words
from mumon.kernels.numerics import (
    LOSS_BATCHES,
    LOSS_TARGETS,
    source_rate,
    source_rates,
    target_rates,
)
from mumon.kernels.products import collect_noise, score_noise, update_noise
from mumon.kernels.row_ops import (
    Band,
    Carry,
    Each,
    Row,
    Scalar,
    add_row,
    allocate_bands,
    allocate_rows,
    locate,
    row_operation,
    scan_operation,
)


@row_operation
def add_weighed(a: Row, scale: Scalar, weight: Row, b: Row) -> Row:
    """Add scale · weight ⊙ b to a."""
    return a + scale * weight * b


@scan_operation
def weigh_two(first: Carry, second: Carry, h: Row, begin: Row, middle: Row, end: Row, share: Scalar) -> tuple[Any, ...]:
    """Add the weighed sums of two groups that stand side by side to h, from the running sums at their edges."""
    return first, second, h + share * (first * (middle - begin) + second * (end - middle))


@scan_operation
def return_two(
    first: Carry, second: Carry, begin: Row, middle: Row, end: Row, begin_sum: Row, middle_sum: Row, end_sum: Row,
    dh: Band, first_share: Scalar, second_share: Scalar, rate: Scalar,
) -> tuple[Any, ...]:  # fmt: skip
    """Give two groups that stand side by side, and their weights, their gradients."""
    part, other, step = first * (first_share * dh), second * (second_share * dh), rate * dh
    return (
        first + step * (middle_sum - begin_sum),
        second + step * (end_sum - middle_sum),
        begin + part,
        middle + (other - part),
        end - other,
    )


@scan_operation
def exchange_targets(row: Row, dh: Band, h: Each, gradient: Scalar, step: Scalar) -> tuple[Row, Band]:
    """Update a target row by h at its own rate, and complete dh by the row as it was."""
    return row + step * h, dh + gradient * row


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


@inlined
def find_edges(edges: Any, i: Any, left: Any, right: Any, groups: Any) -> None:
    """Cut the window of token i into its groups: those of a side have the tokens between neighbouring edges."""
    edges[0, 0], edges[1, 0] = left, i + 1
    for g in range(groups):  # the groups of the left side come in the order of the text, the last first
        edges[0, groups - g] = max(np.int64(left), np.int64(i) - ((1 << g) >> 1))
        edges[1, g + 1] = min(np.int64(right), np.int64(i) + 1 + (1 << g)) if g < groups - 1 else right


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
    real, state, weight_rows = source.dtype.type, seed, weights.shape[0]
    h, dh, sums = allocate_rows(1, source), allocate_rows(1, source), allocate_rows(weight_rows, source)
    current, initial = allocate_rows(weight_rows, source), allocate_rows(weight_rows, source)
    current[:] = weights
    initial[:] = weights
    noise, next_noise = np.empty(negative, np.int64), np.empty(negative, np.int64)
    state = draw_words(alias, state, next_noise)
    rows, factors = np.empty((negative + 1, 2), np.int64), np.empty((negative + 1, 2), source.dtype)
    loss, counted = 0.0, 0
    for i in range(ids.shape[0]):
        noise, next_noise = next_noise, noise
        state = draw_words(alias, state, next_noise)
        word, share = ids[i], real(1) / real(right[i] - left[i] - 1)
        h[:] = real(0)
        sums[:] = real(0)
        for j in range(left[i], right[i]):
            if j != i:
                add_row(sums, find_row(j - i, weight_rows // 2), share, source, ids[j])
        for g in range(weight_rows):
            add_weighed(h, 0, real(1), current, g, sums, g)
        sampled = i % LOSS_TARGETS == 0
        counted += sampled
        loss += step_exactly(h, dh, target, word, noise, next_noise, rates, alpha, rows, factors, sampled)
        for j in range(left[i], right[i]):
            if j != i:
                row = find_row(j - i, weight_rows // 2)
                add_weighed(source, ids[j], source_rate(rates, ids[j]) * share, current, row, dh, 0)
        for g in range(weight_rows):
            add_weighed(current, g, real(weight_rate), sums, g, dh, 0)
    for g in range(weight_rows):
        add_change(weights, g, current, g, initial, g)
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
    n, real, state, weight_rows = ids.shape[0], source.dtype.type, seed, weights.shape[0]
    reach, D = find_reach(left, right), source.shape[1]
    ring = find_power(2 * reach + batch + 2)
    last = ring - 1
    # Row j of prefix is the sum of the source rows before j; row j of change is what is added to source row j less
    # what is added to row j - 1. Token j is at j & last of both. Two more rows of change stand in for the outer
    # edges of empty groups, and one more row of weights for the second of two groups where their number is odd.
    prefix, change = allocate_rows(ring, source), allocate_rows(ring + 2, source)
    running, total = allocate_rows(1, source), allocate_rows(1, source)
    current, initial = allocate_rows(weight_rows + 1, source), allocate_rows(weight_rows, source)
    prefix[:] = real(0)
    change[:] = real(0)
    running[:] = real(0)
    total[:] = real(0)
    current[:] = real(0)
    current[:weight_rows] = weights
    initial[:] = weights
    h, dh = allocate_rows(batch, source), allocate_bands(batch, BAND, source)
    scores = np.empty((batch, shared), source.dtype)
    # What the scans need of each token: where its rows are, and numbers. Groups are taken in twos: a slot has two.
    most, groups = batch + reach + 1, weight_rows // 2
    new_rows, none = np.empty((most, 2), np.int64), np.empty((most, 0), source.dtype)
    old_rows, old_rates = np.empty((most, 2), np.int64), np.empty((most, 1), source.dtype)
    targets, factors = np.empty((batch, 2), np.int64), np.empty((batch, 2), source.dtype)
    half = (groups + 1) // 2  # slots of a side
    edges = np.empty((2, groups + 2), np.int64)
    sums, shares = np.empty((batch, 4 * 2 * half), np.int64), np.empty((batch, 2 * half), source.dtype)
    changes, parts = np.empty((batch, 7 * 2 * half), np.int64), np.empty((batch, 3 * 2 * half), source.dtype)
    counts = np.empty(2 * half, np.int64)  # of tokens for which a slot has any
    words, next_words = np.empty(shared, np.int32), np.empty(shared, np.int32)
    state = draw_words(alias, state, next_words)
    weight, rate = real(negative) / real(shared), real(weight_rate)
    loss, counted = 0.0, 0
    seen, base, settled = 0, 0, 0  # source rows in prefix; where its sum began; rows that have received their gradients

    for first in range(0, n, batch):
        rows = min(batch, n - first)
        sampled = (first // batch) % LOSS_BATCHES == 0
        words, next_words = next_words, words
        state = draw_words(alias, state, next_words)
        if seen - base >= max(REBASE, 2 * ring):
            base = seen
            rebase_sums(prefix, running, seen)
        upto = list_new(new_rows, source, prefix, ids, right[first : first + rows], seen, last)
        counts[:] = 0
        for r in range(rows):
            i = first + r
            targets[r, 0], targets[r, 1] = locate(target, ids[i]), locate(dh, r)
            share = real(1) / real(right[i] - left[i] - 1)
            find_edges(edges, i, left[i], right[i], groups)
            edges[:, groups + 1] = edges[:, groups]
            for slot in range(2 * half):
                side, g = slot // half, 2 * (slot % half)
                begin, middle, end, k = edges[side, g], edges[side, g + 1], edges[side, g + 2], counts[slot]
                if begin == end:
                    continue
                counts[slot] += 1
                shares[k, slot] = parts[k, 3 * slot] = parts[k, 3 * slot + 1] = share
                parts[k, 3 * slot + 2] = rate * share
                sums[k, 4 * slot], changes[k, 7 * slot + 6] = locate(h, r), locate(dh, r)
                for edge in range(3):
                    at = edges[side, g + edge] & last
                    sums[k, 4 * slot + 1 + edge] = changes[k, 7 * slot + 3 + edge] = locate(prefix, at)
                    changes[k, 7 * slot + edge] = locate(change, at)
                if begin == middle:  # the first group is empty
                    changes[k, 7 * slot], parts[k, 3 * slot] = locate(change, ring), real(0)
                if middle == end:
                    changes[k, 7 * slot + 2], parts[k, 3 * slot + 1] = locate(change, ring + 1), real(0)
        h[:] = real(0)
        for start in range(0, D, BAND):
            stop = min(start + BAND, D)
            extend_sums(running, 0, prefix, source, new_rows, none, 0, upto - seen, start, stop)
            for slot in range(2 * half):
                g = slot // half * groups + 2 * (slot % half)
                other = g + 1 if 2 * (slot % half) + 1 < groups else weight_rows
                weigh_two(
                    current, g, current, other, h, prefix, prefix, prefix, sums, shares, slot, counts[slot], start, stop
                )
        seen = upto

        score_noise(scores, rows, h, target, words, source, ids[min(seen, n - 1) :])
        centres = ids[first : first + rows]
        loss += score_batch(scores, factors, rows, h, target, centres, words, rates, alpha, weight, sampled)
        counted += rows if sampled else 0

        # Each gradient goes to the noise words, to its target, and to the groups of its window and their weights.
        done = list_settled(
            old_rows, old_rates, source, change, ids, source_rates(rates), settled, first + rows, n, n, reach, last
        )
        ahead = first + batch if first + 2 * batch <= n else first
        following = ids[ahead : ahead + rows]
        for start in range(0, D, BAND):
            stop = min(start + BAND, D)
            collect_noise(dh, 0, rows, scores, target, words, start, stop, next_words)
            update_noise(target, words, target_rates(rates), scores, h, rows, start, stop, following)
            exchange_targets(target, dh, h, targets, factors, 0, rows, start, stop)
            for slot in range(2 * half):
                g = slot // half * groups + 2 * (slot % half)
                other = g + 1 if 2 * (slot % half) + 1 < groups else weight_rows
                return_two(
                    current, g, current, other, change, change, change, prefix, prefix, prefix, dh,
                    changes, parts, slot, counts[slot], start, stop,
                )  # fmt: skip
            settle_rows(total, 0, source, change, old_rows, old_rates, 0, done - settled, start, stop)
        settled = done
    for g in range(weight_rows):
        add_change(weights, g, current, g, initial, g)
    return loss, counted
