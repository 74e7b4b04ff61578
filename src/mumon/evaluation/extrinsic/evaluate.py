"""Do vectors help real tasks? The paper's classifiers and tagger, trained on each embedding in turn."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from mumon.errors import OptionError
from mumon.evaluation.bootstrap import interval
from mumon.evaluation.extrinsic.examples import Examples, load_examples
from mumon.evaluation.extrinsic.inputs import inputs_folder, write_examples, write_vectors
from mumon.evaluation.extrinsic.plan import METRICS, Budget, chosen_budget, chosen_tasks, trials
from mumon.evaluation.extrinsic.report import ExtrinsicReport, ExtrinsicScore, resampled, seed_scores
from mumon.evaluation.extrinsic.search import Found, Search, Searcher
from mumon.evaluation.extrinsic.shelf import Shelf
from mumon.paths import cache_directory
from mumon.progress import Progress, chosen_progress
from mumon.threads import available_cores
from mumon.vectors import WordVectors

Models = WordVectors | Mapping[str, WordVectors | Sequence[WordVectors]]


def evaluate_extrinsic(
    models: Models,
    tasks: Sequence[str] = ("sst2", "qnli", "mnli", "ner"),
    *,
    budget: str | Budget = "small",
    seeds: Sequence[int] = (0,),
    folder: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    resamples: int = 1000,
    progress: bool | Progress | None = None,
) -> ExtrinsicReport:
    """Train the paper's networks over frozen vectors (NER: also over trained ones), and test those best on dev.

    `models` are vectors by name, or for each name a list with vectors for each of `seeds`. Every network is trained on
    one core, so results depend on the seed and not on the number of `workers`. Whatever is finished is kept in `folder`
    (by default in the user's cache) and never done twice: the same call goes on after an interruption.

    >>> report = evaluate_extrinsic(WordVectors.load("king.mumon"), ["sst2"], seeds=(1, 2))  # doctest: +SKIP
    >>> report.score("model", "sst2").score  # doctest: +SKIP
    """
    check_installed()
    reporter, chosen = chosen_progress(progress), chosen_budget(budget)
    if not seeds or len(set(seeds)) < len(seeds):
        raise OptionError(f"{len(seeds)} seeds were given; name at least one, and each once")
    named = _by_seed(models, seeds)
    home = Path(folder) if folder is not None else cache_directory() / "extrinsic"
    home.mkdir(parents=True, exist_ok=True)
    asked = chosen_tasks(tasks)
    examples = {name: load_examples(name, reporter) for name in dict.fromkeys(task.split("-")[0] for task in asked)}
    for each in examples.values():
        if each.note:
            reporter.note(each.note)
    with inputs_folder(home) as inputs:
        searches, found = _searches(named, asked, examples, seeds, chosen, inputs)
        results = Searcher(searches, inputs, Shelf(home), reporter).run(workers or available_cores())
    settings: dict[str, Any] = {
        "budget": asdict(chosen),
        "seeds": list(seeds),
        "resamples": resamples,
        "torch": metadata.version("torch"),
    }
    return _report(list(named), asked, examples, results, found, settings)


def check_installed() -> None:
    """Refuse, in one sentence, where the extra is missing."""
    missing = [name for name in ("torch", "seqeval") if importlib.util.find_spec(name) is None]
    if missing:
        raise OptionError(
            f"the extrinsic tasks need {' and '.join(missing)}, which is not installed; pip install 'mumon[extrinsic]'"
        )


def random_vectors(words: Sequence[str], dim: int, seed: int) -> WordVectors:
    """The baseline that knows nothing: a vector from the standard normal distribution for each word.

    >>> random_vectors(["king", "queen"], 3, seed=1).vectors.shape
    (2, 3)
    """
    matrix = np.random.default_rng([seed, dim]).standard_normal((len(words), dim), np.float32)
    return WordVectors(list(words), matrix)


def _by_seed(models: Models, seeds: Sequence[int]) -> dict[str, list[WordVectors]]:
    """A name → vectors for each seed."""
    given = {"model": models} if isinstance(models, WordVectors) else models
    if not given:
        raise OptionError("0 models were given; name at least one")
    named = {}
    for name, vectors in given.items():
        named[name] = [vectors] * len(seeds) if isinstance(vectors, WordVectors) else list(vectors)
        if len(named[name]) != len(seeds):
            raise OptionError(f"{name} has vectors for {len(named[name])} seeds, and {len(seeds)} were asked for")
    return named


def _searches(
    named: Mapping[str, Sequence[WordVectors]],
    tasks: Sequence[str],
    examples: Mapping[str, Examples],
    seeds: Sequence[int],
    budget: Budget,
    folder: Path,
) -> tuple[list[Search], dict[tuple[str, str], tuple[int, int]]]:
    """Every search, with its inputs written; and, by model and data, how many words there are and were found."""
    torch = metadata.version("torch")
    written: dict[tuple[str, str, int], str] = {}
    found: dict[tuple[str, str], tuple[int, int]] = {}
    digests = {}
    for name, each in examples.items():
        words = each.words()
        digests[name] = write_examples(each, words, folder)
        for model, vectors in named.items():
            for seed, wv in zip(seeds, vectors, strict=True):
                written[model, name, seed], known = write_vectors(wv, words, folder)
                found[model, name] = len(words), known
    searches = []
    for task in tasks:
        data = task.split("-")[0]
        for seed in seeds:
            for model in named:
                points = trials(task, digests[data], written[model, data, seed], seed, budget, torch)
                searches.append(Search(model, task, seed, tuple(points)))
    return searches, found


def _report(
    models: list[str],
    tasks: Sequence[str],
    examples: Mapping[str, Examples],
    results: Sequence[Found],
    found: Mapping[tuple[str, str], tuple[int, int]],
    settings: dict[str, Any],
) -> ExtrinsicReport:
    names = {task: [task] if task == "ner-tuned" else examples[task].tests for task in tasks}
    report = ExtrinsicReport(models, [name for task in tasks for name in names[task]], settings)
    for task in tasks:
        data = task.split("-")[0]
        for name in names[task]:
            for model in models:
                runs = [each for each in results if (each.search.model, each.search.task) == (model, task)]
                outcomes = [np.array(each.tests[data if task == "ner-tuned" else name]) for each in runs]
                report.samples[model, name] = sample = resampled(outcomes, name, settings["resamples"])
                scores = seed_scores(outcomes)
                report.scores.append(
                    ExtrinsicScore(
                        model,
                        name,
                        METRICS[task],
                        float(np.mean(scores)),
                        *interval(sample),
                        seeds=scores,
                        dev=[each.result["dev"] for each in runs],
                        chosen=[{**asdict(each.trial.draw), "epochs": each.result["epoch"]} for each in runs],
                        n=len(outcomes[0]),
                        words=found[model, data][0],
                        found=found[model, data][1],
                    )
                )
    return report
