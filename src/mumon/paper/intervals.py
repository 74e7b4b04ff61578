"""Scores of several seeds with 95 % intervals over items and seeds, and differences between systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mumon.evaluation.bootstrap import Array, interval, over_seeds, stream
from mumon.evaluation.tasks import MEAN, Fold
from mumon.paper.lab import Lab, Trained


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        return f"{self.value:.1f} ± {self.half:.1f}"

    @property
    def signed(self) -> str:
        """As a difference.

        >>> Estimate(-0.44, -1.0, 0.2).signed
        '−0.4 ± 0.6'
        """
        return f"{self.value:+.1f} ± {self.half:.1f}".replace("-", "−")

    def to_json(self) -> dict[str, float]:
        """The fields."""
        return asdict(self)


def estimate_of(record: dict[str, Any]) -> Estimate:
    """The reverse of `Estimate.to_json`."""
    return Estimate(record["value"], record["low"], record["high"])


def score(lab: Lab, runs: Sequence[Trained], fold: Fold = "test") -> Estimate:
    """The mean of the tasks over seeds."""
    return _estimates(lab, runs, None, fold)[MEAN]


def difference(lab: Lab, a: Sequence[Trained], b: Sequence[Trained]) -> Estimate:
    """How far b is above a on the mean of the tasks."""
    return differences(lab, a, b)[MEAN]


def differences(lab: Lab, a: Sequence[Trained], b: Sequence[Trained]) -> dict[str, Estimate]:
    """How far b is above a on each task's test half and on their mean, on the same resamples of the same items."""
    return _estimates(lab, b, a, "test")


def _estimates(lab: Lab, runs: Sequence[Trained], others: Sequence[Trained] | None, fold: Fold) -> dict[str, Estimate]:
    values, samples = {}, {}
    for task in lab.tasks:
        asked = task.fold(fold)
        for run in (*runs, *(others or ())):  # only what all have the words of
            asked = asked & run.outcomes[task.name].found
        value, sample = _sampled(runs, task.name, asked, lab.scale.resamples)
        if others is not None:
            less, less_sample = _sampled(others, task.name, asked, lab.scale.resamples)
            value, sample = value - less, sample - less_sample
        values[task.name], samples[task.name] = value, sample
    values[MEAN] = float(np.mean(list(values.values())))
    samples[MEAN] = np.mean(list(samples.values()), axis=0)
    return {name: Estimate(value, *interval(samples[name])) for name, value in values.items()}


def _sampled(runs: Sequence[Trained], task: str, asked: Any, resamples: int) -> tuple[float, Array]:
    kept = [run.outcomes[task].restricted(asked) for run in runs]
    seed = stream(0, task)
    by_seed = np.array([outcome.resampled(resamples, seed)[1] for outcome in kept])
    return float(np.mean([outcome.score(skip_missing=False) for outcome in kept])), over_seeds(by_seed, seed)
