"""The finite-difference check of `mumon gradcheck`, as a part of the report."""

from __future__ import annotations

from typing import Any

from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.results import Item, Section, Table, Verdict
from mumon.training.gradcheck import TOLERANCE, check_gradients

CONTEXTS = 5


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Check every kernel against finite differences."""
    context.progress.start(f"{context.label}: differentiating", 0, "")
    checks = [check.to_json() for check in check_gradients(CONTEXTS)]
    context.progress.finish(f"{context.label}: {len(checks)} kernels differentiated")
    return {"contexts": CONTEXTS, "tolerance": TOLERANCE, "checks": checks}


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: which kernels pass."""
    correct = [check for check in data["checks"] if check["update"] != "faulty"]
    faulty = [check for check in data["checks"] if check["update"] == "faulty" and check["objective"] == "CBOW"]
    worst = max(max(check["source_error"], check["target_error"]) for check in correct)
    factors = sorted({round(check["factor"], 4) for check in faulty})
    verdicts = [
        Verdict(
            "A finite-difference check tells the correct update from the faulty one.",
            "its conclusion: every implementation should come with one",
            f"the correct kernels deviate from the numerical gradient by at most {worst:.1e} of its largest entry; "
            f"the faulty one's source steps are {' and '.join(f'{factor:g}' for factor in factors)} times as long, at "
            f"C = {data['contexts']}",
            "holds" if all(check["passes"] for check in correct) and factors == [data["contexts"]] else "does not hold",
        )
    ]
    rows = [
        [
            check["objective"],
            check["update"],
            check["kernel"],
            float(f"{check['source_error']:.1e}"),
            float(f"{check['target_error']:.1e}"),
            round(check["factor"], 4),
            "yes" if check["passes"] else "no",
        ]
        for check in data["checks"]
    ]
    columns = ["objective", "update", "kernel", "source off by", "target off by", "source steps ×", "gradient?"]
    return Section(
        "Finite differences",
        "What every kernel applies in one step of tiny length, against the numerical derivatives of its loss with the "
        f"same noise words; relative to the largest derivative, up to {data['tolerance']:g} passes. `mumon gradcheck` "
        "prints this for any C and k.",
        verdicts,
        [Table("gradcheck", "Every kernel against finite differences", columns, rows)],
    )


ITEM = Item("gradcheck", "every kernel against finite differences", measure, build_section)
