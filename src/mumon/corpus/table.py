"""Word tables: every distinct word met so far and how often, numbered in order of first sight."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.errors import CorpusError

Ids = npt.NDArray[np.int32]


class ByteTable:
    """Numbers the words of UTF-8 text. One per thread: calls on different tables run in parallel."""

    def __init__(self) -> None:
        self.types = 0
        self._slots: Ids = np.empty(0, np.int32)
        self._hashes: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
        self._starts: npt.NDArray[np.int64] = np.zeros(1, np.int64)
        self._arena: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self._counts: npt.NDArray[np.int64] = np.empty(0, np.int64)

    def encode(self, text: bytes) -> tuple[Ids, npt.NDArray[np.int64]]:
        """The type of every word, and for every newline the number of words before it."""
        from mumon.kernels.tokens import encode_text

        self._reserve(len(text))
        ids = np.empty(len(text) // 2 + 1, np.int32)
        ends = np.empty(text.count(b"\n"), np.int64)
        data = np.frombuffer(text, np.uint8)
        n, _, self.types = encode_text(
            data, self._slots, self._hashes, self._starts, self._arena, self._counts, self.types, ids, ends
        )
        return ids[:n], ends

    def words(self) -> Any:
        """The words as an Arrow array of bytes, by type."""
        import pyarrow as pa

        starts = self._starts[: self.types + 1]
        arena = self._arena[: starts[-1]]
        return pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), self.types, [None, pa.py_buffer(starts.copy()), pa.py_buffer(arena.copy())]
        )

    def counts(self) -> npt.NDArray[np.int64]:
        """How often each type occurred."""
        return self._counts[: self.types]

    def _reserve(self, size: int) -> None:
        """Room for every word of `size` bytes to be new, so that the kernel never has to stop and ask."""
        types = self.types + size // 2 + 1
        if types > len(self._hashes):
            room = types + types // 2
            self._hashes = _grown(self._hashes, room)
            self._starts = _grown(self._starts, room + 1)
            self._counts = _grown(self._counts, room)
        if self._starts[self.types] + size > len(self._arena):
            self._arena = _grown(self._arena, 2 * (int(self._starts[self.types]) + size))
        if 2 * types > len(self._slots):
            from mumon.kernels.tokens import fill_slots

            self._slots = np.full(1 << (3 * types - 1).bit_length(), -1, np.int32)
            fill_slots(self._slots, self._hashes, self.types)


class TokenTable:
    """Numbers the tokens of Python sequences."""

    def __init__(self) -> None:
        self._types: defaultdict[Any, int] = defaultdict(count().__next__)
        self._counts: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.replaced = 0

    def encode(self, tokens: Iterable[Any]) -> Ids:
        """The type of every token."""
        return np.fromiter(map(self._types.__getitem__, tokens), np.int32)

    def count(self, ids: Ids) -> None:
        """Add to the counts; apart from `encode` because it costs a pass over all types."""
        self._counts = _grown(self._counts, len(self._types))
        self._counts += np.bincount(ids, minlength=len(self._types))

    def words(self) -> Any:
        """The words as an Arrow array of bytes, by type."""
        import pyarrow as pa

        return pa.array([self._bytes(token) for token in self._types], pa.large_binary())

    def counts(self) -> npt.NDArray[np.int64]:
        """How often each type occurred."""
        return self._counts

    def _bytes(self, token: Any) -> bytes:
        if not isinstance(token, str):  # an integer too: as a key it means a row, as in gensim
            raise CorpusError(f"token {token!r} is a {type(token).__name__}, not a string; convert it first with str()")
        try:
            return token.encode()
        except UnicodeEncodeError:  # a lone surrogate has no UTF-8
            self.replaced += 1
            return token.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()


def _grown(array: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    longer = np.zeros(length, array.dtype)
    longer[: len(array)] = array
    return longer


def ranked(tables: list[Any]) -> tuple[Any, npt.NDArray[np.int64], list[Ids]]:
    """Merge tables: (words, counts, for each table the rank of each of its types).

    Ranks go by count, most frequent first, then by bytes: they do not depend on threads or on the order of the text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    merged = pa.chunked_array([table.words() for table in tables], pa.large_binary()).combine_chunks()
    merged = merged.dictionary_encode() if len(merged) else pa.array([], pa.large_binary()).dictionary_encode()
    provisional = merged.indices.to_numpy()
    counts = np.zeros(len(merged.dictionary), np.int64)
    np.add.at(counts, provisional, np.concatenate([table.counts() for table in tables]))
    order = pc.sort_indices(
        pa.table({"count": counts, "word": merged.dictionary}), [("count", "descending"), ("word", "ascending")]
    ).to_numpy()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    bounds = np.cumsum([len(table.counts()) for table in tables])[:-1]
    return merged.dictionary.take(pa.array(order)), counts[order], np.split(rank[provisional], bounds)
