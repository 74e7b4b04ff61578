"""GloVe text, a line 'word number…' per word without a header; and the text rows that word2vec text shares with it.

Lines are read from the right, because words may contain spaces: the last D fields are the numbers.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from mumon.atomic import atomic_file
from mumon.errors import FormatError
from mumon.formats.base import Counts, Floats, LoadedVectors, open_stream

BLOCK_BYTES = 1 << 22
MAX_ROW_BYTES = 1 << 22  # 300,000 numbers; more without an end of line is no row
NUMBER_BYTES = 17  # that a number takes in a row, at most
SAMPLE_ROWS = 100  # rows that vote on D
FIRST_NUMBERS = 1 << 20  # room made before the number of rows is known

log = logging.getLogger(__name__)

Block = tuple[int, list[bytes]]  # the byte offset of its first line, and whole lines without their newline


class Rows:
    """Rows as they are read: a matrix that grows, so that no header has to be believed, and words as bytes."""

    def __init__(self, path: Path, dim: int, capacity: int | None = None) -> None:
        self.path, self.dim = path, dim
        capacity = capacity or max(1, FIRST_NUMBERS // dim)
        self.words: list[bytes] = []
        self.matrix: Floats = np.empty((capacity, dim), np.float32)

    def add(self, words: Sequence[bytes], values: Floats) -> None:
        start, end = len(self.words), len(self.words) + len(words)
        if end > len(self.matrix):
            # refcheck=False: nobody else holds the matrix before done(); realloc avoids a second copy of it
            self.matrix.resize((max(end, 2 * len(self.matrix)), self.dim), refcheck=False)
        self.matrix[start:end] = values
        self.words.extend(words)

    def done(self) -> LoadedVectors:
        self.matrix.resize((len(self.words), self.dim), refcheck=False)
        words = [word.decode("utf-8", "replace") for word in self.words]
        if len(set(words)) != len(words):
            return self._without_repeats(words)
        return LoadedVectors(words, self.matrix)

    def _without_repeats(self, words: list[str]) -> LoadedVectors:
        """Published files do repeat words, and bytes that are not UTF-8 can make two alike: the first one counts."""
        first = {word: row for row, word in reversed(list(enumerate(words)))}
        kept = sorted(first.values())
        again = next(word for row, word in enumerate(words) if first[word] != row)
        log.warning("%s: left out %d rows that repeat a word, like %r", self.path, len(words) - len(kept), again)
        return LoadedVectors([words[row] for row in kept], self.matrix[kept])


def read(path: Path, limit: int | None = None) -> LoadedVectors:
    """Read GloVe text; D is what most of the first rows agree on."""
    with open_stream(path) as stream:
        blocks = line_blocks(stream, 0, path)
        first = next(blocks, None)
        if first is None:
            raise FormatError(f"{path} is empty (0 bytes of vectors); write or download it again")
        dim = _agreed_dim(line.rstrip(b" \r") for line in first[1][:SAMPLE_ROWS])
        if dim == 0:
            raise FormatError(f"{path}: row 1 at byte 0 has 0 numbers after its word; is this a file of vectors?")
        rows = Rows(path, dim)
        read_rows(chain([first], blocks), rows, limit)
    return rows.done()


def write(path: Path, words: Sequence[str], vectors: Floats, counts: Counts | None = None) -> None:
    """Write GloVe text; counts are not part of the format."""
    sample = [word.encode() for word in words[:SAMPLE_ROWS]]
    # Of very long rows the reader's first block holds fewer to vote than the sample: then none may mislead it.
    alone = sum(map(len, sample)) + NUMBER_BYTES * vectors.shape[1] * len(sample) > BLOCK_BYTES
    if _agreed_dim(sample) or (alone and any(map(trailing_numbers, sample))):
        raise FormatError(
            f"{words[0]!r} and others of the first {min(len(words), SAMPLE_ROWS)} words end in a number, which GloVe "
            "text cannot tell from a vector; save as word2vec-text or mumon"
        )
    with atomic_file(path) as file:
        write_rows(file, words, vectors)


def line_blocks(stream: IO[bytes], offset: int, path: Path) -> Iterator[Block]:
    """Cut a stream, which stands at byte `offset`, into blocks of whole lines, without the blank lines that end it."""
    rest = b""
    while chunk := stream.read(BLOCK_BYTES):
        data = rest + chunk
        # blank lines wait for the next block: only there it shows whether they end the file
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


def read_rows(blocks: Iterable[Block], rows: Rows, limit: int | None) -> int | None:
    """Parse rows until `limit` are there; return the byte offset of a further row, if there is one."""
    for offset, lines in blocks:
        wanted = len(lines) if limit is None else min(len(lines), limit - len(rows.words))
        _add_block(rows, lines[:wanted], offset)
        if wanted < len(lines):
            return offset + sum(map(len, lines[:wanted])) + wanted
    return None


def _add_block(rows: Rows, lines: list[bytes], offset: int) -> None:
    """Parse all the numbers of a block at once; only when that fails look at its lines one by one."""
    words: list[bytes] = []
    fields: list[bytes] = []
    doubtful = False
    for line in lines:
        word, *numbers = line.rstrip(b" \r").rsplit(b" ", rows.dim)
        words.append(word)
        fields += numbers
        doubtful |= line.find(b"_", len(word)) >= 0  # float() reads 1_0 as 10
    try:
        with np.errstate(over="ignore"):
            values = np.fromiter(map(float, fields), np.float32, len(fields))
        if not doubtful and np.isfinite(values).all():
            rows.add(words, values.reshape(len(lines), rows.dim))
            return
    except ValueError:
        pass
    _add_one_by_one(rows, lines, offset)


def _add_one_by_one(rows: Rows, lines: list[bytes], offset: int) -> None:
    for line in lines:
        place = f"{rows.path}: row {len(rows.words) + 1} at byte {offset}"
        word, *fields = line.rstrip(b" \r").rsplit(b" ", rows.dim)
        if len(fields) < rows.dim or None in map(_number, fields):
            word, *fields = line.rsplit(maxsplit=rows.dim) or [b""]  # perhaps tabs, or runs of spaces
        numbers = [number for number in map(_number, fields) if number is not None]
        if len(fields) < rows.dim:
            raise FormatError(
                f"{place} has {len(fields)} numbers where {rows.dim} were expected; the file may be truncated"
            )
        if len(numbers) < rows.dim:
            bad = next(field for field in fields if _number(field) is None)
            raise FormatError(
                f"{place} has {bad[:40].decode('utf-8', 'replace')!r} among the {rows.dim} numbers that end it; "
                "the file may be damaged"
            )
        with np.errstate(over="ignore"):
            values = np.array(numbers, np.float32)
        if not np.isfinite(values).all():
            column = int(np.isfinite(values).argmin())
            raise FormatError(
                f"{place} has number {column + 1} not finite ({fields[column][:40].decode()!r}); remove the row"
            )
        rows.add([word], values[None])
        offset += len(line) + 1


def _number(field: bytes) -> float | None:
    try:
        return None if b"_" in field else float(field)
    except ValueError:
        return None


def trailing_numbers(line: bytes) -> int:
    """How many of a line's last fields are numbers, not counting its first field, which is always a word."""
    fields = line.split(b" ")[1:]
    return next((n for n, field in enumerate(reversed(fields)) if _number(field) is None), len(fields))


def _agreed_dim(lines: Iterable[bytes]) -> int:
    """D by vote: a word that ends in a number ('windows 95') or a cut row must not decide alone; ties go low."""
    votes = Counter(trailing_numbers(line) for line in lines)
    return max(sorted(votes), key=lambda dim: votes[dim])


def write_rows(file: IO[bytes], words: Sequence[str], vectors: Floats) -> None:
    """Write 'word number…' lines; nine significant digits bring every float32 back exactly."""
    for row, word in enumerate(words):
        if "\n" in word or "\r" in word:
            raise FormatError(f"{word!r} (word {row + 1}) holds a line break, which no text format can; save as mumon")
    longest = max(words, key=len)
    if 4 * len(longest) + NUMBER_BYTES * vectors.shape[1] > MAX_ROW_BYTES:  # 4: bytes of a letter, at most
        raise FormatError(
            f"a row of {vectors.shape[1]:,} numbers and a word of {len(longest):,} letters is too long for a text "
            "format; save as mumon"
        )
    spaced = [word for word in words if " " in word]
    if spaced:
        log.warning("%d words contain spaces, like %r, which not every program can read back", len(spaced), spaced[0])
    template = "%s" + " %.9g" * vectors.shape[1] + "\n"
    for start in range(0, len(words), 1024):
        block = vectors[start : start + 1024].tolist()
        lines = (template % (word, *row) for word, row in zip(words[start : start + 1024], block, strict=True))
        file.write("".join(lines).encode())
