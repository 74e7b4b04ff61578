"""A sweep over learning rates that continues until the best rate is not at an edge."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mumon.errors import TrainingError
from mumon.experiments.paper.experiment_context import ExperimentContext, Part
from mumon.experiments.paper.runs import TrainedRun

RATE_STEP = 2.0  # between neighbouring rates
FEWEST_RATES, MOST_RATES = 3, 9  # rates in one sweep


@dataclass(frozen=True)
class RateSweep:
    """The runs of a sweep by rate, and the best rate on the dev halves."""

    runs: dict[float, TrainedRun]
    rate: float

    @property
    def best(self) -> TrainedRun:
        """Run at the best rate."""
        return self.runs[self.rate]

    @property
    def inside(self) -> bool:
        """Whether worse rates were tried on both sides of the best."""
        return min(self.runs) < self.rate < max(self.runs)


def sweep_rates(
    context: ExperimentContext, system: str, part: Part, around: float | None = None, **options: Any
) -> RateSweep:
    """Find the best rate of a system.

    Parameters
    ----------
    context, system, part
        What to train, and on which text.
    around
        The first rate; by default the system's own.
    **options
        Options that differ from those of the scale.

    Returns
    -------
    RateSweep
        All runs and the best rate.
    """
    centre = context.default_rate(system, part) if around is None else around
    return bracket_best_rate(centre, lambda rate: context.train(system, part, alpha=rate, **options))


def bracket_best_rate(centre: float, train: Callable[[float], TrainedRun]) -> RateSweep:
    """Try as few rates as possible until the best has a worse one on both sides.

    Parameters
    ----------
    centre
        The first rate; the others are powers of `RATE_STEP` from it.
    train
        Trains at a rate.

    Returns
    -------
    RateSweep
        All runs and the best rate, which is at an edge if `MOST_RATES` did not suffice.

    Raises
    ------
    TrainingError
        If none of the first rates has a score.
    """
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
    """Return the mean dev score; a failed run is worse than any other."""
    mean = run.mean("dev")
    return -math.inf if math.isnan(mean) else mean


def round_rate(rate: float) -> float:
    """Round a rate to three digits, so that it can be typed.

    >>> round_rate(0.139812)
    0.14
    """
    return float(f"{rate:.3g}")
