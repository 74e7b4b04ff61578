"""The paper's Tables 2 and 3: do the vectors help real tasks? docs/extrinsic.md cites the results.

    MUMON_DATA=… python benchmarks/vectors.py FOLDER --seeds 1 2
    MUMON_DATA=… python benchmarks/extrinsic.py FOLDER --seeds 1 2

Each seed has its own vectors and networks. Results go to benchmarks/results/extrinsic.json, and as Markdown to
standard output. FOLDER keeps the trials, so the same command resumes after an interruption.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from common import describe_run

from mumon import WordVectors
from mumon.experiments.extrinsic import ExtrinsicReport, evaluate_extrinsic
from mumon.experiments.paper.extrinsic import BASELINES, ORDER, PAIRS, TITLES
from mumon.utils.progress import LineProgress

RESULTS = Path(__file__).parent / "results" / "extrinsic.json"
# The files of the rows of the paper's tables.
FILES = {
    "gensim skip-gram": "gensim-sg",
    "gensim CBOW": "gensim-cbow",
    "mumon skip-gram": "mumon-sg",
    "mumon CBOW, faulty": "mumon-cbow-faulty",
    "mumon CBOW": "mumon-cbow-default",
}


def load_models(folder: Path, seeds: list[int]) -> dict[str, list[WordVectors]]:
    """Load vectors by name, one set for each seed."""
    return {
        name: [WordVectors.load(folder / str(seed) / f"{file}.bin") for seed in seeds] for name, file in FILES.items()
    }


def format_markdown(report: ExtrinsicReport) -> str:
    """Format the tables of scores and of differences, ± half of the 95 % interval, for docs/extrinsic.md."""
    head = [
        f"| | {' | '.join(TITLES[task] for task in report.task_names)} |",
        "|---" * (len(report.task_names) + 1) + "|",
    ]
    rows = list(head)
    for model in ORDER:
        scores = [report.score(model, task) for task in report.task_names]
        rows.append(f"| {model} | " + " | ".join(f"{s.score:.1f} ± {(s.high - s.low) / 2:.1f}" for s in scores) + " |")
    rows += ["", *head]
    for a, b in PAIRS:
        cells = [f"{row.difference:+.1f} ± {(row.high - row.low) / 2:.1f}" for row in report.compare(a, b)]
        rows.append(f"| {b} less {a} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    """Train what is missing and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="has the vectors of benchmarks/vectors.py, and keeps the trials")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tasks", nargs="+", default=["sst2", "qnli", "mnli", "ner"])
    parser.add_argument("--budget", default="small")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    report = evaluate_extrinsic(
        load_models(options.folder, options.seeds),
        options.tasks,
        baselines=BASELINES,
        budget=options.budget,
        seeds=options.seeds,
        folder=options.folder / "extrinsic",
        workers=options.workers,
        progress=LineProgress(every=60),
    )
    comparisons = [row.to_json() for a, b in PAIRS for row in report.compare(a, b)]
    record = {"about": describe_run(), **report.to_json(), "comparisons": comparisons}
    options.output.write_text(json.dumps(record, indent=1) + "\n")
    print(format_markdown(report))


if __name__ == "__main__":
    main()
