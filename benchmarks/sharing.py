"""How many noise words (K), shared by how many targets (B), and how strong a subsampling: scores on the dev halves.

    MUMON_DATA=… python benchmarks/sharing.py 16,8 16,12 32,32,sg … [--seeds 3] [--dim 100] [--window N]

A point is K,B, with any of: a factor of the default rate (0.8), `sg` for skip-gram, `sample=1e-4`. Vectors are those
that users get, of CBOW from both sides of the model. Scores are means of the five tasks (dev and test halves) and
Spearman's correlation on the dev part of the STS benchmark, by the mean of a sentence's words. Appends a line for each
training to benchmarks/results/sharing.jsonl; `benchmarks/frontier.py` measures the speed.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from common import write_sentences

from mumon import Word2Vec, corpus_from_files
from mumon.evaluation import evaluate, load_sentence_tasks, score_sentences
from mumon.training.rates import compute_default_alpha
from mumon.training.settings import Settings

RESULTS = Path(__file__).parent / "results" / "sharing.jsonl"


def main() -> None:
    """Train every point with every seed, and score it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("points", nargs="+", metavar="K,B")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--window", type=int, help="default: the objective's own")
    parser.add_argument("--sentences", type=int, default=700_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mumon-sharing-") as folder:
        corpus = corpus_from_files([write_sentences(arguments.sentences, Path(folder))])
        for seed in range(1, arguments.seeds + 1):
            for point in arguments.points:
                options = {**parse_point(point), "seed": seed, "vector_size": arguments.dim}
                if arguments.window:
                    options["window"] = arguments.window
                record = {"point": point, "sentences": arguments.sentences, **measure(corpus, options)}
                with RESULTS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(record, flush=True)


def parse_point(point: str) -> dict[str, Any]:
    """Turn the name of a point into options of Word2Vec, and the factor of the rate."""
    K, B, *others = point.split(",")
    options: dict[str, Any] = {"shared_negatives": int(K), "batch": int(B)}
    for other in others:
        if other == "sg":
            options["objective"] = "sg"
        elif other.startswith("sample="):
            options["sample"] = float(other.removeprefix("sample="))
        else:
            options["factor"] = float(other)
    return options


def measure(corpus: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Train with some options, and score the vectors on the dev halves."""
    factor = options.pop("factor", None)
    if factor is not None:
        chosen = {key: value for key, value in options.items() if key in ("objective", "window")}
        options["alpha"] = factor * compute_default_alpha(Settings(**chosen), 5 * corpus.tokens)
    started = time.perf_counter()
    model = Word2Vec(corpus, workers=2, **options)
    seconds = time.perf_counter() - started
    report = evaluate(model.wv, resamples=0, probes=(), progress=False)
    sentences = score_sentences(model.wv, load_sentence_tasks(["stsb-dev"]), ["mean"], resamples=0)
    scores = {half: round(report.score("model", "mean", half).score, 2) for half in ("dev", "test")}
    about = {**options, "alpha": round(model.alpha, 4), "window": model.window, "seconds": round(seconds, 1)}
    return {**about, **scores, "stsb_dev": round(sentences[0].score, 2)}


if __name__ == "__main__":
    main()
