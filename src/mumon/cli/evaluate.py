"""`mumon eval`: score vectors on word similarity, analogies and other tasks."""

from __future__ import annotations

import csv
import json as json_
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mumon.cli import eval_tables, extrinsic, options

if TYPE_CHECKING:
    from mumon.evaluation import Report
    from mumon.vectors.word_vectors import WordVectors


# Options that only one kind of evaluation has.
INTRINSIC = ("tasks", "categories", "outliers", "missing", "method", "restrict_vocab", "sections", "words")
EXTRINSIC = ("budget", "draws", "width", "epochs", "train_sentences", "seeds", "baselines", "folder")


class MissingWords(str, Enum):
    """How items with words that the model does not have are counted."""

    skip = "skip"
    zero = "zero"
    known = "known"


class Analogies(str, Enum):
    """How analogies are answered."""

    add = "add"
    mul = "mul"


def evaluate(
    context: typer.Context,
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            help="Model folders or vectors files, side by side. Names and files of tasks may follow.",
            show_default=False,
        ),
    ],
    tasks: Annotated[
        str | None,
        typer.Option(
            "--tasks",
            help="Names, or files of `word word score` or of four words, separated by commas (default: "
            "ws353,men,rw,syn,mixed, unless other tasks are given).",
            show_default=False,
        ),
    ] = None,
    categories: Annotated[
        list[str] | None,
        typer.Option("--categories", help="A file of `word category`: purity of clusters.", show_default=False),
    ] = None,
    outliers: Annotated[
        list[str] | None,
        typer.Option(
            "--outliers",
            help="A file of topics (words one per line, an empty line, outliers), or a folder of such files.",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        MissingWords,
        typer.Option(
            "--missing",
            help="Items with missing words: skip them, or count them as wrong (similarity 0). With subwords hardly a "
            "word is missing; known skips items with words that have no row of their own.",
        ),
    ] = MissingWords.skip,
    method: Annotated[Analogies, typer.Option("--method", help="Analogies by 3CosAdd or 3CosMul.")] = Analogies.add,
    restrict_vocab: Annotated[
        int, typer.Option("--restrict-vocab", min=0, help="Use only this many frequent words; 0 for all.")
    ] = 300_000,
    sections: Annotated[bool, typer.Option("--sections", help="Also show each section of the analogies.")] = False,
    words: Annotated[
        str | None,
        typer.Option("--words", help="Show the neighbours of these words, separated by commas.", show_default=False),
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", min=0, help="Resamples behind each interval.")] = 1000,
    seed: Annotated[
        int, typer.Option("--seed", min=0, help="Seed of the dev and test halves; the first of --seeds.")
    ] = 0,
    extrinsic_tasks: extrinsic.Extrinsic = None,
    budget: extrinsic.BudgetOption = extrinsic.BudgetName.small,
    draws: extrinsic.Draws = None,
    width: extrinsic.Width = None,
    epochs: extrinsic.Epochs = None,
    train_sentences: extrinsic.TrainSentences = None,
    seeds: extrinsic.Seeds = 1,
    baselines: extrinsic.Baselines = None,
    folder: extrinsic.Folder = None,
    workers: options.Workers = None,
    json: options.Json = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print every score as comma-separated values.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Score each MODEL on word similarity and analogies: the paper's five tasks, your own, or extrinsic tasks.

    Example: mumon eval king.mumon glove.txt

    Example: mumon eval king.mumon pairs.csv de-gur350

    Example: mumon eval king.mumon --extrinsic sst2,ner --baselines random,glove
    """
    _check_kind(context, extrinsic_tasks is not None)
    progress = options.reporter(quiet)
    if extrinsic_tasks is not None:
        extrinsic.run(
            lambda: _load(models),
            extrinsic_tasks,
            budget=extrinsic.choose_budget(budget, draws, width, epochs, train_sentences),
            baselines=baselines,
            seeds=range(seed, seed + seeds),
            folder=folder,
            resamples=resamples,
            workers=workers,
            progress=progress,
            json=json,
            csv=csv,
        )
        return
    from mumon.evaluation import evaluate as run
    from mumon.evaluation import load_tasks, read_task

    models, named = _split_tasks(models)
    named += options.split_names(tasks or "")
    chosen = [read_task(path, kind="categories") for path in categories or []]
    chosen += [read_task(path, kind="outliers") for path in outliers or []]
    if tasks is not None or named:
        chosen = [*load_tasks(named, progress=progress), *chosen]
    elif not chosen:
        chosen = load_tasks(progress=progress)
    probes = None if words is None else options.split_names(words)
    report = run(
        _load(models),
        chosen,
        method=method.value,
        seed=seed,
        resamples=resamples,
        restrict_vocab=restrict_vocab,
        probes=probes,
        workers=workers,
        progress=progress,
    )
    if json:
        settings = {"method": method.value, "seed": seed, "restrict_vocab": restrict_vocab, "resamples": resamples}
        print(json_.dumps({"settings": settings, **report.to_json(missing.value)}, ensure_ascii=False))
    elif csv:
        _write_csv(report)
    else:
        eval_tables.show(report, chosen, missing.value, sections)


def _check_kind(context: typer.Context, is_extrinsic: bool) -> None:
    """Refuse options that the chosen kind of evaluation would ignore."""
    from mumon.errors import OptionError

    for name in INTRINSIC if is_extrinsic else EXTRINSIC:
        source, flag = context.get_parameter_source(name), f"--{name.replace('_', '-')}"
        if source is None or source.name != "COMMANDLINE":
            continue
        if is_extrinsic:
            raise OptionError(f"{flag} and --extrinsic do not go together; run two commands")
        raise OptionError(f"{flag} is for extrinsic tasks; name at least 1 of them (--extrinsic sst2,qnli,mnli,ner)")


def _split_tasks(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return which arguments are models, and which are tasks."""
    from mumon.errors import OptionError
    from mumon.evaluation import is_task

    tasks = [argument for argument in arguments if is_task(argument)]
    models = [argument for argument in arguments if argument not in tasks]
    if not models:
        raise OptionError(f"{len(tasks)} tasks and 0 models were given; name at least 1 model before the tasks")
    return models, tasks


def _load(paths: Sequence[str]) -> dict[str, WordVectors]:
    """Return the vectors by a short name: that of the file, or the whole path if two files have the same."""
    from mumon.errors import OptionError
    from mumon.vectors.word_vectors import WordVectors

    resolved = [Path(path) for path in paths]
    if len(set(resolved)) < len(resolved):
        raise OptionError(f"{len(paths)} models were given and some twice; name each once")
    names = [path.name or str(path) for path in resolved]
    if len(set(names)) < len(names):
        names = list(map(str, resolved))
    return {name: WordVectors.load(path) for name, path in zip(names, resolved, strict=True)}


def _write_csv(report: Report) -> None:
    """Print every score on a line of its own."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    rows = [score.to_json() for score in report.rows()]
    writer.writerow(rows[0])
    writer.writerows(["" if value is None else value for value in row.values()] for row in rows)
