"""The tables of `mumon eval`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mumon.cli.tables import interval, new_table, number, plain, print_table, print_text, signed_interval

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
FOUND = ("as is", "lower case", "other apostrophe", "missing")
ALWAYS = ("semantic", "syntactic", "position")  # the sections that are shown without being asked for
TREATED = {"skip": "skipped", "zero": "counted as zero"}


def show(report: Report, tasks: Sequence[Task], missing: Missing, sections: bool) -> None:
    """Everything that a person wants to see of a report, on standard output."""
    if len(report.models) > 1 and report.averaged:
        print_table(_overview(report, missing))
    print_table(_details(report, missing, sections))
    for other in report.models[1:]:
        if report.averaged and report.resamples:
            print_table(_comparison(report.compare(report.models[0], other, "all", missing)))
    _footnotes(report, tasks, missing)
    _neighbours(report)


def _overview(report: Report, missing: Missing) -> Table:
    """The paper's Table 1: a row per model, dev/test in each cell."""
    names = [*report.averaged, *(["mean"] if report.averaged else [])]
    table = new_table("dev / test", "model", *map(plain, names))
    for model in report.models:
        cells = []
        for name in names:
            dev, test = (report.score(model, name, fold, "", missing).score for fold in ("dev", "test"))
            cells.append(f"{number(dev)} / {number(test)}")
        table.add_row(plain(model), *cells)
    return table


def _details(report: Report, missing: Missing, sections: bool) -> Table:
    other: Missing = "zero" if missing == "skip" else "skip"
    columns = ["dev", "test", "all", "95 % interval", f"missing {TREATED[other]}", "covered"]
    several = len(report.models) > 1
    table = new_table("all items" if several else plain(report.models[0]), "task", *["model"] * several, *columns)
    for task in [*report.task_names, *(["mean"] if report.averaged else [])]:
        rows = [row for row in report.rows() if (row.task, row.fold, row.missing) == (task, "all", missing)]
        for section in dict.fromkeys(row.section for row in rows):
            if section and not sections and section not in ALWAYS:
                continue
            style = "bold" if task == "mean" else "dim" if section else None
            label = f"  {plain(section)}" if section else plain(task)
            for row in (row for row in rows if row.section == section):
                table.add_row(label, *[plain(row.model)] * several, *_cells(report, row, other), style=style)
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
    return [
        *(number(halves[fold]) if fold in halves else "" for fold in ("dev", "test")),
        number(row.score),
        interval(row.low, row.high),
        number(counted),
        covered,
    ]


def _comparison(rows: list[Comparison]) -> Table:
    a, b = plain(rows[0].a), plain(rows[0].b)
    of = " on the items that both have the words of" if rows[0].missing == "skip" else ""
    table = new_table(f"is {b} better than {a}{of}?", "task", "difference", "95 % interval", "items", "in words")
    for row in rows:
        span = signed_interval(row.low, row.high)
        table.add_row(plain(row.task), f"{row.difference:+.1f}", span, f"{row.n:,}", row.verdict)
    return table


def _footnotes(report: Report, tasks: Sequence[Task], missing: Missing) -> None:
    kinds = [kind for kind in KINDS if any(task.kind == kind for task in tasks)]
    units = "; ".join(f"{_listed([t.name for t in tasks if t.kind == kind])}: {KINDS[kind]}" for kind in kinds)
    print_text(f"[dim]{units}. Items with missing words are {TREATED[missing]}.[/]")
    for model in report.models:
        tally: Counter[str] = Counter()
        for counts in report.found[model].values():
            tally.update(counts)
        parts = ", ".join(f"{tally[how]:,} {how}" for how in FOUND if tally[how])
        print_text(f"[dim]Words of the tasks found in {plain(model)}: {parts}.[/]")
    left_out = [
        task.name for task in tasks if task.kind in ("similarity", "analogy") and task.name not in report.averaged
    ]
    if left_out:
        why = "one of its halves has no score (too few items with known words)"
        print_text(f"[dim]Not in the mean, for {why}: {_listed(left_out)}.[/]")


def _neighbours(report: Report) -> None:
    for model, nearest in report.neighbours.items():
        if nearest:
            print_text(f"\n[bold]nearest words[/] in {plain(model)}")
            for word, near in nearest.items():
                print_text(f"  {plain(word):>12}  [dim]{plain('  '.join(near) or 'not in the vocabulary')}[/]")


def _listed(names: Sequence[str]) -> str:
    return plain(", ".join(names))
