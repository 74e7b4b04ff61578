"""Is a kernel faster than that of another commit? Nanoseconds per trained token, one thread, interleaved.

    MUMON_DATA=… python benchmarks/kernels.py now=src before=../other/src [--only '{"window": 10}' …] [--rounds 6]

Each argument names a folder of sources; the first is compared with the others. Every commit and every setting has a
process of its own, which trains one block of real text after another, in turns with the others. A machine that others
use is never equally busy twice, so the time of a block is the least of all rounds. No file is written.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

SETTINGS = (
    {"window": 5},
    {"window": 10},
    {"objective": "sg"},
    {"positions": 4, "window": 10},
    {"exact": True},
    {"objective": "sg", "exact": True},
    {"subwords": {"min_n": 3, "max_n": 6}},  # as large as in use with --sentences 700000: a block has tokens / 256
    {"objective": "sg", "subwords": {"min_n": 3, "max_n": 6}},
)


def main() -> None:
    """Start a process for each commit and setting, let them train in turns, and print what they took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument(
        "--only", nargs="+", type=json.loads, default=SETTINGS, metavar="JSON", help="settings to train"
    )
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--sentences", type=int, default=120_000)
    parser.add_argument("--dim", type=int, default=300)
    arguments = parser.parse_args()
    trees = dict(tree.split("=", 1) for tree in arguments.trees)
    with tempfile.TemporaryDirectory(prefix="mumon-kernels-") as folder:
        from common import write_sentences

        text = write_sentences(arguments.sentences, Path(folder))
        for settings in arguments.only:
            work = {"text": str(text), "settings": settings, "blocks": arguments.blocks, "dim": arguments.dim}
            times = measure(trees, work, arguments.rounds)
            first = times[next(iter(trees))]
            for name, nanoseconds in times.items():
                ratio = first / nanoseconds
                print(f"{json.dumps(settings):40} {name:10} {nanoseconds:6.0f} ns, the first takes {ratio:.2f} of it")


def measure(trees: dict[str, str], work: dict[str, Any], rounds: int) -> dict[str, float]:
    """Return the nanoseconds per token of each tree."""
    processes = {}
    for name, tree in trees.items():
        environment = {**os.environ, "PYTHONPATH": str(Path(tree).resolve())}
        command = [sys.executable, __file__, "--child", json.dumps(work)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        processes[name] = subprocess.Popen(command, env=environment, **pipes)
    times: dict[str, list[list[float]]] = {name: [] for name in trees}
    for _ in range(rounds + 1):  # in the first round kernels are compiled
        for name, process in processes.items():
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            times[name].append(json.loads(process.stdout.readline()))
    for process in processes.values():
        process.communicate()
    return {name: fmean(map(min, zip(*each[1:], strict=True))) for name, each in times.items()}


def train_in_turns(work: dict[str, Any]) -> None:
    """Train the blocks of a text whenever a line arrives, and print the nanoseconds per token of each."""
    import numpy as np

    from mumon import corpus_from_files
    from mumon.training.engine import Engine, cut_blocks
    from mumon.training.settings import Settings
    from mumon.training.weights import allocate_matrix

    corpus = corpus_from_files([work["text"]])
    order = np.argsort(-corpus.counts, kind="stable")
    kept = order[corpus.counts[order] >= 5]
    lookup = np.full(len(corpus.counts), -1, np.int32)
    lookup[kept] = np.arange(len(kept))
    settings = Settings(**{"window": 5, **work["settings"]})
    rows, bags = len(kept), None
    if settings.subwords is not None:
        words = corpus.words.take(kept).to_pylist()
        buckets = settings.subwords.find_buckets(words)
        rows, bags = rows + len(buckets), settings.subwords.build_bags(words, buckets)
    source, target = allocate_matrix(rows, work["dim"]), allocate_matrix(len(kept), work["dim"])
    shape = len(kept), work["dim"]
    source[: shape[0], : shape[1]] = np.random.default_rng(1).uniform(-0.5, 0.5, shape) / shape[1]
    bounds = cut_blocks(corpus.offsets, settings.objective_record.block_tokens)
    engine = Engine(corpus.counts[kept], source, target, settings, bags=bags)
    train = engine.make_block_trainer(corpus, lookup, bounds)
    for _ in sys.stdin:
        times = []
        for block in range(min(work["blocks"], len(bounds) - 1)):
            started = time.thread_time_ns()
            trained = train(0, block, 0.01).trained
            times.append((time.thread_time_ns() - started) / trained)
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        train_in_turns(json.loads(sys.argv[2]))
    else:
        main()
