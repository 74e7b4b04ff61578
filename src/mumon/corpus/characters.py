"""Running text and lower case at the speed of kernels: what these know about Unicode, built from what Python knows.

The kernels read hundreds of MB/s per thread, without the GIL; the regular expression of running_text.py, which gives
the same, a few.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mumon.corpus.running_text import JOINERS
from mumon.kernels.characters import (
    BLOCK,
    CASED,
    CLOSER,
    IGNORABLE,
    INNER,
    SMALL,
    SPACE,
    SPARE,
    STOP,
    WIDE_STOP,
    WORD,
    lower_text,
    split_running_text,
)

MARKED = {
    STOP: ".!?…",
    WIDE_STOP: "。！？।॥",
    CLOSER: "\"'”’)]",
    INNER: "'’‑-",
    SMALL: [chr(code) for first, last in ("az", "ßö", "øÿ") for code in range(ord(first), ord(last) + 1)],
}
UNICODE = 0x110000
# The code points that are assigned or may be soon: first those that may be marks or have case, then the ideographs. The
# others are private or free: neither letters nor blanks.
CASED_PLANES = 0x21000
ASSIGNED = np.r_[0:0x20000, 0xE0000:0xE1000, 0x20000:0x40000].astype("<u4")
DOTTED_I, CAPITAL_SIGMA, SIGMA = "İ", "Σ", "σ"


def split_utf8(data: bytes) -> bytes:
    """Split running text into sentences, one per line, of words between spaces, as `split_sentences` does.

    Parameters
    ----------
    data
        Well-formed UTF-8.

    Returns
    -------
    bytes
        UTF-8.
    """
    tables = build_tables()
    out = np.empty(len(data) + SPARE, np.uint8)
    return out[: split_running_text(np.frombuffer(data, np.uint8), tables.blocks, tables.classes, out)].tobytes()


def lower_utf8(data: bytes) -> bytes:
    """Write text in lower case, as `str.lower` does.

    Parameters
    ----------
    data
        Well-formed UTF-8.

    Returns
    -------
    bytes
        UTF-8.
    """
    out = np.empty(len(data) + len(data) // 2 + SPARE, np.uint8)
    return out[: lower_text(np.frombuffer(data, np.uint8), *build_tables(), out)].tobytes()


class CharacterTables(NamedTuple):
    """What kernels take, see kernels/characters.py."""

    blocks: npt.NDArray[np.int32]
    classes: npt.NDArray[np.uint16]
    lowers: npt.NDArray[np.uint32]


@functools.cache
def build_tables() -> CharacterTables:
    """Build the tables on first use, in less time than it takes to read a few megabytes.

    Returns
    -------
    CharacterTables
        The classes and lower cases of all characters; equal blocks of characters share their entries.
    """
    classes = np.zeros(len(ASSIGNED), np.uint16)
    lowers = np.zeros(len(ASSIGNED), np.uint32)
    _mark_words_and_blanks(classes)
    _mark_case(classes[:CASED_PLANES])
    for flag, characters in MARKED.items():
        classes[[ord(character) for character in characters]] |= flag
    _find_lower_cases(lowers[:CASED_PLANES])
    rows = np.concatenate([classes.reshape(-1, BLOCK), lowers.reshape(-1, BLOCK).view(np.uint16)], 1)
    free = bytes(2 * rows.shape[1])
    seen: dict[bytes, int] = {}
    numbers = [seen.setdefault(row.tobytes(), len(seen)) for row in rows]  # those of ASCII are the first
    blocks = np.full(UNICODE // BLOCK, seen.setdefault(free, len(seen)) * BLOCK, np.int32)
    blocks[ASSIGNED[::BLOCK] // BLOCK] = np.multiply(numbers, BLOCK)
    entries = np.frombuffer(b"".join(seen), np.uint16).reshape(len(seen), -1)
    tables = blocks, entries[:, :BLOCK].ravel(), entries[:, BLOCK:].copy().view(np.uint32).ravel()
    for table in tables:
        table.setflags(write=False)
    return CharacterTables(*tables)


def _mark_words_and_blanks(classes: npt.NDArray[np.uint16]) -> None:
    """Set WORD for what \\w matches, marks and joiners, and SPACE for what \\s matches."""
    for match in re.finditer(r"(\w+)|\s+", _to_text(ASSIGNED)):
        classes[match.start() : match.end()] = WORD if match.lastindex else SPACE
    places = np.flatnonzero(classes[:CASED_PLANES] == 0)
    rest = _to_text(ASSIGNED[places])
    printable = np.fromiter(map(str.isprintable, rest), bool, len(rest))  # marks are; most of the rest is free
    is_mark = [unicodedata.category(character)[0] == "M" for character in compress(rest, printable)]
    classes[places[printable][is_mark]] = WORD
    classes[[ord(character) for character in JOINERS]] = WORD


def _mark_case(classes: npt.NDArray[np.uint16]) -> None:
    """Set CASED and IGNORABLE, as far as lower case depends on them: by what a sigma becomes before each character."""
    places = np.delete(np.arange(len(classes)), ord(DOTTED_I))
    either = places[_lower_sigmas(places, "")]
    cased = _lower_sigmas(either, " ")
    classes[either[cased]] |= CASED
    classes[either[~cased]] |= IGNORABLE
    classes[ord(DOTTED_I)] |= CASED


def _lower_sigmas(places: npt.NDArray[np.int64], after: str) -> npt.NDArray[np.bool_]:
    """Return whether the sigma of "aΣ", each character, `after` and "a" becomes one inside a word, σ, and not ς."""
    parts = np.empty((len(places), 3 + len(after)), "<u4")
    parts[:] = [ord(character) for character in f"a{CAPITAL_SIGMA} {after}"]
    parts[:, 2] = ASSIGNED[places]
    lowered = _to_codes((_to_text(parts) + "a").lower())  # the "a" after each is that before the next
    return np.asarray(lowered[1 :: parts.shape[1]] == ord(SIGMA))


def _find_lower_cases(lowers: npt.NDArray[np.uint32]) -> None:
    """Set the UTF-8 of every character's lower case, as a number, where it is not the character itself."""
    text = _to_text(ASSIGNED[: len(lowers)]).replace(DOTTED_I, "I")  # the only one whose lower case is two characters
    for place in np.flatnonzero(_to_codes(text.lower()) != _to_codes(text)).tolist():
        lowers[place] = int.from_bytes(chr(ASSIGNED[place]).lower().encode(), "little")


def _to_text(codes: npt.NDArray[np.uint32]) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


def _to_codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
