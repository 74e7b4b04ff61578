"""The style of all plots of mumon. Needs matplotlib, which the extra `mumon[plot]` installs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mumon.utils.atomic import atomic_file

FORMATS = ("png", "svg")
# Okabe and Ito's colours, which can be distinguished with any kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#666666", "#8B6914")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<")
INK, PALE, GRID = "#333333", "#c9c9c9", "#e6e6e6"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": INK,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "mumon",  # the same curve is the same file
}


def save_figure(figure: Any, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG, each whole or not at all.

    Parameters
    ----------
    figure
        A figure of matplotlib.
    stem
        The path without an ending.

    Returns
    -------
    list of Path
        Both files.
    """
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in FORMATS]
    for path, kind in zip(paths, FORMATS, strict=True):
        with atomic_file(path) as file:
            figure.savefig(file, format=kind, dpi=160, metadata={"Date": None} if kind == "svg" else None)
    return paths
