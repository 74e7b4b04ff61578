"""Plots: training time by threads (bars for a single number of threads), and quality by time. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mumon.experiments.bench.results import Results, SummaryRow
from mumon.experiments.bench.runner import MEAN
from mumon.experiments.bench.systems import DISTRIBUTIONS, OBJECTIVE_NAMES, System
from mumon.experiments.plot_style import COLOURS, INK, MARKS, STYLE, save_figure

TIMES_NAME, QUALITY_NAME = PLOT_NAMES = ("training-time", "quality")
TIME_UNITS = ((3 * 3600.0, 3600.0, "hours"), (600.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))  # from, divisor, name
LINE_HEIGHT, LETTER_WIDTH = 12.0, 5.2  # of the labels, in typographical points


def draw_times(results: Results, folder: Path) -> list[Path]:
    """Draw training-time.png and .svg and return their paths."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = results.summarise()
    divisor, unit = _choose_unit(rows)
    objectives = [name for name in OBJECTIVE_NAMES if any(_find_system(results, row).objective == name for row in rows)]
    with rc_context(STYLE):
        if len({row.threads for row in rows}) > 1:
            figure = Figure(figsize=(4.6 * len(objectives), 4.4), layout="constrained")
            panels = figure.subplots(1, len(objectives), sharey=True, squeeze=False)[0]
            for axes, objective in zip(panels, objectives, strict=True):
                _draw_lines(axes, results, objective, divisor)
            panels[0].set_ylabel(f"training time, {unit}")
        else:
            counts = [sum(_find_system(results, row).objective == name for row in rows) for name in objectives]
            figure = Figure(figsize=(8.0, 1.0 + 0.42 * sum(counts) + 0.5 * len(counts)), layout="constrained")
            panels = figure.subplots(len(counts), 1, sharex=True, squeeze=False, height_ratios=counts)[:, 0]
            for axes, objective in zip(panels, objectives, strict=True):
                _draw_bars(axes, results, objective, divisor)
            threads = rows[0].threads
            panels[-1].set_xlabel(f"training time with {threads} thread{'s' * (threads > 1)}, {unit}")
        return save_figure(figure, folder / TIMES_NAME)


def draw_quality(results: Results, folder: Path) -> list[Path]:
    """Draw quality.png and .svg for the most threads and return their paths; nothing if no quality was measured."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    rows = [row for row in results.summarise() if row.threads == max(results.threads) and MEAN in row.scores]
    if not rows:
        return []
    divisor, unit = _choose_unit(rows)
    with rc_context(STYLE):
        figure = Figure(figsize=(8.0, 5.0), layout="constrained")
        axes = figure.add_subplot()
        for row in rows:
            system = _find_system(results, row)
            bounds = row.interval or (row.scores[MEAN], row.scores[MEAN])
            axes.errorbar(
                [row.seconds / divisor],
                [row.scores[MEAN]],
                yerr=[[row.scores[MEAN] - bounds[0]], [bounds[1] - row.scores[MEAN]]],
                fmt="o" if system.objective == "cbow" else "s",
                markersize=8,
                color=_choose_colour(results, system),
                ecolor=(*_parse_colour(_choose_colour(results, system)), 0.35),
                elinewidth=1.2,
            )
        axes.set_xscale("log")
        axes.margins(x=0.18, y=0.12)
        _set_plain_ticks(axes.xaxis)
        axes.set(xlabel=f"training time, {unit}", ylabel="mean score × 100")
        axes.set_title("Quality against time (○ CBOW, □ skip-gram; bars: 95 % interval over items)")
        _label_points(axes, rows, divisor)
        return save_figure(figure, folder / QUALITY_NAME)


def _draw_lines(axes: Any, results: Results, objective: str, divisor: float) -> None:
    """Draw time by threads, a line per system: one colour per implementation, one marker per variant of it."""
    seen: dict[str, int] = {}
    for system in results.systems:
        rows = [row for row in results.summarise() if row.system == system.id]
        if system.objective != objective or not rows:
            continue
        variant = seen[system.implementation] = seen.get(system.implementation, -1) + 1
        axes.errorbar(
            [row.threads for row in rows],
            [row.seconds / divisor for row in rows],
            yerr=_compute_ranges(rows, divisor),
            color=_choose_colour(results, system),
            marker=MARKS[variant % len(MARKS)],
            linestyle=("-", "--", ":", "-.")[variant % 4],
            capsize=2,
            label=system.name,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(results.threads, [str(threads) for threads in results.threads], minor=False)
    axes.minorticks_off()
    _set_plain_ticks(axes.yaxis)
    axes.set(xlabel="threads", title=OBJECTIVE_NAMES[objective])
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize=8.5)


def _draw_bars(axes: Any, results: Results, objective: str, divisor: float) -> None:
    rows = [row for row in results.summarise() if _find_system(results, row).objective == objective]
    rows.sort(key=lambda row: row.seconds)
    places = list(range(len(rows)))
    colours = [_choose_colour(results, _find_system(results, row)) for row in rows]
    axes.barh(places, [row.seconds / divisor for row in rows], color=colours, height=0.68)
    if any(row.repeats > 1 for row in rows):
        axes.errorbar(
            [row.seconds / divisor for row in rows],
            places,
            xerr=_compute_ranges(rows, divisor),
            fmt="none",
            ecolor=INK,
            capsize=3,
        )
    for place, row in zip(places, rows, strict=True):
        axes.annotate(
            _format_three_digits(row.seconds / divisor),
            (row.slowest / divisor, place),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.set_yticks(places, [row.name for row in rows])
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.margins(x=0.1)
    axes.set_title(OBJECTIVE_NAMES[objective])


def _label_points(axes: Any, rows: Sequence[SummaryRow], divisor: float) -> None:
    """Write names beside the points, towards the middle if possible, without touching points or other names."""
    axes.figure.draw_without_rendering()  # places on the page are known only after drawing
    scale = 72 / axes.figure.dpi
    least, middle, most = (axes.transAxes.transform((part, 0))[0] * scale for part in (0, 0.6, 1))
    spots = [axes.transData.transform((row.seconds / divisor, row.scores[MEAN])) * scale for row in rows]
    taken = [(x - 6, x + 6, y) for x, y in spots]  # left, right and height of the points and of the labels so far

    def is_free(left: float, right: float, height: float) -> bool:
        touched = (left < b and right > a and abs(height - y) < LINE_HEIGHT for a, b, y in taken)
        return least <= left and right <= most and not any(touched)

    for (x, y), row in sorted(zip(spots, rows, strict=True), key=lambda pair: float(pair[0][1])):
        side, width = (-1 if x > middle else 1), LETTER_WIDTH * len(row.name)
        places = [(each, step) for step in sorted(range(-9, 10), key=abs) for each in (side, -side)]
        for each, step in places:
            left, height = x + 8 if each > 0 else x - 8 - width, y + step * LINE_HEIGHT
            if is_free(left, left + width, height):
                break
        else:
            each, left, height = side, x + 8 if side > 0 else x - 8 - width, y
        taken.append((left, left + width, height))
        axes.annotate(
            row.name,
            (row.seconds / divisor, row.scores[MEAN]),
            xytext=(8 * each, height - y),
            textcoords="offset points",
            ha="left" if each > 0 else "right",
            va="center",
            fontsize=9,
        )


def _format_three_digits(value: float) -> str:
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def _compute_ranges(rows: Sequence[SummaryRow], divisor: float) -> list[list[float]]:
    below = [(row.seconds - row.fastest) / divisor for row in rows]
    return [below, [(row.slowest - row.seconds) / divisor for row in rows]]


def _choose_unit(rows: Sequence[SummaryRow]) -> tuple[float, str]:
    longest = max(row.seconds for row in rows)
    return next((divisor, name) for least, divisor, name in TIME_UNITS if longest >= least)


def _find_system(results: Results, row: SummaryRow) -> System:
    return next(system for system in results.systems if system.id == row.system)


def _choose_colour(results: Results, system: System) -> str:
    """Choose one colour per implementation, the same in every plot: mumon first, then the known peers, then others."""
    known = dict.fromkeys(["mumon", *DISTRIBUTIONS, *(each.implementation for each in results.systems)])
    return COLOURS[list(known).index(system.implementation) % len(COLOURS)]


def _parse_colour(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)  # type: ignore[no-any-return]


def _set_plain_ticks(axis: Any) -> None:
    """Label a logarithmic axis with 1, 1.5, 2, 3, 5, 7, 10 and so on, as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
