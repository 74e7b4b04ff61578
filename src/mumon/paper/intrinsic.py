"""Table 1: word similarity and analogies, every system at its own best rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.paper.figures import bars
from mumon.paper.intervals import Estimate, differences, estimate_of, score
from mumon.paper.lab import HALVES, Lab, Trained
from mumon.paper.results import Figure, Item, Section, Table, Verdict, at_least
from mumon.paper.sweeps import Swept, sweep_rates
from mumon.plot_style import COLOURS

ROWS = ("gensim SG", "gensim CBOW", "SG", "CBOW faulty", "CBOW correct", "CBOW faulty, exact", "CBOW correct, exact")
# Is the second better than the first?
PAIRS = (
    ("SG", "CBOW correct"),
    ("gensim SG", "CBOW correct"),
    ("CBOW faulty", "CBOW correct"),
    ("CBOW faulty, exact", "CBOW correct, exact"),
    ("gensim CBOW", "CBOW correct"),
    ("gensim SG", "SG"),
)
MARGIN = 1.0  # points on the mean that still count as "as well as"


def measure(lab: Lab) -> dict[str, Any]:
    """Sweep every system, train the best rate with more seeds, and compare on the test halves."""
    part = lab.part(lab.scale.table_sentences)
    rows, found = [], {}
    for system in ROWS:
        if not lab.available(system):
            continue
        swept = sweep_rates(lab, system, part)
        seeds = lab.scale.peer_seeds if system.startswith("gensim") else lab.scale.seeds
        again = [lab.train(system, part, seed=seed, alpha=swept.rate) for seed in range(2, seeds + 1)]
        runs = found[system] = [swept.best, *again]
        rows.append(_row(lab, system, swept, runs))
    return {
        "sentences": part.sentences,
        "tokens": part.tokens,
        "tasks": lab.task_names,
        "rows": rows,
        "left_out": [system for system in ROWS if not lab.available(system)],
        "differences": [_gap(lab, a, b, found) for a, b in PAIRS if a in found and b in found],
    }


def _row(lab: Lab, system: str, swept: Swept, runs: list[Trained]) -> dict[str, Any]:
    folds = {
        fold: {task: float(np.mean([run.score(task, fold) for run in runs])) for task in lab.task_names}
        for fold in HALVES
    }
    return {
        "system": system,
        "rate": swept.rate,
        "inside": swept.inside,
        "seeds": len(runs),
        **folds,
        "dev_mean": score(lab, runs, fold="dev").to_json(),
        "mean": score(lab, runs).to_json(),
        "deviation": float(np.std([run.mean("test") for run in runs], ddof=1)) if len(runs) > 1 else None,
        "seconds": float(np.median([run.record["seconds"] for run in runs])),
        "swept": [[rate, _or_none(run.mean("dev"))] for rate, run in swept.runs.items()],
    }


def _gap(lab: Lab, a: str, b: str, found: dict[str, list[Trained]]) -> dict[str, Any]:
    gaps = {name: gap.to_json() for name, gap in differences(lab, found[a], found[b]).items()}
    return {"a": a, "b": b, "mean": gaps.pop("mean"), "tasks": gaps}


def _or_none(value: float) -> float | None:
    return None if value != value else value


def section(data: dict[str, Any]) -> Section:
    """The table, the differences and what they say."""
    gaps = {(gap["a"], gap["b"]): estimate_of(gap["mean"]) for gap in data["differences"]}
    verdicts = [
        Verdict(
            f"Correct CBOW performs as well as skip-gram (no more than {MARGIN:g} point behind on the mean).",
            "On Wikipedia, correct CBOW and skip-gram are level; the faulty one is behind.",
            _told(gaps, "SG", "CBOW correct") + "; " + _told(gaps, "gensim SG", "CBOW correct"),
            at_least(gaps["SG", "CBOW correct"], MARGIN),
        ),
        Verdict(
            "The correct update is better than the faulty one.",
            "Correct CBOW is ahead of gensim's and of the paper's own faulty CBOW on the mean.",
            _told(gaps, "CBOW faulty", "CBOW correct")
            + "; "
            + _told(gaps, "CBOW faulty, exact", "CBOW correct, exact"),
            at_least(gaps["CBOW faulty", "CBOW correct"]),
        ),
    ]
    if ("gensim CBOW", "CBOW correct") in gaps:
        verdicts.append(
            Verdict(
                "Correct CBOW is better than gensim's CBOW.",
                "It is, on the mean of the tasks.",
                _told(gaps, "gensim CBOW", "CBOW correct"),
                at_least(gaps["gensim CBOW", "CBOW correct"]),
            )
        )
    notes = [f"{name} was left out: gensim is not installed." for name in data["left_out"]]
    notes += [
        f"The best rate of {row['system']} lies at the edge of its sweep." for row in data["rows"] if not row["inside"]
    ]
    return Section(
        "Table 1: similarity and analogies",
        "The paper compares gensim's and its own skip-gram and CBOW, each at the rate that is best on the dev halves. "
        "Here "
        f"every system is trained on the first {data['sentences']:,} sentences ({data['tokens'] / 1e6:.1f} M words) at "
        "half, "
        "once and twice its own default rate, and further until the best is not at an edge; dev halves choose, test "
        "halves "
        "count. “Exact” is the paper's algorithm, one SGD step per window; the others are mumon's default. "
        "Scores × 100, ± half of the 95 % interval over items and seeds.",
        verdicts,
        [_table(data, "test"), _table(data, "dev"), _differences(data)],
        [Figure("table1", "Differences on the test halves, with 95 % intervals.", lambda figure: _draw(figure, data))],
        notes,
    )


def _told(gaps: dict[tuple[str, str], Estimate], a: str, b: str) -> str:
    return f"{b} less {a} {gaps[a, b].signed}" if (a, b) in gaps else f"{a} was not trained"


def _table(data: dict[str, Any], fold: str) -> Table:
    rows = [
        [
            row["system"],
            row["rate"],
            row["seeds"],
            *(round(row[fold][task], 1) for task in data["tasks"]),
            str(estimate_of(row["mean" if fold == "test" else "dev_mean"])),
        ]
        for row in data["rows"]
    ]
    return Table(f"table1-{fold}", f"{fold.capitalize()} halves", ["", "rate", "seeds", *data["tasks"], "mean"], rows)


def _differences(data: dict[str, Any]) -> Table:
    rows = [
        [
            f"{gap['b']} less {gap['a']}",
            *(estimate_of(gap["tasks"][task]).signed for task in data["tasks"]),
            estimate_of(gap["mean"]).signed,
        ]
        for gap in data["differences"]
    ]
    return Table("table1-differences", "Differences, test halves", ["", *data["tasks"], "mean"], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.add_subplot()
    names = [*data["tasks"], "mean"]
    shown = [gap for gap in data["differences"] if "gensim" not in gap["a"]]
    for place, gap in enumerate(shown):
        estimates = [estimate_of(gap["tasks"][task]) for task in data["tasks"]] + [estimate_of(gap["mean"])]
        along = [x + 0.18 * (place - (len(shown) - 1) / 2) for x in range(len(names))]
        bars(axes, along, estimates, fmt="o", color=COLOURS[place], label=f"{gap['b']} less {gap['a']}")
    axes.axhline(0, color="#999999", linewidth=1)
    axes.set_xticks(range(len(names)), names)
    axes.set(ylabel="points, × 100")
    axes.legend(loc="best", fontsize=9)


ITEM = Item("table1", "similarity and analogies, each system at its best rate", measure, section)
