"""Word tables: every distinct word that was read and its count, numbered in the order of first sight."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mumon.errors import CorpusError
from mumon.kernels.layout import zeros_on_cache_lines
from mumon.utils.arrow import unwrap_numbers, wrap_bytes, wrap_numbers

Ids = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
FIRST_PLACES = 1 << 16  # of a table of words, which doubles when it is half full
SLOT_BYTES = 32
MOST_TYPES = 1 << 31  # distinct words that ids of 32 bits can tell apart
NEWLINE, SPACE = 10, 32
ONE_KIND = "give all of them as strings (str()), or all as integers"


class HashTable:
    """Distinct byte strings in arrays that kernels fill and search (kernels/hash_table.py).

    Each string has a number, its type, in the order of arrival. The tables of a corpus and of phrases differ in what
    their kernels take as the key of a string; they share the arrays and how these grow.

    Parameters
    ----------
    places
        How many the table has at first, a power of 2; at most half of them are used.
    """

    two_keys: ClassVar[bool]  # whether the second number of a place is part of its string's key

    def __init__(self, places: int) -> None:
        self.types = 0
        self.slots = _new_slots(places)
        self.starts: Counts = np.zeros(places // 2 + 1, np.int64)
        self.arena: npt.NDArray[np.uint8] = np.empty(0, np.uint8)

    def grow_slots(self, factor: int = 2) -> None:
        """Make room for more types: `factor` times as many places."""
        from mumon.kernels.hash_table import move_slots

        larger = _new_slots(factor * len(self.slots))
        move_slots(self.slots, larger, self.two_keys)
        self.slots = larger
        self.starts = extend(self.starts, len(larger) // 2 + 1)

    def grow_arena(self, size: int) -> None:
        """Make room for more bytes: `size` of them in all."""
        self.arena = extend(self.arena[: self.starts[self.types]], size)


class ByteTable(HashTable):
    """Numbers the words of UTF-8 text. Use one per thread: calls on different tables run in parallel.

    Parameters
    ----------
    places
        How many the table has at first, a power of 2; it grows as words arrive.
    """

    two_keys = True

    def __init__(self, places: int = FIRST_PLACES) -> None:
        super().__init__(places)

    def encode(self, text: bytes | npt.NDArray[np.uint8]) -> tuple[Ids, Counts]:
        """Number the words of a text, and count them.

        Parameters
        ----------
        text
            UTF-8; words are separated by whitespace, as in `str.split`.

        Returns
        -------
        tuple
            The type of every word, and for every newline the number of words before it.
        """
        from mumon.kernels.tokens import encode_text

        data = np.frombuffer(text, np.uint8)
        data.setflags(write=False)  # as for bytes: Numba would compile the kernel again for a writable array
        ids = np.empty(len(data) // 2 + 1, np.int32)
        ends = np.empty(np.count_nonzero(data == NEWLINE) + 1, np.int64)
        at = tokens = lines = 0
        while True:
            at, self.types, tokens, lines = encode_text(
                data, at, self.slots, self.starts, self.arena, self.types, ids, ends, tokens, lines
            )
            _check_types(self.types)
            if at == len(data):
                return ids[:tokens], ends[:lines]
            self._make_room(len(data) - at)

    def join_words(self) -> npt.NDArray[np.uint8]:
        """Return the words as one text, by type, a space after each."""
        return self.arena[: self.starts[self.types]]

    def to_arrow(self) -> Any:
        """Return the words as an Arrow array of bytes, by type."""
        import pyarrow as pa

        starts = self.starts[: self.types + 1] - np.arange(self.types + 1)
        text = self.join_words()
        return pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), self.types, [None, pa.py_buffer(starts), pa.py_buffer(text[text != SPACE])]
        )

    def read_counts(self) -> Counts:
        """Return how often each type occurred."""
        from mumon.kernels.hash_table import COUNT, TYPE

        taken = self.slots[self.slots[:, TYPE] > 0]
        counts = np.empty(self.types, np.int64)
        counts[taken[:, TYPE] - 1] = taken[:, COUNT]
        return counts

    def merge(self, others: list[ByteTable]) -> tuple[Any, Counts, list[Ids]]:
        """Add the words of other tables to this one.

        Parameters
        ----------
        others
            Tables that stay as they are.

        Returns
        -------
        tuple
            All words and their counts; and for this table and each other, which of the words its types are.
        """
        types = [self.encode(other.join_words())[0] for other in others]
        counts = self.read_counts()
        for theirs, other in zip(types, others, strict=True):
            counts[theirs] += other.read_counts() - 1  # reading each word once has counted it once
        return self.to_arrow(), counts, [np.arange(self.types, dtype=np.int32), *types]

    def _make_room(self, size: int) -> None:
        """Make room for another batch of words, of any length, from the next `size` bytes of text."""
        from mumon.kernels.tokens import BATCH

        used = int(self.starts[self.types])
        if used + 2 * size > len(self.arena):
            self.grow_arena(2 * used + 2 * size)
        while self.types + BATCH > len(self.slots) // 2:
            self.grow_slots()


def _new_slots(places: int) -> npt.NDArray[np.uint64]:
    """Return an empty table whose places do not straddle cache lines."""
    return zeros_on_cache_lines(places * SLOT_BYTES).view(np.uint64).reshape(places, -1)


def extend(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    """Return a copy of an array, followed by zeros up to `length`."""
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


class TokenTable:
    """Numbers the tokens of Python sequences: strings, or integers."""

    def __init__(self) -> None:
        self._types: defaultdict[Any, int] = defaultdict(count().__next__)
        self._counts: Counts = np.zeros(0, np.int64)
        self.replaced = 0
        self.integers = False  # whether the tokens are integers: known once `to_arrow` has looked at them

    def encode(self, tokens: Iterable[Any]) -> Ids:
        """Return the type of every token."""
        if isinstance(tokens, np.ndarray):
            tokens = tokens.tolist()  # Python's numbers are looked up faster than NumPy's
        try:
            ids = np.fromiter(map(self._types.__getitem__, tokens), np.int32)
        finally:  # past the limit some releases of NumPy raise an OverflowError and others wrap around
            _check_types(len(self._types))
        return ids

    def count(self, ids: Ids) -> None:
        """Add to the counts; apart from `encode` because it costs a pass over all types."""
        self._counts = extend(self._counts, len(self._types))
        self._counts += np.bincount(ids, minlength=len(self._types))

    def to_arrow(self) -> Any:
        """Return the words as an Arrow array of bytes, by type."""
        first = next(iter(self._types), "")
        self.integers = _is_integer(first)
        for token in self._types if self.integers else ():
            if not _is_integer(token):
                raise CorpusError(f"some tokens are integers, like {first}, and others not, like {token!r}; {ONE_KIND}")
        return wrap_bytes([self._to_bytes(token) for token in self._types])

    def merge(self, others: list[TokenTable]) -> tuple[Any, Counts, list[Ids]]:
        """Do as `ByteTable.merge` does for this table alone; only tokens without UTF-8 may have become equal."""
        assert not others
        words = self.to_arrow()
        types: Ids = np.arange(len(words), dtype=np.int32)
        if not self.replaced:
            return words, self._counts, [types]
        distinct = words.dictionary_encode()
        types = unwrap_numbers(distinct.indices)
        counts = np.zeros(len(distinct.dictionary), np.int64)
        np.add.at(counts, types, self._counts)
        return distinct.dictionary, counts, [types]

    def _to_bytes(self, token: Any) -> bytes:
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


def sort_by_rank(words: Any, counts: Counts) -> tuple[Any, Counts]:
    """Sort words by rank: by count, most frequent first, then by bytes.

    Parameters
    ----------
    words
        An Arrow array of bytes.
    counts
        How often each word occurs.

    Returns
    -------
    tuple
        The words and their counts in the new order.
    """
    order = _find_order(words, counts)
    return words.take(wrap_numbers(order)), counts[order]


def rank_tables(tables: list[Any]) -> tuple[Any, Counts, list[Ids]]:
    """Merge tables into one list of words, sorted by rank.

    Ranks go by count, most frequent first, then by bytes: they do not depend on threads or on the order of the text.

    Parameters
    ----------
    tables
        `ByteTable`s, or one `TokenTable`.

    Returns
    -------
    tuple
        The words, their counts, and for each table the rank of each of its types.
    """
    words, counts, types = tables[0].merge(tables[1:])
    order = _find_order(words, counts)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return words.take(wrap_numbers(order)), counts[order], [ranks[theirs] for theirs in types]


def _find_order(words: Any, counts: Counts) -> npt.NDArray[np.int64]:
    """Return the types by count, then by bytes. Half of all words occur once: they are sorted in another thread."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def sort_repeated() -> npt.NDArray[np.int64]:
        types = np.flatnonzero(counts > 1)
        columns = [wrap_numbers(counts[types]), words.take(wrap_numbers(types))]
        keys = [("count", "descending"), ("word", "ascending")]
        order = pc.sort_indices(pa.Table.from_arrays(columns, ["count", "word"]), keys)
        return np.asarray(types[unwrap_numbers(order)])

    def sort_single() -> npt.NDArray[np.int64]:
        types = np.flatnonzero(counts == 1)
        return np.asarray(types[unwrap_numbers(pc.array_sort_indices(words.take(wrap_numbers(types))))])

    with ThreadPoolExecutor(1) as pool:
        single = pool.submit(sort_single)
        return np.concatenate([sort_repeated(), single.result()])
