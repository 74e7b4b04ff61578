"""Cost of a wider window: microseconds per trained word at windows 5, 20 and 80, for CBOW and skip-gram.

    MUMON_DATA=… python benchmarks/windows.py [--sentences 100000] [--dim 300] [--rounds 5]

Sentences are joined into lines of 1,000 words, so that no window is cut short. Results go to
benchmarks/results/windows.json: the medians, and how a wide window compares with window 5 of the same round, because
others may use the machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from common import describe_run, write_sentences

from mumon import Word2Vec, corpus_from_sentences

RESULTS = Path(__file__).parent / "results" / "windows.json"
WORDS_PER_LINE = 1000
WINDOWS = (5, 20, 80)
SYSTEMS: dict[str, dict[str, Any]] = {
    "CBOW": {},
    "CBOW with positions": {"positions": 4},
    "CBOW exact": {"exact": True},
    "skip-gram": {"sg": 1},
}


def main() -> None:
    """Train every system at every window, one epoch at a time, round after round."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        words = write_sentences(options.sentences, Path(folder)).read_text().split()
        corpus = corpus_from_sentences(words[i : i + WORDS_PER_LINE] for i in range(0, len(words), WORDS_PER_LINE))
    for system in SYSTEMS.values():  # compiles the kernels
        Word2Vec([words[:WORDS_PER_LINE]], min_count=1, vector_size=options.dim, epochs=1, progress=False, **system)
    times: dict[tuple[str, int], list[float]] = {(name, window): [] for name in SYSTEMS for window in WINDOWS}
    for _ in range(options.rounds):
        for name, window in times:
            model = Word2Vec(corpus, window=window, vector_size=options.dim, epochs=1, workers=options.threads,
                             progress=False, **SYSTEMS[name])  # fmt: skip
            epoch = model.history[0]
            times[name, window].append(1e6 * epoch.seconds / epoch.trained_tokens)
            print(name, window, f"{times[name, window][-1]:.3f} µs per trained word", flush=True)
    table = {name: {str(w): round(median(times[name, w]), 4) for w in WINDOWS} for name in SYSTEMS}
    ratios = {name: {str(w): compare(times[name, w], times[name, WINDOWS[0]]) for w in WINDOWS[1:]} for name in SYSTEMS}
    work = {"sentences": options.sentences, "dim": options.dim, "threads": options.threads, "rounds": options.rounds}
    record = {"microseconds_per_trained_word": table, "times_window_5": ratios, "work": work, "about": describe_run()}
    RESULTS.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def compare(times: list[float], others: list[float]) -> float:
    """Return the median ratio of what was measured in the same round."""
    return round(median(a / b for a, b in zip(times, others, strict=True)), 3)


if __name__ == "__main__":
    main()
