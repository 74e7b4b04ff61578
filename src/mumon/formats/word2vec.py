"""word2vec's own two formats, text and binary: both open with a line 'V D'.

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
MAX_WORD_BYTES = 1 << 16  # a longer one means that the rows are not where the header says
MAX_PACKED_DIM = 1 << 20  # numbers in a row of a packed file, whose size does not bound them
MOST_ROWS = 10**12 - 1  # that there is room for in a header before they were counted


@contextmanager
def open_text(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Read word2vec text, words with spaces included."""
    with _opened(path, limit, _text_blocks, lambda dim: 2 * dim + 1) as source:
        yield source


@contextmanager
def open_binary(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Read word2vec binary in chunks, so that GoogleNews-vectors-negative300.bin.gz needs no unpacking."""
    with _opened(path, limit, _binary_blocks, lambda dim: 4 * dim + 1) as source:
        yield source


class _Shape:
    """What a header says, and how many rows of it are wanted."""

    def __init__(self, stream: IO[bytes], path: Path, limit: int | None) -> None:
        line = stream.readline(MAX_HEADER_BYTES)
        if not line:
            raise FormatError(f"{path} is empty (0 bytes of vectors); write or download it again")
        header = HEADER.fullmatch(line)
        if header is None:
            raise FormatError(f"{path} starts with {line[:40]!r} where word2vec has two numbers; is it format='glove'?")
        self.path, self.offset = path, len(line)
        self.count, self.dim = int(header[1]), int(header[2])
        if self.count < 1 or self.dim < 1:
            raise FormatError(
                f"{path} promises {self.count} rows of {self.dim} numbers in its header; both must be at least 1"
            )
        self.wanted = self.count if limit is None else min(self.count, limit)

    def check_size(self, row_bytes: int) -> bool:
        """Refuse a header that the file is too small for, before memory is asked for; whether V can be believed."""
        if is_compressed(self.path):
            # the packed size says nothing about V, but one row must still be a size that memory can hold
            if self.dim > MAX_PACKED_DIM:
                raise FormatError(
                    f"{self.path} promises rows of {self.dim} numbers in its header, and a packed file may have "
                    f"{MAX_PACKED_DIM}; unpack it, or correct the header"
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

    def goes_on(self, offset: int) -> FormatError:
        return FormatError(
            f"{self.path} goes on at byte {offset} after the {self.count} rows of its header; is it two files?"
        )


@contextmanager
def _opened(
    path: Path,
    limit: int | None,
    blocks: Callable[[Stream, _Shape], Iterator[Block]],
    row_bytes: Callable[[int], int],
) -> Iterator[Source]:
    with open_stream(path) as stream:
        with as_format_errors(path):
            shape = _Shape(stream.file, path, limit)
            size_checked = shape.check_size(row_bytes(shape.dim))
        yield Source(
            path, shape.dim, blocks(stream, shape), shape.wanted, size_checked, size=stream.size, tell=stream.tell
        )


def _text_blocks(stream: Stream, shape: _Shape) -> Iterator[Block]:
    rows = TextRows(shape.path, shape.dim)
    parsed = rows.parse(read_line_blocks(stream.file, shape.offset, shape.path), shape.wanted)
    wider = True  # whether every row so far has more numbers than the header says
    while True:
        try:
            words, vectors = next(parsed)
        except StopIteration as end:
            further = end.value
            break
        wider = wider and all(map(count_trailing_numbers, words))
        yield Block(decode_words(words), vectors)
    if rows.done < shape.wanted:
        raise FormatError(
            f"{shape.path} ends after {rows.done} of the {shape.count} rows in its header; the file may be truncated"
        )
    if shape.wanted == shape.count:
        if further is not None:
            raise shape.goes_on(further)
        if wider:
            raise FormatError(
                f"{shape.path}: each of its {shape.count} rows has more numbers than the {shape.dim} of the header; "
                "correct the header"
            )


def _binary_blocks(stream: Stream, shape: _Shape) -> Iterator[Block]:
    """Whole rows of one chunk after the other; the bytes of a row that is cut wait for the next."""
    buffer, offset, width, done = b"", shape.offset, 4 * shape.dim, 0
    while True:
        words: list[bytes] = []
        values: list[bytes] = []
        starts: list[int] = []
        start = 0
        while done + len(words) < shape.wanted:
            start += buffer.startswith(b"\n", start)  # word2vec.c ends the row before with it, gensim does not
            space = buffer.find(b" ", start, start + MAX_WORD_BYTES + 2)
            end = space + 1 + width
            if space < 0 or end > len(buffer):
                break
            words.append(buffer[start:space])
            values.append(buffer[space + 1 : end])
            starts.append(offset + start)
            start = end
        if words:
            yield _binary_block(shape, words, values, starts, done)
        buffer, offset, done = buffer[start:], offset + start, done + len(words)
        if done == shape.wanted:
            break
        buffer += _more(stream, shape, buffer, f"{shape.path}: row {done + 1} at byte {offset}")
    rest = buffer + stream.file.read(2)
    if shape.wanted == shape.count and rest not in (b"", b"\n"):
        raise shape.goes_on(offset + rest.startswith(b"\n"))


def _more(stream: Stream, shape: _Shape, buffer: bytes, place: str) -> bytes:
    if len(buffer) > MAX_WORD_BYTES + 1 and b" " not in buffer[: MAX_WORD_BYTES + 2]:
        raise FormatError(f"{place} has no space in {MAX_WORD_BYTES} bytes; the file may be damaged")
    chunk = stream.file.read(max(CHUNK_BYTES, 4 * shape.dim))
    if not chunk:
        _, _, vector = buffer.partition(b" ")
        raise FormatError(
            f"{place} has {len(vector) // 4} numbers where {shape.dim} were expected; the file may be truncated"
        )
    return chunk


def _binary_block(shape: _Shape, words: list[bytes], values: list[bytes], starts: list[int], done: int) -> Block:
    vectors = np.frombuffer(b"".join(values), "<f4").reshape(len(words), shape.dim)
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        bad = int(finite.argmin())
        raise FormatError(f"{shape.path}: row {done + bad + 1} at byte {starts[bad]} holds nan or inf; remove the row")
    return Block(decode_words(words), vectors.astype(np.float32, copy=False))


class _Header:
    """The line 'V D', for which room is left until the rows have been counted; spaces fill what is not needed."""

    def __init__(self, file: IO[bytes], source: Source) -> None:
        self._file, self._dim = file, source.dim
        self._room = len(self._line(MOST_ROWS if source.rows is None else source.rows))
        file.write(b" " * (self._room - 1) + b"\n")

    def _line(self, rows: int) -> bytes:
        return f"{rows} {self._dim}\n".encode()

    def fill(self, rows: int) -> None:
        self._file.seek(0)
        self._file.write(self._line(rows).rstrip(b"\n").ljust(self._room - 1))


def write_text(path: Path, source: Source, dtype: str) -> None:
    """Write word2vec text; counts are not part of the format."""
    rows, wider, example = 0, True, ""
    with atomic_file(path) as file:
        header = _Header(file, source)
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
        header = _Header(file, source)
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
