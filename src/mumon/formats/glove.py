"""GloVe text, a line 'word number…' per word without a header; kōan writes and reads the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from mumon.errors import FormatError
from mumon.formats.base import Block, Source, as_format_errors, open_stream
from mumon.formats.text_rows import (
    BLOCK_BYTES,
    NUMBER_BYTES,
    Lines,
    TextRows,
    count_trailing_numbers,
    decode_words,
    read_line_blocks,
    write_rows,
)
from mumon.utils.atomic import atomic_file

SAMPLE_ROWS = 100  # rows that decide on D by vote


@contextmanager
def open_source(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open GloVe text; D is what most of the first rows agree on."""
    with open_stream(path) as stream:
        with as_format_errors(path):
            blocks = read_line_blocks(stream.file, 0, path)
            first = next(blocks, None)
        if first is None:
            raise FormatError(f"{path} is empty (0 bytes of vectors); write or download it again")
        dim = _vote_dim(line.rstrip(b" \r") for line in first[1][:SAMPLE_ROWS])
        if dim == 0:
            raise FormatError(f"{path}: row 1 at byte 0 has 0 numbers after its word; is this a file of vectors?")
        rows = _read_blocks(TextRows(path, dim), chain([first], blocks), limit)
        yield Source(path, dim, rows, limit, size=stream.size, tell=stream.tell)


def _read_blocks(rows: TextRows, lines: Iterable[Lines], limit: int | None) -> Iterator[Block]:
    for words, vectors in rows.parse(lines, limit):
        yield Block(decode_words(words), vectors)


def write_source(path: Path, source: Source, dtype: str) -> None:
    """Write GloVe text; counts are not part of the format."""
    sample: list[bytes] = []
    with atomic_file(path) as file:
        for block in write_rows(file, source):
            if len(sample) < SAMPLE_ROWS:
                sample += [word.encode() for word in block.words[: SAMPLE_ROWS - len(sample)]]
        _check_sample(sample, source.dim)


def _check_sample(sample: list[bytes], dim: int) -> None:
    # Of very long rows the reader's first block holds fewer than the sample: then none may end in a number.
    few = sum(map(len, sample)) + NUMBER_BYTES * dim * len(sample) > BLOCK_BYTES
    if _vote_dim(sample) or (few and any(map(count_trailing_numbers, sample))):
        raise FormatError(
            f"{sample[0].decode()[:60]!r} and others of the first {len(sample)} words end in a number, which GloVe "
            "text cannot tell from a vector; save as word2vec-text or mumon"
        )


def _vote_dim(lines: Iterable[bytes]) -> int:
    """Choose D by vote, so that a word that ends in a number ('windows 95') or a cut row does not decide alone.

    Of several with as many votes the lowest wins.
    """
    votes = Counter(count_trailing_numbers(line) for line in lines)
    return max(sorted(votes), key=lambda dim: votes[dim])
