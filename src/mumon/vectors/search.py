"""Neighbours: the words of highest cosine, found by comparing with every row, or through an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.vectors import neighbours
from mumon.vectors.keys import KEY_TYPES, Items, Key, Ranking, check_topn, to_list
from mumon.vectors.lookup import Lookup
from mumon.vectors.neighbours import Floats
from mumon.vectors.storage import Snapshot

T = TypeVar("T")


class Search(Lookup):
    """Neighbours of words, of vectors, and of sums of them."""

    @overload
    def most_similar(
        self,
        positive: Items = ...,
        negative: Items = ...,
        topn: int = ...,
        clip_start: int = ...,
        clip_end: int | None = ...,
        restrict_vocab: int | None = ...,
        indexer: Any = ...,
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
        indexer: Any = ...,
    ) -> Floats: ...

    def most_similar(
        self,
        positive: Items = None,
        negative: Items = None,
        topn: int | None = 10,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
        indexer: Any = None,
    ) -> Ranking | Floats:
        """Find the words most similar to the mean of `positive` minus `negative`, by cosine.

        Words that are part of the question are never part of the answer.

        Parameters
        ----------
        positive
            Words or vectors that pull the mean towards them: one, or a list. A pair (word or vector, weight) gives one
            a weight other than 1.
        negative
            Words or vectors that push it away, in the same form; their weight is -1.
        topn
            The number of words to return. None returns the similarity of every word instead.
        clip_start, clip_end
            Search only the rows from `clip_start` up to `clip_end`.
        restrict_vocab
            Search only this many words from the start, which are the most frequent where rows are sorted by count.
        indexer
            Search through an index: what `index()` returns, or an indexer of gensim's, which is anything with a method
            `most_similar(vector, topn)`.

        Returns
        -------
        list of (word, float)
            The words and their cosines, best first; with `topn=None` an array of the cosines of all words searched.

        Examples
        --------
        >>> from mumon import WordVectors
        >>> wv = WordVectors(["king", "queen", "apple"], np.array([[2, 1], [2, 2], [-1, 1]], np.float32))
        >>> wv.most_similar(positive=["king"], topn=1)
        [('queen', 0.9486832618713379)]
        """
        topn = None if topn is None else check_topn(topn)
        if topn is not None and topn < 1:
            return []
        keys, weights = self._weigh_items(positive, negative)
        (query, asked), now = self._ask_consistently(
            lambda: (
                self.get_mean_vector(keys, weights, post_normalize=True, ignore_missing=False),
                self._find_rows(keys),
            )
        )
        if indexer is not None and topn is not None:
            if clip_start or clip_end or restrict_vocab:
                raise OptionError("an indexer searches all words; leave out clip_start, clip_end and restrict_vocab")
            return self._search_index(indexer, query, topn, asked)
        rows = start, end = _find_range(now, clip_start, clip_end, restrict_vocab)
        if topn is None:
            return neighbours.score_query(now.vectors, now.norms, query, start, end)
        indices, scores = neighbours.find_nearest(now.vectors, now.norms, query[None], topn, [asked], rows)
        return _pair_with_keys(now.keys, indices[0], scores[0])

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
        """Find the most similar words by Levy and Goldberg's 3CosMul.

        A word's score is the product of its similarities to `positive`, divided by that of its similarities to
        `negative`, where a similarity is (1 + cosine) / 2.

        Parameters
        ----------
        positive, negative
            Words or vectors: one, or a list. There must be at least one positive.
        topn
            The number of words to return. None returns the score of every word instead.
        restrict_vocab
            Search only this many words from the start.

        Returns
        -------
        list of (word, float)
            The words and their scores, best first; with `topn=None` an array of the scores of all words searched.
        """
        topn = None if topn is None else check_topn(topn)
        if topn is not None and topn < 1:
            return []
        pos, neg = to_list(positive), to_list(negative)
        if not pos:
            raise OptionError("0 positive words were given; 3CosMul needs at least 1")
        keys = [*pos, *neg]
        (rows, asked), now = self._ask_consistently(
            lambda: (
                [
                    self._check_vector(key) if isinstance(key, np.ndarray) else self.get_vector(key, True)
                    for key in keys
                ],
                self._find_rows(keys),
            )
        )
        start, end = _find_range(now, 0, None, restrict_vocab)
        blocks: list[Floats] = []
        for _, cosines in neighbours.score_blocks(now.vectors, now.norms, np.array(rows, np.float32), start, end):
            shifted = (1 + cosines) / 2  # their footnote 7: from [-1, 1] to [0, 1], so that products keep their order
            ratio = shifted[: len(pos)].prod(axis=0) / (shifted[len(pos) :].prod(axis=0) + np.float32(1e-6))
            blocks.append(np.asarray(ratio, np.float32))
        scores = neighbours.join_scores(blocks)
        if topn is None:
            return scores
        scores[[row for row in asked if row < end]] = -np.inf
        indices = neighbours.find_largest(scores[None], topn)[0]
        return _pair_with_keys(now.keys, indices, scores[indices])

    def nearest(
        self,
        queries: NDArray[Any],
        topn: int = 10,
        exclude: Sequence[Iterable[int]] | None = None,
        clip_start: int = 0,
        clip_end: int | None = None,
    ) -> tuple[NDArray[np.int64], Floats]:
        """Find the rows most similar to each of many vectors.

        Parameters
        ----------
        queries
            A (Q, D) matrix.
        topn
            The number of rows to find for each query.
        exclude
            For each query, the rows that it must not be answered with.
        clip_start, clip_end
            Search only the rows from `clip_start` up to `clip_end`.

        Returns
        -------
        (rows, scores)
            Two (Q, topn) arrays, best first. Row numbers are -1 where fewer than `topn` rows were left. A score is
            q · v / |v|, which is the cosine when the queries have length 1.

        Examples
        --------
        >>> from mumon import WordVectors
        >>> wv = WordVectors(["a", "b", "c"], np.array([[1, 0], [1, 1], [0, 1]], np.float32))
        >>> wv.nearest(np.eye(2), topn=2, exclude=[[0], []])[0].tolist()
        [[1, 2], [2, 1]]
        """
        now = self._take_snapshot()
        rows = _find_range(now, clip_start, clip_end, None)
        return neighbours.find_nearest(now.vectors, now.norms, queries, check_topn(topn), exclude, rows)

    def similar_by_key(self, key: Key, topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
        """Find the words most similar to a word; see `most_similar`.

        Parameters
        ----------
        key
            The word, which is not part of the answer.
        topn
            The number of words to return.
        restrict_vocab
            Search only this many words from the start.

        Returns
        -------
        list of (word, float)
            The words and their cosines, best first.
        """
        return self.most_similar([key], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_word(self, word: Key, topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
        """Find the words most similar to a word: gensim's other name of `similar_by_key`.

        Parameters
        ----------
        word
            The word, which is not part of the answer.
        topn
            The number of words to return.
        restrict_vocab
            Search only this many words from the start.

        Returns
        -------
        list of (word, float)
            The words and their cosines, best first.
        """
        return self.similar_by_key(word, topn, restrict_vocab)

    def similar_by_vector(self, vector: NDArray[Any], topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
        """Find the words most similar to a vector; see `most_similar`.

        Parameters
        ----------
        vector
            D numbers.
        topn
            The number of words to return.
        restrict_vocab
            Search only this many words from the start.

        Returns
        -------
        list of (word, float)
            The words and their cosines, best first.
        """
        return self.most_similar(np.asarray(vector), topn=topn, restrict_vocab=restrict_vocab)

    def _search_index(self, indexer: Any, query: Floats, topn: int, asked: list[int]) -> Ranking:
        if not isinstance(indexer, RowIndex):
            found: Ranking = indexer.most_similar(query, topn)
            return found
        if indexer.wv is not self:
            raise OptionError("the indexer was made of other vectors; make one of these by index()")
        indices, scores = indexer.nearest(query[None], topn, [asked])
        return _pair_with_keys(self.index_to_key, indices[0], scores[0])

    def _ask_consistently(self, ask: Callable[[], T]) -> tuple[T, Snapshot]:
        """Return what `ask` finds about the words of a question, and the vectors in which it was found."""
        while True:
            vectors, found, now = self._vectors, ask(), self._take_snapshot()
            if now.vectors is vectors:  # no other thread has exchanged them meanwhile
                return found, now

    def _weigh_items(self, positive: Items, negative: Items) -> tuple[list[Any], list[float]]:
        keys: list[Any] = []
        weights: list[float] = []
        for items, sign in ((to_list(positive), 1.0), (to_list(negative), -1.0)):
            for item in items:
                key, weight = item if isinstance(item, (tuple, list)) and len(item) == 2 else (item, sign)
                if not isinstance(key, (*KEY_TYPES, np.ndarray)):
                    raise OptionError(f"{key!r} is no word, row or vector; give those or pairs of one and a weight")
                keys.append(key)
                weights.append(float(weight))
        return keys, weights

    def _find_rows(self, keys: list[Any]) -> list[int]:
        """Find the rows of those keys that have one: vectors have none, nor have some words of fastText."""
        return [self.get_index(key) for key in keys if isinstance(key, KEY_TYPES) and self.has_index_for(key)]


class RowIndex:
    """The base of mumon's own index, which finds rows of `wv`; indexers of gensim's find words."""

    wv: Search

    def nearest(
        self, queries: NDArray[Any], topn: int = 10, exclude: Sequence[Iterable[int]] | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Find the rows most similar to each query; see `Search.nearest`."""
        raise NotImplementedError


def _find_range(now: Snapshot, start: int, end: int | None, restrict_vocab: int | None) -> tuple[int, int]:
    rows = now.rows  # a row that is only reserved is no answer
    first, last, _ = slice(start, end or None).indices(rows)
    return (0, min(restrict_vocab, rows)) if restrict_vocab else (first, max(first, last))


def _pair_with_keys(keys: list[Any], indices: NDArray[np.int64], scores: Floats) -> Ranking:
    pairs = zip(indices.tolist(), scores.tolist(), strict=True)
    return [(keys[i], score) for i, score in pairs if i >= 0 and score != -np.inf]
