"""The nodes of a training run: start them, wait for them, replace those that are lost."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus.vocabulary import Vocabulary
from mumon.distributed.cluster import GRACE_SECONDS, RESERVED_CPUS, Cluster, import_ray
from mumon.distributed.node_trainer import NodeTrainer, TrainingJob
from mumon.errors import MumonError, OptionError, TrainingError, to_one_line
from mumon.training.settings import Settings
from mumon.training.thread_runner import POLL_SECONDS
from mumon.training.weights import Matrix
from mumon.utils.progress import Progress

Locks = npt.NDArray[np.float32] | None
MOST_ATTEMPTS = 5  # to bring all nodes to one state, if more are lost meanwhile
READY_SECONDS = 1.0  # within which a running node answers


@dataclass(eq=False)
class NodeHandle:
    """A node as the driver sees it."""

    name: str
    actor: Any
    part: int = -1  # the part of the text that it trained last and still holds
    tokens: int = 0
    speed: float = 0.0  # tokens per second of its last stretch
    seconds: float = 0.0
    waited: float = 0.0  # seconds of these, for the changes of other nodes
    nbytes: int = 0  # that it sent


class NodePool:
    """The nodes of a run: `nodes` take part, `absent` ones were lost or found no room, and may join between epochs.

    Parameters
    ----------
    cluster
        How many nodes and threads to use, and how long to wait for a lost node.
    settings, vocabulary
        What every node trains.
    columns
        Columns of a matrix in use; the rest of a row is padding.
    progress
        Where to report nodes that join.
    """

    def __init__(
        self, cluster: Cluster, settings: Settings, vocabulary: Vocabulary, columns: int, progress: Progress
    ) -> None:
        import pyarrow as pa

        self.ray = import_ray()
        self.cluster, self.progress = cluster, progress
        self.workers = cluster.choose_workers(self.ray)
        known = pa.array([word.encode("utf-8", "surrogatepass") for word in vocabulary.words], pa.large_binary())
        unk = -1 if vocabulary.unk is None else vocabulary.index[vocabulary.unk]
        self._columns = columns
        self._job = self.ray.put(TrainingJob(replace(settings, workers=self.workers), known, unk, vocabulary.counts))
        self.nodes: list[NodeHandle] = []
        self.absent: list[NodeHandle] = []
        self._started, self._announced, self._problem = 0, False, ""
        self._last_state: tuple[Any, ...] = ()  # the driver's matrices, as nodes last received or sent them

    @property
    def wanted_nodes(self) -> int:
        """How many nodes there should be now."""
        return self.cluster.choose_nodes(self.ray)

    def prepare_epoch(self, agreed: int, state: tuple[Matrix, Matrix], locks: Locks) -> None:
        """Let new nodes join before an epoch, and give all nodes the driver's state.

        Parameters
        ----------
        agreed
            The last round whose exchange the state includes.
        state
            The source and the target matrix.
        locks
            A factor for the steps of each source row, or None.
        """
        for _ in range(MOST_ATTEMPTS):
            if self._try_prepare(agreed, state, locks):
                return
            self._last_state = ()  # a node was lost meanwhile: all begin again
        raise TrainingError(f"nodes died {MOST_ATTEMPTS} times before they began to train; see Ray's logs of them")

    def _try_prepare(self, agreed: int, state: tuple[Matrix, Matrix], locks: Locks) -> bool:
        new = [self._start_node() for _ in range(self.wanted_nodes - len(self.nodes) - len(self.absent))]
        patience = max(self.cluster.grace, GRACE_SECONDS) if new or not self.nodes else READY_SECONDS
        if new and not self._announced:
            self.progress.note("starting nodes …")
        joined = self._wait_for_nodes([*new, *self.absent], patience)
        self.absent = [node for node in (*new, *self.absent) if node not in joined]
        first, before = not self._announced, len(self.nodes)
        self.nodes += joined
        if not self.nodes:
            raise OptionError(
                f"none of {len(self.absent)} nodes with {self.workers} CPUs each was up within {patience:.0f} s "
                f"({self._problem or 'there is no room'}); use fewer workers, or check that all machines have mumon"
            )
        if first:
            self._announced = True
            missing = f"; {len(self.absent)} more found no room" if self.absent else ""
            workers = f"{self.workers} worker{'s' * (self.workers > 1)} each"
            self.progress.note(f"training on {_format_nodes(len(self.nodes))} with {workers}{missing}")
        elif joined:
            self.progress.note(f"{_format_nodes(len(joined))} joined: now {before + len(joined)}")
        rows = tuple(matrix[:, : self._columns] for matrix in state)
        unchanged = self._last_state and all(map(np.array_equal, self._last_state, rows))
        begins = joined if unchanged else self.nodes
        answers = {node: node.actor.lock.remote(locks) for node in self.nodes if node not in begins}
        if begins:
            put = [self.ray.put(np.ascontiguousarray(matrix)) for matrix in rows]
            answers |= {node: node.actor.begin.remote(self._job, agreed, *put, locks) for node in begins}
        lost = [node for node, answer in answers.items() if not self._has_begun(answer)]
        self.nodes = [node for node in self.nodes if node not in lost]
        self.absent += lost
        return not lost

    def fetch_state(self) -> tuple[Matrix, Matrix]:
        """Fetch the matrices that all nodes agree on."""
        self._last_state = tuple(self.ray.get(self.nodes[0].actor.get_state.options(num_returns=2).remote()))
        return self._last_state  # type: ignore[return-value]

    def recover(self, lost: list[NodeHandle], locks: Locks) -> tuple[int | None, list[NodeHandle]]:
        """Bring the remaining nodes to one state after a failure, together with those that Ray restarts in time.

        Parameters
        ----------
        lost
            Nodes that are known to be lost.
        locks
            As in `prepare_epoch`.

        Returns
        -------
        tuple
            The last round whose exchange all nodes have then applied, None if all were lost; and the nodes that lost
            what they had trained, including those that are back.
        """
        self._last_state, before = (), list(self.nodes)
        for _ in range(MOST_ATTEMPTS):
            try:
                agreed, left = self._try_recover(lost, locks)
                return agreed, [node for node in before if node not in left]
            except self.ray.exceptions.RayError as error:  # another loss; nodes that have recovered keep their state
                lost, problem = [], to_one_line(error)
        raise TrainingError(f"the nodes could not recover in {MOST_ATTEMPTS} attempts ({problem}); see Ray's logs")

    def _try_recover(self, lost: list[NodeHandle], locks: Locks) -> tuple[int | None, list[NodeHandle]]:
        left = [node for node in self.nodes if node not in lost]
        versions = self._read_versions(left)
        left = [node for node in left if node in versions]
        fresh = [node for node in self.nodes if node not in left]
        self.absent += fresh
        self.nodes = left
        if not left:
            return None, []
        newest = max(versions.values())
        donor = next(node for node in left if versions[node] == newest)
        back = self._wait_for_nodes(self.absent, self.cluster.grace if fresh else READY_SECONDS)
        state: list[Any] = [None, None]
        if back or min(versions.values()) < newest:
            state = donor.actor.get_state.options(num_returns=2).remote()
        self.ray.get([node.actor.rejoin.remote(newest, *state) for node in left])
        self.ray.get([node.actor.begin.remote(self._job, newest, *state, locks) for node in back])
        self.absent = [node for node in self.absent if node not in back]
        self.nodes = [*left, *back]
        return newest, left

    def stop(self) -> None:
        """Stop all nodes."""
        for node in (*self.nodes, *self.absent):
            self.ray.kill(node.actor)
        self.nodes, self.absent = [], []

    def _start_node(self) -> NodeHandle:
        # One thread calls `train`, another one `combine` at the same time.
        actor = self.ray.remote(concurrency_groups={"exchange": 1})(NodeTrainer)
        options = {"num_cpus": self.workers - RESERVED_CPUS, "max_restarts": -1, "scheduling_strategy": "SPREAD"}
        node = NodeHandle(f"node {self._started}", actor.options(**options).remote())
        self._started += 1
        return node

    def _wait_for_nodes(self, nodes: list[NodeHandle], seconds: float) -> list[NodeHandle]:
        """Return the nodes that are up, or come up within this time."""
        until, here, waiting = time.monotonic() + seconds, list[NodeHandle](), list(nodes)
        while waiting:
            asked = {node.actor.ping.remote(): node for node in waiting}
            left = max(until - time.monotonic(), 0)
            ready, _ = self.ray.wait(list(asked), num_returns=len(asked), timeout=left)
            here += [asked[reference] for reference in ready if self._has_answered(reference)]
            waiting = [node for node in waiting if node not in here]
            if time.monotonic() >= until:
                break
            time.sleep(POLL_SECONDS)  # Ray refuses calls to a process that it is just starting
        return here

    def _has_begun(self, reference: Any) -> bool:
        try:
            return self._has_answered(reference)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, MumonError):  # such as too little memory
                raise error.cause from None
            raise TrainingError(f"a node could not begin ({to_one_line(error.cause)}); see Ray's logs of it") from None

    def _has_answered(self, reference: Any) -> bool:
        try:
            self.ray.get(reference)
        except (self.ray.exceptions.RayActorError, self.ray.exceptions.ObjectLostError) as error:
            self._problem = to_one_line(error)
            return False
        return True

    def _read_versions(self, nodes: list[NodeHandle]) -> dict[NodeHandle, int]:
        versions = {}
        for node in nodes:
            try:
                version = self.ray.get(node.actor.get_version.remote())
            except self.ray.exceptions.RayActorError:
                continue
            if version is not None:
                versions[node] = version
        return versions


def _format_nodes(nodes: int) -> str:
    return f"{nodes} node{'s' * (nodes != 1)}"
