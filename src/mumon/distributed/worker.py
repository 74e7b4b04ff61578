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
from mumon.distributed.parts import rows_of
from mumon.distributed.replica import Both, Replica, combine, paces
from mumon.distributed.rounds import Stretch
from mumon.training.engine import Engine, Ids, TrainBlock, block_bounds
from mumon.training.memory import check_memory
from mumon.training.run_state import Block
from mumon.training.settings import Settings
from mumon.training.weights import Matrix, new_matrix
from mumon.utils.progress import Progress

LOOKUPS = 64  # tables from words of a part to rows, which are kept


@dataclass(frozen=True)
class Task:
    """What stays the same throughout a training."""

    settings: Settings
    words: Any  # Arrow array of bytes, by row
    unk: int  # the row of words that have none, or -1
    counts: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Work:
    """What a worker does in a round: a stretch of the text (or nothing), then an exchange."""

    round: int
    epoch: int
    stretch: Stretch | None
    rates: tuple[float, float]  # at the beginning and end of the stretch
    alpha: float  # of all workers in this round
    rows: int  # how many of the first to exchange
    shares: int  # as many as there are workers


@dataclass(frozen=True)
class Report:
    """What came of it. `agreed` is the round whose exchange was the last to be taken in."""

    trained: Block | None
    agreed: int
    seconds: float = 0.0
    waited: float = 0.0
    nbytes: int = 0
    problem: str = ""


class Worker:
    """The actor. Its methods are called by the driver; what they are given by reference they fetch themselves."""

    def __init__(self) -> None:
        """Nothing is given here: Ray starts a lost worker again as it was first started, and its data may be gone."""
        self._lookups: OrderedDict[str, Ids] = OrderedDict()
        self._part: tuple[str, EncodedCorpus] | None = None
        self._task: Task
        self._pool: ThreadPoolExecutor
        self._replica: Replica
        self._agreed, self._healthy = -1, False

    def where(self) -> str:
        """The node this worker runs on."""
        import ray

        return str(ray.get_runtime_context().get_node_id())

    def begin(
        self, task: Task, agreed: int, source: Matrix, target: Matrix, locks: npt.NDArray[np.float32] | None
    ) -> None:
        """Start from a state that all agree on."""
        columns = source.shape[1]
        check_memory(2 * len(source), columns, task.settings, Progress())  # current and agreed
        matrices = new_matrix(len(source), columns), new_matrix(len(target), columns)
        for matrix, rows in zip(matrices, (source, target), strict=True):
            matrix[:, :columns] = rows
        self._task, self._pool = task, ThreadPoolExecutor(task.settings.workers, "mumon")
        self._replica = Replica(Engine(task.counts, *matrices, task.settings, locks), columns, pool=self._pool)
        self._agreed, self._healthy = agreed, True

    def lock(self, locks: npt.NDArray[np.float32] | None) -> None:
        """From here on, let each source row take that part of its steps."""
        self._replica.engine.lock(locks)

    def train(self, work: Work, part: list[Any], combined: list[Any]) -> Any:
        """Train a stretch, take in the exchange before, and give a report and what has changed, for each share a part.

        What others have combined is fetched only after training: it had all that time to arrive.
        """
        started = time.perf_counter()
        nothing = [None] * work.shares
        if not self._healthy:
            return (Report(None, self._agreed, problem="not in step"), *nothing)
        trained = None
        try:
            trained = self._stretch(work, part)
            fetched = time.perf_counter()
            self._take_in(combined, work.round - 1)
            waited = time.perf_counter() - fetched
            parts = self._replica.take(work.rows, work.shares, work.alpha, work.shares)
        except Exception as error:  # the driver decides: most likely another worker has died
            self._healthy = False
            return (Report(trained, self._agreed, problem=f"{type(error).__name__}: {error}"), *nothing)
        nbytes = sum(changes.nbytes for both in parts for changes in both)
        return (Report(trained, self._agreed, time.perf_counter() - started, waited, nbytes), *parts)

    def combine(self, work: Work, share: int, parts: list[Any]) -> Both:
        """Add up one share of what all workers have changed.

        Ray would not begin the next round here before it had all arguments of this call, so it is given references.
        """
        import ray

        return combine(
            ray.get(parts), share, work.shares, work.rows, paces(self._replica.engine, work.alpha, work.shares)
        )

    def settle(self, round_: int, combined: list[Any]) -> Report:
        """Take in the last exchange, after which nothing is on the way."""
        try:
            self._take_in(combined, round_)
        except Exception as error:
            self._healthy = False
            return Report(None, self._agreed, problem=f"{type(error).__name__}: {error}")
        return Report(None, self._agreed)

    def state(self) -> tuple[Matrix, Matrix]:
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

    def version(self) -> int | None:
        """The round whose exchange was the last to be taken in; None for a worker that was started again."""
        return self._agreed if hasattr(self, "_replica") else None

    def _take_in(self, combined: list[Any], round_: int) -> None:
        import ray

        if combined:
            self._replica.apply(ray.get(combined))
            self._agreed = round_

    def _stretch(self, work: Work, part: list[Any]) -> Block | None:
        """Train blocks in as many threads as there are, each with its own buffers."""
        if work.stretch is None:
            return None
        stretch, (first_rate, last_rate) = work.stretch, work.rates
        corpus, lookup, first_block = *self._opened(part), part[2]
        bounds, tickets = block_bounds(corpus.offsets), itertools.count(stretch.first)
        blocks = stretch.last - stretch.first

        def run(train: TrainBlock) -> list[Block]:
            done = []
            while (block := next(tickets)) < stretch.last:
                share = (block - stretch.first) / blocks
                done.append(train(work.epoch, block, first_rate + share * (last_rate - first_rate)))
            return done

        threads = min(self._task.settings.workers, blocks)
        trainers: list[Callable[..., Any]] = [
            self._replica.trainer(corpus, lookup, bounds, first_block) for _ in range(threads)
        ]
        done = [block for blocks_ in self._pool.map(run, trainers) for block in blocks_]
        return Block(
            *(sum(values) for values in zip(*((b.tokens, b.trained, b.loss, b.counted) for b in done), strict=True))
        )

    def _opened(self, part: list[Any]) -> tuple[EncodedCorpus, Ids]:
        """A part of the text, and the row of each of its words."""
        import ray

        data, words = part[:2]
        if self._part is None or self._part[0] != data.hex():
            got = ray.get(data)
            empty: Any = np.empty(0, np.int64)
            self._part = data.hex(), EncodedCorpus(got.ids, got.offsets, empty, empty, 0, data.hex(), False)
        if words.hex() not in self._lookups:
            if len(self._lookups) == LOOKUPS:
                self._lookups.popitem(last=False)
            self._lookups[words.hex()] = rows_of(ray.get(words).column("word"), self._task.words, self._task.unk)
        return self._part[1], self._lookups[words.hex()]
