"""The weights that CBOW learns for positions, as a picture: how far context reaches, and how columns share it out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.experiments.plot_style import COLOURS, INK, STYLE
from mumon.training.objectives import list_position_groups
from mumon.utils.atomic import atomic_file

ENDINGS = (".png", ".svg", ".pdf")
MOST_SHOWN = 2.5  # a weight whose colour is the darkest
MOST_LEVEL_LABELS = 8  # more would overlap


def label_positions(rows: int, window: int) -> list[str]:
    """Label the groups of positions in the order of the text; words to the left of the centre have a minus.

    >>> label_positions(6, 10)
    ['−10…3', '−2', '−1', '+1', '+2', '+3…10']
    """
    labels = []
    for side, first, last in list_position_groups(rows, window):
        near, far = (last, first) if side == "left" else (first, last)
        labels.append(f"{'−' if side == 'left' else '+'}{near}" + (f"…{far}" if first != last else ""))
    return labels


def save_position_plot(path: str, weights: NDArray[Any], window: int) -> None:
    """Draw the weights of one model into a file.

    Parameters
    ----------
    path
        The file; its ending says what kind of picture it is.
    weights, window
        Of the model: a row for each group of positions, and the most words to each side.

    Raises
    ------
    OptionError
        If the ending is unknown, or matplotlib is not installed.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise OptionError(f"{path!r} has none of the {len(ENDINGS)} endings of pictures; use {', '.join(ENDINGS)}")
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise OptionError("1 package is missing to draw weights, matplotlib; pip install 'mumon[plot]'") from None
    with rc_context(STYLE), atomic_file(path) as file:
        figure = Figure(figsize=(10, 3.6), layout="constrained")
        draw_position_weights(figure, [(weights, window)])
        figure.savefig(file, format=ending[1:], dpi=160)


def draw_position_weights(figure: Any, models: Sequence[tuple[NDArray[Any], int]]) -> None:
    """Draw the weights of each model: their means and spread by position, and every column.

    Parameters
    ----------
    figure
        A figure of matplotlib.
    models
        The weights of a model, a row for each group of positions, and its window.
    """
    panels = figure.subplots(len(models), 2, squeeze=False, width_ratios=[1, 1.3])
    for (left, right), (weights, window) in zip(panels, models, strict=True):
        labels = label_positions(len(weights), window)
        _draw_spread(left, np.asarray(weights), labels)
        left.set(title=f"Window {window}: weights over the columns")
        image = _draw_columns(right, np.asarray(weights), labels)
        right.set(title="Every column, ordered by which neighbour it prefers")
        figure.colorbar(image, ax=right, shrink=0.9)


def _draw_spread(axes: Any, weights: NDArray[Any], labels: list[str]) -> None:
    """Draw the mean weight of each group, with the middle half and the middle 80 % of its columns."""
    places = np.arange(len(weights))
    for low, high, width in ((10, 90, 3), (25, 75, 8)):
        ends = np.percentile(weights, [low, high], axis=1)
        axes.vlines(places, *ends, color=COLOURS[0], linewidth=width, alpha=0.35)
    axes.plot(places, weights.mean(axis=1), "o", color=COLOURS[0], markersize=7)
    axes.axhline(1, color=INK, linewidth=1, linestyle=":")
    axes.axvline(len(weights) / 2 - 0.5, color="#999999", linewidth=1)
    axes.set_xticks(places, labels, fontsize=8, rotation=45 if len(labels) > MOST_LEVEL_LABELS else 0)
    axes.set(ylabel="weight", xlabel="place of the context word")


def _draw_columns(axes: Any, weights: NDArray[Any], labels: list[str]) -> Any:
    """Draw every weight as a colour, columns in the order of what they prefer of the two neighbours."""
    half = len(weights) // 2
    order = np.argsort(weights[half] - weights[half - 1])
    image = axes.imshow(
        weights[:, order], aspect="auto", cmap="RdBu_r", vmin=2 - MOST_SHOWN, vmax=MOST_SHOWN, interpolation="nearest"
    )
    axes.set_yticks(np.arange(len(weights)), labels, fontsize=8)
    axes.set(xlabel="column of the vectors")
    axes.grid(False)
    return image
