"""The tables of `mumon sweep`: all configurations, the chosen one, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mumon.cli.tables import (
    escape,
    format_difference,
    format_interval,
    format_number,
    new_table,
    print_table,
    print_text,
)
from mumon.experiments.sweep.reporting import format_options, format_seconds
from mumon.experiments.sweep.space import format_value, label

if TYPE_CHECKING:
    from rich.table import Table

    from mumon.experiments.sweep.result import SweepResult
    from mumon.experiments.sweep.selection import Configuration

MOST_ROWS = 30  # all are in result.json
BAR_WIDTH = 16


def show(result: SweepResult) -> None:
    """Print the result of a sweep on standard output."""
    print_text()
    print_table(_build_ranking(result))
    if len(result.configurations) > MOST_ROWS:
        print_text(f"… and {len(result.configurations) - MOST_ROWS} more in {escape(result.folder)}/result.json\n")
    for name, found in result.best_per_value.items():
        if len(found) > 1:
            print_table(_build_best_per_value(result, name, found))
    print_table(_build_tested(result))
    if result.comparisons:
        print_table(_build_comparisons(result))
    _print_closing(result)


def _build_ranking(result: SweepResult) -> Table:
    """Return every configuration with a bar for its dev score, the best first."""
    several = len(result.plan.seeds) > 1
    names = result.swept or list(result.plan.space)
    table = new_table("dev scores × 100", *map(label, names), *result.tasks, "mean", *["±"] * several, "", "loss", "s")
    scored = [item.mean for item in result.configurations if item.complete]
    for item in result.configurations[:MOST_ROWS]:
        cells = [format_value(name, item.options[name]) for name in names]
        if item.complete:
            cells += [*(format_number(item.dev(task)) for task in result.tasks), format_number(item.mean, 2)]
            cells += [format_number(item.deviation, 2)] * several
            bar = _draw_bar(item.mean, min(scored), max(scored))
            cells += [bar, format_number(item.loss, 3), format_seconds(item.seconds)]
        else:
            cells += ["–" for _ in result.tasks] + ["–", *[""] * several, f"[red]{escape(_name_failure(item))}[/]"]
        table.add_row(*cells, style="bold" if item is result.best else None)
    return table


def _name_failure(item: Configuration) -> str:
    return "diverged" if "finite" in (item.failed or "") else "failed"


def _draw_bar(value: float, low: float, high: float) -> str:
    """Return a bar that is short for the lowest score and full for the highest: scores differ too little otherwise."""
    share = (value - low) / (high - low) if high > low else 1.0
    eighths = round((0.06 + 0.94 * share) * BAR_WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _build_best_per_value(result: SweepResult, name: str, found: dict[Any, Configuration]) -> Table:
    """Return the best configuration for each value of an option, by dev score."""
    others = [other for other in result.swept if other != name]
    table = new_table(f"best of each {label(name)}, by dev", label(name), *map(label, others), *result.tasks, "mean")
    for value, item in sorted(found.items(), key=lambda pair: -pair[1].mean):
        cells = [format_value(other, item.options[other]) for other in others]
        scores = [format_number(item.dev(task)) for task in result.tasks]
        table.add_row(format_value(name, value), *cells, *scores, format_number(item.mean, 2))
    return table


def _build_tested(result: SweepResult) -> Table:
    """Return the scores of the chosen models on both halves."""
    names = ["dev", "test", "95 % interval", "covered"]
    several = len(result.tested) > 1
    title = f"best of each {label(result.compare)}, tested" if result.compare else "the chosen one, tested"
    table = new_table(title, "task", *["model"] * several, *names)
    for task in [*result.tasks, "mean"]:
        for model in result.tested:
            dev, test = model.scores[task]["dev"], model.scores[task]["test"]
            cells = [
                format_number(dev.score),
                format_number(test.score),
                format_interval(test.low, test.high),
                f"{test.covered:,} of {test.n:,}",
            ]
            style = "bold" if task == "mean" else None
            table.add_row(escape(task), *[escape(model.name)] * several, *cells, style=style)
        if several:
            table.add_section()
    return table


def _build_comparisons(result: SweepResult) -> Table:
    """Return the differences of the compared models on the test halves, by a paired bootstrap."""
    table = new_table("differences on the test halves", "task", "", "difference", "95 % interval", "in words")
    for row in result.comparisons:
        pair = escape(f"{row['b']} − {row['a']}")
        better = row["b"] if row["low"] > 0 else row["a"] if row["high"] < 0 else None
        verdict = "no clear difference" if better is None else f"{better} is better"
        cells = [f"{row['difference']:+.1f}", format_difference(row["low"], row["high"]), escape(verdict)]
        table.add_row(escape(row["task"]), pair, *cells)
    return table


def _print_closing(result: SweepResult) -> None:
    """Print the choice, the files, and the command that trains the best model again."""
    choice = format_options(result.best.options, result.swept)
    if len(result.plan.seeds) > 1:
        choice += f" (its seed {result.tested[0].seed} did best)"
    print_text(f"chosen on the dev halves: [bold]{escape(choice)}[/]")
    for note in result.notes:
        print_text(f"[yellow]{escape(note)}[/]")
    for model in result.tested:
        name = "the best model" if len(result.tested) == 1 else f"the model of {model.name}"
        print_text(f"{escape(name)}: {escape(result.folder / model.model)}")
    if result.plots:
        print_text(f"the curve: {escape(' '.join(map(str, result.plots)))}")
    print_text(f"to train the winner again: [bold]{escape(result.command)}[/]")
