"""Kill training again and again, at random and while it saves, and record what survived.

    python soak/run.py corpus.txt --minutes 30 --ledger soak/ledger.json

Every round trains one configuration to its end through a series of kills (and now and then a polite signal), each
followed by `--resume`. After every kill, all checkpoints must be readable, none that was complete may be missing, and
the model of the round before must be unchanged. At the end of a round with one thread, the model must have the same
bytes as an undisturbed run; with two threads, its loss must be near that run's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from mumon import __version__
from mumon.errors import MumonError
from mumon.formats.checkpoint import read_checkpoint
from mumon.formats.directory import load_model
from mumon.training.checkpoints import CHECKPOINTS_KEPT, Checkpoints
from mumon.utils.atomic import atomic_file
from mumon.utils.paths import cache_directory

CONFIGURATIONS = {
    "cbow": [],
    "cbow exact": ["--exact", "--epochs", "3"],
    "cbow shuffled": ["--shuffle"],
    "skip-gram": ["--objective", "sg", "--epochs", "3"],
    "cbow, 2 threads": ["--threads", "2"],
}
# When the run is killed: at any time, while a checkpoint or the model is written, or while text is read.
STAGES = {"anywhere": 4, "writing a checkpoint": 6, "saving the model": 2, "reading the text": 1}
SIGNALS = {signal.SIGKILL: 9, signal.SIGINT: 1, signal.SIGTERM: 1}


class Soak:
    """One soak test: its folder, its random numbers and its ledger."""

    def __init__(self, corpus: str, folder: Path, options: list[str], seed: int, tolerance: float) -> None:
        self.corpus, self.folder, self.options = str(Path(corpus).resolve()), folder, options
        self.output, self.checkpoints = folder / "m.mumon", Checkpoints(folder / "m.mumon.checkpoints")
        self.random, self.ledger, self.problems = random.Random(seed), Counter(), []
        self.tolerance = tolerance
        self.environment = {
            **os.environ,
            "MUMON_CACHE": str(folder / "cache"),  # kills during reading may damage it
            "NUMBA_CACHE_DIR": str(cache_directory()),
        }

    def start(self, output: Path, *more: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "mumon", "train", self.corpus, "-o", str(output), *self.options, *more]
        return subprocess.Popen(
            command,
            env=self.environment,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job ignores it
        )

    def train_reference(self, configuration: str) -> tuple[str, float]:
        """Return the bytes and the loss of an undisturbed run."""
        output = self.folder / f"{configuration.replace(' ', '-')}.mumon"
        if not output.exists():
            process = self.start(output, *CONFIGURATIONS[configuration], "--checkpoint-every", "never", "--quiet")
            _, error = process.communicate()
            if process.returncode:
                sys.exit(f"the undisturbed run failed: {error}")
        return digest(output), load_model(output).history[-1]["loss"]

    def run_round(self, configuration: str, until: float) -> None:
        """Run one training from beginning to end, through as many kills as it takes, or until the time is over."""
        expected, loss = self.train_reference(configuration)
        exact = "2 threads" not in configuration
        before = digest(self.output)
        while time.monotonic() < until:
            every = self.random.choice(["0.05s", "0.2s", "200k"])
            options = [*CONFIGURATIONS[configuration], "--checkpoint-every", every, *self.choose_resume()]
            process = self.start(self.output, *options)
            stage = self.random.choices(list(STAGES), list(STAGES.values()))[0]
            survived = self.wait(process, stage)
            seen = set(self.checkpoints.find())
            if survived:
                self.send_signal(process, stage)
            _, error = process.communicate()
            saved = digest(self.output) != before  # then the checkpoints may be gone
            self.expect(not exact or not saved or digest(self.output) == expected, "neither the old model nor the new")
            self.check(process.returncode, error, set() if saved else seen)
            if process.returncode == 0:
                break
        else:
            return
        self.ledger["runs finished"] += 1
        final_loss = load_model(self.output).history[-1]["loss"]
        if exact:
            self.expect(digest(self.output) == expected, f"{configuration}: other bytes than undisturbed")
            self.ledger["runs with the bytes of an undisturbed one"] += digest(self.output) == expected
        else:
            self.expect(
                abs(final_loss / loss - 1) < self.tolerance, f"{configuration}: loss {final_loss}, expected {loss}"
            )
        remaining = [path.name for path in self.folder.iterdir() if path.name.startswith((".m.mumon", "m.mumon."))]
        self.expect(not remaining, f"left behind: {remaining}")

    def choose_resume(self) -> list[str]:
        """Return --resume if there is something to resume; else the model of the round before counts as finished."""
        return ["--resume"] if self.checkpoints.find() else []

    def wait(self, process: subprocess.Popen, stage: str) -> bool:
        """Wait for the moment to kill; return False if the run ended before."""
        if stage == "reading the text":
            shutil.rmtree(self.folder / "cache" / "corpora", ignore_errors=True)
        pattern = {"writing a checkpoint": ".epoch-*.tmp", "saving the model": ".m.mumon.*.tmp"}.get(stage)
        where = self.checkpoints.folder if stage == "writing a checkpoint" else self.folder
        deadline = time.monotonic() + (self.random.uniform(0.5, 4) if pattern is None else 60)
        skip = self.random.randrange(4) if stage == "writing a checkpoint" else 0
        known = find_identities(where, pattern)  # files of an earlier run do not count
        while process.poll() is None and time.monotonic() < deadline:
            if new := find_identities(where, pattern) - known:
                known |= new
                if not skip:
                    time.sleep(self.random.choice([0, 0.001, 0.01, 0.05]))
                    break
                skip -= 1
            time.sleep(0.0005)
        return process.poll() is None

    def send_signal(self, process: subprocess.Popen, stage: str) -> None:
        signum = self.random.choices(list(SIGNALS), list(SIGNALS.values()))[0]
        process.send_signal(signum)
        self.ledger[signum.name] += 1
        if signum is signal.SIGKILL:
            self.ledger[f"SIGKILL {stage}"] += 1

    def check(self, code: int, error: str, seen: set[Path]) -> None:
        """Check after a kill that nothing complete is lost and nothing incomplete is visible."""
        self.ledger[f"exit {code}"] += 1
        if "mumon" not in error and "KeyboardInterrupt" in error:  # Python itself was still loading
            self.ledger["stopped before mumon began"] += 1
            return
        self.expect(code in (0, -9, 130, 143, -2, -15), f"exit {code}: {error}")
        self.expect("Traceback" not in error, error)
        found = self.checkpoints.find()
        for path in found:
            try:
                read_checkpoint(path)
                self.ledger["checkpoints read"] += 1
            except MumonError as problem:
                self.ledger["corrupt checkpoints"] += 1
                self.problems.append(str(problem))
        lost = [path for path in seen if path not in found and len(found) < CHECKPOINTS_KEPT]
        self.ledger["lost checkpoints"] += len(lost)
        self.expect(not lost, f"lost {lost}")

    def expect(self, condition: bool, problem: str) -> None:
        if not condition:
            self.problems.append(problem)
            print(problem, file=sys.stderr)


def find_identities(folder: Path, pattern: str | None) -> set[tuple[int, int]]:
    """Identify the files that match a pattern by inode and creation time, because names are used again."""
    found: set[tuple[int, int]] = set()
    paths: list[Path] = []
    with suppress(OSError):  # a run that ends removes its folder meanwhile
        paths = [] if pattern is None else list(folder.glob(pattern))
    for path in paths:
        with suppress(OSError):
            found.add((path.stat().st_ino, path.stat().st_ctime_ns))
    return found


def digest(model: Path) -> str:
    """Digest the bytes of a model except its history, which has clock times; "" if there is no model."""
    if not model.exists():
        return ""
    load_model(model)
    files = sorted(path for path in model.iterdir() if path.name != "history.json")
    return hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ledger", type=Path, default=Path("soak-ledger.json"))
    parser.add_argument("--options", default="--dim 100 --epochs 8 --threads 1 --seed 3", help="of mumon train")
    parser.add_argument(
        "--tolerance",
        type=float,
        default=0.02,
        help="how far two threads' loss may be from an undisturbed run's, whose seeds differ by less than 0.01",
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mumon-soak-") as folder:
        soak = Soak(arguments.corpus, Path(folder), arguments.options.split(), arguments.seed, arguments.tolerance)
        started = time.monotonic()
        until = started + 60 * arguments.minutes
        configuration = None
        while time.monotonic() < until:
            # always another one, so that the models of two rounds differ
            configuration = soak.random.choice([name for name in CONFIGURATIONS if name != configuration])
            soak.run_round(configuration, until)
            seconds = time.monotonic() - started
            kills = sum(soak.ledger[signum.name] for signum in SIGNALS)
            settings = {"mumon_version": __version__, "options": arguments.options, "seed": arguments.seed}
            record = {**settings, "minutes": round(seconds / 60, 1), **dict(sorted(soak.ledger.items()))}
            record |= {"lost checkpoints": soak.ledger["lost checkpoints"], "problems": soak.problems}
            record["corrupt checkpoints"] = soak.ledger["corrupt checkpoints"]
            with atomic_file(arguments.ledger) as file:
                file.write(json.dumps(record, indent=2, ensure_ascii=False).encode() + b"\n")
            finished = soak.ledger["runs finished"]
            print(f"{seconds / 60:.1f} min: {kills} signals, {finished} runs finished, {len(soak.problems)} problems")
    sys.exit(bool(soak.problems))


if __name__ == "__main__":
    main()
