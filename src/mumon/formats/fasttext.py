"""fastText's own .bin: settings, words, and a matrix of word rows followed by the rows of their character n-grams.

A word's vector is the mean of its row and those of its n-grams. Only the words' vectors and the n-grams are read, not
the output matrix after them, nor the labels of a classifier.

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
SETTINGS_FIELDS = struct.Struct("<12id")
SIZES_FIELDS = struct.Struct("<3i2q")
ENTRY_FIELDS = struct.Struct("<qb")  # count and kind, after the 0 that ends a word
MATRIX_FIELDS = struct.Struct("<?2q")
SUPERVISED_MODEL = 3
MAX_NGRAM = 64  # characters; with more, a hostile file could keep the reader busy for hours
MAX_WORD_BYTES = 1 << 16
MAX_DIM = 1 << 20
CHUNK_BYTES = 1 << 22
ROWS_AT_ONCE = 2048


@dataclass(frozen=True)
class _Header:
    """What a file says before its numbers begin; `offset` is where that is."""

    dim: int
    bucket: int
    minn: int
    maxn: int
    words: list[bytes]
    counts: Counts
    rows: int
    offset: int


@contextmanager
def open_source(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open a model of fastText; its matrix is mapped from the file, or decompressed into memory."""
    with open_stream(path) as stream:
        with as_format_errors(path):
            reader = _HeaderReader(stream.file, path)
            header = reader.read(limit)
            plain = not is_compressed(path)
            if plain:
                matrix = _map_matrix(path, header)
            else:
                matrix = _decompress_matrix(stream.file, reader.get_unread(), path, header)
        words = matrix[: header.rows - header.bucket]
        subwords = Subwords(matrix[len(words) :], header.minn, header.maxn)
        blocks = _read_blocks(path, header, words, subwords)
        yield Source(path, header.dim, blocks, len(header.words), plain, has_counts=True, subwords=subwords)


def _read_blocks(path: Path, header: _Header, own: Floats, subwords: Subwords) -> Iterator[Block]:
    for start in range(0, len(header.words), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        names = header.words[part]
        vectors, _ = subwords.average_rows(names, own[start : start + len(names)])
        check_finite(path, vectors, start)
        yield Block(decode_words(names), vectors, header.counts[part])


class _HeaderReader:
    """Reads what comes before the numbers, in chunks, and counts the bytes."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path = stream, path
        self._buffer, self._start, self._offset = b"", 0, 0

    def read(self, limit: int | None) -> _Header:
        if self._take(4) != MAGIC:
            raise FormatError(f"{self._path} does not begin with fastText's number 793712314; name another format")
        version = int.from_bytes(self._take(4), "little")
        if version not in VERSIONS:
            raise FormatError(f"{self._path} has fastText's version {version}; mumon reads 11 and 12, so save it again")
        dim, *_, model, bucket, minn, maxn, _, _ = SETTINGS_FIELDS.unpack(self._take(SETTINGS_FIELDS.size))
        if version == 11 and model == SUPERVISED_MODEL:
            maxn = 0  # such models do not use the value that they save
        if not 1 <= dim <= MAX_DIM or bucket < 0 or minn < 0 or not 0 <= maxn <= MAX_NGRAM:
            raise FormatError(
                f"{self._path} promises vectors of {dim} numbers, {bucket} rows of n-grams and n-grams of {minn} to "
                f"{maxn} characters; the file may be damaged"
            )
        entries, nwords, labels, _, pruned = SIZES_FIELDS.unpack(self._take(SIZES_FIELDS.size))
        if nwords < 1 or labels < 0 or entries != nwords + labels:
            raise FormatError(
                f"{self._path} promises {nwords} words and {labels} labels in {entries} entries; it may be damaged"
            )
        words, counts = self._read_entries(entries, nwords, limit)
        quantised, rows, columns = MATRIX_FIELDS.unpack(self._take(MATRIX_FIELDS.size)) if pruned < 0 else (True, 0, 0)
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
        return _Header(dim, bucket, minn, maxn, words, counts, rows, self._offset)

    def _read_entries(self, entries: int, nwords: int, limit: int | None) -> tuple[list[bytes], Counts]:
        """Read the words, which come before the labels, and their counts."""
        words: list[bytes] = []
        counts: list[int] = []
        wanted = nwords if limit is None else min(nwords, limit)
        for row in range(entries):
            word = self._read_word(row)
            count, _ = ENTRY_FIELDS.unpack(self._take(ENTRY_FIELDS.size))
            if row < wanted:
                words.append(word)
                counts.append(count)
        return words, np.array(counts, np.int64)

    def _read_word(self, row: int) -> bytes:
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

    def get_unread(self) -> bytes:
        """Return what was read from the stream beyond the header."""
        return self._buffer[self._start :]


def _map_matrix(path: Path, header: _Header) -> Floats:
    size, least = path.stat().st_size, header.offset + 4 * header.rows * header.dim
    if size < least:
        raise FormatError(
            f"{path} has {size} bytes where its {header.rows} rows of {header.dim} numbers need at least {least}; the "
            "file may be truncated"
        )
    return np.memmap(path, "<f4", "r", header.offset, (header.rows, header.dim)).view(np.ndarray)


def _decompress_matrix(stream: IO[bytes], unread: bytes, path: Path, header: _Header) -> Floats:
    """Read the numbers of a compressed file into memory that grows as they come: its header may be wrong."""
    matrix = np.empty(1 << 20, np.uint8)
    size, wanted = 0, 4 * header.rows * header.dim
    while size < wanted:
        chunk = unread or stream.read(CHUNK_BYTES)
        if not chunk:
            raise FormatError(
                f"{path} ends after {size // (4 * header.dim)} of its {header.rows} rows; the file may be truncated"
            )
        end = min(wanted, size + len(chunk))
        if end > len(matrix):
            matrix.resize(min(wanted, max(end, 2 * len(matrix))), refcheck=False)
        matrix[size:end] = np.frombuffer(chunk, np.uint8, end - size)
        size, unread = end, b""
    matrix.resize(wanted, refcheck=False)
    return matrix.view("<f4").reshape(header.rows, header.dim)
