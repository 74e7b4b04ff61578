"""`evaluate`: ask several models the same questions."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.evaluation.bootstrap import Array, Outcome, compute_interval, derive_seed
from mumon.evaluation.report import Missing, Report, Score
from mumon.evaluation.task_files import load_tasks
from mumon.evaluation.tasks import FOLDS, Fold, Task
from mumon.evaluation.word_lookup import WordFinder
from mumon.utils.progress import Progress, choose_progress
from mumon.vectors.analogies import Method, solve
from mumon.vectors.neighbours import Floats, compute_cosines, scale_to_unit
from mumon.vectors.word_vectors import WordVectors
from mumon.word2vec import Word2Vec

Vectors = WordVectors | Word2Vec | str | os.PathLike[str]

RESTRICT_VOCAB = 300_000  # gensim's: rarer words are neither looked up nor answers
PROBE_WORDS = ("king", "paris", "computer", "music", "good", "walking")
# Shares of the progress bar; half of each is for the answers, half for their resampling.
PROGRESS_SHARES = {"similarity": 40, "analogy": 200, "categories": 20, "outliers": 10}
KMEANS_RESTARTS = 10  # k-means finds different clusters from different starts; the tightest is kept


def evaluate(
    models: Vectors | Mapping[str, Vectors],
    tasks: str | os.PathLike[str] | Task | Sequence[str | os.PathLike[str] | Task] | None = None,
    *,
    method: Method = "add",
    seed: int = 0,
    resamples: int = 1000,
    restrict_vocab: int | None = RESTRICT_VOCAB,
    probes: Sequence[str] | None = None,
    workers: int | None = None,
    progress: bool | Progress | None = None,
) -> Report:
    """Score word vectors on similarity, analogy, category and outlier tasks.

    Parameters
    ----------
    models
        Vectors, a model or the path of either; or several of them by name.
    tasks
        Names of tasks (ws353, men, rw, syn, mixed; German: de-gur350, de-zg222, de-schm280, de-yp130, de-syntactic,
        de-semantic), paths of task files or `Task` objects. Without any, the paper's five.
    method
        How analogies are answered: "add" (3CosAdd) or "mul" (3CosMul).
    seed
        Fixes the dev and test halves and the bootstrap.
    resamples
        Resamples of the bootstrap; with 0 there are no intervals.
    restrict_vocab
        Only the first `restrict_vocab` words are known and can be answers; None or 0 means all words.
    probes
        Words whose nearest neighbours are listed in the report; without any, a few well-known or frequent words.
    workers
        Threads that solve analogies; without a number, all cores.
    progress
        Whether to show a progress bar, or the progress to report to; without it, one is shown in a terminal.

    Returns
    -------
    Report
        Scores with intervals and coverage, comparisons and neighbours. Of vectors that compose one for any word
        (fastText's), every score has a second one, over the items whose words all have rows of their own: ask for it
        by `report.score(..., missing="known")`. Only words with rows answer analogies, so a question whose answer has
        none is answered wrong.

    Raises
    ------
    OptionError
        If there are no models or no tasks, or if a task has no items.

    Examples
    --------
    >>> from mumon.evaluation import Task
    >>> wv = WordVectors(["cup", "mug", "sky", "sea"], np.array([[9, 1], [8, 2], [1, 9], [2, 5]], np.float32))
    >>> pairs = (("cup", "mug"), ("cup", "sky"), ("Mug", "sea"), ("cup", "spoon"))
    >>> task = Task("pairs", "similarity", pairs, ("",) * 4, np.array([9.0, 1.0, 4.0, 8.0]))
    >>> score = evaluate(wv, [task], resamples=0).score("model", "pairs")
    >>> round(score.score), score.covered, score.n
    (100, 3, 4)
    """
    by_name = models if isinstance(models, Mapping) else {"model": models}
    named = {name: load_vectors(each) for name, each in by_name.items()}
    with choose_progress(progress) as reporter:
        chosen = load_tasks([tasks] if isinstance(tasks, str | os.PathLike | Task) else tasks, progress=reporter)
        if not named or not chosen:
            raise OptionError(f"{len(named)} models and {len(chosen)} tasks were given; give at least 1 of each")
        report = Report(list(named), [task.name for task in chosen], seed=seed, resamples=resamples)
        report.folds = {(task.name, fold): task.fold(fold, seed) for task in chosen for fold in FOLDS}
        for name, wv in named.items():
            finder = WordFinder(wv, restrict_vocab or None)
            report.composing += [name] if finder.composes else []
            run = _ModelRun(name, finder, report, method, seed, resamples, workers, reporter)
            reporter.start(f"evaluating {name}", sum(PROGRESS_SHARES[task.kind] for task in chosen), "steps")
            for task in chosen:
                run.run_task(task)
            report.neighbours[name] = _find_neighbours(wv, probes)
            reporter.close()
    report.averaged = [
        task.name
        for task in chosen
        if task.kind in ("similarity", "analogy")
        and not any(math.isnan(report.score(m, task.name, fold).score) for m in named for fold in FOLDS)
    ]
    return report


@dataclass
class _ModelRun:
    """One model and the report that its scores are added to."""

    model: str
    finder: WordFinder
    report: Report
    method: Method
    seed: int
    resamples: int
    workers: int | None
    progress: Progress
    done: int = 0

    def run_task(self, task: Task) -> None:
        """Answer a task and add its scores: of the folds, and of the sections."""
        self.report.found.setdefault(self.model, {})[task.name] = self.finder.count_found(task)
        if task.kind == "categories":
            self._add_purity(task)
        else:
            extra: list[tuple[str, Outcome]] = []
            outcome = self._answer_items(task)
            if task.kind == "outliers":  # how near to the outermost place, on average, the outliers were put
                extra = [("position", outcome)]
                outcome = replace(outcome, values=(outcome.values == 1).astype(np.float64))
            self.report.outcomes[self.model, task.name] = outcome
            extra += [(section, outcome.select(items)) for section, items in task.groups().items()]
            parts: list[tuple[str, Fold, Outcome]] = [
                *(("", fold, outcome.select(self.report.folds[task.name, fold])) for fold in FOLDS),
                *((section, "all", part) for section, part in extra),
            ]
            for place, (section, fold, part) in enumerate(parts):
                self.progress.update(self.done + PROGRESS_SHARES[task.kind] * (len(parts) + place) // (2 * len(parts)))
                self._add_scores(task.name, section, fold, part)
        self.done += PROGRESS_SHARES[task.kind]
        self.progress.update(self.done)

    def _answer_items(self, task: Task) -> Outcome:
        """Answer each item of a task."""
        if task.kind == "outliers":
            ranks, found, known = rank_outliers(task, self.finder)
            return Outcome(ranks, found, None, known if self.finder.composes else None)
        if not len(task):
            raise OptionError(f"the task {task.name} has 0 items; give it some")
        words = np.array([self.finder.find_places(words) for words in task.items], np.int64)
        found = np.all(words >= 0, axis=1)
        values = np.zeros(len(task))
        if task.kind == "similarity":
            values[found] = self._compare_pairs(words[found])
        else:  # a composed word is never an answer: words[:, 3] is then no row
            values[found] = self._solve_analogies(words[found, :3]) == words[found, 3]
        known = found & np.all(words < self.finder.end, axis=1)
        return Outcome(values, found, task.gold, known if self.finder.composes else None)

    def _compare_pairs(self, pairs: NDArray[np.int64]) -> Floats:
        """Compute the cosine of each pair of places."""
        used, at = np.unique(pairs, return_inverse=True)
        at = at.reshape(-1, 2)
        return compute_cosines(self.finder.take_vectors(used), at[:, 0], at[:, 1])

    def _solve_analogies(self, questions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Answer questions, given as places, with rows of known words."""
        wv, end = self.finder.wv, self.finder.end
        if questions.size and questions.max() >= len(wv):
            # `solve` takes rows, so composed words become rows that follow the candidates
            others = np.unique(questions[questions >= end])
            questions = np.where(questions < end, questions, end + np.searchsorted(others, questions))
            matrix = np.concatenate([wv.vectors[:end], self.finder.take_vectors(others)])
            wv = WordVectors(np.arange(len(matrix)), matrix)
        share = PROGRESS_SHARES["analogy"] / 2 / max(end, 1)
        return solve(
            wv,
            questions,
            self.method,
            limit=end,
            workers=self.workers,
            on_rows=lambda rows: self.progress.update(self.done + int(share * rows)),
        )

    def _add_scores(self, task: str, section: str, fold: Fold, outcome: Outcome) -> None:
        """Add the scores of all conventions for missing words, from the same resamples."""
        only_known = outcome.restrict_to_known()
        counts = len(outcome.values), int(outcome.found.sum()), int(only_known.found.sum())
        seed = derive_seed(self.seed, task, section, fold)
        skip, zero = outcome.resample(self.resamples, seed)
        parts: list[tuple[Missing, Outcome, Array]] = [("skip", outcome, skip), ("zero", outcome, zero)]
        if self.finder.composes:
            parts.append(("known", only_known, only_known.resample(self.resamples, seed)[0]))
        for missing, asked, scores in parts:
            value = asked.score(skip_missing=missing != "zero")
            self._add_score(task, section, fold, missing, value, compute_interval(scores), counts)
            if not section:
                self.report.samples[self.model, task, fold, missing] = scores

    def _add_purity(self, task: Task) -> None:
        """Add the purity of a task's clusters. A word without a vector is in none: it counts against it, or not."""
        value, covered = measure_purity(task, self.finder, self.seed)
        values: dict[Missing, float] = {"skip": value, "zero": value * covered / len(task)}
        known = covered
        if self.finder.composes:
            values["known"], known = measure_purity(task, self.finder, self.seed, only_known=True)
        for missing, score in values.items():
            self._add_score(task.name, "", "all", missing, score, (math.nan, math.nan), (len(task), covered, known))

    def _add_score(
        self,
        task: str,
        section: str,
        fold: Fold,
        missing: Missing,
        score: float,
        bounds: tuple[float, float],
        counts: tuple[int, int, int],
    ) -> None:
        self.report.scores.append(Score(self.model, task, section, fold, missing, score, *bounds, *counts))


def measure_purity(task: Task, finder: WordFinder, seed: int = 0, *, only_known: bool = False) -> tuple[float, int]:
    """Cluster the words of a task by k-means, with as many clusters as categories.

    Purity is the share of words that belong to the most frequent category of their cluster.

    Parameters
    ----------
    task
        A task of kind "categories".
    finder
        Finds the words among the vectors.
    seed
        Fixes where k-means starts.
    only_known
        Leave out words without a row of their own.

    Returns
    -------
    tuple
        The purity × 100, nan with fewer than two categories; and the number of words that were clustered.
    """
    from scipy.cluster.vq import kmeans2

    find = finder.find_rows if only_known else finder.find_places
    places = np.array(find(words[0] for words in task.items), np.int64)
    clustered = places[places >= 0]
    categories, labels = np.unique(np.array(task.sections)[places >= 0], return_inverse=True)
    if len(categories) < 2:
        return float("nan"), len(clustered)
    points = np.array([scale_to_unit(vector) for vector in finder.take_vectors(clustered)], np.float64)
    best, clusters = np.inf, labels
    for start in range(KMEANS_RESTARTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a cluster may stay empty: another start will do better
            centres, found = kmeans2(points, len(categories), minit="++", seed=np.random.default_rng([seed, start]))
        spread = float(((points - centres[found]) ** 2).sum())
        if spread < best:
            best, clusters = spread, found
    table = np.zeros((len(categories), len(categories)), int)
    np.add.at(table, (clusters, labels), 1)
    return 100 * float(table.max(axis=1).sum()) / len(clustered), len(clustered)


def rank_outliers(task: Task, finder: WordFinder) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_]]:
    """Rank the outlier of each item among its words.

    The word with the lowest mean cosine to the others is the one whose removal leaves the rest most compact. This is
    the criterion of Camacho-Collados and Navigli.

    Parameters
    ----------
    task
        A task of kind "outliers".
    finder
        Finds the words among the vectors.

    Returns
    -------
    tuple of three arrays
        The rank of each outlier, from 0 (fits best) to 1 (fits least); whether the item was answered, which needs the
        outlier and two of the words that belong together; and whether all words of the answer have rows of their own.
    """
    ranks, found, known = np.zeros(len(task)), np.zeros(len(task), bool), np.zeros(len(task), bool)
    for i, words in enumerate(task.items):
        *places, outlier = finder.find_places(words)
        used = [place for place in places if place >= 0] + [outlier]
        found[i] = outlier >= 0 and len(used) >= 3
        if found[i]:
            known[i] = max(used) < finder.end
            units: Floats = np.array([scale_to_unit(vector) for vector in finder.take_vectors(used)])
            belonging = (units @ units.T).sum(axis=1)
            ranks[i] = np.mean(belonging[:-1] > belonging[-1])
    return ranks, found, known


def load_vectors(source: Vectors) -> WordVectors:
    """Return the vectors of a model, or load them if a path is given."""
    if isinstance(source, str | os.PathLike):
        return WordVectors.load(source)
    return source if isinstance(source, WordVectors) else source.wv


def _find_neighbours(wv: WordVectors, probes: Sequence[str] | None, topn: int = 6) -> dict[str, list[str]]:
    """Find the nearest words of the probes; without any, of a few well-known or frequent words."""
    if probes is None:
        known = [word for word in PROBE_WORDS if wv.has_index_for(word)]
        probes = known if len(known) > 2 else [wv.index_to_key[i] for i in (50, 100, 200, 500, 1000) if i < len(wv)]
    finder, nearest = WordFinder(wv), {}
    for word in probes:
        (place,) = finder.find_places([word])
        query = place if place < len(wv) else finder.take_vectors([place])[0]
        nearest[word] = [near for near, _ in wv.most_similar(query, topn=topn)] if place >= 0 else []
    return nearest
