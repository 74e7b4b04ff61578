"""Writing the encoded corpus: every word's id and every sentence's offset, in one pass over the text.

The reader cuts each file into pieces of about 1 MiB that end between words. A pool of threads repairs UTF-8, tokenises
and numbers the words, each thread with its own hash table (`kernels/tokens.py`). The main thread appends ids and
sentence ends to two files, in the order of the text. At the end the tables are merged, words are ranked by count and
then by bytes, and the ids are replaced by ranks. So the numbering does not depend on the number of threads, and memory
is the tables (one per thread, at most 8) plus fixed buffers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus.sources import count_bytes, read_pieces
from mumon.corpus.text import Piece, TextOptions, prepare
from mumon.corpus.word_table import ByteTable, Ids, TokenTable, rank_tables
from mumon.errors import CorpusError, OptionError
from mumon.utils.arrow import wrap_numbers
from mumon.utils.progress import Progress
from mumon.utils.threads import work_ahead

# A longer sentence is cut, without losing a token, so that blocks of work and their buffers stay small.
MAX_SENTENCE = 10_000
# Each encoding thread has its own word table; with more threads than this, their memory costs more than they save.
MAX_ENCODERS = 8
TOKENS_AT_ONCE = 1 << 20
NO_IDS = np.empty(0, np.int32)


class CorpusWriter:
    """Appends ids and sentence ends to two files, then replaces the ids by ranks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokens = self.sentences = self._last_end = 0
        self.integers = False  # whether the tokens are integers, whose decimals are the words
        self._spans: list[tuple[int, int, int]] = []
        self._ids = (folder / "ids.i32").open("wb")
        self._offsets = (folder / "offsets.i64").open("wb")
        self._offsets.write(np.int64(0).tobytes())

    def append(self, table: int, ids: Ids, ends: npt.NDArray[np.int64]) -> None:
        """Append tokens.

        Parameters
        ----------
        table
            The number of the table that the ids are from.
        ids
            The tokens.
        ends
            For each sentence end, the number of tokens of this call before it.
        """
        ends = ends + self.tokens
        ends = ends[np.diff(ends, prepend=self._last_end) > 0]  # empty lines are not sentences
        if len(ends):
            cuts = _cut_long_sentences(self._last_end, ends)
            self._offsets.write(cuts.tobytes())
            self.sentences += len(cuts)
            self._last_end = int(ends[-1])
        self._ids.write(ids.data)
        self._spans.append((table, self.tokens, self.tokens + len(ids)))
        self.tokens += len(ids)

    def finish(self, tables: list[Any]) -> None:
        """Close the files and replace each table's numbering by ranks over the whole corpus.

        Parameters
        ----------
        tables
            All tables, by their numbers.
        """
        import pyarrow as pa

        self.append(0, NO_IDS, np.zeros(1, np.int64))  # a sentence that is still open ends here
        self.close()
        words, counts, ranks = rank_tables(tables)
        # Neighbouring spans stay together: a thread's buffer must not write back what is between two of them.
        each = -(-len(self._spans) // len(tables))
        parts = [self._spans[first : first + each] for first in range(0, len(self._spans), each)]
        with ThreadPoolExecutor(len(tables), "mumon-renumber") as pool:
            list(pool.map(lambda spans: self._renumber(spans, ranks), parts))
        columns = pa.Table.from_arrays([words, wrap_numbers(counts)], ["word", "count"])
        with pa.OSFile(str(self.folder / "words.arrow"), "wb") as sink, pa.ipc.new_file(sink, columns.schema) as writer:
            writer.write_table(columns)
        pa.default_memory_pool().release_unused()  # sorting is over, and training needs the memory

    def _renumber(self, spans: list[tuple[int, int, int]], ranks: list[Ids]) -> None:
        """Read and write span by span: a memory map would count as memory that grows with the corpus."""
        from mumon.kernels.tokens import renumber

        with (self.folder / "ids.i32").open("r+b") as file:
            for table, begin, end in spans:
                ids = np.empty(end - begin, np.int32)
                file.seek(4 * begin)
                file.readinto(ids.data)
                renumber(ids, ranks[table])
                file.seek(4 * begin)
                file.write(ids.data)

    def report(self, progress: Progress) -> None:
        """Report what was read; if that is nothing, an error follows."""
        if self.tokens:
            progress.finish(f"read {self.tokens:,} tokens in {self.sentences:,} sentences", tokens=self.tokens)

    def close(self) -> None:
        """Close the files, finished or not."""
        try:
            self._ids.close()
        finally:  # closing fails, too, if the disk is full
            self._offsets.close()


def _cut_long_sentences(begin: int, ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    starts = np.concatenate([[begin], ends[:-1]])
    if np.all(ends - starts <= MAX_SENTENCE):
        return ends
    pieces = [
        np.append(np.arange(start + MAX_SENTENCE, end, MAX_SENTENCE), end)
        for start, end in zip(starts, ends, strict=True)
    ]
    return np.asarray(np.concatenate(pieces), np.int64)


def encode_files(
    names: list[str], options: TextOptions, folder: Path, workers: int, progress: Progress
) -> tuple[CorpusWriter, int]:
    """Encode files into a folder.

    Parameters
    ----------
    names
        The files, as `find_files` lists them.
    options
        How to read them.
    folder
        Where the encoding is written.
    workers
        The number of threads.
    progress
        Receives the bytes that are read.

    Returns
    -------
    tuple of CorpusWriter and int
        The writer, finished, and the number of characters that were not UTF-8.
    """
    from mumon.kernels.jit import is_compiled

    needed = {"encode_text": True, "split_running_text": options.tokenize, "lower_text": options.lowercase}
    if not all(is_compiled(kernel) for kernel, used in needed.items() if used):
        progress.note("compiling the tokeniser, once for this machine …")
    progress.start("reading", count_bytes(names), "B")
    ahead = work_ahead(_load_what_finishes, "mumon-load-tokeniser")
    tables = create_tables(workers)
    done = replaced = 0

    def advance(amount: int) -> None:
        nonlocal done
        done += amount

    def pieces() -> Iterator[Piece]:
        for name in names:
            yield from read_pieces(name, options, advance)

    writer = CorpusWriter(folder)
    try:
        for index, ids, ends, bad in encode_pieces(pieces(), options, tables):
            writer.append(index, ids, ends)
            replaced += bad
            if ahead is not None:
                ahead.join()
                ahead = None
            progress.update(done, tokens=writer.tokens)
        writer.finish(tables)
    finally:
        writer.close()
    writer.report(progress)
    return writer, replaced


def _load_what_finishes() -> None:
    """Load what is needed later on, while the first pieces are encoded: Arrow, and the kernels of large tables."""
    import pyarrow.compute  # noqa: F401

    from mumon.kernels.tokens import renumber

    ByteTable(2).grow_slots()
    renumber(np.zeros(1, np.int32), np.zeros(1, np.int32))


def create_tables(workers: int) -> list[ByteTable]:
    """Create a word table for each of the threads that will encode."""
    return [ByteTable() for _ in range(max(1, min(workers, MAX_ENCODERS)))]


def encode_pieces(
    pieces: Iterable[Piece], options: TextOptions, tables: list[ByteTable]
) -> Iterator[tuple[int, Ids, npt.NDArray[np.int64], int]]:
    """Encode pieces with one thread per table.

    Parameters
    ----------
    pieces
        The text.
    options
        How to read it.
    tables
        Word tables, which are changed.

    Yields
    ------
    tuple
        For each piece, in order: the index of the table that numbered its words, their types, the ends of its
        sentences, and the number of characters that were not UTF-8.
    """
    free: SimpleQueue[int] = SimpleQueue()
    for index in range(len(tables)):
        free.put(index)

    def encode(piece: Piece) -> tuple[int, Ids, npt.NDArray[np.int64], int]:
        text, bad = prepare(piece, options)
        index = free.get()
        try:
            return (index, *tables[index].encode(text), bad)
        finally:
            free.put(index)

    with ThreadPoolExecutor(len(tables), "mumon-encode") as pool:
        yield from _map_in_order(pool, encode, pieces, 2 * len(tables))


def _map_in_order(pool: ThreadPoolExecutor, function: Any, items: Iterable[Any], ahead: int) -> Iterator[Any]:
    """Map a function over items with a pool, in order, with at most `ahead` results waiting in memory."""
    waiting: deque[Future[Any]] = deque()
    try:
        for item in items:
            try:
                waiting.append(pool.submit(function, item))
            except RuntimeError:  # the pool starts each thread when it is needed
                raise OptionError("the system starts no more threads; ask for fewer (--threads)") from None
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def encode_sequences(sentences: Iterable[Iterable[Any]], folder: Path, progress: Progress) -> tuple[CorpusWriter, int]:
    """Encode an iterable of token sequences, which is read once, into a folder.

    Parameters
    ----------
    sentences
        Sequences of strings, or of integers.
    folder
        Where the encoding is written.
    progress
        Receives the sentences that are read.

    Returns
    -------
    tuple of CorpusWriter and int
        The writer, finished, and the number of tokens that were not valid Unicode.
    """
    try:
        total = len(sentences)  # type: ignore[arg-type]
    except TypeError:
        total = 0
    progress.start("reading", total, "sentences")
    table, writer = TokenTable(), CorpusWriter(folder)
    waiting: list[Ids] = []
    ends: list[int] = []
    size = 0

    def flush() -> None:
        nonlocal size
        ids = np.concatenate([NO_IDS, *waiting])
        table.count(ids)
        writer.append(0, ids, np.array(ends, np.int64))
        waiting.clear()
        ends.clear()
        size = 0

    try:
        for number, sentence in enumerate(sentences):
            if isinstance(sentence, str | bytes):
                raise CorpusError(
                    f"sentence {number} is a string, not a list of tokens; split it first (text.split()), "
                    "or name files with corpus_file="
                )
            try:
                waiting.append(table.encode(sentence))
            except TypeError as error:
                raise CorpusError(
                    f"sentence {number} is not a list of words ({error}); give a list of strings for each"
                ) from None
            size += len(waiting[-1])
            ends.append(size)
            if size >= TOKENS_AT_ONCE:
                flush()
                progress.update(number + 1, tokens=writer.tokens)
        flush()
        writer.finish([table])
        writer.integers = table.integers
    finally:
        writer.close()
    writer.report(progress)
    return writer, table.replaced
