"""Tables 2 and 3: sentence classification and named entities over each embedding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mumon.errors import FormatError
from mumon.experiments.paper.experiment_context import ExperimentContext, read_json
from mumon.experiments.paper.intervals import Estimate
from mumon.experiments.paper.published import PAPER_ROWS, TABLE_2, TABLE_3
from mumon.experiments.paper.results import (
    MARGIN,
    SOURCE_ONLY,
    Cell,
    Figure,
    Item,
    Section,
    Table,
    Verdict,
    format_gap,
    format_score,
    judge_at_least,
)
from mumon.experiments.plot_style import COLOURS

TRAINED = {
    "gensim skip-gram": "gensim SG",
    "gensim CBOW": "gensim CBOW",
    "mumon skip-gram": "SG",
    "mumon CBOW, faulty": "CBOW faulty",
    "mumon CBOW": "CBOW correct",
}
BASELINES = ("random", "glove")
OURS = "mumon CBOW"
ORDER = (*BASELINES, *TRAINED)
# Is the second better than the first?
PAIRS = (
    ("random", "mumon CBOW"),
    ("glove", "mumon CBOW"),
    ("gensim CBOW", "mumon CBOW"),
    ("mumon CBOW, faulty", "mumon CBOW"),
    ("mumon skip-gram", "mumon CBOW"),
    ("gensim skip-gram", "mumon skip-gram"),
)
TITLES = {
    "sst2": "SST-2",
    "qnli": "QNLI",
    "mnli-m": "MNLI-m",
    "mnli-mm": "MNLI-mm",
    "ner": "NER",
    "ner-tuned": "NER, tuned",
}


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Return the results of an earlier evaluation, or train vectors and networks here, which takes hours."""
    if context.earlier_results.get("extrinsic") is not None:
        earlier: dict[str, Any] = context.earlier_results["extrinsic"]
        return earlier
    from mumon.experiments.extrinsic import Budget, evaluate_extrinsic
    from mumon.experiments.extrinsic.evaluate import check_request

    check_request(["sst2", "qnli", "mnli", "ner"], BASELINES)  # before the vectors are trained, which takes longer
    part, tiny = context.part(None), context.scale.name == "small"
    least = Budget(draws=1, epochs=2, encoder_width=8, tagger_width=8, hidden=8, train_sentences=400)
    seeds = list(range(1, (2 if context.scale.name != "full" else context.scale.seeds) + 1))
    models: dict[str, Any] = {
        name: [context.train_vectors(system, part, seed) for seed in seeds]
        for name, system in TRAINED.items()
        if context.is_available(system)
    }
    report = evaluate_extrinsic(
        models,
        baselines=BASELINES[:1] if tiny else BASELINES,
        budget=least if tiny else "full" if context.scale.name == "full" else "small",
        seeds=seeds,
        folder=context.store.folder / "extrinsic",
        workers=context.threads,
        progress=context.progress,
    )
    pairs = [(a, b) for a, b in PAIRS if a in report.models and b in report.models]
    gaps = [row.to_json() for a, b in pairs for row in report.compare(a, b)]
    return _select_fields({**report.to_json(), "comparisons": gaps})


def read_extrinsic(path: Path) -> dict[str, Any]:
    """Read the results of an earlier extrinsic evaluation.

    Parameters
    ----------
    path
        The JSON that `mumon eval --extrinsic --json` printed.

    Returns
    -------
    dict
        The fields that the section needs.

    Raises
    ------
    FormatError
        If the file does not have them.
    """
    record = read_json(path, "the results of an extrinsic evaluation")
    try:
        fields = _select_fields(record)
        build_section(fields)  # notices missing fields before anything is measured
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{path} is not the JSON of an extrinsic evaluation ({error!r}); give what mumon eval --json wrote"
        ) from None
    return fields


def _select_fields(record: dict[str, Any]) -> dict[str, Any]:
    """Select the fields that the section needs."""
    scores = ("model", "task", "metric", "score", "low", "high", "seeds", "dev", "n")
    gaps = ("a", "b", "task", "difference", "low", "high")
    return {
        "settings": record["settings"],
        "models": [name for name in ORDER if name in record["models"]]
        + [name for name in record["models"] if name not in ORDER],
        "tasks": record["tasks"],
        "scores": [{name: row[name] for name in scores} for row in record["scores"]],
        "comparisons": [
            {name: row[name] for name in gaps} for row in record["comparisons"] if row["difference"] is not None
        ],
    }


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: both tables, the differences and the verdicts."""
    gaps = {
        (row["a"], row["b"], row["task"]): Estimate(row["difference"], row["low"], row["high"])
        for row in data["comparisons"]
    }
    gaps |= {(b, a, task): Estimate(-g.value, -g.high, -g.low) for (a, b, task), g in gaps.items() if a == OURS}
    verdicts = []
    for a, claim, margin in (
        ("random", "Under frozen NER, trained vectors are better than random ones.", 0.0),
        ("gensim CBOW", "Under frozen NER, correct CBOW is better than gensim's CBOW.", 0.0),
        ("mumon CBOW, faulty", "Under frozen NER, the correct update is better than the faulty one.", 0.0),
        (
            "mumon skip-gram",
            f"Under frozen NER, correct CBOW performs as well as skip-gram (within {MARGIN:g} point).",
            MARGIN,
        ),
    ):
        gap = gaps.get((a, OURS, "ner"))
        if gap is not None:
            verdicts.append(
                Verdict(claim, _quote_paper(a), f"correct CBOW less {a}: {gap.signed}", judge_at_least(gap, margin))
            )
    sentences = [
        (task, gap)
        for (a, b, task), gap in gaps.items()
        if (a, b) == ("mumon skip-gram", "mumon CBOW") and task in TITLES
    ]
    glue = [f"{TITLES[task]} {gap.signed}" for task, gap in sentences if not task.startswith("ner")]
    if glue:
        outcomes = {judge_at_least(gap, MARGIN) for task, gap in sentences if not task.startswith("ner")}
        verdicts.append(
            Verdict(
                f"On GLUE's sentences, correct CBOW performs as well as skip-gram (within {MARGIN:g} point on every "
                "task).",
                ", ".join(
                    f"{TITLES[task]} {_find_published(OURS, task)} against {_find_published('mumon skip-gram', task)}"
                    for task in TABLE_2.columns
                ),
                "correct CBOW less skip-gram: " + ", ".join(glue),
                next(each for each in ("does not hold", "undecided", "holds") if each in outcomes),  # the worst of them
            )
        )
    budget, most = data["settings"]["budget"], data["settings"]["budget"]["train_sentences"]
    return Section(
        "Tables 2 and 3: do the vectors help real tasks?",
        "BiLSTM classifiers (SST-2, QNLI, MNLI; accuracy) and a tagger (CoNLL-2003; F1 of entities, vectors frozen "
        f"and fine-tuned) over each embedding, chosen on dev by a random search of {budget['draws']} draws. "
        f"{len(data['settings']['seeds'])} seeds with vectors and networks of their own, "
        f"{'all' if most is None else f'at most {most:,}'} sentences of training data, encoders of "
        f"{budget['encoder_width']} units (tagger: {budget['tagger_width']}). ± is half of the 95 % interval over "
        f"items and seeds. Every row is of {SOURCE_ONLY}. The paper's cells are of all of Wikipedia, 300 dimensions, "
        "wider networks and all training data. docs/extrinsic.md has the protocol.",
        verdicts,
        [
            _build_scores_table(
                data, "table2", "Table 2: GLUE, accuracy, test", lambda task: not task.startswith("ner")
            ),
            _build_scores_table(data, "table3", "Table 3: CoNLL-2003, F1, test", lambda task: task.startswith("ner")),
            _build_differences_table(data, gaps),
        ],
        [Figure("extrinsic", "Test scores with 95 % intervals.", lambda figure: _draw(figure, data), (10.0, 6.2))],
        [
            "The vectors are trained at default rates. mumon's were chosen on this corpus by intrinsic tasks, "
            "gensim's were not.",
            "None of the differences is corrected for their number, and few seeds make rough intervals.",
            *([] if verdicts else [f"There are no verdicts: no model of the given results is called {OURS!r}."]),
        ],
    )


def _find_published(model: str, task: str) -> float | None:
    """Return the paper's test score of the model that this one repeats, or None if it has none."""
    row = PAPER_ROWS[TRAINED[model]] if model in TRAINED else model
    return TABLE_3.find(row, task) if task in TABLE_3.columns else TABLE_2.find(row, task)


def _quote_paper(a: str) -> str:
    theirs = _find_published(a, "ner")
    if theirs is None:
        return "not measured: its tables 2 and 3 have no faulty CBOW of its own program"
    return f"test F1 {_find_published(OURS, 'ner')} against {theirs}"


def _build_scores_table(data: dict[str, Any], name: str, title: str, wanted: Any) -> Table:
    """Build a table of test scores, with the paper's beside each of ours."""
    found = {(row["model"], row["task"]): row for row in data["scores"]}
    tasks = [task for task in data["tasks"] if wanted(task)]
    rows: list[list[Cell]] = []
    for model in data["models"]:
        scores = [found[model, task] for task in tasks]
        ours = [str(Estimate(score["score"], score["low"], score["high"])) for score in scores]
        paper = [format_score(_find_published(model, task)) for task in tasks]
        rows.append([model, *(cell for both in zip(ours, paper, strict=True) for cell in both)])
    titles = [TITLES.get(task, task) for task in tasks]
    return Table(name, title, ["", *(column for each in titles for column in (each, f"{each}, paper"))], rows)


def _build_differences_table(data: dict[str, Any], gaps: dict[tuple[str, str, str], Estimate]) -> Table:
    rows: list[list[Cell]] = []
    for a, b in dict.fromkeys((a, b) for a, b, _ in gaps):
        ours = (gaps[a, b, task].signed if (a, b, task) in gaps else "–" for task in data["tasks"])
        rows.append([f"{b} less {a}", *ours])
        paper = [_compare_published(a, b, task) for task in data["tasks"]]
        if any(gap is not None for gap in paper):
            rows.append([f"{b} less {a}, paper", *map(format_gap, paper)])
    columns = ["", *(TITLES.get(task, task) for task in data["tasks"])]
    return Table("extrinsic-differences", "Differences, test", columns, rows)


def _compare_published(a: str, b: str, task: str) -> float | None:
    first, second = _find_published(a, task), _find_published(b, task)
    return None if first is None or second is None else second - first


def _draw(figure: Any, data: dict[str, Any]) -> None:
    columns = min(3, len(data["tasks"]))
    panels = figure.subplots(-(-len(data["tasks"]) // columns), columns, sharey=True, squeeze=False).ravel()
    found = {(row["model"], row["task"]): row for row in data["scores"]}
    places = list(range(len(data["models"])))
    for axes, task in zip(panels, data["tasks"], strict=False):
        rows = [found[model, task] for model in data["models"]]
        for place, row in zip(places, rows, strict=True):
            ours = row["model"].startswith("mumon")
            colour = COLOURS[6] if row["model"] in BASELINES else COLOURS[0] if ours else COLOURS[1]
            around = [[row["score"] - row["low"]], [row["high"] - row["score"]]]
            axes.errorbar([row["score"]], [place], xerr=around, fmt="o", color=colour, capsize=3)
        axes.set_yticks(places, data["models"])
        axes.set_title(TITLES.get(task, task))
    for axes in panels[len(data["tasks"]) :]:
        axes.set_visible(False)
    panels[0].invert_yaxis()


ITEM = Item("extrinsic", "Tables 2 and 3: GLUE and CoNLL-2003", measure, build_section)
