"""Learning curves: does the correction help as the corpus shrinks or grows?"""

from __future__ import annotations

from typing import Any

from mumon.paper.figures import SHADES, bars, curve, plain_log
from mumon.paper.intervals import difference, differences, estimate_of, score
from mumon.paper.lab import Lab
from mumon.paper.results import Figure, Item, Section, Table, Verdict, at_least
from mumon.paper.sweeps import sweep_rates

SYSTEMS = ("CBOW correct", "CBOW faulty", "SG")


def measure(lab: Lab) -> dict[str, Any]:
    """Every system on larger and larger parts of the corpus, at the rate that is best there."""
    rows: list[dict[str, Any]] = []
    for sentences in lab.scale.sizes:
        part = lab.part(sentences)
        if rows and part.tokens <= rows[-1]["tokens"]:
            break  # the corpus has no more
        swept = {system: sweep_rates(lab, system, part) for system in SYSTEMS}
        best = {system: [chosen.best] for system, chosen in swept.items()}
        gaps = {
            name: gap.to_json() for name, gap in differences(lab, best["CBOW faulty"], best["CBOW correct"]).items()
        }
        rows.append(
            {
                "sentences": part.sentences,
                "tokens": part.tokens,
                "scores": {s: {"rate": swept[s].rate, **score(lab, best[s]).to_json()} for s in SYSTEMS},
                "less_faulty": gaps.pop("mean"),
                "less_sg": difference(lab, best["SG"], best["CBOW correct"]).to_json(),
                "by_task": gaps,
            }
        )
    return {"tasks": lab.task_names, "rows": rows}


def section(data: dict[str, Any]) -> Section:
    """The curves, and what they say about larger corpora."""
    first, last = data["rows"][0], data["rows"][-1]
    faulty = [estimate_of(row["less_faulty"]) for row in (first, last)]
    sg = [estimate_of(row["less_sg"]) for row in (first, last)]
    sizes = [f"{row['tokens'] / 1e6:.3g} M" for row in (first, last)]
    change, error = faulty[1].value - faulty[0].value, (faulty[0].half ** 2 + faulty[1].half ** 2) ** 0.5
    verdicts = [
        Verdict(
            "The correct update gains on the faulty one as the corpus grows.",
            "not asked; the paper's corpora are far larger",
            f"correct less faulty: {faulty[0].signed} on {sizes[0]} words, {faulty[1].signed} on {sizes[1]}: a change "
            "of "
            f"{change:+.1f} ± {error:.1f}".replace("-", "−"),
            "holds" if change > error else "does not hold" if change < -error else "undecided",
        ),
        Verdict(
            "On the whole corpus, correct CBOW performs as well as skip-gram (no more than 1 point behind).",
            "level on Wikipedia and C4",
            f"correct CBOW less skip-gram: {sg[0].signed} on {sizes[0]} words, {sg[1].signed} on {sizes[1]}",
            at_least(sg[1], 1.0),
        ),
    ]
    return Section(
        "Learning curves over corpus size",
        "Beyond the paper: the same systems on the first sentences of the corpus, each size four times the one before, "
        "every system "
        "at the rate that is best there (dev halves, a factor 2 apart); one seed, test halves.",
        verdicts,
        [_table(data), _by_task(data)],
        [
            Figure(
                "sizes",
                "Mean of the tasks, and correct less faulty, by corpus size.",
                lambda figure: _draw(figure, data),
            )
        ],
    )


def _table(data: dict[str, Any]) -> Table:
    rows = [
        [
            row["tokens"],
            *(cell for s in SYSTEMS for cell in (row["scores"][s]["rate"], str(estimate_of(row["scores"][s])))),
            estimate_of(row["less_faulty"]).signed,
            estimate_of(row["less_sg"]).signed,
        ]
        for row in data["rows"]
    ]
    columns = [
        "words",
        *(cell for s in SYSTEMS for cell in (f"rate, {s}", s)),
        "correct less faulty",
        "correct less SG",
    ]
    return Table("sizes", "Mean score by corpus size, test halves", columns, rows)


def _by_task(data: dict[str, Any]) -> Table:
    rows = [
        [row["tokens"], *(estimate_of(row["by_task"][task]).signed for task in data["tasks"])] for row in data["rows"]
    ]
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
