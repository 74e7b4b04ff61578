"""Splitting bytes into words and numbering them: an open-addressing hash table, four integers to a place.

A place holds a word's first 8 and next 8 bytes, its number (its type) and its count, which is 0 where the place is
free: half a cache line, which answers for every word of up to 16 bytes. Shorter words are padded with spaces, which no
word contains. A longer word has there a hash that begins like no word, with a space, and its length; its bytes are in
an arena.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.bytewise import (
    SPACES,
    ZERO,
    load_8,
    load_up_to_8,
    lowest_byte,
    prefetch_line,
    space_width,
    suspects,
    word_end,
)
from mumon.kernels.jit import inlined, kernel

NEWLINE, SPACE = 10, 32
BATCH = 128  # words looked up together: enough to hide the latency of memory, few enough for the first-level cache
FIRST, SECOND, TYPE, COUNT = 0, 1, 2, 3  # columns of the table
# The bits that a word of 0 … 16 bytes has in its first and in its second eight.
IN_FIRST = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(17)], np.uint64)
IN_SECOND = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(17)], np.uint64)
INLINE = 16
MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
ONE, S32 = np.uint64(1), np.uint64(32)
NOT_FIRST_BYTE, FIRST_IS_SPACE = np.uint64(0xFFFFFFFFFFFFFF00), np.uint64(SPACE)


@inlined
def hash_long(text: Any, begin: Any, end: Any) -> Any:
    """What stands for the bytes of a word of more than 16; the last eight may overlap those before."""
    code = load_8(text, begin)
    for j in range(begin + 8, end - 8, 8):
        code = (code ^ load_8(text, j)) * MIX_1
        code ^= code >> S32
    code = (code ^ load_8(text, end - 8)) * MIX_1
    return ((code ^ (code >> S32)) & NOT_FIRST_BYTE) | FIRST_IS_SPACE


@inlined
def same_bytes(a: Any, i: Any, b: Any, j: Any, length: Any) -> Any:
    """Whether `length` bytes (8 or more) of `a` from `i` and of `b` from `j` are equal."""
    for k in range(0, length - 8, 8):
        if load_8(a, i + k) != load_8(b, j + k):
            return False
    return load_8(a, i + length - 8) == load_8(b, j + length - 8)


@inlined
def home(first: Any, second: Any, shift: Any) -> Any:
    """Where in the table the search for a word begins: the uppermost bits of a product."""
    return ((first ^ (second * MIX_2)) * MIX_1) >> shift


@inlined
def home_shift(slots: Any) -> Any:
    """How far right a 64-bit hash goes to be a place in the table."""
    shift, places = 64, slots.shape[0]
    while places > 1:
        places >>= 1
        shift -= 1
    return np.uint64(shift)


@kernel
def encode_text(
    text: Any, begin: Any, slots: Any, starts: Any, arena: Any, types: Any, ids: Any, ends: Any, n: Any, lines: Any
) -> Any:
    """Number the whitespace-separated words of `text` from `begin` on; returns (where it stopped, types, n, lines).

    It stops before the end when new words might not fit: when half the table, `starts` or the arena might overflow.
    Type t has the bytes arena[starts[t] : starts[t+1]-1], and a space after them. ids[n:] receives each token's type
    and ends[lines:], for each newline, the number of tokens before it; `ends` has room for one more than there are.
    """
    i, size = begin, text.shape[0]
    mask, shift = np.uint64(slots.shape[0] - 1), home_shift(slots)
    room = min(slots.shape[0] // 2, starts.shape[0] - 1) - BATCH
    keys, places = np.empty((BATCH, 2), np.uint64), np.empty(BATCH, np.uint64)
    froms, tos = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    while i < size:
        batch_begin, lines_before, b = i, lines, 0
        # Find words and ask memory for their places in the table.
        while i < size and b < BATCH:
            easy, plain, length, last, first, second = False, False, 0, 0, ZERO, ZERO
            if i + 16 < size:  # nearly always: at most 16 bytes and a space or newline, found without a branch
                first, second = load_8(text, i), load_8(text, i + 8)
                in_first, in_second = suspects(first), suspects(second)
                flags = in_first if in_first != ZERO else in_second
                length = lowest_byte(flags) + (0 if in_first != ZERO else 8)
                last = text[i + length]
                plain = (last == SPACE) | (last == NEWLINE)
                easy = flags != ZERO and length > 0 and plain
            if not easy:
                width = space_width(text, i)
                if width > 0:
                    if text[i] == NEWLINE:
                        ends[lines] = n + b
                        lines += 1
                    i += width
                    continue
                length = word_end(text, i) - i
                last = text[i + length] if i + length < size else 0
                plain = (last == SPACE) | (last == NEWLINE)
                first, second = load_up_to_8(text, i), load_up_to_8(text, i + 8)
            end = i + length
            if length <= INLINE:
                first = SPACES ^ ((first ^ SPACES) & IN_FIRST[length])
                second = SPACES ^ ((second ^ SPACES) & IN_SECOND[length])
            else:
                first, second = hash_long(text, i, end), np.uint64(length)
            place = home(first, second, shift)
            prefetch_line(slots, place)
            keys[b, FIRST], keys[b, SECOND], places[b], froms[b], tos[b] = first, second, place, i, end
            b += 1
            ends[lines] = n + b
            lines += last == NEWLINE
            i = end + plain
        if types > room or starts[types] + (i - batch_begin) + b > arena.shape[0]:
            return batch_begin, types, n, lines_before
        # Look them up.
        for t in range(b):
            first, second, place = keys[t, FIRST], keys[t, SECOND], places[t]
            start, length = froms[t], tos[t] - froms[t]
            while True:
                if slots[place, COUNT] == ZERO:
                    slots[place, FIRST], slots[place, SECOND], slots[place, TYPE] = first, second, types
                    base = starts[types]
                    for j in range(length):
                        arena[base + j] = text[start + j]
                    arena[base + length] = SPACE
                    types += 1
                    starts[types] = base + length + 1
                    break
                alike = slots[place, FIRST] == first and slots[place, SECOND] == second
                if alike and (length <= INLINE or same_bytes(arena, starts[slots[place, TYPE]], text, start, length)):
                    break
                place = (place + ONE) & mask
            slots[place, COUNT] += ONE
            ids[n] = slots[place, TYPE]
            n += 1
    return i, types, n, lines


@kernel
def move_slots(old: Any, new: Any) -> None:
    """Enter every word of a table into another, larger and empty one."""
    mask, shift = np.uint64(new.shape[0] - 1), home_shift(new)
    for place in range(old.shape[0]):
        if old[place, COUNT] != ZERO:
            there = home(old[place, FIRST], old[place, SECOND], shift)
            while new[there, COUNT] != ZERO:
                there = (there + ONE) & mask
            for column in range(4):
                new[there, column] = old[place, column]


@kernel
def renumber(ids: Any, ranks: Any) -> None:
    """Replace every id by its rank, in place."""
    for i in range(ids.shape[0]):
        ids[i] = ranks[ids[i]]
