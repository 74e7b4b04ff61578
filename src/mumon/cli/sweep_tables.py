"""The end of a sweep, for people: all configurations, the chosen one, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mumon.cli.tables import interval, new_table, number, plain, print_table, print_text, signed_interval
from mumon.experiments.sweep.reporting import format_options, format_seconds
from mumon.experiments.sweep.space import format_value, label

if TYPE_CHECKING:
    from rich.table import Table

    from mumon.experiments.sweep.result import SweepResult
    from mumon.experiments.sweep.selection import Configuration

MOST_ROWS = 30  # the others are in result.json
BAR_WIDTH = 16


def show(result: SweepResult) -> None:
    """Print the result of a sweep on standard output."""
    print_text()
    print_table(_ranking(result))
    if len(result.configurations) > MOST_ROWS:
        print_text(f"… and {len(result.configurations) - MOST_ROWS} more in {plain(result.folder)}/result.json\n")
    for name, found in result.best_per_value.items():
        if len(found) > 1:
            print_table(_per_value(result, name, found))
    print_table(_tested(result))
    if result.comparisons:
        print_table(_compared(result))
    _closing(result)


def _ranking(result: SweepResult) -> Table:
    """Every configuration with a bar for its dev score, the best first."""
    several = len(result.plan.seeds) > 1
    names = result.swept or list(result.plan.space)
    table = new_table("dev scores × 100", *map(label, names), *result.tasks, "mean", *["±"] * several, "", "loss", "s")
    scored = [item.mean for item in result.configurations if item.complete]
    for item in result.configurations[:MOST_ROWS]:
        cells = [format_value(name, item.options[name]) for name in names]
        if item.complete:
            cells += [*(number(item.dev(task)) for task in result.tasks), number(item.mean, 2)]
            cells += [number(item.deviation, 2)] * several
            cells += [_bar(item.mean, min(scored), max(scored)), number(item.loss, 3), format_seconds(item.seconds)]
        else:
            cells += ["–" for _ in result.tasks] + ["–", *[""] * several, f"[red]{plain(_short(item))}[/]"]
        table.add_row(*cells, style="bold" if item is result.best else None)
    return table


def _short(item: Configuration) -> str:
    return "diverged" if "finite" in (item.failed or "") else "failed"


def _bar(value: float, low: float, high: float) -> str:
    """The lowest score is a stub, the highest a full bar: scores themselves lie too close together to be seen."""
    share = (value - low) / (high - low) if high > low else 1.0
    eighths = round((0.06 + 0.94 * share) * BAR_WIDTH * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _per_value(result: SweepResult, name: str, found: dict[Any, Configuration]) -> Table:
    """The best of each value of an option, by its dev score."""
    others = [other for other in result.swept if other != name]
    table = new_table(f"best of each {label(name)}, by dev", label(name), *map(label, others), *result.tasks, "mean")
    for value, item in sorted(found.items(), key=lambda pair: -pair[1].mean):
        cells = [format_value(other, item.options[other]) for other in others]
        scores = [number(item.dev(task)) for task in result.tasks]
        table.add_row(format_value(name, value), *cells, *scores, number(item.mean, 2))
    return table


def _tested(result: SweepResult) -> Table:
    """The chosen model on both halves."""
    names = ["dev", "test", "95 % interval", "covered"]
    several = len(result.tested) > 1
    title = f"best of each {label(result.compare)}, tested" if result.compare else "the chosen one, tested"
    table = new_table(title, "task", *["model"] * several, *names)
    for task in [*result.tasks, "mean"]:
        for model in result.tested:
            dev, test = model.scores[task]["dev"], model.scores[task]["test"]
            cells = [
                number(dev.score),
                number(test.score),
                interval(test.low, test.high),
                f"{test.covered:,} of {test.n:,}",
            ]
            table.add_row(plain(task), *[plain(model.name)] * several, *cells, style="bold" if task == "mean" else None)
        if several:
            table.add_section()
    return table


def _compared(result: SweepResult) -> Table:
    """How far apart the compared models are on the test halves, by a paired bootstrap."""
    table = new_table("differences on the test halves", "task", "", "difference", "95 % interval", "in words")
    for row in result.comparisons:
        pair = plain(f"{row['b']} − {row['a']}")
        better = row["b"] if row["low"] > 0 else row["a"] if row["high"] < 0 else None
        verdict = "no clear difference" if better is None else f"{better} is better"
        cells = [f"{row['difference']:+.1f}", signed_interval(row["low"], row["high"]), plain(verdict)]
        table.add_row(plain(row["task"]), pair, *cells)
    return table


def _closing(result: SweepResult) -> None:
    about = format_options(result.best.options, result.swept)
    if len(result.plan.seeds) > 1:
        about += f" (its seed {result.tested[0].seed} did best)"
    print_text(f"chosen on the dev halves: [bold]{plain(about)}[/]")
    for note in result.notes:
        print_text(f"[yellow]{plain(note)}[/]")
    for model in result.tested:
        about = "the best model" if len(result.tested) == 1 else f"the model of {model.name}"
        print_text(f"{plain(about)}: {plain(result.folder / model.model)}")
    if result.plots:
        print_text(f"the curve: {plain(' '.join(map(str, result.plots)))}")
    print_text(f"to train the winner again: [bold]{plain(result.command)}[/]")
