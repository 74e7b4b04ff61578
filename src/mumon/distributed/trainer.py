"""A `Trainer` whose epochs are trained on a cluster."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from mumon.corpus.vocabulary import Vocabulary
from mumon.distributed.cluster import Cluster
from mumon.distributed.corpus import DistributedCorpus
from mumon.distributed.epoch import ClusterEpoch
from mumon.distributed.node_pool import NodePool
from mumon.distributed.rounds import Tiers, choose_sync_every, plan_epoch
from mumon.errors import CorpusError
from mumon.training.engine import training_kernel
from mumon.training.run_state import Position
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.trainer import Keeper, Trainer
from mumon.training.weights import Matrix
from mumon.utils.memory import format_bytes
from mumon.utils.progress import Progress
from mumon.utils.signals import PendingSignal

NODES_SHOWN = 8  # one by one, in the progress report


class ClusterTrainer(Trainer):
    """A trainer of two matrices on a corpus that is spread over a cluster.

    After each epoch the driver's matrices hold what the nodes have trained.

    Parameters
    ----------
    corpus
        Its parts are on the cluster.
    vocabulary
        The word of each row, and how often it occurs.
    source, target
        The driver's matrices, trained in place.
    columns
        Columns in use; the rest of a row is padding.
    settings
        What to train. `workers` of them is replaced by the threads of each node.
    cluster
        How many nodes and threads to use, and how often nodes exchange.
    epoch_plan
        "lanes" and "sync_every" of a run that resumes: it keeps its plan even if the number of nodes has changed.
    progress
        Where to report.
    locks
        A factor for the steps of each source row: 0 freezes it.
    """

    corpus: DistributedCorpus

    def __init__(
        self,
        corpus: DistributedCorpus,
        vocabulary: Vocabulary,
        source: Matrix,
        target: Matrix,
        columns: int,
        settings: Settings,
        cluster: Cluster,
        epoch_plan: dict[str, int] | None,
        progress: Progress,
        locks: npt.NDArray[np.float32] | None = None,
    ) -> None:
        self.corpus, self.settings, self.progress = corpus, settings, progress
        self.source, self.target, self.columns, self.locks = source, target, columns, locks
        self.pool = NodePool(cluster, settings, vocabulary, columns, progress)
        lanes = self.pool.wanted_nodes
        sync_every = cluster.sync_every or choose_sync_every(len(vocabulary), corpus.tokens, lanes, self.pool.workers)
        self.epoch_plan = epoch_plan or {"lanes": lanes, "sync_every": sync_every}
        self.tiers = Tiers.from_counts(vocabulary.counts, settings.sample, self.epoch_plan["sync_every"])
        blocks = [part.metadata.blocks for part in corpus.parts]
        self.stretches = plan_epoch(blocks, self.epoch_plan["lanes"], self.epoch_plan["sync_every"])
        self.first_blocks = np.cumsum([0, *map(len, blocks)])
        self.round = 0

    @property
    def blocks(self) -> int:
        """The number of stretches in an epoch, which is what a position counts."""
        return len(self.stretches)

    def lock(self, locks: npt.NDArray[np.float32] | None) -> None:
        """Set the factor for the steps of each source row, from the next epoch on."""
        self.locks = locks

    def close(self) -> None:
        """Stop the nodes, and report what their exchanges have cost."""
        nodes = self.pool.nodes
        seconds = sum(node.seconds for node in nodes)
        if seconds and len(nodes) > 1:
            waited = 100 * sum(node.waited for node in nodes) / seconds
            sent = format_bytes(sum(node.nbytes for node in nodes) // len(nodes))
            self.progress.note(f"each node sent {sent} to the others, and waited for them {waited:.0f} % of the time")
        self.pool.stop()

    def _announce(self) -> None:
        from mumon.kernels.jit import is_compiled

        if not is_compiled(training_kernel(self.settings)[0]):  # on this machine; the others are not asked
            self.progress.note("nodes compile the training kernel, once for each machine …")

    def _explain_nothing(self) -> None:
        raise CorpusError(
            f"none of the {self.corpus.tokens:,} tokens was trained: no sentence has two words of the vocabulary, or "
            "subsampling left none; check the text, lower min_count, or set sample to 0"
        )

    def _epoch(self, epoch: int, schedule: Schedule, at: Position, keeper: Keeper | None, held: PendingSignal) -> None:
        """Train the rest of an epoch in rounds, and keep the state between them when it is due."""
        started = time.perf_counter()
        self.pool.prepare_epoch(self.round - 1, (self.source, self.target), self.locks)
        run = ClusterEpoch(self, epoch, schedule, at, started)
        while True:
            while not run.finished:
                run.advance()
                if keeper is not None and (held.signum is not None or keeper.due(at.tokens)):
                    run.flush()
                    self._check_finite(epoch + 1, schedule.rate(0))
                    keeper.keep(at) if held.signum is None else self._stop(at, keeper, held)
            run.flush()
            if run.finished:  # else all nodes were lost at the very end, and training returned to an earlier state
                break
        at.end_epoch(epoch + 1, schedule.rate(1.0))

    def report(self, at: Position, schedule: Schedule) -> None:
        """Report the progress of the run and of each node."""
        self._report(at, schedule)
        share = schedule.total * self.corpus.tokens // len(self.pool.nodes or [None])
        for node in self.pool.nodes[:NODES_SHOWN]:
            self.progress.update_node(node.name, node.tokens, share, node.speed)
