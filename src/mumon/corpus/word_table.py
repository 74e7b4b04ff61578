"""Word tables: every distinct word met so far and how often, numbered in order of first sight."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.errors import CorpusError
from mumon.kernels.layout import zeros_on_cache_lines

Ids = npt.NDArray[np.int32]
FIRST_PLACES = 1 << 16  # of a word table, which doubles when it is half full
SLOT_BYTES = 32
MOST_TYPES = 1 << 31  # distinct words that ids of 32 bits can tell apart
NEWLINE, SPACE = 10, 32
ONE_KIND = "give all of them as strings (str()), or all as integers"


class ByteTable:
    """Numbers the words of UTF-8 text. One per thread: calls on different tables run in parallel."""

    def __init__(self, places: int = FIRST_PLACES) -> None:
        self.types = 0
        self._slots = _new_slots(places)
        self._starts: npt.NDArray[np.int64] = np.zeros(places // 2 + 1, np.int64)
        self._arena: npt.NDArray[np.uint8] = np.empty(0, np.uint8)

    def encode(self, text: bytes | npt.NDArray[np.uint8]) -> tuple[Ids, npt.NDArray[np.int64]]:
        """The type of every word, and for every newline the number of words before it."""
        from mumon.kernels.tokens import encode_text

        data = np.frombuffer(text, np.uint8)
        data.setflags(write=False)  # bytes are; Numba would compile the kernel again for an array that is not
        ids = np.empty(len(data) // 2 + 1, np.int32)
        ends = np.empty(np.count_nonzero(data == NEWLINE) + 1, np.int64)
        at = tokens = lines = 0
        while True:
            at, self.types, tokens, lines = encode_text(
                data, at, self._slots, self._starts, self._arena, self.types, ids, ends, tokens, lines
            )
            _check_types(self.types)
            if at == len(data):
                return ids[:tokens], ends[:lines]
            self._make_room(len(data) - at)

    def text(self) -> npt.NDArray[np.uint8]:
        """The words by type, a space after each."""
        return self._arena[: self._starts[self.types]]

    def words(self) -> Any:
        """The words as an Arrow array of bytes, by type."""
        import pyarrow as pa

        starts = self._starts[: self.types + 1] - np.arange(self.types + 1)
        text = self.text()
        return pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), self.types, [None, pa.py_buffer(starts), pa.py_buffer(text[text != SPACE])]
        )

    def counts(self) -> npt.NDArray[np.int64]:
        """How often each type occurred."""
        from mumon.kernels.tokens import COUNT, TYPE

        taken = self._slots[self._slots[:, COUNT] > 0]
        counts = np.empty(self.types, np.int64)
        counts[taken[:, TYPE]] = taken[:, COUNT]
        return counts

    def merge(self, others: list[ByteTable]) -> tuple[Any, npt.NDArray[np.int64], list[Ids]]:
        """The words of all tables and their counts, and which of them the types of this table and of each other are."""
        types = [self.encode(other.text())[0] for other in others]
        counts = self.counts()
        for theirs, other in zip(types, others, strict=True):
            counts[theirs] += other.counts() - 1  # reading each word once has counted it once
        return self.words(), counts, [np.arange(self.types, dtype=np.int32), *types]

    def _make_room(self, size: int) -> None:
        """Room for another batch of words, however long the words of `size` bytes are."""
        from mumon.kernels.tokens import BATCH, move_slots

        used = int(self._starts[self.types])
        if used + 2 * size > len(self._arena):
            self._arena = _grown(self._arena, 2 * used + 2 * size)
        while self.types + BATCH > len(self._slots) // 2:
            larger = _new_slots(2 * len(self._slots))
            move_slots(self._slots, larger)
            self._slots = larger
            self._starts = _grown(self._starts, len(larger) // 2 + 1)


def _new_slots(places: int) -> npt.NDArray[np.uint64]:
    """An empty table whose places do not straddle cache lines."""
    return zeros_on_cache_lines(places * SLOT_BYTES).view(np.uint64).reshape(places, -1)


class TokenTable:
    """Numbers the tokens of Python sequences."""

    def __init__(self) -> None:
        self._types: defaultdict[Any, int] = defaultdict(count().__next__)
        self._counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.replaced = 0
        self.integers = False  # whether the tokens are integers: known when `words` has looked at them

    def encode(self, tokens: Iterable[Any]) -> Ids:
        """The type of every token."""
        if isinstance(tokens, np.ndarray):
            tokens = tokens.tolist()  # Python's numbers are looked up faster than NumPy's
        try:
            ids = np.fromiter(map(self._types.__getitem__, tokens), np.int32)
        finally:  # past the limit some releases of NumPy raise an OverflowError and others wrap around
            _check_types(len(self._types))
        return ids

    def count(self, ids: Ids) -> None:
        """Add to the counts; apart from `encode` because it costs a pass over all types."""
        self._counts = _grown(self._counts, len(self._types))
        self._counts += np.bincount(ids, minlength=len(self._types))

    def words(self) -> Any:
        """The words as an Arrow array of bytes, by type."""
        import pyarrow as pa

        first = next(iter(self._types), "")
        self.integers = _is_integer(first)
        for token in self._types if self.integers else ():
            if not _is_integer(token):
                raise CorpusError(f"some tokens are integers, like {first}, and others not, like {token!r}; {ONE_KIND}")
        return pa.array([self._bytes(token) for token in self._types], pa.large_binary())

    def merge(self, others: list[TokenTable]) -> tuple[Any, npt.NDArray[np.int64], list[Ids]]:
        """As of a `ByteTable`; here there is but one table, and only tokens that had no UTF-8 may have become equal."""
        assert not others
        words = self.words()
        types: Ids = np.arange(len(words), dtype=np.int32)
        if not self.replaced:
            return words, self._counts, [types]
        distinct = words.dictionary_encode()
        types = distinct.indices.to_numpy()
        counts = np.zeros(len(distinct.dictionary), np.int64)
        np.add.at(counts, types, self._counts)
        return distinct.dictionary, counts, [types]

    def _bytes(self, token: Any) -> bytes:
        if self.integers:
            return b"%d" % token
        if not isinstance(token, str):
            raise CorpusError(f"token {token!r} is a {type(token).__name__}, not a string; {ONE_KIND}")
        try:
            return token.encode()
        except UnicodeEncodeError:  # a lone surrogate has no UTF-8
            self.replaced += 1
            return token.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def _is_integer(token: Any) -> bool:
    return isinstance(token, int | np.integer) and not isinstance(token, bool)


def _check_types(types: int) -> None:
    if types > MOST_TYPES:
        raise CorpusError(
            f"the text has more than {MOST_TYPES:,} distinct words, the most there are numbers for; check that it is "
            "split into words, or read less of it"
        )


def _grown(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


def sort_by_rank(words: Any, counts: npt.NDArray[np.int64]) -> tuple[Any, npt.NDArray[np.int64]]:
    """Words and counts in the order of ranks."""
    import pyarrow as pa

    order = _order(words, counts)
    return words.take(pa.array(order)), counts[order]


def rank_tables(tables: list[Any]) -> tuple[Any, npt.NDArray[np.int64], list[Ids]]:
    """Merge tables: (words, counts, for each table the rank of each of its types).

    Ranks go by count, most frequent first, then by bytes: they do not depend on threads or on the order of the text.
    """
    import pyarrow as pa

    words, counts, types = tables[0].merge(tables[1:])
    order = _order(words, counts)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return words.take(pa.array(order)), counts[order], [ranks[theirs] for theirs in types]


def _order(words: Any, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The types by count, then by bytes. Half of all words occur once: they are sorted beside the others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def often() -> npt.NDArray[np.int64]:
        types = np.flatnonzero(counts > 1)
        columns = pa.table({"count": counts[types], "word": words.take(pa.array(types))})
        keys = [("count", "descending"), ("word", "ascending")]
        return np.asarray(types[pc.sort_indices(columns, keys).to_numpy()])

    def once() -> npt.NDArray[np.int64]:
        types = np.flatnonzero(counts == 1)
        return np.asarray(types[pc.array_sort_indices(words.take(pa.array(types))).to_numpy()])

    with ThreadPoolExecutor(1) as pool:
        rare = pool.submit(once)
        return np.concatenate([often(), rare.result()])
