"""How long samplers take to build and to draw from, what memory they hold, how far off they are: `--sampler`."""

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
from mumon.experiments.bench.samplers import EXPONENT, SAMPLERS, Floats, Sampler, distortion, zipf_probabilities
from mumon.utils.progress import Progress

REPEATS = 3
MOST_WORDS = 50_000_000
RESULTS_NAME = "sampler.json"


def sizes(text: str) -> list[int]:
    """Sizes of the vocabulary from a list such as 1e3,1e4.

    >>> sizes("1e3, 20000")
    [1000, 20000]
    """
    try:
        found = [int(float(part)) for part in text.split(",")]
    except (ValueError, OverflowError):
        raise OptionError(f"--vocab is {text!r}; write numbers with commas between, such as 1e3,1e4") from None
    bad = [size for size in found if not 2 <= size <= MOST_WORDS]
    if bad:
        raise OptionError(f"a vocabulary of {bad[0]:,} words was asked for; give 2 to {MOST_WORDS:,}")
    return sorted(set(found))


def measure(vocab: Sequence[int], draws: int, folder: Path, progress: Progress | None = None) -> dict[str, Any]:
    """Measure every sampler on every size, and write sampler.json and plots into `folder`."""
    from mumon.experiments.bench.machine import describe
    from mumon.experiments.bench.results import write_json

    progress = progress or Progress()
    folder.mkdir(parents=True, exist_ok=True)
    rows = timed_samplers(vocab, draws, progress)
    results = {"machine": describe(), "draws": draws, "exponent": EXPONENT, "repeats": REPEATS, "rows": rows}
    write_json(folder / RESULTS_NAME, results)
    try:
        from mumon.experiments.bench.sampler_plot import draw_samplers

        draw_samplers(results, folder)
    except ImportError:
        progress.note('the plot is left out: matplotlib is not installed; try pip install "mumon[bench]"')
    return results


def timed_samplers(vocab: Sequence[int], draws: int, progress: Progress) -> list[dict[str, Any]]:
    """What every sampler takes on every size of the vocabulary."""
    out = np.empty(draws, np.int32)
    for sampler in SAMPLERS:  # compiled before anyone looks at the clock
        sampler(zipf_probabilities(2)).draw(out[:1])
    rows: list[dict[str, Any]] = []
    progress.start("drawing noise words", len(vocab) * len(SAMPLERS), "samplers")
    for words in vocab:
        wanted = zipf_probabilities(words)
        for sampler in SAMPLERS:
            rows.append(_measured(sampler, wanted, out))
            progress.update(len(rows))
    progress.close()
    return rows


def _measured(kind: type[Sampler], wanted: Floats, out: npt.NDArray[np.int32]) -> dict[str, Any]:
    made: list[Sampler] = []

    def build() -> None:
        made.clear()  # two of word2vec.c's tables at once would need 800 MB
        made.append(kind(wanted))

    build_seconds = _timed(build)
    sampler = made[0]
    draw_seconds = _timed(lambda: sampler.draw(out))
    found = distortion(sampler.implied(len(wanted)), wanted)
    times = {"build_seconds": build_seconds, "draw_seconds": draw_seconds, "bytes": sampler.bytes}
    return {"sampler": kind.name, "words": len(wanted), **times, **asdict(found)}


def _timed(action: Callable[[], None]) -> float:
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return median(times)
