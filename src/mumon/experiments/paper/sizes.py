"""Learning curves: does the correction help as the corpus shrinks or grows?"""

from __future__ import annotations

from typing import Any

from mumon.errors import CorpusError
from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.figures import SYSTEM_COLOURS, draw_curve, draw_intervals, label_log_axis
from mumon.experiments.paper.intervals import (
    Estimate,
    Runs,
    estimate_change,
    estimate_difference,
    estimate_differences,
    estimate_score,
)
from mumon.experiments.paper.intrinsic import train_seeds
from mumon.experiments.paper.published import quote_table_1
from mumon.experiments.paper.results import (
    MARGIN,
    SOURCE_ONLY,
    Figure,
    Item,
    Section,
    Table,
    Verdict,
    format_difference,
    judge_at_least,
)
from mumon.experiments.paper.sweeps import sweep_rates

SYSTEMS = ("CBOW correct", "CBOW faulty", "SG")


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Train every system on larger and larger parts of the corpus, at its best rate for each."""
    rows: list[dict[str, Any]] = []
    found: list[dict[str, Runs]] = []
    for sentences in context.scale.sizes:
        part = context.part(sentences)
        if rows and part.tokens <= rows[-1]["tokens"]:
            break  # the corpus is not longer
        swept = {system: sweep_rates(context, system, part) for system in SYSTEMS}
        runs = {s: train_seeds(context, s, part, swept[s]) for s in SYSTEMS}
        gaps = estimate_differences(context, runs["CBOW faulty"], runs["CBOW correct"])
        known = [outcome.found for outcome in runs["CBOW correct"][0].outcomes.values()]
        rows.append(
            {
                "sentences": part.sentences,
                "tokens": part.tokens,
                "coverage": sum(float(items.sum()) for items in known) / sum(map(len, known)),
                "scores": {s: {"rate": swept[s].rate, **estimate_score(context, runs[s]).to_json()} for s in SYSTEMS},
                "seeds": {s: len(runs[s]) for s in SYSTEMS},
                "less_faulty": gaps.pop("mean").to_json(),
                "less_sg": estimate_difference(context, runs["SG"], runs["CBOW correct"]).to_json(),
                "by_task": {name: gap.to_json() for name, gap in gaps.items()},
            }
        )
        found.append({s: list(runs[s]) for s in SYSTEMS})
    if len(rows) < 2:
        raise CorpusError(
            f"the corpus has {rows[0]['sentences']:,} sentences, too few for parts of two sizes; give more"
        )
    ends = {
        rival: [found[place][system] for place in (0, -1) for system in (rival, "CBOW correct")]
        for rival in ("CBOW faulty", "SG")
    }
    changes = {rival: estimate_change(context, *runs).to_json() for rival, runs in ends.items()}
    return {"tasks": context.task_names, "rows": rows, "changes": changes}


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: the curves, and what they say about larger corpora."""
    ends = (data["rows"][0], data["rows"][-1])
    faulty, sg = ([Estimate.from_json(row[name]) for row in ends] for name in ("less_faulty", "less_sg"))
    sizes = [f"{row['tokens'] / 1e6:.3g} M" for row in ends]
    grown, closed = (Estimate.from_json(data["changes"][rival]) for rival in ("CBOW faulty", "SG"))
    verdicts = [
        Verdict(
            "The correct update gains on the faulty one as the corpus grows.",
            "does not say; its corpora are far larger",
            f"correct less faulty: {faulty[0].signed} on {sizes[0]} words, {faulty[1].signed} on {sizes[1]}; a change "
            f"of {grown.signed} on the questions that both have the words of",
            judge_at_least(grown),
            "us",
        ),
        Verdict(
            "Correct CBOW gains on skip-gram as the corpus grows.",
            "does not say",
            f"correct CBOW less skip-gram: {sg[0].signed} on {sizes[0]} words, {sg[1].signed} on {sizes[1]}; a change "
            f"of {closed.signed} on the questions that both have the words of",
            judge_at_least(closed),
            "us",
        ),
        Verdict(
            f"On the largest part ({sizes[1]} words), correct CBOW performs as well as skip-gram (no more than "
            f"{MARGIN:g} point behind).",
            quote_table_1("SG", "CBOW correct"),
            f"correct CBOW less skip-gram: {sg[1].signed}",
            judge_at_least(sg[1], MARGIN),
        ),
        Verdict(
            f"On the largest part ({sizes[1]} words), the correct update is better than the faulty one.",
            quote_table_1("CBOW faulty", "CBOW correct"),
            f"correct less faulty: {faulty[1].signed}",
            judge_at_least(faulty[1]),
        ),
    ]
    seeds = sorted({count for row in data["rows"] for count in row["seeds"].values()})
    return Section(
        "Learning curves over corpus size",
        "Beyond the paper: mumon's default on the first sentences of the corpus, larger and larger parts, every "
        f"system at the rate that is best there (dev halves, a factor 2 apart); {' or '.join(map(str, seeds))} seeds, "
        f"test halves; {SOURCE_ONLY}.",
        verdicts,
        [_build_table(data), _build_task_table(data)],
        [Figure("sizes", "Mean of the tasks and differences, by corpus size.", lambda figure: _draw(figure, data))],
        [
            "A larger part knows the words of more questions (coverage), so that the points of a curve are not of the "
            "same ones."
        ],
    )


def _build_table(data: dict[str, Any]) -> Table:
    rows = [
        [
            row["tokens"],
            f"{row['coverage']:.0%}",
            *(cell for s in SYSTEMS for cell in (row["scores"][s]["rate"], str(Estimate.from_json(row["scores"][s])))),
            Estimate.from_json(row["less_faulty"]).signed,
            Estimate.from_json(row["less_sg"]).signed,
        ]
        for row in data["rows"]
    ]
    columns = [
        "words",
        "coverage",
        *(cell for s in SYSTEMS for cell in (f"rate, {s}", s)),
        "correct less faulty",
        "correct less SG",
    ]
    return Table("sizes", f"Mean score by corpus size, test halves, {SOURCE_ONLY}", columns, rows)


def _build_task_table(data: dict[str, Any]) -> Table:
    rows = [
        [row["tokens"], *(format_difference(row["by_task"], task) for task in data["tasks"])] for row in data["rows"]
    ]
    return Table("sizes-by-task", f"Correct less faulty, by task, {SOURCE_ONLY}", ["words", *data["tasks"]], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    left, right = figure.subplots(1, 2)
    sizes = [row["tokens"] for row in data["rows"]]
    for system in SYSTEMS:
        colour = SYSTEM_COLOURS[system.removeprefix("CBOW ")]
        draw_curve(left, sizes, [Estimate.from_json(row["scores"][system]) for row in data["rows"]], system, colour)
    left.legend()
    left.set(title="Mean score × 100, test")
    for name, colour, rival in (
        ("less_faulty", SYSTEM_COLOURS["faulty"], "faulty"),
        ("less_sg", SYSTEM_COLOURS["SG"], "SG"),
    ):
        gaps = [Estimate.from_json(row[name]) for row in data["rows"]]
        draw_intervals(right, sizes, gaps, fmt="o-", color=colour, label=f"correct less {rival}")
    right.axhline(0, color="#999999", linewidth=1)
    right.set(title="Differences")
    right.legend()
    for axes in (left, right):
        axes.set(xscale="log", xlabel="words in the corpus")
        label_log_axis(axes.xaxis, sizes)


ITEM = Item("sizes", "learning curves over corpus size", measure, build_section)
