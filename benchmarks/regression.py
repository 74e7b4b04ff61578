"""Is mumon still as fast as it was? Its speed relative to gensim's in the same run, against the last committed record.

    make bench        or        python benchmarks/regression.py [--sentences 60000] [--repeats 3] [-o FILE]

Trains on the first sentences of enwiki if that is here (see `mumon data list`), else on generated text. Machines are
never equally busy twice: each round trains every system once, and a system's speed is gensim's seconds over its own in
the same round. A record with the machine and the commit is appended to benchmarks/results/regression.json.
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
ROUNDS = 3  # fewer say nothing about noise
SAME = ("work", "text", "threads")  # what two records must agree on to be compared


def main() -> None:
    """Run, record, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=60_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="the file to append to")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mumon-regression-") as folder:
        text, path = _text(Path(folder), given.sentences)
        options = BenchOptions(repeats=given.repeats, sentences=given.sentences, reference=REFERENCE)
        results = compare(
            [str(path)], Path(folder) / "out", Work(), choose_systems(SYSTEMS), options, reporter(quiet=False)
        )
    record = _record(results, text)
    before = _committed(record)
    known = json.loads(given.output.read_bytes()) if given.output.exists() else []
    write_json(given.output, [*known, record])
    _tell(record, before)


def _text(folder: Path, sentences: int) -> tuple[str, Path]:
    """A name for the text, and the text: enwiki if it needs no download, or generated words."""
    if datasets.where(datasets.find("enwiki")) in (datasets.MIRRORED, datasets.CACHED):
        return f"enwiki, {sentences:,} sentences", datasets.fetch("enwiki")
    return f"Zipf, {sentences:,} sentences", write_zipf_text(folder / "zipf.txt", sentences)


def _record(results: Results, text: str) -> dict[str, Any]:
    """What is kept of a run."""
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
    about = {"text": text, "work": asdict(results.work), "threads": threads, "tokens": results.corpus.tokens}
    failures = {run.system: run.failed for run in results.find_failed_runs()}
    return {"machine": results.machine, **about, "systems": systems, "failures": failures}


def _committed(record: dict[str, Any]) -> dict[str, Any] | None:
    """The last committed record of the same work, if there is one."""
    here = Path(__file__).resolve().parent
    shown = subprocess.run(
        ["git", "-C", str(here), "show", "HEAD:./results/regression.json"], capture_output=True, text=True
    )
    records = json.loads(shown.stdout) if shown.returncode == 0 else []
    return next((old for old in reversed(records) if all(old[name] == record[name] for name in SAME)), None)


def _tell(record: dict[str, Any], before: dict[str, Any] | None) -> None:
    print(f"\n{record['text']}, {record['threads']} threads; speed relative to {REFERENCE} in the same round:\n")
    print(f"{'system':20} {'now':>22} {'before':>22}   change")
    for name, now in record["systems"].items():
        old = (before or {"systems": {}})["systems"].get(name)
        print(f"{name:20} {_ratio(now):>22} {_ratio(old):>22}   {_change(now, old)}")
    if before is None:
        print("\nno committed record of the same work: commit this one to compare with it later")
    elif before["machine"]["cpu"] != record["machine"]["cpu"]:
        print(
            f"\nthe committed record is of another processor ({before['machine']['cpu']}); ratios may differ for that"
        )


def _ratio(system: dict[str, Any] | None) -> str:
    if system is None or system["relative"] is None:
        return "–"
    low, high = system["range"]
    return f"×{system['relative']:.2f} [{low:.2f}–{high:.2f}]"


def _change(now: dict[str, Any], old: dict[str, Any] | None) -> str:
    """The change in percent, and a word where both records have rounds enough and their ranges do not touch.

    Of two records of three rounds each that is so in 1 of 10 cases by chance: run it again before you believe it.
    """
    if old is None or old["relative"] is None or now["relative"] is None:
        return "–"
    change = f"{100 * (now['relative'] / old['relative'] - 1):+.1f} %"
    if min(len(now["seconds"]), len(old["seconds"])) < ROUNDS:
        return change
    if now["range"][1] < old["range"][0]:
        return f"{change}  slower"
    return f"{change}  faster" if now["range"][0] > old["range"][1] else change


if __name__ == "__main__":
    try:
        main()
    except MumonError as error:
        sys.exit(f"regression: {error}")
