"""What all hash tables of byte strings share: open addressing, four 64-bit integers to a place, half a cache line.

A place holds a key, a second number, a type + 1 (0 where the place is free) and a count. Types number the strings of a
table in the order of their arrival; the bytes of type t begin at arena[starts[t]]. The text of a corpus (tokens.py) has
16 bytes of a word as its two keys. Phrases (strings.py, pairs.py) have a hash as their key, and beside it the pair of
words that it was last found for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.bytewise import ONE, ZERO, load_8
from mumon.kernels.jit import inlined, kernel

KEY, SECOND, TYPE, COUNT = 0, 1, 2, 3  # columns of the slots
MIX_1, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
EIGHT = np.uint64(8)


@inlined
def find_home(key: Any, second: Any, shift: Any) -> Any:
    """Return the place where the search for a string begins: the uppermost bits of a product."""
    return ((key ^ (second * MIX_2)) * MIX_1) >> shift


@inlined
def home_shift(slots: Any) -> Any:
    """Return by how many bits a 64-bit product is shifted to the right to become a place of the table."""
    shift, places = 64, slots.shape[0]
    while places > 1:
        places >>= 1
        shift -= 1
    return np.uint64(shift)


@inlined
def same_bytes(a: Any, i: Any, b: Any, j: Any, length: Any) -> Any:
    """Check whether `length` bytes of `a` from `i` and of `b` from `j` are equal; below 8, it reads 8 all the same."""
    if length < 8:
        mask = (ONE << (EIGHT * np.uint64(length))) - ONE
        return (load_8(a, i) ^ load_8(b, j)) & mask == ZERO
    for k in range(0, length - 8, 8):
        if load_8(a, i + k) != load_8(b, j + k):
            return False
    return load_8(a, i + length - 8) == load_8(b, j + length - 8)


@kernel
def move_slots(old: Any, new: Any, two_keys: Any) -> None:
    """Enter every string of a table into larger, empty slots; `two_keys`: its place depends on the second one, too."""
    mask, shift = np.uint64(new.shape[0] - 1), home_shift(new)
    for place in range(old.shape[0]):
        if old[place, TYPE] != ZERO:
            there = find_home(old[place, KEY], old[place, SECOND] if two_keys else ZERO, shift)
            while new[there, TYPE] != ZERO:
                there = (there + ONE) & mask
            for column in range(4):
                new[there, column] = old[place, column]
