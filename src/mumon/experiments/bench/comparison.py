"""`compare`: all systems run once, then all run again; what is finished survives Ctrl-C."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from signal import SIGINT
from typing import TYPE_CHECKING

from mumon.errors import MumonError, OptionError
from mumon.experiments.bench.results import Results
from mumon.experiments.bench.runner import MEAN, Run, Runner
from mumon.experiments.bench.systems import System, SystemChoice, choose_systems
from mumon.experiments.bench.work import BenchCorpus, Work, prepare_corpus
from mumon.utils.progress import Progress
from mumon.utils.signals import Interrupted

if TYPE_CHECKING:
    from mumon.evaluation import Task
    from mumon.vectors.word_vectors import WordVectors

REFERENCE = "gensim-cbow"
RESAMPLES = 1000


@dataclass(frozen=True)
class BenchOptions:
    """How a comparison is made.

    Parameters
    ----------
    threads
        The numbers of threads to run with; without any, all cores.
    repeats
        The number of rounds.
    sentences
        Use only this many lines of the text; None means all.
    reference
        The id of the system that others are compared with.
    quality
        Whether to score the vectors as well.
    """

    threads: Sequence[int] | None = None
    repeats: int = 3
    sentences: int | None = None
    reference: str = REFERENCE
    quality: bool = True


class BenchInterrupted(Interrupted):
    """Ctrl-C or another signal after `runs` finished runs, which are kept."""

    def __init__(self, runs: int, signum: int) -> None:
        super().__init__(signum, f"stopped after {runs} runs")
        self.runs = runs


def compare(
    corpus: Sequence[str],
    folder: Path,
    work: Work | None = None,
    chosen: SystemChoice | None = None,
    options: BenchOptions | None = None,
    progress: Progress | None = None,
) -> Results:
    """Train every system on the same text and write times and scores into a folder.

    results.json and results.md are written after each run, plots after each round and on Ctrl-C. Plots of an earlier
    comparison are removed when the first run is finished. The text and the vectors are in a hidden folder meanwhile.

    Parameters
    ----------
    corpus
        Paths of text files.
    folder
        Where the results go.
    work
        The settings that every system trains with; by default those of `Work`.
    chosen
        The systems; by default all that are installed.
    options
        How often and with how many threads; by default those of `BenchOptions`.
    progress
        Shows which run is under way.

    Returns
    -------
    Results
        All runs and what they ran on.

    Raises
    ------
    BenchInterrupted
        On Ctrl-C after the first run.
    OptionError
        If an option cannot be used.
    """
    from mumon.experiments.bench.machine import describe_machine
    from mumon.experiments.bench.report import write_report
    from mumon.utils.threads import available_cores

    work, chosen, options = work or Work(), chosen or choose_systems(), options or BenchOptions()
    progress = progress or Progress()
    threads = sorted(set(options.threads or [available_cores()]))
    if threads[0] < 1 or options.repeats < 1:
        raise OptionError(f"threads are {threads[0]} and repeats are {options.repeats}; give at least 1 of each")
    if options.reference not in {system.id for system in chosen.systems} | set(chosen.left_out) | {REFERENCE}:
        raise OptionError(f"the reference {options.reference!r} is not one of the {len(chosen.systems)} systems")
    folder.mkdir(parents=True, exist_ok=True)
    work_folder = Path(tempfile.mkdtemp(prefix=".work-", dir=folder)).resolve()
    try:
        progress.note("reading the text …")
        text = prepare_corpus(corpus, work_folder, work, options.sentences)
        tasks, problem = load_tasks_or_explain(progress) if options.quality else ([], None)
        results = Results(work, text, chosen.systems, threads, options.repeats, options.reference, describe_machine())
        results.left_out, results.tasks = chosen.left_out, [task.name for task in tasks]
        results.notes = [note for note in (chosen.note(), problem) if note is not None]
        for note in results.notes:
            progress.note(note)
        try:
            for round_ends in _run_rounds(results, Runner(work_folder, text, work), tasks, progress):
                write_report(results, folder, plots=round_ends)
        except KeyboardInterrupt as error:
            if not results.runs:
                raise
            write_report(results, folder)
            raise BenchInterrupted(len(results.runs), getattr(error, "signum", SIGINT)) from None
        return results
    finally:
        progress.close()
        shutil.rmtree(work_folder, ignore_errors=True)


def schedule(systems: Sequence[System], threads: Sequence[int], repeats: int) -> Iterator[tuple[int, int, System]]:
    """List the runs in order: no system has all its runs at one time of a machine that may be busy.

    Parameters
    ----------
    systems
        The systems, in their order within a round.
    threads
        The numbers of threads.
    repeats
        The number of rounds.

    Yields
    ------
    tuple
        The round from 1, the number of threads, and the system.

    Examples
    --------
    >>> from mumon.experiments.bench.systems import SYSTEMS
    >>> pair = [SYSTEMS["mumon-sg"], SYSTEMS["gensim-sg"]]
    >>> [(repeat, threads, system.id) for repeat, threads, system in schedule(pair, [2], 2)]
    [(1, 2, 'mumon-sg'), (1, 2, 'gensim-sg'), (2, 2, 'mumon-sg'), (2, 2, 'gensim-sg')]
    """
    for repeat in range(1, repeats + 1):
        for count in threads:
            for system in systems:
                yield repeat, count, system


def _run_rounds(results: Results, runner: Runner, tasks: list[Task], progress: Progress) -> Iterator[bool]:
    """Make all runs and yield after each whether its round is over. A system that fails does not run again."""
    plan = list(schedule(results.systems, results.threads, results.repeats))
    progress.start("warming up", len(results.systems), "systems")
    for place, system in enumerate(results.systems):
        runner.warm_up(system, max(results.threads))
        progress.update(place + 1)
    failed: set[tuple[str, int]] = set()
    for place, (repeat, threads, system) in enumerate(plan):
        last = place + 1 == len(plan) or plan[place + 1][0] > repeat
        if (system.id, threads) not in failed:
            progress.start(f"{system.name}, run {repeat} of {results.repeats}", len(plan), "runs")
            progress.update(place)
            run, vectors = runner.run(system, threads, repeat)
            if vectors is not None and tasks:
                score_run(run, vectors, tasks)
            results.runs.append(run)
            sentence = f"{system.name}: {format_run(run, results.corpus, results.work)}"
            if run.failed is None:
                progress.finish(sentence)
            else:
                failed.add((system.id, threads))
                progress.close()
                progress.note(sentence)
        yield last


def format_run(run: Run, corpus: BenchCorpus, work: Work) -> str:
    """Describe a run in a few words."""
    if run.failed is not None:
        return f"failed after {run.seconds:.1f} s: {run.failed}"
    speed = corpus.tokens * work.epochs / run.seconds
    parts = [f"{run.seconds:.2f} s", f"{run.threads} thread{'s' * (run.threads > 1)}", f"{speed / 1e3:,.0f} k tokens/s"]
    if run.peak_bytes is not None:
        parts.append(f"{run.peak_bytes / 1e6:,.0f} MB")
    if MEAN in run.scores:
        parts.append(f"mean score {run.scores[MEAN]:.1f}")
    return ", ".join(parts)


def load_tasks_or_explain(progress: Progress) -> tuple[list[Task], str | None]:
    """Return the tasks, or none and the reason: a benchmark of speed alone is still useful."""
    from mumon.evaluation import load_tasks

    try:
        return load_tasks(progress=progress), None
    except (MumonError, OSError) as error:
        return [], f"quality is not measured: {error}"


def score_run(run: Run, vectors: WordVectors, tasks: list[Task]) -> None:
    """Add scores × 100 on all items to a run, and the interval and halves of their mean. Missing words are skipped."""
    from mumon.evaluation import evaluate

    report = evaluate(vectors, tasks, resamples=RESAMPLES, restrict_vocab=None, probes=(), progress=False)
    run.scores = {task.name: report.score("model", task.name).score for task in tasks}
    if report.averaged:
        mean = report.score("model", MEAN)
        run.scores[MEAN] = mean.score
        run.interval = (mean.low, mean.high)
        run.halves = {"dev": report.mean("model", "dev"), "test": report.mean("model", "test")}
