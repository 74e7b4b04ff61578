"""One call of `sweep` with checked arguments: train what is missing, choose, test, save the result."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mumon.corpus import EncodedCorpus
from mumon.errors import CorpusError, TrainingError
from mumon.experiments.sweep.model_store import ModelStore
from mumon.experiments.sweep.plan import Plan
from mumon.experiments.sweep.reporting import OverallProgress, format_options, format_run
from mumon.experiments.sweep.result import SweepResult, Tested, TestScore, build_train_command, read_earlier_tests
from mumon.experiments.sweep.runs import Run, RunLog, make_run_key
from mumon.experiments.sweep.scoring import (
    HALVES,
    check_coverage,
    compare_models,
    evaluate_chosen,
    score_run,
    select_half,
)
from mumon.experiments.sweep.selection import (
    Configuration,
    describe_coverage,
    describe_edges,
    find_best,
    find_best_per_value,
    group_runs,
    list_wanted_runs,
)
from mumon.experiments.sweep.space import Options, find_swept_options, format_value
from mumon.fasttext import make_model
from mumon.utils.progress import Progress

if TYPE_CHECKING:
    from mumon.evaluation.tasks import Task


class Runner:
    """Trains and scores the runs of a plan.

    Parameters
    ----------
    plan, folder
        The plan, and the folder of the sweep.
    corpus, tasks
        What to train on, and the questions to choose and test by.
    fixed
        Options that all runs share.
    compare
        A swept option: the best model of each of its values is tested.
    progress
        Where progress is reported.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        corpus: EncodedCorpus,
        tasks: Sequence[Task],
        fixed: Options,
        compare: str | None,
        progress: Progress,
    ) -> None:
        self.plan, self.folder, self.corpus, self.tasks = plan, folder, corpus, tasks
        self.fixed, self.compare, self.progress = fixed, compare, progress
        self.configurations = plan.list_configurations()
        # Creating the models checks their options.
        models = [make_model(seed=plan.seeds[0], **fixed, **options) for options in self.configurations]
        self.epochs = [model.epochs for model in models]
        check_coverage(tasks, corpus, min(model.min_count for model in models))
        self.dev_tasks = [select_half(task, "dev") for task in tasks]
        self.models = ModelStore(folder, fixed)

    def train_all(self) -> None:
        """Train every run that is not in the folder yet."""
        self.log = RunLog(self.folder)
        self._arrange()  # after an interruption, models may be in the wrong place
        todo = [
            (options, seed, epochs * self.corpus.tokens)
            for options, epochs in zip(self.configurations, self.epochs, strict=True)
            for seed in self.plan.seeds
        ]
        self.overall = OverallProgress(self.progress, sum(share for *_, share in todo))
        done = sum(make_run_key(options, seed) in self.log.runs for options, seed, _ in todo)
        if done:
            self.progress.note(f"{done} of {len(todo)} runs are done already, in {self.folder}")
        for number, (options, seed, share) in enumerate(todo, 1):
            self.overall.begin(f"run {number} of {len(todo)}", share)
            if make_run_key(options, seed) in self.log.runs:
                self.overall.end()
                continue
            run = self._train_run(options, seed)
            best = self._find_best()
            new_best = best is not None and best.options == options
            place = f"{number:>{len(str(len(todo)))}}/{len(todo)}"
            line = format_run(run, place, find_swept_options(self.plan.space), len(self.plan.seeds), new_best)
            self.overall.end(line, failed=run.failed is not None)

    def conclude(self, names: Sequence[str]) -> SweepResult:
        """Test the chosen models and save the result.

        Parameters
        ----------
        names
            Files of the corpus, for the command that trains the best model again.

        Returns
        -------
        SweepResult
            Everything that was found.

        Raises
        ------
        TrainingError
            If no configuration has a score.
        """
        found = self._group_runs()
        best = find_best(found)
        if best is None:
            reason = next(item.failed for item in found if item.failed)
            raise TrainingError(f"all {len(found)} configurations failed, the first because {reason}")
        tested, comparisons = self._test_chosen(best)
        run = best.best_run
        assert run is not None
        coverage = describe_coverage(found)
        result = SweepResult(
            folder=self.folder,
            plan=self.plan,
            configurations=sorted(found, key=lambda item: -item.mean if item.complete else math.inf),
            best=best,
            tested=tested,
            comparisons=comparisons,
            notes=[*describe_edges(best, self.plan.space), *([coverage] if coverage else [])],
            command=build_train_command(names, {**self.fixed, **best.options}, run.seed),
            compare=self.compare,
        )
        result.save()
        return replace(result, plots=_draw_plots(result, self.progress))

    def _train_run(self, options: Options, seed: int) -> Run:
        """Train and score one run. If its model may be needed, it is saved before the line of the run is written."""
        started = time.perf_counter()
        try:
            model = make_model(self.corpus, seed=seed, progress=self.overall, **self.fixed, **options)
        except (TrainingError, CorpusError) as error:  # it diverged, or its vocabulary is empty; the others continue
            run = Run(options, seed, seconds=time.perf_counter() - started, failed=str(error))
        else:
            run = score_run(model, options, seed, self.dev_tasks)
            wanted = self._list_wanted({**self.log.runs, run.key: run})
            if run.failed is None and any(other.key == run.key for other in wanted):
                self.models.save(run, model)
        self.log.add(run)
        self._arrange()
        return run

    def _test_chosen(self, best: Configuration) -> tuple[list[Tested], list[dict[str, Any]]]:
        """Return the test scores of the best model, or of the best of each compared value; from disk if possible."""
        chosen = {"best": best}
        if self.compare is not None:
            name = self.compare
            per_value = find_best_per_value(self._group_runs(), name, self.plan.space)
            chosen = {format_value(name, value): item for value, item in per_value.items()}
            chosen = dict(sorted(chosen.items(), key=lambda item: item[1].options != best.options))  # the best first
        runs = {name: run for name, item in chosen.items() if (run := item.best_run) is not None}
        lost = [run for run in runs.values() if self.models.find(run) is None]
        for run in lost:
            self._train_again(run)
        tested, comparisons = read_earlier_tests(self.folder)
        if lost or [(model.name, model.run) for model in tested] != [(name, run.key) for name, run in runs.items()]:
            tested, comparisons = self._test_models(runs)
        return tested, comparisons

    def _train_again(self, run: Run) -> None:
        options = format_options(run.options, find_swept_options(self.plan.space))
        self.progress.note(f"the model of {options} is no longer in {self.folder}; training it again")
        model = make_model(self.corpus, seed=run.seed, progress=self.progress, **self.fixed, **run.options)
        self.models.save(run, model)
        self._arrange()

    def _test_models(self, runs: Mapping[str, Run]) -> tuple[list[Tested], list[dict[str, Any]]]:
        from mumon.vectors.word_vectors import WordVectors

        paths = {name: path for name, run in runs.items() if (path := self.models.find(run)) is not None}
        vectors = {name: WordVectors.load(path) for name, path in paths.items()}
        report = evaluate_chosen(vectors, self.tasks, self.fixed.get("workers"), self.progress)
        tested = [
            Tested(
                name=name,
                run=runs[name].key,
                options=runs[name].options,
                seed=runs[name].seed,
                model=path.relative_to(self.folder).as_posix(),
                scores={
                    task: {fold: TestScore.of(report.score(name, task, fold=fold)) for fold in HALVES}
                    for task in [*report.task_names, "mean"]
                },
            )
            for name, path in paths.items()
        ]
        return tested, compare_models(report)

    def _group_runs(self) -> list[Configuration]:
        return group_runs(self.configurations, self.plan.seeds, self.log.runs)

    def _find_best(self) -> Configuration | None:
        return find_best(self._group_runs())

    def _list_wanted(self, runs: Mapping[str, Run]) -> list[Run]:
        return list_wanted_runs(group_runs(self.configurations, self.plan.seeds, runs), self.compare, self.plan.space)

    def _arrange(self) -> None:
        best = self._find_best()
        self.models.arrange(self._list_wanted(self.log.runs), None if best is None else best.best_run)


def _draw_plots(result: SweepResult, progress: Progress) -> list[Path]:
    """Draw the plots, or show how to install what they need."""
    from mumon.experiments.sweep.plots import draw_sweep

    try:
        return draw_sweep(result)
    except ImportError:
        progress.note("pip install 'mumon[plot]' draws the curve")
        return []
