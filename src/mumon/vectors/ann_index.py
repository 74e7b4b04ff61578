"""Approximate neighbours through usearch's graph (HNSW): which rows are looked at is approximate, scores are exact."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError, to_one_line
from mumon.utils.progress import Progress, choose_progress
from mumon.vectors.keys import Items, Ranking, check_topn
from mumon.vectors.neighbours import Floats, scale_to_unit

if TYPE_CHECKING:
    from mumon.vectors.search import Search

DTYPES = ("f32", "f16", "i8")
CHUNK = 4096  # rows added between two looks at the progress bar
QUERIES = 512  # answered at a time: their candidates' vectors are held in memory


class Index:
    """Neighbours of words and vectors, without looking at every row; `WordVectors.index` makes one.

    The vectors must stay as they are: after training or added words, build it anew.
    """

    def __init__(
        self,
        wv: Search,
        *,
        connectivity: int = 16,
        expansion_add: int = 128,
        expansion_search: int = 64,
        dtype: str = "f32",
        progress: bool | Progress | None = None,
    ) -> None:
        if dtype not in DTYPES:
            raise OptionError(f"dtype is {dtype!r}; an index holds {', '.join(DTYPES)}")
        for name, value in (
            ("connectivity", connectivity),
            ("expansion_add", expansion_add),
            ("expansion_search", expansion_search),
        ):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 2:
                raise OptionError(f"{name} is {value!r}; it must be a whole number of at least 2")
        self.wv, self._rows = wv, wv.next_index
        self._index = _usearch().Index(
            ndim=wv.vector_size,
            metric="cos",
            dtype=dtype,
            connectivity=int(connectivity),
            expansion_add=int(expansion_add),
            expansion_search=int(expansion_search),
        )
        with choose_progress(progress) as reporter:
            self._build(reporter)

    def _build(self, progress: Progress) -> None:
        from mumon.formats.base import find_non_finite_row

        bad = find_non_finite_row(self.wv.vectors[: self._rows])
        if bad is not None:
            raise FormatError(
                f"the vector of {self.wv.index_to_key[bad]!r} holds nan or inf; no index can be made of it"
            )
        vectors, norms, *_ = self.wv._snapshot()
        progress.start("index", self._rows, "rows")
        for start in range(0, self._rows, CHUNK):
            lengths = norms[start : min(start + CHUNK, self._rows)]
            there = start + np.flatnonzero(lengths)  # rows of zeros have no direction, and are neighbours of nothing
            self._index.add(there.astype(np.uint64), vectors[there] / norms[there, None])
            progress.update(start + len(lengths))
        progress.finish(f"index of {len(self._index):,} vectors")

    def __len__(self) -> int:
        return len(self._index)

    def __repr__(self) -> str:
        return f"Index<{len(self)} of {self._rows} rows, {self.dtype}, expansion_search={self.expansion_search}>"

    @property
    def dtype(self) -> str:
        """How numbers are held: "f32", "f16" or "i8"."""
        return str(self._index.dtype.name).lower()

    @property
    def expansion_search(self) -> int:
        """How many rows a question keeps in sight: higher is slower and finds more. May be changed at any time."""
        return int(self._index.expansion_search)

    @expansion_search.setter
    def expansion_search(self, value: int) -> None:
        self._index.expansion_search = int(value)

    def most_similar(self, positive: Items = None, topn: int = 10, negative: Items = None) -> Ranking:
        """As `WordVectors.most_similar`; `topn` stands second because gensim calls most_similar(vector, topn)."""
        if not isinstance(topn, (int, np.integer)):
            raise OptionError(f"topn is {topn!r} where a whole number is needed; give negative words as negative=…")
        return self.wv.most_similar(positive, negative, int(topn), indexer=self)

    def nearest(
        self, queries: NDArray[Any], topn: int = 10, exclude: Sequence[Iterable[int]] | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """As `WordVectors.nearest`: rows and scores, both (Q, topn), best first, -1 where nothing was found."""
        self._check_fresh()
        queries = np.ascontiguousarray(queries, np.float32)
        if queries.ndim != 2 or queries.shape[1] != self.wv.vector_size:
            raise OptionError(
                f"queries of shape {queries.shape} were given; give rows of {self.wv.vector_size} numbers"
            )
        topn = max(0, min(check_topn(topn), self._rows))
        most = 0 if exclude is None else max((len(list(rows)) for rows in exclude), default=0)
        wanted = topn if self.dtype == "f32" else 2 * topn  # rounded numbers may put a true neighbour a little too late
        count = min(wanted + most, len(self))
        indices = np.full((len(queries), topn), -1, np.int64)
        scores = np.full((len(queries), topn), -np.inf, np.float32)
        for start in range(0, len(queries) if count else 0, QUERIES):
            part = slice(start, start + QUERIES)
            rows, exact = self._candidates(queries[part], count)
            for place, left_out in enumerate(exclude[part] if exclude is not None else ()):
                exact[place, np.isin(rows[place], list(left_out))] = -np.inf
            order = np.lexsort((rows, -exact), axis=1)[:, :topn]  # as the exact search: the earlier row of equal ones
            scores[part, : order.shape[1]] = np.take_along_axis(exact, order, 1)
            indices[part, : order.shape[1]] = np.take_along_axis(rows, order, 1)
        indices[np.isneginf(scores)] = -1
        return indices, scores

    def _candidates(self, queries: Floats, count: int) -> tuple[NDArray[np.int64], Floats]:
        """What the graph finds, with exact scores: the index may hold rounded numbers."""
        matches = self._index.search(queries, count)
        single = len(queries) == 1  # for which usearch answers with one row, as long as what it found
        counts = np.array([len(matches.keys)]) if single else np.asarray(matches.counts)
        rows = np.zeros((len(queries), count), np.int64)
        rows[:, : int(counts.max())] = np.atleast_2d(matches.keys)[:, : int(counts.max())]
        vectors, norms, *_ = self.wv._snapshot()
        exact = np.einsum("qcd,qd->qc", vectors[rows], queries) / norms[rows]
        exact[np.arange(count) >= counts[:, None]] = -np.inf
        return rows, exact

    def recall(self, sample: int = 1000, topn: int = 10, seed: int = 0) -> float:
        """Of the true `topn` neighbours of some words, the share that the index finds: 1 is all of them.

        A neighbour as near as the last true one counts as well.
        """
        topn = check_topn(topn)
        rows = np.flatnonzero(self.wv.norms[: self._rows])
        if not len(rows) or sample < 1 or topn < 1:
            raise OptionError(f"sample is {sample} of {len(rows)} vectors and topn {topn}; all must be at least 1")
        chosen = np.sort(np.random.default_rng(seed).choice(rows, min(sample, len(rows)), replace=False))
        queries = np.array([scale_to_unit(self.wv.vectors[row]) for row in chosen])
        itself = [[row] for row in chosen.tolist()]
        exact = self.wv.nearest(queries, topn, itself)[1]
        found = self.nearest(queries, topn, itself)[1]
        true = np.isfinite(exact) & (exact > 0)
        last = np.where(true, exact, np.inf).min(axis=1, keepdims=True)
        hits = np.minimum((found >= last - 1e-6).sum(axis=1), true.sum(axis=1))
        return float(hits.sum() / max(1, true.sum()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file, whole or not at all; the vectors are not part of it."""
        from mumon.vectors.ann_index_file import write

        self._check_fresh()
        write(path, self.wv, bytes(self._index.save()))

    @classmethod
    def load(cls, path: str | os.PathLike[str], wv: Search) -> Index:
        """Read an index; refused if it was made of other vectors than `wv`."""
        from mumon.vectors.ann_index_file import read

        index = cls.__new__(cls)
        index.wv, index._rows = wv, wv.next_index
        data = read(path, wv)
        usearch = _usearch()
        try:
            index._index = usearch.Index.restore(data)
        except (ValueError, RuntimeError) as error:
            reason = to_one_line(error)
            raise FormatError(f"{os.fspath(path)} cannot be read by this usearch ({reason}); make it again") from None
        return index

    def _check_fresh(self) -> None:
        if self.wv.next_index != self._rows:
            raise OptionError(f"the index knows {self._rows} of {self.wv.next_index} vectors; make it again by index()")


def _usearch() -> Any:
    try:
        return importlib.import_module("usearch.index")
    except ImportError:
        raise OptionError("an index needs usearch, which is not here; pip install 'mumon[index]'") from None
