"""A node's copy of both matrices: what it has changed since all nodes agreed, and how it applies their changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.training.engine import Engine, Ids, TrainBlock
from mumon.training.weights import Matrix

# The fraction of the way to its limit that one update moves a source or target row, per unit of rate and replica: the
# best of a few values, by the quality of 2 to 16 replicas (docs/scale.md). It grows with the number of replicas because
# what they learn at the same time is less independent than the rule assumes.
PACE_PER_RATE = (0.05, 0.0125)


@dataclass(frozen=True)
class Changes:
    """Changed rows of one matrix, as they are sent: values in bfloat16, and the number of updates of each row."""

    rows: npt.NDArray[np.int32]
    values: npt.NDArray[np.uint16]
    updates: npt.NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        """The bytes that are sent."""
        return self.rows.nbytes + self.values.nbytes + self.updates.nbytes


ChangesPair = tuple[Changes, Changes]  # of the source and of the target matrix
Paces = npt.NDArray[np.float32]


class Replica:
    """Both matrices as this node trains them (`current`) and as all nodes last agreed (`agreed`).

    Parameters
    ----------
    engine
        What trains the current matrices.
    columns
        Columns in use; the rest of a row is padding.
    agreed
        The agreed matrices; by default copies of the engine's.
    pool
        Threads that handle several shares at a time, which have different rows; by default this thread handles all.
    """

    def __init__(
        self,
        engine: Engine,
        columns: int,
        agreed: tuple[Matrix, Matrix] | None = None,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self.engine, self.columns = engine, columns
        self._map: Callable[..., Iterator[Any]] = map if pool is None else pool.map
        self.current = engine.source, engine.target
        self.agreed = agreed or (engine.source.copy(), engine.target.copy())
        self.updates = np.zeros((2, len(engine.source)), np.float32)
        self._trained = 0  # tokens whose noise words do not count as updates yet
        self._sent: list[ChangesPair] = []  # changes of the last exchange, which are not agreed yet
        self._paces = compute_paces(engine, 0.0, 1)

    def make_block_trainer(
        self, corpus: EncodedCorpus, lookup: Ids, bounds: npt.NDArray[np.int64], first_block: int = 0
    ) -> TrainBlock:
        """Build a function that trains one block, in one thread, and counts the updates of each row.

        Parameters
        ----------
        corpus
            The tokens to train on.
        lookup
            The row of each of the corpus's word ids.
        bounds
            The sentences at which blocks begin and end.
        first_block
            The number of the first block in the whole text, which seeds its random draws.

        Returns
        -------
        TrainBlock
            Takes an epoch, a block and a rate; returns what it has trained.
        """
        from mumon.kernels.exchange import count_rows

        def count_updates(ids: Ids) -> None:
            count_rows(ids, self.updates)
            self._trained += len(ids)

        return self.engine.make_block_trainer(corpus, lookup, bounds, first_block, count_updates)

    def take_changes(self, rows: int, shares: int, alpha: float, replicas: int) -> list[ChangesPair]:
        """Take the changes of the first rows, which then count as sent until `apply` or `withdraw`.

        Parameters
        ----------
        rows
            Only changes of this many of the first rows are taken.
        shares
            How many nodes add up changes, each for its own rows.
        alpha, replicas
            The learning rate and the number of replicas; they must be the same on all nodes.

        Returns
        -------
        list
            The changes of each share.
        """
        self._count_noise()
        self._paces = compute_paces(self.engine, alpha, replicas)
        self._sent = list(self._map(lambda share: self._take_share(rows, share, shares), range(shares)))
        return self._sent

    def apply(self, combined: list[ChangesPair]) -> None:
        """Apply the combined changes of all nodes, which replace what this node had sent."""
        self.update_agreed(combined)
        self.update_current(combined)

    def update_agreed(self, combined: list[ChangesPair]) -> None:
        """Apply combined changes to the agreed matrices, which replicas in one process may share."""
        from mumon.kernels.exchange import add_rows

        def add(both: ChangesPair) -> None:
            for agreed, changes in zip(self.agreed, both, strict=True):
                add_rows(agreed, changes.rows, changes.values)

        list(self._map(add, combined))

    def update_current(self, combined: list[ChangesPair]) -> None:
        """Apply combined changes to the current matrices, without what this node has contributed to them."""
        from mumon.kernels.exchange import merge_rows

        def take(both: ChangesPair, sent: ChangesPair) -> None:
            for current, pace, changes, own in zip(self.current, self._paces, both, sent, strict=True):
                merge_rows(current, changes.rows, changes.values, own.rows, own.values, own.updates, pace)

        list(self._map(take, combined, self._sent))
        self._sent = []

    def adopt(self, agreed: tuple[Matrix, Matrix]) -> None:
        """Take over newer agreed matrices, which already include what this node had sent."""
        for current, mine, theirs in zip(self.current, self.agreed, agreed, strict=True):
            current[:, : self.columns] += theirs - mine[:, : self.columns]
            mine[:, : self.columns] = theirs
        nothing = [tuple(replace(own, values=np.zeros_like(own.values)) for own in both) for both in self._sent]
        self.update_current(nothing)  # type: ignore[arg-type]

    def withdraw(self) -> None:
        """Count as not sent what was sent and did not arrive."""
        for both in self._sent:
            for updates, changes in zip(self.updates, both, strict=True):
                updates[changes.rows] += changes.updates
        self._sent = []

    def _count_noise(self) -> None:
        """Add the expected number of updates of target rows as noise words."""
        self.updates[1] += (self.engine.settings.negative * self._trained * self.engine.noise).astype(np.float32)
        self._trained = 0

    def _take_share(self, rows: int, share: int, shares: int) -> ChangesPair:
        return tuple(  # type: ignore[return-value]
            _collect_changes(*arrays, self.columns, rows, share, shares)
            for arrays in zip(self.current, self.agreed, self.updates, self._paces, strict=True)
        )


def _collect_changes(
    current: Matrix,
    agreed: Matrix,
    updates: npt.NDArray[np.float32],
    pace: Paces,
    columns: int,
    rows: int,
    share: int,
    shares: int,
) -> Changes:
    from mumon.kernels.exchange import take_changes

    most = _share_capacity(rows, shares)
    found, counts = np.empty(most, np.int32), np.empty(most, np.float32)
    values = np.empty((most, columns), np.uint16)
    n = take_changes(current, agreed, share, shares, rows, updates, pace, found, values, counts)
    return Changes(found[:n], values[:n], counts[:n])


def compute_paces(engine: Engine, alpha: float, replicas: int) -> tuple[Paces, Paces]:
    """Return how far one update goes, for the rows of both matrices.

    Where nothing divides by the number of contexts, one token brings that many gradients: to both rows in skip-gram,
    and to the source rows of the faulty update.

    Parameters
    ----------
    engine
        What trains the matrices.
    alpha
        The learning rate.
    replicas
        How many train at the same time.

    Returns
    -------
    tuple of arrays
        The pace of each source row and of each target row (see `mumon.kernels.exchange`).
    """
    settings, words = engine.settings, len(engine.source)
    per_token = settings.objective_record.gradients(settings, 2 * settings.window)
    source, target = (pace * gradients for pace, gradients in zip(PACE_PER_RATE, per_token, strict=True))
    alpha *= replicas
    return np.full(words, source * alpha, np.float32), np.full(words, target * alpha, np.float32)


def combine(parts: list[ChangesPair], share: int, shares: int, rows: int, pace: tuple[Paces, Paces]) -> ChangesPair:
    """Add up the changes of all nodes to one share of the rows.

    Parameters
    ----------
    parts
        What each node has changed in this share.
    share, shares
        The number of the share, and how many there are.
    rows
        This many of the first rows are exchanged.
    pace
        As `compute_paces` returns it.

    Returns
    -------
    tuple
        The combined changes of both matrices; updates are not counted again.
    """
    return tuple(
        _combine_matrix(list(one), share, shares, rows, p)
        for one, p in zip(zip(*parts, strict=True), pace, strict=True)
    )  # type: ignore[return-value]


def _combine_matrix(parts: list[Changes], share: int, shares: int, rows: int, pace: Paces) -> Changes:
    from mumon.kernels.exchange import CHUNK_ROWS, add_changes, damp_sums

    room = _share_capacity(rows, shares)
    sums, totals = np.zeros((room, parts[0].values.shape[1]), np.float32), np.zeros(room, np.float32)
    changed = np.zeros(room, bool)
    for part in parts:
        add_changes(part.rows, part.values, part.updates, shares, sums, totals, changed)
    places = np.flatnonzero(changed)
    found = (places // CHUNK_ROWS * CHUNK_ROWS * shares + share * CHUNK_ROWS + places % CHUNK_ROWS).astype(np.int32)
    values = np.empty((len(found), sums.shape[1]), np.uint16)
    damp_sums(found, shares, sums, totals, pace, values)
    return Changes(found, values, np.empty(0, np.float32))


def _share_capacity(rows: int, shares: int) -> int:
    """Return how many of the first rows a share may have."""
    from mumon.kernels.exchange import CHUNK_ROWS

    return -(-rows // (CHUNK_ROWS * shares)) * CHUNK_ROWS
