"""Epochs on a cluster: an `EpochRunner` whose blocks are trained by the nodes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mumon.corpus.vocabulary import Vocabulary
from mumon.distributed.cluster import Cluster
from mumon.distributed.corpus import DistributedCorpus
from mumon.distributed.epoch import ClusterEpoch, ClusterState
from mumon.distributed.node_pool import NodePool
from mumon.distributed.rounds import Tiers, choose_sync_every, plan_epoch
from mumon.errors import CorpusError
from mumon.training.engine import load_kernel
from mumon.training.run_state import RunPosition
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.trainer import EpochControl
from mumon.training.weights import Matrix
from mumon.utils.memory import format_bytes
from mumon.utils.progress import Progress


class ClusterRunner:
    """An `EpochRunner` on a corpus that is spread over a cluster.

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
        Where nodes that come and go are reported.
    locks
        A factor for the steps of each source row: 0 freezes it.
    """

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
        self.corpus, self.source, self.target, self._settings = corpus, source, target, settings
        pool = NodePool(cluster, settings, vocabulary, columns, progress)
        lanes = pool.wanted_nodes
        sync_every = cluster.sync_every or choose_sync_every(len(vocabulary), corpus.tokens, lanes, pool.workers)
        self.epoch_plan = epoch_plan or {"lanes": lanes, "sync_every": sync_every}
        blocks = [part.metadata.blocks for part in corpus.parts]
        self._state = ClusterState(
            corpus,
            pool,
            source,
            target,
            columns,
            locks,
            stretches=plan_epoch(blocks, self.epoch_plan["lanes"], self.epoch_plan["sync_every"]),
            first_blocks=np.cumsum([0, *map(len, blocks)]),
            tiers=Tiers.from_counts(vocabulary.counts, settings.sample, self.epoch_plan["sync_every"]),
            progress=progress,
        )

    @property
    def blocks(self) -> int:
        """The number of stretches in an epoch, which is what a position counts on a cluster."""
        return len(self._state.stretches)

    def lock(self, locks: npt.NDArray[np.float32] | None) -> None:
        """Set the factor for the steps of each source row, from the next epoch on."""
        self._state.locks = locks

    def announce(self, progress: Progress) -> None:
        """Say that nodes compile the kernel first, if this machine has not yet."""
        from mumon.kernels.jit import is_compiled

        if not is_compiled(load_kernel(self._settings)[0]):  # on this machine; the others are not asked
            progress.note("nodes compile the training kernel, once for each machine …")

    def run_epoch(self, epoch: int, schedule: Schedule, position: RunPosition, control: EpochControl) -> None:
        """Train the rest of an epoch in rounds, and keep the state between them when it is due."""
        run = ClusterEpoch(self._state, epoch, schedule, position, control)
        self._state.prepare_epoch()
        while True:
            while not run.finished:
                run.advance()
                if control.should_pause():
                    run.flush()
                    control.pause()
            run.flush()
            if run.finished:  # else all nodes were lost at the very end, and training returned to an earlier state
                break

    def explain_nothing(self, progress: Progress) -> None:
        """Raise an error: on a cluster the text is not read again to find the reason."""
        raise CorpusError(
            f"none of the {self.corpus.tokens:,} tokens was trained: no sentence has two words of the vocabulary, or "
            "subsampling left none; check the text, lower min_count, or set sample to 0"
        )

    def close(self, progress: Progress) -> None:
        """Stop the nodes, and report what their exchanges have cost."""
        nodes = self._state.pool.nodes
        seconds = sum(node.seconds for node in nodes)
        if seconds and len(nodes) > 1:
            waited = 100 * sum(node.waited for node in nodes) / seconds
            sent = format_bytes(sum(node.nbytes for node in nodes) // len(nodes))
            progress.note(f"each node sent {sent} to the others, and waited for them {waited:.0f} % of the time")
        self._state.pool.stop()
