"""The choice among runs by their dev scores: the best configuration, and whether it is at an edge of the grid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from mumon.experiments.sweep.runs import Run, make_run_key
from mumon.experiments.sweep.space import (
    REAL_NUMBERS,
    WHOLE_NUMBERS,
    Options,
    Range,
    Space,
    format_value,
    is_numeric,
    label,
)


@dataclass(frozen=True)
class Configuration:
    """A choice of options and its finished runs; there is one run for each of `seeds` seeds."""

    options: Options
    runs: tuple[Run, ...]
    seeds: int

    @property
    def failed(self) -> str | None:
        """Why it cannot be chosen: the reason of its first failed run, or None."""
        return next((run.failed for run in self.runs if run.failed is not None), None)

    @property
    def complete(self) -> bool:
        """Whether every seed was trained and scored."""
        return len(self.runs) == self.seeds and self.failed is None

    @property
    def mean(self) -> float:
        """Mean dev score over tasks and seeds, × 100."""
        return _mean(run.mean for run in self._scored)

    @property
    def deviation(self) -> float:
        """Standard deviation of the mean dev score between seeds; nan for a single seed."""
        return _deviation([run.mean for run in self._scored])

    @property
    def loss(self) -> float:
        """Mean loss of the last epoch."""
        return _mean(run.loss for run in self._scored)

    @property
    def seconds(self) -> float:
        """Mean time of a training."""
        return _mean(run.seconds for run in self.runs)

    def dev(self, task: str) -> float:
        """Return the mean dev score of a task over seeds, × 100."""
        return _mean(run.dev[task] for run in self._scored)

    def dev_deviation(self, task: str) -> float:
        """Return the standard deviation of a task's dev score between seeds; nan for a single seed."""
        return _deviation([run.dev[task] for run in self._scored])

    @property
    def best_run(self) -> Run | None:
        """Run with the best dev score, whose model represents the configuration; None if all failed."""
        return max(self._scored, key=lambda run: run.mean, default=None)

    @property
    def _scored(self) -> list[Run]:
        return [run for run in self.runs if run.failed is None]


def group_runs(options: Sequence[Options], seeds: Sequence[int], runs: Mapping[str, Run]) -> list[Configuration]:
    """Group finished runs by configuration.

    Parameters
    ----------
    options, seeds
        The configurations and seeds of the plan.
    runs
        Finished runs by key.

    Returns
    -------
    list of Configuration
        In the order of the plan.
    """
    return [
        Configuration(
            choice,
            tuple(runs[key] for seed in seeds if (key := make_run_key(choice, seed)) in runs),
            len(seeds),
        )
        for choice in options
    ]


def find_best(configurations: Iterable[Configuration]) -> Configuration | None:
    """Return the complete configuration with the highest mean dev score (the first of equals), if there is one."""
    return max((item for item in configurations if item.complete), key=lambda item: item.mean, default=None)


def find_best_per_value(configurations: Sequence[Configuration], name: str, space: Space) -> dict[Any, Configuration]:
    """Return the best configuration for each value of an option that has a complete one.

    Parameters
    ----------
    configurations
        Those of the plan.
    name
        The option, which is swept over a list.
    space
        The space of the plan.

    Returns
    -------
    dict
        Configurations by value.
    """
    values = space[name]
    assert isinstance(values, list)
    best = {value: find_best(item for item in configurations if item.options[name] == value) for value in values}
    return {value: item for value, item in best.items() if item is not None}


def list_wanted_runs(configurations: Sequence[Configuration], compare: str | None, space: Space) -> list[Run]:
    """List the runs whose models may still be needed; that of the best configuration is first.

    The best of each compared value is tested at the end. A configuration that is not complete may become the best.

    Parameters
    ----------
    configurations
        Those of the plan.
    compare
        The compared option, or None.
    space
        The space of the plan.

    Returns
    -------
    list of Run
        At most one for each configuration.
    """
    chosen = [find_best(configurations)]
    if compare is not None:
        chosen += find_best_per_value(configurations, compare, space).values()
    chosen += [item for item in configurations if item.runs and not item.failed and not item.complete]
    runs = [item.best_run for item in chosen if item is not None]
    return list({run.key: run for run in runs if run is not None}.values())


def describe_edges(best: Configuration, space: Space) -> list[str]:
    """Return a sentence for each numeric option whose best value is the smallest or the largest of its list."""
    notes = []
    for name, values in space.items():
        if isinstance(values, Range) or len(values) < 2 or not is_numeric(name) or None in values:
            continue
        value = best.options[name]
        least = {**WHOLE_NUMBERS, **REAL_NUMBERS}[name]
        for extreme, which, way in ((max(values), "largest", "upward"), (min(values), "smallest", "downward")):
            if value == extreme and (way == "upward" or value > least):
                notes.append(
                    f"the best {label(name)} {format_value(name, value)} is the {which} tried; extend the grid {way}"
                )
    return notes


def describe_coverage(configurations: Sequence[Configuration]) -> str | None:
    """Return a warning if vocabularies differ, so that configurations were scored on different questions; else None."""
    runs = [run for item in configurations for run in item.runs if run.failed is None]
    covered = {run.covered for run in runs}
    if len(covered) < 2:
        return None
    return (
        f"vocabularies differ: {min(covered):,} to {max(covered):,} of {runs[0].asked:,} dev questions were covered; "
        "means over different questions are not quite comparable"
    )


def _mean(numbers: Iterable[float]) -> float:
    listed = list(numbers)
    return fmean(listed) if listed else math.nan


def _deviation(numbers: list[float]) -> float:
    return stdev(numbers) if len(numbers) > 1 else math.nan
