"""Test scores with intervals over items and seeds, and comparisons."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.evaluation.bootstrap import Array, average_over_seeds, compute_interval, count_draws, derive_seed, draw_items
from mumon.evaluation.report import Comparison


@dataclass(frozen=True)
class ExtrinsicScore:
    """The mean × 100 over seeds of a test score with its 95 % interval.

    Parameters
    ----------
    model, task, metric
        What was scored, and how: "accuracy" or "F1".
    score, low, high
        The score and the ends of its interval.
    seeds, dev
        The test and the dev score of each seed.
    chosen
        For each seed, the dropout, rate and epochs that were best on dev.
    n
        The number of test items.
    words, found
        The running words of the task, punctuation included, and how many of them the embedding has (the fewest of all
        seeds).
    """

    model: str
    task: str
    metric: str
    score: float
    low: float
    high: float
    seeds: list[float]
    dev: list[float]
    chosen: list[dict[str, float]]
    n: int
    words: int
    found: int


@dataclass
class ExtrinsicReport:
    """The result of `evaluate_extrinsic`.

    Attributes
    ----------
    models, task_names
        The names of what was evaluated, in order.
    settings
        The budget, the seeds, the number of resamples and the version of torch.
    scores
        One `ExtrinsicScore` per model and task.
    samples
        Resampled scores, from which comparisons are made.
    """

    models: list[str]
    task_names: list[str]
    settings: dict[str, Any]
    scores: list[ExtrinsicScore] = field(default_factory=list)
    samples: dict[tuple[str, str], Array] = field(default_factory=dict, repr=False)

    def score(self, model: str, task: str) -> ExtrinsicScore:
        """Return one score.

        Parameters
        ----------
        model, task
            Names, as in `models` and `task_names`.

        Returns
        -------
        ExtrinsicScore
            The score, its interval, and what led to it.

        Raises
        ------
        OptionError
            If there is no such score.
        """
        for found in self.scores:
            if (found.model, found.task) == (model, task):
                return found
        known = f"models {', '.join(self.models)}; tasks {', '.join(self.task_names)}"
        raise OptionError(f"none of the {len(self.scores)} scores is for {model} {task}: {known}")

    def compare(self, a: str, b: str) -> list[Comparison]:
        """Compare two models on each task, on the same resamples of the same items and seeds.

        Parameters
        ----------
        a, b
            The names of the models; the question is whether b is better.

        Returns
        -------
        list of Comparison
            One per task.
        """
        comparisons = []
        for task in self.task_names:
            difference = self.score(b, task).score - self.score(a, task).score
            sample = self.samples[b, task] - self.samples[a, task]
            better = float(np.mean(sample > 0) + np.mean(sample == 0) / 2) if len(sample) else math.nan
            n = self.score(a, task).n
            comparisons.append(Comparison(a, b, task, "test", "zero", difference, *compute_interval(sample), better, n))
        return comparisons

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain lists and dictionaries; comparisons are with the first model."""
        others = [row.to_json() for other in self.models[1:] for row in self.compare(self.models[0], other)]
        return {
            "settings": self.settings,
            "models": self.models,
            "tasks": self.task_names,
            "scores": [{name: _replace_nan(value) for name, value in asdict(row).items()} for row in self.scores],
            "comparisons": others,
        }


def _replace_nan(value: Any) -> Any:
    return None if value != value else value  # JSON has no nan


def resample_scores(outcomes: Sequence[NDArray[np.int64]], task: str, resamples: int) -> Array:
    """Score resamples of items and seeds.

    The draws depend on the task and the numbers of items and seeds, not on the model, so that the scores of two models
    can be subtracted.

    Parameters
    ----------
    outcomes
        For each seed, what `compute_f1` takes.
    task
        The name of the task.
    resamples
        The number of resamples.

    Returns
    -------
    array (resamples,)
        Mean scores × 100 over seeds.
    """
    items, seeds = len(outcomes[0]), len(outcomes)
    right = np.array([each[:, 0] for each in outcomes], np.float64)
    total = np.array([each[:, 1] + each[:, 2] for each in outcomes], np.float64)
    by_seed = [np.empty((seeds, 0))]  # (seeds, resamples)
    for drawn in draw_items(items, resamples, derive_seed(0, task)):
        counts = count_draws(drawn, items).T
        by_seed.append(200 * (right @ counts) / np.maximum(total @ counts, 1))
    return average_over_seeds(np.hstack(by_seed), derive_seed(0, task))


def compute_f1(outcomes: NDArray[np.int64]) -> float:
    """Compute the harmonic mean of precision and recall × 100; 0 if nothing is right.

    Where every item has one label and gets one, this is the accuracy.

    Parameters
    ----------
    outcomes
        For each item, how many labels or entities are right, predicted and true: (items, 3).

    Returns
    -------
    float
        The score.

    Examples
    --------
    >>> compute_f1(np.array([[1, 1, 1], [0, 1, 1]])), compute_f1(np.array([[1, 2, 1]]))
    (50.0, 66.66666666666667)
    """
    right, predicted, true = outcomes.sum(axis=0)
    return 200 * float(right) / float(predicted + true) if right else 0.0
