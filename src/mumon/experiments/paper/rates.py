"""How much the learning rate matters to each update: the objection that only one of them was tuned."""

from __future__ import annotations

from typing import Any

from mumon.experiments.paper.experiment_context import Lab
from mumon.experiments.paper.figures import SHADES, plain_log
from mumon.experiments.paper.intervals import difference, estimate_of
from mumon.experiments.paper.intrinsic import seeded
from mumon.experiments.paper.results import Figure, Item, Section, Table, Verdict, at_least, or_none, tenths
from mumon.experiments.paper.sweeps import STEP, dev, rounded, sweep_rates

SYSTEMS = ("CBOW correct", "CBOW faulty", "CBOW correct, exact", "CBOW faulty, exact")
BEYOND = 2  # more rates on both sides of the bracket of Table 1
SHARED = (0.025, 0.05, 0.075)  # CBOW's default in gensim, in word2vec.c and fastText, and the paper's correct one


def measure(lab: Lab) -> dict[str, Any]:
    """Scores of both updates over a wide range of rates, and their differences at each one's best and at one rate."""
    part = lab.part(lab.scale.table_sentences)
    curves, best = [], {}
    for system in SYSTEMS:
        swept = sweep_rates(lab, system, part)
        runs, best[system] = dict(swept.runs), seeded(lab, system, part, swept)
        for _ in range(0 if system.endswith("exact") else BEYOND):
            for rate in (rounded(min(runs) / STEP), rounded(max(runs) * STEP)):
                runs[rate] = lab.train(system, part, alpha=rate)
        points = [
            {"rate": rate, **{fold: or_none(runs[rate].mean(fold)) for fold in ("dev", "test")}}
            for rate in sorted(runs)
        ]
        curves.append({"system": system, "best": max(runs, key=lambda rate: dev(runs[rate])), "points": points})
    at = {}
    for rate in SHARED:
        pair = [lab.train(f"CBOW {update}, exact", part, alpha=rate) for update in ("faulty", "correct")]
        if not any(run.failed for run in pair):
            at[str(rate)] = difference(lab, pair[:1], pair[1:]).to_json()
    return {
        "sentences": part.sentences,
        "tokens": part.tokens,
        "curves": curves,
        "tuned": difference(lab, best["CBOW faulty"], best["CBOW correct"]).to_json(),
        "tuned_exact": difference(lab, best["CBOW faulty, exact"], best["CBOW correct, exact"]).to_json(),
        "at": at,
    }


def section(data: dict[str, Any]) -> Section:
    """The curves, and whether there is a difference left after tuning."""
    at = {rate: estimate_of(gap) for rate, gap in data["at"].items()}
    tuned, exact = estimate_of(data["tuned"]), estimate_of(data["tuned_exact"])
    costs = {curve["system"]: _costs(curve) for curve in data["curves"]}
    verdicts = [
        Verdict(
            "With both updates at their own best rates, the correct one is better.",
            "gensim's maintainers object that the two were not tuned alike",
            f"correct less faulty: {tuned.signed} (exact: {exact.signed}); with both at one rate (exact, one seed): "
            + ", ".join(f"{gap.signed} at {rate}" for rate, gap in at.items()),
            at_least(tuned),
            "gensim's maintainers",
        ),
        Verdict(
            "Which of the two forgives a wrong rate more?",
            "not asked",
            "points lost at half and at twice the best rate (dev halves, one seed): "
            + "; ".join(f"{name} {half} and {twice}" for name, (half, twice) in costs.items()),
            "not judged",
            "us",
        ),
    ]
    return Section(
        "Learning-rate sensitivity",
        "The correct step is C times shorter in the source rows, so at one rate the two updates are not equally far "
        f"along. Both are swept on the same text ({data['sentences']:,} sentences), at rates a factor {STEP:g} apart. "
        "Dev halves choose; differences are of test halves, at the best rates with the seeds of Table 1.",
        verdicts,
        [_table(data)],
        [Figure("rates", "Mean of the tasks (dev halves, one seed) against the rate.", lambda f: _draw(f, data))],
    )


def _costs(curve: dict[str, Any]) -> list[str]:
    """What the rates beside the best one cost."""
    rates = [point["rate"] for point in curve["points"]]
    scores = [point["dev"] for point in curve["points"]]
    best = rates.index(curve["best"])
    beside = [scores[place] if 0 <= place < len(scores) else None for place in (best - 1, best + 1)]
    return ["all" if score is None else f"{scores[best] - score:.1f}" for score in beside]


def _table(data: dict[str, Any]) -> Table:
    rows = [
        [
            curve["system"],
            point["rate"],
            *("failed" if point[fold] is None else tenths(point[fold]) for fold in ("dev", "test")),
            "best" if point["rate"] == curve["best"] else "",
        ]
        for curve in data["curves"]
        for point in curve["points"]
    ]
    return Table("rates", "Mean score by rate", ["", "rate", "dev", "test", ""], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.add_subplot()
    rates = set()
    for curve in data["curves"]:
        points = [point for point in curve["points"] if point["dev"] is not None]
        rates |= {point["rate"] for point in points}
        exact = curve["system"].endswith("exact")
        colour = SHADES["correct" if "correct" in curve["system"] else "faulty"]
        axes.plot([point["rate"] for point in points], [point["dev"] for point in points], "s:" if exact else "o-",
                  color=colour, alpha=0.6 if exact else 1, label=curve["system"])  # fmt: skip
    axes.set(xscale="log", xlabel="learning rate", ylabel="mean score × 100, dev")
    low, high = min(rates), max(rates)
    plain_log(
        axes.xaxis,
        [rate for rate in (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2) if low / 1.5 <= rate <= high * 1.5],
    )
    axes.legend(fontsize=9)


ITEM = Item("rates", "learning-rate sensitivity of both updates", measure, section)
