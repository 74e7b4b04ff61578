"""CBOW and skip-gram over bags of rows: the vector of a token is made from several source rows, not from one.

With subwords, the bag of a word is its own row and the rows of its character n-grams. Shapes as in cbow.py, except

    source (R, D)       the rows that bags are made of
    starts (V + 1,)     the bag of word w is members[starts[w]:starts[w + 1]]
    members             source rows; a row may occur several times in a bag
    rates (2, R)        of source rows, and, in the first V columns, of target rows

The vector of a token is u = (1/n) Σ_r v_r over the n rows of its bag (`average`; else their sum), and each row receives
the gradient of u, divided by n if `divide_rows`. CBOW averages the vectors of a window's C contexts or, `pooled`, all
rows of all contexts, whose number then takes the place of C; that needs sums (`average` and `divide_rows` false).

The exact kernels read and update all rows of a bag at each step. The fast ones form the vector of each word once for a
piece of the text, train with these vectors in place of source rows, and then hand what has been added to each of them
to its rows. So a window costs what it costs without bags. Within a piece a word's vector moves as its rows would move
it; what it owes to the steps of other words that share its rows comes with the next piece.
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
from mumon.kernels.row_ops import Row, add_rows, add_to_rows, allocate_rows, copy_row, locate, row_operation
from mumon.kernels.skipgram import run_skipgram

HASH = np.uint64(0x9E3779B97F4A7C15)
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
def list_bag(places: Any, factors: Any, source: Any, starts: Any, members: Any, word: Any, share: Any) -> Any:
    """List the rows of a word's bag for a scan, all with the same factor; return their number."""
    first, count = starts[word], starts[word + 1] - starts[word]
    for k in range(count):
        places[k, 0], factors[k, 0] = locate(source, members[first + k]), share
    return count


@inlined
def number_words(ids: Any, begin: Any, end: Any, token_rows: Any, words: Any, slots: Any) -> Any:
    """Number the different words of the tokens begin … end - 1; return how many there are.

    token_rows receives the number of each token's word, `words` the words by number. `slots` is a table of numbers,
    whose length is a power of two, at least twice the number of tokens.
    """
    slots[:] = FREE
    mask, shift, count = slots.shape[0] - 1, np.uint64(40), 0
    for i in range(begin, end):
        place = np.int64((np.uint64(ids[i]) * HASH) >> shift) & mask
        while slots[place] != FREE and words[slots[place]] != ids[i]:
            place = (place + 1) & mask
        if slots[place] == FREE:
            slots[place], words[count] = count, ids[i]
            count += 1
        token_rows[i] = slots[place]
    return count


@inlined
def form_vectors(
    vectors: Any,
    before: Any,
    rates: Any,
    words: Any,
    count: Any,
    source: Any,
    row_rates: Any,
    starts: Any,
    members: Any,
    average: Any,
    divide_rows: Any,
    places: Any,
    factors: Any,
) -> None:
    """Form the vectors of words from their bags, and the rates at which they move when their rows do.

    A row's step is its rate times the gradient of u, and u takes the mean (or sum) of the steps of its rows.
    """
    real = source.dtype.type
    for w in range(count):
        first, size = starts[words[w]], starts[words[w] + 1] - starts[words[w]]
        share = real(1) / real(size) if average else real(1)
        total = real(0)
        for k in range(size):
            total += row_rates[members[first + k]]
        rates[w] = total * share * (real(1) / real(size) if divide_rows else real(1))
        vectors[w] = real(0)
        list_bag(places, factors, source, starts, members, words[w], share)
        add_rows(vectors, w, source, places, factors, 0, size, 0, source.shape[1])
        copy_row(before, w, vectors, w)


@inlined
def return_steps(
    vectors: Any,
    before: Any,
    rates: Any,
    words: Any,
    count: Any,
    source: Any,
    row_rates: Any,
    starts: Any,
    members: Any,
    divide_rows: Any,
    places: Any,
    factors: Any,
) -> None:
    """Give what was added to the vectors of words to the rows of their bags."""
    real = source.dtype.type
    for w in range(count):
        if rates[w] > real(0):
            first, size = starts[words[w]], starts[words[w] + 1] - starts[words[w]]
            subtract_from(before, w, vectors, w)
            gradient = (real(1) / real(size) if divide_rows else real(1)) / rates[w]
            for k in range(size):
                row = members[first + k]
                places[k, 0], places[k, 1] = locate(source, row), locate(before, w)
                factors[k, 0] = row_rates[row] * gradient
            add_to_rows(source, before, places, factors, 0, size, 0, source.shape[1])


@kernel
def cbow_bags_exact(
    source: Any,
    target: Any,
    starts: Any,
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
    vectors, before = allocate_rows(room, source), allocate_rows(room, source)
    words, token_rows = np.empty(room, np.int32), np.zeros(n, np.int32)
    slots, word_rates = np.empty(find_power(2 * room), np.int32), np.empty(room, source.dtype)
    places, factors = np.empty((most, 2), np.int64), np.empty((most, 1), source.dtype)
    row_rates, sizes = source_rates(rates), sum_sizes(starts, ids)
    ones = np.arange(n + 1)  # a bag counts as one context
    loss, counted = 0.0, 0
    for begin in range(0, n, piece):
        end = min(begin + piece, n)
        count = number_words(ids, max(begin - reach, 0), min(end + reach, n), token_rows, words, slots)
        form_vectors(
            vectors, before, word_rates, words, count, source, row_rates, starts, members, average, divide_rows,
            places, factors,
        )  # fmt: skip
        some, targets = run_cbow(
            vectors, target, token_rows, ids, left, right, begin, end, sizes if pooled else ones, alias,
            word_rates, target_rates(rates), negative, shared, batch, alpha, divide_in, divide_out,
            seed + GAMMA * np.uint64(begin // batch * shared),
        )  # fmt: skip
        return_steps(
            vectors, before, word_rates, words, count, source, row_rates, starts, members, divide_rows, places, factors
        )
        loss += some
        counted += targets
    return loss, counted


@kernel
def skipgram_bags_exact(
    source: Any,
    target: Any,
    starts: Any,
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
        list_bag(bag, shares, source, starts, members, ids[i], real(1) / real(size) if average else real(1))
        for k in range(size):
            steps[k, 0] = row_rates[members[first + k]] * (real(1) / real(size) if divide_rows else real(1))
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
    vectors, before = allocate_rows(room, source), allocate_rows(room, source)
    words, token_rows = np.empty(room, np.int32), np.zeros(n, np.int32)
    slots, word_rates = np.empty(find_power(2 * room), np.int32), np.empty(room, source.dtype)
    places, factors = np.empty((most, 2), np.int64), np.empty((most, 1), source.dtype)
    row_rates = source_rates(rates)
    loss, counted = 0.0, 0
    for begin in range(0, n, piece):
        end = min(begin + piece, n)
        count = number_words(ids, begin, end, token_rows, words, slots)
        form_vectors(
            vectors, before, word_rates, words, count, source, row_rates, starts, members, average, divide_rows,
            places, factors,
        )  # fmt: skip
        some, targets = run_skipgram(
            vectors, target, token_rows, ids, left, right, begin, end, alias, word_rates, target_rates(rates),
            negative, shared, batch, alpha, seed + GAMMA * np.uint64(begin // batch * shared),
        )  # fmt: skip
        return_steps(
            vectors, before, word_rates, words, count, source, row_rates, starts, members, divide_rows, places, factors
        )
        loss += some
        counted += targets
    return loss, counted
