"""Scores of several seeds with 95 % intervals over items and seeds, and differences between systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import CorpusError, TrainingError
from mumon.evaluation.bootstrap import Outcome, average_over_seeds, compute_interval, derive_seed
from mumon.evaluation.tasks import MEAN, Fold
from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.runs import TrainedRun

Runs = Sequence[TrainedRun]
FEWEST_ITEMS = 2  # whose words are known, for a task to count


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{self.value:.1f} ± {self.half:.1f}"

    @property
    def signed(self) -> str:
        """The estimate with a sign, as a difference.

        >>> Estimate(-0.44, -1.0, 0.2).signed
        '−0.4 ± 0.6'
        """
        return f"{self.value:+.1f} ± {self.half:.1f}".replace("-", "−")

    def to_json(self) -> dict[str, float]:
        """Return the fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Estimate:
        """Return the estimate that `to_json` wrote; other fields of the record are ignored."""
        return cls(record["value"], record["low"], record["high"])


def estimate_score(context: ExperimentContext, runs: Runs, fold: Fold = "test") -> Estimate:
    """Estimate the mean score of the tasks over seeds.

    Parameters
    ----------
    context
        Has the tasks and the number of resamples.
    runs
        Runs of one system, one for each seed.
    fold
        The half that is scored.

    Returns
    -------
    Estimate
        The score × 100.
    """
    return estimate_contrast(context, [(1, runs)], fold)[MEAN]


def estimate_difference(context: ExperimentContext, a: Runs, b: Runs) -> Estimate:
    """Estimate how far b is above a on the mean of the tasks (test halves)."""
    return estimate_differences(context, a, b)[MEAN]


def estimate_differences(context: ExperimentContext, a: Runs, b: Runs) -> dict[str, Estimate]:
    """Estimate how far b is above a on each task's test half and on their mean."""
    return estimate_contrast(context, [(1, b), (-1, a)])


def estimate_change(context: ExperimentContext, a: Runs, b: Runs, then_a: Runs, then_b: Runs) -> Estimate:
    """Estimate how much further b is above a in the second pair than in the first, on the mean of the tasks."""
    return estimate_contrast(context, [(1, then_b), (-1, then_a), (-1, b), (1, a)])[MEAN]


def estimate_contrast(
    context: ExperimentContext,
    terms: Sequence[tuple[int, Runs]],
    fold: Fold = "test",
    questions: Mapping[str, NDArray[np.bool_]] | None = None,
) -> dict[str, Estimate]:
    """Estimate a sum of scores with signs, by task and on the mean, from the same resamples of the items that all have.

    A seed is one model that answers all tasks. The same seeds are drawn for each task, so that a model that is better
    in all of them is not averaged away.

    Parameters
    ----------
    context
        Has the tasks and the number of resamples.
    terms
        A sign and the runs of a system each.
    fold
        The half that is scored.
    questions
        Which items of which tasks are scored; by default those of the fold, of all tasks of the context.

    Returns
    -------
    dict
        Estimates by task, and of their mean.

    Raises
    ------
    TrainingError
        If a run failed, or if a term has no runs.
    CorpusError
        If no task has questions whose words are known.
    """
    broken = [run.failed for _, runs in terms for run in runs if run.failed is not None]
    if broken or not all(runs for _, runs in terms):
        raise TrainingError(
            f"{len(broken) or 'no'} of the runs to compare failed, {(broken or ['or there are none'])[0]}"
        )
    if questions is None:
        questions = {task.name: task.fold(fold) for task in context.tasks}
    values, samples = {}, {}
    for name, asked in questions.items():
        for run in (run for _, runs in terms for run in runs):
            asked = asked & run.outcomes[name].found
        if asked.sum() < FEWEST_ITEMS:
            continue
        value, sample = 0.0, np.zeros(context.scale.resamples)
        for sign, runs in terms:
            scored = [
                _resample(run.outcomes[name], asked.tobytes(), context.scale.resamples, derive_seed(0, name))
                for run in runs
            ]
            value += sign * float(np.mean([score for score, _ in scored]))
            by_seed = np.array([drawn for _, drawn in scored])
            sample = sample + sign * average_over_seeds(by_seed, derive_seed(0, "seeds"))
        if not np.isnan(value):
            values[name], samples[name] = value, sample
    if not values:
        raise CorpusError(
            f"none of the {len(questions)} tasks has {FEWEST_ITEMS} questions whose words occur; give more text"
        )
    values[MEAN] = float(np.mean(list(values.values())))
    samples[MEAN] = np.mean(list(samples.values()), axis=0)
    return {name: Estimate(value, *compute_interval(samples[name])) for name, value in values.items()}


@lru_cache(maxsize=1024)
def _resample(outcome: Outcome, asked: bytes, resamples: int, seed: int) -> tuple[float, NDArray[np.float64]]:
    """Score a selection of the answers, and resamples of it.

    Thousands of resamples of a large task take seconds, and a run takes part in several differences.
    """
    answers = outcome.select(np.frombuffer(asked, bool))
    return answers.score(skip_missing=False), answers.resample(resamples, seed)[1]
