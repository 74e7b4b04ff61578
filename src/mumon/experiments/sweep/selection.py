"""Choosing among runs by their dev scores: which configuration is best, and whether it lies at an edge."""

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
    """One choice of options, and its runs so far, of which there will be one per seed."""

    options: Options
    runs: tuple[Run, ...]
    seeds: int

    @property
    def failed(self) -> str | None:
        """Why it cannot be chosen: one of its seeds had no result."""
        return next((run.failed for run in self.runs if run.failed is not None), None)

    @property
    def complete(self) -> bool:
        """Whether every seed was trained and scored."""
        return len(self.runs) == self.seeds and self.failed is None

    @property
    def mean(self) -> float:
        """The mean dev score over tasks and seeds, × 100."""
        return _mean(run.mean for run in self._scored)

    @property
    def deviation(self) -> float:
        """The standard deviation of the mean dev score between seeds; nan for a single one."""
        return _deviation([run.mean for run in self._scored])

    @property
    def loss(self) -> float:
        """The mean loss of the last epoch."""
        return _mean(run.loss for run in self._scored)

    @property
    def seconds(self) -> float:
        """The mean time of training."""
        return _mean(run.seconds for run in self.runs)

    def dev(self, task: str) -> float:
        """The mean dev score of a task over seeds, × 100."""
        return _mean(run.dev[task] for run in self._scored)

    def dev_deviation(self, task: str) -> float:
        """The standard deviation of a task's dev score between seeds; nan for a single one."""
        return _deviation([run.dev[task] for run in self._scored])

    @property
    def best_run(self) -> Run | None:
        """The run with the best dev score, whose model stands for the configuration."""
        return max(self._scored, key=lambda run: run.mean, default=None)

    @property
    def _scored(self) -> list[Run]:
        return [run for run in self.runs if run.failed is None]


def group_runs(options: Sequence[Options], seeds: Sequence[int], runs: Mapping[str, Run]) -> list[Configuration]:
    """The configurations of a plan with those of their runs that are finished."""
    return [
        Configuration(
            choice,
            tuple(runs[key] for seed in seeds if (key := make_run_key(choice, seed)) in runs),
            len(seeds),
        )
        for choice in options
    ]


def find_best(configurations: Iterable[Configuration]) -> Configuration | None:
    """The complete configuration with the highest mean dev score; of equals, the first."""
    return max((item for item in configurations if item.complete), key=lambda item: item.mean, default=None)


def find_best_per_value(configurations: Sequence[Configuration], name: str, space: Space) -> dict[Any, Configuration]:
    """The best configuration for each value of an option, where one is complete."""
    values = space[name]
    assert isinstance(values, list)
    best = {value: find_best(item for item in configurations if item.options[name] == value) for value in values}
    return {value: item for value, item in best.items() if item is not None}


def list_wanted_runs(configurations: Sequence[Configuration], compare: str | None, space: Space) -> list[Run]:
    """The runs whose models may still be asked for, the best configuration's first (if one is complete yet).

    The best of each compared value is tested at the end; a configuration some of whose seeds are still to come may
    become the best.
    """
    chosen = [find_best(configurations)]
    if compare is not None:
        chosen += find_best_per_value(configurations, compare, space).values()
    chosen += [item for item in configurations if item.runs and not item.failed and not item.complete]
    runs = [item.best_run for item in chosen if item is not None]
    return list({run.key: run for run in runs if run is not None}.values())


def describe_edges(best: Configuration, space: Space) -> list[str]:
    """One sentence for each numeric option whose best value is the smallest or largest that was listed."""
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
    """A warning where configurations were scored on different questions, for want of words."""
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
