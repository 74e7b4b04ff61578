"""Reads some of a text as training would read all of it: which share, how fast, and which words are in it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from mumon.corpus import EncodedCorpus, TextOptions, corpus_from_files
from mumon.corpus.encode import CorpusWriter, create_tables, encode_pieces
from mumon.corpus.encoded import encode_temporarily
from mumon.corpus.shards import Shard, find_shards, read_shard
from mumon.corpus.sources import count_bytes, find_files
from mumon.corpus.text import Piece, prepare
from mumon.corpus.word_table import ByteTable
from mumon.utils.progress import Progress

SECONDS = 4.0  # of reading
SHARD_BYTES = 4 << 20  # shards of this size are read, in random order
PIECES_IN_TURN = 8  # of a file, before another has its turn
LEAST_PIECES = 4  # however long they take: fewer do not show how much text a compressed file holds


@dataclass(frozen=True)
class Sample:
    """Text that was read, and which share of the whole it is (1 for all of it)."""

    corpus: EncodedCorpus
    share: float
    read_seconds: float  # of the sample, while its text was read
    rank_seconds: float  # of the sample, while its words were sorted
    compressed: bool  # only the beginnings of files, for compressed ones cannot be read from their middle
    encoded: bool = False  # by an earlier run: nothing needs to be read


class _NotEncodedError(Exception):
    pass


class _StopProgress(Progress):
    """Stops reading before it begins."""

    def start(self, stage: str, total: int, unit: str) -> None:
        raise _NotEncodedError


def read_sample(
    inputs: list[str], options: TextOptions, workers: int, progress: Progress, fresh: bool = False
) -> Sample:
    """Read a sample of a text, in a few seconds.

    Parameters
    ----------
    inputs
        Files of text.
    options
        How they are read.
    workers
        Threads that encode.
    progress
        Where reading is reported.
    fresh
        Read even if an earlier run has encoded the files; without it, that encoding is the sample.

    Returns
    -------
    Sample
        The text and what reading it took.
    """
    if fresh:
        return _read_shards(inputs, options, workers, progress)
    try:
        return Sample(corpus_from_files(inputs, options, progress=_StopProgress()), 1.0, 0.0, 0.0, False, encoded=True)
    except _NotEncodedError:
        pass
    return _read_shards(inputs, options, workers, progress)


def _read_shards(inputs: list[str], options: TextOptions, workers: int, progress: Progress) -> Sample:
    ByteTable().encode(prepare(Piece(b"a b\n", ""), options)[0])  # compiles, or loads what was compiled
    shards = find_shards(inputs, options, SHARD_BYTES)
    total = count_bytes(find_files(inputs))
    whole = [shard.name for shard in shards if shard.begin == 0 and shard.end is None]
    compressed = any(count_bytes([name]) > SHARD_BYTES for name in whole)  # else it would have been cut
    Random(1).shuffle(shards)
    reader = _ShardReader(shards, options, time.perf_counter() + SECONDS)
    times = [0.0, 0.0]

    def encode(folder: Any) -> tuple[CorpusWriter, int]:
        started = time.perf_counter()
        writer, tables = CorpusWriter(folder), create_tables(workers)
        progress.start("reading a sample", round(SECONDS * 1000), "ms")
        try:
            for table, ids, ends, _ in encode_pieces(reader.read_pieces(), options, tables):
                writer.append(table, ids, ends)
                progress.update(round((time.perf_counter() - started) * 1000), tokens=writer.tokens)
            times[0] = time.perf_counter() - started
            writer.finish(tables)
            times[1] = time.perf_counter() - started - times[0]
        finally:
            writer.close()
            progress.close()
        return writer, 0

    corpus = encode_temporarily(encode, ", ".join(inputs[:3]))
    return Sample(corpus, reader.measure_share(total), times[0], times[1], compressed)


class _ShardReader:
    """Reads shards in turns until the time is over, and knows how much of the files that was."""

    def __init__(self, shards: list[Shard], options: TextOptions, deadline: float) -> None:
        self._shards, self._options, self._deadline = shards, options, deadline
        self._text = 0  # bytes that were read
        self._known_text = self._known_raw = 0.0  # bytes of text, and the bytes of the files that hold them
        self.whole = False

    def read_pieces(self) -> Iterator[Piece]:
        """Yield some pieces of one shard after the other."""
        waiting = deque(_OpenShard(shard, self._options) for shard in self._shards)
        touched: list[_OpenShard] = []
        read = 0
        while waiting and (read < LEAST_PIECES or time.perf_counter() < self._deadline):
            shard = waiting.popleft()
            if not shard.text:
                touched.append(shard)
            for _ in range(PIECES_IN_TURN):
                piece = next(shard.pieces, None)
                if piece is None:
                    shard.over = True
                    break
                shard.last = len(piece.data)
                shard.text += shard.last
                read += bool(piece.data.strip())
                yield piece
                if read >= LEAST_PIECES and time.perf_counter() >= self._deadline:
                    break
            if not shard.over:
                waiting.append(shard)
        self.whole = not waiting
        self._text = sum(shard.text for shard in touched)
        for shard in touched:
            text, raw = shard.count_known()
            self._known_text, self._known_raw = self._known_text + text, self._known_raw + raw
            shard.pieces.close()

    def measure_share(self, total: int) -> float:
        """Return which share of the text was read, if its files have `total` bytes."""
        if self.whole or not self._known_raw or not self._known_text:
            return 1.0 if self.whole else min(1.0, self._text / max(total, 1))
        return min(1.0, self._text / (total * self._known_text / self._known_raw))


class _OpenShard:
    """A shard that is being read. Compressed files are read a MiB at a time, which is several MiB of text."""

    def __init__(self, shard: Shard, options: TextOptions) -> None:
        self.pieces: Any = read_shard(shard, options, self._advance)
        self.text = self.last = self._raw = 0
        self._before: tuple[int, int] = (0, 0)
        self.over = False

    def _advance(self, amount: int) -> None:
        if amount and self._raw:  # the text before the last piece was in the bytes read so far
            self._before = (self.text - self.last, self._raw)
        self._raw += amount

    def count_known(self) -> tuple[int, int]:
        """Return a number of bytes of text, and the number of bytes of the file that are known to hold them."""
        return (self.text, self._raw) if self.over else self._before
