"""Attributes of words: one value for each word beside its vector, such as its count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.vectors.keys import Key, UnknownVecattrError, VecattrTypeError
from mumon.vectors.lookup import Lookup


class Attributes(Lookup):
    """Attributes, which are arrays by name in `expandos`, with one value for each row; "count" is `counts`."""

    def allocate_vecattrs(self, attrs: Iterable[str] | None = None, types: Iterable[Any] | None = None) -> None:
        """Make sure that attributes exist and have one value for each word; new values are 0.

        Parameters
        ----------
        attrs
            Their names; None adjusts the length of those that exist.
        types
            The type of each.
        """
        if attrs is None:
            attrs = list(self.expandos)
            types = [self.expandos[attr].dtype for attr in attrs]
        names, kinds = list(attrs), list(types or ())
        if len(names) != len(kinds):
            raise OptionError(f"{len(names)} attributes came with {len(kinds)} types; give one type each")
        for attr, kind in zip(names, map(_choose_dtype, kinds), strict=True):
            values = self.expandos.get(attr)
            if values is None:
                kind = np.dtype(np.int64) if attr == "count" and kind.kind in "iu" else kind
                self.expandos[attr] = np.zeros(len(self), kind)
                continue
            if not np.can_cast(kind, values.dtype, "same_kind"):
                raise VecattrTypeError(
                    f"the attribute {attr!r} of the {len(self)} words holds {values.dtype} and cannot hold {kind}; "
                    "convert the values, or choose another name"
                )
            self.expandos[attr] = self._resize(f"attribute {attr}", values)

    def set_vecattr(self, key: Key, attr: str, val: Any) -> None:
        """Set an attribute of a word.

        Parameters
        ----------
        key
            The word.
        attr
            The name of the attribute, which is made if it is new.
        val
            The value. The first value of an attribute decides which type the others must have.

        Examples
        --------
        >>> from mumon import WordVectors
        >>> wv = WordVectors(["tea", "cup"], np.eye(2, dtype=np.float32))
        >>> wv.set_vecattr("cup", "language", "en")
        >>> wv.get_vecattr("cup", "language")
        'en'
        """
        index = self.get_index(key)
        values = self.expandos.get(attr)
        kind: Any = type(val)
        if values is not None and values.dtype.kind in "iu" and isinstance(val, (int, np.integer)):
            limits = np.iinfo(values.dtype)
            if not int(limits.min) <= int(val) <= int(limits.max):
                raise VecattrTypeError(
                    f"{val} does not fit the attribute {attr!r}, which holds {values.dtype}; lower it"
                )
            kind = values.dtype
        self.allocate_vecattrs([attr], [kind])
        self.expandos[attr][index] = val

    def get_vecattr(self, key: Key, attr: str) -> Any:
        """Return an attribute of a word.

        Parameters
        ----------
        key
            The word.
        attr
            "count", where counts are known, or the name of an attribute that was set.

        Returns
        -------
        Any
            The value; 0 if it was set for other words only.
        """
        index = self.get_index(key)
        values = self._find_vecattr(attr)
        value = values[index] if index < len(values) else np.zeros(1, values.dtype)[0]
        return value.item() if isinstance(value, np.generic) else value

    def _find_vecattr(self, attr: str) -> NDArray[Any]:
        if attr not in self.expandos:
            names = ", ".join(map(repr, self.expandos))
            known = f"there are {names}" if names else "there are none"
            known = "these vectors came without counts" if attr == "count" else known
            raise UnknownVecattrError(f"there is no attribute {attr!r} of the {len(self)} words; {known}")
        return self.expandos[attr]

    def _resize(self, name: str, values: NDArray[Any], fill: float = 0) -> NDArray[Any]:
        """Cut or lengthen values to one for each word.

        Longer arrays get spare room, which `_spares` holds, so that adding words one by one does not copy all values
        each time.
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


def _choose_dtype(kind: Any) -> np.dtype[Any]:
    """Return the dtype of an array for values of a type: that of numbers, or object for anything else, strings too."""
    if kind is int:
        return np.dtype(np.int64)  # also where the system's own int is shorter
    dtype = np.dtype(kind)
    return dtype if dtype.kind in "biufc" else np.dtype(object)
