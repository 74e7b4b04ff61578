"""Rows of text, 'word number…', which GloVe, word2vec text and the projector share.

Lines are read from the right, because words may contain spaces: the last D fields are the numbers.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from mumon.errors import FormatError
from mumon.formats.base import Block, Floats, Source

BLOCK_BYTES = 1 << 22
MAX_ROW_BYTES = 1 << 22  # 300,000 numbers; anything longer is not a row of vectors
NUMBER_BYTES = 17  # of one number and its space, at most
ROWS_AT_ONCE = 1024

log = logging.getLogger(__name__)

Lines = tuple[int, list[bytes]]  # the byte offset of the first line, and whole lines without their newline
Rows = tuple[list[bytes], Floats]


def read_line_blocks(stream: IO[bytes], offset: int, path: Path) -> Iterator[Lines]:
    """Read blocks of whole lines from a stream that is at byte `offset`, without the blank lines that end the file."""
    rest = b""
    while chunk := stream.read(BLOCK_BYTES):
        data = rest + chunk
        # blank lines wait for the next block, which shows whether they end the file
        end = data.find(b"\n", len(data[: data.rfind(b"\n") + 1].rstrip(b" \r\n")))
        if data[: end + 1].strip(b" \r\n"):
            yield offset, data[:end].split(b"\n")
            data, offset = data[end + 1 :], offset + end + 1
        rest = data
        if len(rest) > MAX_ROW_BYTES:
            raise FormatError(
                f"{path} has no end of a row in the {len(rest)} bytes from byte {offset}; is this a file of vectors?"
            )
    rest = rest.rstrip(b" \r\n")
    if rest:
        yield offset, rest.split(b"\n")


class TextRows:
    """Parses lines into words and numbers; `wordless` rows are D numbers between tabs."""

    def __init__(self, path: Path, dim: int, wordless: bool = False) -> None:
        self.path, self.dim, self.wordless = path, dim, wordless
        self.done = 0  # rows

    def parse(self, blocks: Iterable[Lines], limit: int | None) -> Generator[Rows, None, int | None]:
        """Yield words and numbers of at most `limit` rows; return the byte offset of a further row, if there is one."""
        for offset, lines in blocks:
            wanted = len(lines) if limit is None else min(len(lines), limit - self.done)
            if wanted:
                yield self._parse_block(lines[:wanted], offset)
                self.done += wanted
            if wanted < len(lines):
                return offset + sum(map(len, lines[:wanted])) + wanted
        return None

    def _split(self, line: bytes) -> list[bytes]:
        if self.wordless:
            return [b"", *line.rstrip(b"\r").split(b"\t", self.dim - 1)]
        return line.rstrip(b" \r").rsplit(b" ", self.dim)

    def _parse_block(self, lines: list[bytes], offset: int) -> Rows:
        """Parse all the numbers of a block at once; if that fails, parse its lines one by one."""
        words: list[bytes] = []
        fields: list[bytes] = []
        doubtful = False
        for line in lines:
            word, *numbers = self._split(line)
            words.append(word)
            fields += numbers
            doubtful |= line.find(b"_", len(word)) >= 0  # float() reads 1_0 as 10
        try:
            with np.errstate(over="ignore"):
                values = np.fromiter(map(float, fields), np.float32, len(fields))
            if not doubtful and np.isfinite(values).all():
                return words, values.reshape(len(lines), self.dim)
        except ValueError:
            pass
        return self._parse_lines(lines, offset)

    def _parse_lines(self, lines: list[bytes], offset: int) -> Rows:
        words: list[bytes] = []
        rows: list[Floats] = []
        for line in lines:
            word, values = self._parse_row(line, f"{self.path}: row {self.done + len(words) + 1} at byte {offset}")
            words.append(word)
            rows.append(values)
            offset += len(line) + 1
        return words, np.array(rows, np.float32).reshape(len(lines), self.dim)

    def _parse_row(self, line: bytes, place: str) -> tuple[bytes, Floats]:
        word, *fields = self._split(line)
        if self.wordless:
            fields = line.split()
        elif len(fields) < self.dim or None in map(_parse_number, fields):
            word, *fields = line.rsplit(maxsplit=self.dim) or [b""]  # perhaps tabs, or runs of spaces
        numbers = [number for number in map(_parse_number, fields) if number is not None]
        if len(fields) != self.dim:
            raise FormatError(
                f"{place} has {len(fields)} numbers where {self.dim} were expected; the file may be truncated"
            )
        if len(numbers) < self.dim:
            bad = next(field for field in fields if _parse_number(field) is None)
            raise FormatError(
                f"{place} has {bad[:40].decode('utf-8', 'replace')!r} among the {self.dim} numbers that end it; "
                "the file may be damaged"
            )
        with np.errstate(over="ignore"):
            values = np.array(numbers, np.float32)
        if not np.isfinite(values).all():
            column = int(np.isfinite(values).argmin())
            raise FormatError(
                f"{place} has number {column + 1} not finite ({fields[column][:40].decode()!r}); remove the row"
            )
        return word, values


def decode_words(words: list[bytes]) -> list[str]:
    """Decode words; bytes that are not UTF-8 are replaced."""
    return [word.decode("utf-8", "replace") for word in words]


def _parse_number(field: bytes) -> float | None:
    try:
        return None if b"_" in field else float(field)
    except ValueError:
        return None


def count_trailing_numbers(line: bytes) -> int:
    """Count the numbers at the end of a line; its first field is always a word."""
    fields = line.split(b" ")[1:]
    return next((n for n, field in enumerate(reversed(fields)) if _parse_number(field) is None), len(fields))


def write_rows(file: IO[bytes], source: Source) -> Iterator[Block]:
    """Write 'word number…' lines, and yield each block first, for further checks.

    Nine significant digits are enough to read every float32 back exactly.
    """
    template = "%s" + " %.9g" * source.dim + "\n"
    spaced, example, done = 0, "", 0
    for block in source.blocks:
        check_words_fit_lines(block.words, done, source.dim)
        with_spaces = [word for word in block.words if " " in word]
        spaced, example = spaced + len(with_spaces), example or next(iter(with_spaces), "")
        yield block
        for start in range(0, len(block.words), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            rows = zip(block.words[part], block.vectors[part].tolist(), strict=True)
            file.write("".join([template % (word, *row) for word, row in rows]).encode())
        done += len(block.words)
    if spaced:
        log.warning("%d words contain spaces, like %r, which not every program can read back", spaced, example)


def check_words_fit_lines(words: list[str], done: int, dim: int) -> None:
    """Refuse words that hold line breaks, and rows longer than any reader accepts."""
    for row, word in enumerate(words):
        if "\n" in word or "\r" in word:
            raise FormatError(
                f"{word[:60]!r} (word {done + row + 1}) holds a line break, which no text format can; save as mumon"
            )
    longest = max(words, key=len)
    if 4 * len(longest) + NUMBER_BYTES * dim > MAX_ROW_BYTES:  # a letter has at most 4 bytes
        raise FormatError(
            f"a row of {dim:,} numbers and a word of {len(longest):,} letters is too long for a text "
            "format; save as mumon"
        )
