"""fastText's own .bin: settings, words, and a matrix of word rows followed by the rows of their character n-grams.

A word's vector is the mean of its row and those of its n-grams. Only the words' vectors and the n-grams are read; the
output matrix behind them and the labels of a classifier are not.

    int32 magic, version; 12 int32 and a double of settings; int32 entries, words, labels; int64 tokens, pruned;
    per entry its name, a 0, int64 count, int8 kind; bool quantised; int64 rows, columns; float32 numbers
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from mumon.corpus.subwords import Subwords
from mumon.errors import FormatError
from mumon.formats.base import Block, Counts, Floats, Source, as_format_errors, check_finite, is_compressed, open_stream
from mumon.formats.text_rows import decode_words

MAGIC = struct.pack("<i", 793712314)
VERSIONS = (11, 12)
SETTINGS = struct.Struct("<12id")
SIZES = struct.Struct("<3i2q")
ENTRY = struct.Struct("<qb")  # after the 0 that ends a word
SHAPE = struct.Struct("<?2q")
SUPERVISED = 3
MAX_NGRAM = 64  # characters; more would cost a hostile file's reader hours
MAX_WORD_BYTES = 1 << 16
MAX_DIM = 1 << 20
CHUNK_BYTES = 1 << 22
ROWS_AT_ONCE = 2048


@dataclass(frozen=True)
class _About:
    """What a file says before its numbers begin."""

    dim: int
    bucket: int
    minn: int
    maxn: int
    words: list[bytes]
    counts: Counts
    rows: int
    offset: int  # where the numbers begin


@contextmanager
def open_source(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Read a model of fastText; the rows of its n-grams are mapped from the file, or unpacked into memory."""
    with open_stream(path) as stream:
        with as_format_errors(path):
            header = _Header(stream.file, path)
            about = header.about(limit)
            plain = not is_compressed(path)
            matrix = _mapped(path, about) if plain else _unpacked(stream.file, header.rest(), path, about)
        words = matrix[: about.rows - about.bucket]
        subwords = Subwords(matrix[len(words) :], about.minn, about.maxn)
        blocks = _blocks(path, about, words, subwords)
        yield Source(path, about.dim, blocks, len(about.words), plain, has_counts=True, subwords=subwords)


def _blocks(path: Path, about: _About, own: Floats, subwords: Subwords) -> Iterator[Block]:
    for start in range(0, len(about.words), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        names = about.words[part]
        vectors, _ = subwords.average_rows(names, own[start : start + len(names)])
        check_finite(path, vectors, start)
        yield Block(decode_words(names), vectors, about.counts[part])


class _Header:
    """Reads what comes before the numbers, in chunks, and knows at which byte it is."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path = stream, path
        self._buffer, self._start, self._offset = b"", 0, 0

    def about(self, limit: int | None) -> _About:
        if self._take(4) != MAGIC:
            raise FormatError(f"{self._path} does not begin with fastText's number 793712314; name another format")
        version = int.from_bytes(self._take(4), "little")
        if version not in VERSIONS:
            raise FormatError(f"{self._path} has fastText's version {version}, and mumon reads 11 and 12; save it anew")
        dim, *_, model, bucket, minn, maxn, _, _ = SETTINGS.unpack(self._take(SETTINGS.size))
        if version == 11 and model == SUPERVISED:
            maxn = 0  # what was saved was not used then
        if not 1 <= dim <= MAX_DIM or bucket < 0 or minn < 0 or not 0 <= maxn <= MAX_NGRAM:
            raise FormatError(
                f"{self._path} promises vectors of {dim} numbers, {bucket} rows of n-grams and n-grams of {minn} to "
                f"{maxn} characters; the file may be damaged"
            )
        entries, nwords, labels, _, pruned = SIZES.unpack(self._take(SIZES.size))
        if nwords < 1 or labels < 0 or entries != nwords + labels:
            raise FormatError(
                f"{self._path} promises {nwords} words and {labels} labels in {entries} entries; it may be damaged"
            )
        words, counts = self._entries(entries, nwords, limit)
        quantised, rows, columns = SHAPE.unpack(self._take(SHAPE.size)) if pruned < 0 else (True, 0, 0)
        if quantised:
            raise FormatError(
                f"{self._path} is quantised (as .ftz files are), and mumon does not decode its {nwords} words; use the "
                ".bin that it was made from"
            )
        if rows != nwords + bucket or columns != dim:
            raise FormatError(
                f"{self._path} has a matrix of {rows} x {columns} where {nwords + bucket} x {dim} follows from its "
                "settings; the file may be damaged"
            )
        return _About(dim, bucket, minn, maxn, words, counts, rows, self._offset)

    def _entries(self, entries: int, nwords: int, limit: int | None) -> tuple[list[bytes], Counts]:
        """The words, which come before the labels."""
        words: list[bytes] = []
        counts: list[int] = []
        wanted = nwords if limit is None else min(nwords, limit)
        for row in range(entries):
            word = self._word(row)
            count, _ = ENTRY.unpack(self._take(ENTRY.size))
            if row < wanted:
                words.append(word)
                counts.append(count)
        return words, np.array(counts, np.int64)

    def _word(self, row: int) -> bytes:
        end = self._buffer.find(b"\0", self._start)
        while end < 0:
            if len(self._buffer) - self._start > MAX_WORD_BYTES or not self._fill():
                raise FormatError(
                    f"{self._path}: word {row + 1} at byte {self._offset} does not end; the file may be damaged"
                )
            end = self._buffer.find(b"\0", self._start)
        if end - self._start > MAX_WORD_BYTES:
            raise FormatError(
                f"{self._path}: word {row + 1} at byte {self._offset} has more than {MAX_WORD_BYTES} bytes; the file "
                "may be damaged"
            )
        return self._take(end + 1 - self._start)[:-1]

    def _take(self, size: int) -> bytes:
        while len(self._buffer) - self._start < size:
            if not self._fill():
                raise FormatError(
                    f"{self._path} ends at byte {self._offset + len(self._buffer) - self._start}, before its numbers "
                    "begin; the file may be truncated"
                )
        data = self._buffer[self._start : self._start + size]
        self._start, self._offset = self._start + size, self._offset + size
        return data

    def _fill(self) -> bool:
        chunk = self._stream.read(CHUNK_BYTES)
        self._buffer, self._start = self._buffer[self._start :] + chunk, 0
        return bool(chunk)

    def rest(self) -> bytes:
        """What was read beyond."""
        return self._buffer[self._start :]


def _mapped(path: Path, about: _About) -> Floats:
    size, least = path.stat().st_size, about.offset + 4 * about.rows * about.dim
    if size < least:
        raise FormatError(
            f"{path} has {size} bytes where its {about.rows} rows of {about.dim} numbers need at least {least}; the "
            "file may be truncated"
        )
    return np.memmap(path, "<f4", "r", about.offset, (about.rows, about.dim)).view(np.ndarray)


def _unpacked(stream: IO[bytes], read: bytes, path: Path, about: _About) -> Floats:
    """The numbers of a packed file, in memory that grows as they come: its size does not vouch for its header."""
    matrix = np.empty(1 << 20, np.uint8)
    size, wanted = 0, 4 * about.rows * about.dim
    while size < wanted:
        chunk = read or stream.read(CHUNK_BYTES)
        if not chunk:
            raise FormatError(
                f"{path} ends after {size // (4 * about.dim)} of its {about.rows} rows; the file may be truncated"
            )
        end = min(wanted, size + len(chunk))
        if end > len(matrix):
            matrix.resize(min(wanted, max(end, 2 * len(matrix))), refcheck=False)
        matrix[size:end] = np.frombuffer(chunk, np.uint8, end - size)
        size, read = end, b""
    matrix.resize(wanted, refcheck=False)
    return matrix.view("<f4").reshape(about.rows, about.dim)
