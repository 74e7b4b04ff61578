"""Curves of a sweep: dev scores against the rate, one line per combination of the other options. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mumon.experiments.plot_style import COLOURS, INK, MARKS, PALE, STYLE, save_figure
from mumon.experiments.sweep.space import LINEAR_RANGES, REAL_NUMBERS, format_value, is_numeric, label

if TYPE_CHECKING:
    from mumon.experiments.sweep.result import SweepResult
    from mumon.experiments.sweep.selection import Configuration

CURVE_NAME = "curve"
MOST_LINES = 8  # with their own colours; the others are grey
MOST_PANELS = 8  # panels of more tasks would be too small to read

Score = Callable[["Configuration"], tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """The configurations that differ in the option along the x axis only, in its order."""

    name: str
    points: list[Configuration]
    colour: str
    mark: str
    joined: bool


def draw_sweep(result: SweepResult) -> list[Path]:
    """Draw `curve.png` and `curve.svg` into the folder of a sweep.

    Parameters
    ----------
    result
        The result of the sweep.

    Returns
    -------
    list of Path
        The files; none if no option with an order was swept.

    Raises
    ------
    ImportError
        Without matplotlib, which the extra `mumon[plot]` installs.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    x = choose_x_option(result.swept)
    if x is None:
        return []
    lines = _group_lines(result, x)
    with rc_context(STYLE):
        tasks = result.tasks if 1 < len(result.tasks) <= MOST_PANELS else []
        columns = min(len(tasks), 5) or 1
        rows = math.ceil(len(tasks) / columns)
        figure = Figure(figsize=(9.0, 4.6 + 2.1 * rows), layout="constrained")
        grid = figure.add_gridspec(1 + rows, columns, height_ratios=[2.3, *[1.0] * rows])
        main = figure.add_subplot(grid[0, :])
        _draw_mean(main, result, lines, x)
        for place, task in enumerate(tasks):
            axes = figure.add_subplot(grid[1 + place // columns, place % columns])
            _draw_task(axes, result, lines, x, task)
        return save_figure(figure, result.folder / CURVE_NAME)


def choose_x_option(swept: Sequence[str]) -> str | None:
    """Choose the option along the x axis: the rate, or else the first number that was swept.

    >>> choose_x_option(["update", "window", "alpha"]), choose_x_option(["window"]), choose_x_option(["update"])
    ('alpha', 'window', None)
    """
    return "alpha" if "alpha" in swept else next(filter(is_numeric, swept), None)


def _group_lines(result: SweepResult, x: str) -> list[Line]:
    """Group configurations into lines, from the best to the worst: configurations are sorted by their score."""
    groups: dict[str, list[Configuration]] = {}
    for item in result.configurations:
        if item.complete:
            groups.setdefault(_name_line(result, item, x), []).append(item)
    joined = result.plan.search == "grid" or not any(is_numeric(name) for name in result.swept if name != x)
    lines = []
    for place, (name, points) in enumerate(groups.items()):
        colour, mark = (COLOURS[place], MARKS[place]) if place < MOST_LINES else (PALE, ".")
        lines.append(Line(name, sorted(points, key=lambda item: float(item.options[x])), colour, mark, joined))
    return lines


def _name_line(result: SweepResult, item: Configuration, x: str) -> str:
    """Name a line after the other swept options, except numbers drawn at random, which are all different."""
    others = [name for name in result.swept if name != x and not (result.plan.search == "random" and is_numeric(name))]
    shown_values = [(name, format_value(name, item.options[name])) for name in others]
    return ", ".join(
        value if name in ("update", "objective", "sg") else f"{label(name)} {value}" for name, value in shown_values
    )


def _draw_mean(axes: Any, result: SweepResult, lines: Sequence[Line], x: str) -> None:
    _draw_lines(axes, lines, x, lambda item: (item.mean, item.deviation))
    best = result.best
    _draw_ring(axes, best.options[x], best.mean, 15)
    drawn = sorted(item.options[x] for line in lines for item in line.points)
    axes.annotate(
        f"best: {label(x)} {format_value(x, best.options[x])}, {best.mean:.1f}",
        (best.options[x], best.mean),
        xytext=(0, 14),
        textcoords="offset points",
        ha="left" if best.options[x] == drawn[0] else "right" if best.options[x] == drawn[-1] else "center",
        va="bottom",
        fontweight="bold",
    )
    axes.margins(y=0.18)  # room for the annotation
    _mark_failures(axes, result, lines, x)
    _scale_axis(axes, result, x)
    seeds = len(result.plan.seeds)
    spread = f", mean and standard deviation of {seeds} seeds" if seeds > 1 else ""
    what = f"Mean of {len(result.tasks)} tasks on their dev halves" if len(result.tasks) > 1 else result.tasks[0]
    axes.set(title=what + spread, xlabel="learning rate" if x == "alpha" else label(x), ylabel="dev score × 100")
    _draw_legend(axes, lines)


def _draw_task(axes: Any, result: SweepResult, lines: Sequence[Line], x: str, task: str) -> None:
    _draw_lines(axes, lines, x, lambda item: (item.dev(task), item.dev_deviation(task)), small=True)
    best = result.best
    _draw_ring(axes, best.options[x], best.dev(task), 9)
    axes.margins(y=0.15)
    _scale_axis(axes, result, x, small=True)
    axes.set_title(task, fontsize=10)
    axes.tick_params(labelsize=8)


def _draw_lines(axes: Any, lines: Sequence[Line], x: str, score: Score, small: bool = False) -> None:
    for place, line in reversed(list(enumerate(lines))):  # the best on top
        along = [item.options[x] for item in line.points]
        scores = [score(item) for item in line.points]
        means = [mean for mean, _ in scores]
        width, size = (1.2, 3) if small else (1.8, 5.5)
        name = line.name if place < MOST_LINES else f"{len(lines) - MOST_LINES} more" if place == MOST_LINES else None
        axes.plot(
            along,
            means,
            linestyle="-" if line.joined else "none",
            marker=line.mark,
            color=line.colour,
            linewidth=width,
            markersize=size,
            label=name,
        )
        spread = [deviation for _, deviation in scores]
        if any(math.isfinite(value) for value in spread):
            _draw_spread(axes, along, means, spread, line)


def _draw_spread(axes: Any, along: list[Any], means: list[float], spread: list[float], line: Line) -> None:
    low = [mean - value for mean, value in zip(means, spread, strict=True)]
    high = [mean + value for mean, value in zip(means, spread, strict=True)]
    if line.joined and len(along) > 1:
        axes.fill_between(along, low, high, color=line.colour, alpha=0.15, linewidth=0)
    else:
        axes.errorbar(along, means, yerr=spread, fmt="none", ecolor=line.colour, alpha=0.5, capsize=3)


def _draw_ring(axes: Any, x: float, y: float, size: float) -> None:
    axes.plot([x], [y], "o", markersize=size, markerfacecolor="none", markeredgecolor=INK, zorder=5, clip_on=False)


def _mark_failures(axes: Any, result: SweepResult, lines: Sequence[Line], x: str) -> None:
    """Draw crosses at the foot of the plot where training failed, one row for each line."""
    failed: dict[str, list[Any]] = {}
    for item in result.configurations:
        if item.failed is not None:
            failed.setdefault(_name_line(result, item, x), []).append(item.options[x])
    colours = {line.name: line.colour for line in lines}
    for row, (name, along) in enumerate(failed.items()):
        axes.plot(
            along,
            [0.03 + 0.04 * row] * len(along),
            linestyle="",
            marker="x",
            markeredgewidth=1.8,
            color=colours.get(name, INK),
            transform=axes.get_xaxis_transform(),
            label="failed" if row == 0 else None,
        )


def _scale_axis(axes: Any, result: SweepResult, x: str, small: bool = False) -> None:
    """Choose a logarithmic axis for magnitudes, and the tried values as ticks if they are few."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    values = sorted({item.options[x] for item in result.configurations if item.options[x] is not None})
    logarithmic = x in REAL_NUMBERS and x not in LINEAR_RANGES and values[0] > 0
    if logarithmic:
        axes.set_xscale("log")
    listed = isinstance(result.plan.space[x], list)
    if listed and len(values) <= 12:
        ticks = [values[0], result.best.options[x], values[-1]] if small else _space_ticks(values, logarithmic)
        axes.xaxis.set_major_locator(FixedLocator(sorted(set(ticks))))
    elif not logarithmic:
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=x not in REAL_NUMBERS))
    if logarithmic or listed:
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_major_locator(MaxNLocator(4 if small else 7))


def _space_ticks(values: list[float], logarithmic: bool, least: float = 0.035) -> list[float]:
    """Select values whose labels do not touch: each a small part of the axis from the one before."""
    places = [math.log(value) if logarithmic else value for value in values]
    span = (places[-1] - places[0]) or 1.0
    chosen = [0]
    for i in range(1, len(values)):
        if (places[i] - places[chosen[-1]]) / span >= least:
            chosen.append(i)
    return [values[i] for i in chosen]


def _draw_legend(axes: Any, lines: Sequence[Line]) -> None:
    """List the lines from the best to the worst; they were drawn in the opposite order."""
    ranks = {line.name: place for place, line in enumerate(lines)}
    entries = sorted(zip(*axes.get_legend_handles_labels(), strict=True), key=lambda entry: ranks.get(entry[1], 999))
    if entries:
        axes.legend(*zip(*entries, strict=True), loc="best", fontsize=9)
