"""Speed against quality of the fast kernels: K noise words shared by batches of B targets, at several rates.

    MUMON_DATA=… python benchmarks/frontier.py [--sentences 700000] [--dim 300] [--only 32,32 16,16] [--rates 1 1.3]

Every setting trains the same encoded text with two threads, one seed after the other, so that a noisy machine is
noisy for all. Results are added to benchmarks/results/frontier.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from common import about, sentences_of

from mumon import Word2Vec, corpus_from_files
from mumon.evaluation import SUITE, evaluate, load_tasks
from mumon.settings import Settings

RESULTS = Path(__file__).parent / "results" / "frontier.json"
SIZES = ("8,8", "16,8", "16,16", "16,32", "24,24", "32,16", "32,32", "32,64", "64,32", "64,64")


def main() -> None:
    """Train and evaluate every setting with every seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=700_000)
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--only", nargs="+", default=SIZES, metavar="K,B")
    parser.add_argument("--rates", nargs="+", type=float, default=[1.0], help="times the default rate")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--objective", choices=["cbow", "sg"], default="cbow")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    tasks = load_tasks()
    records: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    with tempfile.TemporaryDirectory() as folder:
        corpus = corpus_from_files([sentences_of(options.sentences, Path(folder))])
        fixed = {"vector_size": options.dim, "epochs": 5, "min_count": 5, "workers": options.threads, "progress": False}
        usual = Settings(objective=options.objective).default_alpha(5 * corpus.tokens)
        for seed in options.seeds:
            for size in options.only:
                for factor in options.rates:
                    K, B = map(int, size.split(","))
                    sizes = {"sg": int(options.objective == "sg"), "shared_negatives": K, "batch": B, "seed": seed}
                    model = Word2Vec(corpus, alpha=usual * factor, **sizes, **fixed)
                    trained = sum(epoch.trained_tokens for epoch in model.history)
                    seconds = sum(epoch.seconds for epoch in model.history)
                    report = evaluate(model.wv, tasks, resamples=0, progress=False)
                    scores = {task: round(report.score("model", task).score, 2) for task in (*SUITE, "mean")}
                    setting = {"objective": options.objective, "K": K, "B": B, "alpha": round(usual * factor, 4)}
                    work = {"dim": options.dim, "sentences": options.sentences, "threads": options.threads}
                    speed = {"seconds": round(seconds, 2), "trained_per_second": round(trained / seconds)}
                    record = {**setting, "seed": seed, **work, **speed, **scores, **about()}
                    print(record, flush=True)
                    records.append(record)
                    RESULTS.write_text("[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n")


if __name__ == "__main__":
    main()
