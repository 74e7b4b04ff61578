"""One value for each word beside its vector: its count, or whatever else someone wants to keep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.vectors.keys import Key, UnknownVecattrError, VecattrTypeError
from mumon.vectors.lookup import Lookup


class Attributes(Lookup):
    """`expandos`: arrays by name, with one value for each row; "count" is `counts`."""

    def allocate_vecattrs(self, attrs: Iterable[str] | None = None, types: Iterable[Any] | None = None) -> None:
        """Make sure that there are arrays of these names and types, as long as `index_to_key`; new values are 0.

        Without arguments, those that there are get the right length.
        """
        if attrs is None:
            attrs = list(self.expandos)
            types = [self.expandos[attr].dtype for attr in attrs]
        names, kinds = list(attrs), list(types or ())
        if len(names) != len(kinds):
            raise OptionError(f"{len(names)} attributes came with {len(kinds)} types; give one type each")
        for attr, kind in zip(names, map(_array_type, kinds), strict=True):
            held = self.expandos.get(attr)
            if held is None:
                kind = np.dtype(np.int64) if attr == "count" and kind.kind in "iu" else kind
                self.expandos[attr] = np.zeros(len(self), kind)
                continue
            if not np.can_cast(kind, held.dtype, "same_kind"):
                raise VecattrTypeError(
                    f"the attribute {attr!r} of the {len(self)} words holds {held.dtype} and cannot hold {kind}; "
                    "convert the values, or choose another name"
                )
            self.expandos[attr] = self._resized(f"attribute {attr}", held)

    def set_vecattr(self, key: Key, attr: str, val: Any) -> None:
        """Keep a value for a word, under a name; the first value decides which type the others must have.

        >>> from mumon import WordVectors
        >>> wv = WordVectors(["tea", "cup"], np.eye(2, dtype=np.float32))
        >>> wv.set_vecattr("cup", "language", "en")
        >>> wv.get_vecattr("cup", "language")
        'en'
        """
        index = self.get_index(key)
        held = self.expandos.get(attr)
        kind: Any = type(val)
        if held is not None and held.dtype.kind in "iu" and isinstance(val, (int, np.integer)):
            limits = np.iinfo(held.dtype)
            if not int(limits.min) <= int(val) <= int(limits.max):
                raise VecattrTypeError(f"{val} does not fit the attribute {attr!r}, which holds {held.dtype}; lower it")
            kind = held.dtype
        self.allocate_vecattrs([attr], [kind])
        self.expandos[attr][index] = val

    def get_vecattr(self, key: Key, attr: str) -> Any:
        """The value that a word has under a name: "count", where there are counts, or one that was set."""
        index = self.get_index(key)
        values = self._vecattrs(attr)
        value = values[index] if index < len(values) else np.zeros(1, values.dtype)[0]
        return value.item() if isinstance(value, np.generic) else value

    def _vecattrs(self, attr: str) -> NDArray[Any]:
        if attr not in self.expandos:
            names = ", ".join(map(repr, self.expandos))
            known = f"there are {names}" if names else "there are none"
            known = "these vectors came without counts" if attr == "count" else known
            raise UnknownVecattrError(f"there is no attribute {attr!r} of the {len(self)} words; {known}")
        return self.expandos[attr]

    def _resized(self, name: str, values: NDArray[Any], fill: float = 0) -> NDArray[Any]:
        """The values, cut or lengthened to one for each word.

        With some room beyond, of which `_spares` knows: words that come one by one must not each copy all the others.
        """
        here, wanted = len(values), len(self)
        if here >= wanted:
            return values if here == wanted else values[:wanted].copy()
        beginning, room = self._spares.get(name, (None, values))
        if values is not beginning or len(room) < wanted:
            spare = wanted // 8 if wanted - here <= here // 8 + 1 else 0
            room = np.empty((wanted + spare, *values.shape[1:]), values.dtype)
            room[:here] = values
        room[here:wanted] = fill
        longer = room[:wanted]
        self._spares[name] = longer, room
        return longer


def _array_type(kind: Any) -> np.dtype[Any]:
    """The type of an array for values of a type: numbers as they are, anything else (strings, too) as objects."""
    if kind is int:
        return np.dtype(np.int64)  # also where the system's own is shorter
    dtype = np.dtype(kind)
    return dtype if dtype.kind in "biufc" else np.dtype(object)
