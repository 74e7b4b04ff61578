"""Words that come, go to other rows, or get other vectors."""

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
    """Keys, rows, counts and other attributes change together, or not at all."""

    def add_vector(self, key: Key, vector: NDArray[Any] | Sequence[float]) -> int:
        """Add one word and return its row; a word that is there already keeps its row and vector.

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
        """Add words and their vectors; those that are there already keep theirs, unless `replace`.

        `extras` are further attributes, an array for each name with a value for each word, such as {"count": [3, 1]}.
        What is not given is 0 for the new words. Rows that the constructor reserved are filled first.
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
            twice = Counter(names).most_common(1)[0][0]
            raise OptionError(f"{twice!r} is twice among the {len(names)} keys; give each of them once")
        check_one_kind(names, self.index_to_key[: min(1, self.next_index)])
        values = self._checked_extras(extras or {}, len(names))
        new = np.array([name not in self.key_to_index for name in names], bool)
        self._append([name for name, is_new in zip(names, new.tolist(), strict=True) if is_new], rows[new])
        chosen = np.ones_like(new) if replace else new
        places = [self.key_to_index[name] for name in names]
        if replace and not new.all():
            self._writable()[places] = rows
        for attr, extra in values.items():
            self.expandos[attr][np.array(places, np.int64)[chosen]] = extra[chosen]
        self.norms = None

    def __setitem__(self, keys: Key | Sequence[Key], weights: NDArray[Any] | Sequence[Any]) -> None:
        """Give words these vectors, whether they are there or not."""
        self.add_vectors(keys, weights, replace=True)

    def resize_vectors(self, seed: int = 0) -> None:
        """Make as many rows as `index_to_key` has words: new ones are random, uniform in ±1/D, as in gensim."""
        rows, columns = len(self), self.vector_size
        if len(self.vectors) != rows:
            random = np.random.default_rng(seed).random((rows, columns), np.float32)
            random *= 2
            random -= 1
            random /= columns
            kept = min(rows, len(self.vectors))
            random[:kept] = self.vectors[:kept]
            self.vectors = random
        self._lengthen_attributes()
        self.norms = None

    def sort_by_descending_frequency(self) -> None:
        """Let the most frequent words have the first rows; of equally frequent ones the last is first, as in gensim."""
        if not len(self):
            return
        self._vecattrs("count")
        self._lengthen_attributes()
        counts = self.expandos["count"]
        order = np.lexsort((-np.arange(len(counts)), -counts))
        filled = self.next_index
        order = np.concatenate([order[order < filled], np.arange(filled, len(self))])
        keys = [self.index_to_key[row] for row in order.tolist()]
        sorted_ones: dict[str, Any] = {
            "index_to_key": keys,
            "key_to_index": {key: row for row, key in enumerate(keys[:filled])},
            "expandos": {attr: values[order] for attr, values in self.expandos.items()},
        }
        if len(self.vectors_lockf) > 1:
            sorted_ones["vectors_lockf"] = self.vectors_lockf[order]
        if len(self.vectors) == len(order):
            sorted_ones.update(_vectors=self.vectors[order], _norms=Norms(), _room=None)
        self.__dict__.update(sorted_ones)  # in one step: another thread may be looking words up

    def unit_normalize_all(self) -> None:
        """Scale every vector to length 1, in place; rows of zeros stay. Training cannot sensibly go on after that."""
        rows = self._writable()
        lengths = self._norms.of(rows)[:, None]
        np.divide(rows, lengths, out=rows, where=lengths > 0)
        self.norms = None

    def init_sims(self, replace: bool = False) -> None:
        """gensim's old name of `fill_norms`, and with `replace` of `unit_normalize_all`."""
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
        """Give the words that a word2vec file has too the vectors of that file; other words stay as they are.

        `lockf` is how far training may move those vectors afterwards (`vectors_lockf`): 0 freezes them, 1 does not.
        """
        from mumon.vectors.word2vec_options import read_common_rows

        wanted = {str(key): row for key, row in self.key_to_index.items()} if self.integer_keys else self.key_to_index
        places, rows = read_common_rows(fname, wanted, self.vector_size, binary, encoding, unicode_errors)
        self._writable()[places] = rows
        locks = self.vectors_lockf
        self.vectors_lockf = np.full(len(self), locks[0], np.float32) if len(locks) == 1 else locks.copy()
        self.vectors_lockf[places] = lockf
        self.norms = None
        log.info("took over %d of %d vectors from %s", len(places), len(self), fname)

    # ---- inside

    def _append(self, keys: Sequence[Any], rows: Floats) -> None:
        start = self.next_index
        end = start + len(keys)
        if not keys:
            return
        if end > len(self.vectors):
            self._grow(end)
        self._writable()[start:end] = rows
        self.index_to_key[start:end] = keys  # after the rows: another thread may be looking for neighbours
        self._lengthen_attributes()
        self.key_to_index.update(zip(keys, range(start, end), strict=True))

    def _grow(self, rows: int) -> None:
        """More rows, with some room beyond them: words that come one by one must not each copy all the others."""
        room, here = self._room, len(self.vectors)
        if room is None or len(room) < rows:
            spare = rows // 8 if rows - here <= here // 8 + 1 else 0
            room = np.zeros((rows + spare, self.vector_size), np.float32)
            room[:here] = self.vectors
        self.vectors = room[:rows]
        self._room = room

    def _writable(self) -> Floats:
        if not self.vectors.flags.writeable:
            self.vectors = self.vectors.copy()
        return self.vectors

    def _lengthen_attributes(self) -> None:
        self.allocate_vecattrs()
        if len(self.vectors_lockf) > 1:
            self.vectors_lockf = self._resized("locks", self.vectors_lockf, fill=1)

    def _checked_extras(self, extras: Mapping[str, Any], many: int) -> dict[str, NDArray[Any]]:
        """The values of every attribute, each checked before anything changes."""
        values = {attr: np.asarray(extra) for attr, extra in extras.items()}
        for attr, extra in values.items():
            if extra.shape != (many,):
                raise OptionError(f"{many} keys came with {attr!r} of shape {extra.shape}; give one value each")
        for attr, extra in values.items():
            held = self.expandos.get(attr)
            if held is not None and not np.can_cast(extra.dtype, held.dtype, "same_kind"):
                raise VecattrTypeError(
                    f"the attribute {attr!r} holds {held.dtype} and cannot hold {extra.dtype}; convert it"
                )
        fresh = [attr for attr in values if attr not in self.expandos]
        self.allocate_vecattrs(fresh, [values[attr].dtype for attr in fresh])
        return values
