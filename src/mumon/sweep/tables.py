"""The end of a sweep, for people: all configurations, the chosen one, and what to do next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mumon.sweep.reporting import described, spent
from mumon.sweep.space import label, shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from mumon.sweep.choice import Configuration
    from mumon.sweep.result import SweepResult, TestScore

MOST_ROWS = 30  # the others are in result.json
BAR_WIDTH = 16
LOG_WIDTH = 140  # of a table that goes to a file, where nobody's window limits it


def show(result: SweepResult) -> None:
    """Print the result of a sweep on standard output."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=max(console.width, LOG_WIDTH))
    console.print()
    console.print(_ranking(result))
    if len(result.configurations) > MOST_ROWS:
        console.print(f"… and {len(result.configurations) - MOST_ROWS} more in {_plain(result.folder)}/result.json\n")
    for name, found in result.best_per_value.items():
        if len(found) > 1:
            console.print(_per_value(result, name, found))
    console.print(_tested(result))
    if result.comparisons:
        console.print(_compared(result))
    _closing(console, result)


def _ranking(result: SweepResult) -> Table:
    """Every configuration with a bar for its dev score, the best first."""
    several = len(result.plan.seeds) > 1
    names = result.swept or list(result.plan.space)
    table = _table("dev scores × 100", *map(label, names), *result.tasks, "mean", *["±"] * several, "", "loss", "s")
    scored = [item.mean for item in result.configurations if item.complete]
    for item in result.configurations[:MOST_ROWS]:
        cells = [shown(name, item.options[name]) for name in names]
        if item.complete:
            cells += [*(_number(item.dev(task)) for task in result.tasks), _number(item.mean, 2)]
            cells += [_number(item.deviation, 2)] * several
            cells += [_bar(item.mean, min(scored), max(scored)), _number(item.loss, 3), spent(item.seconds)]
        else:
            cells += ["–" for _ in result.tasks] + ["–", *[""] * several, f"[red]{_plain(_short(item))}[/]"]
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
    table = _table(f"best of each {label(name)}, by dev", label(name), *map(label, others), *result.tasks, "mean")
    for value, item in sorted(found.items(), key=lambda pair: -pair[1].mean):
        cells = [shown(other, item.options[other]) for other in others]
        scores = [_number(item.dev(task)) for task in result.tasks]
        table.add_row(shown(name, value), *cells, *scores, _number(item.mean, 2))
    return table


def _tested(result: SweepResult) -> Table:
    """The chosen model on both halves."""
    names = ["dev", "test", "95 % interval", "covered"]
    several = len(result.tested) > 1
    title = f"best of each {label(result.compare)}, tested" if result.compare else "the chosen one, tested"
    table = _table(title, "task", *["model"] * several, *names)
    for task in [*result.tasks, "mean"]:
        for model in result.tested:
            dev, test = model.scores[task]["dev"], model.scores[task]["test"]
            cells = [_number(dev.score), _number(test.score), _interval(test), f"{test.covered:,} of {test.n:,}"]
            table.add_row(
                _plain(task), *[_plain(model.name)] * several, *cells, style="bold" if task == "mean" else None
            )
        if several:
            table.add_section()
    return table


def _compared(result: SweepResult) -> Table:
    """How far apart the compared models are on the test halves, by a paired bootstrap."""
    table = _table("differences on the test halves", "task", "", "difference", "95 % interval", "in words")
    for row in result.comparisons:
        pair = _plain(f"{row['a']} − {row['b']}")
        difference, low, high = (0.0 - row[name] for name in ("difference", "high", "low"))  # 0.0 - 0.0 has no sign
        better = row["a"] if low > 0 else row["b"] if high < 0 else None
        verdict = "no clear difference" if better is None else f"{better} is better"
        cells = [f"{difference:+.1f}", f"{low:+.1f} … {high:+.1f}", _plain(verdict)]
        table.add_row(_plain(row["task"]), pair, *cells)
    return table


def _closing(console: Console, result: SweepResult) -> None:
    about = described(result.best.options, result.swept)
    if len(result.plan.seeds) > 1:
        about += f" (its seed {result.tested[0].seed} did best)"
    console.print(f"chosen on the dev halves: [bold]{_plain(about)}[/]", soft_wrap=True)
    for note in result.notes:
        console.print(f"[yellow]{_plain(note)}[/]")
    for model in result.tested:
        about = "the best model" if len(result.tested) == 1 else f"the model of {model.name}"
        console.print(f"{_plain(about)}: {_plain(result.folder / model.model)}", soft_wrap=True)
    if result.plots:
        console.print(f"the curve: {_plain(' '.join(map(str, result.plots)))}", soft_wrap=True)
    console.print(f"to train the winner again: [bold]{_plain(result.command)}[/]", soft_wrap=True)


def _table(title: str, *columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        text = column in ("task", "model", "in words", "update", "objective", "")
        table.add_column(column, justify="left" if text else "right", no_wrap=column == "")
    return table


def _number(value: float, digits: int = 1) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _interval(score: TestScore) -> str:
    return "–" if math.isnan(score.low) else f"{score.low:.1f} … {score.high:.1f}"


def _plain(text: Any) -> str:
    """Text in which rich sees no markup."""
    from rich.markup import escape

    return escape(str(text))
