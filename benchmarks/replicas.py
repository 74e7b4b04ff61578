"""Quality by the number of replicas and how often they exchange, and the speed-up that this promises.

    MUMON_DATA=… python benchmarks/replicas.py [--sentences 700000] [--replicas 2 4 8 16 32] [--periods 16000 64000]
    python benchmarks/replicas.py --draw               # the plot again, from the recorded figures

Replicas train one after the other in this process, with one thread each, by the code that nodes of a cluster run
(`mumon.distributed.simulation`): what they exchange is counted, not sent. Beside the grid, at 8 replicas: the rule that
combines changes replaced by their sum and by their mean, and all rows exchanged equally often, more rarely. Writes
benchmarks/results/replicas.json after every run (and resumes from there), and docs/images/replicas.png.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from common import describe_run, write_sentences

from mumon import Word2Vec, corpus_from_files
from mumon.cli.options import reporter
from mumon.corpus import EncodedCorpus
from mumon.distributed import replica, rounds
from mumon.distributed.simulation import Simulation
from mumon.evaluation import evaluate
from mumon.experiments.plot_style import COLOURS, STYLE
from mumon.training.rates import choose_alpha

HERE = Path(__file__).parent
RESULTS, PLOT = HERE / "results" / "replicas.json", HERE.parent / "docs" / "images" / "replicas.png"
USUAL_RULE = "as mumon does"
# Other ways to combine and to exchange, at 8 replicas: the module, the constant and the value that each changes.
RULES: dict[str, tuple[Any, str, Any]] = {
    USUAL_RULE: (rounds, "TIER_PERIODS", rounds.TIER_PERIODS),
    "the sum of all changes": (replica, "PACE_PER_RATE", (1e-9, 1e-9)),
    "their mean, by updates": (replica, "PACE_PER_RATE", (1e9, 1e9)),
    "all rows alike": (rounds, "TIER_PERIODS", (1, 1, 1)),
}
ALIKE_PERIODS = 4  # exchanged this many times as rarely, all rows take two thirds of the bytes of tiers
NETWORKS = (1, 10, 25)  # Gbit/s
THREADS = (1, 16)  # of a node


@contextmanager
def use_rule(name: str) -> Iterator[None]:
    """Train by another rule inside a `with` block."""
    module, constant, value = RULES[name]
    with mock.patch.object(module, constant, value):
        yield


def train(corpus: EncodedCorpus, arguments: argparse.Namespace, count: int, period: int) -> dict[str, Any]:
    """Train once and return the scores and the costs."""
    model = Word2Vec(vector_size=arguments.dim, epochs=arguments.epochs, workers=arguments.threads, progress=False)
    model.build_vocab(corpus)
    vocabulary = model.vocabulary
    assert vocabulary is not None
    lookup = vocabulary.lookup(corpus)
    schedule = model._run.schedule
    tokens = schedule.total * corpus.tokens
    alpha = choose_alpha(model.settings, tokens, corpus, vocabulary.counts, lookup)
    schedule = replace(schedule, alpha=alpha)
    matrices = model._state.source, model._state.target
    simulation = Simulation(
        corpus, lookup, vocabulary.counts, *matrices, arguments.dim, model.settings, count, period, arguments.delay
    )
    with reporter(quiet=False) as progress:
        loss = simulation.run(arguments.epochs, schedule, progress)
    model.wv.fill_norms(force=True)
    return {"words": len(vocabulary), "loss": loss, **score_model(model), **vars(simulation.cost)}


def score_model(model: Word2Vec) -> dict[str, Any]:
    """Compute the mean of the paper's five tasks, and each of them."""
    report = evaluate(model.wv, resamples=0, progress=False)
    tasks = {task: round(report.score("model", task).score, 2) for task in report.task_names}
    return {"mean": round(report.mean("model"), 2), "tasks": tasks}


def compute_unit_costs(runs: list[dict[str, Any]], tokens: int, threads: int) -> dict[str, float]:
    """Compute one thread's seconds for training a token and for handling a byte of changes, in the quietest run."""
    usual = [run for run in runs if run["rule"] == USUAL_RULE]
    moved = {id(run): run["replicas"] * (run["sent_bytes"] + run["combined_bytes"]) for run in usual}
    return {
        "train_token": min(run["train_seconds"] for run in usual) * threads / tokens,
        "exchange_byte": min(run["exchange_seconds"] / moved[id(run)] for run in usual),
        "combine_byte": min(run["combine_seconds"] / moved[id(run)] for run in usual),
    }


def project_speed_up(run: dict[str, Any], tokens: int, costs: dict[str, float]) -> dict[str, float]:
    """Project the speed relative to one node from measured compute and bytes, for assumed networks.

    A round is trained while the changes of the round before are sent; taking changes out and putting them in is not
    overlapped. Threads of a node are assumed to help in proportion; with the exchange, up to one for each node.
    """
    count, rounds_ = run["replicas"], run["rounds"]
    nbytes = (run["sent_bytes"] + run["combined_bytes"]) / rounds_
    train = costs["train_token"] * tokens / count / rounds_
    waits, adds = costs["exchange_byte"] * nbytes, costs["combine_byte"] * nbytes
    return {
        f"{t} threads, {network} Gbit/s": round(
            count
            * (train / t)
            / (max(train / t, 8e-9 * nbytes * (count - 1) / count / network) + waits / min(t, count) + adds / t),
            2,
        )
        for t in THREADS
        for network in NETWORKS
    }


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    """Make all runs that are not recorded yet."""
    text = write_sentences(arguments.sentences, folder)
    corpus = corpus_from_files([text])
    options = {k: v for k, v in vars(arguments).items() if k in ("sentences", "dim", "epochs", "delay")}
    record = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if record.get("work") != options:
        record = {"about": describe_run(), "work": options, "tokens": corpus.tokens, "one_process": {}, "runs": []}
    if not record["one_process"]:
        one = Word2Vec(
            corpus, vector_size=arguments.dim, epochs=arguments.epochs, workers=arguments.threads, progress=False
        )
        record["one_process"] = {"loss": one.history[-1].loss, **score_model(one)}
    grid = [(USUAL_RULE, count, period) for count in arguments.replicas for period in arguments.periods]
    middle = arguments.periods[len(arguments.periods) // 2]
    others = [
        (name, 8, middle * (ALIKE_PERIODS if name == "all rows alike" else 1)) for name in RULES if name != USUAL_RULE
    ]
    known = {(run["rule"], run["replicas"], run["sync_every"]) for run in record["runs"]}
    for name, count, period in [*grid, *others]:
        if (name, count, period) not in known:
            with use_rule(name):
                found = train(corpus, arguments, count, period)
            record["runs"].append({"rule": name, "replicas": count, "sync_every": period, **found})
            print(name, count, period, found["mean"], flush=True)
            RESULTS.write_text(json.dumps(record, indent=1) + "\n")


def draw(record: dict[str, Any]) -> None:
    """Draw quality by replicas, a line for each period."""
    import matplotlib.pyplot as plt

    usual = [run for run in record["runs"] if run["rule"] == USUAL_RULE]
    periods = sorted({run["sync_every"] for run in usual})
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(7, 4))
        axes.axhline(record["one_process"]["mean"], color="#999999", linewidth=1)
        axes.annotate(
            "one process", (2, record["one_process"]["mean"]), (0, 4), textcoords="offset points", color="#777777"
        )
        for colour, period in zip(COLOURS, periods, strict=False):
            points = sorted((run["replicas"], run["mean"]) for run in usual if run["sync_every"] == period)
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=f"{period:,} tokens")
        axes.set_xscale("log", base=2, subs=[])
        axes.set_xticks(
            sorted({run["replicas"] for run in usual}), [str(n) for n in sorted({r["replicas"] for r in usual})]
        )
        axes.set_xlabel("replicas")
        axes.set_ylabel("mean of the five tasks")
        axes.set_title(
            f"{record['tokens'] / 1e6:.1f} M words, {record['work']['epochs']} epochs: tokens between exchanges"
        )
        axes.legend(frameon=False)
        figure.savefig(PLOT, dpi=150, bbox_inches="tight")


def main() -> None:
    """Measure what is missing; then draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=700_000)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--replicas", type=int, nargs="+", default=[2, 4, 8, 16, 32])
    parser.add_argument("--periods", type=int, nargs="+", default=[16_000, 64_000, 256_000])
    parser.add_argument("--threads", type=int, default=2, help="replicas that train at the same time")
    parser.add_argument("--delay", type=int, default=1, help="rounds that an exchange takes to arrive")
    parser.add_argument("--draw", action="store_true", help="only draw what was recorded")
    arguments = parser.parse_args()
    if not arguments.draw:
        with tempfile.TemporaryDirectory(prefix="mumon-replicas-") as folder:
            measure(arguments, Path(folder))
    record = json.loads(RESULTS.read_text())
    tokens = record["tokens"] * record["work"]["epochs"]
    record["unit_costs"] = compute_unit_costs(record["runs"], tokens, arguments.threads)
    for run in record["runs"]:
        run["speed_up"] = project_speed_up(run, tokens, record["unit_costs"])
    RESULTS.write_text(json.dumps(record, indent=1) + "\n")
    draw(record)


if __name__ == "__main__":
    main()
