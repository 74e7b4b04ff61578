"""Are the defaults better than those of an earlier commit, on all kinds of data? For docs/explanation/both-sides.md.

    git worktree add BEFORE 1cc75e4
    MUMON_DATA=… python benchmarks/defaults.py FOLDER --before BEFORE

Trains the defaults of both commits on texts of several sizes, German text, items and a graph, and asks them the same
questions; on the whole Wikipedia corpus, trains networks on their vectors (SST-2, NER with frozen vectors). Differences
are of the same seeds, ± half of the 95 % interval over seeds (Student's t). Results go to
benchmarks/results/defaults.json, and as Markdown to standard output. What is already in that file is kept (remove it to
measure everything again), and FOLDER keeps the vectors, so the same command resumes after an interruption (another
commit needs another folder).
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
from common import describe_run
from scipy import io, stats

from mumon import WordVectors, random_walks
from mumon.evaluation import evaluate
from mumon.evaluation.sentence_files import SENTENCE_SUITE, load_sentence_tasks
from mumon.evaluation.sentences import score_sentences
from mumon.utils.progress import LineProgress

RESULTS = Path(__file__).parent / "results" / "defaults.json"
DATA = Path(os.environ.get("MUMON_DATA", "."))
TRAINER = Path(__file__).with_name("train_vectors.py")
FORMER = "former "  # systems whose names begin with this are trained by the earlier commit
SYSTEMS: dict[str, dict[str, Any]] = {
    "former CBOW": {},
    "CBOW": {},
    "former skip-gram": {"sg": 1},  # and the present one: skip-gram's defaults did not change
    "skip-gram, λ = 0.125": {"sg": 1, "target_weight": 0.125},
}
# At the window and λ that are best for it on the dev halves (the report, "Both sides of the model").
BEST_SKIPGRAM = {"skip-gram, window 10": {"sg": 1, "window": 10, "target_weight": 0.25}}
PAIRS = (("former CBOW", "CBOW"), ("former skip-gram", "skip-gram, λ = 0.125"), ("skip-gram, window 10", "CBOW"))
GERMAN_TASKS = ("similarity/de/de-schm280.tsv", "similarity/de/de-zg222.tsv", "analogy/de/de-syntactic-google.tsv")
NETWORK_SYSTEMS, NETWORK_SEEDS = ("former CBOW", "CBOW", "former skip-gram"), 3
NETWORK_PAIRS = (("former CBOW", "CBOW"), ("former skip-gram", "CBOW"))
UNSEEN = 1_000_000  # small texts are taken from after these: rates were chosen on the first sentences
LATER = 1_500_000  # and the large text that no choice has seen from after these
NEIGHBOURS = 10
BATCH = 1024  # users whose items are ranked at once

Scores = dict[str, float]


@dataclass(frozen=True)
class DataSet:
    """What the defaults are tried on: a text file, how its vectors are scored, and the options that it needs."""

    name: str
    write: Callable[[Path], None]
    score: Callable[[WordVectors, int], Scores]
    seeds: int
    systems: dict[str, dict[str, Any]]
    min_count: int = 5


def write_text(name: str, sentences: int | None, skip: int = 0) -> Callable[[Path], None]:
    """Return a function that writes sentences of a corpus, the first ones or those after `skip` others."""

    def write(path: Path) -> None:
        with lzma.open(DATA / "corpus" / f"{name}.sents.txt.xz", "rt") as lines, path.open("w") as file:
            file.writelines(islice(lines, skip, None if sentences is None else skip + sentences))

    return write


def write_items(path: Path) -> None:
    """Write the items of each user as a line, all but the last."""
    with path.open("w") as file:
        file.writelines(" ".join(map(str, items[:-1])) + "\n" for items in read_items())


def read_items() -> list[list[str]]:
    """Read the items of each user, in the order of time."""
    lines = (line.split() for line in (DATA / "items" / "beauty.txt").open())
    return [[item for _, item in group] for _, group in groupby(lines, key=lambda pair: pair[0])]


def write_walks(path: Path) -> None:
    """Write random walks on the social graph."""
    walks = random_walks(io.loadmat(DATA / "graph" / "blogcatalog.mat")["network"], 10, 40, progress=False)
    with path.open("w") as file:
        file.writelines(" ".join(map(str, walk.tolist())) + "\n" for walk in walks)


def score_english(wv: WordVectors, seed: int) -> Scores:
    """Score the five tasks (test halves) and the similarity of sentences by the mean of their words."""
    report = evaluate(wv, resamples=0, probes=(), progress=False)
    found = {score.task: score.score for score in score_sentences(wv, load_sentence_tasks(), ["mean"], resamples=0)}
    others = [found[task] for task in SENTENCE_SUITE if not task.startswith("stsb")]
    words = {"five tasks": report.score("model", "mean", "test").score}
    return {**words, "STS-B": found["stsb-test"], "STS 2012–16, SICK": float(np.mean(others))}


def score_unseen(wv: WordVectors, seed: int) -> Scores:
    """Score what no choice has seen: SimLex-999, which gensim brings along, besides the usual tasks."""
    from gensim.test.utils import datapath

    report = evaluate(wv, [datapath("simlex999.txt")], resamples=0, probes=(), progress=False)
    return {**score_english(wv, seed), "SimLex-999": report.score("model", "mean").score}


def score_german(wv: WordVectors, seed: int) -> Scores:
    """Score German similarities and analogies."""
    tasks = [DATA / name for name in GERMAN_TASKS]
    report = evaluate(wv, tasks, resamples=0, probes=(), progress=False)
    return {"German tasks": report.score("model", "mean").score}


def score_items(wv: WordVectors, seed: int) -> Scores:
    """Score how often a user's last item is among the ten nearest to the mean of the three before it."""
    unit = wv.vectors / np.linalg.norm(wv.vectors, axis=1, keepdims=True)
    users = [[wv.key_to_index.get(item, -1) for item in items] for items in read_items()]
    users = [(np.array([row for row in rows[:-1] if row >= 0]), rows[-1]) for rows in users]
    users = [(seen, last) for seen, last in users if len(seen)]
    hits = 0
    for start in range(0, len(users), BATCH):
        batch = users[start : start + BATCH]
        scores = np.stack([unit[seen[-3:]].mean(axis=0) for seen, _ in batch]) @ unit.T
        for row, (seen, last) in zip(scores, batch, strict=True):
            row[seen] = -np.inf  # items that were seen are not offered again
            hits += last >= 0 and row[last] > -np.inf and int((row > row[last]).sum()) < NEIGHBOURS
    return {"hit@10 ‰": 1000 * hits / len(users)}


def score_graph(wv: WordVectors, seed: int) -> Scores:
    """Score the labels of nodes: logistic regression on half of the nodes, micro F1 on the other half.

    As is usual for this graph, a node gets as many labels as it has.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    labels = np.asarray(io.loadmat(DATA / "graph" / "blogcatalog.mat")["group"].todense())
    order = np.random.default_rng(seed).permutation(len(labels))
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    rows = wv.vectors[[wv.key_to_index[str(node)] for node in range(len(labels))]]
    model = OneVsRestClassifier(LogisticRegression(max_iter=300), n_jobs=2).fit(rows[train], labels[train])
    chances = model.predict_proba(rows[test])
    ranks = (-chances).argsort(axis=1).argsort(axis=1)
    found = ranks < labels[test].sum(axis=1, keepdims=True)
    return {"micro F1": 100 * float((found & (labels[test] > 0)).sum() / found.sum())}


WITH_BEST = {**SYSTEMS, **BEST_SKIPGRAM}
TO_CONFIRM = {name: options for name, options in WITH_BEST.items() if name != "skip-gram, λ = 0.125"}
DATA_SETS = (
    DataSet("the first corpus, 700,000 sentences", write_text("enwiki", 700_000), score_english, 3, TO_CONFIRM),
    DataSet("items (Amazon Beauty)", write_items, score_items, 5, SYSTEMS),
    DataSet("graph (BlogCatalog)", write_walks, score_graph, 3, SYSTEMS, min_count=1),
    DataSet("other articles, 5,000 sentences", write_text("enwiki2", 5_000, UNSEEN), score_english, 5, SYSTEMS),
    DataSet("other articles, 40,000 sentences", write_text("enwiki2", 40_000, UNSEEN), score_english, 5, SYSTEMS),
    DataSet("German debates", write_text("de", None), score_german, 3, SYSTEMS),
    DataSet("other articles, 700,000 sentences", write_text("enwiki2", 700_000), score_english, 3, WITH_BEST),
    DataSet("later articles, 700,000 sentences", write_text("enwiki2", 700_000, LATER), score_unseen, 3, TO_CONFIRM),
)


def measure(data: DataSet, folder: Path, before: Path) -> dict[str, list[Scores]]:
    """Train every system with every seed, and score the vectors; scores by system and seed."""
    name = "".join(letter if letter.isalnum() else "-" for letter in data.name)
    corpus = folder / f"{name}.txt"
    if not corpus.exists():
        data.write(corpus)
    found = {}
    for system, options in data.systems.items():
        options = {"min_count": data.min_count, **options}
        paths = train(system, options, corpus, data.seeds, folder, before)
        found[system] = [data.score(WordVectors.load(path), seed) for seed, path in enumerate(paths, 1)]
        print(data.name, system, found[system], file=sys.stderr)
    return found


def train(system: str, options: dict[str, Any], corpus: Path, seeds: int, folder: Path, before: Path) -> list[Path]:
    """Train a system in a process of its own, with the code of its commit; return its vectors by seed."""
    paths = [folder / f"{corpus.stem}-{system.replace(' ', '-')}-{seed}.bin" for seed in range(1, seeds + 1)]
    jobs = [
        {"corpus": str(corpus), "output": str(path), "options": {"seed": seed, **options}}
        for seed, path in enumerate(paths, 1)
    ]
    home = before if system.startswith(FORMER) else Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(home / "src")}
    subprocess.run([sys.executable, str(TRAINER), json.dumps(jobs)], check=True, env=environment)
    return paths


def compare(found: dict[str, list[Scores]], a: str, b: str) -> dict[str, dict[str, float]]:
    """Compare two systems by the differences of their seeds: the mean, and half of its 95 % interval."""
    result = {}
    for name in found[a][0]:
        gaps = np.array([second[name] - first[name] for first, second in zip(found[a], found[b], strict=True)])
        half = stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps))
        result[name] = {"difference": round(float(gaps.mean()), 3), "half": round(float(half), 3)}
    return result


def measure_networks(folder: Path, before: Path) -> dict[str, Any]:
    """Train on the whole Wikipedia corpus, and networks on the vectors: sentiment and named entities."""
    from mumon.experiments.extrinsic import evaluate_extrinsic

    corpus = folder / "enwiki.txt"
    if not corpus.exists():
        write_text("enwiki", None)(corpus)
    models = {
        system: [
            WordVectors.load(path) for path in train(system, SYSTEMS[system], corpus, NETWORK_SEEDS, folder, before)
        ]
        for system in NETWORK_SYSTEMS
    }
    seeds = list(range(1, NETWORK_SEEDS + 1))
    trials = {"folder": folder / "networks", "workers": 2, "progress": LineProgress(every=60)}
    report = evaluate_extrinsic(models, ["sst2", "ner-frozen"], seeds=seeds, budget="small", **trials)
    comparisons = [row.to_json() for a, b in NETWORK_PAIRS for row in report.compare(a, b)]
    return {**report.to_json(), "comparisons": comparisons}


def format_markdown(results: dict[str, Any]) -> str:
    """Format the means and the differences, for the documents."""
    lines = ["| | | former CBOW | CBOW | difference | skip-gram | λ = 0.125 | difference |", "|---" * 8 + "|"]
    for name, record in results.items():
        for metric in record["scores"]["CBOW"][0]:
            cells = [name, metric]
            for a, b in (pair for pair in PAIRS[:2] if pair[1] in record["scores"]):
                means = [np.mean([scores[metric] for scores in record["scores"][system]]) for system in (a, b)]
                gap = record["comparisons"][f"{b} less {a}"][metric]
                cells += [*(f"{mean:.1f}" for mean in means), f"{gap['difference']:+.1f} ± {gap['half']:.1f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure what is not yet among the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="keeps texts and vectors")
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the earlier commit")
    parser.add_argument("--output", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    show = ["git", "-C", str(options.before), "rev-parse", "--short", "HEAD"]
    before, now = subprocess.run(show, capture_output=True, text=True, check=True).stdout.strip(), describe_run()
    record: dict[str, Any] = {"about": {**now, "before": before}, "results": {}}
    if options.output.exists():
        record = json.loads(options.output.read_text())
    for data in DATA_SETS:
        if data.name in record["results"]:
            continue
        found = measure(data, options.folder, options.before)
        pairs = {f"{b} less {a}": compare(found, a, b) for a, b in PAIRS if a in found and b in found}
        rounded = {
            name: [{key: round(value, 3) for key, value in scores.items()} for scores in each]
            for name, each in found.items()
        }
        record["results"][data.name] = {"commit": now["commit"], "scores": rounded, "comparisons": pairs}
        options.output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    if "networks" not in record:
        record["networks"] = {"commit": now["commit"], **measure_networks(options.folder, options.before)}
    options.output.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    print(format_markdown(record["results"]))


if __name__ == "__main__":
    main()
