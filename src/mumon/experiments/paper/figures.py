"""Common parts of the plots of the report. Needs matplotlib, which the extra `mumon[paper]` installs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mumon.experiments.paper.intervals import Estimate
from mumon.experiments.plot_style import COLOURS

# One colour per way to train, the same in every figure.
SYSTEM_COLOURS = {"correct": COLOURS[0], "faulty": COLOURS[1], "SG": COLOURS[2], "positions": COLOURS[3]}


def draw_curve(axes: Any, x: Sequence[float], estimates: Sequence[Estimate], name: str, colour: str) -> None:
    """Draw a line through estimates and the band of their intervals.

    Parameters
    ----------
    axes
        Axes of matplotlib.
    x, estimates
        The points.
    name, colour
        Label and colour of the line.
    """
    axes.plot(x, [each.value for each in estimates], "o-", color=colour, label=name)
    low, high = [each.low for each in estimates], [each.high for each in estimates]
    axes.fill_between(x, low, high, color=colour, alpha=0.16, linewidth=0)


def draw_intervals(axes: Any, x: Sequence[float], estimates: Sequence[Estimate], **style: Any) -> None:
    """Draw points with their intervals.

    Parameters
    ----------
    axes
        Axes of matplotlib.
    x, estimates
        The points.
    **style
        Options of `axes.errorbar`.
    """
    below, above = [e.value - e.low for e in estimates], [e.high - e.value for e in estimates]
    axes.errorbar(x, [e.value for e in estimates], yerr=[below, above], capsize=3, **style)


def label_log_axis(axis: Any, ticks: Sequence[float]) -> None:
    """Label a logarithmic axis with plain numbers at these ticks."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_tick(value)))


def format_tick(value: float) -> str:
    """Format a number for a tick.

    >>> format_tick(0.075), format_tick(44_000), format_tick(64_650_000)
    ('0.075', '44 k', '64.7 M')
    """
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    return f"{value / 1e3:.3g} k" if value >= 1e4 else f"{value:g}"
