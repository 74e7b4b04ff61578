"""Cost of checkpoints: the same training without any and with many, side by side.

    MUMON_DATA=… python benchmarks/checkpoints.py [--sentences 700000] [--dim 300] [--every 3s] [--rounds 3]

Many more are written than in normal use, so that their cost rises above the noise. The cost of one divided by an
interval is the share of the time that checkpoints at this interval take. Results go to
benchmarks/results/checkpoints.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median

from common import describe_run, write_sentences

from mumon import Checkpoints, Word2Vec, corpus_from_files
from mumon.training.checkpoints import CheckpointKeeper

RESULTS = Path(__file__).parent / "results" / "checkpoints.json"
INTERVALS = {"30s": 30, "10m": 600}


def main() -> None:
    """Train with and without checkpoints, round after round."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=700_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--every", default="3s")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    waits: list[float] = []
    keep = CheckpointKeeper.keep

    def timed(self: CheckpointKeeper, at: object) -> None:
        started = time.perf_counter()
        keep(self, at)  # type: ignore[arg-type]
        waits.append(time.perf_counter() - started)

    CheckpointKeeper.keep = timed  # type: ignore[method-assign, assignment]
    rounds = []
    with tempfile.TemporaryDirectory(dir=".") as folder:  # a real disk: temporary folders are often in memory
        corpus = corpus_from_files([write_sentences(options.sentences, Path(folder))], workers=options.threads)
        for number in range(options.rounds):
            seconds = {}
            for every in ("never", options.every) if number % 2 else (options.every, "never"):
                waits.clear()
                checkpoints = Checkpoints(Path(folder) / "kept", every)
                started = time.perf_counter()
                Word2Vec(
                    corpus, vector_size=options.dim, workers=options.threads, checkpoints=checkpoints, progress=False
                )
                seconds[every] = time.perf_counter() - started
                checkpoints.discard()
                if waits:
                    written, waited = len(waits), sum(waits) / len(waits)
            extra = (seconds[options.every] - seconds["never"]) / written
            rounds.append({**seconds, "written": written, "training waits": waited, "extra per checkpoint": extra})
            print({name: round(value, 3) for name, value in rounds[-1].items()}, flush=True)
    each = median(entry["extra per checkpoint"] for entry in rounds)
    waited = median(entry["training waits"] for entry in rounds)
    record = {
        "seconds_per_checkpoint": round(each, 3),
        "seconds_training_waits": round(waited, 3),
        "share_of_time": {name: round(each / (seconds + each), 5) for name, seconds in INTERVALS.items()},
        "rounds": [{name: round(value, 3) for name, value in entry.items()} for entry in rounds],
        "work": {name: getattr(options, name) for name in ("sentences", "dim", "threads", "every")},
        "about": describe_run(),
    }
    RESULTS.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
