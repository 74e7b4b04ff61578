"""Reading some of a text as training would read all of it: which share, how fast, and which words are in it."""

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
SHARD_BYTES = 4 << 20  # places of this size are looked at, in random order
TURN = 8  # pieces of a packed file before another has its turn
LEAST = 4  # pieces, however long they take: fewer do not tell how much comes out of a packed file


@dataclass(frozen=True)
class Sample:
    """Text that was read, and what share of all it is (1 for all of it)."""

    corpus: EncodedCorpus
    share: float
    read_seconds: float  # of the sample, while its text was read
    rank_seconds: float  # of the sample, while its words were put in order
    packed: bool  # the beginnings of packed files, for there is no way into their middle
    encoded: bool = False  # by an earlier run: nothing needs to be read


class _NotEncodedError(Exception):
    pass


class _Stop(Progress):
    """Ends reading before it begins."""

    def start(self, stage: str, total: int, unit: str) -> None:
        raise _NotEncodedError


def read_sample(
    inputs: list[str], options: TextOptions, workers: int, progress: Progress, fresh: bool = False
) -> Sample:
    """What an earlier run encoded of these files; else, or if `fresh`, what can be read of them in a few seconds."""
    if fresh:
        return _read(inputs, options, workers, progress)
    try:
        return Sample(corpus_from_files(inputs, options, progress=_Stop()), 1.0, 0.0, 0.0, False, encoded=True)
    except _NotEncodedError:
        pass
    return _read(inputs, options, workers, progress)


def _read(inputs: list[str], options: TextOptions, workers: int, progress: Progress) -> Sample:
    ByteTable().encode(prepare(Piece(b"a b\n", ""), options)[0])  # compiles, or loads what was compiled
    shards = find_shards(inputs, options, SHARD_BYTES)
    total = count_bytes(find_files(inputs))
    whole = [shard.name for shard in shards if shard.begin == 0 and shard.end is None]
    packed = any(count_bytes([name]) > SHARD_BYTES for name in whole)  # else it would have been cut
    Random(1).shuffle(shards)
    reading = _Reading(shards, options, time.perf_counter() + SECONDS)
    times = [0.0, 0.0]

    def encode(folder: Any) -> tuple[CorpusWriter, int]:
        started = time.perf_counter()
        writer, tables = CorpusWriter(folder), create_tables(workers)
        progress.start("reading a sample", round(SECONDS * 1000), "ms")
        try:
            for table, ids, ends, _ in encode_pieces(reading.pieces(), options, tables):
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
    return Sample(corpus, reading.share(total), times[0], times[1], packed)


class _Reading:
    """Shards that are read in turns until the time is over, and how much of the files that was."""

    def __init__(self, shards: list[Shard], options: TextOptions, deadline: float) -> None:
        self._shards, self._options, self._deadline = shards, options, deadline
        self._text = 0  # bytes that were handed out
        self._known_text = self._known_raw = 0.0  # bytes of text, and the bytes of files that they came out of
        self.whole = False

    def pieces(self) -> Iterator[Piece]:
        """Some pieces of each shard after the other."""
        waiting = deque(_Shard(shard, self._options) for shard in self._shards)
        touched: list[_Shard] = []
        read = 0
        while waiting and (read < LEAST or time.perf_counter() < self._deadline):
            shard = waiting.popleft()
            if not shard.text:
                touched.append(shard)
            for _ in range(TURN):
                piece = next(shard.pieces, None)
                if piece is None:
                    shard.over = True
                    break
                shard.last = len(piece.data)
                shard.text += shard.last
                read += bool(piece.data.strip())
                yield piece
                if read >= LEAST and time.perf_counter() >= self._deadline:
                    break
            if not shard.over:
                waiting.append(shard)
        self.whole = not waiting
        self._text = sum(shard.text for shard in touched)
        for shard in touched:
            text, raw = shard.known()
            self._known_text, self._known_raw = self._known_text + text, self._known_raw + raw
            shard.pieces.close()

    def share(self, total: int) -> float:
        """Which share of the text in files of so many bytes was read."""
        if self.whole or not self._known_raw or not self._known_text:
            return 1.0 if self.whole else min(1.0, self._text / max(total, 1))
        return min(1.0, self._text / (total * self._known_text / self._known_raw))


class _Shard:
    """A shard that is being read. Packed files are taken in a MiB at a time, which is several of text."""

    def __init__(self, shard: Shard, options: TextOptions) -> None:
        self.pieces: Any = read_shard(shard, options, self._advance)
        self.text = self.last = self._raw = 0
        self._before: tuple[int, int] = (0, 0)
        self.over = False

    def _advance(self, amount: int) -> None:
        if amount and self._raw:  # what came out until the last piece came out of what had been taken in before
            self._before = (self.text - self.last, self._raw)
        self._raw += amount

    def known(self) -> tuple[int, int]:
        """Bytes of text, and those of the file that they are known to have come out of."""
        return (self.text, self._raw) if self.over else self._before
