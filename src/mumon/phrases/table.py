"""A dictionary of byte strings and their counts in arrays, so that compiled loops can use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus.word_table import HashTable, extend

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
FIRST_PLACES = 1 << 12
FIRST_BYTES = 1 << 16  # of the arena
SLACK = 8  # as in kernels/strings.py, which is imported only where it is needed: Numba takes its time
SMALL_TABLE = 1 << 20  # places; smaller tables grow by more, for moving takes a while


class Strings:
    """Byte strings one after the other: number i is data[bounds[i]:bounds[i+1]]."""

    def __init__(self, data: Bytes, bounds: Numbers) -> None:
        self.data, self.bounds = data, bounds

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> Strings:
        """Encode Python's strings as UTF-8; half a character, which UTF-8 has no bytes for, is passed on as it is."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        bounds = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=bounds[1:])
        return cls(pad(np.frombuffer(b"".join(encoded), np.uint8)), bounds)

    @classmethod
    def from_arrow(cls, words: Any) -> Strings:
        """Copy the words of an encoded corpus, an Arrow array."""
        import pyarrow as pa

        array = words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
        array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
        _, offsets, data = array.cast(pa.large_binary()).buffers()
        bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
        return cls(pad(np.frombuffer(data, np.uint8)), bounds.copy())

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def concatenate(self, others: Strings) -> Strings:
        """Return these strings followed by the others."""
        used = self.bounds[-1]
        bounds = np.concatenate([self.bounds, others.bounds[1:] + used])
        return Strings(np.concatenate([self.data[:used], others.data]), bounds)

    def compute_hashes(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Return the hash of each string, and the power that joins it to the hash of what comes before it."""
        from mumon.kernels.strings import hash_strings

        codes, powers = np.empty(len(self), np.uint64), np.empty(len(self), np.uint64)
        hash_strings(self.data, self.bounds, codes, powers)
        return codes, powers

    def decode(self, numbers: Numbers | None = None) -> list[str]:
        """Return the strings with these numbers, or all of them, as Python's strings."""
        data = self.data.tobytes()
        spans: Iterable[tuple[int, int]] = pairwise(self.bounds.tolist())
        if numbers is not None:
            spans = zip(self.bounds[numbers].tolist(), self.bounds[numbers + 1].tolist(), strict=True)
        return [data[begin:end].decode("utf-8", "surrogatepass") for begin, end in spans]


class StringTable(HashTable):
    """Distinct strings (types), numbered in the order of their arrival, and how often each was counted.

    Beside the hash of a string, a place holds the pair of words that it was last found for, and counts that pair until
    `collect_counts` moves the count (kernels/pairs.py).
    """

    two_keys = False

    def __init__(self, places: int = FIRST_PLACES) -> None:
        super().__init__(places)
        self.arena = np.zeros(FIRST_BYTES, np.uint8)
        self.count_array: Numbers = np.zeros(len(self.starts), np.int64)  # with room for more types

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> StringTable:
        """Make a table of these strings, in this order."""
        table = cls()
        table.add(Strings.from_texts(counts), np.fromiter(counts.values(), np.int64, len(counts)))
        return table

    def __len__(self) -> int:
        return self.types

    @property
    def counts(self) -> Numbers:
        """How often each type was counted."""
        return self.count_array[: self.types]

    @property
    def strings(self) -> Strings:
        """All strings, by type; a view, to be used before the table grows."""
        return Strings(self.arena, self.starts[: self.types + 1])

    def add(self, strings: Strings, amounts: Numbers) -> None:
        """Add to the counts of strings; those that are not there yet become types."""
        from mumon.kernels.strings import add_strings

        at = 0
        while True:
            at, self.types = add_strings(
                strings.data, strings.bounds, amounts, at,
                self.slots, self.starts, self.arena, self.count_array, self.types,
            )  # fmt: skip
            if at == len(strings):
                return
            self.make_room(int(strings.bounds[at + 1] - strings.bounds[at]))

    def make_room(self, size: int = 0) -> None:
        """Make room for more types if that is what is missing, else for more bytes, at least `size` of them."""
        if self.types + 2 < len(self.slots) // 2:
            self.grow_arena(2 * len(self.arena) + size)
            return
        self.grow_slots(4 if len(self.slots) < SMALL_TABLE else 2)
        self.count_array = extend(self.count_array, len(self.starts))

    def collect_counts(self, forget: bool = False) -> None:
        """Add the counts of pairs to those of their strings; `forget` the pairs when words get other numbers."""
        from mumon.kernels.strings import collect_counts

        collect_counts(self.slots, self.count_array, forget)

    def find(self, strings: Strings) -> Numbers:
        """Return the type of each string, -1 where there is none."""
        from mumon.kernels.strings import find_strings

        found = np.empty(len(strings), np.int64)
        find_strings(strings.data, strings.bounds, self.slots, self.starts, self.arena, found)
        return found

    def get_count(self, text: str) -> int:
        """Return how often one string was counted."""
        (kind,) = self.find(Strings.from_texts([text])).tolist()
        return 0 if kind < 0 else int(self.counts[kind])

    def drop_rare(self, least: int) -> StringTable:
        """Return a table of the strings that were counted `least` times or more."""
        frequent = np.flatnonzero(self.counts >= least)
        table = StringTable()
        table.add(self.select(frequent), self.counts[frequent])
        return table

    def select(self, types: Numbers) -> Strings:
        """Copy the strings of some types, which are in ascending order."""
        lengths = np.diff(self.starts[: self.types + 1])
        selected = np.zeros(self.types, bool)
        selected[types] = True
        data = self.arena[: self.starts[self.types]][np.repeat(selected, lengths)]
        return Strings(pad(data), np.concatenate([[0], np.cumsum(lengths[types])]))

    def to_dict(self, types: Numbers | None = None) -> dict[str, int]:
        """Return the strings, or those of some types, and their counts."""
        counts = self.counts if types is None else self.counts[types]
        return dict(zip(self.strings.decode(types), counts.tolist(), strict=True))


def pad(data: Bytes) -> Bytes:
    """Return the bytes and a few more, so that eight can be loaded from where the last one is."""
    return extend(data, len(data) + SLACK)
