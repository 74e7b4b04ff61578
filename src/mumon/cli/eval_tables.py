"""The tables of `mumon eval`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

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

    from mumon.evaluation import Comparison, Report, Score, Task
    from mumon.evaluation.report import Missing

KINDS = {
    "similarity": "Spearman's correlation × 100",
    "analogy": "analogies answered right, %",
    "categories": "purity of clusters, %",
    "outliers": "outliers found, %",
}
LOOKUPS = ("as is", "lower case", "other apostrophe", "composed", "missing")
MAIN_SECTIONS = ("semantic", "syntactic", "position")  # shown without --sections
TREATMENTS = {"skip": "skipped", "zero": "counted as zero", "known": "skipped, and so are those with composed words"}
COMPARED = {
    "skip": " on the items that both have the words of",
    "zero": "",
    "known": " on the items whose words have rows in both",
}


def show(report: Report, tasks: Sequence[Task], missing: Missing, sections: bool) -> None:
    """Print a report on standard output.

    Parameters
    ----------
    report
        The scores of one or several models.
    tasks
        The tasks, whose kinds are explained below the tables.
    missing
        How items with missing words count: "skip", "zero" or "known".
    sections
        Show every section of the analogies.
    """
    if len(report.models) > 1 and report.averaged:
        print_table(_build_overview(report, missing))
    print_table(_build_details(report, missing, sections))
    for other in report.models[1:]:
        if report.averaged and report.resamples:
            print_table(_build_comparison(report.compare(report.models[0], other, "all", missing)))
    _print_footnotes(report, tasks, missing)
    _print_neighbours(report)


def _build_overview(report: Report, missing: Missing) -> Table:
    """Return the paper's Table 1: a row per model, dev/test in each cell."""
    names = [*report.averaged, *(["mean"] if report.averaged else [])]
    table = new_table("dev / test", "model", *map(escape, names))
    for model in report.models:
        cells = []
        for name in names:
            dev, test = (report.score(model, name, fold, "", missing).score for fold in ("dev", "test"))
            cells.append(f"{format_number(dev)} / {format_number(test)}")
        table.add_row(escape(model), *cells)
    return table


def _build_details(report: Report, missing: Missing, sections: bool) -> Table:
    other: Missing = "zero" if missing == "skip" else "skip"
    columns = ["dev", "test", "all", "95 % interval", f"missing {TREATMENTS[other]}", "covered"]
    if report.composing:  # others would have the same twice
        columns += [*(["known words only"] if missing != "known" else []), "known"]
    several = len(report.models) > 1
    table = new_table("all items" if several else escape(report.models[0]), "task", *["model"] * several, *columns)
    for task in [*report.task_names, *(["mean"] if report.averaged else [])]:
        whole = [row for row in report.rows() if (row.task, row.fold, row.missing) == (task, "all", "skip")]
        rows = [report.score(row.model, task, "all", row.section, missing) for row in whole]
        for section in dict.fromkeys(row.section for row in rows):
            if section and not sections and section not in MAIN_SECTIONS:
                continue
            style = "bold" if task == "mean" else "dim" if section else None
            label = f"  {escape(section)}" if section else escape(task)
            for row in (row for row in rows if row.section == section):
                table.add_row(label, *[escape(row.model)] * several, *_format_cells(report, row, other), style=style)
        table.add_section()
    return table


def _format_cells(report: Report, row: Score, other: Missing) -> list[str]:
    halves = {
        score.fold: report.score(row.model, row.task, score.fold, row.section, row.missing).score
        for score in report.rows()
        if (score.model, score.task, score.section, score.missing) == (row.model, row.task, row.section, "skip")
    }
    counted = report.score(row.model, row.task, "all", row.section, other).score
    cells = [
        *(format_number(halves[fold]) if fold in halves else "" for fold in ("dev", "test")),
        format_number(row.score),
        format_interval(row.low, row.high),
        format_number(counted),
        f"{row.covered:,} of {row.n:,}",
    ]
    if report.composing:
        known = report.score(row.model, row.task, "all", row.section, "known").score
        cells += [*([format_number(known)] if row.missing != "known" else []), f"{row.known:,} of {row.n:,}"]
    return cells


def _build_comparison(rows: list[Comparison]) -> Table:
    a, b = escape(rows[0].a), escape(rows[0].b)
    title = f"is {b} better than {a}{COMPARED[rows[0].missing]}?"
    table = new_table(title, "task", "difference", "95 % interval", "items", "in words")
    for row in rows:
        span = format_difference(row.low, row.high)
        table.add_row(escape(row.task), f"{row.difference:+.1f}", span, f"{row.n:,}", row.verdict)
    return table


def _print_footnotes(report: Report, tasks: Sequence[Task], missing: Missing) -> None:
    kinds = [kind for kind in KINDS if any(task.kind == kind for task in tasks)]
    units = "; ".join(f"{_join([t.name for t in tasks if t.kind == kind])}: {KINDS[kind]}" for kind in kinds)
    print_text(f"[dim]{units}. Items with missing words are {TREATMENTS[missing]}.[/]")
    if report.composing:
        names = _join(report.composing)
        print_text(f"[dim]Known words have a row of their own; for others {names} composes a vector of n-grams.[/]")
    for model in report.models:
        tally: Counter[str] = Counter()
        for counts in report.found[model].values():
            tally.update(counts)
        parts = ", ".join(f"{tally[how]:,} {how}" for how in LOOKUPS if tally[how])
        print_text(f"[dim]Words of the tasks found in {escape(model)}: {parts}.[/]")
    left_out = [
        task.name for task in tasks if task.kind in ("similarity", "analogy") and task.name not in report.averaged
    ]
    if left_out:
        why = "because a half of it has no score (too few items with known words)"
        print_text(f"[dim]Not in the mean, {why}: {_join(left_out)}.[/]")


def _print_neighbours(report: Report) -> None:
    for model, nearest in report.neighbours.items():
        if nearest:
            print_text(f"\n[bold]nearest words[/] in {escape(model)}")
            for word, near in nearest.items():
                print_text(f"  {escape(word):>12}  [dim]{escape('  '.join(near) or 'not in the vocabulary')}[/]")


def _join(names: Sequence[str]) -> str:
    return escape(", ".join(names))
