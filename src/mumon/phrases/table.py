"""A dictionary of byte strings and their counts in arrays, so that compiled loops can use it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.kernels.layout import zeros_on_cache_lines

Numbers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
FIRST_PLACES = 1 << 12
SLACK = 8  # as in kernels/strings.py, which is imported where it is needed: Numba takes its time
SLOT_BYTES = 32
SMALL = 1 << 20  # places; smaller tables grow by more, for it takes a while to move


class Strings:
    """Byte strings one after the other: number i is data[bounds[i]:bounds[i+1]]."""

    def __init__(self, data: Bytes, bounds: Numbers) -> None:
        self.data, self.bounds = data, bounds

    @classmethod
    def of(cls, texts: Iterable[str]) -> Strings:
        """Python's strings as UTF-8; half a character, which UTF-8 has no bytes for, is passed on as it is."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        bounds = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=bounds[1:])
        return cls(padded(np.frombuffer(b"".join(encoded), np.uint8)), bounds)

    @classmethod
    def of_arrow(cls, words: Any) -> Strings:
        """The words of an encoded corpus."""
        import pyarrow as pa

        array = words.combine_chunks() if isinstance(words, pa.ChunkedArray) else words
        array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
        _, offsets, data = array.cast(pa.large_binary()).buffers()
        bounds = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
        return cls(padded(np.frombuffer(data, np.uint8)), bounds.copy())

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def followed_by(self, others: Strings) -> Strings:
        """These strings, then those."""
        used = self.bounds[-1]
        bounds = np.concatenate([self.bounds, others.bounds[1:] + used])
        return Strings(np.concatenate([self.data[:used], others.data]), bounds)

    def hashes(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """What the kernels join hashes by."""
        from mumon.kernels.strings import hash_strings

        codes, powers = np.empty(len(self), np.uint64), np.empty(len(self), np.uint64)
        hash_strings(self.data, self.bounds, codes, powers)
        return codes, powers

    def decoded(self, numbers: Numbers | None = None) -> list[str]:
        """The strings of these numbers, or all of them."""
        data = self.data.tobytes()
        spans: Iterable[tuple[int, int]] = pairwise(self.bounds.tolist())
        if numbers is not None:
            spans = zip(self.bounds[numbers].tolist(), self.bounds[numbers + 1].tolist(), strict=True)
        return [data[begin:end].decode("utf-8", "surrogatepass") for begin, end in spans]


class StringTable:
    """Distinct strings (types), numbered in the order of their arrival, and how often each was counted."""

    def __init__(self, places: int = FIRST_PLACES) -> None:
        self.types = 0
        self.slots = _new_slots(places)
        self.starts: Numbers = np.zeros(places // 2 + 1, np.int64)
        self.counts_: Numbers = np.zeros(places // 2, np.int64)
        self.arena: Bytes = np.zeros(1 << 16, np.uint8)

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> StringTable:
        """A table of these strings, in this order."""
        table = cls()
        table.add(Strings.of(counts), np.fromiter(counts.values(), np.int64, len(counts)))
        return table

    def __len__(self) -> int:
        return self.types

    @property
    def counts(self) -> Numbers:
        """How often each type was counted."""
        return self.counts_[: self.types]

    @property
    def strings(self) -> Strings:
        """All strings, by type; a view, to be used before the table grows."""
        return Strings(self.arena, self.starts[: self.types + 1])

    def add(self, strings: Strings, amounts: Numbers) -> None:
        """Count strings; those that are not there yet become types."""
        from mumon.kernels.strings import add_strings

        at = 0
        while True:
            at, self.types = add_strings(
                strings.data, strings.bounds, amounts, at, self.slots, self.starts, self.arena, self.counts_, self.types
            )
            if at == len(strings):
                return
            self.make_room(int(strings.bounds[at + 1] - strings.bounds[at]))

    def make_room(self, size: int = 0) -> None:
        """Room for more types if that is what is missing, else for more bytes, at least `size` of them."""
        from mumon.kernels.strings import move_slots

        if self.types + 2 < len(self.slots) // 2:
            used = int(self.starts[self.types])
            arena = np.zeros(2 * len(self.arena) + size, np.uint8)
            arena[:used] = self.arena[:used]
            self.arena = arena
            return
        larger = _new_slots((4 if len(self.slots) < SMALL else 2) * len(self.slots))
        move_slots(self.slots, larger)
        self.slots = larger
        self.starts, self.counts_ = (_longer(array, len(larger) // 2) for array in (self.starts, self.counts_))

    def settle(self, forget: bool = False) -> None:
        """Bring in what was counted beside the counts; `forget` when the words that were counted get other numbers."""
        from mumon.kernels.strings import settle

        settle(self.slots, self.counts_, forget)

    def find(self, strings: Strings) -> Numbers:
        """The type of each string, -1 where there is none."""
        from mumon.kernels.strings import find_strings

        found = np.empty(len(strings), np.int64)
        find_strings(strings.data, strings.bounds, self.slots, self.starts, self.arena, found)
        return found

    def count_of(self, text: str) -> int:
        """How often one string was counted."""
        (kind,) = self.find(Strings.of([text])).tolist()
        return 0 if kind < 0 else int(self.counts[kind])

    def without_rare(self, least: int) -> StringTable:
        """A table of the strings that were counted `least` times or more."""
        kept = np.flatnonzero(self.counts >= least)
        table = StringTable()
        table.add(self.chosen(kept), self.counts[kept])
        return table

    def chosen(self, types: Numbers) -> Strings:
        """The strings of some types, in ascending order, by themselves."""
        lengths = np.diff(self.starts[: self.types + 1])
        chosen = np.zeros(self.types, bool)
        chosen[types] = True
        data = self.arena[: self.starts[self.types]][np.repeat(chosen, lengths)]
        return Strings(padded(data), np.concatenate([[0], np.cumsum(lengths[types])]))

    def strings_of(self, types: Numbers) -> list[str]:
        """The strings of some types."""
        return self.strings.decoded(types)

    def to_dict(self, types: Numbers | None = None) -> dict[str, int]:
        """The strings, or those of some types, and their counts."""
        counts = self.counts if types is None else self.counts[types]
        return dict(zip(self.strings.decoded(types), counts.tolist(), strict=True))


def padded(data: Bytes) -> Bytes:
    """The bytes and a few more, so that eight can be loaded from where the last is."""
    longer = np.zeros(len(data) + SLACK, np.uint8)
    longer[: len(data)] = data
    return longer


def _new_slots(places: int) -> npt.NDArray[np.uint64]:
    """Free places that do not straddle cache lines."""
    return zeros_on_cache_lines(places * SLOT_BYTES).view(np.uint64).reshape(places, -1)


def _longer(array: Numbers, types: int) -> Numbers:
    longer = np.zeros(types + 1, np.int64)
    longer[: len(array)] = array
    return longer
