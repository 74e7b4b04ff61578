"""Blocks of rows between readers and writers: drop repeated words, join blocks, or change their size."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mumon.errors import FormatError
from mumon.formats.base import Block, Floats, LoadedVectors, Source, as_format_errors

FIRST_NUMBERS = 1 << 20  # reserved while the number of rows is unknown

log = logging.getLogger(__name__)


def drop_repeated_words(source: Source) -> Source:
    """Return a source in which every word comes once and errors are one sentence."""
    if source.loaded is not None:
        return source
    return replace(source, blocks=_keep_first_rows(source))


def _read_blocks(source: Source) -> Iterator[Block]:
    """Read blocks; only errors of reading are translated, not those of the writer that takes the blocks."""
    while True:
        with as_format_errors(source.path):
            block = next(source.blocks, None)
        if block is None:
            return
        yield block


def _keep_first_rows(source: Source) -> Iterator[Block]:
    """Keep the first row of each word: published files repeat words, and replaced bytes can make two words equal."""
    seen: set[str] = set()
    dropped: list[str] = []
    total = 0.0
    for block in _read_blocks(source):
        total += _sum_counts(source, block)
        fresh = set(block.words)
        if len(fresh) == len(block.words) and seen.isdisjoint(fresh):
            seen |= fresh
            yield block
            continue
        fresh_rows = []
        for row, word in enumerate(block.words):
            if word in seen:
                dropped.append(word)
            else:
                seen.add(word)
                fresh_rows.append(row)
        if fresh_rows:
            counts = None if block.counts is None else block.counts[fresh_rows]
            yield Block([block.words[row] for row in fresh_rows], block.vectors[fresh_rows], counts)
    if not seen:
        raise FormatError(f"{source.path} holds 0 rows; write or download it again")
    if total >= 2.0**63:
        raise FormatError(f"{source.path}: the counts of its {len(seen)} words add up to 2^63 or more; correct them")
    if dropped:
        log.warning("%s: left out %d rows that repeat a word, like %r", source.path, len(dropped), dropped[0])


def _sum_counts(source: Source, block: Block) -> float:
    """Return the sum of the counts of a block; refuse counts below 0."""
    if block.counts is None or not len(block.counts):
        return 0.0
    if block.counts.min() < 0:
        row = int(block.counts.argmin())
        raise FormatError(
            f"{source.path}: the count of {block.words[row][:60]!r} is {block.counts[row]}, below 0; correct it"
        )
    return float(block.counts.sum(dtype=np.float64))


def read_all(source: Source) -> LoadedVectors:
    """Read all rows into one matrix, which grows as they come, so that a wrong header cannot exhaust the memory."""
    if source.loaded is not None:
        return source.loaded
    capacity = source.rows if source.size_checked and source.rows else max(1, FIRST_NUMBERS // source.dim)
    matrix: Floats = np.empty((capacity, source.dim), np.float32)
    words: list[str] = []
    counts = []
    for block in source.blocks:
        start, end = len(words), len(words) + len(block.words)
        if end > len(matrix):
            # refcheck=False: nothing else refers to the matrix yet; realloc avoids a second copy of it
            matrix.resize((max(end, 2 * len(matrix)), source.dim), refcheck=False)
        matrix[start:end] = block.vectors
        words += block.words
        counts.append(block.counts)
    matrix.resize((len(words), source.dim), refcheck=False)
    known = np.concatenate([part for part in counts if part is not None]) if source.has_counts else None
    return LoadedVectors(words, matrix, known, source.subwords)


def resize_blocks(source: Source, rows: int) -> Iterator[Block]:
    """Yield the same rows in blocks of exactly `rows`, except for the last."""
    waiting: list[Block] = []
    count = 0
    for block in source.blocks:
        start = 0
        while start < len(block.words):
            end = min(len(block.words), start + rows - count)
            part = slice(start, end)
            waiting.append(
                Block(block.words[part], block.vectors[part], None if block.counts is None else block.counts[part])
            )
            count += end - start
            start = end
            if count == rows:
                yield _join_blocks(waiting)
                waiting, count = [], 0
    if waiting:
        yield _join_blocks(waiting)


def _join_blocks(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    counts = [block.counts for block in blocks if block.counts is not None]
    words = [word for block in blocks for word in block.words]
    return Block(words, np.concatenate([b.vectors for b in blocks]), np.concatenate(counts) if counts else None)
