"""Random search: the same draws for each embedding, task and seed; only the trial that is best on dev is tested."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from mumon.experiments.extrinsic.plan import Trial
from mumon.experiments.extrinsic.process_pool import ProcessPool
from mumon.experiments.extrinsic.trial_store import TrialStore
from mumon.utils.progress import Progress


@dataclass(frozen=True)
class Search:
    """The trials of one embedding on one task with one seed."""

    model: str
    task: str
    seed: int
    trials: tuple[Trial, ...]


@dataclass(frozen=True)
class SearchResult:
    """The trial that was best on dev, its result there, and its outcomes on the tests."""

    search: Search
    trial: Trial
    result: dict[str, Any]
    tests: dict[str, Any]


@dataclass(frozen=True)
class Job:
    """What a process does with a trial."""

    kind: Literal["train", "test"]
    trial: Trial


class Searcher:
    """Does all searches, several trials at a time, and keeps results in a folder.

    Two embeddings may be equal, and then so are their trials: jobs go by trial, not by search.

    Parameters
    ----------
    searches
        The searches.
    inputs
        The folder of the inputs.
    store
        Where results are kept; trials that are there are not trained again.
    progress
        Shows epochs and results.
    """

    def __init__(self, searches: Sequence[Search], inputs: Path, store: TrialStore, progress: Progress) -> None:
        self.searches, self.inputs, self.store, self.progress = searches, inputs, store, progress
        self.trials = {trial.key: trial for search in searches for trial in search.trials}
        self.results = {
            key: found for key, trial in self.trials.items() if (found := store.read_result(trial)) is not None
        }
        self.jobs: deque[Job] = deque()
        self.testing: set[str] = set()
        self.epochs = {key: self.trials[key].epochs for key in self.results}  # trained so far

    def run(self, processes: int) -> list[SearchResult]:
        """Train and test what is missing.

        Parameters
        ----------
        processes
            How many networks are trained at a time.

        Returns
        -------
        list of SearchResult
            One per search.
        """
        done = len(self.results)
        if done:
            self.progress.note(f"{done} of {len(self.trials)} networks are trained already, in {self.store.folder}")
        self.jobs.extend(Job("train", trial) for key, trial in self.trials.items() if key not in self.results)
        for search in self.searches:
            self._queue_test(search)
        if self.jobs:
            self.progress.start("training", sum(trial.epochs for trial in self.trials.values()), "epochs")
            with ProcessPool[Job](self.inputs, self.store.folder, min(processes, len(self.jobs))) as pool:
                self._run_jobs(pool)
            self.progress.finish(f"trained {len(self.trials) - done} networks and tested {len(self.testing)}")
        return [self._build_result(search) for search in self.searches]

    def _run_jobs(self, pool: ProcessPool[Job]) -> None:
        while self.jobs or pool.is_busy:
            while self.jobs and pool.has_room:
                job = self.jobs.popleft()
                pool.submit(job, {"job": job.kind, "trial": asdict(job.trial)})
            job, message = pool.collect()
            trial, affected = job.trial, [search for search in self.searches if job.trial in search.trials]
            if "epoch" in message:
                self.epochs[trial.key] = message["epoch"]
            elif job.kind == "train":
                self.results[trial.key] = message["result"]
                self.store.save_result(trial, message["result"])
                self.epochs[trial.key] = trial.epochs
                for search in affected:
                    self._queue_test(search)
            else:
                self.store.save_test(trial, message["result"])
                for search in affected:
                    self._note_result(search)
            self.progress.update(sum(self.epochs.values()))

    def _queue_test(self, search: Search) -> None:
        """Queue the test of the best trial if all trials of a search are done, and drop the weights of the others."""
        if any(trial.key not in self.results for trial in search.trials):
            return
        best = self._find_best(search)
        tested = self.store.read_test(best) is not None
        for trial in search.trials:
            if tested or trial != best:
                self.store.drop_weights(trial)
        if not tested and best.key not in self.testing:
            self.testing.add(best.key)
            self.jobs.appendleft(Job("test", best))

    def _find_best(self, search: Search) -> Trial:
        return max(search.trials, key=lambda trial: self.results[trial.key]["dev"])  # the first of equals

    def _build_result(self, search: Search) -> SearchResult:
        best = self._find_best(search)
        tests = self.store.read_test(best)
        assert tests is not None
        return SearchResult(search, best, self.results[best.key], tests)

    def _note_result(self, search: Search) -> None:
        best = self._find_best(search)
        result, draw = self.results[best.key], best.draw
        self.progress.note(
            f"{search.task:>9}  {search.model}, seed {search.seed}: dev {result['dev']:.1f} in epoch "
            f"{result['epoch']} (dropout {draw.dropout:.2f}, rate {draw.rate:.1g})"
        )
