"""The laboratory: parts of the corpus, and trainings on them that are done once and kept."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mumon.bench.systems import peer_version
from mumon.bench.work import plain_text
from mumon.corpus import EncodedCorpus, corpus_from_files
from mumon.corpus.digest import corpus_digest
from mumon.errors import FormatError, MumonError, OptionError, TrainingError, one_line
from mumon.evaluation.bootstrap import Outcome
from mumon.model import Word2Vec
from mumon.paper.cache import Cache
from mumon.paper.scales import Scale
from mumon.progress import Progress
from mumon.strict_json import parse
from mumon.sweep.plan import task_digest

if TYPE_CHECKING:
    from mumon.evaluation import Report, Task
    from mumon.vectors import WordVectors

HALVES = ("dev", "test")
# Ways to train, by the names that tables use. Those of gensim run in a process of their own.
SYSTEMS: dict[str, dict[str, Any]] = {
    "gensim SG": {"sg": 1},
    "gensim CBOW": {"sg": 0},
    "SG": {"sg": 1},
    "CBOW faulty": {"update": "faulty"},
    "CBOW correct": {},
    "CBOW faulty, exact": {"update": "faulty", "exact": True},
    "CBOW correct, exact": {"exact": True},
}


@dataclass(frozen=True)
class Part:
    """The first sentences of the corpus: as a plain file, for peers, and encoded."""

    path: Path
    corpus: EncodedCorpus

    @cached_property
    def digest(self) -> str:
        """Of the text itself."""
        return corpus_digest(self.corpus)

    @property
    def sentences(self) -> int:
        """How many there are."""
        return self.corpus.sentences

    @property
    def tokens(self) -> int:
        """How many words in all."""
        return self.corpus.tokens


@dataclass(frozen=True)
class Trained:
    """What one training gave: a record of scores and norms, and what the model said to every question."""

    record: dict[str, Any]
    outcomes: dict[str, Outcome]

    def score(self, task: str, fold: str) -> float:
        """A score × 100; nan where there is none."""
        value = self.record["scores"][task][fold]
        return float("nan") if value is None else float(value)

    def mean(self, fold: str) -> float:
        """The mean over tasks; nan if training failed."""
        if not self.record["scores"]:
            return float("nan")
        return float(np.mean([self.score(task, fold) for task in self.record["scores"]]))


class Lab:
    """Trains on parts of one corpus, judges by the same tasks, and keeps what it found."""

    def __init__(
        self,
        scale: Scale,
        inputs: Sequence[str],
        tasks: Sequence[Task],
        cache: Path,
        threads: int,
        progress: Progress,
        given: Mapping[str, Any] | None = None,
        c4: Sequence[str] = (),
    ) -> None:
        self.scale, self.inputs, self.tasks, self.threads = scale, list(inputs), list(tasks), threads
        self.cache, self.progress = Cache(cache), progress
        self.given = dict(given or {})  # results of earlier evaluations, by what they are of
        self.label = ""  # of the experiment that is going on
        self.c4 = list(c4)  # a second, larger corpus
        self._parts: dict[tuple[str, int | None], Part] = {}

    @property
    def task_names(self) -> list[str]:
        """The tasks in the order of the tables."""
        return [task.name for task in self.tasks]

    def part(self, sentences: int | None) -> Part:
        """The first sentences of the corpus, or all of it."""
        return self._part("corpus", self.inputs, sentences)

    def c4_part(self) -> Part:
        """The second corpus, all of it."""
        return self._part("c4", self.c4, None)

    def _part(self, name: str, inputs: Sequence[str], sentences: int | None) -> Part:
        if (name, sentences) not in self._parts:
            key = self.cache.key("text", {"files": _stamps(inputs), "first": sentences})
            path = self.cache.folder / f"{key}.txt"
            if not path.exists():
                self.progress.note(
                    f"reading {f'all of the {name}' if sentences is None else f'{sentences:,} sentences'} …"
                )
                plain_text(inputs, path, sentences)
            encoded = corpus_from_files([path], workers=self.threads)
            if not encoded.tokens:
                raise OptionError(f"the {name} has 0 words; name a file with more text")
            self._parts[name, sentences] = Part(path, encoded)
        return self._parts[name, sentences]

    def options(self, **changed: Any) -> dict[str, Any]:
        """The scale's settings of training, some of them changed."""
        scale = self.scale
        usual = {
            "vector_size": scale.dim,
            "epochs": scale.epochs,
            "min_count": scale.min_count,
            "max_final_vocab": scale.max_vocab,
            "window": scale.window,
            "negative": scale.negative,
        }
        return {**usual, **changed}

    def available(self, system: str) -> bool:
        """Whether a system can be trained here."""
        return not _is_peer(system) or peer_version("gensim") is not None

    def default_rate(self, system: str, part: Part) -> float:
        """The rate that a system itself chooses."""
        if _is_peer(system):
            return 0.025
        options = {name: value for name, value in self.options().items() if name in ("window", "negative")}
        settings = Word2Vec(**options, **SYSTEMS[system]).settings
        return settings.default_alpha(part.tokens * self.scale.epochs, sentence=part.corpus.usual_length)

    def train(self, system: str, part: Part, seed: int = 1, **changed: Any) -> Trained:
        """Train a system (or remember that it was), and ask it all questions."""
        options = self.options(**changed)
        inputs = {
            "system": system,
            "options": options,
            "seed": seed,
            "corpus": part.digest,
            "tasks": {task.name: task_digest(task) for task in self.tasks},
        }
        found, arrays = self.cache.find("run", inputs), self.cache.arrays("run", inputs)
        if found is None or arrays is None:
            found, arrays = self._trained(system, part, seed, options)
            self.cache.put("run", inputs, found, arrays)
            if found["failed"]:
                self.progress.note(f"{self.label}: {described(system, changed, seed)}: {found['failed']}")
            else:
                mean = np.mean([scores["dev"] or np.nan for scores in found["scores"].values()])
                told = f"{self.label}: {described(system, changed, seed)}: dev {mean:.1f}, {found['seconds']:.0f} s"
                self.progress.finish(told)
        return Trained(found, self._outcomes(arrays))

    def vectors(self, system: str, part: Part, seed: int) -> WordVectors:
        """The vectors of a system at its own rate; they are kept, too."""
        from mumon.vectors import WordVectors

        inputs = {"system": system, "options": self.options(), "seed": seed, "corpus": part.digest}
        path = self.cache.folder / f"{self.cache.key('vectors', inputs)}.bin"
        if not path.exists():
            reporter = Labelled(self.progress, f"{self.label}, {system}")
            self._fit(system, part, seed, self.options(), reporter)[0].save(path)
        return WordVectors.load(path)

    def _fit(
        self, system: str, part: Part, seed: int, options: dict[str, Any], reporter: Progress
    ) -> tuple[WordVectors, float | None, Any]:
        """Vectors, the last loss and target vectors; gensim has neither of the latter for us."""
        if _is_peer(system):
            reporter.start("training (a process of its own)", 0, "")
            return gensim_vectors(part.path, {**SYSTEMS[system], **options}, self.threads, seed), None, None
        model = Word2Vec(part.corpus, seed=seed, workers=self.threads, progress=reporter, **SYSTEMS[system], **options)
        return model.wv, model.history[-1].loss, model.syn1neg

    def _trained(
        self, system: str, part: Part, seed: int, options: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        from mumon.evaluation import evaluate

        reporter = Labelled(self.progress, f"{self.label}, {system}")
        started = time.perf_counter()
        about: dict[str, Any] = {"sentences": part.sentences, "tokens": part.tokens, "failed": None}
        try:
            vectors, loss, targets = self._fit(system, part, seed, options, reporter)
        except TrainingError as error:  # it diverged: that is a result, too
            seconds = time.perf_counter() - started
            return {**about, "failed": str(error), "seconds": seconds, "scores": {}, "norms": [None, None]}, {}
        finally:
            reporter.close()
        seconds = time.perf_counter() - started
        norms = [_mean_norm(vectors.vectors), None if targets is None else _mean_norm(targets)]
        about |= {"seconds": seconds, "words": len(vectors), "loss": loss, "norms": norms}
        report = (
            evaluate({"model": vectors}, self.tasks, resamples=0, probes=(), progress=False) if self.tasks else None
        )
        about["scores"] = {} if report is None else _scores(report)
        return about, _arrays(report)

    def _outcomes(self, arrays: Mapping[str, Any]) -> dict[str, Outcome]:
        """The answers of a model, beside the gold of the tasks."""
        return {
            task.name: Outcome(
                arrays[f"{task.name}.values"].astype(np.float64), arrays[f"{task.name}.found"], task.gold
            )
            for task in self.tasks
            if f"{task.name}.values" in arrays
        }


class Labelled(Progress):
    """A reporter for work inside an experiment: its stages say which, its summaries and notes stay unsaid."""

    def __init__(self, inner: Progress, label: str) -> None:
        self.inner, self.label = inner, label

    def start(self, stage: str, total: int, unit: str) -> None:
        self.inner.start(f"{self.label}: {stage}", total, unit)

    def update(self, done: int, **fields: float) -> None:
        self.inner.update(done, **fields)

    def finish(self, summary: str, **fields: float) -> None:
        self.inner.close()

    def close(self) -> None:
        self.inner.close()


def described(system: str, changed: Mapping[str, Any], seed: int) -> str:
    """One training in a few words.

    >>> described("CBOW correct", {"alpha": 0.07071, "window": 5}, 2)
    'CBOW correct, rate 0.0707, window 5, seed 2'
    """
    spoken = [f"{'rate' if name == 'alpha' else name} {value:.3g}" for name, value in changed.items() if value]
    return ", ".join([system, *spoken, f"seed {seed}"])


def gensim_vectors(text: Path, options: Mapping[str, Any], threads: int, seed: int) -> WordVectors:
    """What gensim makes of a text, in a process of its own."""
    from mumon.vectors import WordVectors

    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "vectors.bin"
        renamed = {"vector_size": "dim"}
        job = {renamed.get(name, name): value for name, value in options.items()}
        extra = {name: job.pop(name) for name in ("alpha", "max_final_vocab") if name in job}
        job |= {"corpus": str(text), "output": str(output), "iterable": False, "sample": 1e-3}
        job |= {"threads": threads, "seed": seed, "options": extra}
        command = [sys.executable, "-m", "mumon.bench.peers.gensim_train", json.dumps(job)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it wrote nothing"])[-1]
            raise MumonError(f"gensim ended with exit code {done.returncode}: {last}")
        return WordVectors.load(output)


def read_json(path: Path, what: str) -> dict[str, Any]:
    """A JSON object that someone else wrote."""
    if not path.is_file():
        raise OptionError(f"{path} is not a file; {what} should be there")
    try:
        record = parse(path.read_bytes())
    except ValueError as error:
        raise FormatError(f"{path} is not {what} ({one_line(error)}); give the JSON file") from None
    if not isinstance(record, dict):
        raise FormatError(f"{path} is not {what}: it holds a {type(record).__name__}; give the JSON file")
    return record


def _stamps(inputs: Sequence[str]) -> list[list[Any]]:
    """What tells one set of files from another without reading them."""
    from mumon.corpus.sources import find_files

    files = [Path(name) for name in find_files(inputs)]
    return [[str(file.resolve()), *((stat := file.stat()).st_size, stat.st_mtime_ns)] for file in files]


def _is_peer(system: str) -> bool:
    return system.startswith("gensim")


def _mean_norm(vectors: Any) -> float:
    return float(np.linalg.norm(np.asarray(vectors, np.float64), axis=1).mean())


def _scores(report: Report) -> dict[str, dict[str, float | None]]:
    def of(task: str, fold: Any) -> float | None:
        value = report.score("model", task, fold=fold).score
        return None if value != value else value

    return {task: {fold: of(task, fold) for fold in (*HALVES, "all")} for task in report.task_names}


def _arrays(report: Report | None) -> dict[str, Any]:
    """Answers as arrays: right and wrong as bytes, cosines as they are."""
    arrays: dict[str, Any] = {}
    for (_, task), outcome in () if report is None else report.outcomes.items():
        kind = np.int8 if outcome.gold is None else np.float64
        arrays |= {f"{task}.values": outcome.values.astype(kind), f"{task}.found": outcome.found}
    return arrays
