"""mumon beside gensim and fastText on the same work, in one run: wall time from text to saved vectors, and quality.

    pip install fasttext-wheel gensim
    MUMON_DATA=… python benchmarks/core.py [--sentences 700000] [--dim 200]

MUMON_DATA is a folder with the data sets (see `mumon data list`), enwiki among them. Each system trains
in a process of its own with two threads, after a small run that leaves mumon's kernels compiled; mumon's encoded corpus
is deleted before each run. Results go to benchmarks/results/core.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

from mumon import WordVectors, datasets
from mumon.evaluation import SUITE, evaluate, load_tasks

THREADS, EPOCHS, MIN_COUNT = 2, 5, 5
GENSIM = f"""
import sys
from gensim.models import Word2Vec
corpus, out, dim, sg = sys.argv[1:]
model = Word2Vec(corpus_file=corpus, vector_size=int(dim), sg=int(sg), min_count={MIN_COUNT}, epochs={EPOCHS},
                 workers={THREADS})
model.wv.save_word2vec_format(out, binary=True)
"""
FASTTEXT = f"""
import sys, fasttext
from mumon import WordVectors
import numpy as np
corpus, out, dim, model = sys.argv[1:]
trained = fasttext.train_unsupervised(corpus, model=model, dim=int(dim), minCount={MIN_COUNT}, epoch={EPOCHS},
                                      thread={THREADS}, minn=0, maxn=0, t=1e-3, verbose=0)
words = [word for word in trained.words if word != "</s>"]
WordVectors(words, np.array([trained[word] for word in words], np.float32)).save(out)
"""
RUNS = {
    "gensim CBOW": ["gensim", "0"],
    "fastText CBOW": ["fasttext", "cbow"],
    "gensim skip-gram": ["gensim", "1"],
    "mumon CBOW exact": ["--exact"],
    "mumon CBOW": [],
    "mumon CBOW faulty": ["--update", "faulty"],
    "mumon skip-gram": ["--objective", "sg"],
}


def command(options: list[str], corpus: Path, out: Path, dim: int) -> list[str]:
    """The command line that trains one system with its own default rate."""
    peers = {"gensim": GENSIM, "fasttext": FASTTEXT}
    if options and options[0] in peers:
        return [sys.executable, "-c", peers[options[0]], str(corpus), str(out), str(dim), options[1]]
    fixed = ["--dim", dim, "--epochs", EPOCHS, "--min-count", MIN_COUNT, "--threads", THREADS, "--quiet"]
    return [sys.executable, "-m", "mumon", "train", str(corpus), "-o", str(out), *map(str, fixed), *options]


def quality(wv: WordVectors, tasks: Any) -> dict[str, float]:
    """The five scores and their mean, on all items; missing words are skipped."""
    report = evaluate(wv, tasks, resamples=0, progress=False)
    return {task: report.score("model", task).score for task in (*SUITE, "mean")}


def main() -> None:
    """Train everything, one after the other, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=700_000)
    parser.add_argument("--dim", type=int, default=200)
    options = parser.parse_args()
    tasks, text = load_tasks(), datasets.fetch("enwiki")
    work = Path(tempfile.mkdtemp(prefix="mumon-core-"))
    os.environ["MUMON_CACHE"] = str(work / "cache")
    corpus, warm = work / "corpus.txt", work / "warm.txt"
    with lzma.open(text, "rt") as lines, corpus.open("w") as file:
        file.writelines(islice(lines, options.sentences))
    with corpus.open() as lines:
        warm.write_text("".join(islice(lines, 2000)))
    absent = [name for name in ("gensim", "fasttext") if importlib.util.find_spec(name) is None]
    runs = {name: choice for name, choice in RUNS.items() if not set(choice[:1]) & set(absent)}
    print(f"left out: {', '.join(absent) or 'nothing'}", flush=True)
    results = {}
    for choice in runs.values():
        subprocess.run(command(choice, warm, work / "warm.bin", options.dim), check=True)
    for name, choice in runs.items():
        shutil.rmtree(work / "cache" / "corpora", ignore_errors=True)
        started = time.perf_counter()
        subprocess.run(command(choice, corpus, work / "out.bin", options.dim), check=True)
        seconds = time.perf_counter() - started
        results[name] = {"seconds": round(seconds, 1), **quality(WordVectors.load(work / "out.bin"), tasks)}
        print(name, {key: round(value, 1) for key, value in results[name].items()}, flush=True)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    about = {"sentences": options.sentences, "dim": options.dim, "epochs": EPOCHS, "min_count": MIN_COUNT,
             "threads": THREADS, "machine": platform.machine(), "cores": os.cpu_count(),
             "python": platform.python_version(), "date": time.strftime("%Y-%m-%d"), "commit": commit}  # fmt: skip
    record = {"about": about, "results": {n: {k: round(v, 2) for k, v in r.items()} for n, r in results.items()}}
    target = Path(__file__).parent / "results" / "core.json"
    target.write_text(json.dumps(record, indent=2) + "\n")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
