"""word2vec's own two formats, text and binary: both open with a line 'V D'.

Binary rows are a word, one space, and D little-endian float32; word2vec.c adds a newline after each, gensim does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from mumon.atomic import atomic_file
from mumon.errors import FormatError
from mumon.formats.base import HEADER, MAX_HEADER_BYTES, Counts, Floats, LoadedVectors, is_compressed, open_stream
from mumon.formats.glove import Rows, line_blocks, read_rows, trailing_numbers, write_rows

CHUNK_BYTES = 1 << 24
MAX_WORD_BYTES = 1 << 16  # a longer one means that the rows are not where the header says
MAX_PACKED_DIM = 1 << 20  # numbers in a row of a packed file, whose size does not bound them


def read_text(path: Path, limit: int | None = None) -> LoadedVectors:
    """Read word2vec text, words with spaces included."""
    with open_stream(path) as stream:
        count, dim, offset = _read_header(stream, path)
        wanted = count if limit is None else min(count, limit)
        believed = _check_size(path, count, dim, offset, row_bytes=2 * dim + 1)
        rows = Rows(path, dim, wanted if believed else None)
        extra = read_rows(line_blocks(stream, offset, path), rows, wanted)
    _check_count(path, len(rows.words), wanted, count)
    if wanted == count:
        if extra is not None:
            raise FormatError(f"{path} goes on at byte {extra} after the {count} rows of its header; is it two files?")
        if all(map(trailing_numbers, rows.words)):
            raise FormatError(
                f"{path}: each of its {count} rows has more numbers than the {dim} of the header; correct the header"
            )
    return rows.done()


def write_text(path: Path, words: Sequence[str], vectors: Floats, counts: Counts | None = None) -> None:
    """Write word2vec text; counts are not part of the format."""
    if all(trailing_numbers(word.encode()) for word in words):
        raise FormatError(
            f"each of the {len(words)} words ends in a number (like {words[0]!r}), which text cannot tell from a "
            "vector; save as mumon"
        )
    with atomic_file(path) as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        write_rows(file, words, vectors)


def read_binary(path: Path, limit: int | None = None) -> LoadedVectors:
    """Read word2vec binary in chunks, so that GoogleNews-vectors-negative300.bin.gz needs no unpacking."""
    with open_stream(path) as stream:
        count, dim, offset = _read_header(stream, path)
        wanted = count if limit is None else min(count, limit)
        believed = _check_size(path, count, dim, offset, row_bytes=4 * dim + 1)
        rows = Rows(path, dim, wanted if believed else None)
        rest, offset = _read_binary_rows(stream, rows, wanted, offset)
        rest += stream.read(2)
        if wanted == count and rest not in (b"", b"\n"):
            offset += rest.startswith(b"\n")
            raise FormatError(f"{path} goes on at byte {offset} after the {count} rows of its header; is it two files?")
    return rows.done()


def write_binary(path: Path, words: Sequence[str], vectors: Floats, counts: Counts | None = None) -> None:
    """Write word2vec binary with a newline after each row, as word2vec.c does; counts are not part of the format."""
    encoded = [word.encode() for word in words]
    for row, word in enumerate(encoded):
        if b" " in word or b"\n" in word or len(word) > MAX_WORD_BYTES:
            shown = words[row][:40]
            raise FormatError(
                f"{shown!r} (word {row + 1}) holds a space or newline or more than {MAX_WORD_BYTES} bytes, which "
                "word2vec binary cannot; save as mumon"
            )
    with atomic_file(path) as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(encoded, vectors, strict=True):
            file.write(word + b" " + vector.astype("<f4", copy=False).tobytes() + b"\n")


def _read_header(stream: IO[bytes], path: Path) -> tuple[int, int, int]:
    """V, D and the header's length in bytes."""
    line = stream.readline(MAX_HEADER_BYTES)
    if not line:
        raise FormatError(f"{path} is empty (0 bytes of vectors); write or download it again")
    header = HEADER.fullmatch(line)
    if header is None:
        raise FormatError(f"{path} starts with {line[:40]!r} where word2vec has two numbers; is it format='glove'?")
    count, dim = int(header[1]), int(header[2])
    if count < 1 or dim < 1:
        raise FormatError(f"{path} promises {count} rows of {dim} numbers in its header; both must be at least 1")
    return count, dim, len(line)


def _check_size(path: Path, count: int, dim: int, offset: int, row_bytes: int) -> bool:
    """Refuse a header that the file is too small for, before memory is asked for; whether V can be believed."""
    if is_compressed(path):
        # the packed size says nothing about V, but one row must still be a size that memory can hold
        if dim > MAX_PACKED_DIM:
            raise FormatError(
                f"{path} promises rows of {dim} numbers in its header, and a packed file may have {MAX_PACKED_DIM}; "
                "unpack it, or correct the header"
            )
        return False
    size = path.stat().st_size
    least = offset + count * row_bytes - 1  # the last newline is optional
    if size < least:
        raise FormatError(
            f"{path} has {size} bytes where the {count} rows of {dim} numbers in its header need at least {least}; "
            "the file may be truncated"
        )
    return True


def _check_count(path: Path, rows: int, wanted: int, count: int) -> None:
    if rows < wanted:
        raise FormatError(f"{path} ends after {rows} of the {count} rows in its header; the file may be truncated")


def _read_binary_rows(stream: IO[bytes], rows: Rows, wanted: int, offset: int) -> tuple[bytes, int]:
    """Read `wanted` rows; return the bytes read beyond them and their offset."""
    buffer, width = b"", 4 * rows.dim
    while True:
        words: list[bytes] = []
        values: list[bytes] = []
        starts: list[int] = []
        start = 0
        while len(rows.words) + len(words) < wanted:
            start += buffer.startswith(b"\n", start)  # word2vec.c ends the row before with it, gensim does not
            space = buffer.find(b" ", start, start + MAX_WORD_BYTES + 2)
            end = space + 1 + width
            if space < 0 or end > len(buffer):
                break
            words.append(buffer[start:space])
            values.append(buffer[space + 1 : end])
            starts.append(offset + start)
            start = end
        _add_binary(rows, words, values, starts)
        buffer, offset = buffer[start:], offset + start
        if len(rows.words) == wanted:
            return buffer, offset
        place = f"{rows.path}: row {len(rows.words) + 1} at byte {offset}"
        if len(buffer) > MAX_WORD_BYTES + 1 and b" " not in buffer[: MAX_WORD_BYTES + 2]:
            raise FormatError(f"{place} has no space in {MAX_WORD_BYTES} bytes; the file may be damaged")
        chunk = stream.read(max(CHUNK_BYTES, width))
        if not chunk:
            _, _, vector = buffer.partition(b" ")
            raise FormatError(
                f"{place} has {len(vector) // 4} numbers where {rows.dim} were expected; the file may be truncated"
            )
        buffer += chunk


def _add_binary(rows: Rows, words: list[bytes], values: list[bytes], starts: list[int]) -> None:
    block = np.frombuffer(b"".join(values), "<f4").reshape(len(words), rows.dim)
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        bad = int(finite.argmin())
        raise FormatError(
            f"{rows.path}: row {len(rows.words) + bad + 1} at byte {starts[bad]} holds nan or inf; remove the row"
        )
    rows.add(words, block)
