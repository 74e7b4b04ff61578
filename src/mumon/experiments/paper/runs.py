"""One training: the systems, what is saved of a run, and gensim in a process of its own."""

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
from mumon.experiments.bench.systems import find_peer_version
from mumon.word2vec import Word2Vec

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
}
# What every model of the paper's protocol is trained with: its vectors are the source vectors alone.
SOURCE_OPTIONS: dict[str, Any] = {"target_weight": 0.0}
GENSIM_RATE = 0.025  # its default, for both objectives


def has_lowest_rate(system: str, tokens: float) -> bool:
    """Return whether the default rate of a system, which falls with the number of tokens, has reached its bound.

    >>> has_lowest_rate("SG", 10**7), has_lowest_rate("SG", 10**9)
    (False, True)
    """
    settings = Word2Vec(**SYSTEMS[system]).settings
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


def is_peer(system: str) -> bool:
    """Return whether gensim trains a system."""
    return system.startswith("gensim")


def find_version(system: str) -> str | None:
    """Return the version of the program that trains a system, or None if it is not installed."""
    return find_peer_version("gensim") if is_peer(system) else __version__


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
    spoken = [f"{'rate' if name == 'alpha' else name} {value:.3g}" for name, value in changed.items() if value]
    return ", ".join([system, *spoken, f"seed {seed}"])


def train_gensim(text: Path, options: Mapping[str, Any], threads: int, seed: int) -> WordVectors:
    """Train gensim in a process of its own.

    Parameters
    ----------
    text
        A plain file, one sentence per line.
    options
        Options of `Word2Vec`.
    threads, seed
        Threads and seed of the training.

    Returns
    -------
    WordVectors
        The vectors.

    Raises
    ------
    PeerError
        If gensim failed or wrote something unreadable.
    TrainingError
        If the vectors are not finite.
    """
    from mumon.vectors.word_vectors import WordVectors

    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "vectors.bin"
        renamed = {"vector_size": "dim"}
        job = {renamed.get(name, name): value for name, value in options.items()}
        extra = {name: job.pop(name) for name in ("alpha", "max_final_vocab") if name in job}
        job |= {"corpus": str(text), "output": str(output), "iterable": False, "sample": 1e-3}
        job |= {"threads": threads, "seed": seed, "options": extra}
        command = [sys.executable, "-m", "mumon.experiments.bench.peers.gensim_train", json.dumps(job)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it wrote nothing"])[-1]
            raise PeerError(f"gensim ended with exit code {done.returncode}: {last}")
        try:
            vectors = WordVectors.load(output)
        except FormatError as error:
            raise PeerError(f"gensim's vectors cannot be read: {error}") from None
        if not np.isfinite(vectors.vectors).all():
            raise TrainingError("gensim's vectors hold nan or inf; start from a lower alpha")
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
