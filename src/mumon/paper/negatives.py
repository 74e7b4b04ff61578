"""More noise words: quality against k for both updates."""

from __future__ import annotations

from typing import Any

from mumon.paper.figures import SHADES, curve, plain_log
from mumon.paper.intervals import difference, estimate_of, score
from mumon.paper.lab import Lab
from mumon.paper.results import Figure, Item, Section, Table, Verdict
from mumon.paper.sweeps import sweep_rates

UPDATES = ("correct", "faulty")


def measure(lab: Lab) -> dict[str, Any]:
    """Both updates at every k, each at the rate that is best there; one SGD step per window, as in the paper."""
    part = lab.part(lab.scale.negative_sentences)
    rows, around = [], dict.fromkeys(UPDATES)
    for k in lab.scale.negatives:
        runs = {}
        for update in UPDATES:
            swept = sweep_rates(lab, f"CBOW {update}, exact", part, around=around[update], negative=k)
            around[update] = swept.rate  # type: ignore[assignment]  # the next k starts where this one ended
            runs[update] = swept
        row = {update: {"rate": runs[update].rate, **score(lab, [runs[update].best]).to_json()} for update in UPDATES}
        gap = difference(lab, [runs["faulty"].best], [runs["correct"].best]).to_json()
        rows.append({"k": k, **row, "difference": gap})
    return {"sentences": part.sentences, "tokens": part.tokens, "rows": rows}


def section(data: dict[str, Any]) -> Section:
    """Scores by k, and whether the gap grows with it."""
    first, last = data["rows"][0], data["rows"][-1]
    gaps = [estimate_of(row["difference"]) for row in (first, last)]
    widened = gaps[1].value - gaps[0].value
    error = (gaps[0].half ** 2 + gaps[1].half ** 2) ** 0.5
    outcome = "holds" if widened > error else "does not hold" if widened < -error else "undecided"
    verdicts = [
        Verdict(
            "With more noise words the faulty update falls further behind.",
            "predicted from the closed form of the angle",
            f"correct less faulty is {gaps[0].signed} at k = {first['k']} and {gaps[1].signed} at k = {last['k']}: a "
            "change of "
            f"{widened:+.1f} ± {error:.1f}".replace("-", "−"),
            outcome,  # type: ignore[arg-type]
        )
    ]
    return Section(
        "More noise words",
        f"Both updates on {data['sentences']:,} sentences, one SGD step per window, each at the rate that is best (dev "
        "halves) at "
        "every k, since k scales the gradient as well; one seed; test halves.",
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
