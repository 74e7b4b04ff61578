"""TensorBoard's Embedding Projector: NAME.tsv, numbers between tabs, and NAME.metadata.tsv beside it with the words.

Metadata of more than one column has a header, here `word` and `count`; a single column of words has none. The projector
tells them apart by that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np

from mumon.errors import FormatError, list_names
from mumon.formats.base import Block, Source, Stream, as_format_errors, open_stream
from mumon.formats.paired_files import METADATA_ENDING, LineReader, atomic_pair, find_side_file, name_side_file
from mumon.formats.text_rows import ROWS_AT_ONCE, Lines, TextRows, check_words_fit_lines, read_line_blocks


def find_metadata(path: Path) -> Path:
    """Find the file of words: by our name for it, or that of TensorFlow's tutorials or of gensim's script."""
    stem = path.name.removesuffix(".tsv")
    others = [path.with_name("metadata.tsv")] if stem == "vectors" else []
    if stem.endswith("_tensor"):
        others.append(path.with_name(stem.removesuffix("_tensor") + "_metadata.tsv"))
    for place in (name_side_file(path, METADATA_ENDING), *others):
        if place.is_file():
            return place
    return find_side_file(path, METADATA_ENDING)


@contextmanager
def open_source(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open the two files of numbers and words."""
    with as_format_errors(path):
        side = find_metadata(path)
    with open_stream(path) as stream, open_stream(side) as lines:
        with as_format_errors(path):
            blocks = read_line_blocks(stream.file, 0, path)
            first = next(blocks, None)
        if first is None:
            raise FormatError(f"{path} is empty (0 bytes of vectors); write or download it again")
        rows = TextRows(path, first[1][0].count(b"\t") + 1, wordless=True)
        metadata = _Metadata(lines, side)
        read = _read_blocks(rows, chain([first], blocks), metadata, limit)
        yield Source(path, rows.dim, read, limit, has_counts=metadata.has_counts, size=stream.size, tell=stream.tell)


class _Metadata:
    """Words and perhaps counts, from the columns that have them."""

    def __init__(self, stream: Stream, path: Path) -> None:
        self._lines, self._path = LineReader(stream.file, path), path
        first = self._lines.take(1)
        names = first[0].split("\t")
        self._first_word = first if len(names) == 1 else []  # there is no header
        self._columns = len(names)
        lowered = [name.strip().lower() for name in names]
        self._word = next((lowered.index(name) for name in ("word", "label", "name") if name in lowered), 0)
        self._count = lowered.index("count") if len(names) > 1 and "count" in lowered else None
        self.has_counts = self._count is not None
        if len(names) > 1 and self._word == self._count:
            raise FormatError(f"{path} has the columns {list_names(names)} and none called word; rename one")

    def take(self, rows: int) -> tuple[list[str], list[int] | None]:
        lines = [*self._first_word, *self._lines.take(rows - len(self._first_word))]
        self._first_word = []
        if self._columns == 1:
            return lines, None
        fields = [line.split("\t") for line in lines]
        place = f"{self._path}: line {self._lines.done - len(lines) + 1} and those after"
        try:
            if set(map(len, fields)) != {self._columns}:
                raise ValueError(f"not {self._columns} columns everywhere")
            counts = None if self._count is None else [int(row[self._count]) for row in fields]
            if counts and max(map(abs, counts)) >= 1 << 63:
                raise ValueError("a count of 2^63 or more")
        except ValueError as error:
            reason = str(error)[:60] if "column" in str(error) or "2^63" in str(error) else "a count that is no number"
            raise FormatError(f"{place} have {reason}; the file may be damaged") from None
        return [row[self._word] for row in fields], counts

    def check_end(self) -> None:
        self._lines.check_end()


def _read_blocks(rows: TextRows, lines: Iterator[Lines], metadata: _Metadata, limit: int | None) -> Iterator[Block]:
    parsed = rows.parse(lines, limit)
    while True:
        try:
            _, vectors = next(parsed)
        except StopIteration as end:
            if end.value is None and (limit is None or rows.done < limit):
                metadata.check_end()
            return
        words, counts = metadata.take(len(vectors))
        yield Block(words, vectors, None if counts is None else np.array(counts, np.int64))


def write_source(path: Path, source: Source, dtype: str) -> None:
    """Write numbers and words; the projector itself shows about the first 100,000."""
    template = "\t".join(["%.9g"] * source.dim) + "\n"
    done = 0
    with atomic_pair(path, name_side_file(path, METADATA_ENDING)) as (vectors, metadata):
        if source.has_counts:
            metadata.write(b"word\tcount\n")
        for block in source.blocks:
            check_words_fit_lines(block.words, done, source.dim)
            _check_tabs(block.words, done)
            for start in range(0, len(block.words), ROWS_AT_ONCE):
                rows = block.vectors[start : start + ROWS_AT_ONCE].tolist()
                vectors.write("".join([template % tuple(row) for row in rows]).encode())
            if block.counts is None:
                lines = [f"{word}\n" for word in block.words]
            else:
                lines = [f"{w}\t{count}\n" for w, count in zip(block.words, block.counts.tolist(), strict=True)]
            metadata.write("".join(lines).encode())
            done += len(block.words)


def _check_tabs(words: list[str], done: int) -> None:
    for row, word in enumerate(words):
        if "\t" in word:
            raise FormatError(
                f"{word[:60]!r} (word {done + row + 1}) holds a tab, which the projector's files cannot; save as mumon"
            )
