"""word2vec's own two formats, text and binary: both begin with a line 'V D'.

Binary rows are a word, one space, and D little-endian float32; word2vec.c adds a newline after each, gensim does not.
fastText's .vec is the text, with a space at the end of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from mumon.errors import FormatError
from mumon.formats.base import (
    HEADER,
    MAX_HEADER_BYTES,
    Block,
    Source,
    Stream,
    as_format_errors,
    is_compressed,
    open_stream,
)
from mumon.formats.text_rows import TextRows, count_trailing_numbers, decode_words, read_line_blocks, write_rows
from mumon.utils.atomic import atomic_file

CHUNK_BYTES = 1 << 23
MAX_WORD_BYTES = 1 << 16  # a longer word means that the header is wrong about the rows
MAX_COMPRESSED_DIM = 1 << 20  # numbers in a row of a compressed file, whose size does not limit them
MAX_ROWS = 10**12 - 1  # that a header has room for before the rows are counted


@contextmanager
def open_text(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open word2vec text, whose words may contain spaces."""
    with _open(path, limit, _read_text_blocks, lambda dim: 2 * dim + 1) as source:
        yield source


@contextmanager
def open_binary(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open word2vec binary, to read it in chunks: GoogleNews-vectors-negative300.bin.gz can stay compressed."""
    with _open(path, limit, _read_binary_blocks, lambda dim: 4 * dim + 1) as source:
        yield source


class _Header:
    """What a header says, and how many of its rows are wanted."""

    def __init__(self, stream: IO[bytes], path: Path, limit: int | None) -> None:
        line = stream.readline(MAX_HEADER_BYTES)
        if not line:
            raise FormatError(f"{path} is empty (0 bytes of vectors); write or download it again")
        match = HEADER.fullmatch(line)
        if match is None:
            raise FormatError(f"{path} starts with {line[:40]!r} where word2vec has two numbers; is it format='glove'?")
        self.path, self.offset = path, len(line)
        self.count, self.dim = int(match[1]), int(match[2])
        if self.count < 1 or self.dim < 1:
            raise FormatError(
                f"{path} says {self.count} rows of {self.dim} numbers in its header; both must be at least 1"
            )
        self.wanted = self.count if limit is None else min(self.count, limit)

    def check_size(self, row_bytes: int) -> bool:
        """Refuse a header that the file is too small for; return whether the size of the file could be checked."""
        if is_compressed(self.path):
            # the compressed size says nothing about V, but one row must still fit into memory
            if self.dim > MAX_COMPRESSED_DIM:
                raise FormatError(
                    f"{self.path} says rows of {self.dim} numbers in its header, and a compressed file may have "
                    f"{MAX_COMPRESSED_DIM}; decompress it, or correct the header"
                )
            return False
        size = self.path.stat().st_size
        least = self.offset + self.count * row_bytes - 1  # the last newline is optional
        if size < least:
            raise FormatError(
                f"{self.path} has {size} bytes where the {self.count} rows of {self.dim} numbers in its header need at "
                f"least {least}; the file may be truncated"
            )
        return True

    def make_excess_error(self, offset: int) -> FormatError:
        return FormatError(
            f"{self.path} continues at byte {offset} after the {self.count} rows of its header; is it two files?"
        )


@contextmanager
def _open(
    path: Path,
    limit: int | None,
    blocks: Callable[[Stream, _Header], Iterator[Block]],
    row_bytes: Callable[[int], int],
) -> Iterator[Source]:
    with open_stream(path) as stream:
        with as_format_errors(path):
            header = _Header(stream.file, path, limit)
            size_checked = header.check_size(row_bytes(header.dim))
        yield Source(
            path, header.dim, blocks(stream, header), header.wanted, size_checked, size=stream.size, tell=stream.tell
        )


def _read_text_blocks(stream: Stream, header: _Header) -> Iterator[Block]:
    rows = TextRows(header.path, header.dim)
    parsed = rows.parse(read_line_blocks(stream.file, header.offset, header.path), header.wanted)
    wider = True  # whether every row so far has more numbers than the header says
    while True:
        try:
            words, vectors = next(parsed)
        except StopIteration as end:
            further = end.value
            break
        wider = wider and all(map(count_trailing_numbers, words))
        yield Block(decode_words(words), vectors)
    if rows.done < header.wanted:
        raise FormatError(
            f"{header.path} ends after {rows.done} of the {header.count} rows in its header; the file may be truncated"
        )
    if header.wanted == header.count:
        if further is not None:
            raise header.make_excess_error(further)
        if wider:
            raise FormatError(
                f"{header.path}: each of its {header.count} rows has more numbers than the {header.dim} of the header; "
                "correct the header"
            )


def _read_binary_blocks(stream: Stream, header: _Header) -> Iterator[Block]:
    """Read chunk after chunk and yield its whole rows; a row that is cut waits for the next chunk."""
    buffer, offset, width, done = b"", header.offset, 4 * header.dim, 0
    while True:
        words: list[bytes] = []
        values: list[bytes] = []
        starts: list[int] = []
        start = 0
        while done + len(words) < header.wanted:
            start += buffer.startswith(b"\n", start)  # word2vec.c ends each row with it, gensim does not
            space = buffer.find(b" ", start, start + MAX_WORD_BYTES + 2)
            end = space + 1 + width
            if space < 0 or end > len(buffer):
                break
            words.append(buffer[start:space])
            values.append(buffer[space + 1 : end])
            starts.append(offset + start)
            start = end
        if words:
            yield _make_block(header, words, values, starts, done)
        buffer, offset, done = buffer[start:], offset + start, done + len(words)
        if done == header.wanted:
            break
        buffer += _read_chunk(stream, header, buffer, f"{header.path}: row {done + 1} at byte {offset}")
    rest = buffer + stream.file.read(2)
    if header.wanted == header.count and rest not in (b"", b"\n"):
        raise header.make_excess_error(offset + rest.startswith(b"\n"))


def _read_chunk(stream: Stream, header: _Header, buffer: bytes, place: str) -> bytes:
    if len(buffer) > MAX_WORD_BYTES + 1 and b" " not in buffer[: MAX_WORD_BYTES + 2]:
        raise FormatError(f"{place} has no space in {MAX_WORD_BYTES} bytes; the file may be damaged")
    chunk = stream.file.read(max(CHUNK_BYTES, 4 * header.dim))
    if not chunk:
        _, _, vector = buffer.partition(b" ")
        raise FormatError(
            f"{place} has {len(vector) // 4} numbers where {header.dim} were expected; the file may be truncated"
        )
    return chunk


def _make_block(header: _Header, words: list[bytes], values: list[bytes], starts: list[int], done: int) -> Block:
    vectors = np.frombuffer(b"".join(values), "<f4").reshape(len(words), header.dim)
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        bad = int(finite.argmin())
        raise FormatError(f"{header.path}: row {done + bad + 1} at byte {starts[bad]} holds nan or inf; remove the row")
    return Block(decode_words(words), vectors.astype(np.float32, copy=False))


class _HeaderWriter:
    """Writes the line 'V D' after the rows have been counted; spaces fill the room that was left for it."""

    def __init__(self, file: IO[bytes], source: Source) -> None:
        self._file, self._dim = file, source.dim
        self._room = len(self._format_line(MAX_ROWS if source.rows is None else source.rows))
        file.write(b" " * (self._room - 1) + b"\n")

    def _format_line(self, rows: int) -> bytes:
        return f"{rows} {self._dim}\n".encode()

    def fill(self, rows: int) -> None:
        self._file.seek(0)
        self._file.write(self._format_line(rows).rstrip(b"\n").ljust(self._room - 1))


def write_text(path: Path, source: Source, dtype: str) -> None:
    """Write word2vec text; counts are not part of the format."""
    rows, wider, example = 0, True, ""
    with atomic_file(path) as file:
        header = _HeaderWriter(file, source)
        for block in write_rows(file, source):
            example = example or block.words[0]
            wider = wider and all(count_trailing_numbers(word.encode()) for word in block.words)
            rows += len(block.words)
        if wider:
            raise FormatError(
                f"each of the {rows} words ends in a number (like {example[:60]!r}), which text cannot tell from a "
                "vector; save as mumon"
            )
        header.fill(rows)


def write_binary(path: Path, source: Source, dtype: str) -> None:
    """Write word2vec binary with a newline after each row, as word2vec.c does; counts are not part of the format."""
    rows = 0
    with atomic_file(path) as file:
        header = _HeaderWriter(file, source)
        for block in source.blocks:
            encoded = [word.encode() for word in block.words]
            for row, word in enumerate(encoded):
                if b" " in word or b"\n" in word or len(word) > MAX_WORD_BYTES:
                    raise FormatError(
                        f"{block.words[row][:40]!r} (word {rows + row + 1}) holds a space or newline or more than "
                        f"{MAX_WORD_BYTES} bytes, which word2vec binary cannot; save as mumon"
                    )
            for word, vector in zip(encoded, block.vectors.astype("<f4", copy=False), strict=True):
                file.write(word + b" " + vector.tobytes() + b"\n")
            rows += len(encoded)
        header.fill(rows)
