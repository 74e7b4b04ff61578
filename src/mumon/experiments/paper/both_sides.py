"""Both sides of the model: are source + λ × target vectors better than the source vectors alone, and for whom?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mumon.evaluation.tasks import MEAN
from mumon.experiments.paper.experiment_context import ExperimentContext, Part
from mumon.experiments.paper.figures import SYSTEM_COLOURS, draw_curve
from mumon.experiments.paper.intervals import Estimate, estimate_differences, estimate_score
from mumon.experiments.paper.published import PAPER_ROWS, TABLE_1, TABLE_1_RATES, quote_table_1
from mumon.experiments.paper.results import (
    MARGIN,
    Cell,
    Figure,
    Item,
    Outcome,
    Section,
    Table,
    Verdict,
    format_difference,
    format_gap,
    format_score,
    judge_at_least,
    nan_to_none,
)
from mumon.experiments.paper.runs import POSITIONS, TrainedRun
from mumon.experiments.paper.sides import (
    WEIGHTS,
    SideSweep,
    choose_weight,
    label_default,
    sweep_sides,
    train_default,
    train_side_seeds,
)
from mumon.experiments.paper.sweeps import RATE_STEP

SYSTEMS = ("CBOW correct", "CBOW faulty", "SG", POSITIONS)
# The first and the second, which may be better.
PAIRS = (
    ("SG", "CBOW correct"),
    ("CBOW faulty", "CBOW correct"),
    ("SG", "CBOW faulty"),
    ("SG", POSITIONS),
    ("CBOW correct", POSITIONS),
)
SOURCE = 0.0  # the λ of source vectors alone
DEFAULT = "default"  # mumon's, beside the systems at their best
ByWeight = Mapping[float, list[TrainedRun]]


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Choose rate and λ of every system on the dev halves, and compare other seeds on the test halves."""
    part = context.part(context.scale.table_sentences)
    swept, found = train_all(context, part)
    default = train_default(context, part, context.scale.seeds)
    own = {system: found[system][choose_weight(found[system])] for system in SYSTEMS}
    source = {system: found[system][SOURCE] for system in SYSTEMS}
    return {
        "sentences": part.sentences,
        "tokens": part.tokens,
        "dim": context.scale.dim,
        "tasks": context.task_names,
        "weights": list(WEIGHTS),
        "rows": [_build_row(context, system, swept[system], found[system]) for system in SYSTEMS],
        "default": {
            **default.to_json(),
            "tasks": {task: _average(default.runs, task) for task in context.task_names},
            **estimate_score(context, default.runs).to_json(),
        },
        "own": [_compare(context, a, b, own) for a, b in PAIRS],
        "source": [_compare(context, a, b, source) for a, b in PAIRS],
        "less": [_compare(context, a, DEFAULT, {**own, DEFAULT: default.runs}) for a in SYSTEMS],
    }


def train_all(context: ExperimentContext, part: Part) -> tuple[dict[str, SideSweep], dict[str, ByWeight]]:
    """Sweep every system, and train its best window and rate again with other seeds.

    Parameters
    ----------
    context, part
        What trains, and on which text.

    Returns
    -------
    tuple
        The sweep of each system, and its runs by λ.
    """
    swept = {system: sweep_sides(context, system, part) for system in SYSTEMS}
    seeds = context.scale.seeds
    return swept, {s: train_side_seeds(context, s, part, swept[s].rate, swept[s].window, seeds) for s in SYSTEMS}


def _build_row(context: ExperimentContext, system: str, swept: SideSweep, runs: ByWeight) -> dict[str, Any]:
    own = choose_weight(runs)
    gains = {weight: estimate_differences(context, runs[SOURCE], runs[weight]) for weight in WEIGHTS}
    return {
        "system": system,
        "rate": swept.rate,
        "window": swept.window,
        "inside": swept.inside,
        "windows": {
            str(window): {"rate": each.rate, "dev": nan_to_none(each.best.mean("dev"))}
            for window, each in swept.swept.items()
        },
        "weight": own,
        "seeds": len(runs[SOURCE]),
        "norms": np.mean([run.record["norms"] for run in runs[SOURCE]], axis=0).tolist(),
        "gain": {name: gain.to_json() for name, gain in gains[own].items()},
        "points": [
            {
                "weight": weight,
                "dev": nan_to_none(float(np.mean([run.mean("dev") for run in runs[weight]]))),
                "tasks": {task: _average(runs[weight], task) for task in context.task_names},
                "gain": gains[weight][MEAN].to_json(),
                **estimate_score(context, runs[weight]).to_json(),
            }
            for weight in WEIGHTS
        ],
    }


def _average(runs: list[TrainedRun], task: str) -> float | None:
    return nan_to_none(float(np.mean([run.score(task, "test") for run in runs])))


def _compare(context: ExperimentContext, a: str, b: str, runs: Mapping[str, list[TrainedRun]]) -> dict[str, Any]:
    gaps = {name: gap.to_json() for name, gap in estimate_differences(context, runs[a], runs[b]).items()}
    return {"a": a, "b": b, "mean": gaps.pop("mean"), "tasks": gaps}


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: scores by λ, differences at each system's own λ, and the verdicts."""
    rows = {row["system"]: row for row in data["rows"]}
    windows = (
        f"{name} " + ", ".join(f"{format_score(each['dev'])} at window {w}" for w, each in row["windows"].items())
        for name, row in rows.items()
    )
    norms = (f"{name} {row['norms'][0]:.2f} and {row['norms'][1]:.2f}" for name, row in rows.items())
    edges = (
        f"The best rate of {name} lies at the edge of its sweep." for name, row in rows.items() if not row["inside"]
    )
    return Section(
        "Both sides of the model",
        "Beyond the paper: training makes two vectors for each word, source and target, and the paper's protocol uses "
        "the source vectors alone. Here a word's vector is source + λ × target. Each system is trained on the first "
        f"{data['sentences']:,} sentences ({data['tokens'] / 1e6:.1f} M words), {data['dim']} dimensions, mumon's "
        f"default algorithm, with the usual window and twice that, at rates a factor {RATE_STEP:g} apart until the "
        "best has worse ones on both sides. Dev halves choose window and rate, with one seed; what counts are other "
        "seeds, each trained once and scored at every λ. Their dev halves choose λ, their test halves are compared. "
        "Scores × 100, ± half of the 95 % interval over items and seeds.",
        _judge(data),
        [_build_table(data), _build_weights_table(data), _build_differences_table(data)],
        [Figure("both-sides", "Mean of the tasks (test halves) against λ.", lambda figure: _draw(figure, data))],
        [
            "“Source only” rows are at the window and the rate that are best for the system's own λ; Table 1 has "
            "source vectors at the usual window and the rate that is best for them.",
            f"Dev halves, one seed, at the best rate and λ: {'; '.join(windows)}.",
            f"Mean norms of source and target vectors: {'; '.join(norms)}.",
            *edges,
        ],
    )


def _judge(data: dict[str, Any]) -> list[Verdict]:
    """Judge whether correct CBOW is level with skip-gram and above the faulty update, and what the target side adds."""
    own, source = (
        {(gap["a"], gap["b"]): Estimate.from_json(gap["mean"]) for gap in data[kind]} for kind in ("own", "source")
    )
    rows = {row["system"]: row for row in data["rows"]}
    labels = {system: f"{system} at λ = {row['weight']:g}" for system, row in rows.items()}
    level = f"performs as well as skip-gram (no more than {MARGIN:g} point behind on the mean)"
    claims = [
        ("SG", "CBOW correct", f"correct CBOW {level}", MARGIN),
        ("CBOW faulty", "CBOW correct", "the correct update is better than the faulty one", 0.0),
        ("SG", POSITIONS, f"CBOW with positions {level}", MARGIN),
    ]
    verdicts = [
        Verdict(
            f"With vectors from both sides, {claim}, each at its own λ.",
            f"source vectors only: {quote_table_1(a, b)}" if b in PAPER_ROWS else "does not say",
            f"{labels[b]} less {labels[a]}: {own[a, b].signed} (source vectors only: {source[a, b].signed})",
            judge_at_least(own[a, b], margin),
            "us",
        )
        for a, b, claim, margin in claims
    ]
    default = next(Estimate.from_json(gap["mean"]) for gap in data["less"] if gap["a"] == "SG")
    best = f"SG at window {rows['SG']['window']} and λ = {rows['SG']['weight']:g}"
    verdicts.append(
        Verdict(
            f"mumon's default CBOW performs as well as skip-gram at its best window, rate and λ (no more than "
            f"{MARGIN:g} point behind on the mean).",
            "does not say",
            f"{label_default(data['default'])} less {best}: {default.signed}",
            judge_at_least(default, MARGIN),
            "us",
        )
    )
    gain = _get_gain(rows["CBOW correct"])
    others = ", ".join(f"{name}: {_get_gain(row).signed}" for name, row in rows.items() if name != "CBOW correct")
    verdicts.append(
        Verdict(
            "Correct CBOW's vectors are better with the target side than without.",
            "does not say",
            f"{labels['CBOW correct']} less source vectors only: {gain.signed}; {others}",
            judge_gain(gain, rows["CBOW correct"]["weight"]),
            "us",
        )
    )
    return verdicts


def _get_gain(row: dict[str, Any]) -> Estimate:
    return Estimate.from_json(row["gain"][MEAN])


def judge_gain(gain: Estimate, weight: float) -> Outcome:
    """Judge whether the target side helps; if the dev halves chose none of it, it does not."""
    return "does not hold" if weight == SOURCE else judge_at_least(gain)


def label_weight(system: str, weight: float) -> str:
    """Label the row of a table.

    >>> label_weight("SG", 0.0), label_weight("SG", 0.5)
    ('SG, source only', 'SG, λ = 0.5')
    """
    return f"{system}, source only" if weight == SOURCE else f"{system}, λ = {weight:g}"


def _build_table(data: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    for row in data["rows"]:
        points = {point["weight"]: point for point in row["points"]}
        for weight in dict.fromkeys((SOURCE, row["weight"])):
            scores = (format_score(points[weight]["tasks"][task]) for task in data["tasks"])
            mean = str(Estimate.from_json(points[weight]))
            settings = (row["window"], row["rate"], row["seeds"])
            rows.append([label_weight(row["system"], weight), *settings, *scores, mean])
        paper = PAPER_ROWS.get(row["system"])
        if paper is not None:
            cells = (format_score(TABLE_1.find(paper, column)) for column in (*data["tasks"], "mean"))
            rows.append([f"{paper}, source only, paper", 5, TABLE_1_RATES.get(paper), None, *cells])
    default = data["default"]
    settings = (default["window"], default["rate"], default["seeds"])
    scores = (format_score(default["tasks"][task]) for task in data["tasks"])
    rows.append([label_default(default), *settings, *scores, str(Estimate.from_json(default))])
    title = "Test halves: source only, and at each system's own λ"
    return Table("both-sides", title, ["", "window", "rate", "seeds", *data["tasks"], "mean"], rows)


def _build_weights_table(data: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    for place, weight in enumerate(data["weights"]):
        points = [row["points"][place] for row in data["rows"]]
        cells = [(format_score(point["dev"]), str(Estimate.from_json(point))) for point in points]
        rows.append([weight, *(cell for both in cells for cell in both)])
    columns = ["λ", *(f"{row['system']}, {fold}" for row in data["rows"] for fold in ("dev", "test"))]
    return Table("both-sides-weights", "Mean score by λ", columns, rows)


def _build_differences_table(data: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    for kind, label in (("own", "own λ"), ("source", "source only")):
        for gap in data[kind]:
            gaps = (format_difference(gap["tasks"], task) for task in data["tasks"])
            rows.append([f"{gap['b']} less {gap['a']}, {label}", *gaps, Estimate.from_json(gap["mean"]).signed])
            a, b = (PAPER_ROWS.get(gap[side]) for side in ("a", "b"))
            if kind == "source" and a and b:
                paper = (TABLE_1.compare(a, b, column) for column in (*data["tasks"], "mean"))
                rows.append([f"{b} less {a}, source only, paper", *map(format_gap, paper)])
    for gap in data["less"]:
        gaps = (format_difference(gap["tasks"], task) for task in data["tasks"])
        rows.append([f"mumon’s default less {gap['a']}, own λ", *gaps, Estimate.from_json(gap["mean"]).signed])
    for row in data["rows"]:
        gains = (format_difference(row["gain"], name) for name in (*data["tasks"], "mean"))
        rows.append([f"{row['system']}, own λ less source only", *gains])
    return Table("both-sides-differences", "Differences, test halves", ["", *data["tasks"], "mean"], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    left, right = figure.subplots(1, 2)
    for row in data["rows"]:
        colour = SYSTEM_COLOURS[row["system"].removeprefix("CBOW ")]
        scores = {point["weight"]: point["value"] for point in row["points"]}
        left.plot(list(scores), list(scores.values()), "o-", color=colour, label=row["system"])
        circle = {"color": colour, "markersize": 12, "fillstyle": "none"}
        left.plot([row["weight"]], [scores[row["weight"]]], "o", **circle)
        gains = [Estimate.from_json(point["gain"]) for point in row["points"]]
        draw_curve(right, data["weights"], gains, row["system"], colour)
    left.set(title="Mean score × 100, test (circle: chosen on the dev halves)")
    right.set(title="Gain over source vectors alone, with 95 % intervals")
    left.legend()
    right.axhline(0, color="#999999", linewidth=1)
    for axes in (left, right):
        axes.set(xlabel="weight λ of the target vectors")
        axes.set_xticks(data["weights"], [f"{weight:g}" for weight in data["weights"]])


ITEM = Item("both-sides", "vectors of source + λ × target, for four systems", measure, build_section)
