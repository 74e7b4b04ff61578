"""A larger corpus with larger vectors: the paper's C4 vectors, 768 dimensions and 5 M words."""

from __future__ import annotations

from typing import Any

from mumon.experiments.paper.experiment_context import Lab
from mumon.experiments.paper.intervals import difference, estimate_of, score
from mumon.experiments.paper.results import MARGIN, Item, Section, Table, Verdict, at_least, or_none, tenths
from mumon.experiments.paper.sweeps import rounded

SYSTEMS = ("SG", "CBOW faulty", "CBOW correct")


def measure(lab: Lab) -> dict[str, Any]:
    """Every system once, at its own rate."""
    scale = lab.scale
    options = {"vector_size": scale.c4_dim, "max_final_vocab": scale.c4_vocab, "epochs": scale.c4_epochs}
    part = lab.c4_part()
    runs = {
        system: [lab.train(system, part, alpha=rounded(lab.default_rate(system, part, **options)), **options)]
        for system in SYSTEMS
    }
    return {
        "sentences": part.sentences,
        "tokens": part.tokens,
        "options": options,
        "words": runs[SYSTEMS[0]][0].record.get("words"),
        "tasks": lab.task_names,
        "rows": [
            {
                "system": system,
                "test": {task: or_none(run[0].score(task, "test")) for task in lab.task_names},
                "mean": score(lab, run).to_json(),
            }
            for system, run in runs.items()
        ],
        "less_sg": difference(lab, runs["SG"], runs["CBOW correct"]).to_json(),
        "less_faulty": difference(lab, runs["CBOW faulty"], runs["CBOW correct"]).to_json(),
    }


def section(data: dict[str, Any]) -> Section:
    """The scores."""
    sg, faulty = estimate_of(data["less_sg"]), estimate_of(data["less_faulty"])
    rows = [
        [row["system"], *(tenths(row["test"][task]) for task in data["tasks"]), str(estimate_of(row["mean"]))]
        for row in data["rows"]
    ]
    return Section(
        "A larger corpus",
        f"{data['tokens'] / 1e6:,.1f} M words, {data['words']:,} of them kept, {data['options']['vector_size']} "
        f"dimensions, {data['options']['epochs']} epoch(s), default rates, one seed, test halves.",
        [
            Verdict(
                f"Correct CBOW performs as well as skip-gram (within {MARGIN:g} point).",
                "level",
                f"correct CBOW less skip-gram: {sg.signed}",
                at_least(sg, MARGIN),
            ),
            Verdict(
                "The correct update is better than the faulty one.",
                "it is",
                f"correct less faulty: {faulty.signed}",
                at_least(faulty),
            ),
        ],
        [Table("c4", "Test halves", ["", *data["tasks"], "mean"], rows)],
    )


ITEM = Item("c4", "a larger corpus: 768 dimensions, 5 M words", measure, section)
