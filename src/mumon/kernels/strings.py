"""A table of strings: entering, counting and finding them.

A table has `slots`, places of a hash, a type + 1 (0 where it is free) and two numbers that pairs.py uses, and for type
t the bytes arena[starts[t] : starts[t+1]] and counts[t]. Other strings come as the same kind of bytes, between
`bounds`. All are longer than their text by 8 bytes, so that those can be loaded at once.

The hash of a string is a polynomial of its bytes, so that of joined strings follows from theirs. Equal hashes are not
trusted; the bytes are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.bytewise import ONE, ZERO, load_8
from mumon.kernels.jit import inlined, kernel

SLACK = 8
HASH, TYPE, PAIR, COUNT = 0, 1, 2, 3  # columns of the slots
BASE, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
EIGHT, S29, S32 = np.uint64(8), np.uint64(29), np.uint64(32)


@inlined
def hash_bytes(text: Any, begin: Any, end: Any) -> Any:
    """The polynomial of some bytes."""
    code = ZERO
    for i in range(begin, end):
        code = code * BASE + np.uint64(text[i]) + ONE
    return code


@kernel
def hash_strings(text: Any, bounds: Any, codes: Any, powers: Any) -> None:
    """The polynomial of each string, and the power that what stands before it is multiplied by."""
    for i in range(bounds.shape[0] - 1):
        codes[i] = hash_bytes(text, bounds[i], bounds[i + 1])
        power = ONE
        for _ in range(bounds[i], bounds[i + 1]):
            power *= BASE
        powers[i] = power


@inlined
def home(code: Any, mask: Any) -> Any:
    """Where the search for a string begins: the bits of a polynomial are not alike."""
    code = (code ^ (code >> S32)) * MIX
    return (code ^ (code >> S29)) & mask


@inlined
def same_bytes(a: Any, i: Any, b: Any, j: Any, length: Any) -> Any:
    """Whether `length` bytes of `a` from `i` and of `b` from `j` are equal."""
    k = 0
    while k + 8 <= length:
        if load_8(a, i + k) != load_8(b, j + k):
            return False
        k += 8
    if k == length:
        return True
    mask = (ONE << (EIGHT * np.uint64(length - k))) - ONE
    return (load_8(a, i + k) ^ load_8(b, j + k)) & mask == ZERO


@inlined
def place_of(code: Any, text: Any, begin: Any, end: Any, slots: Any, starts: Any, arena: Any) -> Any:
    """Where in `slots` a string is, or the free place where it belongs."""
    mask = np.uint64(slots.shape[0] - 1)
    place = home(code, mask)
    while slots[place, TYPE] != ZERO:
        if slots[place, HASH] == code:
            kind = np.int64(slots[place, TYPE]) - 1
            length = starts[kind + 1] - starts[kind]
            if length == end - begin and same_bytes(arena, starts[kind], text, begin, length):
                return place
        place = (place + ONE) & mask
    return place


@inlined
def type_of(text: Any, begin: Any, end: Any, slots: Any, starts: Any, arena: Any) -> Any:
    """The type of a string, -1 if it has none."""
    place = place_of(hash_bytes(text, begin, end), text, begin, end, slots, starts, arena)
    return np.int64(slots[place, TYPE]) - 1


@kernel
def add_strings(
    text: Any, bounds: Any, amounts: Any, at: Any, slots: Any, starts: Any, arena: Any, counts: Any, types: Any
) -> Any:
    """Enter strings from number `at` on and add to their counts; returns (where it stopped for want of room, types)."""
    room, space = min(slots.shape[0] // 2, counts.shape[0]), arena.shape[0] - SLACK
    for i in range(at, bounds.shape[0] - 1):
        begin, end = bounds[i], bounds[i + 1]
        if types >= room or starts[types] + end - begin > space:
            return i, types
        code = hash_bytes(text, begin, end)
        place = place_of(code, text, begin, end, slots, starts, arena)
        if slots[place, TYPE] == ZERO:
            base = starts[types]
            for j in range(end - begin):
                arena[base + j] = text[begin + j]
            types += 1
            starts[types] = base + end - begin
            slots[place, HASH], slots[place, TYPE] = code, types
            counts[types - 1] = 0
        counts[np.int64(slots[place, TYPE]) - 1] += amounts[i]
    return bounds.shape[0] - 1, types


@kernel
def move_slots(old: Any, new: Any) -> None:
    """Enter every string of a table's slots into other, larger and empty ones."""
    mask = np.uint64(new.shape[0] - 1)
    for i in range(old.shape[0]):
        if old[i, TYPE] != ZERO:
            place = home(old[i, HASH], mask)
            while new[place, TYPE] != ZERO:
                place = (place + ONE) & mask
            for column in range(4):
                new[place, column] = old[i, column]


@kernel
def settle(slots: Any, counts: Any, forget: Any) -> None:
    """Add what pairs were counted in their places to the counts, and `forget` which words they were."""
    for i in range(slots.shape[0]):
        if slots[i, COUNT] != ZERO:
            counts[np.int64(slots[i, TYPE]) - 1] += np.int64(slots[i, COUNT])
            slots[i, COUNT] = ZERO
        if forget:
            slots[i, PAIR] = ZERO


@kernel
def find_strings(text: Any, bounds: Any, slots: Any, starts: Any, arena: Any, found: Any) -> None:
    """found[i] becomes the type of string i, -1 if the table does not have it."""
    for i in range(bounds.shape[0] - 1):
        found[i] = type_of(text, bounds[i], bounds[i + 1], slots, starts, arena)


@kernel
def find_parts(chosen: Any, glue: Any, slots: Any, starts: Any, arena: Any, first: Any, last: Any) -> None:
    """The types of what stands before the first delimiter of each chosen string and after its last; else -1.

    Delimiters are looked for from the left and do not overlap, as in str.split.
    """
    size = glue.shape[0]
    for number in range(chosen.shape[0]):
        begin, end = starts[chosen[number]], starts[chosen[number] + 1]
        first[number] = last[number] = -1
        head, tail, i = -1, -1, begin
        while i + size <= end:
            j = 0
            while j < size and arena[i + j] == glue[j]:
                j += 1
            if j == size:
                head = i if head < 0 else head
                i += size
                tail = i
            else:
                i += 1
        if head >= 0:
            first[number] = type_of(arena, begin, head, slots, starts, arena)
            last[number] = type_of(arena, tail, end, slots, starts, arena)
