"""Quality against corpus size, each system at its own λ: does the lead of correct CBOW over skip-gram grow?"""

from __future__ import annotations

from typing import Any

from mumon.errors import CorpusError
from mumon.experiments.paper.both_sides import SOURCE
from mumon.experiments.paper.experiment_context import ExperimentContext, Part
from mumon.experiments.paper.figures import SYSTEM_COLOURS, draw_curve, draw_intervals, label_log_axis
from mumon.experiments.paper.intervals import Estimate, Runs, estimate_change, estimate_difference, estimate_score
from mumon.experiments.paper.results import (
    MARGIN,
    Cell,
    Figure,
    Item,
    Section,
    Table,
    Verdict,
    judge_at_least,
)
from mumon.experiments.paper.sides import WINDOWS_TEXT, choose_weight, default_side_rate, train_side_seeds
from mumon.experiments.paper.sweeps import round_rate

SYSTEMS = ("CBOW correct", "CBOW faulty", "SG")
OURS, RIVALS = SYSTEMS[0], SYSTEMS[1:]


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Train every system on larger and larger parts, at its default rate, and compare them at the λ of each there."""
    rows: list[dict[str, Any]] = []
    found: list[dict[str, Runs]] = []
    for part in list_parts(context):
        systems: dict[str, dict[str, Any]] = {}
        runs: dict[str, Runs] = {}
        alone: dict[str, Runs] = {}
        for system in SYSTEMS:
            rate = round_rate(default_side_rate(context, system, part))
            by_weight = train_side_seeds(context, system, part, rate, context.scale.fewer_seeds)
            weight = choose_weight(by_weight)
            runs[system], alone[system] = by_weight[weight], by_weight[SOURCE]
            systems[system] = {"rate": rate, "weight": weight, "seeds": len(runs[system])}
            systems[system] |= estimate_score(context, runs[system]).to_json()
        rows.append(
            {
                "sentences": part.sentences,
                "tokens": part.tokens,
                "systems": systems,
                "own": {rival: estimate_difference(context, runs[rival], runs[OURS]).to_json() for rival in RIVALS},
                "source": {
                    rival: estimate_difference(context, alone[rival], alone[OURS]).to_json() for rival in RIVALS
                },
            }
        )
        found.append(runs)
    changes = {
        rival: estimate_change(context, found[0][rival], found[0][OURS], found[-1][rival], found[-1][OURS]).to_json()
        for rival in RIVALS
    }
    return {"dim": context.scale.dim, "rows": rows, "changes": changes, "more": bool(context.more)}


def list_parts(context: ExperimentContext) -> list[Part]:
    """List larger and larger parts of the corpus; the last has the text that was given besides.

    Raises
    ------
    CorpusError
        If there are not two sizes.
    """
    parts: list[Part] = []
    for part in (
        *(context.part(sentences) for sentences in context.scale.sizes),
        *([context.extended_part()] if context.more else []),
    ):
        if not parts or part.tokens > parts[-1].tokens:
            parts.append(part)
    if len(parts) < 2:
        raise CorpusError(f"the corpus has {parts[0].sentences:,} sentences, too few for parts of two sizes; give more")
    return parts


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: the curves, and whether the lead grows."""
    ends = (data["rows"][0], data["rows"][-1])
    sizes = [f"{row['tokens'] / 1e6:.3g} M" for row in ends]
    names = {"SG": "skip-gram", "CBOW faulty": "the faulty update"}
    verdicts = []
    for rival in reversed(RIVALS):
        first, last = (Estimate.from_json(row["own"][rival]) for row in ends)
        change = Estimate.from_json(data["changes"][rival])
        ours = (
            f"{OURS} less {rival}: {first.signed} on {sizes[0]} words, {last.signed} on {sizes[1]}; a change of "
            f"{change.signed} on the questions that both have the words of"
        )
        claim = f"With vectors from both sides, correct CBOW gains on {names[rival]} as the corpus grows."
        verdicts.append(Verdict(claim, "not asked", ours, judge_at_least(change), "us"))
    largest = Estimate.from_json(ends[1]["own"]["SG"])
    verdicts.append(
        Verdict(
            f"On the largest part ({sizes[1]} words), with vectors from both sides, correct CBOW performs as well as "
            f"skip-gram (no more than {MARGIN:g} point behind).",
            "not asked; with source vectors only, see Table 1",
            f"{OURS} less SG: {largest.signed} (source vectors only: "
            f"{Estimate.from_json(ends[1]['source']['SG']).signed})",
            judge_at_least(largest, MARGIN),
            "us",
        )
    )
    seeds = sorted({system["seeds"] for row in data["rows"] for system in row["systems"].values()})
    return Section(
        "Both sides of the model, by corpus size",
        "Beyond the paper: mumon's default algorithm on the first sentences of the corpus, larger and larger parts"
        + (", the last of them with more text of the same kind" if data["more"] else "")
        + f"; {data['dim']} dimensions, {WINDOWS_TEXT}. Every system has its default rate. λ is chosen at every size "
        f"on the dev halves; what counts are the test halves; {' or '.join(map(str, seeds))} seeds.",
        verdicts,
        [_build_table(data)],
        [Figure("growth", "Mean of the tasks and differences, by corpus size.", lambda figure: _draw(figure, data))],
        ["A larger part knows the words of more questions, so the points of a curve are not of the same ones."],
    )


def _build_table(data: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    for row in data["rows"]:
        cells: list[Cell] = [row["tokens"]]
        for system in row["systems"].values():
            cells += [system["weight"], str(Estimate.from_json(system))]
        gaps = [row[kind][rival] for rival in RIVALS for kind in ("own", "source")]
        rows.append([*cells, *(Estimate.from_json(gap).signed for gap in gaps)])
    systems = list(data["rows"][0]["systems"])
    columns = ["words", *(column for system in systems for column in (f"λ, {system}", system))]
    kinds = ("own λ", "source only")
    columns += [f"correct less {rival.removeprefix('CBOW ')}, {kind}" for rival in RIVALS for kind in kinds]
    return Table("growth", "Mean score by corpus size, test halves", columns, rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    left, right = figure.subplots(1, 2)
    sizes = [row["tokens"] for row in data["rows"]]
    for system in data["rows"][0]["systems"]:
        estimates = [Estimate.from_json(row["systems"][system]) for row in data["rows"]]
        draw_curve(left, sizes, estimates, system, SYSTEM_COLOURS[system.removeprefix("CBOW ")])
    left.legend()
    left.set(title="Mean score × 100, test, each at its own λ")
    for rival in RIVALS:
        name = rival.removeprefix("CBOW ")
        for kind, style, label in (("own", "o-", "own λ"), ("source", "o:", "source only")):
            gaps = [Estimate.from_json(row[kind][rival]) for row in data["rows"]]
            look = {"color": SYSTEM_COLOURS[name], "alpha": 1 if kind == "own" else 0.5}
            draw_intervals(right, sizes, gaps, fmt=style, label=f"correct less {name}, {label}", **look)
    right.axhline(0, color="#999999", linewidth=1)
    right.set(title="Differences")
    right.legend(fontsize=8)
    for axes in (left, right):
        axes.set(xscale="log", xlabel="words in the corpus")
        label_log_axis(axes.xaxis, sizes)


ITEM = Item("growth", "quality against corpus size, with vectors from both sides", measure, build_section)
