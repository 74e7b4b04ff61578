"""The process that trains on one node: it has a replica, fetches parts of the text, and combines a share of changes."""

from __future__ import annotations

import itertools
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.distributed.parts import find_rows
from mumon.distributed.replica import ChangesPair, Replica, combine, compute_paces
from mumon.distributed.rounds import Stretch
from mumon.training.engine import Engine, Ids, TrainBlock, cut_blocks
from mumon.training.memory import check_memory
from mumon.training.run_state import BlockResult
from mumon.training.settings import Settings
from mumon.training.weights import Matrix, allocate_matrix
from mumon.utils.progress import Progress

CACHED_LOOKUPS = 64  # tables from the words of a part to rows


@dataclass(frozen=True)
class TrainingJob:
    """What stays the same throughout a run."""

    settings: Settings
    words: Any  # Arrow array of bytes, by row
    unk: int  # the row for words without a row of their own, or -1
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class RoundTask:
    """What a node does in a round: train a stretch of the text, if any, then exchange."""

    round: int
    epoch: int
    stretch: Stretch | None
    rates: tuple[float, float]  # at the beginning and the end of the stretch
    alpha: float  # the rate by which all nodes weight the changes of this round
    rows: int  # to exchange: this many of the first
    shares: int  # of the rows, one for each node


@dataclass(frozen=True)
class RoundReport:
    """What came of a round."""

    trained: BlockResult | None
    agreed: int  # the last round whose exchange the node has applied
    seconds: float = 0.0
    waited: float = 0.0  # seconds, for the changes of other nodes
    nbytes: int = 0  # sent
    problem: str = ""


class NodeTrainer:
    """The Ray actor, whose methods the driver calls; it fetches by itself what they receive as references."""

    def __init__(self) -> None:
        """Take no arguments: Ray restarts a lost node with the original ones, whose data may be gone."""
        self._lookups: OrderedDict[str, Ids] = OrderedDict()
        self._part: tuple[str, EncodedCorpus] | None = None
        self._job: TrainingJob
        self._pool: ThreadPoolExecutor
        self._replica: Replica
        self._agreed, self._healthy = -1, False

    def ping(self) -> str:
        """Answer, with the id of the machine in Ray."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def begin(
        self, job: TrainingJob, agreed: int, source: Matrix, target: Matrix, locks: npt.NDArray[np.float32] | None
    ) -> None:
        """Start from a state that all nodes agree on.

        Parameters
        ----------
        job
            What stays the same throughout the run.
        agreed
            The last round whose exchange the state includes.
        source, target
            The state, without padding.
        locks
            A factor for the steps of each source row, or None.
        """
        columns = source.shape[1]
        check_memory(2 * len(source), columns, job.settings, Progress())  # current and agreed
        matrices = allocate_matrix(len(source), columns), allocate_matrix(len(target), columns)
        for matrix, rows in zip(matrices, (source, target), strict=True):
            matrix[:, :columns] = rows
        self._job, self._pool = job, ThreadPoolExecutor(job.settings.workers, "mumon")
        self._replica = Replica(Engine(job.counts, *matrices, job.settings, locks), columns, pool=self._pool)
        self._agreed, self._healthy = agreed, True

    def lock(self, locks: npt.NDArray[np.float32] | None) -> None:
        """Set the factor for the steps of each source row."""
        self._replica.engine.lock(locks)

    def train(self, task: RoundTask, part: list[Any], combined: list[Any]) -> Any:
        """Train a stretch, apply the exchange of the round before, and return the new changes.

        Parameters
        ----------
        task
            What to do in this round.
        part
            References to the part of the text and to its words, and the number of its first block; empty if the task
            has no stretch.
        combined
            References to the changes of the round before. They are fetched after training, to give them time to arrive.

        Returns
        -------
        tuple
            A `RoundReport`, and for each share of the rows what this node has changed.
        """
        started = time.perf_counter()
        nothing = [None] * task.shares
        if not self._healthy:
            return (RoundReport(None, self._agreed, problem="behind the other nodes"), *nothing)
        trained = None
        try:
            trained = self._train_stretch(task, part)
            fetched = time.perf_counter()
            self._apply_exchange(combined, task.round - 1)
            waited = time.perf_counter() - fetched
            parts = self._replica.take_changes(task.rows, task.shares, task.alpha, task.shares)
        except Exception as error:  # the driver decides: most likely another node has died
            self._healthy = False
            return (RoundReport(trained, self._agreed, problem=f"{type(error).__name__}: {error}"), *nothing)
        nbytes = sum(changes.nbytes for both in parts for changes in both)
        return (RoundReport(trained, self._agreed, time.perf_counter() - started, waited, nbytes), *parts)

    def combine(self, task: RoundTask, share: int, parts: list[Any]) -> ChangesPair:
        """Add up the changes of all nodes to one share of the rows.

        `parts` are references: Ray would not start the next round here before it had all values of this call.
        """
        import ray

        return combine(
            ray.get(parts), share, task.shares, task.rows, compute_paces(self._replica.engine, task.alpha, task.shares)
        )

    def finish_exchange(self, round_: int, combined: list[Any]) -> RoundReport:
        """Apply the last exchange, after which no changes are travelling."""
        try:
            self._apply_exchange(combined, round_)
        except Exception as error:
            self._healthy = False
            return RoundReport(None, self._agreed, problem=f"{type(error).__name__}: {error}")
        return RoundReport(None, self._agreed)

    def get_state(self) -> tuple[Matrix, Matrix]:
        """Return the matrices that all nodes agree on."""
        source, target = self._replica.agreed
        return source[:, : self._replica.columns], target[:, : self._replica.columns]

    def rejoin(self, agreed: int, source: Matrix | None, target: Matrix | None) -> int:
        """Recover from the loss of another node: adopt a newer state, or else take back changes that were sent."""
        if agreed > self._agreed and source is not None and target is not None:
            self._replica.adopt((source, target))
        else:
            self._replica.withdraw()
        self._agreed, self._healthy = agreed, True
        return self._agreed

    def get_version(self) -> int | None:
        """Return the last round whose exchange this node has applied; None if it was restarted."""
        return self._agreed if hasattr(self, "_replica") else None

    def _apply_exchange(self, combined: list[Any], round_: int) -> None:
        import ray

        if combined:
            self._replica.apply(ray.get(combined))
            self._agreed = round_

    def _train_stretch(self, task: RoundTask, part: list[Any]) -> BlockResult | None:
        """Train the blocks of a stretch in threads, each with its own buffers."""
        if task.stretch is None:
            return None
        stretch, (first_rate, last_rate) = task.stretch, task.rates
        corpus, lookup, first_block = *self._open_part(part), part[2]
        bounds, tickets = cut_blocks(corpus.offsets), itertools.count(stretch.first)
        blocks = stretch.last - stretch.first

        def run(train: TrainBlock) -> list[BlockResult]:
            done = []
            while (block := next(tickets)) < stretch.last:
                share = (block - stretch.first) / blocks
                done.append(train(task.epoch, block, first_rate + share * (last_rate - first_rate)))
            return done

        threads = min(self._job.settings.workers, blocks)
        trainers: list[Callable[..., Any]] = [
            self._replica.make_block_trainer(corpus, lookup, bounds, first_block) for _ in range(threads)
        ]
        done = [block for blocks_ in self._pool.map(run, trainers) for block in blocks_]
        return BlockResult(
            *(sum(values) for values in zip(*((b.tokens, b.trained, b.loss, b.counted) for b in done), strict=True))
        )

    def _open_part(self, part: list[Any]) -> tuple[EncodedCorpus, Ids]:
        """Return a part of the text, and the row of each of its words."""
        import ray

        data, words = part[:2]
        if self._part is None or self._part[0] != data.hex():
            fetched = ray.get(data)
            empty: Any = np.empty(0, np.int64)
            self._part = data.hex(), EncodedCorpus(fetched.ids, fetched.offsets, empty, empty, 0, data.hex(), False)
        if words.hex() not in self._lookups:
            if len(self._lookups) == CACHED_LOOKUPS:
                self._lookups.popitem(last=False)
            self._lookups[words.hex()] = find_rows(ray.get(words).column("word"), self._job.words, self._job.unk)
        return self._part[1], self._lookups[words.hex()]
