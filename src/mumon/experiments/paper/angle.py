"""The angle between the faulty update and the gradient: in closed form, and on real windows during training."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from mumon import __version__
from mumon.experiments.paper.cosines import (
    Array,
    add_noise_words,
    cosine,
    draw_windows,
    find_least_cosine,
    measure_batch_cosines,
)
from mumon.experiments.paper.experiment_context import ExperimentContext, LabelledProgress, Part
from mumon.experiments.paper.figures import SYSTEM_COLOURS
from mumon.experiments.paper.intervals import Estimate
from mumon.experiments.paper.results import Figure, Item, Section, Table, Verdict, judge_at_least
from mumon.experiments.paper.runs import SOURCE_OPTIONS
from mumon.word2vec import Word2Vec

HEAT_MAP_LIMIT = 1000  # of C and k in the heat map, as in the paper's figure
BATCHES = (1, 10, 100, 1000)  # windows whose gradients are summed before the angle is taken
PAPER_COSINES = {"C = k = 5": 0.82, "least for C, k ≤ 20": 0.68, "least in the figure": 0.303}
TOLERANCE = 0.005
OTHER_DIRECTION = 0.95  # a mean cosine below this is another direction
UPDATES = ("correct", "faulty")


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Compute the closed form where the paper states it, and measure cosines of gradients after every epoch."""
    forms = {
        "C = k = 5": float(cosine(5, 5)),
        "least for C, k ≤ 20": find_least_cosine(20)[0],
        "least in the figure": find_least_cosine(HEAT_MAP_LIMIT)[0],
    }
    part = context.part(context.scale.angle_sentences)
    inputs = {
        "corpus": part.digest,
        "options": context.options(),
        "windows": context.scale.angle_windows,
        "batches": BATCHES,
    }
    inputs |= {"version": __version__, "models": "one for every k"}
    measured = context.measure_once("angle", inputs, lambda: _measure_cosines(context, part))
    return {
        "forms": forms,
        "places": {"20": find_least_cosine(20)[1:], str(HEAT_MAP_LIMIT): find_least_cosine(HEAT_MAP_LIMIT)[1:]},
        **measured,
    }


def _measure_cosines(context: ExperimentContext, part: Part) -> dict[str, Any]:
    """Measure after every epoch, for the usual number of noise words and four times as many, on the same windows."""
    rows: list[dict[str, Any]] = []
    ks = (context.scale.negative, 4 * context.scale.negative)
    for update, k in product(UPDATES, ks):
        label = f"{context.label}, {update}, k = {k}"
        options = {"total_epochs": context.scale.epochs, "workers": context.threads, **context.options(negative=k)}
        options |= SOURCE_OPTIONS  # gradients are taken at the source vectors
        model = Word2Vec(update=update, exact=True, progress=LabelledProgress(context.progress, label), **options)  # type: ignore[arg-type]
        model.build_vocab(part.corpus)
        for epoch in range(1, context.scale.epochs + 1):
            model.train(part.corpus, epochs=1)
            windows = draw_windows(model, part, context.scale.angle_windows, seed=epoch)
            noisy = add_noise_words(model, windows, k, seed=epoch)
            rows += [
                {"update": update, "epoch": epoch, "k": k, "batch": batch}
                | _summarise(measure_batch_cosines(model, noisy, batch), len(noisy))
                for batch in BATCHES
                if batch <= len(noisy)
            ]
        context.progress.finish(f"{label}: gradients of {len(windows):,} windows after every epoch")
    sizes = np.array([len(words) for _, words in windows])
    settings = {"sentences": part.sentences, "tokens": part.tokens, "epochs": context.scale.epochs, "k": ks[0]}
    closed = {str(k): float(np.mean(cosine(sizes, k))) for k in ks}
    return {**settings, "mean_contexts": float(sizes.mean()), "closed": closed, "rows": rows}


def _summarise(values: Array, windows: int) -> dict[str, float]:
    low, high = np.quantile(values, [0.025, 0.975])
    error = 1.96 * float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return {"mean": float(values.mean()), "error": error, "low": float(low), "high": float(high), "windows": windows}


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: the closed form beside the paper's values, and the measured cosines."""
    last = [row for row in data["rows"] if row["epoch"] == data["epochs"]]
    return Section(
        "The angle between the faulty update and the gradient",
        "If every row that a window touches has a gradient of one norm, the cosine between the faulty update and the "
        "gradient is (C² + k + 1) / √((C³ + k + 1)(C + k + 1)) for C context words and k noise words. The paper "
        f"derives it; here it is also measured, on {last[0]['windows']:,} windows as training sees them (first "
        f"{data['sentences']:,} sentences, one SGD step per window), after each of {data['epochs']} epochs of both "
        "updates, for models trained and measured with the usual k and others with four times as many noise words, at "
        "their default rates. ± is the 95 % interval of a mean over windows, taken as independent.",
        _judge(data, last),
        [_build_closed_table(data), _build_measured_table(data)],
        [
            Figure("angle-closed", f"The closed form for C and k up to {HEAT_MAP_LIMIT:,}.", _draw_closed, (6.4, 4.8)),
            Figure(
                "angle-measured",
                "Measured cosines after each epoch (means, and 95 % of single windows).",
                lambda figure: _draw_measured(figure, data),
            ),
        ],
        ["The rows' gradients are not of one norm, so the closed form need not be the mean that is measured."],
    )


def _judge(data: dict[str, Any], last: list[dict[str, Any]]) -> list[Verdict]:
    gaps = [abs(data["forms"][name] - value) for name, value in PAPER_COSINES.items()]
    found = {(row["update"], row["batch"], row["k"]): row for row in last}
    (small, large), most = sorted({row["k"] for row in last}), max(row["batch"] for row in last)
    one, more = ({update: found[update, 1, k] for update in UPDATES} for k in (small, large))
    falls = {judge_at_least(_estimate_fall(one[update], more[update])) for update in UPDATES}
    return [
        Verdict(
            f"The closed form has the paper's values (within {TOLERANCE}).",
            ", ".join(f"{name}: {value}" for name, value in PAPER_COSINES.items()),
            ", ".join(f"{name}: {value:.3f}" for name, value in data["forms"].items()),
            "holds" if max(gaps) <= TOLERANCE else "does not hold",
        ),
        Verdict(
            f"The faulty update points elsewhere than the gradient (a mean cosine below {OTHER_DIRECTION}).",
            "derived for rows of equal norm; not measured",
            f"on single windows after training with k = {small} the mean cosine is "
            + " and ".join(f"{_format_cosine(row)} with the {update} update" for update, row in one.items())
            + f" (closed form, averaged over the same windows: {data['closed'][str(small)]:.3f}); over batches of "
            f"{most:,} windows " + " and ".join(f"{found[update, most, small]['mean']:.3f}" for update in UPDATES),
            "holds" if all(row["mean"] + row["error"] < OTHER_DIRECTION for row in one.values()) else "does not hold",
        ),
        Verdict(
            "Training with more noise words turns it further away, whichever update trains.",
            "the closed form falls with k until k = C² − 1",
            "; ".join(
                f"{update}: {_format_cosine(one[update])} at k = {small}, {_format_cosine(more[update])} at k = {large}"
                for update in UPDATES
            )
            + f" (closed form: {data['closed'][str(small)]:.3f} and {data['closed'][str(large)]:.3f})",
            falls.pop() if len(falls) == 1 else "undecided",  # the two updates disagree
        ),
    ]


def _estimate_fall(one: dict[str, Any], more: dict[str, Any]) -> Estimate:
    """Estimate how far the mean cosine falls from one row to another."""
    fall, error = one["mean"] - more["mean"], (one["error"] ** 2 + more["error"] ** 2) ** 0.5
    return Estimate(fall, fall - error, fall + error)


def _format_cosine(row: dict[str, Any]) -> str:
    return f"{row['mean']:.3f} ± {row['error']:.3f}"


def _build_closed_table(data: dict[str, Any]) -> Table:
    places = {
        "C = k = 5": (5, 5),
        "least for C, k ≤ 20": data["places"]["20"],
        "least in the figure": data["places"][str(HEAT_MAP_LIMIT)],
    }
    rows = [[name, *places[name], round(value, 3), PAPER_COSINES[name]] for name, value in data["forms"].items()]
    return Table("angle-closed", "Closed form", ["", "C", "k", "here", "paper"], rows)


def _build_measured_table(data: dict[str, Any]) -> Table:
    columns = [
        "update in training",
        "after epoch",
        "k",
        "windows per batch",
        "mean cosine",
        "± (95 %)",
        "2.5 %",
        "97.5 %",
    ]
    rows = [
        [
            row["update"],
            row["epoch"],
            row["k"],
            row["batch"],
            *(round(row[name], 4) for name in ("mean", "error", "low", "high")),
        ]
        for row in data["rows"]
    ]
    return Table("angle-measured", "Measured cosines", columns, rows)


def _draw_closed(figure: Any) -> None:
    axes = figure.add_subplot()
    steps = np.unique(np.geomspace(1, HEAT_MAP_LIMIT, 160).round()).astype(int)
    values = cosine(steps[:, None], steps[None])
    mesh = axes.pcolormesh(steps, steps, values, cmap="cividis", vmin=0.3, vmax=1, shading="nearest", rasterized=True)
    lines = axes.contour(steps, steps, values, levels=[0.4, 0.5, 0.6, 0.7, 0.8, 0.9], colors="white", linewidths=0.8)
    axes.clabel(lines, fontsize=8)
    for (C, k), name in (
        ((5, 5), "0.82"),
        ((find_least_cosine(20)[1], 20), "0.68"),
        (find_least_cosine(HEAT_MAP_LIMIT)[1:], "0.303"),
    ):
        axes.plot([k], [C], "o", color="white", markeredgecolor="black")
        axes.annotate(
            name, (k, C), xytext=(-6, 6), textcoords="offset points", color="white", ha="right", fontweight="bold"
        )
    axes.set(xscale="log", yscale="log", xlabel="noise words k", ylabel="context words C", title="Cosine, closed form")
    axes.grid(False)
    figure.colorbar(mesh, ax=axes, label="cosine")


def _draw_measured(figure: Any, data: dict[str, Any]) -> None:
    ks = sorted({row["k"] for row in data["rows"]})
    panels = figure.subplots(1, len(ks), sharey=True, squeeze=False)[0]
    for axes, k in zip(panels, ks, strict=True):
        for update in UPDATES:
            for batch, style in zip((1, max(row["batch"] for row in data["rows"])), ("-", ":"), strict=True):
                rows = [r for r in data["rows"] if (r["update"], r["k"], r["batch"]) == (update, k, batch)]
                epochs = [row["epoch"] for row in rows]
                name = f"{update}, {'single windows' if batch == 1 else f'batches of {batch:,}'}"
                axes.plot(
                    epochs,
                    [row["mean"] for row in rows],
                    "o",
                    linestyle=style,
                    color=SYSTEM_COLOURS[update],
                    label=name,
                )
                if batch == 1:
                    axes.fill_between(epochs, [r["low"] for r in rows], [r["high"] for r in rows], alpha=0.12,
                                      color=SYSTEM_COLOURS[update], linewidth=0)  # fmt: skip
        axes.axhline(data["closed"][str(k)], color="#333333", linestyle="--", linewidth=1, label="closed form")
        axes.set(title=f"k = {k}", xlabel="after epoch", ylim=(0, 1.02))
        axes.set_xticks(range(1, data["epochs"] + 1))
    panels[0].set_ylabel("cosine of faulty update and gradient")
    panels[0].legend(fontsize=8, loc="lower left")


ITEM = Item("angle", "the angle between the faulty update and the gradient", measure, build_section)
