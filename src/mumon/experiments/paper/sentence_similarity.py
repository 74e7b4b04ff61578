"""Similarity of sentences: the mean of word vectors, plain or by SIF, with and without the target side of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mumon.errors import OptionError
from mumon.evaluation.sentences import METHODS, SIF_WEIGHT, Method, SentenceTask
from mumon.evaluation.tasks import MEAN
from mumon.experiments.paper.both_sides import PAIRS, SOURCE, SYSTEMS, ByWeight, judge_gain, label_weight, train_all
from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.figures import SYSTEM_COLOURS
from mumon.experiments.paper.intervals import Estimate, Runs, estimate_contrast
from mumon.experiments.paper.results import (
    MARGIN,
    Cell,
    Figure,
    Item,
    Section,
    Table,
    Verdict,
    format_difference,
    judge_at_least,
)
from mumon.experiments.paper.sides import WEIGHTS, DefaultRuns, label_default, name_answers, train_default

DEV = "-dev"  # a task whose name ends in this chooses λ, the others test
TITLES = {"mean": "Mean of word vectors", "sif": "SIF"}


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Choose λ of each system on the dev pairs, and compare other seeds on the test pairs, for both methods."""
    dev, tests = split_tasks(context.sentence_tasks)
    part = context.part(context.scale.table_sentences)
    _, found = train_all(context, part)
    default = train_default(context, part, context.scale.seeds)
    return {
        "sentences": part.sentences,
        "tokens": part.tokens,
        "dim": context.scale.dim,
        "dev": dev.name,
        "tasks": [task.name for task in tests],
        "pairs": {task.name: len(task) for task in (dev, *tests)},
        "weights": list(WEIGHTS),
        "methods": [_measure_method(context, method, found, default) for method in METHODS],
    }


def split_tasks(tasks: Sequence[SentenceTask]) -> tuple[SentenceTask, list[SentenceTask]]:
    """Return the task that chooses λ, and those that test.

    Raises
    ------
    OptionError
        If there is no task of the one kind or of the other.
    """
    dev, tests = ([task for task in tasks if task.name.endswith(DEV) == wanted] for wanted in (True, False))
    if len(dev) != 1 or not tests:
        raise OptionError(
            f"{len(dev)} tasks of sentences choose λ and {len(tests)} test; give 1 whose name ends in {DEV}, and others"
        )
    return dev[0], tests


def choose_sentence_weight(runs: ByWeight, dev: SentenceTask, method: Method) -> float:
    """Return the λ with the highest correlation on the dev pairs, on the mean over seeds; of equals, the least.

    Parameters
    ----------
    runs
        Runs by λ.
    dev, method
        The pairs that choose, and how words become a sentence.

    Returns
    -------
    float
    """
    return max(runs, key=lambda weight: (_average(runs[weight], [dev], method), -weight))


def _measure_method(
    context: ExperimentContext, method: Method, found: Mapping[str, ByWeight], default: DefaultRuns
) -> dict[str, Any]:
    """Compare the systems by one way to make sentences of words."""
    dev, tests = split_tasks(context.sentence_tasks)
    weights = {system: choose_sentence_weight(found[system], dev, method) for system in SYSTEMS}

    def estimate(*terms: tuple[int, Runs]) -> dict[str, Any]:
        questions = {name_answers(task, method): np.ones(len(task), bool) for task in tests}
        estimates = estimate_contrast(context, terms, questions=questions)
        return {name.removesuffix(f"/{method}"): each.to_json() for name, each in estimates.items()}

    def compare(a: str, b: str, weight: Mapping[str, float]) -> dict[str, Any]:
        return {"a": a, "b": b, **estimate((1, found[b][weight[b]]), (-1, found[a][weight[a]]))}

    rows = [
        {
            "system": system,
            "weight": weights[system],
            "seeds": len(found[system][SOURCE]),
            "source": estimate((1, found[system][SOURCE])),
            "own": estimate((1, found[system][weights[system]])),
            "gain": estimate((1, found[system][weights[system]]), (-1, found[system][SOURCE])),
            "points": [
                {
                    "weight": weight,
                    "dev": _average(found[system][weight], [dev], method),
                    "test": _average(found[system][weight], tests, method),
                }
                for weight in WEIGHTS
            ],
        }
        for system in SYSTEMS
    ]
    source = dict.fromkeys(SYSTEMS, SOURCE)
    return {
        "method": method,
        "rows": rows,
        "own": [compare(a, b, weights) for a, b in PAIRS],
        "source": [compare(a, b, source) for a, b in PAIRS],
        "default": {**default.to_json(), "own": estimate((1, default.runs))},
        "less": [
            {"a": system, **estimate((1, default.runs), (-1, found[system][weights[system]]))} for system in SYSTEMS
        ],
    }


def _average(runs: Runs, tasks: Sequence[SentenceTask], method: Method) -> float:
    """Return the mean correlation × 100 over tasks and seeds."""
    names = [name_answers(task, method) for task in tasks]
    return float(np.mean([run.outcomes[name].score(skip_missing=False) for run in runs for name in names]))


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: correlations by method, differences, and whether correct CBOW is level with skip-gram."""
    pairs = ", ".join(f"{name} {count:,}" for name, count in data["pairs"].items())
    return Section(
        "Sentences of word vectors",
        "Beyond the paper: a sentence's vector is the mean of its words' vectors, or SIF's: words weighted by "
        f"a / (a + p), a = {SIF_WEIGHT:g}, and the direction that a task's sentences have in common removed (Arora, "
        "Liang, Ma, 2017). Nothing is trained on sentences. The models are those of “Both sides of the model”: "
        f"{data['sentences']:,} sentences ({data['tokens'] / 1e6:.1f} M words), {data['dim']} dimensions. λ is chosen "
        f"on {data['dev']}; what counts are the other tasks. Spearman's correlation × "
        f"100 with people's scores, ± half of the 95 % interval over pairs and seeds. Pairs: {pairs}.",
        [verdict for record in data["methods"] for verdict in _judge(record)],
        [
            *(_build_table(data, record) for record in data["methods"]),
            *(_build_differences_table(data, record) for record in data["methods"]),
            _build_weights_table(data),
        ],
        [
            Figure(
                "sentences",
                "Mean correlation of the test tasks against λ; circles are chosen on the dev pairs.",
                lambda figure: _draw(figure, data),
            )
        ],
        [
            "The pairs of a year of STS are one task, all its sources together. Pairs are resampled as if they were "
            "independent; in SICK, sentences occur in several pairs."
        ],
    )


def _judge(record: dict[str, Any]) -> list[Verdict]:
    """Judge one method: as good as skip-gram, better than the faulty update, better with the target side."""
    own, source = (
        {(gap["a"], gap["b"]): Estimate.from_json(gap[MEAN]) for gap in record[kind]} for kind in ("own", "source")
    )
    rows, title = {row["system"]: row for row in record["rows"]}, TITLES[record["method"]]
    labels = {system: f"{system} at λ = {row['weight']:g}" for system, row in rows.items()}
    claims = (
        ("SG", f"correct CBOW performs as well as skip-gram (no more than {MARGIN:g} point behind)", MARGIN),
        ("CBOW faulty", "the correct update is better than the faulty one", 0.0),
    )
    verdicts = [
        Verdict(
            f"{title}: {claim}, each at its own λ.",
            "does not say",
            f"{labels['CBOW correct']} less {labels[rival]}: {own[rival, 'CBOW correct'].signed} (source vectors only: "
            f"{source[rival, 'CBOW correct'].signed})",
            judge_at_least(own[rival, "CBOW correct"], margin),
            "us",
        )
        for rival, claim, margin in claims
    ]
    default = next(Estimate.from_json(gap[MEAN]) for gap in record["less"] if gap["a"] == "SG")
    verdicts.append(
        Verdict(
            f"{title}: mumon's default CBOW performs as well as skip-gram at its own λ (no more than {MARGIN:g} point "
            "behind).",
            "does not say",
            f"{label_default(record['default'])} less {labels['SG']}: {default.signed}",
            judge_at_least(default, MARGIN),
            "us",
        )
    )
    gain = Estimate.from_json(rows["CBOW correct"]["gain"][MEAN])
    ours = f"{labels['CBOW correct']} less source vectors only: {gain.signed}"
    claim = f"{title}: correct CBOW's vectors are better with the target side than without."
    return [*verdicts, Verdict(claim, "does not say", ours, judge_gain(gain, rows["CBOW correct"]["weight"]), "us")]


def _build_table(data: dict[str, Any], record: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    for row in record["rows"]:
        for kind, weight in dict.fromkeys((("source", SOURCE), ("own", row["weight"]))):
            if kind == "source" or weight != SOURCE:
                estimates = (Estimate.from_json(row[kind][name]) for name in (*data["tasks"], MEAN))
                rows.append([label_weight(row["system"], weight), row["seeds"], *map(str, estimates)])
    default = record["default"]
    cells = (str(Estimate.from_json(default["own"][name])) for name in (*data["tasks"], MEAN))
    rows.append([label_default(default), default["seeds"], *cells])
    title = f"{TITLES[record['method']]}: source only, and at each system's own λ"
    return Table(f"sentences-{record['method']}", title, ["", "seeds", *data["tasks"], MEAN], rows)


def _build_differences_table(data: dict[str, Any], record: dict[str, Any]) -> Table:
    columns = (*data["tasks"], MEAN)
    rows: list[list[Cell]] = [
        [f"{gap['b']} less {gap['a']}, {label}", *(format_difference(gap, name) for name in columns)]
        for kind, label in (("own", "own λ"), ("source", "source only"))
        for gap in record[kind]
    ]
    for gap in record["less"]:
        gaps = (format_difference(gap, name) for name in columns)
        rows.append([f"mumon’s default less {gap['a']}, own λ", *gaps])
    for row in record["rows"]:
        gains = (format_difference(row["gain"], name) for name in columns)
        rows.append([f"{row['system']}, own λ less source only", *gains])
    title = f"{TITLES[record['method']]}: differences"
    return Table(f"sentences-{record['method']}-differences", title, ["", *columns], rows)


def _build_weights_table(data: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = [
        [
            f"{row['system']}, {TITLES[record['method']]}",
            point["weight"],
            f"{point['dev']:.1f}",
            f"{point['test']:.1f}",
            "chosen" if point["weight"] == row["weight"] else "",
        ]
        for record in data["methods"]
        for row in record["rows"]
        for point in row["points"]
    ]
    return Table("sentences-weights", "Correlation by λ", ["", "λ", data["dev"], "mean of the tests", ""], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    for axes, record in zip(figure.subplots(1, len(data["methods"])), data["methods"], strict=True):
        for row in record["rows"]:
            colour = SYSTEM_COLOURS[row["system"].removeprefix("CBOW ")]
            scores = {point["weight"]: point["test"] for point in row["points"]}
            axes.plot(list(scores), list(scores.values()), "o-", color=colour, label=row["system"])
            circle = {"color": colour, "markersize": 12, "fillstyle": "none"}
            axes.plot([row["weight"]], [scores[row["weight"]]], "o", **circle)
        axes.set(title=TITLES[record["method"]], xlabel="weight λ of the target vectors")
        axes.set_xticks(data["weights"], [f"{weight:g}" for weight in data["weights"]])
        axes.legend(fontsize=9)


ITEM = Item("sentences", "similarity of sentences by the mean of word vectors and SIF", measure, build_section)
