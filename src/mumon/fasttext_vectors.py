"""FastTextVectors: the words of a fastText model, and vectors for words that it has never seen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError
from mumon.neighbours import Floats, unit
from mumon.subwords import Subwords
from mumon.vectors import Key, WordVectors

if TYPE_CHECKING:
    from mumon.formats.base import LoadedVectors


class FastTextVectors(WordVectors):
    """WordVectors in which a word without a row has a vector all the same: the mean of its character n-grams.

    `get_vector`, `wv[…]`, `most_similar`, `similarity` and the like take any word that is long enough for an n-gram.
    `word in wv` and `get_index` still speak of the rows that are there, which are also all that is ever answered and
    all that `save` writes.

    >>> subwords = Subwords(np.eye(5, dtype=np.float32), minn=3, maxn=3)
    >>> wv = FastTextVectors(["king", "abba"], np.eye(5, dtype=np.float32)[:2], subwords=subwords)
    >>> "ab" in wv, wv["ab"].tolist()
    (False, [0.0, 0.5, 0.0, 0.5, 0.0])
    >>> wv.most_similar("ab", topn=1)[0][0]
    'abba'
    """

    def __init__(
        self,
        words: Sequence[str],
        vectors: NDArray[Any],
        counts: NDArray[Any] | None = None,
        subwords: Subwords | None = None,
    ) -> None:
        super().__init__(words, vectors, counts)
        self.subwords = subwords

    @classmethod
    def of(cls, loaded: LoadedVectors) -> FastTextVectors:
        """What a reader of fastText's .bin gives."""
        return cls(loaded.words, loaded.vectors, loaded.counts, loaded.subwords)

    @classmethod
    def load(
        cls,
        fname: str | os.PathLike[str],
        format: str | None = None,
        limit: int | None = None,
        *,
        mmap: str | None = None,
    ) -> FastTextVectors:
        """Read fastText's .bin; of other files only the rows that are there."""
        from mumon.formats import read_vectors

        return cls.of(read_vectors(fname, format, limit))

    def get_vector(self, key: Key, norm: bool = False) -> Floats:
        """The vector of a word, whether it has a row or not; read-only. `norm` scales it to length 1."""
        made = self._made(key)
        if made is None:
            return super().get_vector(key, norm)
        vector = unit(made) if norm else made
        vector.setflags(write=False)
        return vector

    def __getitem__(self, key_or_keys: Key | Iterable[Key]) -> Floats:
        if isinstance(key_or_keys, (str, int, np.integer)):
            return self.get_vector(key_or_keys)
        rows = [self.get_vector(key) for key in key_or_keys]
        return np.array(rows, np.float32).reshape(len(rows), self.vector_size)

    def get_mean_vector(self, keys: Any, *arguments: Any, **options: Any) -> Floats:
        """As for WordVectors, with words that have no row."""
        norm = options.get("pre_normalize", arguments[1] if len(arguments) > 1 else True)
        return super().get_mean_vector(self._replaced(keys, norm), *arguments, **options)

    def most_similar(self, positive: Any = None, negative: Any = None, *arguments: Any, **options: Any) -> Any:
        """As for WordVectors, with words that have no row."""
        return super().most_similar(self._replaced(positive), self._replaced(negative), *arguments, **options)

    def most_similar_cosmul(self, positive: Any = None, negative: Any = None, *arguments: Any, **options: Any) -> Any:
        """As for WordVectors, with words that have no row."""
        return super().most_similar_cosmul(self._replaced(positive), self._replaced(negative), *arguments, **options)

    def _made(self, key: object) -> Floats | None:
        """The vector of a word that has no row; None for words that have one, and for those without n-grams."""
        if not isinstance(key, str) or self.has_index_for(key) or self.subwords is None:
            return None
        vector = self.subwords.vector(key)
        if vector is not None and not np.isfinite(vector).all():
            raise FormatError(f"the n-grams of {key[:60]!r} hold nan or inf; the model may be damaged")
        return vector

    def _replaced(self, items: Any, norm: bool = True) -> Any:
        """The same items with vectors in the place of words without a row, of length 1 as words are where they mix."""
        if items is None or isinstance(items, (int, np.integer, np.ndarray)):
            return items
        if isinstance(items, str):
            made = self._made(items)
            return items if made is None else [unit(made) if norm else made]
        return [self._replaced_one(item, norm) for item in items]

    def _replaced_one(self, item: Any, norm: bool) -> Any:
        if isinstance(item, (tuple, list)) and len(item) == 2:
            return self._replaced_one(item[0], norm), item[1]
        made = self._made(item) if isinstance(item, str) else None
        return item if made is None else unit(made) if norm else made
