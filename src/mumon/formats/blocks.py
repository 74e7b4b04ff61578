"""Rows between readers and writers: each word once, gathered into a matrix, cut to another size."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mumon.errors import FormatError
from mumon.formats.base import Block, Floats, LoadedVectors, Source, as_format_errors

FIRST_NUMBERS = 1 << 20  # room made before the number of rows is known

log = logging.getLogger(__name__)


def drop_repeated_words(source: Source) -> Source:
    """What a reader gives, with its errors in one sentence and every word once."""
    if source.loaded is not None:
        return source
    return replace(source, blocks=_first_ones(source))


def _guarded(source: Source) -> Iterator[Block]:
    """Blocks, whose reading alone is guarded: what goes wrong where they are written is another matter."""
    while True:
        with as_format_errors(source.path):
            block = next(source.blocks, None)
        if block is None:
            return
        yield block


def _first_ones(source: Source) -> Iterator[Block]:
    """Published files do repeat words, and bytes that are not UTF-8 can make two alike: the first one counts."""
    seen: set[str] = set()
    dropped: list[str] = []
    counted = 0.0
    for block in _guarded(source):
        counted += _counted(source, block)
        fresh = set(block.words)
        if len(fresh) == len(block.words) and seen.isdisjoint(fresh):
            seen |= fresh
            yield block
            continue
        kept = []
        for row, word in enumerate(block.words):
            if word in seen:
                dropped.append(word)
            else:
                seen.add(word)
                kept.append(row)
        if kept:
            counts = None if block.counts is None else block.counts[kept]
            yield Block([block.words[row] for row in kept], block.vectors[kept], counts)
    if not seen:
        raise FormatError(f"{source.path} holds 0 rows; write or download it again")
    if counted >= 2.0**63:
        raise FormatError(f"{source.path}: the counts of its {len(seen)} words add up to 2^63 or more; correct them")
    if dropped:
        log.warning("%s: left out %d rows that repeat a word, like %r", source.path, len(dropped), dropped[0])


def _counted(source: Source, block: Block) -> float:
    """How often the words of a block were seen in training; refused if that cannot be."""
    if block.counts is None or not len(block.counts):
        return 0.0
    if block.counts.min() < 0:
        row = int(block.counts.argmin())
        raise FormatError(
            f"{source.path}: the count of {block.words[row][:60]!r} is {block.counts[row]}, below 0; correct it"
        )
    return float(block.counts.sum(dtype=np.float64))


def read_all(source: Source) -> LoadedVectors:
    """All rows in one matrix, which grows as they come, so that no header has to be believed."""
    if source.loaded is not None:
        return source.loaded
    capacity = source.rows if source.size_checked and source.rows else max(1, FIRST_NUMBERS // source.dim)
    matrix: Floats = np.empty((capacity, source.dim), np.float32)
    words: list[str] = []
    counts = []
    for block in source.blocks:
        start, end = len(words), len(words) + len(block.words)
        if end > len(matrix):
            # refcheck=False: nobody else holds the matrix yet; realloc avoids a second copy of it
            matrix.resize((max(end, 2 * len(matrix)), source.dim), refcheck=False)
        matrix[start:end] = block.vectors
        words += block.words
        counts.append(block.counts)
    matrix.resize((len(words), source.dim), refcheck=False)
    known = np.concatenate([part for part in counts if part is not None]) if source.has_counts else None
    return LoadedVectors(words, matrix, known, source.subwords)


def resize_blocks(source: Source, rows: int) -> Iterator[Block]:
    """The same rows in blocks of exactly so many, but for the last."""
    held: list[Block] = []
    count = 0
    for block in source.blocks:
        start = 0
        while start < len(block.words):
            end = min(len(block.words), start + rows - count)
            part = slice(start, end)
            held.append(
                Block(block.words[part], block.vectors[part], None if block.counts is None else block.counts[part])
            )
            count += end - start
            start = end
            if count == rows:
                yield _joined(held)
                held, count = [], 0
    if held:
        yield _joined(held)


def _joined(blocks: list[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    counts = [block.counts for block in blocks if block.counts is not None]
    words = [word for block in blocks for word in block.words]
    return Block(words, np.concatenate([b.vectors for b in blocks]), np.concatenate(counts) if counts else None)
