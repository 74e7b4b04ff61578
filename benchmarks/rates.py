"""Which rate is best for how much text, and which update, each at its own best rate: the sweeps behind docs/rates.md.

    MUMON_DATA=… python benchmarks/rates.py FOLDER

For each amount of text and each method, every rate of a grid is trained with one seed, and the best on the dev halves
of the five tasks is trained with two more. Results go to benchmarks/results/rates.json. FOLDER keeps corpora and
sweeps, so the same command resumes after an interruption.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from common import describe_run, write_sentences

from mumon import Word2Vec, WordVectors, corpus_from_files
from mumon.evaluation import SUITE, evaluate, load_tasks
from mumon.experiments.sweep import sweep

RESULTS = Path(__file__).parent / "results" / "rates.json"
SENTENCES = (60_000, 300_000, 700_000, None)  # None means the whole corpus
SEEDS = (1, 2, 3)
FIXED = {"vector_size": 200, "epochs": 5, "min_count": 5, "workers": 2, "shared_negatives": 32, "batch": 32}
METHODS: dict[str, dict[str, Any]] = {"correct": {}, "faulty": {"update": "faulty"}, "skip-gram": {"sg": 1}}
EXPONENTS = (0.0, 0.25)  # rate_exponent, for every method, to be fair
# Around the best of earlier, coarser sweeps; the less text, the higher.
RATES = {
    "correct": {
        60_000: (0.15, 0.2, 0.3),
        300_000: (0.1, 0.15, 0.2),
        700_000: (0.1, 0.15, 0.2),
        None: (0.075, 0.1, 0.15),
    },
    "faulty": {60_000: (0.05, 0.1, 0.15), 700_000: (0.05, 0.075, 0.1), None: (0.035, 0.05, 0.075)},
    "skip-gram": {60_000: (0.05, 0.1, 0.15), 700_000: (0.025, 0.05, 0.075)},
}


def score_model(wv: WordVectors, tasks: Any) -> dict[str, dict[str, float]]:
    """Compute dev, test and all-item scores of one model."""
    report = evaluate(wv, tasks, resamples=0, progress=False)
    return {
        task: {fold: round(report.score("model", task, fold).score, 2) for fold in ("dev", "test", "all")}
        for task in (*SUITE, "mean")
    }


def measure(sentences: int | None, method: str, folder: Path, tasks: Any) -> dict[str, Any]:
    """Sweep one method on one amount of text, and train the best with every seed."""
    corpus = corpus_from_files([write_sentences(sentences, folder)], workers=2)
    common = {**FIXED, **METHODS[method]}
    space = {"rate_exponent": EXPONENTS, "alpha": RATES[method][sentences]}
    home = folder / f"{sentences or 'all'}-{method}"
    swept = sweep(corpus, space, folder=home, tasks=tasks, fixed=common, seeds=SEEDS[:1], progress=True)
    best = swept.best.options
    seeds = [{"seed": SEEDS[0], "scores": score_model(WordVectors.load(home / "best.mumon"), tasks)}]
    for seed in SEEDS[1:]:
        model = Word2Vec(corpus, seed=seed, progress=True, **common, **best)
        seeds.append({"seed": seed, "scores": score_model(model.wv, tasks)})
    dev = [{**item.options, "dev": round(item.mean, 2) if item.complete else None} for item in swept.configurations]
    return {"tokens": corpus.tokens, "sentences": corpus.sentences, "dev": dev, "best": best, "seeds": seeds}


def format_rates(results: dict[str, Any]) -> str:
    """Format the mean dev score of every rate as Markdown, for docs/rates.md."""
    lines = ["| words | method | exponent | rate: mean of the dev halves |", "|---|---|---|---|"]
    for key, found in results.items():
        for exponent in EXPONENTS:
            rows = sorted((row["alpha"], row["dev"]) for row in found["dev"] if row["rate_exponent"] == exponent)
            best = max((dev for _, dev in rows if dev is not None), default=None)
            cells = [
                f"{alpha:g}: {'diverged' if dev is None else f'**{dev:.1f}**' if dev == best else f'{dev:.1f}'}"
                for alpha, dev in rows
            ]
            words = f"{found['tokens'] / 1e6:.1f} M"
            lines.append(f"| {words} | {key.split(maxsplit=1)[1]} | {exponent:g} | {', '.join(cells)} |")
    return "\n".join(lines)


def format_seeds(results: dict[str, Any]) -> str:
    """Format each method at its best rate as Markdown for the README: test halves, mean ± deviation over seeds."""
    lines = [f"| words | method | rate | {' | '.join(SUITE)} | mean |", "|" + "---|" * (len(SUITE) + 4)]
    for key, found in results.items():
        cells = []
        for task in (*SUITE, "mean"):
            scores = [run["scores"][task]["test"] for run in found["seeds"]]
            cells.append(f"{fmean(scores):.1f}" + (f" ± {stdev(scores):.1f}" if task == "mean" else ""))
        best = f"{found['best']['alpha']:g}, exponent {found['best']['rate_exponent']:g}"
        words = f"{found['tokens'] / 1e6:.1f} M"
        lines.append(f"| {words} | {key.split(maxsplit=1)[1]} | {best} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure everything that is not yet among the results, the smallest first."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(exist_ok=True)
    tasks = load_tasks()
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"about": {}, "results": {}}
    for sentences in SENTENCES:
        for method in (name for name in METHODS if sentences in RATES[name]):
            key = f"{sentences or 'all'} {method}"
            if key in record["results"]:
                continue
            record["results"][key] = measure(sentences, method, folder, tasks)
            record["about"] = {**FIXED, "window": 5, "negative": 5, **describe_run()}
            RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    print(format_rates(record["results"]), format_seeds(record["results"]), sep="\n\n")


if __name__ == "__main__":
    main()
