"""Speed and quality of fast CBOW: K noise words shared by batches of B targets, at several rates, and gensim.

    MUMON_DATA=… python benchmarks/frontier.py [--only 16,8,1 16,16,0.8] [--sentences 700000] [--repeats 3]
    python benchmarks/frontier.py --draw                # the plot again, from the recorded figures

A point is K,B,F: F times the default rate. Runs are those of `mumon bench`: every point and gensim's CBOW once, then
again with the next seed, from text to saved vectors; a point's speed is relative to gensim's in the same round. Writes
benchmarks/results/frontier.json and docs/images/frontier.png.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from common import write_sentences

from mumon import corpus_from_files
from mumon.cli.options import reporter
from mumon.experiments.bench.comparison import REFERENCE, BenchOptions, compare
from mumon.experiments.bench.results import Results, write_json
from mumon.experiments.bench.systems import build_mumon_system, choose_systems
from mumon.experiments.bench.work import Work
from mumon.experiments.plot_style import COLOURS, INK, STYLE
from mumon.training.objectives import CBOW
from mumon.training.rates import compute_default_alpha
from mumon.training.settings import Settings

HERE = Path(__file__).parent
RESULTS, PLOT = HERE / "results" / "frontier.json", HERE.parent / "docs" / "images" / "frontier.png"
POINTS = ("32,32,1", "24,16,0.8", "16,8,1", "16,16,1", "16,16,0.8", "8,8,0.8")
OTHER_COLOUR = "#999999"
WANTED_SPEED = 4.0  # times gensim's speed: to be reached without losing quality


def main() -> None:
    """Train every point and gensim, round after round; then draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=700_000)
    parser.add_argument("--only", nargs="+", default=POINTS, metavar="K,B,F")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--draw", action="store_true", help="only draw what was recorded")
    arguments = parser.parse_args()
    if not arguments.draw:
        with tempfile.TemporaryDirectory(prefix="mumon-frontier-") as folder:
            record = measure(Path(folder), arguments.sentences, arguments.only, arguments.repeats)
        write_json(RESULTS, record)
    draw(json.loads(RESULTS.read_bytes()))


def measure(folder: Path, sentences: int, points: list[str], repeats: int) -> dict[str, Any]:
    """Measure the speed relative to gensim and the means of the tasks, by round."""
    text, work = write_sentences(sentences, folder), Work()
    default_rate = compute_default_alpha(Settings(), work.epochs * corpus_from_files([text]).tokens)
    settings = {}
    for point in points:
        K, B, factor = point.split(",")
        settings[f"mumon-{K}-{B}-{factor}"] = {
            "shared_negatives": int(K), "batch": int(B), "alpha": round(default_rate * float(factor), 4),
        }  # fmt: skip
    gensim = choose_systems([REFERENCE])
    ours = [build_mumon_system(name, name, "cbow", **options) for name, options in settings.items()]
    chosen = replace(gensim, systems=[*ours, *gensim.systems])
    options = BenchOptions(repeats=repeats, reference=REFERENCE)
    results = compare([str(text)], folder / "out", work, chosen, options, reporter(quiet=False))
    return {
        "machine": results.machine,
        "work": asdict(work),
        "sentences": sentences,
        "threads": results.threads[-1],
        "default_rate": round(default_rate, 4),
        "points": [{**settings[system.id], **_collect_figures(results, system.id)} for system in ours],
        "gensim": _collect_figures(results, REFERENCE),
    }


def _collect_figures(results: Results, system: str) -> dict[str, list[float]]:
    runs = results.find_good_runs(system, results.threads[-1])
    return {
        "seconds": [round(run.seconds, 2) for run in runs],
        "speeds": [round(speed, 3) for speed in results.compare_by_round(system, results.threads[-1])],
        "dev": [round(run.halves["dev"], 2) for run in runs],
        "test": [round(run.halves["test"], 2) for run in runs],
        "all": [round(run.scores["mean"], 2) for run in runs],
    }


def draw(record: dict[str, Any]) -> None:
    """Draw quality on all items by speed, and mark the default and the best point beyond the wanted speed."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    points, rounds = record["points"], len(record["gensim"]["seconds"])
    default = (*CBOW.sharing, record["default_rate"])
    beyond = [point for point in points if median(point["speeds"]) >= WANTED_SPEED]
    fast = max(beyond, key=lambda point: fmean(point["dev"]), default=None)
    with rc_context(STYLE):
        figure = Figure(figsize=(8.0, 5.0), layout="constrained")
        axes = figure.add_subplot()
        for point in points:
            x, y = median(point["speeds"]), fmean(point["all"])
            is_default = (point["shared_negatives"], point["batch"], point["alpha"]) == default
            colour = COLOURS[0] if is_default else COLOURS[1] if point is fast else OTHER_COLOUR
            axes.errorbar(
                [x], [y], fmt="o", color=colour, markersize=6 if colour == OTHER_COLOUR else 9, elinewidth=1,
                xerr=[[x - min(point["speeds"])], [max(point["speeds"]) - x]],
                yerr=[[y - min(point["all"])], [max(point["all"]) - y]],
            )  # fmt: skip
            note = "\nthe default" if is_default else f"\nbest beyond {WANTED_SPEED:g} ×" if point is fast else ""
            name = f"{point['shared_negatives']} / {point['batch']}, {point['alpha']:.2f}{note}"
            axes.annotate(name, (x, y), xytext=(6, 6), textcoords="offset points", fontsize=8.5)
        axes.axvline(WANTED_SPEED, color=INK, linewidth=1, linestyle="--")
        axes.annotate(
            f"{WANTED_SPEED:g} × gensim's CBOW", (WANTED_SPEED, 0.02), xycoords=("data", "axes fraction"),
            xytext=(5, 0), textcoords="offset points", fontsize=8.5,
        )  # fmt: skip
        axes.margins(x=0.16, y=0.15)
        theirs = fmean(record["gensim"]["all"])
        axes.set(
            xlabel=f"times as fast as gensim's CBOW (whose mean is {theirs:.1f}), text to vectors",
            ylabel="mean of the five tasks × 100",
        )
        axes.set_title(f"K / B, rate: K noise words shared by B targets (bars: least to most of {rounds} rounds)")
        PLOT.parent.mkdir(exist_ok=True)
        figure.savefig(PLOT, dpi=160)


if __name__ == "__main__":
    main()
