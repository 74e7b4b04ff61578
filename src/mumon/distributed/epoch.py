"""An epoch on a cluster: stretches of the text dealt out in rounds, exchanges between them, and what a failure costs.

While round k trains, the exchange of round k - 1 is on its way: a worker takes it in when it has trained its stretch,
and then sends its own. So the driver stays one round ahead of the reports, and nobody waits for the network unless it
is slower than training.

A stretch is safe when an exchange of *all* rows after it has been taken in. What a lost worker had trained since then
goes back to the front of the queue: frequent rows may be trained twice on it, and no row never.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mumon.distributed.worker import Report, Work
from mumon.distributed.worker_pool import Member
from mumon.errors import TrainingError, one_line
from mumon.training.run_state import Position
from mumon.training.settings import Schedule
from mumon.training.trainer import divergence

if TYPE_CHECKING:
    from mumon.distributed.trainer import ClusterTrainer

AHEAD = 2  # rounds under way
MOST_FAILURES = 5  # one after the other, without anything trained between them


@dataclass
class Round:
    """A round under way: what each member trains (its place in the plan), and the reports and exchange that are due."""

    work: Work
    dealt: list[tuple[Member, int | None]]
    reports: list[Any]
    combined: list[Any]


class ClusterEpoch:
    """What is left of one epoch. Places are those of stretches in the trainer's plan."""

    def __init__(self, trainer: ClusterTrainer, epoch: int, schedule: Schedule, at: Position, started: float) -> None:
        self._trainer, self._crew, self._ray = trainer, trainer.crew, trainer.crew.ray
        self._epoch, self._schedule, self._at = epoch, schedule, at
        self._queue = deque(range(at.tally.blocks, len(trainer.plan)))
        self._again: set[int] = set()  # places in the queue that were lost
        self._counted = set(range(at.tally.blocks))
        self._unsafe: dict[Member, list[tuple[int, int]]] = {}  # rounds and places
        self._flying: deque[Round] = deque()
        self._combined: list[Any] = []  # of the last round that was dealt out
        self._rows: dict[int, int] = {}  # exchanged in each round
        self._started, self._before = started, at.tally.seconds
        self._kept = at.tally.to_json()
        self._failures = 0  # since something was trained

    @property
    def over(self) -> bool:
        """Whether all stretches were trained, and all reports came."""
        return not self._queue and not self._flying

    def advance(self) -> None:
        """Deal out a round if there is one, and hear of the oldest that is under way."""
        if self._queue and len(self._flying) < AHEAD:
            self._deal()
        if len(self._flying) == AHEAD or not self._queue:
            self._hear(self._flying.popleft())

    def flush(self) -> None:
        """Exchange everything, so that the driver's matrices stand where the position does."""
        while True:
            while self._flying or self._again:  # a position is a place in the plan, before which all is done
                self.advance() if self._again else self._hear(self._flying.popleft())
            self._deal(idle=True)
            exchange = self._flying[-1]
            if not self._hear(self._flying.popleft()):
                continue
            settled = [m.actor.settle.remote(exchange.work.round, exchange.combined) for m in self._crew.members]
            if not self._judge(self._reports(list(self._crew.members), settled)):
                continue
            self._combined = []
            try:
                state = self._crew.state()
                break
            except self._ray.exceptions.RayError as error:
                self._recover([], one_line(error))
        self._unsafe.clear()
        for matrix, rows in zip((self._trainer.source, self._trainer.target), state, strict=True):
            matrix[:, : self._trainer.columns] = rows
        self._kept = self._at.tally.to_json()
        self._at.whole = True

    def _deal(self, idle: bool = False) -> None:
        """Start a round: everyone trains a stretch, or, if `idle`, only exchanges everything."""
        trainer, members = self._trainer, self._crew.members
        self._at.whole = False
        places = [] if idle else [self._queue.popleft() for _ in range(min(len(members), len(self._queue)))]
        self._again.difference_update(places)
        dealt = self._matched(places)
        number, shares = trainer.round, len(members)
        trainer.round += 1
        rows = len(trainer.source) if idle else trainer.tiers.rows_after(number)
        self._rows[number] = rows
        alpha = self._rate(trainer.plan[places[0]].before) if places else self._rate(self._at.tally.tokens)
        plain = Work(number, self._epoch, None, (alpha, alpha), alpha, rows, shares)
        results = [
            member.actor.train.options(num_returns=shares + 1).remote(*self._task(plain, place), self._combined)
            for member, place in dealt
        ]
        self._combined = [
            member.actor.combine.options(concurrency_group="exchange").remote(
                plain, share, [result[share + 1] for result in results]
            )
            for share, member in enumerate(members)
        ]
        self._flying.append(Round(plain, dealt, [result[0] for result in results], self._combined))

    def _matched(self, places: list[int]) -> list[tuple[Member, int | None]]:
        """Who trains what: rather the part of the text that a member has at hand already."""
        plan, left = self._trainer.plan, list(places)
        dealt: dict[Member, int | None] = dict.fromkeys(self._crew.members)
        for member in dealt:
            own = next((place for place in left if plan[place].part == member.part), None)
            if own is not None:
                left.remove(own)
                dealt[member] = own
        for member, place in dealt.items():
            if place is None and left:
                dealt[member] = left.pop(0)
                member.part = plan[dealt[member]].part  # type: ignore[index]
        return list(dealt.items())

    def _task(self, plain: Work, place: int | None) -> tuple[Work, list[Any]]:
        if place is None:
            return plain, []
        stretch = self._trainer.plan[place]
        rates = self._rate(stretch.before), self._rate(stretch.before + stretch.tokens)
        part = self._trainer.corpus.parts[stretch.part]
        work = Work(plain.round, self._epoch, stretch, rates, plain.alpha, plain.rows, plain.shares)
        return work, [part.data, part.words, int(self._trainer.first_blocks[stretch.part])]

    def _rate(self, tokens: int) -> float:
        return self._schedule.rate(min(tokens / self._trainer.corpus.tokens, 1.0))

    def _hear(self, round_: Round) -> bool:
        """Take in the reports of a round; whether all was well."""
        reports = self._reports([member for member, _ in round_.dealt], round_.reports)
        self._count(round_, reports)
        return self._judge(reports)

    def _reports(self, members: list[Member], references: list[Any]) -> dict[Member, Report | None]:
        """What workers report, None from those that are lost."""
        reports: dict[Member, Report | None] = {}
        for member, reference in zip(members, references, strict=True):
            try:
                reports[member] = self._ray.get(reference)
            except (self._ray.exceptions.RayActorError, self._ray.exceptions.ObjectLostError):
                reports[member] = None
            except self._ray.exceptions.RayTaskError as error:
                reports[member] = Report(None, -1, problem=one_line(error.cause))
        return reports

    def _count(self, round_: Round, reports: dict[Member, Report | None]) -> None:
        """Add up what was trained; what was not goes back into the queue."""
        number, tally = round_.work.round, self._at.tally
        for member, place in round_.dealt:
            report = reports[member]
            if place is None:
                continue
            if report is None or report.trained is None:
                self._again.add(place)
                self._queue.appendleft(place)
                continue
            self._unsafe.setdefault(member, []).append((number, place))
            if not math.isfinite(report.trained.loss):
                raise TrainingError(divergence("loss", self._epoch + 1, round_.work.alpha))
            member.tokens += report.trained.tokens
            member.speed = report.trained.tokens / max(report.seconds, 1e-9)
            member.seconds += report.seconds
            member.waited += report.waited
            member.nbytes += report.nbytes
            if place not in self._counted:
                self._failures = 0
                self._counted.add(place)
                tally.add(report.trained)
        tally.seconds = self._before + time.perf_counter() - self._started
        self._trainer.report(self._at, self._schedule)

    def _judge(self, reports: dict[Member, Report | None]) -> bool:
        """Whether all is well; if not, bring those who are left into step."""
        lost = [member for member, report in reports.items() if report is None]
        problem = next((report.problem for report in reports.values() if report is not None and report.problem), "")
        if not lost and not problem:
            agreed = min((report.agreed for report in reports.values() if report is not None), default=-1)
            self._now_safe(agreed)
            return True
        while self._flying:  # whoever is left ends what it was given
            round_ = self._flying.popleft()
            late = self._reports([member for member, _ in round_.dealt], round_.reports)
            self._count(round_, late)
            self._forget(round_.combined)
            lost += [member for member, report in late.items() if report is None and member not in lost]
        self._recover(lost, problem)
        return False

    def _forget(self, combined: list[Any]) -> None:
        """Wait for what nobody will take in any more; Ray would complain of errors that nobody has heard of."""
        for reference in combined:
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.get(reference)

    def _now_safe(self, agreed: int) -> None:
        """All have taken in the exchange of this round: if it was of all rows, what was trained up to it is safe."""
        if self._rows.get(agreed) == len(self._trainer.source):
            for member, places in self._unsafe.items():
                self._unsafe[member] = [(number, place) for number, place in places if number > agreed]

    def _recover(self, lost: list[Member], problem: str) -> None:
        """Go on with those who are left, and train again what went with the others."""
        trainer = self._trainer
        self._failures += 1
        if self._failures > MOST_FAILURES:  # a file that is gone, say, or memory that does not suffice
            raise TrainingError(
                f"the workers failed {self._failures} times without training anything between "
                f"({problem or 'they died'}); look at Ray's logs of them"
            )
        self._forget(self._combined)
        self._combined = []
        agreed, gone = self._crew.recover(lost, trainer.locks)
        if agreed is None:
            self._begin_again()
            return
        self._now_safe(agreed)
        places = {place for member in gone for _, place in self._unsafe.pop(member, [])}
        again = sorted(places - set(self._queue))
        self._queue.extendleft(reversed(again))
        self._again.update(again)
        names, tokens = ", ".join(member.name for member in gone), sum(trainer.plan[p].tokens for p in again)
        trainer.progress.note(
            f"{names or 'a message between workers'} was lost: {len(self._crew.members)} go on from round "
            f"{agreed + 1}, and {tokens:,} tokens are trained again"
        )

    def _begin_again(self) -> None:
        """All workers were lost: go back to the state that the driver has."""
        trainer, tally = self._trainer, self._at.tally
        for name, value in self._kept.items():
            setattr(tally, name, value)
        self._counted = set(range(tally.blocks))
        self._queue = deque(range(tally.blocks, len(trainer.plan)))
        self._again, self._unsafe = set(), {}
        trainer.progress.note(f"all workers were lost: going back to place {tally.blocks:,} of {len(trainer.plan):,}")
        trainer.crew.gather(trainer.round - 1, (trainer.source, trainer.target), trainer.locks)
