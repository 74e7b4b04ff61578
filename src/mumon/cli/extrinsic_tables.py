"""The tables of `mumon eval --extrinsic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mumon.cli.tables import interval, new_table, number, plain, print_table, print_text, signed_interval

if TYPE_CHECKING:
    from rich.table import Table

    from mumon.experiments.extrinsic import ExtrinsicReport

TITLES = {
    "sst2": "SST-2",
    "qnli": "QNLI",
    "mnli-m": "MNLI-m",
    "mnli-mm": "MNLI-mm",
    "ner": "NER, frozen",
    "ner-tuned": "NER, fine-tuned",
}
DATA = {"sst2": "SST-2", "qnli": "QNLI", "mnli-m": "MNLI", "ner": "NER"}  # one score for each set of texts


def show(report: ExtrinsicReport) -> None:
    """The paper's Tables 2 and 3, what differs from the first model, and what was done."""
    print_table(_scores(report))
    if len(report.models) > 1:
        print_table(_differences(report))
    accuracies = [name for name in report.task_names if report.score(report.models[0], name).metric == "accuracy"]
    units = ["accuracy"] * bool(accuracies) + ["entity F1 (NER)"] * (len(accuracies) < len(report.task_names))
    seeds = report.settings["seeds"]
    over = "items and seeds" if len(seeds) > 1 else "items"
    print_text(
        f"[dim]{', '.join(units)} × 100; 95 % intervals over {over}, {len(seeds)} seed{'s'[: len(seeds) > 1]}.[/]"
    )
    for model in report.models:
        rows = [score for score in report.scores if score.model == model and score.task in DATA]
        found = ", ".join(f"{DATA[row.task]} {100 * row.found / row.words:.0f} %" for row in rows)
        print_text(f"[dim]Running words, marks included, that {plain(model)} has: {found}.[/]")


def _scores(report: ExtrinsicReport) -> Table:
    table = new_table("test", "model", *(TITLES[name] for name in report.task_names))
    for model in report.models:
        cells = []
        for name in report.task_names:
            score = report.score(model, name)
            cells.append(f"[bold]{number(score.score)}[/] [dim]{interval(score.low, score.high)}[/]")
        table.add_row(plain(model), *cells)
    return table


def _differences(report: ExtrinsicReport) -> Table:
    first = report.models[0]
    title = f"is it better than {plain(first)}? (* the interval leaves out zero)"
    table = new_table(title, "model", *(TITLES[name] for name in report.task_names))
    for model in report.models[1:]:
        cells = []
        for row in report.compare(first, model):
            mark = "*" if row.low > 0 or row.high < 0 else " "
            cells.append(f"[bold]{row.difference:+.1f}[/]{mark} [dim]{signed_interval(row.low, row.high)}[/]")
        table.add_row(plain(model), *cells)
    return table
