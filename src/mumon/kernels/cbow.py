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
    add_rows,
    add_to_rows,
    allocate_bands,
    allocate_rows,
    locate,
    row_operation,
    scan_operation,
)

REBASE = 128  # tokens, at least, after which a running sum begins again, before it loses digits


@row_operation
def subtract_row(a: Row, b: Row) -> Row:
    """Subtract: a -= b."""
    return a - b


@scan_operation
def extend_sums(running: Carry, after: Row, row: Row) -> tuple[Carry, Row]:
    """Add one more source row to the running sum, and keep the sum."""
    total = running + row
    return total, total


@scan_operation
def sum_windows(h: Each, end: Row, after: Row, at: Row, begin: Row, share: Scalar) -> Each:
    """Return the scaled sum of a window's rows but its centre's, from running sums at the edges of both halves."""
    return share * ((end - after) + (at - begin))


@scan_operation
def return_gradients(
    before: Carry, target: Row, begin: Row, at: Row, end: Row, dh: Band, h: Each,
    gradient: Scalar, step: Scalar, share: Scalar, inner: Scalar,
) -> tuple[Any, ...]:  # fmt: skip
    """Update a target row, and give the gradient of h to the window as differences between neighbouring rows.

    The centre, where the left half ends, is also where the right half of the token before begins: `before` is the
    gradient of that token, and `inner` 0 if there is no left half.
    """
    own = share * (dh + gradient * target)
    return own, target + step * h, begin + own, at + (before - inner * own), end - own


@scan_operation
def settle_rows(total: Carry, source: Row, change: Row, rate: Scalar) -> tuple[Carry, Row, Row]:
    """Give a source row its summed gradient, pass the sum on to the next, and leave a zero."""
    sums = total + change
    return sums, source + rate * sums, change - change


@inlined
def find_reach(left: Any, right: Any) -> Any:
    """Return how many tokens the widest half of a window has."""
    reach: Any = np.int64(0)
    for i in range(left.shape[0]):
        reach = max(reach, i - left[i], right[i] - i - 1)
    return reach


@inlined
def find_power(least: Any) -> Any:
    """Return the first power of two that is at least `least`: j & (power - 1) is the place of token j in a ring."""
    power = 1
    while power < least:
        power *= 2
    return power


@inlined
def list_new(places: Any, source: Any, prefix: Any, token_rows: Any, right: Any, first: Any, last: Any) -> Any:
    """List the source rows from token `first` on that windows with these ends need; return where they end."""
    upto = first
    for r in range(right.shape[0]):
        while upto < right[r]:
            places[upto - first, 0], places[upto - first, 1] = (
                locate(prefix, (upto + 1) & last),
                locate(source, token_rows[upto]),
            )
            upto += 1
    return upto


@inlined
def list_settled(
    places: Any,
    factors: Any,
    source: Any,
    change: Any,
    token_rows: Any,
    rates: Any,
    first: Any,
    trained: Any,
    end: Any,
    seen: Any,
    reach: Any,
    last: Any,
) -> Any:
    """List the source rows from token `first` on that no window needs after `trained` tokens; return where they end.

    When the windows of all tokens before `end` are trained, none of the `seen` rows is needed any more.
    """
    done = max(trained - reach, first) if trained < end else seen
    for j in range(first, done):
        places[j - first, 0], places[j - first, 1] = locate(source, token_rows[j]), locate(change, j & last)
        factors[j - first, 0] = rates[token_rows[j]]
    return done


@inlined
def count_contexts(sizes: Any, i: Any, left: Any, right: Any) -> Any:
    """Return the number C by which the sum of a window is divided: its tokens, or the sizes of their bags.

    `sizes` is None, or has the sum of the sizes before each token.
    """
    if sizes is None:
        return right - left - 1
    else:  # noqa: RET505  # Numba drops code in a branch, not what follows it
        return sizes[right] - sizes[left] - (sizes[i + 1] - sizes[i])


@inlined
def rebase_sums(prefix: Any, running: Any, seen: Any) -> None:
    """Let the running sums begin again at token `seen`, which loses no digits to what lies far behind."""
    running[:] = 0
    ring = prefix.shape[0]
    for k in range(seen + 1, seen + ring + 1):  # the row itself last
        subtract_row(prefix, k % ring, prefix, seen % ring)


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
    h, dh, D = allocate_rows(1, source), allocate_rows(1, source), source.shape[1]
    noise, next_noise = np.empty(negative, np.int64), np.empty(negative, np.int64)
    state = draw_words(alias, state, next_noise)
    places, factors = np.empty((negative + 1, 2), np.int64), np.empty((negative + 1, 2), source.dtype)
    widest = 2 * find_reach(left, right)
    context, shares = np.empty((widest, 2), np.int64), np.empty((widest, 1), source.dtype)
    context[:, 1] = locate(dh, 0)
    loss, counted = 0.0, 0
    for i in range(ids.shape[0]):
        noise, next_noise = next_noise, noise
        state = draw_words(alias, state, next_noise)
        word, share, C = ids[i], real(1) / real(right[i] - left[i] - 1), 0
        for j in range(left[i], right[i]):
            if j != i:
                context[C, 0], shares[C, 0] = locate(source, ids[j]), share if divide_in else real(1)
                C += 1
        h[:] = real(0)
        add_rows(h, 0, source, context, shares, 0, C, 0, D)
        sampled = i % LOSS_TARGETS == 0
        counted += sampled
        loss += step_exactly(h, dh, target, word, noise, next_noise, rates, alpha, places, factors, sampled)
        C = 0
        for j in range(left[i], right[i]):
            if j != i:
                shares[C, 0] = source_rate(rates, ids[j]) * (share if divide_out else real(1))
                C += 1
        add_to_rows(source, dh, context, shares, 0, C, 0, D)
    return loss, counted


@inlined
def run_cbow(
    source: Any,
    target: Any,
    token_rows: Any,
    ids: Any,
    left: Any,
    right: Any,
    begin: Any,
    end: Any,
    reach: Any,
    sizes: Any,
    alias: Any,
    source_rates: Any,
    target_rates: Any,
    negative: Any,
    shared: Any,
    batch: Any,
    alpha: Any,
    divide_in: Any,
    divide_out: Any,
    seed: Any,
) -> Any:
    """Train the windows of the tokens begin … end - 1, as `cbow_fast` describes.

    The vector of token j is source[token_rows[j]], and source rows have rates of their own, so that a kernel can hand
    in other vectors than those of words. `reach` is the half of the widest window, `sizes` what `count_contexts` takes.
    """
    n, real, state = ids.shape[0], source.dtype.type, seed
    D = source.shape[1]
    ring = find_power(2 * reach + batch + 2)
    last = ring - 1  # j & last is the place of token j in a ring
    # Row j of prefix is the sum of the source rows before j; row j of change is what is added to source row j less
    # what is added to row j - 1. One more row of change takes what a window without a left half would add to it.
    prefix, change = allocate_rows(ring, source), allocate_rows(ring + 1, source)
    running, before, total = allocate_rows(1, source), allocate_rows(1, source), allocate_rows(1, source)
    prefix[:] = real(0)
    change[:] = real(0)
    running[:] = real(0)
    before[:] = real(0)
    total[:] = real(0)
    h, dh = allocate_rows(batch, source), allocate_bands(batch, BAND, source)
    scores = np.empty((batch, shared), source.dtype)
    # What the scans need of each token: where its rows are, and numbers.
    most = batch + 2 * reach + 1
    new_rows, none = np.empty((most, 2), np.int64), np.empty((most, 0), source.dtype)
    old_rows, old_rates = np.empty((most, 2), np.int64), np.empty((most, 1), source.dtype)
    sums, shares = np.empty((batch, 4), np.int64), np.empty((batch, 1), source.dtype)
    changes, factors = np.empty((batch, 5), np.int64), np.empty((batch, 4), source.dtype)
    words, next_words = np.empty(shared, np.int32), np.empty(shared, np.int32)
    state = draw_words(alias, state, next_words)
    weight = real(negative) / real(shared)
    loss, counted = 0.0, 0
    # Source rows in prefix; where its sum began; rows that have received their gradients.
    seen = base = settled = max(begin - reach, 0)

    for first in range(begin, end, batch):
        rows = min(batch, end - first)
        sampled = ((first - begin) // batch) % LOSS_BATCHES == 0
        words, next_words = next_words, words
        state = draw_words(alias, state, next_words)
        if seen - base >= max(REBASE, 2 * ring):
            base = seen
            rebase_sums(prefix, running, seen)
        upto = list_new(new_rows, source, prefix, token_rows, right[first : first + rows], seen, last)
        for r in range(rows):
            i = first + r
            sums[r, 0], sums[r, 1] = locate(prefix, right[i] & last), locate(prefix, (i + 1) & last)
            sums[r, 2], sums[r, 3] = locate(prefix, i & last), locate(prefix, left[i] & last)
            share, inner = real(1) / real(count_contexts(sizes, i, left[i], right[i])), left[i] < i
            shares[r, 0] = share if divide_in else real(1)
            changes[r, 0], changes[r, 1] = locate(target, ids[i]), locate(change, left[i] & last if inner else ring)
            changes[r, 2], changes[r, 3] = locate(change, i & last), locate(change, right[i] & last)
            changes[r, 4] = locate(dh, r)
            factors[r, 2], factors[r, 3] = share if divide_out else real(1), real(inner)
        for start in range(0, D, BAND):
            stop = min(start + BAND, D)
            extend_sums(running, 0, prefix, source, new_rows, none, 0, upto - seen, start, stop)
            sum_windows(h, prefix, prefix, prefix, prefix, sums, shares, 0, rows, start, stop)
        seen = upto

        score_noise(scores, rows, h, target, words, source, token_rows[min(seen, n - 1) :])
        centres = ids[first : first + rows]
        loss += score_batch(scores, factors, rows, h, target, centres, words, target_rates, alpha, weight, sampled)
        counted += rows if sampled else 0

        done = list_settled(
            old_rows, old_rates, source, change, token_rows, source_rates, settled, first + rows, end, seen, reach, last
        )
        ahead = first + batch if first + 2 * batch <= n else first
        following = ids[ahead : ahead + rows]
        for start in range(0, D, BAND):
            stop = min(start + BAND, D)
            collect_noise(dh, 0, rows, scores, target, words, start, stop, next_words)
            update_noise(target, words, target_rates, scores, h, rows, start, stop, following)
            return_gradients(before, 0, target, change, change, change, dh, h, changes, factors, 0, rows, start, stop)
            if first + rows == end:  # the right half of the last token begins where no token follows
                for column in range(start, stop):
                    change[end & last, column] += before[0, column]
            settle_rows(total, 0, source, change, old_rows, old_rates, 0, done - settled, start, stop)
        settled = done
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
    """Take SGD steps on batches of targets that share `shared` noise words, each weighted negative/shared.

    The expected gradient is that of `cbow_exact`. The sum of a window is the difference of two running sums, and its
    gradient is added to a difference array, so the cost of a token hardly grows with the window. Both arrays are rings
    that hold a batch and its windows. A source row is read once, when the first window reaches it, and
    written once, when the last has left it. All but the scores is done for a band of columns at a time: what a batch
    needs of them stays in the first-level cache.
    """
    return run_cbow(
        source, target, ids, ids, left, right, 0, ids.shape[0], find_reach(left, right), None, alias,
        source_rates(rates), target_rates(rates), negative, shared, batch, alpha, divide_in, divide_out, seed,
    )  # fmt: skip
