"""Quality against corpus size, each system at its own λ: does the lead of correct CBOW over skip-gram grow?"""

from __future__ import annotations

from typing import Any

from mumon.errors import CorpusError
from mumon.experiments.paper.both_sides import SOURCE, SYSTEMS
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
from mumon.experiments.paper.runs import POSITIONS, TrainedRun, has_lowest_rate
from mumon.experiments.paper.sides import (
    FIRST_SEED,
    SideSweep,
    choose_weight,
    label_default,
    sweep_sides,
    train_default,
    train_side_seeds,
    train_sides,
)
from mumon.experiments.paper.sweeps import bracket_best_rate, get_dev_score, round_rate

OURS, RIVALS = "CBOW correct", tuple(name for name in SYSTEMS if name != "CBOW correct")
APART = 1.06  # between the curves of a figure, along the axis of sizes
NAMES = {"SG": "skip-gram", "CBOW faulty": "the faulty update", POSITIONS: "CBOW with positions"}


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Train every system on larger and larger parts, and compare them at the λ that each has there."""
    middle = context.part(context.scale.table_sentences)
    swept = {system: sweep_sides(context, system, middle) for system in SYSTEMS}
    rows: list[dict[str, Any]] = []
    found: list[dict[str, Runs]] = []
    for part in list_parts(context):
        systems: dict[str, dict[str, Any]] = {}
        runs: dict[str, Runs] = {}
        alone: dict[str, Runs] = {}
        for system in SYSTEMS:
            window = swept[system].window
            rate = choose_rate(context, system, swept[system], middle, part)
            by_weight = train_side_seeds(context, system, part, rate, window, context.scale.fewer_seeds)
            weight = choose_weight(by_weight)
            runs[system], alone[system] = by_weight[weight], by_weight[SOURCE]
            systems[system] = {"window": window, "rate": rate, "weight": weight, "seeds": len(runs[system])}
            systems[system] |= estimate_score(context, runs[system]).to_json()
        default = train_default(context, part, context.scale.fewer_seeds)
        rows.append(
            {
                "sentences": part.sentences,
                "tokens": part.tokens,
                "systems": systems,
                "default": {**default.to_json(), **estimate_score(context, default.runs).to_json()},
                "less": {name: estimate_difference(context, runs[name], default.runs).to_json() for name in SYSTEMS},
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


def choose_rate(context: ExperimentContext, system: str, swept: SideSweep, middle: Part, part: Part) -> float:
    """Choose the rate of a system on another part than the one it was swept on.

    A sweep at every size would take most of the time. Instead the best rate has the same ratio to the default at every
    size, since the default falls with the size as sweeps have shown. Only where it has reached its lower bound and
    falls no further are other rates tried, on the dev halves and with the first of the seeds that count.

    Parameters
    ----------
    context, system
        What is trained.
    swept
        Its sweep.
    middle, part
        The text it was swept on, and the text it is to be trained on.

    Returns
    -------
    float
    """
    if part.tokens == middle.tokens:
        return swept.rate
    there, here = (context.default_rate(system, text, window=swept.window) for text in (middle, part))
    moved = round_rate(swept.rate * here / there)
    if not has_lowest_rate(system, part.tokens * context.scale.epochs):
        return moved

    def train(rate: float) -> TrainedRun:
        runs = train_sides(context, system, part, seed=FIRST_SEED, alpha=rate, window=swept.window)
        return max(runs.values(), key=get_dev_score)

    return bracket_best_rate(moved, train).rate


def list_parts(context: ExperimentContext) -> list[Part]:
    """List larger and larger parts of the corpus; the last has the text that was given besides.

    Parameters
    ----------
    context
        What has the corpus and the sizes.

    Returns
    -------
    list of Part

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
    seeds = sorted({system["seeds"] for row in data["rows"] for system in row["systems"].values()})
    windows = ", ".join(f"{name} {system['window']}" for name, system in data["rows"][0]["systems"].items())
    more = ", the last of them with more text of the same kind" if data["more"] else ""
    return Section(
        "Both sides of the model, by corpus size",
        "Beyond the paper: mumon's default algorithm on the first sentences of the corpus, larger and larger parts"
        f"{more}; {data['dim']} dimensions. Every system has the window that “Both sides of the model” found best "
        f"({windows}), and its best rate there, which falls with the size of the text as the default does (where the "
        "default has reached its lower bound, other rates are tried on the dev halves). λ is chosen "
        f"at every size on the dev halves; what counts are the test halves; {' or '.join(map(str, seeds))} seeds.",
        _judge(data),
        [_build_table(data)],
        [Figure("growth", "Mean of the tasks and differences, by corpus size.", lambda figure: _draw(figure, data))],
        ["A larger part knows the words of more questions, so the points of a curve are not of the same ones."],
    )


def _judge(data: dict[str, Any]) -> list[Verdict]:
    """Judge whether correct CBOW gains on its rivals, and whether it is level with skip-gram on the largest part."""
    ends = (data["rows"][0], data["rows"][-1])
    sizes = [f"{row['tokens'] / 1e6:.3g} M" for row in ends]
    verdicts = []
    for rival in data["changes"]:
        first, last = (Estimate.from_json(row["own"][rival]) for row in ends)
        change = Estimate.from_json(data["changes"][rival])
        ours = (
            f"{OURS} less {rival}: {first.signed} on {sizes[0]} words, {last.signed} on {sizes[1]}; a change of "
            f"{change.signed} on the questions that both have the words of"
        )
        claim = f"With vectors from both sides, correct CBOW gains on {NAMES[rival]} as the corpus grows."
        verdicts.append(Verdict(claim, "does not say", ours, judge_at_least(change), "us"))
    largest, alone = (Estimate.from_json(ends[1][kind]["SG"]) for kind in ("own", "source"))
    verdicts.append(
        Verdict(
            f"On the largest part ({sizes[1]} words), with vectors from both sides, correct CBOW performs as well as "
            f"skip-gram (no more than {MARGIN:g} point behind).",
            "does not say; with source vectors only, see Table 1",
            f"{OURS} less SG: {largest.signed} (source vectors only: {alone.signed})",
            judge_at_least(largest, MARGIN),
            "us",
        )
    )
    default = _get_lead(ends[1])
    verdicts.append(
        Verdict(
            "On the largest part, mumon's default CBOW is better than skip-gram at its own window, rate and λ.",
            "does not say",
            f"{label_default(ends[1]['default'])} less SG: {default.signed}",
            judge_at_least(default),
            "us",
        )
    )
    return verdicts


def _get_lead(row: dict[str, Any]) -> Estimate:
    """Return how far mumon's default is ahead of skip-gram at its best."""
    return Estimate.from_json(row["less"]["SG"])


def _build_table(data: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    for row in data["rows"]:
        cells: list[Cell] = [row["tokens"]]
        for system in row["systems"].values():
            cells += [system["rate"], system["weight"], str(Estimate.from_json(system))]
        gaps = [row[kind][rival] for rival in data["changes"] for kind in ("own", "source")]
        cells += [Estimate.from_json(gap).signed for gap in gaps]
        default = row["default"]
        rows.append([*cells, default["rate"], str(Estimate.from_json(default)), _get_lead(row).signed])
    systems = list(data["rows"][0]["systems"])
    columns = ["words", *(column for system in systems for column in (f"rate, {system}", f"λ, {system}", system))]
    kinds = ("own λ", "source only")
    columns += [f"correct less {rival.removeprefix('CBOW ')}, {kind}" for rival in data["changes"] for kind in kinds]
    columns += ["rate, default", label_default(data["rows"][0]["default"]), "default less SG, own λ"]
    return Table("growth", "Mean score by corpus size, test halves", columns, rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    left, right = figure.subplots(1, 2)
    sizes = [row["tokens"] for row in data["rows"]]
    for system in data["rows"][0]["systems"]:
        estimates = [Estimate.from_json(row["systems"][system]) for row in data["rows"]]
        draw_curve(left, sizes, estimates, system, SYSTEM_COLOURS[system.removeprefix("CBOW ")])
    left.legend()
    left.set(title="Mean score × 100, test, each at its own λ")
    for place, (label, gaps, look) in enumerate(_list_gaps(data)):
        beside = [size * APART ** (place - 2) for size in sizes]  # else intervals would hide each other
        draw_intervals(right, beside, gaps, label=label, **look)
    right.axhline(0, color="#999999", linewidth=1)
    right.set(title="Differences")
    right.legend(fontsize=8)
    for axes in (left, right):
        axes.set(xscale="log", xlabel="words in the corpus")
        label_log_axis(axes.xaxis, sizes)


def _list_gaps(data: dict[str, Any]) -> list[tuple[str, list[Estimate], dict[str, Any]]]:
    """List the curves of differences: their labels, values and looks."""
    found = []
    for rival in data["changes"]:
        name = rival.removeprefix("CBOW ")
        for kind, style, label in (("own", "o-", "own λ"), ("source", "o:", "source only")):
            if kind == "own" or rival == "SG":
                look = {"fmt": style, "color": SYSTEM_COLOURS[name], "alpha": 1 if kind == "own" else 0.5}
                gaps = [Estimate.from_json(row[kind][rival]) for row in data["rows"]]
                found.append((f"correct less {name}, {label}", gaps, look))
    look = {"fmt": "s-", "color": "black"}
    return [*found, ("mumon's default less SG, own λ", [_get_lead(row) for row in data["rows"]], look)]


ITEM = Item("growth", "quality against corpus size, with vectors from both sides", measure, build_section)
