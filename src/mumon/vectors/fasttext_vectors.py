"""FastTextVectors: the words of a fastText model, and vectors for words that it has never seen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError
from mumon.vectors.neighbours import Floats, scale_to_unit
from mumon.vectors.word_vectors import Key, WordVectors

if TYPE_CHECKING:
    from mumon.corpus.subwords import Subwords
    from mumon.formats.base import LoadedVectors


class FastTextVectors(WordVectors):
    """WordVectors in which any word has a vector: without a row of its own, the mean of its character n-grams.

    As in gensim's FastTextKeyedVectors, `word in wv` is always true, and all methods that look up vectors accept any
    word: `get_vector`, `most_similar`, `doesnt_match`, `wmdistance`, `vectors_for_all` and the like. A word too short
    for an n-gram has a vector of zeros. `has_index_for` says whether a word has a row of its own. Answers contain only
    words with rows.

    As in gensim, a first argument that is a number makes room for words that are added later: `FastTextVectors(
    vector_size, min_n, max_n, bucket, count=0)`. Such n-grams have no rows yet, so other words are vectors of zeros.

    Parameters
    ----------
    words, vectors, counts
        As in `WordVectors`.
    subwords
        The rows of the n-grams; without them only words with a row have vectors.
    own
        The words' own rows, which are a part of their vectors, if they are known.

    Examples
    --------
    >>> from mumon.corpus.subwords import Subwords
    >>> subwords = Subwords(np.eye(5, dtype=np.float32), minn=3, maxn=3)
    >>> wv = FastTextVectors(["king", "abba"], np.eye(5, dtype=np.float32)[:2], subwords=subwords)
    >>> "ab" in wv, wv.has_index_for("ab"), wv["ab"].tolist()
    (True, False, [0.0, 0.5, 0.0, 0.5, 0.0])
    >>> wv.most_similar("ab", topn=1)[0][0]
    'abba'

    >>> wv = FastTextVectors(vector_size=2, min_n=3, max_n=6, bucket=1000)
    >>> wv.add_vector("tea", [1, 2]), wv["tea"].tolist(), wv["cup"].tolist()
    (0, [1.0, 2.0], [0.0, 0.0])
    """

    compatible_hash = True  # n-grams fall into fastText's buckets; those of gensim 3.6 and before did not
    _own: Floats | None = None

    @overload
    def __init__(
        self,
        words: Sequence[str],
        vectors: NDArray[Any],
        counts: NDArray[Any] | None = None,
        subwords: Subwords | None = None,
        own: Floats | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self, vector_size: int, min_n: int, max_n: int, bucket: int, count: int = 0, dtype: Any = np.float32
    ) -> None: ...

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.vectors_vocab_lockf = self.vectors_ngrams_lockf = np.ones(1, np.float32)

    def _fill(  # type: ignore[override]
        self,
        words: Sequence[str],
        vectors: NDArray[Any],
        counts: NDArray[Any] | None = None,
        subwords: Subwords | None = None,
        own: Floats | None = None,
    ) -> None:
        super()._fill(words, vectors, counts)
        self.subwords, self._own = subwords, own

    def _reserve(  # type: ignore[override]
        self, vector_size: int, min_n: int, max_n: int, bucket: int, count: int = 0, dtype: Any = np.float32
    ) -> None:
        super()._reserve(vector_size, count, dtype)
        from mumon.corpus.subwords import Ngrams, Subwords  # other vectors do without the corpus package

        ngrams = Ngrams(min_n, max_n, bucket)
        none = np.zeros((0, self.vector_size), np.float32)
        self.subwords = Subwords(none, ngrams.min_n, ngrams.max_n, np.zeros(0, np.int32), ngrams.bucket)

    # ---- gensim's names for what n-grams there are

    @property
    def min_n(self) -> int:
        """The least length of an n-gram."""
        return 0 if self.subwords is None else self.subwords.minn

    @property
    def max_n(self) -> int:
        """The greatest length of an n-gram."""
        return 0 if self.subwords is None else self.subwords.maxn

    @property
    def bucket(self) -> int:
        """The number of buckets that n-grams are hashed into."""
        return 0 if self.subwords is None else self.subwords.ngrams.bucket

    @property
    def vectors_vocab(self) -> Floats:
        """The words' own rows; where they are not known, what is left of the vectors without the n-grams."""
        if self._own is not None:
            return self._own
        if self.subwords is None:
            return self.vectors
        words = self._encode_words()
        return self.subwords.find_own_rows(words, self.vectors[: len(words)])

    @property
    def vectors_ngrams(self) -> Floats:
        """A row for each bucket; those of buckets that no word fell into are zeros.

        With buckets to spare this is a copy. `wv.subwords.rows` has the rows that exist.
        """
        return np.zeros((0, self.vector_size), np.float32) if self.subwords is None else self.subwords.expand_rows()

    @property
    def buckets_word(self) -> list[NDArray[np.int64]]:
        """The buckets of the n-grams of each word with a row."""
        if self.subwords is None:
            return [np.zeros(0, np.int64) for _ in self.index_to_key]
        ids, owners = self.subwords.find_ngrams(self._encode_words())
        rows = len(self.index_to_key)
        return np.split(ids, np.searchsorted(owners, np.arange(1, rows)))[:rows]

    def adjust_vectors(self) -> None:
        """Compute the vectors of words again, after a change of `vectors_vocab` or `subwords.rows` of a model's `wv`.

        Each becomes the mean of the word's own row and those of its n-grams. The share of the target rows that a model
        adds (`target_weight`) is left out; the model adds it when it is trained or saved.
        """
        if self._own is None or self.subwords is None:
            raise OptionError(
                f"the own rows of these {len(self)} words are known only as a part of their vectors; change `vectors`, "
                "or ask the wv of a model"
            )
        words = self._encode_words()
        if len(words) != len(self._own):
            raise OptionError(f"there are {len(words)} words and {len(self._own)} own rows; add words by build_vocab")
        self._make_writable()[:] = self.subwords.average_rows(words, self._own)[0]
        self.norms = None

    def get_sentence_vector(self, sentence: Iterable[str]) -> Floats:
        """Return the mean of the vectors of words, each scaled to length 1.

        Parameters
        ----------
        sentence
            The words.

        Returns
        -------
        array of D float32
        """
        return self.get_mean_vector(list(sentence))

    @classmethod
    def of(cls, loaded: LoadedVectors) -> FastTextVectors:
        """Make vectors from what `mumon.formats.read_vectors` returned.

        Parameters
        ----------
        loaded
            Words, vectors and, from a model that has them, subwords.

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
        """Read a model with n-grams, mumon's or fastText's .bin; in other files only words with rows have vectors.

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
        return self.has_index_for(key) or (isinstance(key, str) and self._composes)

    def _encode_words(self) -> list[bytes]:
        """Return the words with rows as the hash of n-grams takes them."""
        return [word.encode("utf-8", "surrogatepass") for word in self._list_words()]

    @property
    def _composes(self) -> bool:
        return self.subwords is not None and self.subwords.ngrams.exist

    def _compose_vector(self, key: object) -> Floats | None:
        """Return the vector of a word without a row; None for words that have one, and if there are no n-grams."""
        if not isinstance(key, str) or self.has_index_for(key) or self.subwords is None or not self._composes:
            return None
        vector = self.subwords.compute_vector(key)
        if vector is None:  # it is too short, or the end of a sentence
            return np.zeros(self.vector_size, np.float32)
        if not np.isfinite(vector).all():
            raise FormatError(f"the n-grams of {key[:60]!r} hold nan or inf; the model may be damaged")
        return vector


WordVectors._subword_class = FastTextVectors  # which `WordVectors.load` returns for fastText's .bin
