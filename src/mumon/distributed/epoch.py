"""One epoch on a cluster: it dispatches stretches of the text in rounds, and repairs failures.

While the nodes train round k, the exchange of round k - 1 travels. A node applies it after training its stretch, and
then sends its own changes. The driver therefore dispatches one round ahead of the reports, and nodes wait for the
network only if it is slower than training.

A stretch is safe once every node has applied a later exchange of *all* rows. What a lost node trained after that goes
back to the front of the queue. Frequent rows, which were exchanged meanwhile, may then be trained twice on it, but no
row misses it.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.distributed.corpus import DistributedCorpus
from mumon.distributed.node_pool import NodeHandle, NodePool
from mumon.distributed.node_trainer import RoundReport, RoundTask
from mumon.distributed.rounds import Stretch, Tiers
from mumon.errors import TrainingError, to_one_line
from mumon.training.run_state import RunPosition
from mumon.training.schedule import Schedule
from mumon.training.trainer import EpochControl, describe_divergence
from mumon.training.weights import Matrix
from mumon.utils.progress import Progress

NODES_SHOWN = 8  # one by one, in the progress report
ROUNDS_AHEAD = 2  # rounds that may be pending at a time
MOST_FAILURES = 5  # in a row, without anything trained in between


@dataclass
class Round:
    """A pending round: what each node trains, and references to the reports and changes that will come of it."""

    task: RoundTask  # what all nodes have in common
    assignments: list[tuple[NodeHandle, int | None]]  # each node's place in the plan; None if it only exchanges
    reports: list[Any]
    combined: list[Any]


@dataclass
class ClusterState:
    """What the epochs of a run on a cluster have in common."""

    corpus: DistributedCorpus
    pool: NodePool
    source: Matrix  # the driver's
    target: Matrix
    columns: int  # in use; the rest of a row is padding
    locks: npt.NDArray[np.float32] | None
    stretches: list[Stretch]  # the plan of an epoch
    first_blocks: npt.NDArray[np.int64]  # of each part of the text
    tiers: Tiers
    progress: Progress
    round: int = 0  # the next one, counted over all epochs

    def prepare_epoch(self) -> None:
        """Bring all nodes to the driver's matrices."""
        self.pool.prepare_epoch(self.round - 1, (self.source, self.target), self.locks)


class ClusterEpoch:
    """The rest of one epoch, from a position on.

    A *place* is the index of a stretch in the plan of an epoch.

    Parameters
    ----------
    state
        The nodes, the plan and the matrices.
    epoch
        Its number in the model's whole life, which seeds the random draws.
    schedule
        The learning rates of the epoch.
    position
        Where to begin; it advances as stretches are trained.
    control
        Where to report.
    """

    def __init__(
        self, state: ClusterState, epoch: int, schedule: Schedule, position: RunPosition, control: EpochControl
    ) -> None:
        self._state, self._pool, self._ray, self._control = state, state.pool, state.pool.ray, control
        self._epoch, self._schedule, self._position = epoch, schedule, position
        self._queue = deque(range(position.totals.blocks, len(state.stretches)))
        self._lost_places: set[int] = set()  # places in the queue that a failure put back
        self._counted = set(range(position.totals.blocks))
        self._unsafe: dict[NodeHandle, list[tuple[int, int]]] = {}  # (round, place) of stretches that a loss would undo
        self._pending: deque[Round] = deque()
        self._combined: list[Any] = []  # references to the changes of the last dispatched round
        self._rows: dict[int, int] = {}  # the number exchanged in each round
        self._started, self._before = time.perf_counter(), position.totals.seconds
        self._saved_totals = position.totals.to_json()
        self._failures = 0  # since something was trained

    @property
    def finished(self) -> bool:
        """Whether all stretches are trained and all reports received."""
        return not self._queue and not self._pending

    def advance(self) -> None:
        """Dispatch a round if any stretches are left, and collect the oldest pending one."""
        if self._queue and len(self._pending) < ROUNDS_AHEAD:
            self._dispatch_round()
        if len(self._pending) == ROUNDS_AHEAD or not self._queue:
            self._collect(self._pending.popleft())

    def flush(self) -> None:
        """Exchange all rows and fetch them, so that the driver's matrices match the position."""
        while True:
            while self._pending or self._lost_places:  # a position means that all places before it are done
                self.advance() if self._lost_places else self._collect(self._pending.popleft())
            self._dispatch_round(idle=True)
            exchange = self._pending[-1]
            if not self._collect(self._pending.popleft()):
                continue
            settled = [m.actor.finish_exchange.remote(exchange.task.round, exchange.combined) for m in self._pool.nodes]
            if not self._check_reports(self._fetch_reports(list(self._pool.nodes), settled)):
                continue
            self._combined = []
            try:
                state = self._pool.fetch_state()
                break
            except self._ray.exceptions.RayError as error:
                self._recover([], to_one_line(error))
        self._unsafe.clear()
        for matrix, rows in zip((self._state.source, self._state.target), state, strict=True):
            matrix[:, : self._state.columns] = rows
        self._saved_totals = self._position.totals.to_json()
        self._position.whole = True

    def _dispatch_round(self, idle: bool = False) -> None:
        """Start a round: each node trains a stretch; if `idle`, they only exchange all rows."""
        state, nodes = self._state, self._pool.nodes
        self._position.whole = False
        places = [] if idle else [self._queue.popleft() for _ in range(min(len(nodes), len(self._queue)))]
        self._lost_places.difference_update(places)
        assignments = self._assign_places(places)
        number, shares = state.round, len(nodes)
        state.round += 1
        rows = len(state.source) if idle else state.tiers.rows_after(number)
        self._rows[number] = rows
        alpha = self._rate(state.stretches[places[0]].before) if places else self._rate(self._position.totals.tokens)
        task = RoundTask(number, self._epoch, None, (alpha, alpha), alpha, rows, shares)
        results = [
            node.actor.train.options(num_returns=shares + 1).remote(*self._build_task(task, place), self._combined)
            for node, place in assignments
        ]
        self._combined = [
            node.actor.combine.options(concurrency_group="exchange").remote(
                task, share, [result[share + 1] for result in results]
            )
            for share, node in enumerate(nodes)
        ]
        self._pending.append(Round(task, assignments, [result[0] for result in results], self._combined))

    def _assign_places(self, places: list[int]) -> list[tuple[NodeHandle, int | None]]:
        """Give each node a place, if possible in the part of the text that the node already holds."""
        plan, left = self._state.stretches, list(places)
        assignments: dict[NodeHandle, int | None] = dict.fromkeys(self._pool.nodes)
        for node in assignments:
            own = next((place for place in left if plan[place].part == node.part), None)
            if own is not None:
                left.remove(own)
                assignments[node] = own
        for node, place in assignments.items():
            if place is None and left:
                assignments[node] = left.pop(0)
                node.part = plan[assignments[node]].part  # type: ignore[index]
        return list(assignments.items())

    def _build_task(self, common: RoundTask, place: int | None) -> tuple[RoundTask, list[Any]]:
        """Return what a node does in a round, and the part of the text that it needs."""
        if place is None:
            return common, []
        stretch = self._state.stretches[place]
        rates = self._rate(stretch.before), self._rate(stretch.before + stretch.tokens)
        part = self._state.corpus.parts[stretch.part]
        task = replace(common, stretch=stretch, rates=rates)
        return task, [part.data, part.words, int(self._state.first_blocks[stretch.part])]

    def _rate(self, tokens: int) -> float:
        return self._schedule.rate(min(tokens / self._state.corpus.tokens, 1.0))

    def _collect(self, round_: Round) -> bool:
        """Wait for the reports of a round, and return whether all nodes succeeded."""
        reports = self._fetch_reports([node for node, _ in round_.assignments], round_.reports)
        self._count_trained(round_, reports)
        return self._check_reports(reports)

    def _fetch_reports(self, nodes: list[NodeHandle], references: list[Any]) -> dict[NodeHandle, RoundReport | None]:
        """Wait for reports; None stands for a node that is lost."""
        reports: dict[NodeHandle, RoundReport | None] = {}
        for node, reference in zip(nodes, references, strict=True):
            try:
                reports[node] = self._ray.get(reference)
            except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError):
                reports[node] = None
            except self._ray.exceptions.RayTaskError as error:
                reports[node] = RoundReport(None, -1, problem=to_one_line(error.cause))
        return reports

    def _count_trained(self, round_: Round, reports: dict[NodeHandle, RoundReport | None]) -> None:
        """Add up what was trained, and put back into the queue what was not."""
        number, totals = round_.task.round, self._position.totals
        for node, place in round_.assignments:
            report = reports[node]
            if place is None:
                continue
            if report is None or report.trained is None:
                self._lost_places.add(place)
                self._queue.appendleft(place)
                continue
            self._unsafe.setdefault(node, []).append((number, place))
            if not math.isfinite(report.trained.loss):
                raise TrainingError(describe_divergence("loss", self._epoch + 1, round_.task.alpha))
            node.tokens += report.trained.tokens
            node.speed = report.trained.tokens / max(report.seconds, 1e-9)
            node.seconds += report.seconds
            node.waited += report.waited
            node.nbytes += report.nbytes
            if place not in self._counted:
                self._failures = 0
                self._counted.add(place)
                totals.add(report.trained)
        totals.seconds = self._before + time.perf_counter() - self._started
        self._report()

    def _check_reports(self, reports: dict[NodeHandle, RoundReport | None]) -> bool:
        """Return whether all nodes succeeded; if not, recover with those that are left."""
        lost = [node for node, report in reports.items() if report is None]
        problem = next((report.problem for report in reports.values() if report is not None and report.problem), "")
        if not lost and not problem:
            agreed = min((report.agreed for report in reports.values() if report is not None), default=-1)
            self._mark_safe(agreed)
            return True
        while self._pending:  # the nodes that are left finish what they were sent
            round_ = self._pending.popleft()
            late = self._fetch_reports([node for node, _ in round_.assignments], round_.reports)
            self._count_trained(round_, late)
            self._drain(round_.combined)
            lost += [node for node, report in late.items() if report is None and node not in lost]
        self._recover(lost, problem)
        return False

    def _drain(self, combined: list[Any]) -> None:
        """Wait for changes that will not be applied any more: Ray complains about errors that are never fetched."""
        for reference in combined:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.get(reference)

    def _mark_safe(self, agreed: int) -> None:
        """Note that all nodes have applied the exchange of a round: if it was of all rows, what was trained is safe."""
        if self._rows.get(agreed) == len(self._state.source):
            for node, places in self._unsafe.items():
                self._unsafe[node] = [(number, place) for number, place in places if number > agreed]

    def _recover(self, lost: list[NodeHandle], problem: str) -> None:
        """Continue with the nodes that are left, and train again what was lost with the others."""
        state = self._state
        self._failures += 1
        if self._failures > MOST_FAILURES:  # a missing file, say, or too little memory
            raise TrainingError(
                f"the nodes failed {self._failures} times in a row without training anything "
                f"({problem or 'they died'}); see Ray's logs of them"
            )
        self._drain(self._combined)
        self._combined = []
        agreed, gone = self._pool.recover(lost, state.locks)
        if agreed is None:
            self._restart()
            return
        self._mark_safe(agreed)
        places = {place for node in gone for _, place in self._unsafe.pop(node, [])}
        again = sorted(places - set(self._queue))
        self._queue.extendleft(reversed(again))
        self._lost_places.update(again)
        names, tokens = ", ".join(node.name for node in gone), sum(state.stretches[p].tokens for p in again)
        state.progress.note(
            f"{names or 'a message between nodes'} was lost: {len(self._pool.nodes)} continue from round "
            f"{agreed + 1}, and {tokens:,} tokens are trained again"
        )

    def _restart(self) -> None:
        """Return to the state that the driver has, because all nodes were lost."""
        state, totals = self._state, self._position.totals
        for name, value in self._saved_totals.items():
            setattr(totals, name, value)
        self._counted = set(range(totals.blocks))
        self._queue = deque(range(totals.blocks, len(state.stretches)))
        self._lost_places, self._unsafe = set(), {}
        state.progress.note(f"all nodes were lost: returning to stretch {totals.blocks:,} of {len(state.stretches):,}")
        state.prepare_epoch()

    def _report(self) -> None:
        """Report the progress of the run and of each node."""
        progress = self._control.report()
        share = self._schedule.total * self._state.corpus.tokens // len(self._pool.nodes or [None])
        for node in self._pool.nodes[:NODES_SHOWN]:
            progress.update_node(node.name, node.tokens, share, node.speed)
