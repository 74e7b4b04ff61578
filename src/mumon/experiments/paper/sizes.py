"""Learning curves: does the correction help as the corpus shrinks or grows?"""

from __future__ import annotations

from typing import Any

from mumon.errors import CorpusError
from mumon.experiments.paper.experiment_context import Lab
from mumon.experiments.paper.figures import SHADES, bars, curve, plain_log
from mumon.experiments.paper.intervals import Runs, change, difference, differences, estimate_of, score
from mumon.experiments.paper.intrinsic import seeded
from mumon.experiments.paper.results import MARGIN, Figure, Item, Section, Table, Verdict, at_least, signed
from mumon.experiments.paper.sweeps import sweep_rates

SYSTEMS = ("CBOW correct", "CBOW faulty", "SG")


def measure(lab: Lab) -> dict[str, Any]:
    """Every system on larger and larger parts of the corpus, at the rate that is best there."""
    rows: list[dict[str, Any]] = []
    found: list[dict[str, Runs]] = []
    for sentences in lab.scale.sizes:
        part = lab.part(sentences)
        if rows and part.tokens <= rows[-1]["tokens"]:
            break  # the corpus has no more
        swept = {system: sweep_rates(lab, system, part) for system in SYSTEMS}
        runs = {s: seeded(lab, s, part, swept[s]) for s in SYSTEMS}
        gaps = differences(lab, runs["CBOW faulty"], runs["CBOW correct"])
        known = [outcome.found for outcome in runs["CBOW correct"][0].outcomes.values()]
        rows.append(
            {
                "sentences": part.sentences,
                "tokens": part.tokens,
                "coverage": sum(float(items.sum()) for items in known) / sum(map(len, known)),
                "scores": {s: {"rate": swept[s].rate, **score(lab, runs[s]).to_json()} for s in SYSTEMS},
                "seeds": {s: len(runs[s]) for s in SYSTEMS},
                "less_faulty": gaps.pop("mean").to_json(),
                "less_sg": difference(lab, runs["SG"], runs["CBOW correct"]).to_json(),
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
    changes = {rival: change(lab, *runs).to_json() for rival, runs in ends.items()}
    return {"tasks": lab.task_names, "rows": rows, "changes": changes}


def section(data: dict[str, Any]) -> Section:
    """The curves, and what they say about larger corpora."""
    ends = (data["rows"][0], data["rows"][-1])
    faulty, sg = ([estimate_of(row[name]) for row in ends] for name in ("less_faulty", "less_sg"))
    sizes = [f"{row['tokens'] / 1e6:.3g} M" for row in ends]
    grown, closed = (estimate_of(data["changes"][rival]) for rival in ("CBOW faulty", "SG"))
    verdicts = [
        Verdict(
            "The correct update gains on the faulty one as the corpus grows.",
            "not asked; its corpora are far larger",
            f"correct less faulty: {faulty[0].signed} on {sizes[0]} words, {faulty[1].signed} on {sizes[1]}; a change "
            f"of {grown.signed} on the questions that both have the words of",
            at_least(grown),
            "us",
        ),
        Verdict(
            "Correct CBOW gains on skip-gram as the corpus grows.",
            "not asked",
            f"correct CBOW less skip-gram: {sg[0].signed} on {sizes[0]} words, {sg[1].signed} on {sizes[1]}; a change "
            f"of {closed.signed} on the questions that both have the words of",
            at_least(closed),
            "us",
        ),
        Verdict(
            f"On the largest part ({sizes[1]} words), correct CBOW performs as well as skip-gram (no more than "
            f"{MARGIN:g} point behind).",
            "level on Wikipedia",
            f"correct CBOW less skip-gram: {sg[1].signed}",
            at_least(sg[1], MARGIN),
        ),
        Verdict(
            f"On the largest part ({sizes[1]} words), the correct update is better than the faulty one.",
            "correct CBOW is ahead on the mean",
            f"correct less faulty: {faulty[1].signed}",
            at_least(faulty[1]),
        ),
    ]
    seeds = sorted({count for row in data["rows"] for count in row["seeds"].values()})
    return Section(
        "Learning curves over corpus size",
        "Beyond the paper: mumon's default on the first sentences of the corpus, larger and larger parts, every "
        f"system at the rate that is best there (dev halves, a factor 2 apart); {' or '.join(map(str, seeds))} seeds, "
        "test halves.",
        verdicts,
        [_table(data), _by_task(data)],
        [Figure("sizes", "Mean of the tasks and differences, by corpus size.", lambda figure: _draw(figure, data))],
        [
            "A larger part knows the words of more questions (coverage), so that the points of a curve are not of the "
            "same ones."
        ],
    )


def _table(data: dict[str, Any]) -> Table:
    rows = [
        [
            row["tokens"],
            f"{row['coverage']:.0%}",
            *(cell for s in SYSTEMS for cell in (row["scores"][s]["rate"], str(estimate_of(row["scores"][s])))),
            estimate_of(row["less_faulty"]).signed,
            estimate_of(row["less_sg"]).signed,
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
    return Table("sizes", "Mean score by corpus size, test halves", columns, rows)


def _by_task(data: dict[str, Any]) -> Table:
    rows = [[row["tokens"], *(signed(row["by_task"], task) for task in data["tasks"])] for row in data["rows"]]
    return Table("sizes-by-task", "Correct less faulty, by task", ["words", *data["tasks"]], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    left, right = figure.subplots(1, 2)
    sizes = [row["tokens"] for row in data["rows"]]
    for system in SYSTEMS:
        colour = SHADES[system.removeprefix("CBOW ")]
        curve(left, sizes, [estimate_of(row["scores"][system]) for row in data["rows"]], system, colour)
    left.legend()
    left.set(title="Mean score × 100, test")
    for name, colour, told in (("less_faulty", SHADES["faulty"], "faulty"), ("less_sg", SHADES["SG"], "SG")):
        gaps = [estimate_of(row[name]) for row in data["rows"]]
        bars(right, sizes, gaps, fmt="o-", color=colour, label=f"correct less {told}")
    right.axhline(0, color="#999999", linewidth=1)
    right.set(title="Differences")
    right.legend()
    for axes in (left, right):
        axes.set(xscale="log", xlabel="words in the corpus")
        plain_log(axes.xaxis, sizes)


ITEM = Item("sizes", "learning curves over corpus size", measure, section)
