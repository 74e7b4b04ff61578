"""A trainer on one node: its replica, the parts of the text that it is given, and its share of adding up."""

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
from mumon.training.engine import Engine, Ids, TrainBlock, block_bounds
from mumon.training.memory import check_memory
from mumon.training.run_state import Block
from mumon.training.settings import Settings
from mumon.training.weights import Matrix, new_matrix
from mumon.utils.progress import Progress

CACHED_LOOKUPS = 64  # tables from words of a part to rows, which are kept


@dataclass(frozen=True)
class TrainingJob:
    """What stays the same throughout a training."""

    settings: Settings
    words: Any  # Arrow array of bytes, by row
    unk: int  # the row of words that have none, or -1
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class RoundTask:
    """What a worker does in a round: a stretch of the text (or nothing), then an exchange."""

    round: int
    epoch: int
    stretch: Stretch | None
    rates: tuple[float, float]  # at the beginning and end of the stretch
    alpha: float  # of all workers in this round
    rows: int  # how many of the first to exchange
    shares: int  # as many as there are workers


@dataclass(frozen=True)
class RoundReport:
    """What came of it. `agreed` is the round whose exchange was the last to be taken in."""

    trained: Block | None
    agreed: int
    seconds: float = 0.0
    waited: float = 0.0
    nbytes: int = 0
    problem: str = ""


class NodeTrainer:
    """The actor. Its methods are called by the driver; what they are given by reference they fetch themselves."""

    def __init__(self) -> None:
        """Nothing is given here: Ray starts a lost worker again as it was first started, and its data may be gone."""
        self._lookups: OrderedDict[str, Ids] = OrderedDict()
        self._part: tuple[str, EncodedCorpus] | None = None
        self._job: TrainingJob
        self._pool: ThreadPoolExecutor
        self._replica: Replica
        self._agreed, self._healthy = -1, False

    def ping(self) -> str:
        """The node this worker runs on."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def begin(
        self, task: TrainingJob, agreed: int, source: Matrix, target: Matrix, locks: npt.NDArray[np.float32] | None
    ) -> None:
        """Start from a state that all agree on."""
        columns = source.shape[1]
        check_memory(2 * len(source), columns, task.settings, Progress())  # current and agreed
        matrices = new_matrix(len(source), columns), new_matrix(len(target), columns)
        for matrix, rows in zip(matrices, (source, target), strict=True):
            matrix[:, :columns] = rows
        self._job, self._pool = task, ThreadPoolExecutor(task.settings.workers, "mumon")
        self._replica = Replica(Engine(task.counts, *matrices, task.settings, locks), columns, pool=self._pool)
        self._agreed, self._healthy = agreed, True

    def lock(self, locks: npt.NDArray[np.float32] | None) -> None:
        """From here on, let each source row take that part of its steps."""
        self._replica.engine.lock(locks)

    def train(self, work: RoundTask, part: list[Any], combined: list[Any]) -> Any:
        """Train a stretch, take in the exchange before, and give a report and what has changed, for each share a part.

        What others have combined is fetched only after training: it had all that time to arrive.
        """
        started = time.perf_counter()
        nothing = [None] * work.shares
        if not self._healthy:
            return (RoundReport(None, self._agreed, problem="not in step"), *nothing)
        trained = None
        try:
            trained = self._train_stretch(work, part)
            fetched = time.perf_counter()
            self._apply_exchange(combined, work.round - 1)
            waited = time.perf_counter() - fetched
            parts = self._replica.take_changes(work.rows, work.shares, work.alpha, work.shares)
        except Exception as error:  # the driver decides: most likely another worker has died
            self._healthy = False
            return (RoundReport(trained, self._agreed, problem=f"{type(error).__name__}: {error}"), *nothing)
        nbytes = sum(changes.nbytes for both in parts for changes in both)
        return (RoundReport(trained, self._agreed, time.perf_counter() - started, waited, nbytes), *parts)

    def combine(self, work: RoundTask, share: int, parts: list[Any]) -> ChangesPair:
        """Add up one share of what all workers have changed.

        Ray would not begin the next round here before it had all arguments of this call, so it is given references.
        """
        import ray

        return combine(
            ray.get(parts), share, work.shares, work.rows, compute_paces(self._replica.engine, work.alpha, work.shares)
        )

    def finish_exchange(self, round_: int, combined: list[Any]) -> RoundReport:
        """Take in the last exchange, after which nothing is on the way."""
        try:
            self._apply_exchange(combined, round_)
        except Exception as error:
            self._healthy = False
            return RoundReport(None, self._agreed, problem=f"{type(error).__name__}: {error}")
        return RoundReport(None, self._agreed)

    def get_state(self) -> tuple[Matrix, Matrix]:
        """What all agree on."""
        source, target = self._replica.agreed
        return source[:, : self._replica.columns], target[:, : self._replica.columns]

    def rejoin(self, agreed: int, source: Matrix | None, target: Matrix | None) -> int:
        """After a failure: take over a later agreement, if this worker missed it; what is on the way is taken back."""
        if agreed > self._agreed and source is not None and target is not None:
            self._replica.adopt((source, target))
        else:
            self._replica.withdraw()
        self._agreed, self._healthy = agreed, True
        return self._agreed

    def get_version(self) -> int | None:
        """The round whose exchange was the last to be taken in; None for a worker that was started again."""
        return self._agreed if hasattr(self, "_replica") else None

    def _apply_exchange(self, combined: list[Any], round_: int) -> None:
        import ray

        if combined:
            self._replica.apply(ray.get(combined))
            self._agreed = round_

    def _train_stretch(self, work: RoundTask, part: list[Any]) -> Block | None:
        """Train blocks in as many threads as there are, each with its own buffers."""
        if work.stretch is None:
            return None
        stretch, (first_rate, last_rate) = work.stretch, work.rates
        corpus, lookup, first_block = *self._open_part(part), part[2]
        bounds, tickets = block_bounds(corpus.offsets), itertools.count(stretch.first)
        blocks = stretch.last - stretch.first

        def run(train: TrainBlock) -> list[Block]:
            done = []
            while (block := next(tickets)) < stretch.last:
                share = (block - stretch.first) / blocks
                done.append(train(work.epoch, block, first_rate + share * (last_rate - first_rate)))
            return done

        threads = min(self._job.settings.workers, blocks)
        trainers: list[Callable[..., Any]] = [
            self._replica.build_block_trainer(corpus, lookup, bounds, first_block) for _ in range(threads)
        ]
        done = [block for blocks_ in self._pool.map(run, trainers) for block in blocks_]
        return Block(
            *(sum(values) for values in zip(*((b.tokens, b.trained, b.loss, b.counted) for b in done), strict=True))
        )

    def _open_part(self, part: list[Any]) -> tuple[EncodedCorpus, Ids]:
        """A part of the text, and the row of each of its words."""
        import ray

        data, words = part[:2]
        if self._part is None or self._part[0] != data.hex():
            got = ray.get(data)
            empty: Any = np.empty(0, np.int64)
            self._part = data.hex(), EncodedCorpus(got.ids, got.offsets, empty, empty, 0, data.hex(), False)
        if words.hex() not in self._lookups:
            if len(self._lookups) == CACHED_LOOKUPS:
                self._lookups.popitem(last=False)
            self._lookups[words.hex()] = find_rows(ray.get(words).column("word"), self._job.words, self._job.unk)
        return self._part[1], self._lookups[words.hex()]
