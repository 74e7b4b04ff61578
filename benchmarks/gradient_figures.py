"""The figure of docs/explanation/gradient.md, from the equations of kernels/reference.py.

    python benchmarks/gradient_figures.py

For windows of random words in random matrices: the cosine of the faulty update and the gradient of CBOW's loss, and
the lengths of their steps in the source rows, for windows of 1 … 40 context words.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from mumon.experiments.paper.cosines import cosine
from mumon.experiments.plot_style import COLOURS, STYLE, save_figure
from mumon.kernels.reference import cbow_gradient

STEM = Path(__file__).parent.parent / "docs" / "images" / "gradient"
CONTEXTS = (1, 2, 3, 5, 8, 12, 20, 30, 40)
WORDS, DIMENSIONS, WINDOWS = 80, 100, 40


def measure(contexts: int, negative: int, windows: int = WINDOWS, seed: int = 1) -> tuple[float, float, float]:
    """Average over windows the cosine of the two updates, and the lengths of the correct and faulty source steps."""
    random = np.random.default_rng([seed, contexts, negative])
    found = []
    for _ in range(windows):
        source, target = random.normal(0, 1 / np.sqrt(DIMENSIONS), (2, WORDS, DIMENSIONS))
        centre, *words = random.permutation(WORDS)[: 1 + contexts + negative].tolist()
        window = (source, target, centre, words[:contexts], words[contexts:], [1.0] * negative)
        correct, faulty = (cbow_gradient(*window, update=update) for update in ("correct", "faulty"))
        a, b = (np.concatenate([part.ravel() for part in update]) for update in (correct, faulty))
        lengths = [float(np.linalg.norm(update[0])) for update in (correct, faulty)]
        found.append((float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)), *lengths))
    cos, short, long = np.mean(found, axis=0).tolist()
    return cos, short, long


def draw(stem: Path) -> list[Path]:
    """Draw both panels."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    C = np.array(CONTEXTS)
    smooth = np.linspace(1, C[-1], 200)
    with plt.rc_context(STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
        for negative, colour, mark, size in ((5, COLOURS[0], "o", 9), (20, COLOURS[1], "s", 4)):
            measured = np.array([measure(int(c), negative) for c in C])
            left.plot(smooth, cosine(smooth, negative), color=colour, linewidth=1, linestyle="--")
            left.plot(C, measured[:, 0], mark, color=colour, markersize=size, label=f"k = {negative}")
        left.plot([], [], "--", color="#666666", linewidth=1, label="closed form")
        left.set(title="Cosine of faulty update and gradient", xlabel="context words C", ylim=(0.5, 1.02))
        left.legend(loc="lower right")
        measured = np.array([measure(int(c), 5) for c in C])
        for column, name, colour, mark in ((2, "faulty", COLOURS[1], "s"), (1, "correct", COLOURS[0], "o")):
            right.plot(C, measured[:, column], color=colour, marker=mark, label=name)
        right.set(title="Length of the step in the source rows, k = 5", xlabel="context words C")
        right.set(xscale="log", yscale="log", xticks=(1, 2, 5, 10, 20, 40), yticks=(0.2, 0.5, 1, 2, 5))
        for axis in (right.xaxis, right.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_locator(plt.NullLocator())
        right.legend(loc="upper left")
        paths = save_figure(figure, stem)
        plt.close(figure)
    return paths


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=STEM, help="where to write, without .png and .svg")
    for path in draw(parser.parse_args().output):
        print(path)
