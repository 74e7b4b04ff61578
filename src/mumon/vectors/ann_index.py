"""Approximate neighbours through usearch's graph (HNSW): which rows are compared is approximate, scores are exact.

A saved index is a line of JSON, which says of which vectors it was made, followed by usearch's own bytes.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError, to_one_line
from mumon.utils.progress import Progress, choose_progress
from mumon.utils.strict_json import parse
from mumon.vectors.keys import Items, Ranking, check_topn
from mumon.vectors.lookup import Lookup
from mumon.vectors.neighbours import Floats, scale_to_unit
from mumon.vectors.search import RowIndex, Search

DTYPES = ("f32", "f16", "i8")
BUILD_ROWS = 4096  # rows added between two updates of the progress bar
QUERY_BATCH = 512  # queries answered at a time: the vectors of their candidates are held in memory

FILE_FORMAT, FILE_VERSION = "mumon index", 1
MAX_HEADER_BYTES = 4096
DIGEST_ROWS = 4096  # rows digested at a time


class Index(RowIndex):
    """Neighbours of words and vectors, found without comparing with every row; `WordVectors.index` makes one.

    The vectors must not change: after training or adding words, make a new index.

    Parameters
    ----------
    wv
        The vectors to search. Rows of zeros are left out.
    connectivity
        The number of links of a row in the graph; more find more and take more memory.
    expansion_add
        The number of rows considered for those links while the graph is built.
    expansion_search
        The number of rows that a search keeps as candidates.
    dtype
        How the index holds numbers: "f32", "f16" or "i8".
    progress
        Whether to show a progress bar; None shows one in a terminal.
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
        self._index = _import_usearch().Index(
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
        vectors, norms, *_ = self.wv._take_snapshot()
        progress.start("index", self._rows, "rows")
        for start in range(0, self._rows, BUILD_ROWS):
            lengths = norms[start : min(start + BUILD_ROWS, self._rows)]
            filled = start + np.flatnonzero(lengths)  # rows of zeros have no direction, and are neighbours of nothing
            self._index.add(filled.astype(np.uint64), vectors[filled] / norms[filled, None])
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
        """The number of candidates that a search keeps: more find more and are slower. It may be set at any time."""
        return int(self._index.expansion_search)

    @expansion_search.setter
    def expansion_search(self, value: int) -> None:
        self._index.expansion_search = int(value)

    def most_similar(self, positive: Items = None, topn: int = 10, negative: Items = None) -> Ranking:
        """Find the words most similar to the mean of `positive` minus `negative`, as `WordVectors.most_similar` does.

        Parameters
        ----------
        positive
            Words or vectors: one, or a list.
        topn
            The number of words to return. It comes second because gensim calls `most_similar(vector, topn)`.
        negative
            Words or vectors to subtract.

        Returns
        -------
        list of (word, float)
            The words and their exact cosines, best first.
        """
        if not isinstance(topn, (int, np.integer)):
            raise OptionError(f"topn is {topn!r} where a whole number is needed; give negative words as negative=…")
        return self.wv.most_similar(positive, negative, int(topn), indexer=self)

    def nearest(
        self, queries: NDArray[Any], topn: int = 10, exclude: Sequence[Iterable[int]] | None = None
    ) -> tuple[NDArray[np.int64], Floats]:
        """Find the rows most similar to each of many vectors, as `WordVectors.nearest` does.

        Parameters
        ----------
        queries
            A (Q, D) matrix.
        topn
            The number of rows to find for each query.
        exclude
            For each query, the rows that it must not be answered with.

        Returns
        -------
        (rows, scores)
            Two (Q, topn) arrays, best first. Row numbers are -1 where the index found fewer than `topn`.
        """
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
        for start in range(0, len(queries) if count else 0, QUERY_BATCH):
            part = slice(start, start + QUERY_BATCH)
            rows, exact = self._find_candidates(queries[part], count)
            for place, left_out in enumerate(exclude[part] if exclude is not None else ()):
                exact[place, np.isin(rows[place], list(left_out))] = -np.inf
            order = np.lexsort((rows, -exact), axis=1)[:, :topn]  # as the exact search: the earlier row of equal ones
            scores[part, : order.shape[1]] = np.take_along_axis(exact, order, 1)
            indices[part, : order.shape[1]] = np.take_along_axis(rows, order, 1)
        indices[np.isneginf(scores)] = -1
        return indices, scores

    def _find_candidates(self, queries: Floats, count: int) -> tuple[NDArray[np.int64], Floats]:
        """Find rows through the graph, with exact scores: the index may hold rounded numbers."""
        matches = self._index.search(queries, count)
        single = len(queries) == 1  # for which usearch answers with one row, as long as what it found
        counts = np.array([len(matches.keys)]) if single else np.asarray(matches.counts)
        rows = np.zeros((len(queries), count), np.int64)
        rows[:, : int(counts.max())] = np.atleast_2d(matches.keys)[:, : int(counts.max())]
        vectors, norms, *_ = self.wv._take_snapshot()
        exact = np.einsum("qcd,qd->qc", vectors[rows], queries) / norms[rows]
        exact[np.arange(count) >= counts[:, None]] = -np.inf
        return rows, exact

    def recall(self, sample: int = 1000, topn: int = 10, seed: int = 0) -> float:
        """Measure which share of the true neighbours of some words the index finds.

        A neighbour as near as the last true one counts as well.

        Parameters
        ----------
        sample
            The number of words to search neighbours of.
        topn
            The number of neighbours of each.
        seed
            Of the choice of words.

        Returns
        -------
        float
            Between 0 and 1; 1 means that all were found.
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
        """Write the index to a file atomically.

        Parameters
        ----------
        path
            The file. The vectors are not part of it; `load` needs them again.
        """
        from mumon.utils.atomic import atomic_file

        self._check_fresh()
        data = bytes(self._index.save())
        header = {"format": FILE_FORMAT, "version": FILE_VERSION, **_identify(self.wv), "bytes": _digest(data)}
        with atomic_file(path) as file:
            file.write(json.dumps(header).encode() + b"\n")
            file.write(data)

    @classmethod
    def load(cls, path: str | os.PathLike[str], wv: Search) -> Index:
        """Read an index from a file.

        Parameters
        ----------
        path
            A file that `save` wrote.
        wv
            The vectors that the index was made of.

        Returns
        -------
        Index

        Raises
        ------
        FormatError
            If the file is damaged, or the index was made of other vectors.
        """
        index = cls.__new__(cls)
        index.wv, index._rows = wv, wv.next_index
        data = _read_data(path, wv)
        usearch = _import_usearch()
        try:
            index._index = usearch.Index.restore(data)
        except (ValueError, RuntimeError) as error:
            reason = to_one_line(error)
            raise FormatError(f"{os.fspath(path)} cannot be read by this usearch ({reason}); make it again") from None
        return index

    def _check_fresh(self) -> None:
        if self.wv.next_index != self._rows:
            raise OptionError(f"the index knows {self._rows} of {self.wv.next_index} vectors; make it again by index()")


def _import_usearch() -> Any:
    try:
        return importlib.import_module("usearch.index")
    except ImportError:
        raise OptionError("an index needs usearch, which is not installed; pip install 'mumon[index]'") from None


def _read_data(path: str | os.PathLike[str], wv: Lookup) -> bytes:
    """Read usearch's bytes; refuse them if they are damaged, or belong to other vectors."""
    from mumon.formats.base import as_format_errors

    name = os.fspath(path)
    with as_format_errors(Path(path)), Path(path).open("rb") as file:
        header = _parse_header(file.readline(MAX_HEADER_BYTES))
        if header.get("format") != FILE_FORMAT or header.get("version") != FILE_VERSION:
            raise FormatError(f"{name} is no index that this mumon wrote; make one by index() and save that")
        data = file.read()
    if _digest(data) != header.get("bytes"):  # usearch does not check what it reads
        raise FormatError(f"{name} is damaged (it has {len(data)} bytes of an index); make it again by index()")
    identity = _identify(wv)
    if any(header.get(key) != value for key, value in identity.items()):
        raise FormatError(
            f"{name} is an index of {header.get('rows')} vectors, which are not these {identity['rows']}; "
            "make one of these by index()"
        )
    return data


def _parse_header(line: bytes) -> dict[str, Any]:
    try:
        header = parse(line)
    except ValueError:
        return {}
    return header if isinstance(header, dict) else {}


def _identify(wv: Lookup) -> dict[str, Any]:
    """Describe vectors so that others differ: rows, columns, and a digest of the words and numbers."""
    rows = wv.next_index
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, rows, DIGEST_ROWS):
        block = wv.vectors[start : min(start + DIGEST_ROWS, rows)]
        digest.update(np.ascontiguousarray(block, "<f4").data)
        digest.update(json.dumps(wv.index_to_key[start : start + len(block)]).encode())
    return {"rows": rows, "size": wv.vector_size, "digest": digest.hexdigest()}


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
