"""Training time against threads for each implementation, and what skip-gram costs more than CBOW."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from mumon.errors import FormatError
from mumon.experiments.bench.comparison import schedule
from mumon.experiments.bench.machine import describe_machine
from mumon.experiments.bench.runner import Run, Runner
from mumon.experiments.bench.systems import System, SystemChoice, choose_systems
from mumon.experiments.bench.work import Work, prepare_corpus
from mumon.experiments.paper.experiment_context import ExperimentContext, read_json
from mumon.experiments.paper.results import Figure, Item, Section, Verdict
from mumon.experiments.paper.time_tables import (
    PAPER_RATIO,
    build_bench_table,
    build_ratio_table,
    build_times_table,
    describe_bench,
    draw_times,
    find_median,
)

SMALL_SYSTEM_IDS = ("mumon-cbow", "mumon-sg")
SYSTEM_IDS = (
    *SMALL_SYSTEM_IDS,
    *("mumon-cbow-exact", "mumon-sg-exact"),
    *("gensim-cbow", "gensim-sg", "word2vec-cbow", "word2vec-sg", "fasttext-cbow", "fasttext-sg"),
)


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Time every system on 1, 2, 4 … threads, from text to saved vectors, interleaved; each run is saved."""
    scale, chosen = context.scale, choose_systems(SMALL_SYSTEM_IDS if context.scale.name == "small" else SYSTEM_IDS)
    threads = sorted(
        {2**power for power in range(context.threads.bit_length()) if 2**power < context.threads} | {context.threads}
    )
    work = Work(scale.dim, scale.window, scale.negative, scale.epochs, scale.min_count)
    part, folder = context.part(scale.time_sentences), Path(tempfile.mkdtemp(prefix="time-", dir=context.store.folder))
    try:
        runs = _time_runs(context, chosen, threads, work, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    systems = {
        system.id: {"name": system.name, "implementation": system.implementation, "objective": system.objective}
        for system in chosen.systems
    }
    sizes = {"sentences": part.sentences, "tokens": part.tokens, "work": asdict(work), "threads": threads}
    return {
        **sizes,
        "machine": describe_machine(),
        "systems": systems,
        "left_out": chosen.left_out,
        "runs": runs,
        "given": context.earlier_results.get("bench"),
    }


def _time_runs(
    context: ExperimentContext, chosen: SystemChoice, threads: list[int], work: Work, folder: Path
) -> list[dict[str, Any]]:
    part, runner = context.part(context.scale.time_sentences), None
    runs, failed = [], set()
    for repeat, count, system in schedule(chosen.systems, threads, context.scale.time_repeats):
        inputs: dict[str, Any] = {"system": system.id, "version": system.version, "threads": count, "repeat": repeat}
        inputs |= {"work": asdict(work), "corpus": part.digest, "machine": describe_machine()["cpu"]}
        found = context.find_result("time", inputs)
        if found is None and (system.id, count) not in failed:
            if runner is None:
                runner = _warm_up(context, chosen.systems, threads, work, folder)
            label = f"{context.label}: {system.name}, {count} thread{'s' * (count > 1)}"
            context.progress.start(label, 0, "")
            run: Run = runner.run(system, count, repeat)[0]
            context.progress.close()
            found = {name: getattr(run, name) for name in ("seconds", "training_seconds", "peak_bytes", "failed")}
            if run.failed is None:
                context.save_result("time", inputs, found)
                context.progress.finish(f"{label}, run {repeat}: {run.seconds:.1f} s")
        if found is not None and found["failed"]:
            failed.add((system.id, count))
            context.progress.note(f"{context.label}: {system.name} failed: {found['failed']}")
        elif found is not None:
            runs.append({"system": system.id, "threads": count, "repeat": repeat, **found})
    return runs


def _warm_up(context: ExperimentContext, systems: list[System], threads: list[int], work: Work, folder: Path) -> Runner:
    """Return a runner after every system has run once, so that kernels are compiled and programs are loaded."""
    text = prepare_corpus([str(context.part(context.scale.time_sentences).path)], folder, work)
    runner = Runner(folder, text, work)
    for system in systems:
        context.progress.start(f"{context.label}: warming up {system.name}", 0, "")
        runner.warm_up(system, max(threads))
        context.progress.close()
    return runner


def read_bench(path: Path) -> dict[str, Any]:
    """Read the results of an earlier `mumon bench` on a larger corpus.

    Parameters
    ----------
    path
        Its results.json.

    Returns
    -------
    dict
        The rows with most threads, with quality, and the time of every repeat.

    Raises
    ------
    FormatError
        If the results are incomplete or have no quality.
    """
    record = read_json(path, "the results of mumon bench")
    if record.get("format") != "mumon-bench" or not record.get("complete"):
        raise FormatError(f"{path} is no complete results.json of mumon bench; give that file")
    names = (
        "system",
        "name",
        "threads",
        "repeats",
        "seconds",
        "fastest",
        "slowest",
        "peak_bytes",
        "scores",
        "interval",
    )
    try:
        threads = max(row["threads"] for row in record["summary"])
        rows = [{name: row[name] for name in names} for row in record["summary"] if row["threads"] == threads]
        rounds = {
            row["system"]: [
                run["seconds"]
                for run in record["runs"]
                if (run["system"], run["threads"], run["failed"]) == (row["system"], threads, None)
            ]
            for row in rows
        }
        sizes = {name: record["corpus"][name] for name in ("sentences", "tokens")}
        bench = {**sizes, "work": record["work"], "machine": record["machine"], "rows": rows, "rounds": rounds}
        build_bench_table(bench)  # notices missing fields before anything is measured
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"{path} lacks times or scores ({error!r}); give the results of mumon bench with quality"
        ) from None
    return bench


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: times, and what skip-gram costs more than CBOW."""
    ratios, work = compute_cost_ratios(data), data["work"]
    tables = [
        build_times_table(data),
        build_ratio_table(ratios),
        *([build_bench_table(data["given"])] if data["given"] else []),
    ]
    drawn = [Figure("times", "Training time against threads.", lambda figure: draw_times(figure, data), (9.4, 4.6))]
    return Section(
        "Training time",
        f"Wall time from text to saved vectors, each run a process of its own: {data['sentences']:,} sentences "
        f"({data['tokens'] / 1e6:.3g} M words), {work['dim']} dimensions, {work['epochs']} epochs, window "
        f"{work['window']}, {work['negative']} noise words, every system at its own default rate. Runs are "
        "interleaved; medians, with the fastest and the slowest. Starting Python and loading the compiled kernels is "
        f"part of the time and weighs on short runs.{describe_bench(data['given']) if data['given'] else ''}",
        _judge(data, ratios),
        tables,
        drawn if data["runs"] else [],
        [f"{name} was left out: {missing} is not installed." for name, missing in data["left_out"].items()],
    )


def _judge(data: dict[str, Any], ratios: dict[str, tuple[float, float]]) -> list[Verdict]:
    most, ours = max(data["threads"]), ratios.get("mumon")
    shown = "; ".join(f"{name} {low:.2f} to {high:.2f}" for name, (low, high) in ratios.items()) or "not measured"
    verdicts = [
        Verdict(
            "Skip-gram takes longer than CBOW, in every implementation and repeat.",
            f"{PAPER_RATIO} times as long, in kōan",
            f"{shown} (times; wall time, {most} thread{'s' * (most > 1)}){_format_training_only(data)}",
            "undecided" if not ratios else "holds" if all(low > 1 for low, _ in ratios.values()) else "does not hold",
        )
    ]
    if ours is not None:
        smaller = "holds" if ours[1] < PAPER_RATIO else "does not hold" if ours[0] > PAPER_RATIO else "undecided"
        claim = "With shared noise words, skip-gram costs less than the paper's 3.31 times CBOW."
        measured = f"{ours[0]:.2f} to {ours[1]:.2f}{_format_training_only(data)}"
        verdicts.append(Verdict(claim, f"{PAPER_RATIO}; does not share noise words", measured, smaller, "us"))  # type: ignore[arg-type]
    known = _compute_speedups(data)
    if known:
        fastest = "holds" if all(min(each) > 1 for each in known.values()) else "does not hold"
        factors = "; ".join(
            f"{name} {median(each):.1f} ({', '.join(f'{ratio:.1f}' for ratio in each)})" for name, each in known.items()
        )
        claim = "mumon is faster than every other, in every repeat."
        verdicts.append(Verdict(claim, "does not say", f"times as fast as: {factors}", fastest, "us"))  # type: ignore[arg-type]
    return verdicts


def compute_cost_ratios(data: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return the least and the largest ratio of skip-gram's time to CBOW's on most threads, by implementation."""
    most = max(data["threads"])
    seconds: dict[str, dict[int, float]] = {}
    for run in data["runs"]:
        if run["threads"] == most:
            seconds.setdefault(run["system"], {})[run["repeat"]] = run["seconds"]
    ratios = {}
    for id_, system in data["systems"].items():
        partner = id_.replace("sg", "cbow")
        if system["objective"] == "sg" and id_ in seconds and partner in seconds:
            each = [seconds[id_][r] / seconds[partner][r] for r in seconds[id_] if r in seconds[partner]]
            name = system["implementation"] + (", exact" if id_.endswith("exact") else "")
            if each:
                ratios[name] = (min(each), max(each))
    return ratios


def _format_training_only(data: dict[str, Any]) -> str:
    """Format mumon's ratio without what both have in common: starting Python and reading the text."""
    alone = {
        id_: find_median(data, id_, max(data["threads"]), "training_seconds")
        for id_ in ("mumon-cbow", "mumon-sg", "mumon-cbow-exact", "mumon-sg-exact")
    }
    ratios = [
        f"{name} {sg / cbow:.2f}"
        for name, sg, cbow in (
            ("mumon", alone["mumon-sg"], alone["mumon-cbow"]),
            ("exact", alone["mumon-sg-exact"], alone["mumon-cbow-exact"]),
        )
        if sg and cbow
    ]
    return f"; by training alone, without start and reading: {', '.join(ratios)}" if ratios else ""


PEERS = {
    "gensim CBOW": ("gensim-cbow", "mumon-cbow"),
    "fastText CBOW": ("fasttext-cbow", "mumon-cbow"),
    "word2vec.c CBOW": ("word2vec-cbow", "mumon-cbow"),
    "gensim skip-gram": ("gensim-sg", "mumon-sg"),
    "fastText skip-gram": ("fasttext-sg", "mumon-sg"),
    "word2vec.c skip-gram": ("word2vec-sg", "mumon-sg"),
}


def _compute_speedups(data: dict[str, Any]) -> dict[str, list[float]]:
    """Return how many times as fast mumon is as each peer, repeat by repeat, here and in the earlier bench."""
    here: dict[str, list[float]] = {}
    for run in data["runs"]:
        if run["threads"] == max(data["threads"]):
            here.setdefault(run["system"], []).append(run["seconds"])
    larger = data["given"]["rounds"] if data["given"] else {}
    return {
        f"{name}{where}": [theirs / ours for theirs, ours in zip(seconds[peer], seconds[own], strict=False)]
        for seconds, where in ((here, " here"), (larger, " in the larger comparison"))
        for name, (peer, own) in PEERS.items()
        if seconds.get(peer) and seconds.get(own)
    }


ITEM = Item("times", "training time against threads, per implementation", measure, build_section)
