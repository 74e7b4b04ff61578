"""Vectors from both sides of a model, source + λ × target: every λ is scored from one training.

Training makes two vectors for each word, and the paper's protocol throws those of the target side away. Here the raw
matrices of one training are added with several weights λ, and each sum answers all questions: those of the word tasks,
and the pairs of sentences. Only the answers are saved, not the matrices.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mumon.errors import TrainingError
from mumon.evaluation.bootstrap import Outcome
from mumon.evaluation.sentences import METHODS, SentenceTask, answer_pairs
from mumon.experiments.paper.experiment_context import ExperimentContext, Part, name_result
from mumon.experiments.paper.runs import (
    TrainedRun,
    collect_scores,
    describe_run,
    pack_outcomes,
    unpack_outcomes,
)
from mumon.experiments.paper.sweeps import RateSweep, bracket_best_rate, get_dev_score, round_rate
from mumon.experiments.sweep.plan import digest_task
from mumon.word2vec import Word2Vec

if TYPE_CHECKING:
    from mumon.vectors.word_vectors import WordVectors

WEIGHTS = (0.0, 0.125, 0.25, 0.5, 1.0)  # λ
DEFAULT_SYSTEM = "CBOW correct"  # what mumon trains by default
FIRST_SEED = 2  # of those that count; sweeps have seed 1
SourceAndSums = dict[float, TrainedRun]  # one training, by λ; 0 is the source side alone


def choose_weight(runs: Mapping[float, Sequence[TrainedRun]]) -> float:
    """Return the λ whose vectors are best on the dev halves of the word tasks, on the mean over seeds.

    All seeds choose together, since a λ is chosen and not a run: luck that a run has, it has at every λ.

    Parameters
    ----------
    runs
        Runs by λ.

    Returns
    -------
    float
        The best λ; of equals, the least.
    """
    return max(runs, key=lambda weight: (np.mean([get_dev_score(run) for run in runs[weight]]), -weight))


@dataclass(frozen=True)
class SideSweep:
    """Window and rate of a system that are best on the dev halves, each rate judged by the λ that is best there."""

    window: int
    swept: dict[int, RateSweep]  # by window

    @property
    def rate(self) -> float:
        """The best rate at the best window."""
        return self.swept[self.window].rate

    @property
    def inside(self) -> bool:
        """Whether worse rates were tried on both sides of the best."""
        return self.swept[self.window].inside


def sweep_sides(context: ExperimentContext, system: str, part: Part) -> SideSweep:
    """Find the best window and rate of a system: the usual window and twice that, each at its own best rate.

    Parameters
    ----------
    context, system, part
        What to train, and on which text.

    Returns
    -------
    SideSweep
        The best window, and the sweep over rates at each.
    """

    def sweep_window(window: int) -> RateSweep:
        def train(rate: float) -> TrainedRun:
            return max(train_sides(context, system, part, alpha=rate, window=window).values(), key=get_dev_score)

        return bracket_best_rate(context.default_rate(system, part, window=window), train)

    swept = {window: sweep_window(window) for window in (context.scale.window, 2 * context.scale.window)}
    return SideSweep(max(swept, key=lambda window: get_dev_score(swept[window].best)), swept)


def train_side_seeds(
    context: ExperimentContext, system: str, part: Part, rate: float, window: int, seeds: int, **changed: Any
) -> dict[float, list[TrainedRun]]:
    """Train with other seeds than that of the sweep; trainings that diverge are left out.

    Parameters
    ----------
    context, system, part
        What to train, and on which text.
    rate, window
        The learning rate and the window.
    seeds
        How many.
    **changed
        Other options that differ from those of the scale.

    Returns
    -------
    dict
        Runs by λ, each with one run for each seed.

    Raises
    ------
    TrainingError
        If all of them diverge.
    """
    counted = range(FIRST_SEED, FIRST_SEED + seeds)
    options = {"alpha": rate, "window": window, **changed}
    trained = [train_sides(context, system, part, seed=seed, **options) for seed in counted]
    whole = [runs for runs in trained if runs[WEIGHTS[0]].failed is None]
    if not whole:
        reason = trained[0][WEIGHTS[0]].failed
        raise TrainingError(f"all {seeds} trainings of {system} at rate {rate:g} failed: {reason}")
    return {weight: [runs[weight] for runs in whole] for weight in WEIGHTS}


@dataclass(frozen=True)
class DefaultRuns:
    """CBOW as mumon trains it if nothing is asked for: its window, rate and λ, and a run for each seed."""

    window: int
    rate: float
    weight: float
    runs: list[TrainedRun]

    def to_json(self) -> dict[str, Any]:
        """Return how it was trained."""
        return {"window": self.window, "rate": self.rate, "weight": self.weight, "seeds": len(self.runs)}


def label_default(record: Mapping[str, Any]) -> str:
    """Label mumon's default.

    >>> label_default({"window": 10, "rate": 0.199, "weight": 0.25})
    'mumon’s default (window 10, λ = 0.25)'
    """
    return f"mumon’s default (window {record['window']}, λ = {record['weight']:g})"


def train_default(context: ExperimentContext, part: Part, seeds: int) -> DefaultRuns:
    """Train CBOW as mumon does by default, with other seeds than that of the sweep.

    Parameters
    ----------
    context, part
        What trains, and on which text.
    seeds
        How many.

    Returns
    -------
    DefaultRuns
    """
    settings = Word2Vec().settings
    rate = round_rate(context.default_rate(DEFAULT_SYSTEM, part, window=settings.window))
    found = train_side_seeds(context, DEFAULT_SYSTEM, part, rate, settings.window, seeds)
    return DefaultRuns(settings.window, rate, settings.used_target_weight, found[settings.used_target_weight])


def train_sides(context: ExperimentContext, system: str, part: Part, seed: int = 1, **changed: Any) -> SourceAndSums:
    """Train a system once and ask source + λ × target all questions, for every λ; or return the saved answers.

    Parameters
    ----------
    context
        Trains and saves.
    system
        A name of `SYSTEMS` that is trained here, not by gensim.
    part
        The text to train on.
    seed
        Seed of the training.
    **changed
        Options that differ from those of the scale.

    Returns
    -------
    dict
        Runs by λ. A training that diverged is a result, too: its runs say so in `failed`.
    """
    options = context.options(**changed)
    inputs = context.list_inputs(system, part, seed, options)
    inputs |= {
        "weights": list(WEIGHTS),
        "tasks": {task.name: digest_task(task) for task in context.tasks},
        "sentences": {task.name: digest_sentences(task) for task in context.sentence_tasks},
    }
    found, arrays = context.find_result("sides", inputs), context.store.read_arrays(name_result("sides", inputs))
    if found is None or arrays is None:
        found, arrays = _train_and_score(context, system, part, seed, options)
        context.save_result("sides", inputs, found, arrays)
        said = found["failed"] or f"{found['seconds']:.0f} s"
        context.progress.finish(f"{context.label}: {describe_run(system, changed, seed)}: {said}")
    return {weight: _unpack_run(context, found, arrays, weight) for weight in WEIGHTS}


def name_answers(task: SentenceTask, method: str) -> str:
    """Return the name under which a run has the cosines of a task of sentences."""
    return f"{task.name}/{method}"


def digest_sentences(task: SentenceTask) -> str:
    """Return a short name for the pairs and scores of a task."""
    digest = hashlib.blake2b(digest_size=10)
    for (first, second), score in zip(task.pairs, task.gold, strict=True):
        digest.update(f"{first}\t{second}\t{score:.9g}\n".encode())
    return digest.hexdigest()


def _train_and_score(
    context: ExperimentContext, system: str, part: Part, seed: int, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the record of a new training and the arrays of its answers, for every λ."""
    record, vectors, targets = context.fit_recorded(system, part, seed, options)
    if vectors is None:
        return record, {}
    source, both = np.array(vectors.vectors), copy.copy(vectors)
    arrays: dict[str, Any] = {}
    for weight in WEIGHTS:
        context.progress.start(f"{context.label}, {system}: asking source + {weight:g} × target", 0, "")
        both.vectors = source + np.float32(weight) * targets
        both.fill_norms(force=True)
        record["scores"][f"{weight:g}"], answers = _ask(context, both)
        arrays |= {f"{weight:g} {name}": values for name, values in answers.items()}
    context.progress.close()
    return record, arrays


def _ask(context: ExperimentContext, vectors: WordVectors) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the scores of the word tasks, and the answers to all questions."""
    from mumon.evaluation import evaluate

    report = evaluate({"model": vectors}, context.tasks, resamples=0, probes=(), progress=False)
    arrays = pack_outcomes(report)
    for task in context.sentence_tasks:
        for method in METHODS:
            arrays[f"{name_answers(task, method)}.values"] = answer_pairs(vectors, task, method).values
    return collect_scores(report), arrays


def _unpack_run(
    context: ExperimentContext, record: Mapping[str, Any], arrays: Mapping[str, Any], weight: float
) -> TrainedRun:
    """Return the run of one λ."""
    start = f"{weight:g} "
    own = {name.removeprefix(start): values for name, values in arrays.items() if name.startswith(start)}
    scores = record["scores"].get(f"{weight:g}", {})
    outcomes = unpack_outcomes(own, context.tasks) | _unpack_sentences(own, context.sentence_tasks)
    return TrainedRun({**record, "scores": scores}, outcomes)


def _unpack_sentences(arrays: Mapping[str, Any], tasks: Sequence[SentenceTask]) -> dict[str, Outcome]:
    """Return the cosines of sentences; all pairs count, those without known words with the cosine 0."""
    names = {name_answers(task, method): task for task in tasks for method in METHODS}
    return {
        name: Outcome(arrays[f"{name}.values"], np.ones(len(task), bool), task.gold)
        for name, task in names.items()
        if f"{name}.values" in arrays
    }
