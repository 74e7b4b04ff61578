"""Does `mumon train --estimate` tell the truth? Estimates beside the runs that they are about.

    MUMON_DATA=… python benchmarks/estimate.py [--rounds 3] [--only NAME …]

Every round estimates a training in a process of its own, trains it in the next, and estimates it again: on a machine
that others use, seconds can only be compared with those just before and after. Wall time and peak memory are those of
the process, as the system tells them; disk is the encoded text and the model. Rounds are
added to those in benchmarks/results/estimate.json.
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

from common import about, sentences_of

from mumon.kernels import jit
from mumon.utils.measure_process import measure_command

RESULTS = Path(__file__).parent / "results" / "estimate.json"
PART = 700_000
RUNS: dict[str, tuple[int | None, list[str]]] = {
    "CBOW, 300 dimensions": (PART, ["--dim", "300"]),
    "skip-gram, 100 dimensions": (PART, ["--objective", "sg", "--dim", "100"]),
    "all of the text, CBOW, 200 dimensions, 1 epoch": (None, ["--dim", "200", "--epochs", "1"]),
}
WHAT = ("seconds", "memory", "disk")


def main() -> None:
    """Estimate, train, estimate, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(RUNS))
    options = parser.parse_args()
    record = json.loads(RESULTS.read_bytes()) if RESULTS.exists() else {"runs": {}}
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for name in options.only:
            sentences, arguments = RUNS[name]
            text = sentences_of(sentences, Path(folder))
            rounds = record["runs"].get(name, {}).get("rounds", [])  # those of earlier calls count: none is left out
            rounds = rounds + [_round(text, arguments, Path(folder)) for _ in range(options.rounds)]
            ratios = {what: round(median(r["ratio"][what] for r in rounds), 3) for what in (*WHAT, "busy seconds")}
            record["runs"][name] = {"estimated_over_measured": ratios, "options": arguments, "rounds": rounds}
            print(name, ratios, flush=True)
            record["about"] = about()
            RESULTS.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def _round(text: Path, arguments: list[str], folder: Path) -> dict[str, Any]:
    """One training between two estimates, all without an encoding of the text at hand."""
    output, cache = folder / "model.mumon", folder / "cache"
    os.environ |= {"MUMON_CACHE": str(cache), "NUMBA_CACHE_DIR": str(jit.cache_directory().parent)}
    command = [sys.executable, "-m", "mumon", "train", str(text), "-o", str(output), *arguments]
    before = _estimated(command)
    _remove(cache, output)
    report = measure_command([*command, "--quiet"], str(folder / "log"), None)
    if report["code"]:
        raise SystemExit((folder / "log").read_text())
    disk = _size(cache / "corpora") + _size(output)
    _remove(cache, output)
    after = _estimated(command)
    cores = os.cpu_count() or 1
    measured = {"seconds": report["seconds"], "memory": report["peak_bytes"], "disk": disk}
    estimated = {what: mean((before[what], after[what])) for what in WHAT}
    # Of a machine that others use: what the seconds would be without them, as far as processors are shared fairly.
    busy = mean(each["seconds"] * each["cpu_share"] for each in (before, after)) * cores / report["cpu_seconds"]
    found = {
        "estimated": {what: round(value, 1) for what, value in estimated.items()},
        "estimates_of_seconds": [round(each["seconds"], 1) for each in (before, after)],
        "measured": {what: round(value, 1) for what, value in measured.items()},
        "cpu_share": {
            "estimates": [round(each["cpu_share"], 2) for each in (before, after)],
            "run": round(report["cpu_seconds"] / report["seconds"] / cores, 2),
        },
        "ratio": {what: round(estimated[what] / measured[what], 3) for what in WHAT} | {"busy seconds": round(busy, 3)},
    }
    print(json.dumps(found), flush=True)
    return found


def _estimated(command: list[str]) -> dict[str, float]:
    told = json.loads(subprocess.run([*command, "--estimate", "--json", "-q"], check=True, capture_output=True).stdout)
    return {
        "seconds": told["seconds"]["total"],
        "memory": told["memory_bytes"]["peak"],
        "disk": told["disk_bytes"]["peak"],
        "cpu_share": told["cpu_share"],
    }


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _remove(*folders: Path) -> None:
    import shutil

    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
