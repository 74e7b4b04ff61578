"""How good the vectors of a run are: the paper's five tasks, as `mumon eval` asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mumon.errors import MumonError

if TYPE_CHECKING:
    from mumon.evaluation import Task
    from mumon.experiments.bench.runner import Run
    from mumon.utils.progress import Progress
    from mumon.vectors.word_vectors import WordVectors

RESAMPLES = 1000
MEAN = "mean"


def load_or_explain(progress: Progress) -> tuple[list[Task], str | None]:
    """The tasks, or none and a sentence why: a benchmark of speed is still worth having."""
    from mumon.evaluation import load_tasks

    try:
        return load_tasks(progress=progress), None
    except (MumonError, OSError) as error:
        return [], f"quality is not measured: {error}"


def score(run: Run, vectors: WordVectors, tasks: list[Task]) -> None:
    """Put the scores × 100 of all items into a run, and the mean's interval and halves. Missing words are skipped."""
    from mumon.evaluation import evaluate

    report = evaluate(vectors, tasks, resamples=RESAMPLES, restrict_vocab=None, probes=(), progress=False)
    run.scores = {task.name: report.score("model", task.name).score for task in tasks}
    if report.averaged:
        mean = report.score("model", MEAN)
        run.scores[MEAN] = mean.score
        run.interval = (mean.low, mean.high)
        run.halves = {"dev": report.mean("model", "dev"), "test": report.mean("model", "test")}
