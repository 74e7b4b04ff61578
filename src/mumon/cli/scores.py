"""The tables of `mumon eval` and `mumon sweep`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from mumon.evaluation import Comparison, Report, Score, Task
    from mumon.evaluation.report import Missing

KINDS = {
    "similarity": "Spearman's correlation × 100",
    "analogy": "analogies answered right, %",
    "categories": "purity of clusters, %",
    "outliers": "outliers found, %",
}
FOUND = ("as is", "lower case", "other apostrophe", "missing")
ALWAYS = ("semantic", "syntactic", "position")  # the sections that are shown without being asked for
TREATED = {"skip": "skipped", "zero": "counted as zero"}


def show(report: Report, tasks: Sequence[Task], missing: Missing, sections: bool) -> None:
    """Everything that a person wants to see of a report, on standard output."""
    from rich.console import Console

    console = Console(highlight=False)
    if len(report.models) > 1:
        console.print(_overview(report, missing))
    console.print(_details(report, missing, sections))
    for other in report.models[1:]:
        if report.averaged and report.samples[other, report.averaged[0], "all", missing].size:
            console.print(_comparison(report.compare(report.models[0], other, "all", missing)))
    _footnotes(console, report, tasks, missing)
    _neighbours(console, report)


def _table(title: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        text = column in ("task", "model", "section", "in words")
        table.add_column(column, justify="left" if text else "right", no_wrap=text)
    return table


def _overview(report: Report, missing: Missing) -> Table:
    """The paper's Table 1: a row per model, dev/test in each cell."""
    names = [*report.averaged, *(["mean"] if report.averaged else [])]
    table = _table("dev / test", "model", *names)
    for model in report.models:
        cells = []
        for name in names:
            dev, test = (report.score(model, name, fold, "", missing).score for fold in ("dev", "test"))
            cells.append(f"{_number(dev)} / {_number(test)}")
        table.add_row(_plain(model), *cells)
    return table


def _details(report: Report, missing: Missing, sections: bool) -> Table:
    other: Missing = "zero" if missing == "skip" else "skip"
    columns = ["dev", "test", "all", "95 % interval", f"missing {TREATED[other]}", "covered"]
    several = len(report.models) > 1
    table = _table("all items" if several else report.models[0], "task", *["model"] * several, *columns)
    for task in [*report.task_names, *(["mean"] if report.averaged else [])]:
        rows = [row for row in report.rows() if (row.task, row.fold, row.missing) == (task, "all", missing)]
        for section in dict.fromkeys(row.section for row in rows):
            if section and not sections and section not in ALWAYS:
                continue
            style = "bold" if task == "mean" else "dim" if section else None
            label = f"  {_plain(section)}" if section else _plain(task)
            for row in (row for row in rows if row.section == section):
                table.add_row(label, *[_plain(row.model)] * several, *_cells(report, row, other), style=style)
        table.add_section()
    return table


def _cells(report: Report, row: Score, other: Missing) -> list[str]:
    halves = {
        score.fold: score.score
        for score in report.rows()
        if (score.model, score.task, score.section, score.missing) == (row.model, row.task, row.section, row.missing)
    }
    counted = report.score(row.model, row.task, "all", row.section, other).score
    covered = f"{row.covered:,} of {row.n:,}"
    span = "" if math.isnan(row.low) else f"{row.low:.1f} … {row.high:.1f}"
    return [
        *(_number(halves[fold]) if fold in halves else "" for fold in ("dev", "test")),
        _number(row.score),
        span,
        _number(counted),
        covered,
    ]


def _comparison(rows: list[Comparison]) -> Table:
    a, b = _plain(rows[0].a), _plain(rows[0].b)
    table = _table(f"is {b} better than {a}?", "task", "difference", "95 % interval", "chance", "in words")
    for row in rows:
        span = f"{row.low:+.1f} … {row.high:+.1f}"
        table.add_row(
            _plain(row.task), f"{row.difference:+.1f}", span, f"{100 * row.better:.0f} %", _plain(row.verdict)
        )
    return table


def _footnotes(console: Console, report: Report, tasks: Sequence[Task], missing: Missing) -> None:
    kinds = [kind for kind in KINDS if any(task.kind == kind for task in tasks)]
    units = "; ".join(f"{_listed([t.name for t in tasks if t.kind == kind])}: {KINDS[kind]}" for kind in kinds)
    console.print(f"[dim]{units}. Items with missing words are {TREATED[missing]}.[/]")
    for model in report.models:
        tally: Counter[str] = Counter()
        for counts in report.found[model].values():
            tally.update(counts)
        parts = ", ".join(
            f"{tally[how]:,} {how}" for how in ("as is", "lower case", "other apostrophe", "missing") if tally[how]
        )
        console.print(f"[dim]Words of the tasks found in {_plain(model)}: {parts}.[/]")
    left_out = [
        task.name for task in tasks if task.kind in ("similarity", "analogy") and task.name not in report.averaged
    ]
    if left_out:
        console.print(f"[dim]Not in the mean, for want of items with known words: {_listed(left_out)}.[/]")


def _neighbours(console: Console, report: Report) -> None:
    for model, nearest in report.neighbours.items():
        if nearest:
            console.print(f"\n[bold]nearest words[/] in {_plain(model)}")
            for word, near in nearest.items():
                console.print(f"  {_plain(word):>12}  [dim]{_plain('  '.join(near))}[/]")


def _listed(names: Sequence[str]) -> str:
    return _plain(", ".join(names))


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f}"


def _plain(text: Any) -> str:
    """Text in which rich sees no markup."""
    from rich.markup import escape

    return escape(str(text))
