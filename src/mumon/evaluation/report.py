"""Several models on several tasks: scores on each fold, intervals, coverage, and comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.evaluation.bootstrap import interval
from mumon.evaluation.tasks import FOLDS, Fold

Missing = Literal["skip", "zero"]
MISSING: tuple[Missing, ...] = ("skip", "zero")
MEAN = "mean"


@dataclass(frozen=True)
class Score:
    """One number × 100 with its 95 % interval, over `n` items of which the model has all words of `covered`.

    `missing` says what became of the other items: "skip" leaves them out, "zero" counts them as wrong, or as a
    similarity of 0.
    """

    model: str
    task: str
    section: str
    fold: Fold
    missing: Missing
    score: float
    low: float
    high: float
    n: int
    covered: int

    @property
    def coverage(self) -> float:
        """The share of items that the model has all words of."""
        return self.covered / self.n if self.n else 0.0

    def to_json(self) -> dict[str, Any]:
        """The fields, with null where JSON has no nan."""
        return {name: None if value != value else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Comparison:
    """Whether model `b` is better than model `a` at a task, by a paired bootstrap over its items.

    `difference` is b's score less a's; `better` is the share of resamples in which b is ahead.
    """

    a: str
    b: str
    task: str
    fold: Fold
    missing: Missing
    difference: float
    low: float
    high: float
    better: float

    @property
    def verdict(self) -> str:
        """In words; a difference counts when its 95 % interval leaves out zero."""
        if self.low > 0 or self.high < 0:
            return "better" if self.low > 0 else "worse"
        return "no clear difference"


@dataclass
class Report:
    """The result of `evaluate`. Scores are × 100.

    `found` tells, per model and task, how many different words were found as is, in lower case, …; `neighbours` the
    nearest words of a few, to look at.
    """

    models: list[str]
    task_names: list[str]
    scores: list[Score] = field(default_factory=list)
    found: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    neighbours: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    averaged: list[str] = field(default_factory=list)  # the tasks that are comparable and enter the mean
    samples: dict[tuple[str, str, Fold, Missing], NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def score(self, model: str, task: str, fold: Fold = "all", section: str = "", missing: Missing = "skip") -> Score:
        """One score; the task "mean" is the mean of those that every model has an answer to."""
        if task == MEAN:
            return self._mean(model, fold, missing)
        wanted = (model, task, fold, section, missing)
        for score in self.scores:
            if (score.model, score.task, score.fold, score.section, score.missing) == wanted:
                return score
        raise OptionError(f"none of the {len(self.scores)} scores is for {' '.join(filter(None, wanted))}")

    def mean(self, model: str, fold: Fold = "all", missing: Missing = "skip") -> float:
        """The mean over tasks; nan if there is no task to take it over."""
        return self._mean(model, fold, missing).score

    def compare(self, a: str, b: str, fold: Fold = "all", missing: Missing = "skip") -> list[Comparison]:
        """Is b better than a? For each averaged task and for their mean, from the resamples that both were asked."""
        comparisons = []
        for task in [*self.averaged, MEAN]:
            gap = self._sampled(b, task, fold, missing) - self._sampled(a, task, fold, missing)
            difference = self.score(b, task, fold, "", missing).score - self.score(a, task, fold, "", missing).score
            known = gap[np.isfinite(gap)]
            better = float(np.mean(known > 0) + np.mean(known == 0) / 2) if len(known) else math.nan
            comparisons.append(Comparison(a, b, task, fold, missing, difference, *interval(gap), better))
        return comparisons

    def to_json(self) -> dict[str, Any]:
        """Everything but the resamples, as plain lists and dictionaries."""
        pairs = [(self.models[0], other) for other in self.models[1:]]
        return {
            "models": self.models,
            "tasks": self.task_names,
            "averaged": self.averaged,
            "scores": [score.to_json() for score in self.rows()],
            "found": self.found,
            "neighbours": self.neighbours,
            "comparisons": [
                {**{k: None if v != v else v for k, v in asdict(row).items()}, "verdict": row.verdict}
                for a, b in pairs
                for fold in FOLDS
                for row in self.compare(a, b, fold)
                if len(self._sampled(a, row.task, fold, "skip"))
            ],
        }

    def rows(self) -> Iterator[Score]:
        """Every score, the means included."""
        yield from self.scores
        if self.averaged:
            for model in self.models:
                for fold in FOLDS:
                    for missing in MISSING:
                        yield self._mean(model, fold, missing)

    def _mean(self, model: str, fold: Fold, missing: Missing) -> Score:
        parts = [self.score(model, task, fold, "", missing) for task in self.averaged]
        value = float(np.mean([part.score for part in parts])) if parts else math.nan
        bounds = interval(self._sampled(model, MEAN, fold, missing))
        n, covered = sum(part.n for part in parts), sum(part.covered for part in parts)
        return Score(model, MEAN, "", fold, missing, value, *bounds, n, covered)

    def _sampled(self, model: str, task: str, fold: Fold, missing: Missing) -> NDArray[np.float64]:
        """The resampled scores; empty if no resamples were asked for."""
        if task != MEAN:
            return self.samples[model, task, fold, missing]
        parts = [self.samples[model, part, fold, missing] for part in self.averaged]
        return np.asarray(np.mean(parts, axis=0)) if parts else np.empty(0)
