"""`compare`: every system once, then every system again, and a record of it that survives Ctrl-C."""

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
    """How a comparison is made. Without `threads`, all cores; `quality` asks for the scores beside the speed."""

    threads: Sequence[int] | None = None
    repeats: int = 3
    sentences: int | None = None
    reference: str = REFERENCE
    quality: bool = True


class BenchInterrupted(Interrupted):
    """Ctrl-C or another signal, when some `runs` were finished and are kept."""

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
    """Train every system on the same text and write what it took and gave into `folder`.

    After each run results.json and results.md are written anew, and the plots after each round and on Ctrl-C; those of
    an earlier comparison go when the first run is done. The text and the vectors are in a hidden folder meanwhile.
    """
    from mumon.experiments.bench.machine import describe_machine
    from mumon.experiments.bench.report import write_report
    from mumon.utils.threads import available_cores

    work, chosen, options = work or Work(), chosen or choose_systems(), options or BenchOptions()
    progress = progress or Progress()
    threads = sorted(set(options.threads or [available_cores()]))
    if threads[0] < 1 or options.repeats < 1:
        raise OptionError(f"threads {threads[0]} and repeats {options.repeats} were asked for; give at least 1 of each")
    if options.reference not in {system.id for system in chosen.systems} | set(chosen.left_out) | {REFERENCE}:
        raise OptionError(f"the reference {options.reference!r} is none of the {len(chosen.systems)} systems that run")
    folder.mkdir(parents=True, exist_ok=True)
    here = Path(tempfile.mkdtemp(prefix=".work-", dir=folder)).resolve()
    try:
        progress.note("reading the text …")
        text = prepare_corpus(corpus, here, work, options.sentences)
        tasks, trouble = load_tasks_or_explain(progress) if options.quality else ([], None)
        results = Results(work, text, chosen.systems, threads, options.repeats, options.reference, describe_machine())
        results.left_out, results.tasks = chosen.left_out, [task.name for task in tasks]
        results.notes = [note for note in (chosen.note(), trouble) if note is not None]
        for note in results.notes:
            progress.note(note)
        try:
            for round_ends in _run_rounds(results, Runner(here, text, work), tasks, progress):
                write_report(results, folder, plots=round_ends)
        except KeyboardInterrupt as error:
            if not results.runs:
                raise
            write_report(results, folder)
            raise BenchInterrupted(len(results.runs), getattr(error, "signum", SIGINT)) from None
        return results
    finally:
        progress.close()
        shutil.rmtree(here, ignore_errors=True)


def schedule(systems: Sequence[System], threads: Sequence[int], repeats: int) -> Iterator[tuple[int, int, System]]:
    """(repeat, threads, system) in the order of the runs: no system has all its runs in one spell of the machine.

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
    """Make all runs; after each, says whether it was the last of its round. A system that fails is not tried again."""
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
            said = f"{system.name}: {format_run(run, results.corpus, results.work)}"
            if run.failed is None:
                progress.finish(said)
            else:
                failed.add((system.id, threads))
                progress.close()
                progress.note(said)
        yield last


def format_run(run: Run, corpus: BenchCorpus, work: Work) -> str:
    """One run in a few words."""
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
    """The tasks, or none and a sentence why: a benchmark of speed is still worth having."""
    from mumon.evaluation import load_tasks

    try:
        return load_tasks(progress=progress), None
    except (MumonError, OSError) as error:
        return [], f"quality is not measured: {error}"


def score_run(run: Run, vectors: WordVectors, tasks: list[Task]) -> None:
    """Put the scores × 100 of all items into a run, and the mean's interval and halves. Missing words are skipped."""
    from mumon.evaluation import evaluate

    report = evaluate(vectors, tasks, resamples=RESAMPLES, restrict_vocab=None, probes=(), progress=False)
    run.scores = {task.name: report.score("model", task.name).score for task in tasks}
    if report.averaged:
        mean = report.score("model", MEAN)
        run.scores[MEAN] = mean.score
        run.interval = (mean.low, mean.high)
        run.halves = {"dev": report.mean("model", "dev"), "test": report.mean("model", "test")}
