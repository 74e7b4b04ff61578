"""Time, memory and error of ways to draw noise words: `mumon bench --sampler`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.errors import OptionError
from mumon.experiments.bench.samplers import (
    EXPONENT,
    SAMPLERS,
    Floats,
    Sampler,
    compute_zipf_probabilities,
    measure_distortion,
)
from mumon.experiments.plot_style import COLOURS, MARKS, STYLE, save_figure
from mumon.utils.progress import Progress

REPEATS = 3
MOST_WORDS = 50_000_000
RESULTS_NAME = "sampler.json"
PLOT_NAME = "sampler"
PANELS = {
    "draw_seconds": "Time to draw, seconds",
    "build_seconds": "Time to build, seconds",
    "largest_error": "Largest relative error of a probability",
}
LEAST_SHOWN = 1e-16  # instead of zero on a logarithmic axis


def parse_sizes(text: str) -> list[int]:
    """Parse a list of vocabulary sizes such as 1e3,1e4.

    >>> parse_sizes("1e3, 20000")
    [1000, 20000]
    """
    try:
        found = [int(float(part)) for part in text.split(",")]
    except (ValueError, OverflowError):
        raise OptionError(f"--vocab is {text!r}; write numbers with commas between, such as 1e3,1e4") from None
    bad = [size for size in found if not 2 <= size <= MOST_WORDS]
    if bad:
        raise OptionError(f"a vocabulary has {bad[0]:,} words; give 2 to {MOST_WORDS:,}")
    return sorted(set(found))


def measure_samplers(
    vocab: Sequence[int], draws: int, folder: Path, progress: Progress | None = None
) -> dict[str, Any]:
    """Measure all samplers and write sampler.json and plots.

    Parameters
    ----------
    vocab
        The sizes of the vocabulary.
    draws
        The number of words to draw.
    folder
        Where the files go.
    progress
        Shows how far it is.

    Returns
    -------
    dict
        The content of sampler.json.
    """
    from mumon.experiments.bench.machine import describe_machine
    from mumon.experiments.bench.results import write_json

    progress = progress or Progress()
    folder.mkdir(parents=True, exist_ok=True)
    rows = time_samplers(vocab, draws, progress)
    results = {"machine": describe_machine(), "draws": draws, "exponent": EXPONENT, "repeats": REPEATS, "rows": rows}
    write_json(folder / RESULTS_NAME, results)
    try:
        draw_samplers(results, folder)
    except ImportError:
        progress.note('the plot is left out: matplotlib is not installed; try pip install "mumon[bench]"')
    return results


def time_samplers(vocab: Sequence[int], draws: int, progress: Progress) -> list[dict[str, Any]]:
    """Measure every sampler on every size of the vocabulary.

    Parameters
    ----------
    vocab, draws, progress
        As in `measure_samplers`.

    Returns
    -------
    list of dict
        Times, bytes and errors, one row per size and sampler.
    """
    out = np.empty(draws, np.int32)
    for sampler in SAMPLERS:  # so that everything is compiled before it is timed
        sampler(compute_zipf_probabilities(2)).draw(out[:1])
    rows: list[dict[str, Any]] = []
    progress.start("drawing noise words", len(vocab) * len(SAMPLERS), "samplers")
    for words in vocab:
        wanted = compute_zipf_probabilities(words)
        for sampler in SAMPLERS:
            rows.append(_measure_sampler(sampler, wanted, out))
            progress.update(len(rows))
    progress.close()
    return rows


def _measure_sampler(kind: type[Sampler], wanted: Floats, out: npt.NDArray[np.int32]) -> dict[str, Any]:
    made: list[Sampler] = []

    def build() -> None:
        made.clear()  # two of word2vec.c's tables at once would need 800 MB
        made.append(kind(wanted))

    build_seconds = _time_median(build)
    sampler = made[0]
    draw_seconds = _time_median(lambda: sampler.draw(out))
    found = measure_distortion(sampler.compute_probabilities(len(wanted)), wanted)
    times = {"build_seconds": build_seconds, "draw_seconds": draw_seconds, "bytes": sampler.bytes}
    return {"sampler": kind.name, "words": len(wanted), **times, **asdict(found)}


def _time_median(action: Callable[[], None]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return median(times)


def draw_samplers(results: dict[str, Any], folder: Path) -> list[Path]:
    """Draw sampler.png and .svg: a panel per quantity, a line per sampler, by the size of the vocabulary."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=(11.5, 3.9), layout="constrained")
        draw_panels(figure, results)
        return save_figure(figure, folder / PLOT_NAME)


def draw_panels(figure: Any, results: dict[str, Any]) -> None:
    """Draw the panels into a figure of matplotlib."""
    names = list(dict.fromkeys(row["sampler"] for row in results["rows"]))
    panels = figure.subplots(1, len(PANELS))
    for axes, (field, title) in zip(panels, PANELS.items(), strict=True):
        for place, name in enumerate(names):
            rows = [row for row in results["rows"] if row["sampler"] == name]
            axes.plot(
                [row["words"] for row in rows],
                [max(row[field], LEAST_SHOWN) for row in rows],
                color=COLOURS[place],
                marker=MARKS[place],
                label=name,
            )
        axes.set(xscale="log", yscale="log", xlabel="words in the vocabulary", title=title)
    panels[0].set_title(f"Time for {_format_count(results['draws'])} draws, seconds")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))


def _format_count(count: int) -> str:
    return f"{count / 1e6:g} M" if count >= 1e6 else f"{count:,}"
