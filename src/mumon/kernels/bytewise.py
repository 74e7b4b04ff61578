"""Reading text eight bytes at a time: where words end, which bytes form a blank, whether it is UTF-8.

Eight bytes are one little-endian integer, the first byte lowest. Nothing here reads beyond the end of the text.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from mumon.kernels import simd
from mumon.kernels.jit import inlined, kernel

ZERO, ONE, S8 = np.uint64(0), np.uint64(1), np.uint64(8)
SPACES = np.uint64(0x2020202020202020)
ABOVE_SPACE = np.uint64(0x2121212121212121)
HIGH_BITS = np.uint64(0x8080808080808080)
EACH_01, EACH_C2 = np.uint64(0x0101010101010101), np.uint64(0xC2C2C2C2C2C2C2C2)
EACH_E0, EACH_FC = np.uint64(0xE0E0E0E0E0E0E0E0), np.uint64(0xFCFCFCFCFCFCFCFC)

if numba.config.DISABLE_JIT:

    def load_8(text: Any, i: int) -> Any:
        """Load the eight bytes of `text` from `i` on."""
        return np.uint64(int.from_bytes(text[i : i + 8].tobytes(), "little"))

    def store_8(text: Any, i: int, word: Any) -> None:
        """Store eight bytes in `text` from `i` on."""
        text[i : i + 8] = np.frombuffer(int(word).to_bytes(8, "little"), np.uint8)

    def find_lowest_byte(flags: Any) -> int:
        """Return which byte holds the lowest bit that is set, 8 if none is."""
        return ((int(flags) & -int(flags)).bit_length() - 1) >> 3 if flags else 8

    def prefetch_line(table: Any, i: Any) -> None:
        """Do nothing: plain Python has no cache to warm."""

else:

    @intrinsic  # type: ignore[misc]
    def load_8(typingctx: Any, text: Any, i: Any) -> Any:
        """Load the eight bytes of `text` from `i` on at once, unaligned, which Numba itself cannot express."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
            return builder.load(place, align=1)

        return types.uint64(text, types.intp), codegen

    @intrinsic  # type: ignore[misc]
    def store_8(typingctx: Any, text: Any, i: Any, word: Any) -> Any:
        """Store eight bytes in `text` from `i` on at once, unaligned."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
            builder.store(arguments[2], place, align=1)
            return context.get_dummy_value()

        return types.void(text, types.intp, types.uint64), codegen

    @intrinsic  # type: ignore[misc]
    def find_lowest_byte(typingctx: Any, flags: Any) -> Any:
        """Return which byte holds the lowest bit that is set, 8 if none is."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            zeros = builder.cttz(arguments[0], ir.IntType(1)(0))
            return builder.lshr(zeros, ir.IntType(64)(3))

        return types.int64(types.uint64), codegen

    @intrinsic  # type: ignore[misc]
    def prefetch_line(typingctx: Any, table: Any, i: Any) -> Any:
        """Ask the memory system for the cache line in which row `i` of a contiguous `table` begins."""

        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row = simd.Matrix(context, builder, signature.args[0], arguments[0]).row(arguments[1])
            row.prefetch(arguments[1].type(0))
            return context.get_dummy_value()

        return types.void(table, types.intp), codegen


@inlined
def load_up_to_8(text: Any, i: Any) -> Any:
    """Load the bytes of `text` from `i` on, with spaces where the text has ended."""
    size = text.shape[0]
    if i + 8 <= size:
        return load_8(text, i)
    word = SPACES
    for j in range(size - 1, i - 1, -1):
        word = (word << S8) | np.uint64(text[j])
    return word


@inlined
def flag_possible_blanks(word: Any) -> Any:
    """Set the high bit of every byte that may begin a blank: those up to 32, C2, and E0 to E3.

    Subtractions borrow from the next byte, so a byte above a flagged one may be flagged wrongly, but never the first.
    """
    flags = (word - ABOVE_SPACE) & ~word
    if word & HIGH_BITS != ZERO:  # for most texts always or never true, so the branch is well predicted
        c2, e0 = word ^ EACH_C2, (word ^ EACH_E0) & EACH_FC
        flags |= ((c2 - EACH_01) & ~c2) | ((e0 - EACH_01) & ~e0)
    return flags & HIGH_BITS


@inlined
def count_blank_bytes(text: Any, i: Any) -> Any:
    """Count the bytes of the whitespace character (as in str.split) of `text` at `i`; 0 if there is none."""
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


@inlined
def find_word_end(text: Any, i: Any) -> Any:
    """Find the first blank at or after `i`, or the end of the text."""
    size = text.shape[0]
    while i < size:
        flags = flag_possible_blanks(load_up_to_8(text, i))
        while flags != ZERO:
            k = i + find_lowest_byte(flags)
            if k >= size or count_blank_bytes(text, k) > 0:
                return k
            flags &= flags - ONE
        i += 8
    return size


@kernel
def is_utf8(text: Any) -> Any:
    """Check whether `text` is well-formed UTF-8 (Unicode's table 3-7), as Python's decoder does but without the GIL."""
    i, size = 0, text.shape[0]
    while i < size:
        if i + 8 <= size and load_8(text, i) & HIGH_BITS == ZERO:
            i += 8
            continue
        a = text[i]
        i += 1
        if a < 0x80:
            continue
        if a < 0xC2 or a > 0xF4:
            return False
        more = 1 if a < 0xE0 else (2 if a < 0xF0 else 3)
        low = 0xA0 if a == 0xE0 else (0x90 if a == 0xF0 else 0x80)  # else a shorter form exists
        high = 0x9F if a == 0xED else (0x8F if a == 0xF4 else 0xBF)  # else a surrogate, or beyond U+10FFFF
        if i + more > size or text[i] < low or text[i] > high:
            return False
        for j in range(i + 1, i + more):
            if text[j] & 0xC0 != 0x80:
                return False
        i += more
    return True
