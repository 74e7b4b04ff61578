"""`mumon eval --extrinsic`: do vectors help real tasks?"""

from __future__ import annotations

import csv as csv_
import json as json_
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mumon.cli import options

if TYPE_CHECKING:
    from mumon.experiments.extrinsic import Budget, ExtrinsicReport
    from mumon.utils.progress import Progress
    from mumon.vectors.word_vectors import WordVectors

PANEL = "Extrinsic tasks"


class BudgetName(str, Enum):
    """How much is spent: for two cores, or as in the paper."""

    small = "small"
    full = "full"


def _option(*flags: str, help: str, **more: Any) -> Any:
    return typer.Option(*flags, help=help, rich_help_panel=PANEL, **more)


Extrinsic = Annotated[
    str | None,
    _option("--extrinsic", metavar="TASKS", help="Train the paper's networks on these: sst2,qnli,mnli,ner."),
]
BudgetOption = Annotated[
    BudgetName, _option("--budget", help="small: two cores, minutes per model; full: the paper's.")
]
Draws = Annotated[int | None, _option("--draws", min=1, help="Points of the random search, the same for every model.")]
Width = Annotated[int | None, _option("--width", min=1, help="LSTM units per direction, of classifiers and tagger.")]
Epochs = Annotated[int | None, _option("--epochs", min=1, help="At most so many epochs per network.")]
TrainSentences = Annotated[int | None, _option("--train-sentences", min=1, help="Learn from so many sentences.")]
Seeds = Annotated[int, _option("--seeds", min=1, help="Train everything with so many seeds.")]
Baselines = Annotated[
    str | None, _option("--baselines", metavar="NAMES", help="Also evaluate random vectors, GloVe: random,glove.")
]
Folder = Annotated[
    str | None, _option("--folder", help="Keep trained networks here (default: the cache); the same command goes on.")
]


def chosen(
    name: BudgetName, draws: int | None, width: int | None, epochs: int | None, train_sentences: int | None
) -> Budget:
    """The budget that the options ask for."""
    from mumon.experiments.extrinsic.plan import choose_budget

    widths = {"encoder_width": width, "tagger_width": width}
    return choose_budget(name.value, draws=draws, **widths, epochs=epochs, train_sentences=train_sentences)


def run(
    models: Callable[[], dict[str, WordVectors]],
    tasks: str,
    *,
    budget: Budget,
    baselines: str | None,
    seeds: Sequence[int],
    folder: str | None,
    resamples: int,
    threads: int | None,
    progress: Progress,
    json: bool,
    csv: bool,
) -> None:
    """Evaluate and show; Ctrl-C ends in a sentence of its own, for here something was kept."""
    from mumon.experiments.extrinsic.evaluate import check_request, evaluate_extrinsic
    from mumon.utils.signals import reword_interrupt

    names, others = options.names(tasks), options.names((baselines or "").lower())
    check_request(names, others)  # before the models are read
    try:
        report = evaluate_extrinsic(
            models(),
            names,
            baselines=others,
            budget=budget,
            seeds=seeds,
            folder=folder,
            workers=threads,
            resamples=resamples,
            progress=progress,
        )
    except KeyboardInterrupt as error:
        raise reword_interrupt(error, "stopped; what is trained is kept, and the same command goes on") from None
    if json:
        print(json_.dumps(report.to_json(), ensure_ascii=False))
    elif csv:
        write_csv(report)
    else:
        from mumon.cli.extrinsic_tables import show

        show(report)


def write_csv(report: ExtrinsicReport) -> None:
    """Every score, one line each, on standard output; the numbers of several seeds stand between blanks."""
    writer = csv_.writer(sys.stdout, lineterminator="\n")
    names = ("model", "task", "metric", "score", "low", "high", "seeds", "dev", "n", "words", "found")
    writer.writerow(names)
    for score in report.scores:
        values = [getattr(score, name) for name in names]
        writer.writerow([_cell(value) for value in values])


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return "" if value != value else value
