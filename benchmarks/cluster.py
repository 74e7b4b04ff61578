"""The whole pipeline on a Ray cluster of 2 nodes × 1 CPU, with and without a lost node, and in one process.

    MUMON_DATA=… python benchmarks/cluster.py [--sentences 700000] [--dim 100] [--seeds 2] [--sg]

Nodes are separate raylets on this machine (Ray's `cluster_utils`). For each seed there are three runs: one process; the
cluster, undisturbed; and the cluster whose second node is killed in the middle of the training and replaced a little
later. All train the same number of epochs at the same rate and answer the same questions. Writes
benchmarks/results/cluster.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from pathlib import Path
from statistics import fmean
from typing import Any

from common import describe_run, write_sentences

from mumon import Word2Vec
from mumon.distributed import Cluster
from mumon.evaluation import evaluate
from mumon.utils.progress import LineProgress, Progress

RESULTS = Path(__file__).parent / "results" / "cluster.json"
SHARDS = 8
KILL_AT = 0.4  # of the training


class WatchingProgress(LineProgress):
    """Prints lines, keeps the notes, and calls a function once a share of the training is done."""

    def __init__(self, at: float = 2.0, act: Any = None) -> None:
        super().__init__(every=10)
        self.notes: list[str] = []
        self._at, self._act = at, act

    def note(self, text: str) -> None:
        self.notes.append(text)
        super().note(text)

    def update(self, done: int, **fields: float) -> None:
        super().update(done, **fields)
        if self._act is not None and self._stage == "training" and done >= self._at * self._total:
            act, self._act = self._act, None
            act()


def split_text(text: Path, folder: Path) -> list[Path]:
    """Split the text into several files."""
    lines = text.read_bytes().splitlines(keepends=True)
    size = -(-len(lines) // SHARDS)
    paths = [folder / f"part-{i}.txt" for i in range(SHARDS)]
    for i, path in enumerate(paths):
        path.write_bytes(b"".join(lines[i * size : (i + 1) * size]))
    return paths


def score_model(model: Word2Vec) -> dict[str, float]:
    """Compute the mean over the paper's five tasks, and each of them."""
    report = evaluate(model.wv, resamples=0, progress=False)
    tasks = {task: round(report.score("model", task).score, 2) for task in report.task_names}
    return {"mean": round(report.mean("model"), 2), **tasks}


def train_on_cluster(files: list[Path], options: dict[str, Any], kill: bool) -> dict[str, Any]:
    """Train on a new cluster."""
    import ray
    from ray.cluster_utils import Cluster as Nodes

    nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1}, shutdown_at_exit=False)
    second = nodes.add_node(num_cpus=1)
    try:
        ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
        nodes.wait_for_nodes()

        def replace_node() -> None:
            nodes.remove_node(second, allow_graceful=False)
            threading.Timer(5, lambda: nodes.add_node(num_cpus=1)).start()

        progress = WatchingProgress(KILL_AT, replace_node if kill else None)
        started = time.perf_counter()
        model = Word2Vec(corpus_file=files, **options, backend=Cluster(), progress=progress)
        seconds = time.perf_counter() - started
        return {**_collect_figures(model, seconds), "notes": progress.notes, "words": len(model.wv)}
    finally:
        ray.shutdown()
        nodes.shutdown()


def _collect_figures(model: Word2Vec, seconds: float) -> dict[str, Any]:
    trained = sum(epoch.seconds for epoch in model.history)
    return {
        "scores": score_model(model),
        "loss": model.history[-1].loss,
        "seconds": seconds,
        "training_seconds": trained,
    }


def main() -> None:
    """Train, compare and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=700_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sg", action="store_true", help="skip-gram")
    arguments = parser.parse_args()
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="mumon-cluster-") as folder:
        text = write_sentences(arguments.sentences, Path(folder))
        files = split_text(text, Path(folder))
        for seed in range(1, arguments.seeds + 1):
            options = {"vector_size": arguments.dim, "epochs": arguments.epochs, "seed": seed, "sg": int(arguments.sg)}
            started = time.perf_counter()
            one = Word2Vec(corpus_file=files, **options, workers=2, progress=Progress())
            runs.append({"run": "one process", "seed": seed, **_collect_figures(one, time.perf_counter() - started)})
            print(json.dumps(runs[-1]), flush=True)
            for name, kill in (("cluster", False), ("cluster, a node killed", True)):
                runs.append({"run": name, "seed": seed, **train_on_cluster(files, options, kill)})
                print(json.dumps(runs[-1]), flush=True)
    means = {run["run"]: [] for run in runs}
    for run in runs:
        means[run["run"]].append(run["scores"]["mean"])
    averages = {name: round(fmean(values), 2) for name, values in means.items()}
    gaps = {
        name: round(value - averages["one process"], 2) for name, value in averages.items() if name != "one process"
    }
    record = {
        "about": describe_run(),
        "work": vars(arguments),
        "means": averages,
        "against_one_process": gaps,
        "runs": runs,
    }
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps({"means": averages, "against_one_process": gaps}, indent=1))


if __name__ == "__main__":
    main()
