"""Splitting text into words and numbering them.

A place of the hash table (hash_table.py) answers for every word of up to 16 bytes without a look at the arena: its keys
are the first 8 and the next 8 bytes, padded with spaces, which no word contains. A longer word has as its keys a hash
that begins like no word, with a space, and its length; its bytes are compared with those in the arena.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.bytewise import (
    ONE,
    SPACES,
    ZERO,
    count_blank_bytes,
    find_lowest_byte,
    find_word_end,
    flag_possible_blanks,
    load_8,
    load_up_to_8,
    prefetch_line,
)
from mumon.kernels.hash_table import COUNT, KEY, MIX_1, SECOND, TYPE, find_home, home_shift, same_bytes
from mumon.kernels.jit import inlined, kernel

NEWLINE, SPACE = 10, 32
BATCH = 128  # words looked up together: enough to hide the latency of memory, few enough for the first-level cache
MOST_INLINE = 16  # bytes of a word that fit into the keys of a place
# The bits that a word of 0 … 16 bytes has in its first and in its second eight.
IN_FIRST = np.array([(1 << 8 * min(n, 8)) - 1 for n in range(17)], np.uint64)
IN_SECOND = np.array([(1 << 8 * max(n - 8, 0)) - 1 for n in range(17)], np.uint64)
S32 = np.uint64(32)
NOT_FIRST_BYTE, FIRST_IS_SPACE = np.uint64(0xFFFFFFFFFFFFFF00), np.uint64(SPACE)


@inlined
def hash_long(text: Any, begin: Any, end: Any) -> Any:
    """Hash a word of more than 16 bytes; the last eight may overlap those before."""
    code = load_8(text, begin)
    for j in range(begin + 8, end - 8, 8):
        code = (code ^ load_8(text, j)) * MIX_1
        code ^= code >> S32
    code = (code ^ load_8(text, end - 8)) * MIX_1
    return ((code ^ (code >> S32)) & NOT_FIRST_BYTE) | FIRST_IS_SPACE


@kernel
def encode_text(
    text: Any, begin: Any, slots: Any, starts: Any, arena: Any, types: Any, ids: Any, ends: Any, n: Any, lines: Any
) -> Any:
    """Number the whitespace-separated words of `text` from `begin` on; return (where it stopped, types, n, lines).

    It stops before the end when new words might not fit: when half the table, `starts` or the arena might overflow.
    Type t has the bytes arena[starts[t] : starts[t+1]-1], and a space after them. ids[n:] receives each token's type
    and ends[lines:], for each newline, the number of tokens before it; `ends` has room for one more than that.
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
            if i + 16 < size:  # the usual case: at most 16 bytes and a space or newline, found without a branch
                first, second = load_8(text, i), load_8(text, i + 8)
                in_first, in_second = flag_possible_blanks(first), flag_possible_blanks(second)
                flags = in_first if in_first != ZERO else in_second
                length = find_lowest_byte(flags) + (0 if in_first != ZERO else 8)
                last = text[i + length]
                plain = (last == SPACE) | (last == NEWLINE)
                easy = flags != ZERO and length > 0 and plain
            if not easy:
                width = count_blank_bytes(text, i)
                if width > 0:
                    if text[i] == NEWLINE:
                        ends[lines] = n + b
                        lines += 1
                    i += width
                    continue
                length = find_word_end(text, i) - i
                last = text[i + length] if i + length < size else 0
                plain = (last == SPACE) | (last == NEWLINE)
                first, second = load_up_to_8(text, i), load_up_to_8(text, i + 8)
            end = i + length
            if length <= MOST_INLINE:
                first = SPACES ^ ((first ^ SPACES) & IN_FIRST[length])
                second = SPACES ^ ((second ^ SPACES) & IN_SECOND[length])
            else:
                first, second = hash_long(text, i, end), np.uint64(length)
            place = find_home(first, second, shift)
            prefetch_line(slots, place)
            keys[b, KEY], keys[b, SECOND], places[b], froms[b], tos[b] = first, second, place, i, end
            b += 1
            ends[lines] = n + b
            lines += last == NEWLINE
            i = end + plain
        if types > room or starts[types] + (i - batch_begin) + b > arena.shape[0]:
            return batch_begin, types, n, lines_before
        # Look them up.
        for t in range(b):
            first, second, place = keys[t, KEY], keys[t, SECOND], places[t]
            start, length = froms[t], tos[t] - froms[t]
            while True:
                if slots[place, TYPE] == ZERO:
                    base = starts[types]
                    for j in range(length):
                        arena[base + j] = text[start + j]
                    arena[base + length] = SPACE
                    types += 1
                    starts[types] = base + length + 1
                    slots[place, KEY], slots[place, SECOND], slots[place, TYPE] = first, second, types
                    break
                if slots[place, KEY] == first and slots[place, SECOND] == second:
                    kind = slots[place, TYPE] - ONE
                    if length <= MOST_INLINE or same_bytes(arena, starts[kind], text, start, length):
                        break
                place = (place + ONE) & mask
            slots[place, COUNT] += ONE
            ids[n] = slots[place, TYPE] - ONE
            n += 1
    return i, types, n, lines


@kernel
def renumber(ids: Any, ranks: Any) -> None:
    """Replace every id by its rank, in place."""
    for i in range(ids.shape[0]):
        ids[i] = ranks[ids[i]]
