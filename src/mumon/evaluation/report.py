"""The result of an evaluation: scores of several models on several tasks, their intervals, coverage and comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.evaluation.bootstrap import Outcome, compute_interval, derive_seed
from mumon.evaluation.tasks import FOLDS, MEAN, Fold

Missing = Literal["skip", "zero", "known"]
MISSING: tuple[Missing, ...] = ("skip", "zero", "known")


@dataclass(frozen=True)
class Score:
    """One score × 100 with its 95 % interval.

    A word has a vector if it has a row, or if the vectors compose one for it (fastText's). It is known if it has a row
    of its own.

    Parameters
    ----------
    model, task, section
        What was scored; the section is "" for the whole task.
    fold
        The half of the items: "dev", "test" or "all".
    missing
        How items with missing words count: "skip" leaves out items with a word without a vector, "zero" counts them
        as wrong, or as a similarity of 0, and "known" leaves out items with a word that is not known. Only for vectors
        that compose some is "known" another score than "skip".
    score, low, high
        The score and the ends of its interval.
    n
        The number of items.
    covered
        The number of items that the model has vectors for all words of.
    known
        The number of items of which the model knows all words.
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
    known: int

    @property
    def coverage(self) -> float:
        """The share of items that the model has vectors for all words of."""
        return self.covered / self.n if self.n else 0.0

    @property
    def known_coverage(self) -> float:
        """The share of items of which the model knows all words."""
        return self.known / self.n if self.n else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the fields, with None for nan, which JSON lacks."""
        return {name: None if value != value else value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Comparison:
    """Whether model `b` is better than model `a` at a task, by a paired bootstrap over its items.

    Parameters
    ----------
    a, b
        The names of the models.
    task, fold, missing
        What they are compared on, as in `Score`.
    difference, low, high
        The score of b less that of a, and the ends of its 95 % interval.
    better
        The share of resamples in which b is ahead.
    n
        The number of items. Where missing words are skipped, these are the items of which both models have all words
        (with "known": know all words); otherwise the smaller vocabulary would win.
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
    n: int

    def to_json(self) -> dict[str, Any]:
        """Return the fields and the verdict, with None for nan."""
        fields = {name: None if value != value else value for name, value in asdict(self).items()}
        return {**fields, "verdict": self.verdict}

    @property
    def verdict(self) -> str:
        """The verdict on b in words; a difference counts if its 95 % interval does not include zero."""
        if self.low > 0 or self.high < 0:
            return "better" if self.low > 0 else "worse"
        return "no clear difference"


@dataclass
class Report:
    """The result of `evaluate`. All scores are × 100.

    Attributes
    ----------
    models, task_names
        The names of what was evaluated, in order.
    scores
        One `Score` per model, task, section, fold and treatment of missing words; "known" only of `composing` models.
    composing
        The models whose vectors compose one for words without a row.
    found
        Per model and task, the number of different words that were found as they are, in lower case, and so on.
    neighbours
        Per model, the nearest words of a few words.
    averaged
        The tasks of similarity and analogy that every model has a score for; the mean is taken over these.
    seed, resamples
        As given to `evaluate`.
    outcomes, folds, samples
        The answers, the halves of the tasks and the resampled scores, from which comparisons are made.
    """

    models: list[str]
    task_names: list[str]
    scores: list[Score] = field(default_factory=list)
    found: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    neighbours: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    averaged: list[str] = field(default_factory=list)
    composing: list[str] = field(default_factory=list)
    seed: int = 0
    resamples: int = 0
    outcomes: dict[tuple[str, str], Outcome] = field(default_factory=dict, repr=False)
    folds: dict[tuple[str, Fold], NDArray[np.bool_]] = field(default_factory=dict, repr=False)
    samples: dict[tuple[str, str, Fold, Missing], NDArray[np.float64]] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        means = ", ".join(f"{model} {self.mean(model):.1f}" for model in self.models)
        return f"Report<{', '.join(self.task_names)}; mean: {means}>"

    def score(self, model: str, task: str, fold: Fold = "all", section: str = "", missing: Missing = "skip") -> Score:
        """Return one score.

        Parameters
        ----------
        model, task
            Names; the task "mean" is the mean of the tasks that every model has a score for.
        fold
            "dev", "test" or "all".
        section
            A section of the task, or "" for all of it.
        missing
            "skip", "zero" or "known", see `Score`. "known" is for vectors that compose one for any word; of other
            vectors it is the score of "skip".

        Returns
        -------
        Score
            The score, its interval and its coverage.

        Raises
        ------
        OptionError
            If there is no such score.
        """
        if task == MEAN:
            return self._compute_mean(model, fold, missing)
        if missing == "known" and model not in self.composing:  # only words with rows were found
            return replace(self.score(model, task, fold, section), missing=missing)
        wanted = (model, task, fold, section, missing)
        for score in self.scores:
            if (score.model, score.task, score.fold, score.section, score.missing) == wanted:
                return score
        known = f"models {', '.join(self.models)}; tasks {', '.join(self.task_names)}; folds {', '.join(FOLDS)}"
        raise OptionError(f"none of the {len(self.scores)} scores is for {' '.join(filter(None, wanted))}: {known}")

    def mean(self, model: str, fold: Fold = "all", missing: Missing = "skip") -> float:
        """Return the mean score of the averaged tasks.

        Parameters
        ----------
        model
            The name of a model.
        fold, missing
            As in `score`.

        Returns
        -------
        float
            The mean; nan if there is no task to average.
        """
        return self._compute_mean(model, fold, missing).score

    def compare(self, a: str, b: str, fold: Fold = "all", missing: Missing = "skip") -> list[Comparison]:
        """Compare two models on the averaged tasks and on their mean, on the same resamples of the same items.

        Parameters
        ----------
        a, b
            The names of the models; the question is whether b is better.
        fold, missing
            As in `score`.

        Returns
        -------
        list of Comparison
            One per task, and one for the mean.
        """
        gaps = {task: self._compute_difference(a, b, task, fold, missing) for task in self.averaged}
        if gaps:
            differences, samples, counts = zip(*gaps.values(), strict=True)
            gaps[MEAN] = (float(np.mean(differences)), np.mean(samples, axis=0), sum(counts))
        comparisons = []
        for task, (difference, sample, n) in gaps.items():
            known = sample[np.isfinite(sample)]
            better = float(np.mean(known > 0) + np.mean(known == 0) / 2) if len(known) else math.nan
            comparisons.append(Comparison(a, b, task, fold, missing, difference, *compute_interval(sample), better, n))
        return comparisons

    def _compute_difference(
        self, a: str, b: str, task: str, fold: Fold, missing: Missing
    ) -> tuple[float, NDArray[np.float64], int]:
        """Compute the score of b less that of a, the same on each resample, and the number of items."""
        pair = [self.outcomes[model, task].select(self.folds[task, fold]) for model in (a, b)]
        if missing == "known":
            pair = [outcome.restrict_to_known() for outcome in pair]
        asked = np.ones_like(pair[0].found) if missing == "zero" else pair[0].found & pair[1].found
        compared = [outcome.select(asked) for outcome in pair]
        scores = [outcome.score(skip_missing=False) for outcome in compared]
        sampled = [outcome.resample(self.resamples, derive_seed(self.seed, task, "", fold))[1] for outcome in compared]
        return scores[1] - scores[0], sampled[1] - sampled[0], int(asked.sum())

    def to_json(self, missing: Missing = "skip") -> dict[str, Any]:
        """Return everything except the resamples as plain lists and dictionaries.

        Parameters
        ----------
        missing
            How missing words count in the comparisons, see `Score`.

        Returns
        -------
        dict
            Scores, coverage, neighbours, and comparisons of the first model with each other one.
        """
        pairs = [(self.models[0], other) for other in self.models[1:]]
        return {
            "models": self.models,
            "tasks": self.task_names,
            "averaged": self.averaged,
            "composing": self.composing,
            "scores": [score.to_json() for score in self.rows()],
            "found": self.found,
            "neighbours": self.neighbours,
            "comparisons": [
                row.to_json() for a, b in pairs for fold in FOLDS for row in self.compare(a, b, fold, missing)
            ],
        }

    def rows(self) -> Iterator[Score]:
        """Iterate over all scores, means included."""
        yield from self.scores
        if self.averaged:
            for model in self.models:
                for fold in FOLDS:
                    for missing in MISSING if model in self.composing else MISSING[:-1]:
                        yield self._compute_mean(model, fold, missing)

    def _compute_mean(self, model: str, fold: Fold, missing: Missing) -> Score:
        parts = [self.score(model, task, fold, "", missing) for task in self.averaged]
        value = float(np.mean([part.score for part in parts])) if parts else math.nan
        drawn = missing if missing != "known" or model in self.composing else "skip"
        samples = [self.samples[model, task, fold, drawn] for task in self.averaged]
        bounds = compute_interval(np.mean(samples, axis=0) if samples else np.empty(0))
        n, covered, known = (sum(getattr(part, name) for part in parts) for name in ("n", "covered", "known"))
        return Score(model, MEAN, "", fold, missing, value, *bounds, n, covered, known)
