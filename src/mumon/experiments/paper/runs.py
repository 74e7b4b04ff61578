"""One training: the systems, what is saved of a run, and peers in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mumon import __version__
from mumon.errors import FormatError, PeerError, TrainingError
from mumon.evaluation.bootstrap import Outcome
from mumon.experiments.bench.systems import SUBWORDS, find_peer_version
from mumon.fasttext import make_model

if TYPE_CHECKING:
    from mumon.evaluation import Report, Task
    from mumon.vectors.word_vectors import WordVectors

HALVES = ("dev", "test")
POSITIONS = "CBOW positions"
# Options by the names that tables use.
SYSTEMS: dict[str, dict[str, Any]] = {
    "gensim SG": {"sg": 1},
    "gensim CBOW": {"sg": 0},
    "SG": {"sg": 1},
    "SG, exact": {"sg": 1, "exact": True},
    "CBOW faulty": {"update": "faulty"},
    "CBOW correct": {},
    "CBOW faulty, exact": {"update": "faulty", "exact": True},
    "CBOW correct, exact": {"exact": True},
    POSITIONS: {"positions": 4},
    "CBOW correct, subwords": SUBWORDS,
    "CBOW faulty, subwords": {**SUBWORDS, "update": "faulty"},
    "SG correct, subwords": {**SUBWORDS, "sg": 1},
    "SG faulty, subwords": {**SUBWORDS, "sg": 1, "update": "faulty"},
    "fastText CBOW": {**SUBWORDS, "sg": 0},
    "fastText SG": {**SUBWORDS, "sg": 1},
    "gensim FastText CBOW": {**SUBWORDS, "sg": 0},
    "gensim FastText SG": {**SUBWORDS, "sg": 1},
}
# What every model of the paper's protocol is trained with: its vectors are the source vectors alone.
SOURCE_OPTIONS: dict[str, Any] = {"target_weight": 0.0}
PEER_RATES = {"gensim": 0.025, "fastText": 0.05}  # their defaults, for both objectives
PEER_MODULES = {"gensim": "gensim_train", "fastText": "fasttext_train"}  # in mumon.experiments.bench.peers


def has_lowest_rate(system: str, tokens: float) -> bool:
    """Return whether the default rate of a system, which falls with the number of tokens, has reached its bound.

    >>> has_lowest_rate("SG", 10**7), has_lowest_rate("SG", 10**9)
    (False, True)
    """
    settings = make_model(**SYSTEMS[system]).settings
    rule = settings.objective_record.rate_rule(settings)
    return rule.at(tokens) <= rule.least


@dataclass(frozen=True)
class TrainedRun:
    """One training: a record of scores and norms, and the model's answer to every question."""

    record: dict[str, Any]
    outcomes: dict[str, Outcome]

    @property
    def failed(self) -> str | None:
        """Why there is no model, or None."""
        reason: str | None = self.record.get("failed")
        return reason

    def score(self, task: str, fold: str) -> float:
        """Return a score × 100; nan if there is none."""
        value = self.record["scores"].get(task, {}).get(fold)
        return float("nan") if value is None else float(value)

    def mean(self, fold: str) -> float:
        """Return the mean over the tasks that have a score; nan if none has, or if training failed."""
        scores = np.array([self.score(task, fold) for task in self.record["scores"]])
        return float(scores[~np.isnan(scores)].mean()) if (~np.isnan(scores)).any() else float("nan")


def find_program(system: str) -> str:
    """Return the name of the program that trains a system.

    >>> find_program("gensim FastText CBOW"), find_program("CBOW correct")
    ('gensim', 'mumon')
    """
    first = system.split()[0]
    return first if first in PEER_RATES else "mumon"


def is_peer(system: str) -> bool:
    """Return whether another program trains a system."""
    return find_program(system) != "mumon"


def find_version(system: str) -> str | None:
    """Return the version of the program that trains a system, or None if it is not installed."""
    return find_peer_version(find_program(system)) if is_peer(system) else __version__


def describe_run(system: str, changed: Mapping[str, Any], seed: int) -> str:
    """Describe a training in a few words.

    Parameters
    ----------
    system
        A name of `SYSTEMS`.
    changed
        Options that differ from those of the scale.
    seed
        Seed of the training.

    Returns
    -------
    str
        The description.

    Examples
    --------
    >>> describe_run("CBOW correct", {"alpha": 0.07071, "window": 5}, 2)
    'CBOW correct, rate 0.0707, window 5, seed 2'
    """
    named = {"rate" if name == "alpha" else name: value for name, value in changed.items() if value}
    spoken = [f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in named.items()]
    return ", ".join([system, *spoken, f"seed {seed}"])


def train_peer(system: str, text: Path, options: Mapping[str, Any], threads: int, seed: int) -> WordVectors:
    """Train a system of another program, in a process of its own.

    Parameters
    ----------
    system
        A name of `SYSTEMS`.
    text
        A plain file, one sentence per line.
    options
        Options of `Word2Vec` or `FastText`.
    threads, seed
        Threads and seed of the training; fastText takes no seed.

    Returns
    -------
    WordVectors
        The vectors; with subwords, those that compose one for any word.

    Raises
    ------
    PeerError
        If the program failed or wrote something unreadable.
    TrainingError
        If the vectors are not finite.
    """
    from mumon.vectors.word_vectors import WordVectors

    program = find_program(system)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "vectors.bin"
        renamed = {"vector_size": "dim"}
        job = {renamed.get(name, name): value for name, value in {**options, **SYSTEMS[system]}.items()}
        more = ("alpha", "max_final_vocab", "min_n", "max_n", "bucket")
        extra = {name: job.pop(name) for name in more if job.get(name) is not None}
        job |= {"corpus": str(text), "output": str(output), "iterable": False, "sample": 1e-3}
        job |= {"threads": threads, "seed": seed, "options": extra, "whole": "max_n" in extra}
        command = [sys.executable, "-m", f"mumon.experiments.bench.peers.{PEER_MODULES[program]}", json.dumps(job)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it wrote nothing"])[-1]
            raise PeerError(f"{program} ended with exit code {done.returncode}: {last}")
        try:
            vectors = WordVectors.load(output)
        except FormatError as error:
            raise PeerError(f"the vectors of {program} cannot be read: {error}") from None
        if not np.isfinite(vectors.vectors).all():
            raise TrainingError(f"the vectors of {program} hold nan or inf; start from a lower alpha")
        return vectors


def compute_mean_norm(vectors: Any) -> float:
    """Return the mean norm of rows."""
    return float(np.linalg.norm(np.asarray(vectors, np.float64), axis=1).mean())


def collect_scores(report: Report) -> dict[str, dict[str, float | None]]:
    """Return scores by task and fold; None where there is none."""

    def of(task: str, fold: Any) -> float | None:
        value = report.score("model", task, fold=fold).score
        return None if value != value else value

    return {task: {fold: of(task, fold) for fold in (*HALVES, "all")} for task in report.task_names}


def pack_outcomes(report: Report) -> dict[str, Any]:
    """Return the answers of a report as arrays: right and wrong as bytes, cosines as they are."""
    arrays: dict[str, Any] = {}
    for (_, task), outcome in report.outcomes.items():
        kind = np.int8 if outcome.gold is None else np.float64
        arrays |= {f"{task}.values": outcome.values.astype(kind), f"{task}.found": outcome.found}
    return arrays


def unpack_outcomes(arrays: Mapping[str, Any], tasks: Sequence[Task]) -> dict[str, Outcome]:
    """Return the answers that `pack_outcomes` packed, by task."""
    return {
        task.name: Outcome(arrays[f"{task.name}.values"].astype(np.float64), arrays[f"{task.name}.found"], task.gold)
        for task in tasks
        if f"{task.name}.values" in arrays
    }
