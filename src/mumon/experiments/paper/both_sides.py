"""Both sides of the model: are source + λ × target vectors better than the source vectors alone, and for whom?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mumon.evaluation.tasks import MEAN
from mumon.experiments.paper.experiment_context import ExperimentContext, Part
from mumon.experiments.paper.figures import SYSTEM_COLOURS, draw_curve
from mumon.experiments.paper.intervals import Estimate, estimate_differences, estimate_score
from mumon.experiments.paper.published import PAPER_ROWS, TABLE_1, quote_table_1
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
from mumon.experiments.paper.runs import TrainedRun
from mumon.experiments.paper.sides import WEIGHTS, WINDOWS_TEXT, choose_weight, sweep_sides, train_side_seeds
from mumon.experiments.paper.sweeps import RATE_STEP, RateSweep

SYSTEMS = ("CBOW correct", "CBOW faulty", "SG")
# The first and the second, which may be better.
PAIRS = (("SG", "CBOW correct"), ("CBOW faulty", "CBOW correct"), ("SG", "CBOW faulty"))
SOURCE = 0.0  # the λ of source vectors alone
ByWeight = Mapping[float, list[TrainedRun]]


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Choose rate and λ of every system on the dev halves, and compare other seeds on the test halves."""
    part = context.part(context.scale.table_sentences)
    swept, found = train_all(context, part)
    own = {system: found[system][choose_weight(found[system])] for system in SYSTEMS}
    source = {system: found[system][SOURCE] for system in SYSTEMS}
    return {
        "sentences": part.sentences,
        "tokens": part.tokens,
        "dim": context.scale.dim,
        "tasks": context.task_names,
        "weights": list(WEIGHTS),
        "rows": [_build_row(context, system, swept[system], found[system]) for system in SYSTEMS],
        "own": [_compare(context, a, b, own) for a, b in PAIRS],
        "source": [_compare(context, a, b, source) for a, b in PAIRS],
    }


def train_all(context: ExperimentContext, part: Part) -> tuple[dict[str, RateSweep], dict[str, ByWeight]]:
    """Sweep every system, and train its best rate again with other seeds.

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
    return swept, {s: train_side_seeds(context, s, part, swept[s].rate, seeds) for s in SYSTEMS}


def _build_row(context: ExperimentContext, system: str, swept: RateSweep, runs: ByWeight) -> dict[str, Any]:
    own = choose_weight(runs)
    gains = {weight: estimate_differences(context, runs[SOURCE], runs[weight]) for weight in WEIGHTS}
    return {
        "system": system,
        "rate": swept.rate,
        "inside": swept.inside,
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
    own, source = (
        {(gap["a"], gap["b"]): Estimate.from_json(gap["mean"]) for gap in data[k]} for k in ("own", "source")
    )
    rows = {row["system"]: row for row in data["rows"]}
    weights = {system: f"{system} at λ = {row['weight']:g}" for system, row in rows.items()}
    as_well, better = own["SG", "CBOW correct"], own["CBOW faulty", "CBOW correct"]
    gain = Estimate.from_json(rows["CBOW correct"]["gain"]["mean"])
    verdicts = [
        Verdict(
            f"With vectors from both sides, correct CBOW performs as well as skip-gram (no more than {MARGIN:g} point "
            "behind on the mean), each at its own λ.",
            f"source vectors only: {quote_table_1('SG', 'CBOW correct')}",
            f"{weights['CBOW correct']} less {weights['SG']}: {as_well.signed} "
            f"(source vectors only: {source['SG', 'CBOW correct'].signed})",
            judge_at_least(as_well, MARGIN),
            "us",
        ),
        Verdict(
            "With vectors from both sides, the correct update is better than the faulty one, each at its own λ.",
            f"source vectors only: {quote_table_1('CBOW faulty', 'CBOW correct')}",
            f"{weights['CBOW correct']} less {weights['CBOW faulty']}: {better.signed} "
            f"(source vectors only: {source['CBOW faulty', 'CBOW correct'].signed})",
            judge_at_least(better),
            "us",
        ),
        Verdict(
            "Correct CBOW's vectors are better with the target side than without.",
            "not asked",
            f"{weights['CBOW correct']} less source vectors only: {gain.signed}; "
            + ", ".join(f"{name}: {Estimate.from_json(rows[name]['gain']['mean']).signed}" for name in SYSTEMS[1:]),
            judge_gain(gain, rows["CBOW correct"]["weight"]),
            "us",
        ),
    ]
    return Section(
        "Both sides of the model",
        "Beyond the paper: training makes two vectors for each word, source and target, and the paper's protocol uses "
        "the source vectors alone. Here a word's vector is source + λ × target. Each system is trained on the first "
        f"{data['sentences']:,} sentences ({data['tokens'] / 1e6:.1f} M words), {data['dim']} dimensions, "
        f"{WINDOWS_TEXT}, mumon's default algorithm, at rates a factor {RATE_STEP:g} apart until the best has worse "
        "ones on both sides. Dev halves choose the rate, with one seed; what counts are other seeds, each trained once "
        "and scored at every λ. Their dev halves choose λ, their test halves are compared. Scores × 100, ± half of the "
        "95 % interval over items and seeds.",
        verdicts,
        [_build_table(data), _build_weights_table(data), _build_differences_table(data)],
        [Figure("both-sides", "Mean of the tasks (test halves) against λ.", lambda figure: _draw(figure, data))],
        [
            "“Source only” rows are at the rate that is best for the system's own λ; Table 1 has source vectors at the "
            "rate that is best for them.",
            "Mean norms of source and target vectors: "
            + "; ".join(f"{name} {row['norms'][0]:.2f} and {row['norms'][1]:.2f}" for name, row in rows.items())
            + ".",
            *(
                f"The best rate of {name} lies at the edge of its sweep."
                for name, row in rows.items()
                if not row["inside"]
            ),
        ],
    )


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
            rows.append([label_weight(row["system"], weight), row["rate"], row["seeds"], *scores, mean])
        paper = PAPER_ROWS[row["system"]]
        cells = (format_score(TABLE_1.find(paper, column)) for column in (*data["tasks"], "mean"))
        rows.append([f"{paper}, source only, paper", None, None, *cells])
    title = "Test halves: source only, and at each system's own λ"
    return Table("both-sides", title, ["", "rate", "seeds", *data["tasks"], "mean"], rows)


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
            if kind == "source":
                a, b = PAPER_ROWS[gap["a"]], PAPER_ROWS[gap["b"]]
                paper = (TABLE_1.compare(a, b, column) for column in (*data["tasks"], "mean"))
                rows.append([f"{b} less {a}, source only, paper", *map(format_gap, paper)])
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


ITEM = Item("both-sides", "vectors of source + λ × target, for three systems", measure, build_section)
