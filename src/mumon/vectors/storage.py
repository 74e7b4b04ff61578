"""Words, their rows, and arrays with one value for each word."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError
from mumon.vectors.keys import RENAMED_ATTRIBUTES, Keys, RenamedAttribute, check_keys
from mumon.vectors.neighbours import Floats, compute_norms


class Norms:
    """The lengths of a matrix's rows, computed when first needed.

    A method that changes rows replaces the Norms object. Another thread may still be computing lengths of the old rows:
    it stores them in the old object, which is no longer used.
    """

    def __init__(self, vectors: Floats | None = None, norms: Floats | None = None) -> None:
        self._cached = None if vectors is None or norms is None else (vectors, norms)

    def get(self, vectors: Floats) -> Floats:
        cached = self._cached
        if cached is None or cached[0] is not vectors:
            cached = self._cached = vectors, compute_norms(vectors)
        return cached[1]


class Snapshot(NamedTuple):
    """Vectors, their lengths and their keys at one moment; the first `rows` have a key."""

    vectors: Floats
    norms: Floats
    keys: list[Any]
    rows: int


class Storage:
    """Keys, their float32 rows, and arrays with one value for each key ("count" among them)."""

    index_to_key: list[Any]
    key_to_index: dict[Any, int]
    expandos: dict[str, NDArray[Any]]
    vectors_lockf: Floats  # how far training may move each row: 0 freezes it; a single value is for all rows

    @overload
    def __init__(self, words: Keys, vectors: NDArray[Any], counts: NDArray[Any] | None = None) -> None: ...

    @overload
    def __init__(
        self, vector_size: int, count: int = 0, dtype: Any = np.float32, mapfile_path: None = None
    ) -> None: ...

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._norms = Norms()
        self._room: Floats | None = None  # a larger matrix of which `vectors` is the beginning, after it has grown
        self._spares: dict[
            str, tuple[NDArray[Any], NDArray[Any]]
        ] = {}  # the same for attributes and locks: (values, room)
        self._next = 0
        self.expandos = {}
        self.vectors_lockf = np.ones(1, np.float32)
        if "vector_size" in kwargs or (args and isinstance(args[0], (int, np.integer))):
            self._reserve(*args, **kwargs)
        else:
            self._fill(*args, **kwargs)

    def _fill(self, words: Keys, vectors: NDArray[Any], counts: NDArray[Any] | None = None) -> None:
        matrix = np.asarray(vectors, np.float32)
        if matrix.ndim != 2 or len(matrix) != len(words):
            raise FormatError(f"{len(words)} words need as many rows, and the matrix is {matrix.shape}; give one each")
        self.index_to_key = check_keys(words)
        self.key_to_index = dict(zip(self.index_to_key, range(len(words)), strict=True))
        if len(self.key_to_index) != len(words):
            row, word = next((i, w) for i, w in enumerate(self.index_to_key) if self.key_to_index[w] != i)
            raise FormatError(
                f"the word {word!r} is in rows {row + 1} and {self.key_to_index[word] + 1}; words must differ"
            )
        self.vectors = matrix
        self.counts = None if counts is None else np.asarray(counts, np.int64)
        if self.counts is not None and self.counts.shape != (len(words),):
            raise FormatError(f"{len(words)} words have counts of shape {self.counts.shape}; give one count each")

    def _reserve(self, vector_size: int, count: int = 0, dtype: Any = np.float32, mapfile_path: None = None) -> None:
        if isinstance(vector_size, bool) or vector_size < 1 or count < 0:
            raise OptionError(f"vector_size is {vector_size} and count {count}; they must be at least 1 and 0")
        if not np.issubdtype(np.dtype(dtype), np.floating):
            raise OptionError(f"dtype is {np.dtype(dtype)}; vectors are float32, and other floats become it")
        if mapfile_path is not None:
            raise OptionError(f"mapfile_path is {mapfile_path!r}, which means nothing in gensim either; leave it out")
        self.index_to_key, self.key_to_index = [None] * int(count), {}
        self.vectors = np.zeros((int(count), int(vector_size)), np.float32)

    @property
    def vectors(self) -> Floats:
        """The (V, D) float32 matrix. A new one may be assigned; float32 is not copied."""
        return self._vectors

    @vectors.setter
    def vectors(self, matrix: NDArray[Any]) -> None:
        rows = np.asarray(matrix, np.float32)
        if rows.ndim != 2:
            raise FormatError(f"vectors of shape {rows.shape} were given; they are a matrix of one row for each word")
        self._vectors, self._norms, self._room = rows, Norms(), None

    @property
    def vector_size(self) -> int:
        """The number of columns, D."""
        return int(self._vectors.shape[1])

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """How often each word was seen in training, or None if that is unknown: the attribute "count"."""
        return self.expandos.get("count")

    @counts.setter
    def counts(self, counts: NDArray[Any] | None) -> None:
        self.expandos.pop("count", None)
        if counts is not None:
            self.expandos["count"] = np.asarray(counts, np.int64)

    @property
    def integer_keys(self) -> bool:
        """Whether the keys are integers (item ids, nodes of a graph), which files hold as decimal strings."""
        return bool(self.index_to_key) and isinstance(self.index_to_key[0], int)

    @property
    def next_index(self) -> int:
        """The row that the next new key gets; rows from here on are only reserved."""
        keys = self.index_to_key
        if not keys or keys[-1] is not None:
            return len(keys)
        place = min(self._next, len(keys))
        while place < len(keys) and keys[place] is not None:
            place += 1
        self._next = place
        return place

    @property
    def mapfile_path(self) -> None:
        """Always None, as in gensim, which does not use it."""

    @property
    def norms(self) -> Floats:
        """The Euclidean length of each vector, computed when first needed; assign None after a change in place."""
        return self._norms.get(self._vectors)

    @norms.setter
    def norms(self, norms: NDArray[Any] | None) -> None:
        self._norms = Norms() if norms is None else Norms(self._vectors, np.asarray(norms, np.float32))

    def fill_norms(self, force: bool = False) -> None:
        """Compute the norms now, unless they are known.

        Parameters
        ----------
        force
            Whether to compute them in any case, after the vectors were changed in place.
        """
        if force:
            self._norms = Norms()
        self._norms.get(self._vectors)

    def _take_snapshot(self) -> Snapshot:
        """Return vectors, norms and keys that belong together, even if another thread is changing them."""
        while True:
            norms, vectors, keys = self._norms, self._vectors, self.index_to_key
            rows = min(self.next_index, len(vectors), len(keys))
            if vectors is self._vectors:
                return Snapshot(vectors, norms.get(vectors), keys, rows)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out spare room, which a copy must not share with the original."""
        return {**self.__dict__, "_room": None, "_spares": {}}


for _name in RENAMED_ATTRIBUTES:  # not __getattr__, which would slow every other attribute down
    setattr(Storage, _name, RenamedAttribute(_name))
