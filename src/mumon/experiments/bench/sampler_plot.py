"""The plot of the sampler benchmark. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mumon.experiments.plot_style import COLOURS, MARKS, STYLE, save_figure

PLOT_NAME = "sampler"
PANELS = {
    "draw_seconds": "Time to draw, seconds",
    "build_seconds": "Time to build, seconds",
    "largest_error": "Largest relative error of a probability",
}
LEAST = 1e-16  # shown in place of zero on a logarithmic axis


def draw_samplers(results: dict[str, Any], folder: Path) -> list[Path]:
    """Draw sampler.png and .svg: a panel per quantity, a line per sampler, against the size of the vocabulary."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(11.5, 3.9), layout="constrained")
        draw_panels(figure, results)
        return save_figure(figure, folder / PLOT_NAME)


def draw_panels(figure: Any, results: dict[str, Any]) -> None:
    """The panels, into a figure of matplotlib's."""
    names = list(dict.fromkeys(row["sampler"] for row in results["rows"]))
    panels = figure.subplots(1, len(PANELS))
    for axes, (field, title) in zip(panels, PANELS.items(), strict=True):
        for place, name in enumerate(names):
            rows = [row for row in results["rows"] if row["sampler"] == name]
            axes.plot(
                [row["words"] for row in rows],
                [max(row[field], LEAST) for row in rows],
                color=COLOURS[place],
                marker=MARKS[place],
                label=name,
            )
        axes.set(xscale="log", yscale="log", xlabel="words in the vocabulary", title=title)
    panels[0].set_title(f"Time for {_short(results['draws'])} draws, seconds")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))


def _short(count: int) -> str:
    return f"{count / 1e6:g} M" if count >= 1e6 else f"{count:,}"
