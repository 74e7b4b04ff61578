"""`mumon eval --extrinsic`: do vectors help real tasks?"""

from __future__ import annotations

import csv as csv_
import json as json_
import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mumon.evaluation.extrinsic import Budget, ExtrinsicReport
    from mumon.progress import Progress
    from mumon.vectors import WordVectors

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
    from mumon.evaluation.extrinsic.plan import chosen_budget

    widths = {"encoder_width": width, "tagger_width": width}
    return chosen_budget(name.value, draws=draws, **widths, epochs=epochs, train_sentences=train_sentences)


def run(
    models: dict[str, WordVectors],
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
    from mumon.evaluation.extrinsic import evaluate_extrinsic
    from mumon.signals import interrupted

    try:
        report = evaluate_extrinsic(
            {**models, **_baselines(baselines, models, seeds, progress)},
            [name.strip() for name in tasks.split(",") if name.strip()],
            budget=budget,
            seeds=seeds,
            folder=folder,
            workers=threads,
            resamples=resamples,
            progress=progress,
        )
    except KeyboardInterrupt as error:
        progress.close()
        raise interrupted(error, "stopped; what is trained is kept, and the same command goes on") from None
    if json:
        print(json_.dumps(report.to_json(), ensure_ascii=False))
    elif csv:
        write_csv(report)
    else:
        from mumon.cli.extrinsic_tables import show

        show(report)


def _baselines(
    names: str | None, models: dict[str, WordVectors], seeds: Sequence[int], progress: Progress
) -> dict[str, WordVectors | list[WordVectors]]:
    """The baselines by name: random vectors have the words and the size of the first model."""
    from mumon import datasets
    from mumon.errors import OptionError
    from mumon.evaluation.extrinsic import random_vectors
    from mumon.vectors import WordVectors

    wanted = [name.strip().lower() for name in (names or "").split(",") if name.strip()]
    unknown = [name for name in wanted if name not in ("random", "glove")]
    if unknown:
        raise OptionError(f"no baseline is called {unknown[0]!r}; the 2 are random, glove")
    taken = [name for name in wanted if name in models]
    if taken:
        raise OptionError(f"{taken[0]!r} is the name of a model and of a baseline; rename the model")
    first = next(iter(models.values()))
    found: dict[str, WordVectors | list[WordVectors]] = {}
    for name in wanted:
        if name == "random":
            found[name] = [random_vectors(first.index_to_key, first.vector_size, seed) for seed in seeds]
        else:
            found[name] = WordVectors.load(Path(datasets.fetch("glove100", progress)))
    return found


def write_csv(report: ExtrinsicReport) -> None:
    """Every score, one line each, on standard output; the numbers of several seeds stand between blanks."""
    writer = csv_.writer(sys.stdout, lineterminator="\n")
    names = ("model", "task", "metric", "score", "low", "high", "seeds", "dev", "n", "words", "found")
    writer.writerow(names)
    for score in report.scores:
        values = [getattr(score, name) for name in names]
        writer.writerow([" ".join(map(str, value)) if isinstance(value, list) else value for value in values])
