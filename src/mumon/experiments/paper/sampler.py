"""The alias sampler: time against the size of the vocabulary, and what word2vec.c's table distorts."""

from __future__ import annotations

from typing import Any

from mumon import __version__
from mumon.experiments.bench.machine import describe_machine
from mumon.experiments.bench.sampler_times import REPEATS, draw_panels, time_samplers
from mumon.experiments.bench.samplers import EXPONENT, SAMPLERS
from mumon.experiments.paper.experiment_context import ExperimentContext, LabelledProgress
from mumon.experiments.paper.results import Figure, Item, Section, Table, Verdict

ALIAS, SEARCH, TABLE = (sampler.name for sampler in SAMPLERS)


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Time three samplers at every size of the vocabulary."""
    inputs: dict[str, Any] = {
        "draws": context.scale.draws,
        "vocabularies": context.scale.vocabularies,
        "repeats": REPEATS,
        "exponent": EXPONENT,
    }
    inputs |= {"version": __version__, "machine": describe_machine()["cpu"]}
    return context.measure_once(
        "sampler",
        inputs,
        lambda: {
            "draws": context.scale.draws,
            "rows": time_samplers(
                context.scale.vocabularies, context.scale.draws, LabelledProgress(context.progress, context.label)
            ),
        },
    )


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: times and errors."""
    rows = {(row["sampler"], row["words"]): row for row in data["rows"]}
    sizes = sorted({row["words"] for row in data["rows"]})
    small, large = sizes[0], sizes[-1]
    growth = {
        name: rows[name, large]["draw_seconds"] / rows[name, small]["draw_seconds"] for name in (ALIAS, SEARCH, TABLE)
    }
    table, alias = rows[TABLE, large], rows[ALIAS, large]
    verdicts = [
        Verdict(
            "As the vocabulary grows, drawing from an alias table slows down less than a search.",
            "constant time per draw; a search takes logarithmic time",
            f"from {small:,} to {large:,} words, {data['draws'] / 1e6:g} M draws take {growth[ALIAS]:.1f} times as "
            f"long ({rows[ALIAS, small]['draw_seconds']:.2f} s to {alias['draw_seconds']:.2f} s), by search "
            f"{growth[SEARCH]:.1f} times; from word2vec.c's table {growth[TABLE]:.1f} times (to "
            f"{table['draw_seconds']:.2f} s)",
            "holds" if growth[ALIAS] < growth[SEARCH] else "does not hold",
        ),
        Verdict(
            "word2vec.c's table distorts the distribution; the alias table does not.",
            "the table holds 10⁸ entries, whatever the vocabulary",
            f"at {large:,} words the mean relative error of a probability is {table['mean_error']:.2g} (alias table: "
            f"{alias['mean_error']:.1g}), the largest {table['largest_error']:.2g} ({alias['largest_error']:.1g}); the "
            f"total variation between drawn and wanted is {table['distance']:.2g} ({alias['distance']:.1g})",
            "holds" if alias["mean_error"] < table["mean_error"] else "does not hold",
        ),
    ]
    return Section(
        "The alias sampler",
        f"{data['draws'] / 1e6:g} M noise words drawn by one thread from counts that fall as 1/rank, to the power "
        f"{EXPONENT}, with Vose's alias table (mumon's, as the paper's), by a search among cumulative probabilities, "
        "and from word2vec.c's table. Median of three. The probabilities that a table really draws with are computed, "
        "not estimated.",
        verdicts,
        [
            Table(
                "sampler",
                "Samplers by size",
                [
                    "sampler",
                    "words",
                    "seconds to build",
                    "seconds to draw",
                    "MB",
                    "largest error",
                    "mean error",
                    "total variation",
                    "never drawn",
                ],
                [
                    [
                        row["sampler"],
                        row["words"],
                        round(row["build_seconds"], 4),
                        round(row["draw_seconds"], 3),
                        round(row["bytes"] / 1e6, 2),
                        float(f"{row['largest_error']:.2g}"),
                        float(f"{row['mean_error']:.2g}"),
                        float(f"{row['distance']:.2g}"),
                        row["never_drawn"],
                    ]
                    for row in data["rows"]
                ],
            )
        ],
        [
            Figure(
                "sampler",
                "Time and error against the size of the vocabulary.",
                lambda f: draw_panels(f, data),
                (11.5, 3.9),
            )
        ],
    )


ITEM = Item("sampler", "the alias sampler against a search and word2vec.c's table", measure, build_section)
