"""What is near: the words of highest cosine, found by comparing with every row, or through an index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.vectors import neighbours
from mumon.vectors.keys import KEY_TYPES, Items, Key, Ranking, as_list, check_topn
from mumon.vectors.lookup import Lookup
from mumon.vectors.neighbours import Floats
from mumon.vectors.storage import Snapshot

if TYPE_CHECKING:
    from mumon.utils.progress import Progress
    from mumon.vectors.ann_index import Index

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
        """The words whose vectors have the highest cosine with the mean of `positive` minus `negative`.

        Items are words, vectors, or (word or vector, weight). The words asked about are left out of the answer.
        `topn=None` gives the similarity of every word between `clip_start` and `clip_end` instead. `indexer` is what
        `index()` returns, or an indexer of gensim's: anything with a method most_similar(vector, topn).
        """
        topn = None if topn is None else check_topn(topn)
        if topn is not None and topn < 1:
            return []
        keys, weights = self._weighted(positive, negative)
        (query, asked), now = self._now(
            lambda: (
                self.get_mean_vector(keys, weights, post_normalize=True, ignore_missing=False),
                self._rows_asked(keys),
            )
        )
        if indexer is not None and topn is not None:
            if clip_start or clip_end or restrict_vocab:
                raise OptionError("an indexer searches all words; leave out clip_start, clip_end and restrict_vocab")
            return self._through(indexer, query, topn, asked)
        rows = start, end = _range(now, clip_start, clip_end, restrict_vocab)
        if topn is None:
            return neighbours.score_query(now.vectors, now.norms, query, start, end)
        indices, scores = neighbours.find_nearest(now.vectors, now.norms, query[None], topn, [asked], rows)
        return _ranking(now.keys, indices[0], scores[0])

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
        topn = None if topn is None else check_topn(topn)
        if topn is not None and topn < 1:
            return []
        pos, neg = as_list(positive), as_list(negative)
        if not pos:
            raise OptionError("0 positive words were given; 3CosMul needs at least 1")
        keys = [*pos, *neg]
        (rows, asked), now = self._now(
            lambda: (
                [self._checked(key) if isinstance(key, np.ndarray) else self.get_vector(key, True) for key in keys],
                self._rows_asked(keys),
            )
        )
        start, end = _range(now, 0, None, restrict_vocab)
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
        return _ranking(now.keys, indices, scores[indices])

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

        >>> from mumon import WordVectors
        >>> wv = WordVectors(["a", "b", "c"], np.array([[1, 0], [1, 1], [0, 1]], np.float32))
        >>> wv.nearest(np.eye(2), topn=2, exclude=[[0], []])[0].tolist()
        [[1, 2], [2, 1]]
        """
        now = self._snapshot()
        rows = _range(now, clip_start, clip_end, None)
        return neighbours.find_nearest(now.vectors, now.norms, queries, check_topn(topn), exclude, rows)

    def similar_by_key(self, key: Key, topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
        """The words most similar to a word."""
        return self.most_similar([key], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_word(self, word: Key, topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
        """The words most similar to a word."""
        return self.similar_by_key(word, topn, restrict_vocab)

    def similar_by_vector(self, vector: NDArray[Any], topn: int = 10, restrict_vocab: int | None = None) -> Ranking:
        """The words most similar to a vector."""
        return self.most_similar(np.asarray(vector), topn=topn, restrict_vocab=restrict_vocab)

    def index(
        self,
        *,
        connectivity: int = 16,
        expansion_add: int = 128,
        expansion_search: int = 64,
        dtype: str = "f32",
        progress: bool | Progress | None = None,
    ) -> Index:
        """An index that finds neighbours without looking at every row: much faster for many words, nearly always right.

        Higher numbers find more of the true neighbours (`Index.recall` measures how many) and take longer: to build for
        `connectivity` and `expansion_add`, to ask for `expansion_search`. `dtype` is "f32", "f16" or "i8". It needs
        `pip install 'mumon[index]'`; without an index, every answer is exact.
        """
        from mumon.vectors.ann_index import Index

        return Index(
            self,
            connectivity=connectivity,
            expansion_add=expansion_add,
            expansion_search=expansion_search,
            dtype=dtype,
            progress=progress,
        )

    # ---- inside

    def _through(self, indexer: Any, query: Floats, topn: int, asked: list[int]) -> Ranking:
        from mumon.vectors.ann_index import Index

        if not isinstance(indexer, Index):
            found: Ranking = indexer.most_similar(query, topn)
            return found
        if indexer.wv is not self:
            raise OptionError("the indexer was made of other vectors; make one of these by index()")
        indices, scores = indexer.nearest(query[None], topn, [asked])
        return _ranking(self.index_to_key, indices[0], scores[0])

    def _now(self, ask: Callable[[], T]) -> tuple[T, Snapshot]:
        """What is found out about the words of a question, and the vectors in which it was found."""
        while True:
            vectors, found, now = self._vectors, ask(), self._snapshot()
            if now.vectors is vectors:  # no other thread has exchanged them meanwhile
                return found, now

    def _weighted(self, positive: Items, negative: Items) -> tuple[list[Any], list[float]]:
        keys: list[Any] = []
        weights: list[float] = []
        for items, sign in ((as_list(positive), 1.0), (as_list(negative), -1.0)):
            for item in items:
                key, weight = item if isinstance(item, (tuple, list)) and len(item) == 2 else (item, sign)
                if not isinstance(key, (*KEY_TYPES, np.ndarray)):
                    raise OptionError(f"{key!r} is no word, row or vector; give those or pairs of one and a weight")
                keys.append(key)
                weights.append(float(weight))
        return keys, weights

    def _rows_asked(self, keys: list[Any]) -> list[int]:
        """The rows of words that must not be answered; vectors have none, and words may be without."""
        return [self.get_index(key) for key in keys if isinstance(key, KEY_TYPES) and self.has_index_for(key)]


def _range(now: Snapshot, start: int, end: int | None, restrict_vocab: int | None) -> tuple[int, int]:
    rows = now.rows  # one that is only reserved is no answer
    first, last, _ = slice(start, end or None).indices(rows)
    return (0, min(restrict_vocab, rows)) if restrict_vocab else (first, max(first, last))


def _ranking(keys: list[Any], indices: NDArray[np.int64], scores: Floats) -> Ranking:
    pairs = zip(indices.tolist(), scores.tolist(), strict=True)
    return [(keys[i], score) for i, score in pairs if i >= 0 and score != -np.inf]
