"""The vectors for the extrinsic tasks: mumon's three and gensim's two, on the whole Wikipedia corpus.

    MUMON_DATA=… python benchmarks/vectors.py FOLDER --dim 100 --seeds 1 2

Each system keeps its own default rate. The vectors go to FOLDER/SEED/SYSTEM.bin. Files that exist are not trained
again, so another --dim needs another FOLDER.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from common import write_sentences

from mumon.experiments.bench.systems import SYSTEMS
from mumon.experiments.bench.work import Job, Work

TRAINED_SYSTEMS = ("mumon-cbow-default", "mumon-cbow-faulty", "mumon-sg", "gensim-cbow", "gensim-sg")


def train(system: str, job: Job) -> None:
    """Train one system, unless its vectors exist."""
    if job.output.exists():
        return
    part = job.output.with_suffix(".part.bin")
    subprocess.run(SYSTEMS[system].command(Job(job.corpus, part, job.work, job.threads, job.seed)), check=True)
    part.rename(job.output)


def main() -> None:
    """Train every system with every seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="keeps the corpus and the vectors")
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sentences", type=int, help="only the first of the corpus")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    corpus = write_sentences(options.sentences, options.folder)
    for seed in options.seeds:
        for system in TRAINED_SYSTEMS:
            (options.folder / str(seed)).mkdir(exist_ok=True)
            output = options.folder / str(seed) / f"{system}.bin"
            train(system, Job(corpus, output, Work(dim=options.dim), options.threads, seed))


if __name__ == "__main__":
    main()
