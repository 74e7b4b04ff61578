"""NAME.npy, a matrix for np.load, and NAME.words.txt beside it with the word of each row on a line. No counts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from mumon.errors import FormatError
from mumon.formats.arrays import (
    BLOCK_BYTES,
    STORED_DTYPES,
    Layout,
    check_matrix,
    format_header,
    read_array_blocks,
    read_layout,
)
from mumon.formats.base import Block, Source, Stream, as_format_errors, check_finite, is_compressed, open_stream
from mumon.formats.paired_files import WORDS_ENDING, LineReader, atomic_pair, find_side_file, name_side_file
from mumon.formats.precision import narrow, widen
from mumon.formats.text_rows import check_words_fit_lines
from mumon.utils.compression import MAX_EXPANSION


@contextmanager
def open_source(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open a matrix and its words."""
    with as_format_errors(path):
        side = find_side_file(path, WORDS_ENDING)
    with open_stream(path) as stream, open_stream(side) as lines:
        with as_format_errors(path):
            layout = read_layout(stream.file, str(path))
            check_matrix(layout, str(path))
            packed = is_compressed(path)
            least = layout.offset + layout.nbytes
            if stream.size * (MAX_EXPANSION if packed else 1) < least and stream.size:
                raise FormatError(
                    f"{path} has {stream.size} bytes where its {layout.shape[0]} rows of {layout.shape[1]} numbers "
                    f"need {least}; the file may be truncated"
                )
        rows = layout.shape[0] if limit is None else min(limit, layout.shape[0])
        blocks = _read_blocks(stream, layout, LineReader(lines.file, side), rows, path)
        yield Source(path, layout.shape[1], blocks, rows, not packed, size=stream.size, tell=stream.tell)


def _read_blocks(stream: Stream, layout: Layout, lines: LineReader, rows: int, path: Path) -> Iterator[Block]:
    done, step = 0, max(1, BLOCK_BYTES // layout.row_bytes)
    for values in read_array_blocks(stream.file, layout, rows, step, str(path)):
        with np.errstate(over="ignore"):
            vectors = widen(values, None)
        check_finite(path, vectors, done)
        yield Block(lines.take(len(vectors)), vectors)
        done += len(vectors)
    if done == layout.shape[0]:
        lines.check_end()
        if stream.file.read(1):
            raise FormatError(f"{path} continues after the {done} rows of its header; is it two files?")


def write_source(path: Path, source: Source, dtype: str) -> None:
    """Write a matrix and its words; its header, which holds the number of rows, is written last."""
    kind = STORED_DTYPES[dtype]
    rows = 0
    with atomic_pair(path, name_side_file(path, WORDS_ENDING)) as (matrix, lines):
        matrix.write(format_header(kind, (0, source.dim)))
        for block in source.blocks:
            check_words_fit_lines(block.words, rows, 0)
            values, _ = narrow(block.vectors, dtype, block.words, rows)
            matrix.write(np.ascontiguousarray(values, kind).data)
            lines.write("".join([f"{word}\n" for word in block.words]).encode())
            rows += len(block.words)
        matrix.seek(0)
        matrix.write(format_header(kind, (rows, source.dim)))
