"""`mumon eval --extrinsic`: how much vectors help in real tasks."""

from __future__ import annotations

import csv as csv_
import json as json_
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mumon.cli import options
from mumon.cli.tables import (
    escape,
    format_difference,
    format_interval,
    format_number,
    new_table,
    print_table,
    print_text,
)

if TYPE_CHECKING:
    from rich.table import Table

    from mumon.experiments.extrinsic import Budget, ExtrinsicReport
    from mumon.utils.progress import Progress
    from mumon.vectors.word_vectors import WordVectors

PANEL = "Extrinsic tasks"
COLUMN_TITLES = {
    "sst2": "SST-2",
    "qnli": "QNLI",
    "mnli-m": "MNLI-m",
    "mnli-mm": "MNLI-mm",
    "ner": "NER, frozen",
    "ner-tuned": "NER, fine-tuned",
}
DATA_SETS = {"sst2": "SST-2", "qnli": "QNLI", "mnli-m": "MNLI", "ner": "NER"}  # one score for each set of texts


class BudgetName(str, Enum):
    """How much training there is: enough for two cores, or as in the paper."""

    small = "small"
    full = "full"


def _option(*flags: str, help: str, **more: Any) -> Any:
    return typer.Option(*flags, help=help, rich_help_panel=PANEL, **more)


Extrinsic = Annotated[
    str | None,
    _option("--extrinsic", metavar="TASKS", help="Train the paper's networks on these: sst2,qnli,mnli,ner."),
]
BudgetOption = Annotated[
    BudgetName, _option("--budget", help="small: minutes per model on two cores; full: as in the paper.")
]
Draws = Annotated[int | None, _option("--draws", min=1, help="Points of the random search, the same for every model.")]
Width = Annotated[int | None, _option("--width", min=1, help="LSTM units per direction, of classifiers and tagger.")]
Epochs = Annotated[int | None, _option("--epochs", min=1, help="Most epochs of each network.")]
TrainSentences = Annotated[int | None, _option("--train-sentences", min=1, help="Train on this many sentences.")]
Seeds = Annotated[int, _option("--seeds", min=1, help="Train each network with this many seeds.")]
Baselines = Annotated[
    str | None, _option("--baselines", metavar="NAMES", help="Also evaluate random vectors or GloVe: random,glove.")
]
Folder = Annotated[
    str | None, _option("--folder", help="Keep trained networks here (default: the cache); the same command resumes.")
]


def choose_budget(
    name: BudgetName, draws: int | None, width: int | None, epochs: int | None, train_sentences: int | None
) -> Budget:
    """Return the budget that the options describe; those that are None keep the values of the named one."""
    from mumon.experiments.extrinsic import plan

    widths = {"encoder_width": width, "tagger_width": width}
    return plan.choose_budget(name.value, draws=draws, **widths, epochs=epochs, train_sentences=train_sentences)


def run(
    models: Callable[[], dict[str, WordVectors]],
    tasks: str,
    *,
    budget: Budget,
    baselines: str | None,
    seeds: Sequence[int],
    folder: str | None,
    resamples: int,
    workers: int | None,
    progress: Progress,
    json: bool,
    csv: bool,
) -> None:
    """Evaluate models on extrinsic tasks and print the scores.

    Parameters
    ----------
    models
        Loads the vectors by name; called once the other options are known to be right.
    tasks, baselines
        Comma-separated names.
    budget
        How much training there is.
    seeds
        Every network is trained once with each.
    folder
        Where trained networks are kept; the cache by default.
    resamples
        Resamples behind each interval.
    workers
        Threads.
    progress
        The reporter.
    json, csv
        Print this format instead of tables.
    """
    from mumon.experiments.extrinsic.evaluate import check_request, evaluate_extrinsic
    from mumon.utils.signals import reword_interrupt

    names, others = options.split_names(tasks), options.split_names((baselines or "").lower())
    check_request(names, others)  # before the models are read
    try:
        report = evaluate_extrinsic(
            models(),
            names,
            baselines=others,
            budget=budget,
            seeds=seeds,
            folder=folder,
            workers=workers,
            resamples=resamples,
            progress=progress,
        )
    except KeyboardInterrupt as error:
        raise reword_interrupt(error, "stopped; what is trained is kept, and the same command resumes") from None
    if json:
        print(json_.dumps(report.to_json(), ensure_ascii=False))
    elif csv:
        _write_csv(report)
    else:
        _show(report)


def _write_csv(report: ExtrinsicReport) -> None:
    """Print every score on a line of its own; the scores of several seeds are separated by blanks."""
    writer = csv_.writer(sys.stdout, lineterminator="\n")
    names = ("model", "task", "metric", "score", "low", "high", "seeds", "dev", "n", "words", "found")
    writer.writerow(names)
    for score in report.scores:
        values = [getattr(score, name) for name in names]
        writer.writerow([_format_cell(value) for value in values])


def _format_cell(value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value != value else value


def _show(report: ExtrinsicReport) -> None:
    """Print the paper's Tables 2 and 3, the differences from the first model, and what was counted."""
    print_table(_build_scores(report))
    if len(report.models) > 1:
        print_table(_build_differences(report))
    accuracies = [name for name in report.task_names if report.score(report.models[0], name).metric == "accuracy"]
    units = ["accuracy"] * bool(accuracies) + ["entity F1 (NER)"] * (len(accuracies) < len(report.task_names))
    seeds = report.settings["seeds"]
    over = "items and seeds" if len(seeds) > 1 else "items"
    print_text(
        f"[dim]{', '.join(units)} × 100; 95 % intervals over {over}, {len(seeds)} seed{'s'[: len(seeds) > 1]}.[/]"
    )
    for model in report.models:
        rows = [score for score in report.scores if score.model == model and score.task in DATA_SETS]
        found = ", ".join(f"{DATA_SETS[row.task]} {100 * row.found / row.words:.0f} %" for row in rows)
        print_text(f"[dim]Running words, marks included, that {escape(model)} has: {found}.[/]")


def _build_scores(report: ExtrinsicReport) -> Table:
    table = new_table("test", "model", *(COLUMN_TITLES[name] for name in report.task_names))
    for model in report.models:
        cells = []
        for name in report.task_names:
            score = report.score(model, name)
            cells.append(f"[bold]{format_number(score.score)}[/] [dim]{format_interval(score.low, score.high)}[/]")
        table.add_row(escape(model), *cells)
    return table


def _build_differences(report: ExtrinsicReport) -> Table:
    first = report.models[0]
    title = f"is it better than {escape(first)}? (* the interval leaves out zero)"
    table = new_table(title, "model", *(COLUMN_TITLES[name] for name in report.task_names))
    for model in report.models[1:]:
        cells = []
        for row in report.compare(first, model):
            mark = "*" if row.low > 0 or row.high < 0 else " "
            cells.append(f"[bold]{row.difference:+.1f}[/]{mark} [dim]{format_difference(row.low, row.high)}[/]")
        table.add_row(escape(model), *cells)
    return table
