"""Adding words, sorting them, and changing their vectors."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.vectors.attributes import Attributes
from mumon.vectors.keys import KEY_TYPES, Key, VecattrTypeError, check_keys, check_one_kind
from mumon.vectors.neighbours import Floats
from mumon.vectors.storage import Norms

log = logging.getLogger(__name__)


class Mutation(Attributes):
    """Methods that change words: keys, rows, counts and other attributes change together, or not at all."""

    def add_vector(self, key: Key, vector: NDArray[Any] | Sequence[float]) -> int:
        """Add one word; a known word keeps its row and vector.

        Parameters
        ----------
        key
            The word.
        vector
            D numbers.

        Returns
        -------
        int
            The word's row.

        Examples
        --------
        >>> from mumon import WordVectors
        >>> wv = WordVectors(vector_size=2)
        >>> wv.add_vector("tea", [1, 0]), wv.add_vector("cup", [0, 1]), wv.add_vector("tea", [5, 5])
        (0, 1, 0)
        """
        self.add_vectors([key], np.asarray(vector, np.float32).reshape(1, -1))
        return self.key_to_index[key]

    def add_vectors(
        self,
        keys: Key | Sequence[Key],
        weights: NDArray[Any] | Sequence[Any],
        extras: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> None:
        """Add words and their vectors; rows that the constructor reserved are filled first.

        Parameters
        ----------
        keys
            The words, each once.
        weights
            One row of D numbers for each.
        extras
            Values of attributes by name, one for each word, such as {"count": [3, 1]}. Other attributes of new words
            are 0.
        replace
            Whether known words get the new vectors and attributes; otherwise they keep theirs.
        """
        names = check_keys([keys] if isinstance(keys, KEY_TYPES) else keys)
        rows = np.asarray(weights, np.float32)
        rows = rows.reshape(1, -1) if isinstance(keys, KEY_TYPES) else rows
        rows = rows.reshape(0, self.vector_size) if not names and not rows.size else rows
        if rows.shape != (len(names), self.vector_size):
            raise OptionError(
                f"{len(names)} keys came with vectors of shape {rows.shape}; give {self.vector_size} numbers each"
            )
        if len(set(names)) < len(names):
            repeated = Counter(names).most_common(1)[0][0]
            raise OptionError(f"{repeated!r} is twice among the {len(names)} keys; give each of them once")
        check_one_kind(names, self.index_to_key[: min(1, self.next_index)])
        values = self._check_extras(extras or {}, len(names))
        new = np.array([name not in self.key_to_index for name in names], bool)
        self._append([name for name, is_new in zip(names, new.tolist(), strict=True) if is_new], rows[new])
        chosen = np.ones_like(new) if replace else new
        places = [self.key_to_index[name] for name in names]
        if replace and not new.all():
            self._make_writable()[places] = rows
        for attr, extra in values.items():
            self.expandos[attr][np.array(places, np.int64)[chosen]] = extra[chosen]
        self.norms = None

    def __setitem__(self, keys: Key | Sequence[Key], weights: NDArray[Any] | Sequence[Any]) -> None:
        """Set the vectors of words, known or new."""
        self.add_vectors(keys, weights, replace=True)

    def resize_vectors(self, seed: int = 0) -> None:
        """Make as many rows as `index_to_key` has words; new rows are random, uniform in ±1/D, as in gensim.

        Parameters
        ----------
        seed
            Of the random numbers.
        """
        rows, columns = len(self), self.vector_size
        if len(self.vectors) != rows:
            random = np.random.default_rng(seed).random((rows, columns), np.float32)
            random *= 2
            random -= 1
            random /= columns
            old = min(rows, len(self.vectors))
            random[:old] = self.vectors[:old]
            self.vectors = random
        self._lengthen_attributes()
        self.norms = None

    def sort_by_descending_frequency(self) -> None:
        """Sort the rows, the most frequent words first; of equally frequent ones the last comes first, as in gensim."""
        if not len(self):
            return
        self._find_vecattr("count")
        self._lengthen_attributes()
        counts = self.expandos["count"]
        order = np.lexsort((-np.arange(len(counts)), -counts))
        filled = self.next_index
        order = np.concatenate([order[order < filled], np.arange(filled, len(self))])
        keys = [self.index_to_key[row] for row in order.tolist()]
        fields: dict[str, Any] = {
            "index_to_key": keys,
            "key_to_index": {key: row for row, key in enumerate(keys[:filled])},
            "expandos": {attr: values[order] for attr, values in self.expandos.items()},
        }
        if len(self.vectors_lockf) > 1:
            fields["vectors_lockf"] = self.vectors_lockf[order]
        if len(self.vectors) == len(order):
            fields.update(_vectors=self.vectors[order], _norms=Norms(), _room=None)
        self.__dict__.update(fields)  # in one step: another thread may be looking words up

    def unit_normalize_all(self) -> None:
        """Scale every vector to length 1, in place; rows of zeros stay. Do not continue training after that."""
        rows = self._make_writable()
        lengths = self._norms.get(rows)[:, None]
        np.divide(rows, lengths, out=rows, where=lengths > 0)
        self.norms = None

    def init_sims(self, replace: bool = False) -> None:
        """Compute the norms: gensim's old name of `fill_norms`, with a DeprecationWarning.

        Parameters
        ----------
        replace
            Whether to call `unit_normalize_all` as well.
        """
        warnings.warn("init_sims is gensim's old name; call fill_norms", DeprecationWarning, stacklevel=2)
        self.fill_norms()
        if replace:
            self.unit_normalize_all()

    def intersect_word2vec_format(
        self,
        fname: Any,
        lockf: float = 0.0,
        binary: bool = False,
        encoding: str = "utf8",
        unicode_errors: str = "strict",
    ) -> None:
        """Take over the vectors of words that a word2vec file has, too; other words stay as they are.

        Parameters
        ----------
        fname
            The file.
        lockf
            How far training may move these vectors afterwards (`vectors_lockf`): 0 freezes them, 1 does not.
        binary
            Whether the file is binary.
        encoding, unicode_errors
            How its words are decoded, as in `load_word2vec_format`.
        """
        from mumon.vectors.word2vec_options import read_common_rows

        wanted = {str(key): row for key, row in self.key_to_index.items()} if self.integer_keys else self.key_to_index
        places, rows = read_common_rows(fname, wanted, self.vector_size, binary, encoding, unicode_errors)
        self._make_writable()[places] = rows
        locks = self.vectors_lockf
        self.vectors_lockf = np.full(len(self), locks[0], np.float32) if len(locks) == 1 else locks.copy()
        self.vectors_lockf[places] = lockf
        self.norms = None
        log.info("took over %d of %d vectors from %s", len(places), len(self), fname)

    def _append(self, keys: Sequence[Any], rows: Floats) -> None:
        start = self.next_index
        end = start + len(keys)
        if not keys:
            return
        if end > len(self.vectors):
            self._grow(end)
        self._make_writable()[start:end] = rows
        self.index_to_key[start:end] = keys  # after the rows: another thread may be looking for neighbours
        self._lengthen_attributes()
        self.key_to_index.update(zip(keys, range(start, end), strict=True))

    def _grow(self, rows: int) -> None:
        """Add rows, with spare room beyond them, so that adding words one by one does not copy all rows each time."""
        room, here = self._room, len(self.vectors)
        if room is None or len(room) < rows:
            spare = rows // 8 if rows - here <= here // 8 + 1 else 0
            room = np.zeros((rows + spare, self.vector_size), np.float32)
            room[:here] = self.vectors
        self.vectors = room[:rows]
        self._room = room

    def _make_writable(self) -> Floats:
        if not self.vectors.flags.writeable:
            self.vectors = self.vectors.copy()
        return self.vectors

    def _lengthen_attributes(self) -> None:
        self.allocate_vecattrs()
        if len(self.vectors_lockf) > 1:
            self.vectors_lockf = self._resize("locks", self.vectors_lockf, fill=1)

    def _check_extras(self, extras: Mapping[str, Any], many: int) -> dict[str, NDArray[Any]]:
        """Return the values of every attribute as arrays; all are checked before anything changes."""
        values = {attr: np.asarray(extra) for attr, extra in extras.items()}
        for attr, extra in values.items():
            if extra.shape != (many,):
                raise OptionError(f"{many} keys came with {attr!r} of shape {extra.shape}; give one value each")
        for attr, extra in values.items():
            present = self.expandos.get(attr)
            if present is not None and not np.can_cast(extra.dtype, present.dtype, "same_kind"):
                raise VecattrTypeError(
                    f"the attribute {attr!r} holds {present.dtype} and cannot hold {extra.dtype}; convert it"
                )
        fresh = [attr for attr in values if attr not in self.expandos]
        self.allocate_vecattrs(fresh, [values[attr].dtype for attr in fresh])
        return values
