"""mumon beside gensim on the same work, in one run: wall time from text to saved vectors, and quality.

    MUMON_DATA=… python benchmarks/core.py [--sentences 700000] [--dim 200]

MUMON_DATA is a folder with corpus/enwiki.sents.txt.xz, similarity/ and analogy/. Each system trains in a process of its
own with two threads, after a small run that leaves mumon's kernels compiled; mumon's encoded corpus is deleted before
each run. Results go to benchmarks/results/core.json.
"""

from __future__ import annotations

import argparse
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

import numpy as np
from scipy.stats import spearmanr

from mumon import WordVectors

SIMILARITY = {"ws353": "EN-WS-353-ALL", "men": "EN-MEN-TR-3k", "rw": "EN-RW-STANFORD"}
ANALOGY = {"google": "questions-words", "msr": "msr"}
THREADS, EPOCHS, MIN_COUNT = 2, 5, 5
GENSIM = f"""
import sys
from gensim.models import Word2Vec
corpus, out, dim, sg = sys.argv[1:]
model = Word2Vec(corpus_file=corpus, vector_size=int(dim), sg=int(sg), min_count={MIN_COUNT}, epochs={EPOCHS},
                 workers={THREADS})
model.wv.save_word2vec_format(out, binary=True)
"""
RUNS = {
    "gensim CBOW": ["gensim", "0"],
    "mumon CBOW exact, lr 0.075": ["--exact", "--lr", "0.075"],
    "mumon CBOW fast, lr 0.075": ["--lr", "0.075"],
    "gensim skip-gram": ["gensim", "1"],
    "mumon skip-gram fast": ["--objective", "sg"],
}


def command(options: list[str], corpus: Path, out: Path, dim: int) -> list[str]:
    """The command line that trains one system."""
    if options[0] == "gensim":
        return [sys.executable, "-c", GENSIM, str(corpus), str(out), str(dim), options[1]]
    fixed = ["--dim", dim, "--epochs", EPOCHS, "--min-count", MIN_COUNT, "--threads", THREADS, "--quiet"]
    return [sys.executable, "-m", "mumon", "train", str(corpus), "-o", str(out), *map(str, fixed), *options]


def quality(wv: WordVectors, data: Path) -> dict[str, float]:
    """Spearman × 100 on three similarity tasks and 3CosAdd accuracy on two analogy tasks; missing words are skipped."""
    scores = {}
    for task, name in SIMILARITY.items():
        rows = [line.lower().split() for line in (data / f"similarity/{name}.txt").read_text().splitlines()]
        rows = [row for row in rows if row[0] in wv and row[1] in wv]
        scores[task] = 100 * spearmanr([float(r[2]) for r in rows], [wv.similarity(r[0], r[1]) for r in rows])[0]
    units = wv.vectors / np.maximum(wv.norms, 1e-12)[:, None]
    for task, name in ANALOGY.items():
        rows = [
            line.lower().split() for line in (data / f"analogy/{name}.txt").read_text().splitlines() if line[0] != ":"
        ]
        asked = np.array([[wv.get_index(word) for word in row] for row in rows if all(word in wv for word in row)])
        queries = units[asked[:, 1]] - units[asked[:, 0]] + units[asked[:, 2]]
        best, _ = wv.nearest(queries, topn=1, exclude=asked[:, :3].tolist())
        scores[task] = 100 * float(np.mean(best[:, 0] == asked[:, 3]))
    return {**scores, "mean": float(np.mean(list(scores.values())))}


def main() -> None:
    """Train everything, one after the other, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=700_000)
    parser.add_argument("--dim", type=int, default=200)
    options = parser.parse_args()
    data = Path(os.environ["MUMON_DATA"])
    work = Path(tempfile.mkdtemp(prefix="mumon-core-"))
    os.environ["MUMON_CACHE"] = str(work / "cache")
    corpus, warm = work / "corpus.txt", work / "warm.txt"
    with lzma.open(data / "corpus/enwiki.sents.txt.xz", "rt") as text, corpus.open("w") as file:
        file.writelines(islice(text, options.sentences))
    with corpus.open() as text:
        warm.write_text("".join(islice(text, 2000)))
    results = {}
    for choice in RUNS.values():
        subprocess.run(command(choice, warm, work / "warm.bin", options.dim), check=True)
    for name, choice in RUNS.items():
        shutil.rmtree(work / "cache" / "corpora", ignore_errors=True)
        started = time.perf_counter()
        subprocess.run(command(choice, corpus, work / "out.bin", options.dim), check=True)
        seconds = time.perf_counter() - started
        results[name] = {"seconds": round(seconds, 1), **quality(WordVectors.load(work / "out.bin"), data)}
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
