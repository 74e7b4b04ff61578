"""Fuzz the readers: python fuzz/run.py --executions 1000000 --jobs 2 --ledger fuzz/ledger.json

Every target has its own process, which may grow by 256 MB and take 5 s for an input. Inputs that break a reader are
saved in found/, with the reason beside them. The exit code is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from execution import HANG_SECONDS, MEMORY_BYTES
from fuzz_process import State, save_finding

HERE = Path(__file__).parent
SILENCE_SECONDS = 6 * HANG_SECONDS  # after which a reader that does not react to the alarm is killed
START_SECONDS = 180  # of the first inputs: kernels may have to be compiled


def main() -> None:
    options = parse_arguments()
    names = list_targets() if options.target == "all" else options.target.split(",")
    shares = {name: -(-options.executions // len(names)) for name in names}
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = dict(zip(names, pool.map(lambda name: fuzz(name, shares[name], options), names), strict=True))
    ledger = summarise(rows, options)
    if options.ledger:
        options.ledger.write_text(json.dumps(ledger, indent=1) + "\n")
    print(f"{ledger['executions']:,} executions, {ledger['findings']} findings in {ledger['seconds']:.0f} s of readers")
    if ledger["findings"]:
        sys.exit(f"see {options.found}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--executions", type=int, default=100_000, help="in all targets together")
    parser.add_argument("--seconds", type=float, default=3600.0, help="at most, per target")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--target", default="all", help="names, separated by commas")
    parser.add_argument("--seed", type=int, default=1)
    default = "atheris" if importlib.util.find_spec("atheris") else "mutations"
    parser.add_argument("--engine", choices=["atheris", "mutations"], default=default)
    parser.add_argument("--found", type=Path, default=HERE / "found")
    parser.add_argument("--ledger", type=Path)
    return parser.parse_args()


def list_targets() -> list[str]:
    from targets import TARGETS

    return list(TARGETS)


def fuzz(name: str, executions: int, options: argparse.Namespace) -> dict[str, Any]:
    """Fuzz one target; a process that dies is a finding, and another one continues."""
    started = time.monotonic()
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    state, seed = State(folder / "state", create=True), options.seed
    try:
        while state.executions < executions and (left := options.seconds - (time.monotonic() - started)) > 0:
            reason = run_process(name, folder, executions, left, seed, options)
            state = State(folder / "state")
            if reason is None:
                break
            if not state.executions:
                raise RuntimeError(f"{name} cannot be fuzzed: {reason}")
            state.count_finding()
            save_finding(options.found, name, state.input, reason)
            seed += 1_000_003
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    seconds = time.monotonic() - started
    print(f"{name:24} {state.executions:>9,} executions {seconds:7.1f} s {state.findings:>5} findings", flush=True)
    return {"executions": state.executions, "seconds": round(seconds, 1), "findings": state.findings}


def run_process(
    name: str, folder: Path, executions: int, seconds: float, seed: int, options: argparse.Namespace
) -> str | None:
    """Run a process until it ends or makes no progress; return why it died, or None."""
    shutil.rmtree(folder / "corpus", ignore_errors=True)
    command = [sys.executable, str(HERE / "fuzz_process.py"), name, "--folder", str(folder)]
    command += ["--found", str(options.found), "--engine", options.engine, "--executions", str(executions)]
    command += ["--seconds", str(seconds), "--seed", str(seed)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=make_environment(folder))
        before, since, limit = -1, time.monotonic(), float(START_SECONDS)
        while process.poll() is None:
            time.sleep(0.2)
            now = State(folder / "state").executions
            if now != before:
                before, since, limit = now, time.monotonic(), START_SECONDS if now < 100 else SILENCE_SECONDS
            elif time.monotonic() - since > limit:
                process.kill()
                process.wait()
                return f"hang: no progress for {limit:.0f} s, and no reaction to the alarm"
    if process.returncode == 0:
        return None
    end = (folder / "log").read_text("utf-8", "replace")[-4000:]
    return f"crash: the process ended with {process.returncode}\n{end}"


def make_environment(folder: Path) -> dict[str, str]:
    """Allow one thread and two arenas, and free large blocks at once: free memory would fill the address space."""
    malloc = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "131072"}
    return {**os.environ, **malloc, "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)}


def summarise(rows: dict[str, dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    from mumon import __version__

    totals = {key: round(sum(row[key] for row in rows.values()), 1) for key in ("executions", "seconds", "findings")}
    return {
        "mumon": __version__,
        "engine": options.engine,
        "seed": options.seed,
        "limits": {"memory_bytes": MEMORY_BYTES, "hang_seconds": HANG_SECONDS},
        **totals,
        "targets": rows,
    }


if __name__ == "__main__":
    main()
