"""Is mumon still as fast as it was? Its speed relative to gensim's in the same run, compared with the committed record.

    make bench        or        python benchmarks/regression.py [--sentences 60000] [--repeats 3] [-o FILE]

Trains on the first sentences of enwiki if it needs no download (see `mumon data list`), else on generated text. A
machine is never equally busy twice. So each round trains every system once, and a system's speed is gensim's seconds
divided by its own in the same round. A record with the machine and the commit is appended to
benchmarks/results/regression.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from mumon import MumonError, datasets
from mumon.cli.options import reporter
from mumon.estimate.zipf_text import write_zipf_text
from mumon.experiments.bench.comparison import BenchOptions, compare
from mumon.experiments.bench.results import Results, write_json
from mumon.experiments.bench.systems import choose_systems
from mumon.experiments.bench.work import Work

RESULTS = Path(__file__).parent / "results" / "regression.json"
REFERENCE = "gensim-cbow"
SYSTEMS = ("mumon-cbow", "mumon-cbow-exact", "mumon-cbow-faulty", "mumon-sg", "mumon-sg-exact", REFERENCE)
LEAST_ROUNDS = 3  # fewer rounds say nothing about noise
SAME_FIELDS = ("work", "text", "threads")  # must be equal in two records that are compared


def main() -> None:
    """Run, record and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=60_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="the file to append to")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mumon-regression-") as folder:
        text, path = _choose_text(Path(folder), arguments.sentences)
        options = BenchOptions(repeats=arguments.repeats, sentences=arguments.sentences, reference=REFERENCE)
        results = compare(
            [str(path)], Path(folder) / "out", Work(), choose_systems(SYSTEMS), options, reporter(quiet=False)
        )
    record = _build_record(results, text)
    before = _find_committed(record)
    known = json.loads(arguments.output.read_bytes()) if arguments.output.exists() else []
    write_json(arguments.output, [*known, record])
    _print_changes(record, before)


def _choose_text(folder: Path, sentences: int) -> tuple[str, Path]:
    """Choose enwiki if it needs no download, else generated words; return a name and the file."""
    if datasets.where(datasets.find("enwiki")) in (datasets.MIRRORED, datasets.CACHED):
        return f"enwiki, {sentences:,} sentences", datasets.fetch("enwiki")
    return f"Zipf, {sentences:,} sentences", write_zipf_text(folder / "zipf.txt", sentences)


def _build_record(results: Results, text: str) -> dict[str, Any]:
    """Build the record that is kept of a run."""
    threads = results.threads[-1]
    systems: dict[str, Any] = {}
    for row in results.summarise():
        relative = results.compare_by_round(row.system, threads)
        systems[row.system] = {
            "seconds": [round(run.seconds, 3) for run in results.find_good_runs(row.system, threads)],
            "relative": None if not relative else round(median(relative), 4),
            "range": None if not relative else [round(min(relative), 4), round(max(relative), 4)],
            "mean_score": None if "mean" not in row.scores else round(row.scores["mean"], 2),
        }
    details = {"text": text, "work": asdict(results.work), "threads": threads, "tokens": results.corpus.tokens}
    failures = {run.system: run.failed for run in results.find_failed_runs()}
    return {"machine": results.machine, **details, "systems": systems, "failures": failures}


def _find_committed(record: dict[str, Any]) -> dict[str, Any] | None:
    """Find the last committed record of the same work, if there is one."""
    here = Path(__file__).resolve().parent
    shown = subprocess.run(
        ["git", "-C", str(here), "show", "HEAD:./results/regression.json"], capture_output=True, text=True
    )
    records = json.loads(shown.stdout) if shown.returncode == 0 else []
    return next((old for old in reversed(records) if all(old[name] == record[name] for name in SAME_FIELDS)), None)


def _print_changes(record: dict[str, Any], before: dict[str, Any] | None) -> None:
    print(f"\n{record['text']}, {record['threads']} threads; speed relative to {REFERENCE} in the same round:\n")
    print(f"{'system':20} {'now':>22} {'before':>22}   change")
    for name, now in record["systems"].items():
        old = (before or {"systems": {}})["systems"].get(name)
        print(f"{name:20} {_format_ratio(now):>22} {_format_ratio(old):>22}   {_format_change(now, old)}")
    if before is None:
        print("\nno committed record of the same work: commit this one to compare with it later")
    elif before["machine"]["cpu"] != record["machine"]["cpu"]:
        print(
            f"\nthe committed record is of another processor ({before['machine']['cpu']}); ratios may differ for that"
        )


def _format_ratio(system: dict[str, Any] | None) -> str:
    if system is None or system["relative"] is None:
        return "–"
    low, high = system["range"]
    return f"×{system['relative']:.2f} [{low:.2f}–{high:.2f}]"


def _format_change(now: dict[str, Any], old: dict[str, Any] | None) -> str:
    """Format the change in percent, with a word if both records have enough rounds and their ranges do not overlap.

    With three rounds each, this happens by chance in 1 of 10 cases: run it again before you believe it.
    """
    if old is None or old["relative"] is None or now["relative"] is None:
        return "–"
    change = f"{100 * (now['relative'] / old['relative'] - 1):+.1f} %"
    if min(len(now["seconds"]), len(old["seconds"])) < LEAST_ROUNDS:
        return change
    if now["range"][1] < old["range"][0]:
        return f"{change}  slower"
    return f"{change}  faster" if now["range"][0] > old["range"][1] else change


if __name__ == "__main__":
    try:
        main()
    except MumonError as error:
        sys.exit(f"regression: {error}")
