"""Every system at its own best rate: a sweep over rates that goes on until the best is not at an edge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mumon.errors import TrainingError
from mumon.experiments.paper.experiment_context import ExperimentContext, Part
from mumon.experiments.paper.runs import TrainedRun

RATE_STEP = 2.0  # between neighbouring rates
FEWEST_RATES, MOST_RATES = 3, 9  # rates in one sweep, if its best is near the start, and however far it runs away


@dataclass(frozen=True)
class RateSweep:
    """The runs of a sweep by rate, and the rate that is best on the dev halves."""

    runs: dict[float, TrainedRun]
    rate: float

    @property
    def best(self) -> TrainedRun:
        """The run at the best rate."""
        return self.runs[self.rate]

    @property
    def inside(self) -> bool:
        """Whether worse rates are known on both sides of the best."""
        return min(self.runs) < self.rate < max(self.runs)


def sweep_rates(
    context: ExperimentContext, system: str, part: Part, around: float | None = None, **options: Any
) -> RateSweep:
    """Train at a rate (the system's own by default), and at others in the direction that pays until it pays no more."""
    centre = context.default_rate(system, part) if around is None else around
    return bracket_best_rate(centre, lambda rate: context.train(system, part, alpha=rate, **options))


def bracket_best_rate(centre: float, train: Callable[[float], TrainedRun]) -> RateSweep:
    """The sweep itself, whoever trains: until the best has a worse one on both sides, as few rates as that takes."""
    runs: dict[int, TrainedRun] = {}
    power: int | None = 0
    while power is not None and len(runs) < MOST_RATES:
        runs[power] = train(round_rate(centre * RATE_STEP**power))
        best = max(runs, key=lambda power: get_dev_score(runs[power]))
        power = best + 1 if best == max(runs) else best - 1 if best == min(runs) else None
        if len(runs) == FEWEST_RATES and math.isinf(get_dev_score(runs[best])):
            reason = runs[best].failed or "no task has questions whose words occur"
            raise TrainingError(f"none of {len(runs)} rates around {centre:.3g} gave vectors with a score: {reason}")
    return RateSweep(
        {round_rate(centre * RATE_STEP**power): runs[power] for power in sorted(runs)},
        round_rate(centre * RATE_STEP**best),
    )


def get_dev_score(run: TrainedRun) -> float:
    """By what runs are compared; a failed one is worse than any."""
    mean = run.mean("dev")
    return -math.inf if math.isnan(mean) else mean


def round_rate(rate: float) -> float:
    """Three digits: a rate that people can type.

    >>> round_rate(0.139812)
    0.14
    """
    return float(f"{rate:.3g}")
