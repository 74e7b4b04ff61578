"""Entering, counting and finding strings in a hash table (hash_table.py) whose key is a hash.

Type t has the bytes arena[starts[t] : starts[t+1]] and counts[t]; pairs are counted in the slots first (pairs.py).
Other strings come as the same kind of bytes, between `bounds`. All such arrays are longer than their text by 8 bytes,
so that 8 can be loaded at once.

The hash of a string is a polynomial of its bytes, so the hash of joined strings follows from those of its parts. Equal
hashes are not trusted; the bytes are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.bytewise import ONE, ZERO
from mumon.kernels.hash_table import COUNT, KEY, MIX_1, SECOND, TYPE, find_home, home_shift, same_bytes
from mumon.kernels.jit import inlined, kernel

SLACK = 8  # bytes that follow the text of an array
BASE = MIX_1  # of the polynomial


@inlined
def hash_bytes(text: Any, begin: Any, end: Any) -> Any:
    """Return the polynomial of some bytes."""
    code = ZERO
    for i in range(begin, end):
        code = code * BASE + np.uint64(text[i]) + ONE
    return code


@kernel
def hash_strings(text: Any, bounds: Any, codes: Any, powers: Any) -> None:
    """Compute the polynomial of each string, and the power that the hash of what comes before it is multiplied by."""
    for i in range(bounds.shape[0] - 1):
        codes[i] = hash_bytes(text, bounds[i], bounds[i + 1])
        power = ONE
        for _ in range(bounds[i], bounds[i + 1]):
            power *= BASE
        powers[i] = power


@inlined
def find_place(code: Any, text: Any, begin: Any, end: Any, slots: Any, shift: Any, starts: Any, arena: Any) -> Any:
    """Find the place of a string, or the free place where it belongs."""
    mask = np.uint64(slots.shape[0] - 1)
    place = find_home(code, ZERO, shift)
    while slots[place, TYPE] != ZERO:
        if slots[place, KEY] == code:
            kind = np.int64(slots[place, TYPE]) - 1
            length = starts[kind + 1] - starts[kind]
            if length == end - begin and same_bytes(arena, starts[kind], text, begin, length):
                return place
        place = (place + ONE) & mask
    return place


@inlined
def find_type(text: Any, begin: Any, end: Any, slots: Any, shift: Any, starts: Any, arena: Any) -> Any:
    """Find the type of a string, -1 if it has none."""
    place = find_place(hash_bytes(text, begin, end), text, begin, end, slots, shift, starts, arena)
    return np.int64(slots[place, TYPE]) - 1


@kernel
def add_strings(
    text: Any, bounds: Any, amounts: Any, at: Any, slots: Any, starts: Any, arena: Any, counts: Any, types: Any
) -> Any:
    """Enter strings from number `at` on and add to their counts; return (where it stopped for want of room, types)."""
    shift = home_shift(slots)
    room, space = min(slots.shape[0] // 2, counts.shape[0]), arena.shape[0] - SLACK
    for i in range(at, bounds.shape[0] - 1):
        begin, end = bounds[i], bounds[i + 1]
        if types >= room or starts[types] + end - begin > space:
            return i, types
        code = hash_bytes(text, begin, end)
        place = find_place(code, text, begin, end, slots, shift, starts, arena)
        if slots[place, TYPE] == ZERO:
            base = starts[types]
            for j in range(end - begin):
                arena[base + j] = text[begin + j]
            types += 1
            starts[types] = base + end - begin
            slots[place, KEY], slots[place, TYPE] = code, types
            counts[types - 1] = 0
        counts[np.int64(slots[place, TYPE]) - 1] += amounts[i]
    return bounds.shape[0] - 1, types


@kernel
def collect_counts(slots: Any, counts: Any, forget: Any) -> None:
    """Move what was counted in the slots to `counts`; `forget` which pairs of words the places were found for."""
    for i in range(slots.shape[0]):
        if slots[i, COUNT] != ZERO:
            counts[np.int64(slots[i, TYPE]) - 1] += np.int64(slots[i, COUNT])
            slots[i, COUNT] = ZERO
        if forget:
            slots[i, SECOND] = ZERO


@kernel
def find_strings(text: Any, bounds: Any, slots: Any, starts: Any, arena: Any, found: Any) -> None:
    """Set found[i] to the type of string i, -1 if the table does not have it."""
    shift = home_shift(slots)
    for i in range(bounds.shape[0] - 1):
        found[i] = find_type(text, bounds[i], bounds[i + 1], slots, shift, starts, arena)


@kernel
def find_parts(chosen: Any, glue: Any, slots: Any, starts: Any, arena: Any, first: Any, last: Any) -> None:
    """Find the types of what is before the first delimiter of each chosen string and after its last, -1 for none.

    Delimiters are looked for from the left and do not overlap, as in str.split.
    """
    size, shift = glue.shape[0], home_shift(slots)
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
            first[number] = find_type(arena, begin, head, slots, shift, starts, arena)
            last[number] = find_type(arena, tail, end, slots, shift, starts, arena)
