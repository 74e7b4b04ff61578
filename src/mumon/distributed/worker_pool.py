"""The workers of a training: started, waited for, brought into step, done without, taken in again."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus.vocabulary import Vocabulary
from mumon.distributed.cluster import GRACE, RESERVE, Cluster, import_ray
from mumon.distributed.worker import Task, Worker
from mumon.errors import MumonError, OptionError, TrainingError, to_one_line
from mumon.training.settings import Settings
from mumon.training.trainer import POLL_SECONDS
from mumon.training.weights import Matrix
from mumon.utils.progress import Progress

Locks = npt.NDArray[np.float32] | None
TRIES = 5  # to bring all into step, if more are lost meanwhile
SOON = 1.0  # seconds in which a worker that is up has answered


@dataclass(eq=False)
class Member:
    """A worker as the driver knows it."""

    name: str
    actor: Any
    part: int = -1  # of the text, which it had last and has at hand
    tokens: int = 0
    speed: float = 0.0  # of its last stretch
    seconds: float = 0.0
    waited: float = 0.0  # of these, for what the others have changed
    nbytes: int = 0  # sent


class Crew:
    """`members` take part; `absent` ones were lost and may come back between epochs."""

    def __init__(
        self, cluster: Cluster, settings: Settings, vocabulary: Vocabulary, columns: int, progress: Progress
    ) -> None:
        import pyarrow as pa

        self.ray = import_ray()
        self.cluster, self.progress = cluster, progress
        self.threads = cluster.threads_of(self.ray)
        known = pa.array([word.encode("utf-8", "surrogatepass") for word in vocabulary.words], pa.large_binary())
        unk = -1 if vocabulary.unk is None else vocabulary.index[vocabulary.unk]
        self._columns = columns
        self._task = self.ray.put(Task(replace(settings, workers=self.threads), known, unk, vocabulary.counts))
        self.members: list[Member] = []
        self.absent: list[Member] = []
        self._hired, self._told, self._problem = 0, False, ""
        self._begun: tuple[Any, ...] = ()  # what the members last began with, or agreed on, as the driver has it

    @property
    def wanted(self) -> int:
        """How many workers there should be."""
        return self.cluster.wanted(self.ray)

    def gather(self, agreed: int, state: tuple[Matrix, Matrix], locks: Locks) -> None:
        """Before an epoch: whoever is there and not yet a member joins, and all begin with the driver's state."""
        for _ in range(TRIES):
            if self._gathered(agreed, state, locks):
                return
            self._begun = ()  # someone was lost meanwhile: all begin again
        raise TrainingError(f"workers died {TRIES} times before they had begun; look at Ray's logs of them")

    def _gathered(self, agreed: int, state: tuple[Matrix, Matrix], locks: Locks) -> bool:
        new = [self._hire() for _ in range(self.wanted - len(self.members) - len(self.absent))]
        patience = max(self.cluster.grace, GRACE) if new or not self.members else SOON
        if new and not self._told:
            self.progress.note("starting workers …")
        joined = self._answering([*new, *self.absent], patience)
        self.absent = [member for member in (*new, *self.absent) if member not in joined]
        first, before = not self._told, len(self.members)
        self.members += joined
        if not self.members:
            raise OptionError(
                f"none of {len(self.absent)} workers with {self.threads} CPUs each was up within {patience:.0f} s "
                f"({self._problem or 'there is no room'}); ask for fewer threads, or see that all nodes have mumon"
            )
        if first:
            self._told = True
            missing = f"; {len(self.absent)} more found no room" if self.absent else ""
            threads = f"{self.threads} thread{'s' * (self.threads > 1)} each"
            self.progress.note(f"training on {_counted(len(self.members))} with {threads}{missing}")
        elif joined:
            self.progress.note(f"{_counted(len(joined))} joined: now {before + len(joined)}")
        rows = tuple(matrix[:, : self._columns] for matrix in state)
        unchanged = self._begun and all(map(np.array_equal, self._begun, rows))
        begins = joined if unchanged else self.members
        answers = {member: member.actor.lock.remote(locks) for member in self.members if member not in begins}
        if begins:
            put = [self.ray.put(np.ascontiguousarray(matrix)) for matrix in rows]
            answers |= {member: member.actor.begin.remote(self._task, agreed, *put, locks) for member in begins}
        lost = [member for member, answer in answers.items() if not self._begun_well(answer)]
        self.members = [member for member in self.members if member not in lost]
        self.absent += lost
        return not lost

    def state(self) -> tuple[Matrix, Matrix]:
        """What all members agree on, fetched."""
        self._begun = tuple(self.ray.get(self.members[0].actor.state.options(num_returns=2).remote()))
        return self._begun  # type: ignore[return-value]

    def recover(self, lost: list[Member], locks: Locks) -> tuple[int | None, list[Member]]:
        """After a failure: bring all who are left into step, and those whom Ray has started again in time.

        Returns the round whose exchange all then agree on (None if nobody has it, because all were lost), and those who
        have lost what they had trained, whether they are back or not.
        """
        self._begun, before = (), list(self.members)
        for _ in range(TRIES):
            try:
                agreed, left = self._recovered(lost, locks)
                return agreed, [member for member in before if member not in left]
            except self.ray.exceptions.RayError as error:  # another one: those who are in step already stay so
                lost, problem = [], to_one_line(error)
        raise TrainingError(f"the workers could not be brought into step, {TRIES} times ({problem}); see Ray's logs")

    def _recovered(self, lost: list[Member], locks: Locks) -> tuple[int | None, list[Member]]:
        left = [member for member in self.members if member not in lost]
        versions = self._versions(left)
        left = [member for member in left if member in versions]
        fresh = [member for member in self.members if member not in left]
        self.absent += fresh
        self.members = left
        if not left:
            return None, []
        newest = max(versions.values())
        donor = next(member for member in left if versions[member] == newest)
        back = self._answering(self.absent, self.cluster.grace if fresh else SOON)
        state: list[Any] = [None, None]
        if back or min(versions.values()) < newest:
            state = donor.actor.state.options(num_returns=2).remote()
        self.ray.get([member.actor.rejoin.remote(newest, *state) for member in left])
        self.ray.get([member.actor.begin.remote(self._task, newest, *state, locks) for member in back])
        self.absent = [member for member in self.absent if member not in back]
        self.members = [*left, *back]
        return newest, left

    def dismiss(self) -> None:
        """Let all workers go."""
        for member in (*self.members, *self.absent):
            self.ray.kill(member.actor)
        self.members, self.absent = [], []

    def _hire(self) -> Member:
        # One thread trains and one adds up, beside it.
        actor = self.ray.remote(concurrency_groups={"exchange": 1})(Worker)
        options = {"num_cpus": self.threads - RESERVE, "max_restarts": -1, "scheduling_strategy": "SPREAD"}
        member = Member(f"worker {self._hired}", actor.options(**options).remote())
        self._hired += 1
        return member

    def _answering(self, members: list[Member], seconds: float) -> list[Member]:
        """Those who are up, or come up in time."""
        until, here, waiting = time.monotonic() + seconds, list[Member](), list(members)
        while waiting:
            asked = {member.actor.where.remote(): member for member in waiting}
            left = max(until - time.monotonic(), 0)
            ready, _ = self.ray.wait(list(asked), num_returns=len(asked), timeout=left)
            here += [asked[reference] for reference in ready if self._is_fine(reference)]
            waiting = [member for member in waiting if member not in here]
            if time.monotonic() >= until:
                break
            time.sleep(POLL_SECONDS)  # Ray refuses at once what is asked of a worker that it is just starting
        return here

    def _begun_well(self, reference: Any) -> bool:
        try:
            return self._is_fine(reference)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, MumonError):  # there is not enough memory, say
                raise error.cause from None
            raise TrainingError(
                f"a worker could not begin ({to_one_line(error.cause)}); see Ray's logs of it"
            ) from None

    def _is_fine(self, reference: Any) -> bool:
        try:
            self.ray.get(reference)
        except (self.ray.exceptions.RayActorError, self.ray.exceptions.ObjectLostError) as error:
            self._problem = to_one_line(error)
            return False
        return True

    def _versions(self, members: list[Member]) -> dict[Member, int]:
        versions = {}
        for member in members:
            try:
                version = self.ray.get(member.actor.version.remote())
            except self.ray.exceptions.RayActorError:
                continue
            if version is not None:
                versions[member] = version
        return versions


def _counted(workers: int) -> str:
    return f"{workers} worker{'s' * (workers != 1)}"
