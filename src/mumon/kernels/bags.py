"""CBOW and skip-gram over bags of rows: the vector of a token is made from several source rows, not from one.

With subwords, the bag of a word is its own row and the rows of its character n-grams. Shapes as in cbow.py, except

    source (R, D)       the rows that bags are made of
    starts (V + 1,)     the bag of word w is members[starts[w]:starts[w + 1]]
    middles (V,)        those from members[middles[w]] on are rare rows, the others frequent ones
    members             source rows; a row may occur several times in a bag
    scratch             memory of a fast kernel for vectors of words (`layout.count_scratch_rows`)
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

from typing import Any, NamedTuple

import numpy as np

from mumon.kernels.cbow import count_contexts, find_power, find_reach, run_cbow
from mumon.kernels.jit import inlined, kernel
from mumon.kernels.layout import PIECE
from mumon.kernels.negative_sampling import step_exactly
from mumon.kernels.noise import draw_words
from mumon.kernels.numerics import GAMMA, LOSS_TARGETS, source_rates, target_rates
from mumon.kernels.row_ops import (
    Row,
    Scalar,
    add_row,
    add_rows,
    add_to_rows,
    allocate_rows,
    copy_row,
    locate,
    prefetch,
    row_operation,
)
from mumon.kernels.skipgram import run_skipgram

HASH = np.uint64(0x9E3779B97F4A7C15)
UPPER = np.uint64(32)
FREE = np.int32(-1)
AHEAD, WORDS_AHEAD = 4, 2  # rows, and vectors of words, that are fetched while one is updated


@row_operation
def subtract_from(a: Row, b: Row) -> Row:
    """Set a = b - a."""
    return b - a


@row_operation
def settle_step(before: Row, part: Row, vector: Row, share: Scalar) -> tuple[Row, Row]:
    """Turn what a vector was into what was added to it, and add a share of that to a part of it."""
    step = vector - before
    return step, part + share * step


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
def share_of(size: Any, divided: Any, real: Any) -> Any:
    """Return 1/size, or 1 where nothing is divided."""
    return real(1) / real(size) if divided else real(1)


class Composition(NamedTuple):
    """How the vectors of words are made of rows: what a kernel is given, and memory for scans over a word's rows."""

    source: Any
    starts: Any
    middles: Any
    members: Any
    row_rates: Any
    average: Any
    divide_rows: Any
    places: Any
    factors: Any


class Rows(NamedTuple):
    """Source rows of some words, those of word w from starts[w] on, what they learn at, and the sum of that by word."""

    rows: Any
    rates: Any
    starts: Any
    sums: Any


class Block(NamedTuple):
    """The different words of a block.

    `vectors` are theirs without the frequent rows, `before` what these were when the block began. `shares` says what a
    row adds to the vector, `returns` what of the gradient it receives.
    """

    token_words: Any  # the number, among these words, of each token's
    vectors: Any
    before: Any
    frequent: Rows
    rare: Rows
    shares: Any
    returns: Any
    numbers: Any  # FREE for each word, except while the words of a piece are numbered


class Piece(NamedTuple):
    """The different words of a piece: their numbers in the block, their whole vectors, and what these were before."""

    words: Any
    token_rows: Any  # the number, among these words, of each token's
    vectors: Any
    before: Any
    rates: Any


@inlined
def list_rows(bags: Composition, begins: Any, ends: Any) -> Any:
    """List the rows from begins[w] to ends[w] - 1 in the members of the bags.

    One loop for each table: what is not in a cache is then fetched for many words at once.
    """
    count = begins.shape[0]
    starts, sums = np.empty(count + 1, np.int64), np.empty(count, bags.row_rates.dtype)
    starts[0] = 0
    for w in range(count):
        starts[w + 1] = starts[w] + ends[w] - begins[w]
    rows, rates = np.empty(starts[count], np.int32), np.empty(starts[count], bags.row_rates.dtype)
    for w in range(count):
        for k in range(begins[w], ends[w]):
            rows[starts[w] + k - begins[w]] = bags.members[k]
    for k in range(rows.shape[0]):
        rates[k] = bags.row_rates[rows[k]]
    for w in range(count):
        sums[w] = rates.dtype.type(0)
        for k in range(starts[w], starts[w + 1]):
            sums[w] += rates[k]
    return Rows(rows, rates, starts, sums)


@inlined
def add_bag(vectors: Any, v: Any, bags: Composition, rows: Rows, w: Any, share: Any) -> None:
    """Add share times the rows of word w to a vector."""
    first, size = rows.starts[w], rows.starts[w + 1] - rows.starts[w]
    for k in range(size):
        bags.places[k, 0], bags.factors[k, 0] = locate(bags.source, rows.rows[first + k]), share
    add_rows(vectors, v, bags.source, bags.places, bags.factors, 0, size, 0, vectors.shape[1])


@inlined
def give_to_bag(steps: Any, s: Any, bags: Composition, rows: Rows, w: Any, scale: Any) -> None:
    """Add a step, scaled and times their rates, to the rows of word w; fetch the rows that follow."""
    last = rows.rows.shape[0] - 1
    for k in range(rows.starts[w], rows.starts[w + 1]):
        prefetch(bags.source, rows.rows[min(k + AHEAD, last)])
        add_row(bags.source, rows.rows[k], rows.rates[k] * scale, steps, s)


@inlined
def open_block(bags: Composition, ids: Any, scratch: Any) -> Any:
    """Form, for the words of a block, the parts of their vectors that rare rows make."""
    n, real = ids.shape[0], bags.source.dtype.type
    token_words, words = np.empty(n, np.int32), np.empty(n, np.int32)
    count = number_words(ids, token_words, words)
    firsts, middles, lasts = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    shares, returns = np.empty(count, bags.source.dtype), np.empty(count, bags.source.dtype)
    for w in range(count):
        firsts[w], middles[w], lasts[w] = bags.starts[words[w]], bags.middles[words[w]], bags.starts[words[w] + 1]
        shares[w] = share_of(lasts[w] - firsts[w], bags.average, real)
        returns[w] = share_of(lasts[w] - firsts[w], bags.divide_rows, real)
    rare = list_rows(bags, middles, lasts)
    vectors, before = scratch[:count], scratch[count : 2 * count]
    for w in range(count):
        vectors[w] = real(0)
        add_bag(vectors, w, bags, rare, w, shares[w])
        copy_row(before, w, vectors, w)
    frequent, numbers = list_rows(bags, firsts, middles), np.full(count, FREE)
    return Block(token_words, vectors, before, frequent, rare, shares, returns, numbers)


@inlined
def close_block(bags: Composition, block: Block) -> None:
    """Give what was added to the parts of rare rows to these rows.

    A row's step is its rate times the gradient of u, and u takes the mean (or sum) of the steps of its rows.
    """
    for w in range(block.shares.shape[0]):
        moved = block.rare.sums[w] * block.shares[w]
        if moved > 0:
            subtract_from(block.before, w, block.vectors, w)
            give_to_bag(block.before, w, bags, block.rare, w, 1 / moved)


@inlined
def make_piece(block: Block, room: Any, scratch: Any) -> Any:
    """Take the memory for the words of a piece, of which there are at most `room`."""
    first = 2 * block.shares.shape[0]
    vectors, before = scratch[first : first + room], scratch[first + room : first + 2 * room]
    token_rows = np.zeros(block.token_words.shape[0], np.int32)
    return Piece(np.empty(room, np.int32), token_rows, vectors, before, np.empty(room, block.shares.dtype))


@inlined
def open_piece(bags: Composition, block: Block, piece: Piece, begin: Any, end: Any) -> Any:
    """Form the vectors of the words of a piece, with the frequent rows as they are; return how many words it has."""
    count = 0
    for i in range(begin, end):
        t = block.token_words[i]
        if block.numbers[t] == FREE:
            block.numbers[t], piece.words[count] = count, t
            count += 1
        piece.token_rows[i] = block.numbers[t]
    for w in range(count):
        t = piece.words[w]
        block.numbers[t] = FREE
        prefetch(block.vectors, piece.words[min(w + WORDS_AHEAD, count - 1)])
        piece.rates[w] = (block.frequent.sums[t] + block.rare.sums[t]) * block.shares[t] * block.returns[t]
        copy_row(piece.vectors, w, block.vectors, t)
        add_bag(piece.vectors, w, bags, block.frequent, t, block.shares[t])
        copy_row(piece.before, w, piece.vectors, w)
    return count


@inlined
def close_piece(bags: Composition, block: Block, piece: Piece, count: Any) -> None:
    """Give what was added to the vectors of a piece to the frequent rows, and to the parts of rare rows."""
    for w in range(count):
        if piece.rates[w] > 0:
            t = piece.words[w]
            prefetch(block.vectors, piece.words[min(w + WORDS_AHEAD, count - 1)])
            part = block.rare.sums[t] / (block.frequent.sums[t] + block.rare.sums[t])
            settle_step(piece.before, w, block.vectors, t, piece.vectors, w, part)
            give_to_bag(piece.before, w, bags, block.frequent, t, block.returns[t] / piece.rates[w])


@kernel
def cbow_bags_exact(
    source: Any,
    target: Any,
    starts: Any,
    middles: Any,
    members: Any,
    scratch: Any,
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
    scratch: Any,
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
    n, reach, size, most = ids.shape[0], find_reach(left, right), find_piece(batch), find_largest_bag(starts, ids)
    places, factors = np.empty((most, 1), np.int64), np.empty((most, 1), source.dtype)
    bags = Composition(source, starts, middles, members, source_rates(rates), average, divide_rows, places, factors)
    block = open_block(bags, ids, scratch)
    piece = make_piece(block, min(size + 2 * reach, n), scratch)
    sizes = sum_sizes(starts, ids) if pooled else np.arange(n + 1)
    loss, counted = 0.0, 0
    for begin in range(0, n, size):
        end = min(begin + size, n)
        count = open_piece(bags, block, piece, max(begin - reach, 0), min(end + reach, n))
        some, targets = run_cbow(
            piece.vectors, target, piece.token_rows, ids, left, right, begin, end, reach, sizes, alias,
            piece.rates, target_rates(rates), negative, shared, batch, alpha, divide_in, divide_out,
            seed + GAMMA * np.uint64(begin // batch * shared),
        )  # fmt: skip
        close_piece(bags, block, piece, count)
        loss += some
        counted += targets
    close_block(bags, block)
    return loss, counted


@kernel
def skipgram_bags_exact(
    source: Any,
    target: Any,
    starts: Any,
    middles: Any,
    members: Any,
    scratch: Any,
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
    scratch: Any,
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
    n, size, most = ids.shape[0], find_piece(batch), find_largest_bag(starts, ids)
    places, factors = np.empty((most, 1), np.int64), np.empty((most, 1), source.dtype)
    bags = Composition(source, starts, middles, members, source_rates(rates), average, divide_rows, places, factors)
    block = open_block(bags, ids, scratch)
    piece = make_piece(block, min(size, n), scratch)
    loss, counted = 0.0, 0
    for begin in range(0, n, size):
        end = min(begin + size, n)
        count = open_piece(bags, block, piece, begin, end)
        some, targets = run_skipgram(
            piece.vectors, target, piece.token_rows, ids, left, right, begin, end, alias, piece.rates,
            target_rates(rates), negative, shared, batch, alpha, seed + GAMMA * np.uint64(begin // batch * shared),
        )  # fmt: skip
        close_piece(bags, block, piece, count)
        loss += some
        counted += targets
    close_block(bags, block)
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
