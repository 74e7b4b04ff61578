"""Subwords: does the correct gradient help fastText's model, too? The paper leaves that open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.evaluation.tasks import MEAN
from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.figures import SYSTEM_COLOURS
from mumon.experiments.paper.intervals import Estimate, estimate_contrast
from mumon.experiments.paper.results import (
    MARGIN,
    Cell,
    Figure,
    Item,
    Section,
    Table,
    Verdict,
    format_difference,
    format_score,
    judge_at_least,
    nan_to_none,
)
from mumon.experiments.paper.runs import TrainedRun
from mumon.experiments.paper.sides import choose_weight, train_side_seeds, train_sides
from mumon.experiments.paper.sweeps import RATE_STEP, bracket_best_rate, get_dev_score

GERMAN_TASKS = ("de-gur350", "de-zg222", "de-schm280", "de-yp130", "de-syntactic", "de-semantic")
WORDS = "CBOW correct"  # without n-grams
OURS = (
    WORDS,
    "CBOW faulty, subwords",
    "CBOW correct, subwords",
    "SG faulty, subwords",
    "SG correct, subwords",
)
PEERS = ("fastText CBOW", "fastText SG", "gensim FastText CBOW", "gensim FastText SG")
# The first and the second, which may be better.
PAIRS = (
    ("CBOW faulty, subwords", "CBOW correct, subwords"),
    ("SG faulty, subwords", "SG correct, subwords"),
    ("SG correct, subwords", "CBOW correct, subwords"),
    (WORDS, "CBOW correct, subwords"),
    *(
        (f"{peer} {objective}", f"{objective} correct, subwords")
        for objective in ("CBOW", "SG")
        for peer in ("fastText", "gensim FastText")
    ),
)


@dataclass(frozen=True)
class Choice:
    """The rate and λ of a system that are best on the dev halves, and its runs with other seeds."""

    rate: float
    weight: float
    inside: bool  # whether worse rates were tried on both sides
    runs: list[TrainedRun]


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Choose rate and λ of every system on the dev halves, and compare other seeds on the test halves."""
    texts = {"the corpus": context}
    if context.german:
        from mumon.evaluation import load_tasks

        texts = {
            "English": context,
            "German": ExperimentContext(
                context.scale, context.german, load_tasks(GERMAN_TASKS, progress=context.progress),
                context.store.folder, context.threads, context.progress,
            ),
        }  # fmt: skip
    for name, each in texts.items():
        each.label = f"subwords, {name}" if len(texts) > 1 else "subwords"
    return {"dim": context.scale.dim, "texts": [_measure_text(name, each) for name, each in texts.items()]}


def _measure_text(name: str, context: ExperimentContext) -> dict[str, Any]:
    part = context.part(context.scale.table_sentences)
    found = {system: _choose(context, system) for system in OURS}
    runs = {system: choice.runs for system, choice in found.items()}
    # fastText takes no seed: one run of each peer, at its own rate.
    peers = (peer for peer in PEERS if context.is_available(peer))
    runs |= {peer: [context.train(peer, part, bucket=context.scale.buckets)] for peer in peers}
    known = _find_known(context, runs[WORDS])
    every = runs | {WORDS: [_count_missing(run) for run in runs[WORDS]]}
    compared = [pair for pair in PAIRS if all(system in runs for system in pair)]
    return {
        "name": name,
        "sentences": part.sentences,
        "tokens": part.tokens,
        "tasks": context.task_names,
        "rows": [
            {
                "system": system,
                "seeds": len(runs[system]),
                "rate": found[system].rate if system in found else context.default_rate(system, part),
                "weight": found[system].weight if system in found else 0.0,
                "inside": found[system].inside if system in found else True,
                "seconds": nan_to_none(float(np.mean([run.record["seconds"] for run in runs[system]]))),
                "all": _estimate(context, [(1, every[system])]),
                "known": _estimate(context, [(1, runs[system])], known),
            }
            for system in runs
        ],
        "pairs": [
            {
                "a": a,
                "b": b,
                "all": _estimate(context, [(1, every[b]), (-1, every[a])]),
                "known": _estimate(context, [(1, runs[b]), (-1, runs[a])], known),
            }
            for a, b in compared
        ],
    }


def _choose(context: ExperimentContext, system: str) -> Choice:
    """Find the best rate of a system, each rate at the λ that is best there, and train it with other seeds."""
    part, window = context.part(context.scale.table_sentences), context.scale.window
    options = {} if system == WORDS else {"bucket": context.scale.buckets}

    def train(rate: float) -> TrainedRun:
        runs = train_sides(context, system, part, alpha=rate, window=window, **options)
        return max(runs.values(), key=get_dev_score)

    swept = bracket_best_rate(context.default_rate(system, part, window=window), train)
    by_weight = train_side_seeds(context, system, part, swept.rate, window, context.scale.seeds, **options)
    weight = choose_weight(by_weight)
    return Choice(swept.rate, weight, swept.inside, by_weight[weight])


def _find_known(context: ExperimentContext, runs: list[TrainedRun]) -> dict[str, NDArray[np.bool_]]:
    """Return which items of each test half have only words of the training text."""
    return {task.name: task.fold("test") & runs[0].outcomes[task.name].found for task in context.tasks}


def _count_missing(run: TrainedRun) -> TrainedRun:
    """Return a run of which all items count: those with unknown words as the cosine 0, or as wrong."""
    outcomes = {
        name: replace(outcome, found=np.ones_like(outcome.found)) for name, outcome in run.outcomes.items()
    }  # fmt: skip
    return replace(run, outcomes=outcomes)


def _estimate(
    context: ExperimentContext,
    terms: Sequence[tuple[int, list[TrainedRun]]],
    questions: dict[str, NDArray[np.bool_]] | None = None,
) -> dict[str, Any]:
    return {name: each.to_json() for name, each in estimate_contrast(context, terms, "test", questions).items()}


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: scores and differences of each text, on all items and on those of known words."""
    texts = data["texts"]
    sizes = "; ".join(
        f"{text['name']}: {text['sentences']:,} sentences, {text['tokens'] / 1e6:.1f} M words" for text in texts
    )
    edges = (
        f"{text['name']}: the best rate of {row['system']} lies at the edge of its sweep."
        for text in texts
        for row in text["rows"]
        if not row["inside"]
    )
    return Section(
        "Subwords",
        "The paper names fastText among the programs whose gradient is wrong, and leaves open whether correcting it "
        "“could further improve fastText embeddings”. Here words are made of n-grams of 3 to 6 characters "
        f"({data['dim']} dimensions, window 5; {sizes}). Correct and faulty updates of both objectives are trained at "
        f"rates a factor {RATE_STEP:g} apart until the best has worse ones on both sides; dev halves choose the rate "
        "and the weight λ of the target vectors, test halves of other seeds are compared. fastText and gensim run "
        "once, at their own rates. Scores × 100, ± half of the 95 % interval. A word that is not in the text has a "
        "vector from its n-grams; without n-grams, its items count as 0.",
        [verdict for text in texts for verdict in _judge(text)],
        [table for text in texts for table in (_build_table(text), _build_differences(text))],
        [
            Figure(
                "subwords",
                "Mean of the tasks, test halves; blue: the correct update, orange: the faulty one.",
                lambda figure: _draw(figure, data),
            )
        ],
        [
            "A question whose answer is not in the vocabulary is answered wrong by all systems.",
            "Seconds are those of single trainings beside other work, not a benchmark.",
            *edges,
        ],
    )


def _judge(text: dict[str, Any]) -> list[Verdict]:
    gaps = {(pair["a"], pair["b"]): pair for pair in text["pairs"]}
    where, level = f"({text['name']})", f"no more than {MARGIN:g} point behind"
    claims = [  # the paper asks the first two, and claims nothing
        (PAIRS[0], f"Correcting the gradient improves CBOW with subwords {where}.", "left open", 0.0),
        (PAIRS[1], f"Correcting the gradient improves skip-gram with subwords {where}.", "left open", 0.0),
        (PAIRS[3], f"CBOW with subwords is better than CBOW of words {where}.", "does not say", 0.0),
        (PAIRS[4], f"CBOW with subwords is as good as fastText’s, {level} {where}.", "does not say", MARGIN),
    ]
    verdicts = []
    for (a, b), claim, paper, margin in claims:
        if (a, b) in gaps:
            both = {kind: Estimate.from_json(gaps[a, b][kind][MEAN]) for kind in ("all", "known")}
            said = f"{b} less {a}: {both['all'].signed} on all items, {both['known'].signed} on known words"
            verdicts.append(Verdict(claim, paper, said, judge_at_least(both["all"], margin), "us"))
    return verdicts


def _name(text: dict[str, Any], kind: str) -> str:
    return f"subwords-{kind}-{text['name'].lower().replace('the ', '')}"


def _build_table(text: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    for kind, label in (("all", "all items"), ("known", "known words")):
        for row in text["rows"]:
            scores = (format_score(row[kind][task]["value"] if task in row[kind] else None) for task in text["tasks"])
            settings = (row["rate"], row["weight"], row["seeds"])
            rows.append([row["system"], label, *settings, *scores, str(Estimate.from_json(row[kind][MEAN]))])
    title = f"{text['name']}: test halves"
    return Table(_name(text, "scores"), title, ["", "items", "rate", "λ", "seeds", *text["tasks"], "mean"], rows)


def _build_differences(text: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = []
    for kind, label in (("all", "all items"), ("known", "known words")):
        for pair in text["pairs"]:
            gaps = (format_difference(pair[kind], task) for task in text["tasks"])
            mean = Estimate.from_json(pair[kind][MEAN]).signed
            rows.append([f"{pair['b']} less {pair['a']}", label, *gaps, mean])
    title = f"{text['name']}: differences, test halves"
    return Table(_name(text, "differences"), title, ["", "items", *text["tasks"], "mean"], rows)


def _choose_colour(system: str) -> str:
    return SYSTEM_COLOURS["faulty" if "faulty" in system else "correct"] if system in OURS else "#999999"


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.subplots(1, len(data["texts"]), squeeze=False)[0]
    for each, text in zip(axes, data["texts"], strict=True):
        rows = text["rows"][::-1]
        estimates = [Estimate.from_json(row["all"][MEAN]) for row in rows]
        colours = [_choose_colour(row["system"]) for row in rows]
        ends = [[one.value - one.low for one in estimates], [one.high - one.value for one in estimates]]
        each.barh([row["system"] for row in rows], [one.value for one in estimates], color=colours, xerr=ends)
        each.set(title=f"{text['name']}: all items", xlabel="mean score × 100, test halves")


ITEM = Item("subwords", "correct and faulty updates with n-grams, beside fastText and gensim", measure, build_section)
