"""WordVectors: look words up and ask what is near them, with the names and meanings of gensim 4's KeyedVectors.

A row of zeros is similar to nothing: it scores 0 where gensim gives nan.
"""

from __future__ import annotations

import difflib
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from mumon import neighbours
from mumon.errors import FormatError, MissingWordError, OptionError
from mumon.neighbours import Floats, row_norms, unit

Key: TypeAlias = "str | int | np.integer[Any]"
Item: TypeAlias = "Key | NDArray[Any] | tuple[Key | NDArray[Any], float]"
Items: TypeAlias = "Item | Sequence[Item] | None"
Ranking: TypeAlias = list[tuple[str, float]]

KEY_TYPES = (str, int, np.integer)
SUGGEST_FROM = 20_000  # frequent words that a misspelt one is compared with

log = logging.getLogger(__name__)


class WordVectors:
    """V words and their (V, D) float32 vectors, which are shared, not copied.

    >>> wv = WordVectors(["king", "queen", "apple"], np.array([[2, 1], [2, 2], [-1, 1]], np.float32))
    >>> wv.most_similar("king", topn=1)
    [('queen', 0.9486832618713379)]
    >>> wv["queen"].tolist(), "pear" in wv, len(wv)
    ([2.0, 2.0], False, 3)
    """

    def __init__(self, words: Sequence[str], vectors: NDArray[Any], counts: NDArray[Any] | None = None) -> None:
        matrix = np.asarray(vectors, np.float32)
        if matrix.ndim != 2 or len(matrix) != len(words):
            raise FormatError(f"{len(words)} words need as many rows, and the matrix is {matrix.shape}; give one each")
        self.index_to_key: list[str] = list(words)
        self.key_to_index: dict[str, int] = dict(zip(self.index_to_key, range(len(words)), strict=True))
        if len(self.key_to_index) != len(words):
            row, word = next((i, w) for i, w in enumerate(self.index_to_key) if self.key_to_index[w] != i)
            raise FormatError(
                f"the word {word!r} is in rows {row + 1} and {self.key_to_index[word] + 1}; words must differ"
            )
        self.vectors: Floats = matrix
        self.counts: NDArray[np.int64] | None = None if counts is None else np.asarray(counts, np.int64)
        if self.counts is not None and self.counts.shape != (len(words),):
            raise FormatError(f"{len(words)} words have counts of shape {self.counts.shape}; give one count each")
        self._norms: Floats | None = None

    # ---- lookup

    def __len__(self) -> int:
        return len(self.index_to_key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.index_to_key)

    def __contains__(self, key: object) -> bool:
        return self.has_index_for(key)

    def __repr__(self) -> str:
        return f"WordVectors<vector_size={self.vector_size}, {len(self)} keys>"

    def __getitem__(self, key_or_keys: Key | Iterable[Key]) -> Floats:
        if isinstance(key_or_keys, KEY_TYPES):
            return self.get_vector(key_or_keys)
        rows: Floats = self.vectors[[self.get_index(key) for key in key_or_keys]]  # type: ignore[union-attr]
        return rows

    @property
    def vector_size(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def norms(self) -> Floats:
        """The Euclidean length of each vector, computed when first asked for."""
        self.fill_norms()
        assert self._norms is not None
        return self._norms

    def fill_norms(self, force: bool = False) -> None:
        """Compute the norms if they are not there; `force` after the vectors changed in place."""
        if self._norms is None or force:
            self._norms = row_norms(self.vectors)

    def has_index_for(self, key: object) -> bool:
        """Whether a word, or a row number, is there."""
        return key in self.key_to_index or (isinstance(key, (int, np.integer)) and 0 <= int(key) < len(self))

    def get_index(self, key: Key, default: int | None = None) -> int:
        """The row of a word; a row number stands for itself."""
        index = self.key_to_index.get(key, -1)  # type: ignore[arg-type]
        if index >= 0:
            return index
        if isinstance(key, (int, np.integer)) and 0 <= key < len(self):
            return int(key)
        if default is not None:
            return default
        raise MissingWordError(self._missing(key))

    def get_vector(self, key: Key, norm: bool = False) -> Floats:
        """The vector of a word, read-only; `norm` scales it to length 1."""
        row: Floats = self.vectors[self.get_index(key)]
        vector = unit(row) if norm else row.view()
        vector.setflags(write=False)  # changing it in place would leave the norms wrong
        return vector

    def get_vecattr(self, key: Key, attr: str) -> int:
        """The count of a word in the training text: "count" is the one attribute there is."""
        index = self.get_index(key)
        if attr != "count" or self.counts is None:
            known = "only 'count' is kept" if self.counts is not None else "these vectors came without counts"
            raise OptionError(f"there is no attribute {attr!r} of the {len(self)} words; {known}")
        return int(self.counts[index])

    def get_mean_vector(
        self,
        keys: Sequence[Key | NDArray[Any]] | NDArray[Any],
        weights: Sequence[float] | NDArray[Any] | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> Floats:
        """The weighted mean of words and vectors, divided by the sum of |weight|; only words are normalised first."""
        items: list[Any] = [keys] if isinstance(keys, str) else list(keys)
        if not items:
            raise OptionError("the mean of 0 words was asked for; give at least 1")
        scale = np.ones(len(items)) if weights is None else np.asarray(weights, np.float64)
        if scale.shape != (len(items),):
            raise OptionError(f"{len(items)} words came with weights of shape {scale.shape}; give one weight each")
        mean: NDArray[np.float64] = np.zeros(self.vector_size)
        total = 0.0
        for item, weight in zip(items, scale.tolist(), strict=True):
            if isinstance(item, np.ndarray):
                vector = self._checked(item)
            elif not ignore_missing or self.has_index_for(item):
                vector = self.get_vector(item, norm=pre_normalize)
            else:
                continue
            mean += weight * vector
            total += abs(weight)
        mean = mean / total if total else mean
        return (unit(mean) if post_normalize else mean).astype(np.float32)

    # ---- neighbours

    @overload
    def most_similar(
        self,
        positive: Items = ...,
        negative: Items = ...,
        topn: int = ...,
        clip_start: int = ...,
        clip_end: int | None = ...,
        restrict_vocab: int | None = ...,
    ) -> Ranking: ...

    @overload
    def most_similar(
        self,
        positive: Items = ...,
        negative: Items = ...,
        *,
        topn: None,
        clip_start: int = ...,
        clip_end: int | None = ...,
        restrict_vocab: int | None = ...,
    ) -> Floats: ...

    def most_similar(
        self,
        positive: Items = None,
        negative: Items = None,
        topn: int | None = 10,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
    ) -> Ranking | Floats:
        """The words whose vectors have the highest cosine with the mean of `positive` minus `negative`.

        Items are words, vectors, or (word or vector, weight). The words asked about are left out of the answer.
        `topn=None` gives the similarity of every word between `clip_start` and `clip_end` instead.
        """
        if topn is not None and topn < 1:
            return []
        keys, weights = self._weighted(positive, negative)
        query = self.get_mean_vector(keys, weights, post_normalize=True, ignore_missing=False)
        start, end = self._range(clip_start, clip_end, restrict_vocab)
        if topn is None:
            return neighbours.scores_of_one(self.vectors, self.norms, query, start, end)
        asked = [self.get_index(key) for key in keys if isinstance(key, KEY_TYPES)]
        indices, scores = self.nearest(query[None], topn, [asked], start, end)
        return self._ranking(indices[0], scores[0])

    @overload
    def most_similar_cosmul(
        self, positive: Items = ..., negative: Items = ..., topn: int = ..., restrict_vocab: int | None = ...
    ) -> Ranking: ...

    @overload
    def most_similar_cosmul(
        self, positive: Items = ..., negative: Items = ..., *, topn: None, restrict_vocab: int | None = ...
    ) -> Floats: ...

    def most_similar_cosmul(
        self,
        positive: Items = None,
        negative: Items = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Ranking | Floats:
        """Levy and Goldberg's 3CosMul: the product of similarities to `positive` over that to `negative`."""
        if topn is not None and topn < 1:
            return []
        pos, neg = _as_list(positive), _as_list(negative)
        if not pos:
            raise OptionError("0 positive words were given; 3CosMul needs at least 1")
        keys = [*pos, *neg]
        rows = [self._checked(key) if isinstance(key, np.ndarray) else self.get_vector(key, norm=True) for key in keys]
        start, end = self._range(0, None, restrict_vocab)
        blocks: list[Floats] = []
        for _, cosines in neighbours.score_blocks(self.vectors, self.norms, np.array(rows, np.float32), start, end):
            shifted = (1 + cosines) / 2  # their footnote 7: from [-1, 1] to [0, 1], so that products keep their order
            ratio = shifted[: len(pos)].prod(axis=0) / (shifted[len(pos) :].prod(axis=0) + np.float32(1e-6))
            blocks.append(np.asarray(ratio, np.float32))
        scores = neighbours.joined(blocks)
        if topn is None:
            return scores
        scores[[i for i in map(self.get_index, filter(_is_key, keys)) if i < end]] = -np.inf
        indices = neighbours.largest(scores[None], topn)[0]
        return self._ranking(indices, scores[indices])

    def nearest(
        self,
        queries: NDArray[Any],
        topn: int = 10,
        exclude: Sequence[Iterable[int]] | None = None,
        clip_start: int = 0,
        clip_end: int | None = None,
    ) -> tuple[NDArray[np.int64], Floats]:
        """For each row of `queries` (Q, D): the rows most similar to it, best first, and their scores, both (Q, topn).

        `exclude` names, for each query, rows that must not be answered; places that nothing is left for are -1.
        Scores are q · v / |v|: cosines when the queries have length 1.

        >>> wv = WordVectors(["a", "b", "c"], np.array([[1, 0], [1, 1], [0, 1]], np.float32))
        >>> wv.nearest(np.eye(2), topn=2, exclude=[[0], []])[0].tolist()
        [[1, 2], [2, 1]]
        """
        rows = self._range(clip_start, clip_end, None)
        return neighbours.nearest(self.vectors, self.norms, queries, topn, exclude, rows)

    def similar_by_word(self, word: Key, topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
        """The words most similar to a word."""
        return self.most_similar(word, topn=topn, restrict_vocab=restrict_vocab)

    similar_by_key = similar_by_word

    def similar_by_vector(self, vector: NDArray[Any], topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
        """The words most similar to a vector."""
        return self.most_similar(np.asarray(vector), topn=topn, restrict_vocab=restrict_vocab)

    # ---- pairs and sets

    @staticmethod
    def cosine_similarities(vector_1: NDArray[Any], vectors_all: NDArray[Any]) -> NDArray[Any]:
        """The cosine of one vector with each row of a matrix."""
        lengths = np.linalg.norm(vector_1) * row_norms(vectors_all)
        products: NDArray[Any] = vectors_all @ vector_1
        cosines: NDArray[Any] = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        return cosines

    def similarity(self, w1: Key, w2: Key) -> float:
        """The cosine of two words."""
        return float(self.get_vector(w1, norm=True) @ self.get_vector(w2, norm=True))

    def n_similarity(self, ws1: Sequence[Key], ws2: Sequence[Key]) -> float:
        """The cosine of the means of two sets of words; words that are not there are ignored."""
        means = [self.get_mean_vector(ws, pre_normalize=False, post_normalize=True) for ws in (ws1, ws2)]
        return float(means[0] @ means[1])

    def distance(self, w1: Key, w2: Key) -> float:
        """1 minus the cosine of two words."""
        return 1 - self.similarity(w1, w2)

    def distances(self, word_or_vector: Key | NDArray[Any], other_words: Iterable[Key] = ()) -> Floats:
        """1 minus the cosine of a word or vector with each of `other_words`, or with every word if there are none."""
        if isinstance(word_or_vector, np.ndarray):
            vector = self._checked(word_or_vector)
        else:
            vector = self.get_vector(word_or_vector)
        others = [self.get_index(word) for word in other_words or ()]
        if others:
            return (1 - self.cosine_similarities(vector, self.vectors[others])).astype(np.float32)
        return 1 - neighbours.scores_of_one(self.vectors, self.norms, unit(vector), 0, len(self))

    def closer_than(self, key1: Key, key2: Key) -> list[str]:
        """The words closer to `key1` than `key2` is."""
        distances = self.distances(key1)
        closer = np.flatnonzero(distances < distances[self.get_index(key2)])
        return [self.index_to_key[index] for index in closer if index != self.get_index(key1)]

    def rank(self, key1: Key, key2: Key) -> int:
        """The place of `key2` among the neighbours of `key1`: 1 is the nearest."""
        return len(self.closer_than(key1, key2)) + 1

    def doesnt_match(self, words: Sequence[str]) -> str:
        """The word furthest from the mean of all; words that are not there are ignored."""
        used = [word for word in words if word in self]
        if not used:
            raise OptionError(f"0 of the {len(words)} words are among the {len(self)} of the vocabulary; give others")
        if len(used) < len(words):
            log.warning(
                "ignored words that are not in the vocabulary: %s", [word for word in words if word not in self]
            )
        vectors = np.array([self.get_vector(word, norm=True) for word in used])
        scores = vectors @ self.get_mean_vector(vectors, post_normalize=True)
        return min(zip(scores.tolist(), used, strict=True))[1]

    # ---- evaluation, as gensim does it; `mumon.evaluation` has more

    def evaluate_word_pairs(
        self,
        pairs: str | os.PathLike[str],
        delimiter: str = "\t",
        encoding: str = "utf8",
        restrict_vocab: int = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
    ) -> tuple[Any, Any, float]:
        """How well cosines agree with people's scores in a file of lines `word word score`.

        Returns Pearson's and Spearman's correlation, each with its p-value, and the percentage of pairs with a word
        that is not among the first `restrict_vocab`; `dummy4unknown` gives those a similarity of 0.
        """
        from mumon.evaluation.gensim_style import word_pairs

        return word_pairs(self, pairs, delimiter, encoding, restrict_vocab, case_insensitive, dummy4unknown)

    def evaluate_word_analogies(
        self,
        analogies: str | os.PathLike[str],
        restrict_vocab: int = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
        similarity_function: str = "most_similar",
    ) -> tuple[float, list[dict[str, Any]]]:
        """How many analogies of a file (lines of four words, under lines `: section`) are answered right.

        Returns the accuracy and, for each section and for all, the questions that were answered right and wrong. Those
        with a word that is not among the first `restrict_vocab` are left out, or wrong with `dummy4unknown`.
        """
        from mumon.evaluation.gensim_style import word_analogies

        return word_analogies(self, analogies, restrict_vocab, case_insensitive, dummy4unknown, similarity_function)

    # ---- disk

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write to disk, in the format that `format` or the extension names; see `mumon.formats.FORMATS`."""
        from mumon.formats import write_vectors

        write_vectors(path, self.index_to_key, self.vectors, self.counts, format)

    @classmethod
    def load(cls, path: str | os.PathLike[str], format: str | None = None, limit: int | None = None) -> WordVectors:
        """Read from disk; without `format` the file itself tells what it is."""
        from mumon.formats import read_vectors

        loaded = read_vectors(path, format, limit)
        return cls(loaded.words, loaded.vectors, loaded.counts)

    def save_word2vec_format(self, fname: str | os.PathLike[str], binary: bool = False) -> None:
        """Write word2vec text or binary, whatever the extension."""
        self.save(fname, "word2vec-bin" if binary else "word2vec-text")

    @classmethod
    def load_word2vec_format(
        cls, fname: str | os.PathLike[str], binary: bool = False, limit: int | None = None
    ) -> WordVectors:
        """Read word2vec text or binary, whatever the extension."""
        return cls.load(fname, "word2vec-bin" if binary else "word2vec-text", limit)

    # ---- inside

    def _range(self, start: int, end: int | None, restrict_vocab: int | None) -> tuple[int, int]:
        first, last, _ = slice(start, end or None).indices(len(self))
        return (0, min(restrict_vocab, len(self))) if restrict_vocab else (first, max(first, last))

    def _weighted(self, positive: Items, negative: Items) -> tuple[list[Any], list[float]]:
        keys: list[Any] = []
        weights: list[float] = []
        for items, sign in ((_as_list(positive), 1.0), (_as_list(negative), -1.0)):
            for item in items:
                key, weight = item if isinstance(item, (tuple, list)) and len(item) == 2 else (item, sign)
                if not isinstance(key, (*KEY_TYPES, np.ndarray)):
                    raise OptionError(f"{key!r} is no word, row or vector; give those or pairs of one and a weight")
                keys.append(key)
                weights.append(float(weight))
        return keys, weights

    def _checked(self, vector: NDArray[Any]) -> Floats:
        if vector.shape != (self.vector_size,):
            raise OptionError(f"a vector of shape {vector.shape} was given; these have {self.vector_size} numbers")
        return vector.astype(np.float32, copy=False)

    def _ranking(self, indices: NDArray[np.int64], scores: Floats) -> Ranking:
        pairs = zip(indices.tolist(), scores.tolist(), strict=True)
        return [(self.index_to_key[i], score) for i, score in pairs if i >= 0 and score != -np.inf]

    def _missing(self, key: Key) -> str:
        if not isinstance(key, str):
            return f"row {key} is outside the {len(self)} words of the vocabulary; count from 0"
        near = next((form for form in (key.lower(), key.title(), key.upper(), key.strip()) if form in self), None)
        if near is None:  # one letter and the length first: comparing with every word would take seconds
            frequent = self.index_to_key[:SUGGEST_FROM]
            alike = [w for w in frequent if w[:1] == key[:1] and abs(len(w) - len(key)) <= 2]
            near = next(iter(difflib.get_close_matches(key, alike[:2000], n=1, cutoff=0.75)), None)
        hint = "check the spelling" if near is None else f"did you mean {near!r}?"
        return f"{key!r} is not among the {len(self)} words of the vocabulary; {hint}"


def _as_list(items: Items) -> list[Any]:
    """A single word or vector stands for a list of one, and a matrix for its rows."""
    if items is None:
        return []
    if isinstance(items, KEY_TYPES) or (isinstance(items, np.ndarray) and items.ndim == 1):
        return [items]
    return list(items)  # type: ignore[arg-type]


def _is_key(item: object) -> bool:
    return isinstance(item, KEY_TYPES)
