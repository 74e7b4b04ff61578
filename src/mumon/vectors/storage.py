"""Words and their rows: what is kept of them."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError
from mumon.vectors.keys import RENAMED_ATTRIBUTES, Keys, RenamedAttribute, check_keys
from mumon.vectors.neighbours import Floats, compute_norms


class Norms:
    """The lengths of a matrix's rows, computed when first asked for.

    Whoever changes rows puts new Norms in the place of the old: what another thread was computing of the rows as they
    were goes to the old ones, and is forgotten with them.
    """

    def __init__(self, vectors: Floats | None = None, norms: Floats | None = None) -> None:
        self._held = None if vectors is None or norms is None else (vectors, norms)

    def of(self, vectors: Floats) -> Floats:
        held = self._held
        if held is None or held[0] is not vectors:
            held = self._held = vectors, compute_norms(vectors)
        return held[1]


class Snapshot(NamedTuple):
    """Vectors, their lengths and their keys, of one moment; `rows` of them have a key."""

    vectors: Floats
    norms: Floats
    keys: list[Any]
    rows: int


class Storage:
    """Keys, their float32 rows, and arrays with one value for each key ("count" among them)."""

    index_to_key: list[Any]
    key_to_index: dict[Any, int]
    expandos: dict[str, NDArray[Any]]
    vectors_lockf: Floats  # how far training may move each row: 0 not at all; one value stands for all

    @overload
    def __init__(self, words: Keys, vectors: NDArray[Any], counts: NDArray[Any] | None = None) -> None: ...

    @overload
    def __init__(
        self, vector_size: int, count: int = 0, dtype: Any = np.float32, mapfile_path: None = None
    ) -> None: ...

    def __init__(self, *given: Any, **named: Any) -> None:
        self._norms = Norms()
        self._room: Floats | None = None  # the rows that `vectors` is the beginning of, where it has grown
        self._spares: dict[str, tuple[NDArray[Any], NDArray[Any]]] = {}  # beginning and room, of attributes and locks
        self._next = 0
        self.expandos = {}
        self.vectors_lockf = np.ones(1, np.float32)
        if "vector_size" in named or (given and isinstance(given[0], (int, np.integer))):
            self._reserve(*given, **named)
        else:
            self._fill(*given, **named)

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

    # ---- what is kept

    @property
    def vectors(self) -> Floats:
        """The (V, D) float32 matrix; a new one may be assigned, and is not copied."""
        return self._vectors

    @vectors.setter
    def vectors(self, matrix: NDArray[Any]) -> None:
        rows = np.asarray(matrix, np.float32)
        if rows.ndim != 2:
            raise FormatError(f"vectors of shape {rows.shape} were given; they are a matrix of one row for each word")
        self._vectors, self._norms, self._room = rows, Norms(), None

    @property
    def vector_size(self) -> int:
        return int(self._vectors.shape[1])

    @property
    def counts(self) -> NDArray[np.int64] | None:
        """How often each word was seen, where that is known: the attribute "count"."""
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
        """The row that the next new key gets: rows from here on, if there are any, have no key yet."""
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
        """The Euclidean length of each vector, computed when first asked for; assign None after changes in place."""
        return self._norms.of(self._vectors)

    @norms.setter
    def norms(self, norms: NDArray[Any] | None) -> None:
        self._norms = Norms() if norms is None else Norms(self._vectors, np.asarray(norms, np.float32))

    def fill_norms(self, force: bool = False) -> None:
        """Compute the norms if they are not there; `force` after the vectors changed in place."""
        if force:
            self._norms = Norms()
        self._norms.of(self._vectors)

    def _snapshot(self) -> Snapshot:
        """What belongs together, though another thread may be adding or exchanging words."""
        while True:
            norms, vectors, keys = self._norms, self._vectors, self.index_to_key
            rows = min(self.next_index, len(vectors), len(keys))
            if vectors is self._vectors:
                return Snapshot(vectors, norms.of(vectors), keys, rows)

    def __getstate__(self) -> dict[str, Any]:
        """For copies, which must not write their new rows to the room of the original."""
        return {**self.__dict__, "_room": None, "_spares": {}}


for _name in RENAMED_ATTRIBUTES:  # not __getattr__, which would slow every other attribute down
    setattr(Storage, _name, RenamedAttribute(_name))
