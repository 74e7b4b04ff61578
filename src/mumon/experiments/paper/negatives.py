"""More noise words: quality against k for both updates."""

from __future__ import annotations

from typing import Any

from mumon.experiments.paper.experiment_context import Lab
from mumon.experiments.paper.figures import SHADES, curve, plain_log
from mumon.experiments.paper.intervals import Runs, change, difference, estimate_of, score
from mumon.experiments.paper.intrinsic import seeded
from mumon.experiments.paper.results import Figure, Item, Section, Table, Verdict, at_least
from mumon.experiments.paper.sweeps import sweep_rates

UPDATES = ("correct", "faulty")


def measure(lab: Lab) -> dict[str, Any]:
    """Both updates at every k, each at the rate that is best there; one SGD step per window, as in the paper."""
    part = lab.part(lab.scale.negative_sentences)
    rows: list[dict[str, Any]] = []
    found: list[dict[str, Runs]] = []
    around: dict[str, float | None] = dict.fromkeys(UPDATES)
    for k in lab.scale.negatives:
        runs: dict[str, Runs] = {}
        for update in UPDATES:
            system = f"CBOW {update}, exact"
            swept = sweep_rates(lab, system, part, around=around[update], negative=k)
            around[update] = swept.rate  # the next k starts where this one ended
            runs[update] = seeded(lab, system, part, swept, fewer=True, negative=k)
        row = {update: {"rate": around[update], **score(lab, runs[update]).to_json()} for update in UPDATES}
        rows.append({"k": k, **row, "difference": difference(lab, runs["faulty"], runs["correct"]).to_json()})
        found.append(runs)
    ends = [found[place][update] for place in (0, -1) for update in ("faulty", "correct")]
    about = {"sentences": part.sentences, "tokens": part.tokens, "seeds": lab.scale.fewer_seeds}
    return {**about, "rows": rows, "change": change(lab, *ends).to_json()}


def section(data: dict[str, Any]) -> Section:
    """Scores by k, and whether the gap grows with it."""
    first, last = data["rows"][0], data["rows"][-1]
    gaps, grown = [estimate_of(row["difference"]) for row in (first, last)], estimate_of(data["change"])
    verdicts = [
        Verdict(
            "With more noise words the faulty update falls further behind.",
            "predicted from the closed form of the angle",
            f"correct less faulty is {gaps[0].signed} at k = {first['k']} and {gaps[1].signed} at k = {last['k']}: a "
            f"change of {grown.signed}",
            at_least(grown),
        )
    ]
    return Section(
        "More noise words",
        f"Both updates on {data['sentences']:,} sentences, one SGD step per window, each at the rate that is best (dev "
        f"halves) at every k, since k scales the gradient as well; {data['seeds']} seeds; test halves.",
        verdicts,
        [_table(data)],
        [Figure("negatives", "Mean of the tasks against k, with 95 % intervals.", lambda figure: _draw(figure, data))],
    )


def _table(data: dict[str, Any]) -> Table:
    rows = [
        [
            row["k"],
            *(cell for update in UPDATES for cell in (row[update]["rate"], str(estimate_of(row[update])))),
            estimate_of(row["difference"]).signed,
        ]
        for row in data["rows"]
    ]
    columns = ["k", "rate, correct", "correct", "rate, faulty", "faulty", "correct less faulty"]
    return Table("negatives", "Mean score by k, test halves", columns, rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.add_subplot()
    ks = [row["k"] for row in data["rows"]]
    for update in UPDATES:
        curve(axes, ks, [estimate_of(row[update]) for row in data["rows"]], update, SHADES[update])
    axes.set(xscale="log", xlabel="noise words k", ylabel="mean score × 100, test")
    plain_log(axes.xaxis, ks)
    axes.legend()


ITEM = Item("negatives", "quality against the number of noise words", measure, section)
