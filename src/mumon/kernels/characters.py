"""Splitting running text into sentences of words, and writing it in lower case, character by character over UTF-8.

Both kernels give what Python gives (the regular expression of corpus/running_text.py, and str.lower), without the GIL.
What they know about Unicode is in the tables that corpus/characters.py builds: `blocks` says for each 64 code points,
which share all bytes of their UTF-8 but the last, where their entries begin. `classes` has the flags below, `lowers`
the lower case of each character: the bytes of its UTF-8 as one little-endian integer, and 0 if that is the character
itself. The text must be well-formed UTF-8.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.bytewise import HIGH_BITS, S8, SPACES, ZERO, find_lowest_byte, load_8, store_8
from mumon.kernels.jit import inlined, kernel

WORD, SPACE, STOP, CLOSER, INNER, WIDE_STOP = 1, 2, 4, 8, 16, 32
ENDS = STOP | WIDE_STOP
SMALL = 64  # the letters before which a sentence does not end
CASED, IGNORABLE = 128, 256  # what decides which of its two lower cases a capital sigma has; IGNORABLE excludes CASED
BLOCK = 64  # code points
SPARE = 16  # bytes of an output beyond what the text can need: eight are written at once
NEWLINE, BLANK = 10, 32
# A capital sigma is CE A3; its lower case is CF 83, or CF 82 at the end of a word.
CAPITAL_SIGMA, SMALL_SIGMA, FINAL_SIGMA = (0xCE, 0xA3), (0xCF, 0x83), (0xCF, 0x82)
# What to add to a byte of ASCII for its high bit to say that it is not below A (a, 0), or beyond Z (z, 9).
FROM_A, BEYOND_Z = np.uint64(0x3F3F3F3F3F3F3F3F), np.uint64(0x2525252525252525)
FROM_SMALL_A, BEYOND_SMALL_Z = np.uint64(0x1F1F1F1F1F1F1F1F), np.uint64(0x0505050505050505)
FROM_0, BEYOND_9 = np.uint64(0x5050505050505050), np.uint64(0x4646464646464646)
EACH_20, EACH_7F = np.uint64(0x2020202020202020), np.uint64(0x7F7F7F7F7F7F7F7F)
UNDERSCORES = np.uint64(0x5F5F5F5F5F5F5F5F)
HIGH_BIT = np.uint64(0x80)
TWO, S56 = np.uint64(2), np.uint64(56)


@inlined
def locate(text: Any, i: Any, blocks: Any) -> Any:
    """Return where the tables have the character of `text` at `i`, and how many bytes it has."""
    a = np.int64(text[i])
    if a < 0x80:
        return a, 1  # the first two blocks come first in the tables
    b = np.int64(text[i + 1]) & 63
    if a < 0xE0:
        return np.int64(blocks[a & 31]) + b, 2
    c = np.int64(text[i + 2]) & 63
    if a < 0xF0:
        return np.int64(blocks[((a & 15) << 6) | b]) + c, 3
    return np.int64(blocks[((a & 7) << 12) | (b << 6) | c]) + (np.int64(text[i + 3]) & 63), 4


@inlined
def skip(text: Any, i: Any, flags: Any, blocks: Any, classes: Any) -> Any:
    """Return where the run of characters with one of `flags` ends that begins at `i`, perhaps `i` itself."""
    while i < text.shape[0]:
        entry, width = locate(text, i, blocks)
        if classes[entry] & flags == 0:
            break
        i += width
    return i


@inlined
def flag_word_bytes(word: Any) -> Any:
    """Set the high bit of every byte that is a letter of ASCII, digit or underscore; right up to the first beyond."""
    small, line = word | EACH_20, word ^ UNDERSCORES
    letters = (small + FROM_SMALL_A) & ~(small + BEYOND_SMALL_Z)
    digits = (word + FROM_0) & ~(word + BEYOND_9)
    return (letters | digits | ~(line + EACH_7F)) & ~word & HIGH_BITS


@inlined
def find_sentence_end(text: Any, i: Any, stops: Any, blocks: Any, classes: Any) -> Any:
    """Return where the full stops and closing quotes before `i` and after end, and whether a sentence ends there.

    `stops` says of which kind the stop before `i` is. After STOP, closing quotes may follow, and a sentence ends if
    then blanks follow, and then no small letter ("e.g. this" goes on), or if nothing follows.
    """
    end, stage = i, stops
    while i < text.shape[0]:
        entry, width = locate(text, i, blocks)
        kind = classes[entry]
        if kind & stage == 0:
            if stage == WIDE_STOP:
                return end, True
            if stage == STOP and kind & CLOSER != 0:
                stage = CLOSER
            elif kind & SPACE != 0:
                stage = SPACE
            else:
                return end, stage == SPACE and kind & SMALL == 0
        i += width
        end = end if stage == SPACE else i
    return end, True


@inlined
def find_empty_line(text: Any, i: Any, blocks: Any, classes: Any) -> Any:
    """Return where the rest of a line ends that begins at `i` and has only blanks; `i` if it has more."""
    end = i
    while end < text.shape[0] and text[end] != NEWLINE:
        entry, width = locate(text, end, blocks)
        if classes[entry] & SPACE == 0:
            return i
        end += width
    return end + 1 if end < text.shape[0] else i


@kernel
def split_running_text(text: Any, blocks: Any, classes: Any, out: Any) -> Any:
    """Write the sentences of `text`, one per line, of words between spaces; return the bytes that were written.

    The output needs as many bytes as the text, and SPARE more. A blank follows every word, and the end of a sentence
    replaces it by a newline. Where there is no blank to replace (at the beginning, and after a newline), a newline and
    a blank are written. The twin does the same, by str.replace; who reads the lines does not care.
    """
    i, o, size, inside = 0, 0, text.shape[0], ZERO  # inside: HIGH_BIT while the output ends with a word
    while i < size:
        a = text[i]
        if a < 0x80 and i + 8 <= size:  # copy letters, and single blanks after letters, as they are
            word = load_8(text, i)
            letters = flag_word_bytes(word)
            after_letters = (letters << S8) | inside
            blanks = ~(((word ^ SPACES) + EACH_7F) | word) & after_letters
            copied = find_lowest_byte(~(letters | blanks) & HIGH_BITS)
            store_8(out, o, word)
            i += copied
            o += copied
            if copied == 8:
                inside = (letters >> S56) & HIGH_BIT
                continue
            inside = (after_letters >> np.uint64(8 * copied)) & HIGH_BIT
            a = text[i]
        entry, width = locate(text, i, blocks)
        kind = classes[entry]
        if kind & INNER != 0 and inside != ZERO and i + width < size:  # part of the word if a letter follows
            entry, _ = locate(text, i + width, blocks)
            kind |= classes[entry] & WORD
        if kind & WORD != 0:
            for j in range(width):
                out[o + j] = text[i + j]
            i += width
            o += width
            inside = HIGH_BIT
            continue
        if inside != ZERO:
            out[o] = BLANK
            o += 1
            inside = ZERO
        i += width
        ends = False
        if kind & ENDS != 0:
            i, ends = find_sentence_end(text, i, kind & ENDS, blocks, classes)
        elif a == NEWLINE:
            line = i
            i = find_empty_line(text, i, blocks, classes)
            ends = i > line
        if ends and o > 0 and out[o - 1] == BLANK:
            out[o - 1] = NEWLINE
        elif ends:
            out[o], out[o + 1] = NEWLINE, BLANK
            o += 2
        while i < size and text[i] == BLANK:
            i += 1
    if inside == ZERO and o > 0 and out[o - 1] == NEWLINE:  # it keeps its blank, as nothing follows
        out[o - 1], out[o] = BLANK, NEWLINE
        o += 1
    if o == 0 or out[o - 1] != BLANK:
        out[o] = BLANK
        o += 1
    return o


@inlined
def is_final_sigma(text: Any, i: Any, blocks: Any, classes: Any) -> Any:
    """Decide whether the capital sigma at `i` ends a word: a cased letter before it, none after, ignoring marks."""
    cased = False
    j = i
    while j > 0:
        j -= 1
        while text[j] & 0xC0 == 0x80:
            j -= 1
        entry, _ = locate(text, j, blocks)
        if classes[entry] & IGNORABLE == 0:
            cased = classes[entry] & CASED != 0
            break
    if not cased:
        return False
    j = skip(text, i + 2, IGNORABLE, blocks, classes)
    if j == text.shape[0]:
        return True
    entry, _ = locate(text, j, blocks)
    return classes[entry] & CASED == 0


@kernel
def lower_text(text: Any, blocks: Any, classes: Any, lowers: Any, out: Any) -> Any:
    """Write `text` in lower case; return the bytes that were written.

    The output needs half as many bytes again as the text, and SPARE more: no character becomes longer than that.
    """
    i, o, size = 0, 0, text.shape[0]
    while i < size:
        if i + 8 <= size:
            word = load_8(text, i)
            capitals = (word + FROM_A) & ~(word + BEYOND_Z) & HIGH_BITS  # right up to the first byte beyond ASCII
            store_8(out, o, word | (capitals >> TWO))
            plain = find_lowest_byte(word & HIGH_BITS)
            i += plain
            o += plain
            if plain == 8:
                continue
        entry, width = locate(text, i, blocks)
        lower = lowers[entry]
        if lower == 0:
            for j in range(width):
                out[o + j] = text[i + j]
            o += width
        elif text[i] == CAPITAL_SIGMA[0] and text[i + 1] == CAPITAL_SIGMA[1]:
            out[o], out[o + 1] = FINAL_SIGMA if is_final_sigma(text, i, blocks, classes) else SMALL_SIGMA
            o += 2
        else:
            while lower != 0:
                out[o] = lower & 255
                lower >>= 8
                o += 1
        i += width
    return o
