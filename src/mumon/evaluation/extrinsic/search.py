"""Random search: for each embedding, task and seed the same draws; the best on dev is tested, and only that one."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mumon.evaluation.extrinsic.crew import Crew
from mumon.evaluation.extrinsic.plan import Trial
from mumon.evaluation.extrinsic.shelf import Shelf
from mumon.progress import Progress


@dataclass(frozen=True)
class Search:
    """The trials of one embedding on one task with one seed."""

    model: str
    task: str
    seed: int
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class Found:
    """The trial that was best on dev, its result there, and its outcomes on the tests."""

    search: Search
    trial: Trial
    result: dict[str, Any]
    tests: dict[str, Any]


@dataclass(frozen=True)
class Job:
    """Training a trial of a search, or testing it."""

    search: Search
    trial: Trial
    kind: str  # train or test

    def order(self) -> dict[str, Any]:
        """What a worker is told."""
        return {"job": self.kind, "trial": asdict(self.trial)}


class Searcher:
    """Does all searches, several trials at once, and keeps what is done in a folder."""

    def __init__(self, searches: Sequence[Search], inputs: Path, shelf: Shelf, progress: Progress) -> None:
        self.searches, self.inputs, self.shelf, self.progress = searches, inputs, shelf, progress
        self.jobs: deque[Job] = deque()
        self.epochs: dict[tuple[Search, str], int] = {}  # trained so far, by trial

    def run(self, workers: int) -> list[Found]:
        """Train and test what is missing."""
        every = [(search, trial) for search in self.searches for trial in search.trials]
        done = [(search, trial) for search, trial in every if self.shelf.result(trial) is not None]
        self.epochs = {(search, trial.key): trial.epochs for search, trial in done}
        self.jobs.extend(Job(search, trial, "train") for search, trial in every if (search, trial) not in set(done))
        if done:
            self.progress.note(f"{len(done)} of {len(every)} networks are trained already, in {self.shelf.folder}")
        for search in self.searches:
            self._test_best(search)
        if self.jobs:
            self.progress.start("training", sum(trial.epochs for _, trial in every), "epochs")
            with Crew[Job](self.inputs, self.shelf.folder, min(workers, len(self.jobs))) as crew:
                self._work(crew)
            self.progress.finish(f"trained {len(every) - len(done)} networks")
        return [self._found(search) for search in self.searches]

    def _work(self, crew: Crew[Job]) -> None:
        while self.jobs or crew.busy:
            while self.jobs and crew.free:
                job = self.jobs.popleft()
                crew.give(job, job.order())
            job, message = crew.hear()
            if "epoch" in message:
                self.epochs[job.search, job.trial.key] = message["epoch"]
            elif job.kind == "train":
                self.shelf.put_result(job.trial, message["result"])
                self.epochs[job.search, job.trial.key] = job.trial.epochs
                self._test_best(job.search)
            else:
                self.shelf.put_test(job.trial, message["result"])
                self._tell(job.search)
            self.progress.update(sum(self.epochs.values()))

    def _test_best(self, search: Search) -> None:
        """If all trials of a search are done, the best comes next; the weights of the others are dropped."""
        results = [self.shelf.result(trial) for trial in search.trials]
        if any(result is None for result in results):
            return
        best = self._best(search)
        for trial in search.trials:
            if trial != best:
                self.shelf.drop_weights(trial)
        if self.shelf.test(best) is None:
            kind = "test" if self.shelf.weights(best).exists() else "train"  # dropped when fewer draws chose another
            self.jobs.appendleft(Job(search, best, kind))

    def _best(self, search: Search) -> Trial:
        return max(search.trials, key=lambda trial: (self.shelf.result(trial) or {})["dev"])  # the first of equals

    def _found(self, search: Search) -> Found:
        best = self._best(search)
        result, tests = self.shelf.result(best), self.shelf.test(best)
        assert result is not None and tests is not None
        return Found(search, best, result, tests)

    def _tell(self, search: Search) -> None:
        best = self._found(search)
        draw = best.trial.draw
        self.progress.note(
            f"{search.task:>9}  {search.model}, seed {search.seed}: dev {best.result['dev']:.1f} after "
            f"{best.result['epoch']} epochs (dropout {draw.dropout:.2f}, rate {draw.rate:.1g})"
        )
