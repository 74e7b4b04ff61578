"""How much the learning rate matters to each update: the objection that only one of them was tuned."""

from __future__ import annotations

from typing import Any

from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.figures import SYSTEM_COLOURS, label_log_axis
from mumon.experiments.paper.intervals import Estimate, estimate_difference
from mumon.experiments.paper.intrinsic import train_seeds
from mumon.experiments.paper.results import (
    SOURCE_ONLY,
    Figure,
    Item,
    Section,
    Table,
    Verdict,
    format_score,
    judge_at_least,
    nan_to_none,
)
from mumon.experiments.paper.sweeps import RATE_STEP, get_dev_score, round_rate, sweep_rates

SYSTEMS = ("CBOW correct", "CBOW faulty", "CBOW correct, exact", "CBOW faulty, exact")
EXTRA_RATES = 2  # on each side of those that Table 1 tried
SHARED_RATES = (0.025, 0.05, 0.075)  # CBOW's default in gensim, in word2vec.c and fastText, and the paper's correct one


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Score both updates over a wide range of rates; compare them at their best rates and at the same rate."""
    part = context.part(context.scale.table_sentences)
    curves, best = [], {}
    for system in SYSTEMS:
        swept = sweep_rates(context, system, part)
        runs, best[system] = dict(swept.runs), train_seeds(context, system, part, swept)
        for _ in range(0 if system.endswith("exact") else EXTRA_RATES):
            for rate in (round_rate(min(runs) / RATE_STEP), round_rate(max(runs) * RATE_STEP)):
                runs[rate] = context.train(system, part, alpha=rate)
        points = [
            {"rate": rate, **{fold: nan_to_none(runs[rate].mean(fold)) for fold in ("dev", "test")}}
            for rate in sorted(runs)
        ]
        curves.append(
            {"system": system, "best": max(runs, key=lambda rate: get_dev_score(runs[rate])), "points": points}
        )
    at = {}
    for rate in SHARED_RATES:
        pair = [context.train(f"CBOW {update}, exact", part, alpha=rate) for update in ("faulty", "correct")]
        if not any(run.failed for run in pair):
            at[str(rate)] = estimate_difference(context, pair[:1], pair[1:]).to_json()
    return {
        "sentences": part.sentences,
        "tokens": part.tokens,
        "curves": curves,
        "tuned": estimate_difference(context, best["CBOW faulty"], best["CBOW correct"]).to_json(),
        "tuned_exact": estimate_difference(context, best["CBOW faulty, exact"], best["CBOW correct, exact"]).to_json(),
        "at": at,
    }


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: the curves, and whether a difference is left after tuning."""
    at = {rate: Estimate.from_json(gap) for rate, gap in data["at"].items()}
    tuned, exact = Estimate.from_json(data["tuned"]), Estimate.from_json(data["tuned_exact"])
    costs = {curve["system"]: _list_costs(curve) for curve in data["curves"]}
    verdicts = [
        Verdict(
            "With both updates at their own best rates, the correct one is better.",
            "gensim's maintainers object that the two were not tuned alike",
            f"correct less faulty: {tuned.signed} (exact: {exact.signed}); with both at one rate (exact, one seed): "
            + ", ".join(f"{gap.signed} at {rate}" for rate, gap in at.items()),
            judge_at_least(tuned),
            "gensim's maintainers",
        ),
        Verdict(
            "Which of the two forgives a wrong rate more?",
            "does not say",
            "points lost at half and at twice the best rate (dev halves, one seed): "
            + "; ".join(f"{name} {half} and {twice}" for name, (half, twice) in costs.items()),
            "not judged",
            "us",
        ),
    ]
    return Section(
        "Learning-rate sensitivity",
        "The correct step is C times shorter in the source rows, so at one rate the two updates are not equally far "
        f"along. Both are swept on the same text ({data['sentences']:,} sentences), at rates a factor {RATE_STEP:g} "
        "apart. Dev halves choose; differences are of test halves, at the best rates with the seeds of Table 1.",
        verdicts,
        [_build_table(data)],
        [Figure("rates", "Mean of the tasks (dev halves, one seed) against the rate.", lambda f: _draw(f, data))],
    )


def _list_costs(curve: dict[str, Any]) -> list[str]:
    """List the points that the rates beside the best one lose."""
    rates = [point["rate"] for point in curve["points"]]
    scores = [point["dev"] for point in curve["points"]]
    best = rates.index(curve["best"])
    beside = [scores[place] if 0 <= place < len(scores) else None for place in (best - 1, best + 1)]
    return ["all" if score is None else f"{scores[best] - score:.1f}" for score in beside]


def _build_table(data: dict[str, Any]) -> Table:
    rows = [
        [
            curve["system"],
            point["rate"],
            *("failed" if point[fold] is None else format_score(point[fold]) for fold in ("dev", "test")),
            "best" if point["rate"] == curve["best"] else "",
        ]
        for curve in data["curves"]
        for point in curve["points"]
    ]
    return Table("rates", f"Mean score by rate, {SOURCE_ONLY}", ["", "rate", "dev", "test", ""], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.add_subplot()
    rates = set()
    for curve in data["curves"]:
        points = [point for point in curve["points"] if point["dev"] is not None]
        rates |= {point["rate"] for point in points}
        exact = curve["system"].endswith("exact")
        colour = SYSTEM_COLOURS["correct" if "correct" in curve["system"] else "faulty"]
        axes.plot([point["rate"] for point in points], [point["dev"] for point in points], "s:" if exact else "o-",
                  color=colour, alpha=0.6 if exact else 1, label=curve["system"])  # fmt: skip
    axes.set(xscale="log", xlabel="learning rate", ylabel="mean score × 100, dev")
    low, high = min(rates), max(rates)
    label_log_axis(
        axes.xaxis,
        [rate for rate in (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2) if low / 1.5 <= rate <= high * 1.5],
    )
    axes.legend(fontsize=9)


ITEM = Item("rates", "learning-rate sensitivity of both updates", measure, build_section)
