"""`evaluate_extrinsic`: train the paper's classifiers and tagger over word vectors and test them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

from mumon import datasets
from mumon.errors import OptionError
from mumon.evaluation.bootstrap import compute_interval
from mumon.evaluation.evaluate import Vectors, load_vectors
from mumon.experiments.extrinsic.conll import read_conll
from mumon.experiments.extrinsic.examples import Examples, find_test_names
from mumon.experiments.extrinsic.glue import read_glue
from mumon.experiments.extrinsic.inputs import WrittenVectors, open_inputs_folder, write_examples, write_vectors
from mumon.experiments.extrinsic.plan import DATA, METRICS, Budget, build_trials, choose_budget, choose_tasks
from mumon.experiments.extrinsic.report import ExtrinsicReport, ExtrinsicScore, compute_f1, resample_scores
from mumon.experiments.extrinsic.search import Search, Searcher, SearchResult
from mumon.experiments.extrinsic.trial_store import TrialStore
from mumon.utils.paths import cache_directory
from mumon.utils.progress import Progress, choose_progress
from mumon.utils.threads import available_cores
from mumon.utils.validation import check_integer
from mumon.vectors.word_vectors import WordVectors

Models = Vectors | Mapping[str, Vectors | Sequence[Vectors]]
BASELINES = ("random", "glove")


def evaluate_extrinsic(
    models: Models,
    tasks: str | Sequence[str] = ("sst2", "qnli", "mnli", "ner"),
    *,
    baselines: Sequence[str] = (),
    budget: str | Budget = "small",
    seeds: Sequence[int] = (0,),
    folder: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    resamples: int = 1000,
    progress: bool | Progress | None = None,
) -> ExtrinsicReport:
    """Train the paper's networks over word vectors and test those that are best on dev.

    Vectors are frozen; for NER, a second network trains them as well. Each network is trained on one core, so results
    depend on the seed but not on `workers`. Finished trials are kept and never trained again: the same call resumes
    after an interruption.

    Parameters
    ----------
    models
        Vectors, a model or a path; or several of them by name. Instead of one, a name may have a list with one for each
        seed.
    tasks
        Any of sst2, qnli, mnli and ner.
    baselines
        "random" has the words of the first model and normally distributed vectors; "glove" is GloVe.
    budget
        "small", "full" (the paper's, which takes days on a CPU), or a `Budget`.
    seeds
        One search per seed; scores are averaged over them.
    folder
        Where finished trials are kept; by default in the user's cache.
    workers
        Networks that are trained at the same time, each in its own process; by default one per core.
    resamples
        Resamples of the test items for the intervals.
    progress
        Whether to show a progress bar, or the progress to report to; without it, one is shown in a terminal.

    Returns
    -------
    ExtrinsicReport
        Test scores with intervals, and comparisons.

    Raises
    ------
    OptionError
        If torch or seqeval is not installed, or if an argument cannot be used.

    Examples
    --------
    >>> report = evaluate_extrinsic("king.mumon", ["sst2"], seeds=(1, 2))  # doctest: +SKIP
    >>> report.score("model", "sst2").score  # doctest: +SKIP
    """
    names, chosen = check_request([tasks] if isinstance(tasks, str) else tasks, baselines), choose_budget(budget)
    numbers = [check_integer("a seed", seed, least=0) for seed in seeds]
    processes = available_cores() if workers is None else check_integer("workers", workers, least=1)
    if not numbers or len(set(numbers)) < len(numbers):
        raise OptionError(f"{len(numbers)} seeds were given; name at least one, and each once")
    home = Path(folder) if folder is not None else cache_directory() / "extrinsic"
    home.mkdir(parents=True, exist_ok=True)
    with choose_progress(progress) as reporter:
        named = _load_embeddings(models, baselines, numbers, reporter)
        examples = {data: load_examples(data, reporter) for data in dict.fromkeys(DATA[task] for task in names)}
        for note in filter(None, (each.note for each in examples.values())):
            reporter.note(note)
        with open_inputs_folder(home) as inputs:
            plan = _plan_searches(named, names, examples, numbers, chosen, inputs)
            results = Searcher(plan.searches, inputs, TrialStore(home), reporter).run(processes)
    settings = {"budget": asdict(chosen), "seeds": numbers, "resamples": resamples, "torch": metadata.version("torch")}
    report = ExtrinsicReport(list(named), [], settings)
    for task in names:
        _add_scores(report, task, examples[DATA[task]], results, plan)
    return report


def check_request(tasks: Sequence[str], baselines: Sequence[str]) -> list[str]:
    """Check what is asked for before anything is read, and list the tasks behind the names.

    Parameters
    ----------
    tasks
        Names of tasks.
    baselines
        Names of baselines.

    Returns
    -------
    list of str
        The tasks to train; `ner` is two.

    Raises
    ------
    OptionError
        If a library is missing or a name is unknown.
    """
    missing = [name for name in ("torch", "seqeval") if importlib.util.find_spec(name) is None]
    if missing:
        raise OptionError(
            f"the extrinsic tasks need {' and '.join(missing)}, which is not installed; pip install 'mumon[extrinsic]'"
        )
    unknown = [name for name in baselines if name not in BASELINES]
    if unknown:
        raise OptionError(f"no baseline is called {unknown[0]!r}; the {len(BASELINES)} are {', '.join(BASELINES)}")
    return choose_tasks(tasks)


def load_examples(data: str, progress: Progress | None = None) -> Examples:
    """Load the data sst2, qnli, mnli or ner, from the mirror that MUMON_DATA names or from the cache."""
    if data == "ner":
        return read_conll(datasets.fetch_folder("conll2003", progress))
    return read_glue(data, datasets.fetch_folder(data, progress))


@dataclass(frozen=True)
class Embedding:
    """The vectors of one model and seed; if `random`, only their words are used and the numbers are drawn."""

    wv: WordVectors
    random: bool = False


def _load_embeddings(
    models: Models, baselines: Sequence[str], seeds: Sequence[int], progress: Progress
) -> dict[str, list[Embedding]]:
    """Load the vectors for each seed by name: the models, then the baselines."""
    by_name = models if isinstance(models, Mapping) else {"model": models}
    named: dict[str, list[Embedding]] = {}
    for name, vectors in by_name.items():
        if isinstance(vectors, Sequence) and not isinstance(vectors, str):
            named[name] = [Embedding(load_vectors(one)) for one in vectors]
        else:
            named[name] = [Embedding(load_vectors(vectors))] * len(seeds)
        if len(named[name]) != len(seeds):
            raise OptionError(f"{name} has vectors for {len(named[name])} seeds, but there are {len(seeds)} seeds")
    if not named:
        raise OptionError("0 models were given; name at least one")
    first = next(iter(named.values()))
    for name in dict.fromkeys(baselines):
        if name in named:
            raise OptionError(f"{name!r} is the name of a model and of a baseline; rename the model")
        if name == "random":
            named[name] = [Embedding(each.wv, random=True) for each in first]
        else:
            named[name] = [Embedding(WordVectors.load(datasets.fetch("glove100", progress)))] * len(seeds)
    return named


@dataclass(frozen=True)
class SearchPlan:
    """All searches; by model and data, the vectors written for each seed; by data, the number of running words."""

    searches: list[Search]
    written: dict[tuple[str, str], list[WrittenVectors]]
    words: dict[str, int]


def _plan_searches(
    named: Mapping[str, Sequence[Embedding]],
    tasks: Sequence[str],
    examples: Mapping[str, Examples],
    seeds: Sequence[int],
    budget: Budget,
    folder: Path,
) -> SearchPlan:
    """Write data and vectors as inputs, and list the searches over them."""
    torch = metadata.version("torch")
    plan = SearchPlan([], {}, {})
    digests = {}
    for data, each in examples.items():
        words = each.words()
        digests[data], plan.words[data] = write_examples(each, words, folder), words.total()
        for model, embeddings in named.items():
            plan.written[model, data] = [
                write_vectors(one.wv, words, folder, whole=each.kind == "tags", random=seed if one.random else None)
                for seed, one in zip(seeds, embeddings, strict=True)
            ]
            _check_vectors(model, data, plan)
    for task in tasks:
        for place, seed in enumerate(seeds):
            for model in named:
                vectors = plan.written[model, DATA[task]][place].digest
                points = build_trials(task, digests[DATA[task]], vectors, seed, budget, torch)
                plan.searches.append(Search(model, task, seed, tuple(points)))
    return plan


def _check_vectors(model: str, data: str, plan: SearchPlan) -> None:
    """Refuse vectors that nothing can be learnt from, before minutes are spent on training."""
    for written in plan.written[model, data]:
        if not written.found:
            raise OptionError(f"{model} has 0 of the {plan.words[data]:,} words of {data}; is it in another language?")
        if not written.finite:
            raise OptionError(
                f"{model} has vectors that are not finite among the {written.found:,} words of {data}; train it again"
            )


def _add_scores(
    report: ExtrinsicReport, task: str, examples: Examples, results: Sequence[SearchResult], plan: SearchPlan
) -> None:
    """Add the scores of every model on the tests of one task."""
    tests = find_test_names(examples.splits)
    for test, name in zip(tests, [task] if len(tests) == 1 else tests, strict=True):
        report.task_names.append(name)
        for model in report.models:
            runs = [each for each in results if (each.search.model, each.search.task) == (model, task)]
            outcomes = [np.array(each.tests[test]) for each in runs]
            scores = [compute_f1(each) for each in outcomes]
            report.samples[model, name] = sample = resample_scores(outcomes, name, report.settings["resamples"])
            report.scores.append(
                ExtrinsicScore(
                    model,
                    name,
                    METRICS[task],
                    float(np.mean(scores)),
                    *compute_interval(np.clip(sample, 0, 100)),
                    seeds=scores,
                    dev=[each.result["dev"] for each in runs],
                    chosen=[{**asdict(each.trial.draw), "epochs": each.result["epoch"]} for each in runs],
                    n=len(outcomes[0]),
                    words=plan.words[DATA[task]],
                    found=min(written.found for written in plan.written[model, DATA[task]]),
                )
            )
