"""Simulated training on a cluster: several replicas in one process, to measure the quality without a cluster."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.distributed.replica import ChangesPair, Replica, combine, compute_paces
from mumon.distributed.rounds import Stretch, Tiers, plan_epoch
from mumon.training.engine import Engine, Ids, TrainBlock, cut_blocks
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.weights import Matrix
from mumon.utils.progress import Progress


@dataclass
class Cost:
    """What a simulated run has cost: seconds of one thread, bytes sent and received by each node, and rounds."""

    train_seconds: float = 0.0
    exchange_seconds: float = 0.0  # taking and applying changes, while training waits
    combine_seconds: float = 0.0  # adding up, which a cluster does during training
    sent_bytes: float = 0.0
    combined_bytes: float = 0.0
    rounds: int = 0


class Simulation:
    """Replicas that train parts of a corpus in rounds and exchange their changes, as the nodes of a cluster do.

    Parameters
    ----------
    corpus
        The text; each replica trains a part of it.
    lookup
        The row of each of the corpus's word ids.
    counts
        How often the word of each row occurs.
    source, target
        The matrices to train; they hold what the replicas agree on.
    columns
        Columns in use; the rest of a row is padding.
    settings
        What to train. `workers` of them is the number of replicas that train at the same time.
    replicas
        How many nodes to simulate.
    sync_every
        Tokens that each replica trains between two exchanges.
    delay
        1 if the changes of a round arrive a round later, as on a cluster; 0 if they arrive at once.
    """

    def __init__(
        self,
        corpus: EncodedCorpus,
        lookup: Ids,
        counts: npt.NDArray[np.int64],
        source: Matrix,
        target: Matrix,
        columns: int,
        settings: Settings,
        replicas: int,
        sync_every: int,
        delay: int = 1,
    ) -> None:
        self.corpus, self.lookup, self.settings, self.delay = corpus, lookup, settings, delay
        self.source, self.target = source, target
        engines = [Engine(counts, source.copy(), target.copy(), settings) for _ in range(replicas)]
        self.replicas = [Replica(engine, columns, (source, target)) for engine in engines]
        self.tiers = Tiers.from_counts(counts, settings.sample, sync_every)
        self.bounds = cut_blocks(corpus.offsets)
        blocks = np.diff(corpus.offsets[self.bounds])
        parts = np.array_split(np.arange(len(blocks)), replicas)
        self._firsts = [int(part[0]) for part in parts]
        self.plan = plan_epoch([blocks[part] for part in parts], replicas, sync_every)
        self.cost = Cost()
        self._round = 0
        self._pending: list[ChangesPair] = []  # combined changes that are not applied yet

    def run(self, epochs: int, schedule: Schedule, progress: Progress) -> float:
        """Train, and leave the result in the matrices.

        Parameters
        ----------
        epochs
            How many to train.
        schedule
            The learning rates.
        progress
            Where to report.

        Returns
        -------
        float
            The mean loss of the last epoch.
        """
        progress.start("training", epochs * self.corpus.tokens, "tokens")
        nodes, loss = len(self.replicas), float("nan")
        trainers = [r.make_block_trainer(self.corpus, self.lookup, self.bounds) for r in self.replicas]
        for epoch in range(epochs):
            now, total, counted, done = replace(schedule, done=schedule.done + epoch), 0.0, 0, 0
            for first in range(0, len(self.plan), nodes):
                stretches = self.plan[first : first + nodes]
                alpha = now.rate(stretches[0].before / self.corpus.tokens)
                started = time.perf_counter()
                jobs = [partial(self._train, trainers[i], stretch, epoch, alpha) for i, stretch in enumerate(stretches)]
                with ThreadPoolExecutor(self.settings.workers) as pool:
                    for tokens, block_loss, block_counted in pool.map(lambda job: job(), jobs):
                        total, counted, done = total + block_loss, counted + block_counted, done + tokens
                self.cost.train_seconds += time.perf_counter() - started
                last = first + nodes >= len(self.plan)
                self._exchange(len(self.source) if last else self.tiers.rows_after(self._round), alpha, flush=last)
                self._round += 1
                loss = total / max(counted, 1)
                progress.update(
                    epoch * self.corpus.tokens + done, epoch=epoch + 1, epochs=epochs, alpha=alpha, loss=loss
                )
        progress.finish(f"trained {epochs} epochs with {nodes} replicas, loss {loss:.4f}", loss=loss)
        self.cost.rounds = self._round
        return loss

    def _train(self, train: TrainBlock, stretch: Stretch, epoch: int, alpha: float) -> tuple[int, float, int]:
        blocks = [
            train(epoch, self._firsts[stretch.part] + block, alpha) for block in range(stretch.first, stretch.last)
        ]
        return sum(b.tokens for b in blocks), sum(b.loss for b in blocks), sum(b.counted for b in blocks)

    def _exchange(self, rows: int, alpha: float, flush: bool) -> None:
        """Apply the changes of the round before and send new ones; if `flush`, apply these as well."""
        if self._pending:
            self._apply()
        self._send(rows, alpha)
        if flush or not self.delay:
            self._apply()

    def _send(self, rows: int, alpha: float) -> None:
        started = time.perf_counter()
        parts = [replica.take_changes(rows, 1, alpha, len(self.replicas))[0] for replica in self.replicas]
        taken = time.perf_counter()
        combined = combine(parts, 0, 1, rows, compute_paces(self.replicas[0].engine, alpha, len(self.replicas)))
        self.cost.exchange_seconds += taken - started
        self.cost.combine_seconds += time.perf_counter() - taken
        self.cost.sent_bytes += sum(changes.nbytes for both in parts for changes in both) / len(parts)
        self.cost.combined_bytes += sum(changes.nbytes for changes in combined)
        self._pending = [combined]

    def _apply(self) -> None:
        started = time.perf_counter()
        self.replicas[0].update_agreed(self._pending)
        for replica in self.replicas:
            replica.update_current(self._pending)
        self._pending = []
        self.cost.exchange_seconds += time.perf_counter() - started
