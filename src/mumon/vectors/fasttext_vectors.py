"""FastTextVectors: the words of a fastText model, and vectors for words that it has never seen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError
from mumon.vectors.neighbours import Floats, scale_to_unit
from mumon.vectors.word_vectors import Key, WordVectors

if TYPE_CHECKING:
    from mumon.corpus.subwords import Subwords
    from mumon.formats.base import LoadedVectors


class FastTextVectors(WordVectors):
    """WordVectors in which a word without a row still has a vector: the mean of its character n-grams.

    As in gensim, `word in wv` is true of any word that is long enough for an n-gram, and all methods that look up
    vectors accept it: `get_vector`, `most_similar`, `doesnt_match`, `wmdistance`, `vectors_for_all` and the like.
    `has_index_for` says whether a word has a row of its own. Answers contain only words with rows, and `save` writes
    only those.

    Parameters
    ----------
    words, vectors, counts
        As in `WordVectors`.
    subwords
        The rows of the n-grams; without them only words with a row have vectors.

    Examples
    --------
    >>> from mumon.corpus.subwords import Subwords
    >>> subwords = Subwords(np.eye(5, dtype=np.float32), minn=3, maxn=3)
    >>> wv = FastTextVectors(["king", "abba"], np.eye(5, dtype=np.float32)[:2], subwords=subwords)
    >>> "ab" in wv, wv.has_index_for("ab"), wv["ab"].tolist()
    (True, False, [0.0, 0.5, 0.0, 0.5, 0.0])
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
        """Make vectors from what `mumon.formats.read_vectors` returned.

        Parameters
        ----------
        loaded
            Words, vectors and, from fastText's .bin, subwords.

        Returns
        -------
        FastTextVectors
        """
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
        """Read fastText's .bin; other files hold no n-grams, so only their words have vectors.

        Parameters
        ----------
        fname
            The file.
        format
            A name in `mumon.formats.FORMATS`; None looks at the file.
        limit
            Read only this many rows from the start.
        mmap
            Accepted because gensim has it; it changes nothing.

        Returns
        -------
        FastTextVectors
        """
        from mumon.formats import read_vectors

        return cls.of(read_vectors(fname, format, limit))

    def get_vector(self, key: Key, norm: bool = False) -> Floats:
        """Return the vector of a word, whether it has a row or not.

        Parameters
        ----------
        key
            The word.
        norm
            Whether to scale the vector to length 1.

        Returns
        -------
        array of D float32
            Read-only.
        """
        composed = self._compose_vector(key)
        if composed is None:
            return super().get_vector(key, norm)
        vector = scale_to_unit(composed) if norm else composed
        vector.setflags(write=False)
        return vector

    def __getitem__(self, key_or_keys: Key | Iterable[Key]) -> Floats:
        if isinstance(key_or_keys, (str, int, np.integer)):
            return self.get_vector(key_or_keys)
        rows = [self.get_vector(key) for key in key_or_keys]
        return np.array(rows, np.float32).reshape(len(rows), self.vector_size)

    def _has_vector(self, key: object) -> bool:
        return self.has_index_for(key) or (
            isinstance(key, str) and self.subwords is not None and self.subwords.has_ngrams(key)
        )

    def _compose_vector(self, key: object) -> Floats | None:
        """Return the vector of a word without a row; None for words that have one, and for those without n-grams."""
        if not isinstance(key, str) or self.has_index_for(key) or self.subwords is None:
            return None
        vector = self.subwords.compute_vector(key)
        if vector is not None and not np.isfinite(vector).all():
            raise FormatError(f"the n-grams of {key[:60]!r} hold nan or inf; the model may be damaged")
        return vector


WordVectors._subword_class = FastTextVectors  # which `WordVectors.load` returns for fastText's .bin
