"""What CBOW with positions learns: how much each place of the window counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.experiments.paper.experiment_context import ExperimentContext, LabelledProgress, Part
from mumon.experiments.paper.results import Cell, Figure, Item, Section, Table, Verdict
from mumon.experiments.paper.runs import POSITIONS
from mumon.experiments.position_plot import draw_position_weights, label_positions
from mumon.word2vec import Word2Vec

WINDOWS = (2, 8)  # times the usual window
MOST_GROUPS = 16  # on each side: more than any window here has


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Train CBOW with positions at two windows, with a weight for every group of distances, and keep the weights."""
    part = context.part(context.scale.table_sentences)
    models = [_measure_weights(context, part, times * context.scale.window) for times in WINDOWS]
    return {"sentences": part.sentences, "tokens": part.tokens, "dim": context.scale.dim, "models": models}


def _measure_weights(context: ExperimentContext, part: Part, window: int) -> dict[str, Any]:
    options = {**context.options(window=window), "positions": MOST_GROUPS}

    def train() -> dict[str, Any]:
        reporter = LabelledProgress(context.progress, f"{context.label}, window {window}")
        model = Word2Vec(part.corpus, seed=1, workers=context.threads, progress=reporter, **options)
        assert model.position_weights is not None
        return {"window": window, "rate": model.alpha, "weights": np.round(model.position_weights, 4).tolist()}

    return context.measure_once("positions", context.list_inputs(POSITIONS, part, 1, options), train)


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: the weights as a table and as a picture."""
    models = [(np.array(model["weights"]), model["window"]) for model in data["models"]]
    windows = " and ".join(str(window) for _, window in models)
    return Section(
        "How far context reaches",
        "Beyond the paper: with positions, CBOW learns a weight vector for each group of distances on each side of the "
        "centre word (1, 2, 3–4, 5–8 …), the same for all words; plain CBOW has weights of 1 everywhere. "
        f"{data['sentences']:,} sentences ({data['tokens'] / 1e6:.1f} M words), {data['dim']} dimensions, windows of "
        f"{windows} words, the default rate, one seed.",
        [_judge(models)],
        [_build_table(weights, window) for weights, window in models],
        [
            Figure(
                "positions",
                "Left: the mean weight of each place (dot), and the middle half and middle 80 % of the columns. Right: "
                "every column.",
                lambda figure: draw_position_weights(figure, models),
                size=(10.0, 3.6 * len(models)),
            )
        ],
    )


def _judge(models: list[tuple[NDArray[Any], int]]) -> Verdict:
    """Judge whether weights fall with the distance, on both sides and at all windows."""
    falls = []
    for weights, _ in models:
        means, half = weights.mean(axis=1), len(weights) // 2
        falls += [np.diff(means[half:]), np.diff(means[:half][::-1])]
    ours = "; ".join(
        f"window {window}: " + ", ".join(f"{label} {row.mean():.2f}" for label, row in _list_rows(weights, window))
        for weights, window in models
    )
    holds = all(bool((steps < 0).all()) for steps in falls)
    return Verdict(
        "The further a word is from the centre, the less it counts.",
        "does not say; windows of random width have the same effect",
        f"mean weights at {ours}",
        "holds" if holds else "does not hold",
        "us",
    )


def _list_rows(weights: NDArray[Any], window: int) -> list[tuple[str, NDArray[Any]]]:
    return list(zip(label_positions(len(weights), window), weights, strict=True))


def _build_table(weights: NDArray[Any], window: int) -> Table:
    rows: list[list[Cell]] = [
        [label, f"{row.mean():.2f}", *(f"{value:.2f}" for value in np.percentile(row, [10, 50, 90]))]
        for label, row in _list_rows(weights, window)
    ]
    columns = ["place", "mean", "10 % of the columns are below", "median", "10 % are above"]
    return Table(f"positions-{window}", f"Weights of places, window {window}", columns, rows)


ITEM = Item("positions", "the weights that CBOW learns for places of the window", measure, build_section)
