"""Accuracy of `mumon train --estimate`: estimates compared with the runs that they predict.

    MUMON_DATA=… python benchmarks/estimate.py [--rounds 3] [--only NAME …]

Every round estimates a training in one process, trains in the next, and estimates again: on a shared machine, seconds
can only be compared with those just before and after. Wall time and peak memory of the process are those that the
system reports; disk is the encoded text and the model. Rounds are added to those in benchmarks/results/estimate.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, median
from typing import Any

from common import describe_run, write_sentences

from mumon.kernels import jit
from mumon.utils.measure_process import measure_command

RESULTS = Path(__file__).parent / "results" / "estimate.json"
SENTENCES = 700_000
RUNS: dict[str, tuple[int | None, list[str]]] = {
    "CBOW, 300 dimensions": (SENTENCES, ["--dim", "300"]),
    "skip-gram, 100 dimensions": (SENTENCES, ["--objective", "sg", "--dim", "100"]),
    "all of the text, CBOW, 200 dimensions, 1 epoch": (None, ["--dim", "200", "--epochs", "1"]),
}
QUANTITIES = ("seconds", "memory", "disk")


def main() -> None:
    """Estimate, train, estimate again and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(RUNS))
    options = parser.parse_args()
    record = json.loads(RESULTS.read_bytes()) if RESULTS.exists() else {"runs": {}}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for name in options.only:
            sentences, arguments = RUNS[name]
            text = write_sentences(sentences, Path(folder))
            rounds = record["runs"].get(name, {}).get("rounds", [])  # those of earlier calls count, too
            rounds = rounds + [_run_round(text, arguments, Path(folder)) for _ in range(options.rounds)]
            ratios = {
                what: round(median(r["ratio"][what] for r in rounds), 3) for what in (*QUANTITIES, "busy seconds")
            }
            record["runs"][name] = {"estimated_over_measured": ratios, "options": arguments, "rounds": rounds}
            print(name, ratios, flush=True)
            record["about"] = describe_run()
            RESULTS.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _run_round(text: Path, arguments: list[str], folder: Path) -> dict[str, Any]:
    """Train once between two estimates, each time without an encoding of the text in the cache."""
    output, cache = folder / "model.mumon", folder / "cache"
    os.environ |= {"MUMON_CACHE": str(cache), "NUMBA_CACHE_DIR": str(jit.cache_directory().parent)}
    command = [sys.executable, "-m", "mumon", "train", str(text), "-o", str(output), *arguments]
    before = _read_estimate(command)
    _remove(cache, output)
    report = measure_command([*command, "--quiet"], str(folder / "log"), None)
    if report["code"]:
        raise SystemExit((folder / "log").read_text())
    disk = _measure_size(cache / "corpora") + _measure_size(output)
    _remove(cache, output)
    after = _read_estimate(command)
    cores = os.cpu_count() or 1
    measured = {"seconds": report["seconds"], "memory": report["peak_bytes"], "disk": disk}
    estimated = {what: mean((before[what], after[what])) for what in QUANTITIES}
    # On a shared machine: the seconds without other users, as far as processors are shared fairly.
    busy = mean(each["seconds"] * each["cpu_share"] for each in (before, after)) * cores / report["cpu_seconds"]
    found = {
        "estimated": {what: round(value, 1) for what, value in estimated.items()},
        "estimates_of_seconds": [round(each["seconds"], 1) for each in (before, after)],
        "measured": {what: round(value, 1) for what, value in measured.items()},
        "cpu_share": {
            "estimates": [round(each["cpu_share"], 2) for each in (before, after)],
            "run": round(report["cpu_seconds"] / report["seconds"] / cores, 2),
        },
        "ratio": {what: round(estimated[what] / measured[what], 3) for what in QUANTITIES}
        | {"busy seconds": round(busy, 3)},
    }
    print(json.dumps(found), flush=True)
    return found


def _read_estimate(command: list[str]) -> dict[str, float]:
    estimate = json.loads(
        subprocess.run([*command, "--estimate", "--json", "-q"], check=True, capture_output=True).stdout
    )
    return {
        "seconds": estimate["seconds"]["total"],
        "memory": estimate["memory_bytes"]["peak"],
        "disk": estimate["disk_bytes"]["peak"],
        "cpu_share": estimate["cpu_share"],
    }


def _measure_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _remove(*folders: Path) -> None:
    import shutil

    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
