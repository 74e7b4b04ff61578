"""The results of a benchmark: every run as it was, and a summary per system and number of threads."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from mumon.experiments.bench.runner import MEAN, Run
from mumon.experiments.bench.systems import System
from mumon.experiments.bench.work import BenchCorpus, Work
from mumon.utils.atomic import atomic_file

FORMAT, VERSION = "mumon-bench", 1
RESULTS_NAME = "results.json"


@dataclass(frozen=True)
class SummaryRow:
    """One system on one number of threads, over its repeats.

    `relative` is the speed relative to the reference. Raw tokens are all tokens of the text; trained tokens are those
    expected to remain after rare words are dropped and frequent ones subsampled.
    """

    system: str
    name: str
    threads: int
    repeats: int
    seconds: float
    fastest: float
    slowest: float
    relative: float | None
    scaling: float | None  # speed relative to the fewest threads
    raw_tokens_per_second: float
    trained_tokens_per_second: float
    peak_bytes: int | None
    words: int
    scores: dict[str, float]
    spread: float | None  # standard deviation of the mean score between repeats
    interval: tuple[float, float] | None  # of the mean score; the ends are averaged over repeats


@dataclass
class Results:
    """Everything that goes into results.json.

    Parameters
    ----------
    work, corpus
        What was trained, on which text.
    systems, threads, repeats, reference
        Who ran, on how many threads, how often, and whom others are compared with.
    machine
        The result of `describe_machine`.
    left_out
        Ids of systems that are not installed, with what is missing.
    notes
        Sentences for the report.
    tasks
        The names of the tasks that vectors are scored on.
    runs
        The runs that are finished.
    """

    work: Work
    corpus: BenchCorpus
    systems: list[System]
    threads: list[int]
    repeats: int
    reference: str
    machine: dict[str, Any]
    left_out: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every run of every round was made, or failed."""
        failed = {(run.system, run.threads) for run in self.runs if run.failed is not None}
        wanted = {(system.id, threads) for system in self.systems for threads in self.threads} - failed
        good = [(run.system, run.threads) for run in self.runs if run.failed is None]
        return all(good.count(pair) == self.repeats for pair in wanted)

    def find_good_runs(self, system: str, threads: int) -> list[Run]:
        """Return the runs of a system that did not fail."""
        return [run for run in self.runs if (run.system, run.threads, run.failed) == (system, threads, None)]

    def find_failed_runs(self) -> list[Run]:
        """Return the runs that failed."""
        return [run for run in self.runs if run.failed is not None]

    def summarise(self) -> list[SummaryRow]:
        """Return a row per number of threads and system that has run, in the order of the options."""
        pairs = [(system, threads) for threads in self.threads for system in self.systems]
        return [
            self._summarise_runs(system, threads)
            for system, threads in pairs
            if self.find_good_runs(system.id, threads)
        ]

    def find_reference(self) -> str | None:
        """Return the system that others are compared with: the reference if it has run, else the first that has."""
        ran = [
            system.id
            for system in self.systems
            if any(self.find_good_runs(system.id, threads) for threads in self.threads)
        ]
        return self.reference if self.reference in ran else next(iter(ran), None)

    def find_median_seconds(self, system: str | None, threads: int) -> float | None:
        """Return the median time of a system, or None if it has not run."""
        times = [run.seconds for run in self.find_good_runs(system or "", threads)]
        return median(times) if times else None

    def compare_by_round(self, system: str, threads: int) -> list[float]:
        """Return the speed relative to the reference in each round that both have: a busy machine slows down both."""
        reference = {run.repeat: run.seconds for run in self.find_good_runs(self.find_reference() or "", threads)}
        return [
            reference[run.repeat] / run.seconds
            for run in self.find_good_runs(system, threads)
            if run.repeat in reference
        ]

    def _summarise_runs(self, system: System, threads: int) -> SummaryRow:
        runs = self.find_good_runs(system.id, threads)
        times = [run.seconds for run in runs]
        middle = median(times)
        reference = self.find_median_seconds(self.find_reference(), threads)
        fewest = sorted(self.threads)
        slowest = next((known for count in fewest if (known := self.find_median_seconds(system.id, count))), None)
        scored = [run for run in runs if run.scores]
        intervals = [run.interval for run in scored if run.interval is not None]
        means = [run.scores[MEAN] for run in scored if MEAN in run.scores]
        memory = [run.peak_bytes for run in runs if run.peak_bytes is not None]
        return SummaryRow(
            system=system.id,
            name=system.name,
            threads=threads,
            repeats=len(runs),
            seconds=middle,
            fastest=min(times),
            slowest=max(times),
            relative=None if reference is None else reference / middle,
            scaling=None if slowest is None else slowest / middle,
            raw_tokens_per_second=self.corpus.tokens * self.work.epochs / middle,
            trained_tokens_per_second=self.corpus.trained_tokens * self.work.epochs / middle,
            peak_bytes=max(memory, default=None),
            words=runs[0].words or 0,
            scores=_average_scores(scored),
            spread=stdev(means) if len(means) > 1 else None,
            interval=(fmean(low for low, _ in intervals), fmean(high for _, high in intervals)) if intervals else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return everything, every run included."""
        fields = {"id", "name", "implementation", "objective", "version"}
        return {
            "format": FORMAT,
            "version": VERSION,
            "complete": self.complete,
            "machine": self.machine,
            "work": asdict(self.work),
            "corpus": self.corpus.to_json(),
            "systems": [{name: getattr(system, name) for name in sorted(fields)} for system in self.systems],
            "left_out": self.left_out,
            "threads": self.threads,
            "repeats": self.repeats,
            "reference": self.find_reference(),
            "tasks": self.tasks,
            "notes": self.notes,
            "runs": [run.to_json() for run in self.runs],
            "summary": [_replace_nan(asdict(row)) for row in self.summarise()],
        }

    def save(self, folder: Path) -> Path:
        """Write results.json, whole or not at all, and return its path."""
        return write_json(folder / RESULTS_NAME, self.to_json())


def write_json(path: str | os.PathLike[str], content: Any) -> Path:
    """Write readable JSON, whole or not at all.

    Parameters
    ----------
    path
        The file.
    content
        What goes into it; nan is refused.

    Returns
    -------
    Path
        The file.
    """
    with atomic_file(path) as file:
        file.write((json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode())
    return Path(path)


def _average_scores(runs: Sequence[Run]) -> dict[str, float]:
    tasks = dict.fromkeys(task for run in runs for task in run.scores)
    return {task: fmean(run.scores.get(task, float("nan")) for run in runs) for task in tasks}


def _replace_nan(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "scores": {task: None if score != score else score for task, score in row["scores"].items()}}
