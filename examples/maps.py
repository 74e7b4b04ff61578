"""Plots of the examples: vectors on a plane, coloured by kind. Needs matplotlib (`mumon[plot]`)."""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np

from mumon.experiments.plot_style import COLOURS, INK, PALE

HALO = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 1.5}


def require_matplotlib() -> None:
    """End the program with one sentence if matplotlib is missing: before the work, not after it."""
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError as error:
        raise SystemExit(f"the picture needs matplotlib ({error}); pip install 'mumon[plot]'") from None


def project_to_plane(vectors: np.ndarray, quick: bool = False) -> np.ndarray:
    """Compute two numbers for each row: by scikit-learn's t-SNE or, `quick` or without it, principal components."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    if quick or importlib.util.find_spec("sklearn") is None:
        centred = unit - unit.mean(axis=0)
        return centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    from sklearn.manifold import TSNE

    return TSNE(init="pca", metric="cosine", random_state=1).fit_transform(unit)


def draw_map(axes, spots: np.ndarray, kinds: np.ndarray, counts: np.ndarray, labels: dict[int, str]) -> None:
    """Draw a dot per row, larger for frequent ones; `labels` names some dots, and kinds have their name in the middle.

    Only the kinds with the most dots have a colour, and only kinds with ten or more dots have their name.
    """
    names, sizes = np.unique(kinds[kinds != ""], return_counts=True)
    coloured = sorted(names[np.argsort(-sizes, kind="stable")][: len(COLOURS)])
    others = ~np.isin(kinds, coloured)
    area = 60 * np.sqrt(counts / counts.max()) + 8
    axes.scatter(*spots[others].T, s=area[others], color=PALE, alpha=0.7, linewidths=0)
    for kind, colour in zip(coloured, COLOURS, strict=False):
        axes.scatter(*spots[kinds == kind].T, s=area[kinds == kind], color=colour, alpha=0.65, linewidths=0)
    for row, label in labels.items():
        axes.annotate(label, spots[row], (3, 2), textcoords="offset points", color=INK, fontsize=7, alpha=0.8)
    for kind in names[sizes >= 10]:
        weight, size = ("bold", 10) if kind in coloured else ("normal", 8)
        middle = np.median(spots[kinds == kind], axis=0)
        axes.text(*middle, kind, color=INK, fontweight=weight, fontsize=size, ha="center", va="center", bbox=HALO)
    axes.grid(visible=False)
    axes.set(xticks=[], yticks=[])


def draw_bars(axes, shares: dict[str, float]) -> None:
    """Draw shares as bars, in per cent; mumon and gensim have a colour."""
    colours = {"mumon": COLOURS[0], "gensim": COLOURS[1]}
    values = [100 * share for share in shares.values()]
    bars = axes.barh(list(shares), values, height=0.6, color=[colours.get(name, PALE) for name in shares])
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xticks=[], xlim=(0, 1.18 * max(values)))
