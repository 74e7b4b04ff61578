"""Splitting bytes into words and numbering them: an open-addressing hash table over an arena of word bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel

FNV_OFFSET, FNV_PRIME, S32 = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3), np.uint64(32)
NEWLINE = 10


@inlined
def space_width(text: Any, i: Any) -> Any:
    """How many bytes of `text` at `i` form a whitespace character (as in str.split); 0 if it is none."""
    a = text[i]
    if a <= 32:
        return 1 if a == 32 or 9 <= a <= 13 or a >= 28 else 0
    if a < 0xC2 or a > 0xE3 or i + 1 >= text.shape[0]:
        return 0
    b = text[i + 1]
    if a == 0xC2:
        return 2 if b == 0x85 or b == 0xA0 else 0
    if a < 0xE1 or i + 2 >= text.shape[0]:
        return 0
    c = text[i + 2]
    if a == 0xE1:
        return 3 if b == 0x9A and c == 0x80 else 0
    if a == 0xE2:
        if b == 0x80:
            return 3 if 0x80 <= c <= 0x8A or c == 0xA8 or c == 0xA9 or c == 0xAF else 0
        return 3 if b == 0x81 and c == 0x9F else 0
    return 3 if b == 0x80 and c == 0x80 else 0


@kernel
def encode_text(
    text: Any, slots: Any, hashes: Any, starts: Any, arena: Any, counts: Any, types: Any, ids: Any, ends: Any
) -> Any:
    """Number the whitespace-separated words of `text`; returns (tokens, newlines, word types known now).

    slots (a power of two long) holds the type in each place of the table, -1 for none; type t has hash hashes[t] and
    the bytes arena[starts[t]:starts[t+1]], and was met counts[t] times. ids receives each token's type and ends, for
    each newline, the number of tokens before it. The caller makes every array long enough for the whole text.
    """
    mask = np.uint64(slots.shape[0] - 1)
    n, lines, i, size = 0, 0, 0, text.shape[0]
    while i < size:
        width = space_width(text, i)
        if width > 0:
            if text[i] == NEWLINE:
                ends[lines] = n
                lines += 1
            i += width
            continue
        begin, code = i, FNV_OFFSET
        while i < size and space_width(text, i) == 0:
            code = (code ^ np.uint64(text[i])) * FNV_PRIME
            i += 1
        place = (code ^ (code >> S32)) & mask
        while True:
            word = slots[place]
            if word < 0:
                word = types
                slots[place] = word
                hashes[word] = code
                base = starts[word]
                for j in range(begin, i):
                    arena[base + j - begin] = text[j]
                starts[word + 1] = base + i - begin
                counts[word] = 0
                types += 1
                break
            if hashes[word] == code and starts[word + 1] - starts[word] == i - begin:
                base, same = starts[word], True
                for j in range(begin, i):
                    if arena[base + j - begin] != text[j]:
                        same = False
                        break
                if same:
                    break
            place = (place + np.uint64(1)) & mask
        counts[word] += 1
        ids[n] = word
        n += 1
    return n, lines, types


@kernel
def fill_slots(slots: Any, hashes: Any, types: Any) -> None:
    """Enter `types` known words into a new, empty (-1) table."""
    mask = np.uint64(slots.shape[0] - 1)
    for word in range(types):
        place = (hashes[word] ^ (hashes[word] >> S32)) & mask
        while slots[place] >= 0:
            place = (place + np.uint64(1)) & mask
        slots[place] = word
