"""A larger corpus with larger vectors: the paper's C4 vectors, 768 dimensions and 5 M words."""

from __future__ import annotations

from typing import Any

from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.intervals import Estimate, estimate_difference, estimate_score
from mumon.experiments.paper.published import TABLE_1, quote_table_1
from mumon.experiments.paper.results import (
    MARGIN,
    SOURCE_ONLY,
    Cell,
    Item,
    Section,
    Table,
    Verdict,
    format_score,
    judge_at_least,
    nan_to_none,
)
from mumon.experiments.paper.sweeps import round_rate

SYSTEMS = ("SG", "CBOW faulty", "CBOW correct")


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Train every system once, at its own rate."""
    scale = context.scale
    options = {"vector_size": scale.c4_dim, "max_final_vocab": scale.c4_vocab, "epochs": scale.c4_epochs}
    part = context.c4_part()
    runs = {
        system: [
            context.train(system, part, alpha=round_rate(context.default_rate(system, part, **options)), **options)
        ]
        for system in SYSTEMS
    }
    return {
        "sentences": part.sentences,
        "tokens": part.tokens,
        "options": options,
        "words": runs[SYSTEMS[0]][0].record.get("words"),
        "tasks": context.task_names,
        "rows": [
            {
                "system": system,
                "test": {task: nan_to_none(run[0].score(task, "test")) for task in context.task_names},
                "mean": estimate_score(context, run).to_json(),
            }
            for system, run in runs.items()
        ],
        "less_sg": estimate_difference(context, runs["SG"], runs["CBOW correct"]).to_json(),
        "less_faulty": estimate_difference(context, runs["CBOW faulty"], runs["CBOW correct"]).to_json(),
    }


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: the scores."""
    sg, faulty = Estimate.from_json(data["less_sg"]), Estimate.from_json(data["less_faulty"])
    rows: list[list[Cell]] = [
        [
            row["system"],
            *(format_score(row["test"][task]) for task in data["tasks"]),
            str(Estimate.from_json(row["mean"])),
        ]
        for row in data["rows"]
    ]
    for paper in ("kōan CBOW faulty, C4", "kōan CBOW correct, C4"):
        rows.append(
            [f"{paper}, paper", *(format_score(TABLE_1.find(paper, name)) for name in (*data["tasks"], "mean"))]
        )
    return Section(
        "A larger corpus",
        f"{data['tokens'] / 1e6:,.1f} M words, {data['words']:,} of them kept, {data['options']['vector_size']} "
        f"dimensions, {data['options']['epochs']} epoch(s), default rates, one seed, test halves.",
        [
            Verdict(
                f"Correct CBOW performs as well as skip-gram (within {MARGIN:g} point).",
                "no skip-gram on C4",
                f"correct CBOW less skip-gram: {sg.signed}",
                judge_at_least(sg, MARGIN),
            ),
            Verdict(
                "The correct update is better than the faulty one.",
                quote_table_1("CBOW faulty", "CBOW correct", ", C4"),
                f"correct less faulty: {faulty.signed}",
                judge_at_least(faulty),
            ),
        ],
        [Table("c4", f"Test halves, {SOURCE_ONLY}", ["", *data["tasks"], "mean"], rows)],
    )


ITEM = Item("c4", "a larger corpus: 768 dimensions, 5 M words", measure, build_section)
