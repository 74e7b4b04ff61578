"""CBOW and skip-gram over bags of rows: the vector of a token is made from several source rows, not from one.

With subwords, the bag of a word is its own row and the rows of its character n-grams. Shapes as in cbow.py, except

    source (R, D)       the rows that bags are made of
    starts (V + 1,)     the bag of word w is members[starts[w]:starts[w + 1]]
    middles (V,)        those from members[middles[w]] on are rare rows, the others frequent ones
    members             source rows; a row may occur several times in a bag
    rates (2, R)        of source rows, and, in the first V columns, of target rows

The vector of a token is u = (1/n) Σ_r v_r over the n rows of its bag (`average`; else their sum), and each row receives
the gradient of u, divided by n if `divide_rows`. CBOW averages the vectors of a window's C contexts or, `pooled`, all
rows of all contexts, whose number then takes the place of C; that needs sums (`average` and `divide_rows` false).

The exact kernels read and update all rows of a bag at each step. The fast ones form the vector of each word once for a
piece of the text, train with these vectors in place of source rows, and then hand what has been added to each of them
to its rows. So a window costs what it costs without bags. Most rows are rare, and most of the time would be spent on
waiting for them: their part of a word's vector is formed once for the whole block, and moves with it from piece to
piece. Within a piece a word's vector moves as its rows would move it. What it owes to the steps of other words comes
with the next piece, through frequent rows, or with the next block, through rare ones, which few of its words share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.cbow import count_contexts, find_power, find_reach, run_cbow
from mumon.kernels.jit import inlined, kernel
from mumon.kernels.layout import PIECE
from mumon.kernels.negative_sampling import step_exactly
from mumon.kernels.noise import draw_words
from mumon.kernels.numerics import GAMMA, LOSS_TARGETS, source_rates, target_rates
from mumon.kernels.row_ops import Row, add_row, add_rows, add_to_rows, allocate_rows, copy_row, locate, row_operation
from mumon.kernels.skipgram import run_skipgram

HASH = np.uint64(0x9E3779B97F4A7C15)
UPPER = np.uint64(32)
FREE = np.int32(-1)


@row_operation
def subtract_from(a: Row, b: Row) -> Row:
    """Set a = b - a."""
    return b - a


@inlined
def find_piece(batch: Any) -> Any:
    """Return how many tokens make a piece: whole batches."""
    return max(PIECE // batch, 1) * batch


@inlined
def find_largest_bag(starts: Any, ids: Any) -> Any:
    """Return the most rows that the bag of any of these words has."""
    most: Any = np.int64(1)
    for i in range(ids.shape[0]):
        most = max(most, np.int64(starts[ids[i] + 1] - starts[ids[i]]))
    return most


@inlined
def sum_sizes(starts: Any, ids: Any) -> Any:
    """Return how many rows the bags of all tokens before each token have."""
    sizes = np.empty(ids.shape[0] + 1, np.int64)
    sizes[0] = 0
    for i in range(ids.shape[0]):
        sizes[i + 1] = sizes[i] + starts[ids[i] + 1] - starts[ids[i]]
    return sizes


@inlined
def number_words(ids: Any, token_words: Any, words: Any) -> Any:
    """Number the different words of some tokens; return how many there are.

    token_words receives the number of each token's word, `words` the words by number.
    """
    slots = np.full(find_power(2 * ids.shape[0] + 2), FREE)  # a hash table of numbers
    mask, count = slots.shape[0] - 1, 0
    for i in range(ids.shape[0]):
        place = np.int64((np.uint64(ids[i]) * HASH) >> UPPER) & mask
        while slots[place] != FREE and words[slots[place]] != ids[i]:
            place = (place + 1) & mask
        if slots[place] == FREE:
            slots[place], words[count] = count, ids[i]
            count += 1
        token_words[i] = slots[place]
    return count


@inlined
def choose_words(token_words: Any, begin: Any, end: Any, chosen: Any, token_rows: Any, piece_words: Any) -> Any:
    """Number the words of a piece, which are numbers of a block's words themselves; return how many there are.

    token_rows receives the number of each token's word, piece_words the block's number of each. `chosen` has FREE for
    each word of the block, and has it again when this returns.
    """
    count = 0
    for i in range(begin, end):
        word = token_words[i]
        if chosen[word] == FREE:
            chosen[word], piece_words[count] = count, word
            count += 1
        token_rows[i] = chosen[word]
    for w in range(count):
        chosen[piece_words[w]] = FREE
    return count


@inlined
def share_of(size: Any, divided: Any, real: Any) -> Any:
    """Return 1/size, or 1 where nothing is divided."""
    return real(1) / real(size) if divided else real(1)


@inlined
def add_members(
    vectors: Any, v: Any, source: Any, members: Any, first: Any, last: Any, share: Any, places: Any, factors: Any
) -> None:
    """Add share times some rows to a vector."""
    for k in range(first, last):
        places[k - first, 0], factors[k - first, 0] = locate(source, members[k]), share
    add_rows(vectors, v, source, places, factors, 0, last - first, 0, source.shape[1])


@inlined
def add_to_members(
    source: Any, members: Any, first: Any, last: Any, row_rates: Any, scale: Any, steps: Any, s: Any, places: Any,
    factors: Any,
) -> None:  # fmt: skip
    """Add a step, scaled and times their rates, to some rows."""
    for k in range(first, last):
        places[k - first, 0], places[k - first, 1] = locate(source, members[k]), locate(steps, s)
        factors[k - first, 0] = row_rates[members[k]] * scale
    add_to_rows(source, steps, places, factors, 0, last - first, 0, source.shape[1])


@inlined
def sum_rates(row_rates: Any, members: Any, first: Any, last: Any) -> Any:
    """Return the sum of the rates of some rows."""
    total = row_rates.dtype.type(0)
    for k in range(first, last):
        total += row_rates[members[k]]
    return total


@inlined
def form_cold(
    cold: Any, before: Any, rates: Any, words: Any, count: Any, source: Any, row_rates: Any, starts: Any, middles: Any,
    members: Any, average: Any, divide_rows: Any, places: Any, factors: Any,
) -> None:  # fmt: skip
    """Form, for the words of a block, the part of their vectors that rare rows make, and the rates at which it moves.

    A row's step is its rate times the gradient of u, and u takes the mean (or sum) of the steps of its rows.
    """
    real = source.dtype.type
    for w in range(count):
        word = words[w]
        first, last, size = middles[word], starts[word + 1], starts[word + 1] - starts[word]
        share = share_of(size, average, real)
        rates[w] = sum_rates(row_rates, members, first, last) * share * share_of(size, divide_rows, real)
        cold[w] = real(0)
        add_members(cold, w, source, members, first, last, share, places, factors)
        copy_row(before, w, cold, w)


@inlined
def return_cold(
    cold: Any, before: Any, rates: Any, words: Any, count: Any, source: Any, row_rates: Any, starts: Any, middles: Any,
    members: Any, divide_rows: Any, places: Any, factors: Any,
) -> None:  # fmt: skip
    """Give what was added to the parts of rare rows to these rows."""
    real = source.dtype.type
    for w in range(count):
        if rates[w] > real(0):
            word = words[w]
            first, last, size = middles[word], starts[word + 1], starts[word + 1] - starts[word]
            subtract_from(before, w, cold, w)
            scale = share_of(size, divide_rows, real) / rates[w]
            add_to_members(source, members, first, last, row_rates, scale, before, w, places, factors)


@inlined
def form_vectors(
    vectors: Any, before: Any, rates: Any, piece_words: Any, count: Any, cold: Any, cold_rates: Any, words: Any,
    source: Any, row_rates: Any, starts: Any, middles: Any, members: Any, average: Any, divide_rows: Any, places: Any,
    factors: Any,
) -> None:  # fmt: skip
    """Form the vectors of the words of a piece: the parts of rare rows, and the frequent rows as they are now."""
    real = source.dtype.type
    for w in range(count):
        t = piece_words[w]
        word = words[t]
        first, last, size = starts[word], middles[word], starts[word + 1] - starts[word]
        share = share_of(size, average, real)
        hot_rate = sum_rates(row_rates, members, first, last) * share * share_of(size, divide_rows, real)
        rates[w] = cold_rates[t] + hot_rate
        copy_row(vectors, w, cold, t)
        add_members(vectors, w, source, members, first, last, share, places, factors)
        copy_row(before, w, vectors, w)


@inlined
def return_steps(
    vectors: Any, before: Any, rates: Any, piece_words: Any, count: Any, cold: Any, cold_rates: Any, words: Any,
    source: Any, row_rates: Any, starts: Any, middles: Any, members: Any, divide_rows: Any, places: Any, factors: Any,
) -> None:  # fmt: skip
    """Give what was added to the vectors of a piece to the frequent rows, and to the parts of rare rows."""
    real = source.dtype.type
    for w in range(count):
        if rates[w] > real(0):
            t = piece_words[w]
            word = words[t]
            first, last, size = starts[word], middles[word], starts[word + 1] - starts[word]
            subtract_from(before, w, vectors, w)
            scale = share_of(size, divide_rows, real) / rates[w]
            add_to_members(source, members, first, last, row_rates, scale, before, w, places, factors)
            add_row(cold, t, cold_rates[t] / rates[w], before, w)


@kernel
def cbow_bags_exact(
    source: Any,
    target: Any,
    starts: Any,
    middles: Any,
    members: Any,
    ids: Any,
    left: Any,
    right: Any,
    alias: Any,
    rates: Any,
    negative: Any,
    alpha: Any,
    divide_in: Any,
    divide_out: Any,
    average: Any,
    divide_rows: Any,
    pooled: Any,
    seed: Any,
) -> Any:
    """Take one SGD step per window with `negative` fresh noise words, on all rows of all its contexts."""
    real, state, D = source.dtype.type, seed, source.shape[1]
    h, dh = allocate_rows(1, source), allocate_rows(1, source)
    noise, next_noise = np.empty(negative, np.int64), np.empty(negative, np.int64)
    state = draw_words(alias, state, next_noise)
    places, factors = np.empty((negative + 1, 2), np.int64), np.empty((negative + 1, 2), source.dtype)
    widest = 2 * find_reach(left, right) * find_largest_bag(starts, ids)
    context, shares = np.empty((widest, 2), np.int64), np.empty((widest, 1), source.dtype)
    context[:, 1] = locate(dh, 0)
    row_rates, sizes = source_rates(rates), sum_sizes(starts, ids)
    loss, counted = 0.0, 0
    for i in range(ids.shape[0]):
        noise, next_noise = next_noise, noise
        state = draw_words(alias, state, next_noise)
        contexts = count_contexts(sizes, i, left[i], right[i]) if pooled else right[i] - left[i] - 1
        share, C = real(1) / real(contexts), 0
        for j in range(left[i], right[i]):
            if j != i:
                word = ids[j]
                part = share if divide_in else real(1)
                part = part / real(starts[word + 1] - starts[word]) if average else part
                for k in range(starts[word], starts[word + 1]):
                    context[C, 0], shares[C, 0] = locate(source, members[k]), part
                    C += 1
        h[:] = real(0)
        add_rows(h, 0, source, context, shares, 0, C, 0, D)
        sampled = i % LOSS_TARGETS == 0
        counted += sampled
        loss += step_exactly(h, dh, target, ids[i], noise, next_noise, rates, alpha, places, factors, sampled)
        C = 0
        for j in range(left[i], right[i]):
            if j != i:
                word = ids[j]
                part = share if divide_out else real(1)
                part = part / real(starts[word + 1] - starts[word]) if divide_rows else part
                for k in range(starts[word], starts[word + 1]):
                    shares[C, 0] = row_rates[members[k]] * part
                    C += 1
        add_to_rows(source, dh, context, shares, 0, C, 0, D)
    return loss, counted


@kernel
def cbow_bags_fast(
    source: Any,
    target: Any,
    starts: Any,
    middles: Any,
    members: Any,
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
    average: Any,
    divide_rows: Any,
    pooled: Any,
    seed: Any,
) -> Any:
    """Take the steps of `cbow_fast` with the vectors of words, and return them to the rows of their bags."""
    n, reach, piece, most = ids.shape[0], find_reach(left, right), find_piece(batch), find_largest_bag(starts, ids)
    room = min(piece + 2 * reach, n)
    vectors, before, word_rates = allocate_rows(room, source), allocate_rows(room, source), np.empty(room, source.dtype)
    token_words, token_rows, words = np.empty(n, np.int32), np.zeros(n, np.int32), np.empty(n, np.int32)
    count = number_words(ids, token_words, words)
    cold, cold_before = allocate_rows(count, source), allocate_rows(count, source)
    cold_rates, chosen, piece_words = np.empty(count, source.dtype), np.full(count, FREE), np.empty(room, np.int32)
    places, factors = np.empty((most, 2), np.int64), np.empty((most, 1), source.dtype)
    row_rates, sizes = source_rates(rates), sum_sizes(starts, ids) if pooled else np.arange(n + 1)
    form_cold(
        cold, cold_before, cold_rates, words, count, source, row_rates, starts, middles, members, average, divide_rows,
        places, factors,
    )  # fmt: skip
    loss, counted = 0.0, 0
    for begin in range(0, n, piece):
        end = min(begin + piece, n)
        different = choose_words(
            token_words, max(begin - reach, 0), min(end + reach, n), chosen, token_rows, piece_words
        )
        form_vectors(
            vectors, before, word_rates, piece_words, different, cold, cold_rates, words, source, row_rates, starts,
            middles, members, average, divide_rows, places, factors,
        )  # fmt: skip
        some, targets = run_cbow(
            vectors, target, token_rows, ids, left, right, begin, end, sizes, alias, word_rates, target_rates(rates),
            negative, shared, batch, alpha, divide_in, divide_out, seed + GAMMA * np.uint64(begin // batch * shared),
        )  # fmt: skip
        return_steps(
            vectors, before, word_rates, piece_words, different, cold, cold_rates, words, source, row_rates, starts,
            middles, members, divide_rows, places, factors,
        )  # fmt: skip
        loss += some
        counted += targets
    return_cold(
        cold, cold_before, cold_rates, words, count, source, row_rates, starts, middles, members, divide_rows,
        places, factors,
    )  # fmt: skip
    return loss, counted


@kernel
def skipgram_bags_exact(
    source: Any,
    target: Any,
    starts: Any,
    middles: Any,
    members: Any,
    ids: Any,
    left: Any,
    right: Any,
    alias: Any,
    rates: Any,
    negative: Any,
    alpha: Any,
    average: Any,
    divide_rows: Any,
    seed: Any,
) -> Any:
    """Take one SGD step per (centre, context) pair with `negative` fresh noise words, on all rows of the centre."""
    real, state, D = source.dtype.type, seed, source.shape[1]
    h, dh = allocate_rows(1, source), allocate_rows(1, source)
    noise, next_noise = np.empty(negative, np.int64), np.empty(negative, np.int64)
    state = draw_words(alias, state, next_noise)
    places, factors = np.empty((negative + 1, 2), np.int64), np.empty((negative + 1, 2), source.dtype)
    most, row_rates = find_largest_bag(starts, ids), source_rates(rates)
    bag, shares = np.empty((most, 2), np.int64), np.empty((most, 1), source.dtype)
    steps = np.empty((most, 1), source.dtype)
    bag[:, 1] = locate(dh, 0)
    loss, counted = 0.0, 0
    for i in range(ids.shape[0]):
        sampled = i % LOSS_TARGETS == 0
        counted += sampled
        first, size = starts[ids[i]], starts[ids[i] + 1] - starts[ids[i]]
        for k in range(size):
            row = members[first + k]
            bag[k, 0], shares[k, 0] = locate(source, row), share_of(size, average, real)
            steps[k, 0] = row_rates[row] * share_of(size, divide_rows, real)
        for j in range(left[i], right[i]):
            if j == i:
                continue
            noise, next_noise = next_noise, noise
            state = draw_words(alias, state, next_noise)
            h[:] = real(0)
            add_rows(h, 0, source, bag, shares, 0, size, 0, D)
            loss += step_exactly(h, dh, target, ids[j], noise, next_noise, rates, alpha, places, factors, sampled)
            add_to_rows(source, dh, bag, steps, 0, size, 0, D)
    return loss, counted


@kernel
def skipgram_bags_fast(
    source: Any,
    target: Any,
    starts: Any,
    middles: Any,
    members: Any,
    ids: Any,
    left: Any,
    right: Any,
    alias: Any,
    rates: Any,
    negative: Any,
    shared: Any,
    batch: Any,
    alpha: Any,
    average: Any,
    divide_rows: Any,
    seed: Any,
) -> Any:
    """Take the steps of `skipgram_fast` with the vectors of words, and return them to the rows of their bags."""
    n, piece, most = ids.shape[0], find_piece(batch), find_largest_bag(starts, ids)
    room = min(piece, n)
    vectors, before, word_rates = allocate_rows(room, source), allocate_rows(room, source), np.empty(room, source.dtype)
    token_words, token_rows, words = np.empty(n, np.int32), np.zeros(n, np.int32), np.empty(n, np.int32)
    count = number_words(ids, token_words, words)
    cold, cold_before = allocate_rows(count, source), allocate_rows(count, source)
    cold_rates, chosen, piece_words = np.empty(count, source.dtype), np.full(count, FREE), np.empty(room, np.int32)
    places, factors = np.empty((most, 2), np.int64), np.empty((most, 1), source.dtype)
    row_rates = source_rates(rates)
    form_cold(
        cold, cold_before, cold_rates, words, count, source, row_rates, starts, middles, members, average, divide_rows,
        places, factors,
    )  # fmt: skip
    loss, counted = 0.0, 0
    for begin in range(0, n, piece):
        end = min(begin + piece, n)
        different = choose_words(token_words, begin, end, chosen, token_rows, piece_words)
        form_vectors(
            vectors, before, word_rates, piece_words, different, cold, cold_rates, words, source, row_rates, starts,
            middles, members, average, divide_rows, places, factors,
        )  # fmt: skip
        some, targets = run_skipgram(
            vectors, target, token_rows, ids, left, right, begin, end, alias, word_rates, target_rates(rates),
            negative, shared, batch, alpha, seed + GAMMA * np.uint64(begin // batch * shared),
        )  # fmt: skip
        return_steps(
            vectors, before, word_rates, piece_words, different, cold, cold_rates, words, source, row_rates, starts,
            middles, members, divide_rows, places, factors,
        )  # fmt: skip
        loss += some
        counted += targets
    return_cold(
        cold, cold_before, cold_rates, words, count, source, row_rates, starts, middles, members, divide_rows,
        places, factors,
    )  # fmt: skip
    return loss, counted


@kernel
def compose_words(source: Any, starts: Any, members: Any, first: Any, last: Any, out: Any) -> None:
    """Compute the vectors of words: the means of the rows of their bags.

    Parameters
    ----------
    source, starts, members
        As for the training kernels; columns beyond those of `out` are padding.
    first, last
        The words are first … last - 1.
    out
        (V, D): receives the vectors of these words.
    """
    total = np.empty(source.shape[1], np.float64)
    for word in range(first, last):
        total[:] = 0.0
        for k in range(starts[word], starts[word + 1]):
            total += source[members[k]]
        for column in range(out.shape[1]):
            out[word, column] = total[column] / (starts[word + 1] - starts[word])
