"""Scores of models in a sweep: each run on the dev halves alone, the chosen models on both halves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mumon.corpus import EncodedCorpus
from mumon.errors import OptionError
from mumon.experiments.sweep.runs import Run
from mumon.experiments.sweep.space import Options
from mumon.utils.progress import Progress
from mumon.word2vec import Word2Vec

if TYPE_CHECKING:
    from mumon.evaluation.report import Report
    from mumon.evaluation.tasks import Fold, Task
    from mumon.vectors.word_vectors import WordVectors

FOLD_SEED = 0  # the halves that `mumon eval` shows
HALVES: tuple[Fold, ...] = ("dev", "test")


def load_sweep_tasks(tasks: Sequence[Any] | None, progress: Progress) -> list[Task]:
    """Load the tasks to choose by.

    Parameters
    ----------
    tasks
        Names, files or `Task`s; by default the paper's five.
    progress
        Where downloads are shown.

    Returns
    -------
    list of Task
        The tasks, which all have a dev and a test half.

    Raises
    ------
    OptionError
        If there are none, or if one is neither of similarity nor of analogy.
    """
    from mumon.evaluation import load_tasks

    loaded = load_tasks(tasks, progress=progress)
    if not loaded:
        raise OptionError("there are 0 tasks to choose by; name at least one")
    for task in loaded:
        if task.kind not in ("similarity", "analogy"):
            raise OptionError(f"the task {task.name} is one of {task.kind}; a sweep chooses by similarity and analogy")
    return loaded


def select_half(task: Task, fold: Fold) -> Task:
    """Return the items of one half as a task of their own, which does not contain the other half."""
    chosen = np.flatnonzero(task.fold(fold, FOLD_SEED)).tolist()
    return replace(
        task,
        items=tuple(task.items[i] for i in chosen),
        sections=tuple(task.sections[i] for i in chosen),
        gold=None if task.gold is None else task.gold[chosen],
    )


def check_coverage(tasks: Sequence[Task], corpus: EncodedCorpus, min_count: int) -> None:
    """Refuse tasks whose words the corpus does not have, before hours of training.

    Parameters
    ----------
    tasks, corpus
        The questions and the text.
    min_count
        The least of all configurations: it makes the largest vocabulary.

    Raises
    ------
    OptionError
        If fewer than 2 questions of a half can be answered.
    """
    from mumon.corpus.vocabulary import Vocabulary
    from mumon.evaluation.word_lookup import WordFinder
    from mumon.vectors.word_vectors import WordVectors

    vocabulary = Vocabulary.from_corpus(corpus, min_count=min_count).words
    finder = WordFinder(WordVectors(vocabulary, np.zeros((len(vocabulary), 1), np.float32)))
    for task in tasks:
        for fold in HALVES:
            items = select_half(task, fold).items
            covered = sum(min(finder.find_rows(words)) >= 0 for words in items)
            if covered < 2:
                raise OptionError(
                    f"the corpus has the words of {covered} of the {len(items)} {fold} questions of {task.name}, and "
                    "at least 2 are needed; leave that task out"
                )


def score_run(model: Word2Vec, options: Options, seed: int, dev_tasks: Sequence[Task]) -> Run:
    """Score a trained model on the dev questions.

    Parameters
    ----------
    model
        The model.
    options, seed
        How it was trained.
    dev_tasks
        Tasks that hold dev questions only.

    Returns
    -------
    Run
        A task without a score makes the run fail.
    """
    from mumon.evaluation import evaluate

    plain = {"resamples": 0, "probes": (), "progress": False}
    report = evaluate({"model": model.wv}, dev_tasks, workers=model.settings.workers, **plain)  # type: ignore[arg-type]
    scores = {name: report.score("model", name, fold="all") for name in report.task_names}
    run = Run(
        options,
        seed,
        dev={name: float(score.score) for name, score in scores.items()},
        mean=float(np.mean([score.score for score in scores.values()])),
        covered=sum(score.covered for score in scores.values()),
        asked=sum(score.n for score in scores.values()),
        loss=model.history[-1].loss,
        seconds=sum(epoch.seconds for epoch in model.history),
    )
    for name, score in scores.items():
        if not math.isfinite(score.score):
            return replace(run, failed=f"{name} has no score, with {score.covered} of {score.n} dev questions covered")
    return run


def evaluate_chosen(
    vectors: Mapping[str, WordVectors], tasks: Sequence[Task], workers: int | None, progress: Progress
) -> Report:
    """Score chosen models on both halves, with intervals.

    Parameters
    ----------
    vectors
        Vectors by the name of the model.
    tasks
        The whole tasks.
    workers
        Threads, or None for all cores.
    progress
        Where progress is reported.

    Returns
    -------
    Report
        The scores.
    """
    from mumon.evaluation import evaluate

    return evaluate(dict(vectors), tasks, seed=FOLD_SEED, workers=workers, progress=progress)


def compare_models(report: Report) -> list[dict[str, Any]]:
    """Return the differences of the other models from the first on the test halves, task by task."""
    first, *others = report.models
    return [asdict(row) for other in others for row in report.compare(first, other, fold="test")]
