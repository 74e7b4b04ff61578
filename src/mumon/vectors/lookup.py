"""Words as keys of their vectors, and means of vectors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.vectors.keys import KEY_TYPES, Key, UnknownKeyError
from mumon.vectors.neighbours import Floats, compute_norms, scale_to_unit
from mumon.vectors.storage import Storage

MAX_SINGLE_ROWS = 4  # up to which adding rows one by one is faster
SUM_BLOCK_ROWS = 4096  # rows added up at a time: they are copied to float64


class Lookup(Storage):
    """Words as keys of their vectors."""

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.index_to_key[: self.next_index])

    def __contains__(self, key: object) -> bool:
        return self._has_vector(key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<vector_size={self.vector_size}, {len(self)} keys>"

    def __getitem__(self, key_or_keys: Key | Iterable[Key]) -> Floats:
        if isinstance(key_or_keys, KEY_TYPES):
            return self.get_vector(key_or_keys)
        rows: Floats = self.vectors[[self.get_index(key) for key in key_or_keys]]  # type: ignore[union-attr]
        return rows

    def has_index_for(self, key: object) -> bool:
        """Say whether a key has a row.

        Parameters
        ----------
        key
            A word, or a row number.

        Returns
        -------
        bool
        """
        return key in self.key_to_index or (isinstance(key, (int, np.integer)) and 0 <= int(key) < len(self))

    def get_index(self, key: Key, default: int | None = None) -> int:
        """Return the row number of a key.

        Parameters
        ----------
        key
            A word; an integer that is no key is a row number, and is returned as it is.
        default
            What to return if there is no such key.

        Returns
        -------
        int

        Raises
        ------
        MissingWordError
            If there is no such key and no default; it is a KeyError, too.
        """
        index = self.key_to_index.get(key, -1)
        if index >= 0:
            return index
        if isinstance(key, (int, np.integer)) and 0 <= key < len(self):
            return int(key)
        if default is not None:
            return default
        raise UnknownKeyError(key, self.index_to_key, self.key_to_index)

    def get_vector(self, key: Key, norm: bool = False) -> Floats:
        """Return the vector of a word.

        Parameters
        ----------
        key
            A word, or a row number.
        norm
            Whether to scale the vector to length 1.

        Returns
        -------
        array of D float32
            Read-only, because a change in place would leave the norms wrong.
        """
        row: Floats = self._vectors[self.get_index(key)]
        vector = scale_to_unit(row) if norm else row.view()
        vector.setflags(write=False)
        return vector

    def word_vec(self, word: Key, norm: bool = False, use_norm: bool = False) -> Floats:
        """Return the vector of a word: gensim's old name of `get_vector`, with a DeprecationWarning.

        Parameters
        ----------
        word
            A word, or a row number.
        norm, use_norm
            Whether to scale the vector to length 1.

        Returns
        -------
        array of D float32
        """
        warnings.warn("word_vec is gensim's old name; call get_vector", DeprecationWarning, stacklevel=2)
        return self.get_vector(word, norm=norm or use_norm)

    def get_normed_vectors(self) -> Floats:
        """Return a copy of all vectors, scaled to length 1; rows of zeros stay zeros.

        Returns
        -------
        (V, D) array of float32
        """
        vectors, norms, *_ = self._take_snapshot()
        lengths = norms[:, None]
        return np.divide(vectors, lengths, out=np.zeros(vectors.shape, np.float32), where=lengths > 0)

    def get_mean_vector(
        self,
        keys: Sequence[Key | NDArray[Any]] | NDArray[Any],
        weights: Sequence[float] | NDArray[Any] | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> Floats:
        """Return the weighted mean of words and vectors: their weighted sum, divided by the sum of |weight|.

        Parameters
        ----------
        keys
            Words, row numbers or vectors, or a matrix of vectors.
        weights
            One number for each; None weighs all of them 1.
        pre_normalize
            Whether to scale the vectors of words to length 1 first. Vectors that are given as such are not scaled.
        post_normalize
            Whether to scale the mean to length 1.
        ignore_missing
            Whether to leave out words without a vector; otherwise they raise MissingWordError.

        Returns
        -------
        array of D float32
        """
        one = isinstance(keys, KEY_TYPES) or (
            isinstance(keys, np.ndarray) and keys.ndim == 1 and keys.dtype.kind == "f"
        )
        items: list[Any] = [keys] if one else list(keys)
        if not items:
            raise OptionError("the mean of 0 words was asked for; give at least 1")
        scale = np.ones(len(items)) if weights is None else np.asarray(weights, np.float64)
        if scale.shape != (len(items),):
            raise OptionError(f"{len(items)} words came with weights of shape {scale.shape}; give one weight each")
        mean: NDArray[np.float64] = np.zeros(self.vector_size)
        places: list[int] = []
        shares: list[float] = []
        total = 0.0
        for item, weight in zip(items, scale.tolist(), strict=True):
            if isinstance(item, np.ndarray):
                mean += weight * self._check_vector(item)
            elif (place := self.get_index(item, -1)) >= 0:
                places.append(place)
                shares.append(weight)
            elif not ignore_missing or self._has_vector(item):
                mean += weight * self.get_vector(item, norm=pre_normalize)
            else:
                continue
            total += abs(weight)
        mean += self._sum_rows(places, shares, pre_normalize)
        mean = mean / total if total else mean
        return (scale_to_unit(mean) if post_normalize else mean).astype(np.float32)

    def _sum_rows(self, places: list[int], weights: list[float], norm: bool) -> NDArray[np.float64]:
        """Add up rows times their weights, many at once; `norm` scales each row to length 1 first."""
        vectors, total = self._vectors, np.zeros(self.vector_size)
        if len(places) <= MAX_SINGLE_ROWS:
            for place, weight in zip(places, weights, strict=True):
                total += weight * (scale_to_unit(vectors[place]) if norm else vectors[place])
            return total
        for start in range(0, len(places), SUM_BLOCK_ROWS):
            rows = vectors[places[start : start + SUM_BLOCK_ROWS]].astype(np.float64)
            shares = np.array(weights[start : start + SUM_BLOCK_ROWS])
            if norm:
                lengths = compute_norms(rows)
                lengths[lengths == 0] = 1
                shares /= lengths
            total += shares @ rows
        return total

    def _has_vector(self, key: object) -> bool:
        """Say whether `get_vector` returns something for a key, from a row or composed."""
        return self.has_index_for(key)

    def _check_vector(self, vector: NDArray[Any]) -> Floats:
        if vector.shape != (self.vector_size,):
            raise OptionError(f"a vector of shape {vector.shape} was given; these have {self.vector_size} numbers")
        return vector.astype(np.float32, copy=False)
