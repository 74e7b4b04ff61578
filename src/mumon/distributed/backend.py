"""A Ray cluster as the place where a session trains."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus, TextOptions
from mumon.distributed.cluster import Cluster
from mumon.distributed.corpus import DistributedCorpus, distribute_corpus, encode_on_cluster
from mumon.distributed.runner import ClusterRunner
from mumon.training.backend import Paths
from mumon.training.model_state import ModelState
from mumon.training.trainer import EpochRunner
from mumon.utils.progress import Progress

EPOCH_PLAN = ("lanes", "sync_every")  # how an epoch visits the text, in the plan of a run


class ClusterBackend:
    """A `training.backend.Backend` on a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def connect(self, progress: Progress) -> AbstractContextManager[Any]:
        """Connect to the cluster."""
        return self.cluster.connect(progress)

    def read_files(self, paths: Paths, text: TextOptions, progress: Progress) -> EncodedCorpus | None:
        """Encode files on the cluster, whose nodes must be able to read them."""
        return encode_on_cluster(paths, text, progress)

    def distribute(self, corpus: EncodedCorpus) -> EncodedCorpus:
        """Put the parts of a corpus on the cluster."""
        return distribute_corpus(corpus)

    def describe_run(self, resumed: dict[str, Any] | None) -> dict[str, Any]:
        """Return the cluster's options. The run keeps its epoch plan: the cluster may have another size now."""
        before = {} if resumed is None else {name: resumed.get(name) for name in EPOCH_PLAN}
        return before | self.cluster.plan

    def load_kernels(self, state: ModelState) -> None:
        """Load nothing: the nodes train."""

    def make_runner(
        self,
        corpus: EncodedCorpus,
        lookup: npt.NDArray[np.int32],
        state: ModelState,
        plan: dict[str, Any],
        progress: Progress,
    ) -> tuple[EpochRunner, dict[str, Any]]:
        """Return a runner of nodes, and the epoch plan, which a run that resumes must keep."""
        assert isinstance(corpus, DistributedCorpus)
        known = {name: plan[name] for name in EPOCH_PLAN} if all(map(plan.get, EPOCH_PLAN)) else None
        vocabulary, locks = state.require_vocabulary(), state.read_locks()
        runner = ClusterRunner(
            corpus,
            vocabulary,
            state.source,
            state.target,
            state.vector_size,
            state.settings,
            self.cluster,
            known,
            progress,
            locks,
        )
        return runner, runner.epoch_plan
