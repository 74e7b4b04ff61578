"""The laboratory: parts of the corpus, and trainings on them that are done once and kept."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mumon.corpus import EncodedCorpus, corpus_from_files
from mumon.corpus.encoded import compute_digest
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import CorpusError, OptionError, TrainingError
from mumon.experiments.bench.work import write_plain_text
from mumon.experiments.paper.run_store import Cache
from mumon.experiments.paper.runs import (
    GENSIM_RATE,
    SYSTEMS,
    Trained,
    arrays_of,
    described,
    gensim_vectors,
    is_peer,
    mean_norm,
    outcomes_of,
    scores_of,
    version_of,
)
from mumon.experiments.paper.scales import Scale
from mumon.experiments.sweep.plan import task_digest
from mumon.training.rates import choose_alpha
from mumon.utils.progress import Progress
from mumon.word2vec import Word2Vec

if TYPE_CHECKING:
    from mumon.evaluation import Task
    from mumon.vectors.word_vectors import WordVectors


@dataclass(frozen=True)
class Part:
    """The first sentences of the corpus: as a plain file, for peers, and encoded."""

    path: Path
    corpus: EncodedCorpus

    @cached_property
    def digest(self) -> str:
        """Of the text itself."""
        return compute_digest(self.corpus)

    @property
    def sentences(self) -> int:
        """How many there are."""
        return self.corpus.sentences

    @property
    def tokens(self) -> int:
        """How many words in all."""
        return self.corpus.tokens


class Lab:
    """Trains on parts of one corpus, judges by the same tasks, and keeps what it found.

    `given` has results of earlier commands, by what they are of; `c4` is a second, larger corpus.
    """

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
        self.given, self.c4 = dict(given or {}), list(c4)
        self.label = ""  # of the experiment that is going on
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
                part = f"all of the {name}" if sentences is None else f"{sentences:,} sentences"
                self.progress.note(f"reading {part} …")
                write_plain_text(inputs, path, sentences)
            encoded = corpus_from_files([path], workers=self.threads)
            if not encoded.tokens:
                raise CorpusError(f"the {name} has 0 words; name a file with more text")
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
        return version_of(system) is not None

    def default_rate(self, system: str, part: Part, **changed: Any) -> float:
        """The rate that a system itself chooses."""
        if is_peer(system):
            return GENSIM_RATE
        options = self.options(**changed)
        settings = Word2Vec(window=options["window"], negative=options["negative"], **SYSTEMS[system]).settings
        sizes = {"min_count": options["min_count"], "max_final_vocab": options["max_final_vocab"]}
        words, tokens = Vocabulary.from_corpus(part.corpus, **sizes), part.tokens * options["epochs"]
        return choose_alpha(settings, tokens, part.corpus, words.counts, words.lookup(part.corpus))

    def train(self, system: str, part: Part, seed: int = 1, **changed: Any) -> Trained:
        """Train a system (or remember that it was), and ask it all questions."""
        options = self.options(**changed)
        inputs = self._inputs(system, part, seed, options)
        inputs |= {"tasks": {task.name: task_digest(task) for task in self.tasks}}
        found, arrays = self.cache.find("run", inputs), self.cache.arrays("run", inputs)
        if found is None or arrays is None:
            found, arrays = self._trained(system, part, seed, options)
            self.cache.put("run", inputs, found, arrays)
            self._tell(Trained(found, {}), described(system, changed, seed))
        return Trained(found, outcomes_of(arrays, self.tasks))

    def vectors(self, system: str, part: Part, seed: int) -> WordVectors:
        """The vectors of a system at its own rate; they are kept, too."""
        from mumon.vectors.word_vectors import WordVectors

        options = self.options(alpha=self.default_rate(system, part))
        path = self.cache.folder / f"{self.cache.key('vectors', self._inputs(system, part, seed, options))}.bin"
        if not path.exists():
            reporter = Labelled(self.progress, f"{self.label}, {system}")
            self._fit(system, part, seed, options, reporter)[0].save(path)
        return WordVectors.load(path)

    def _inputs(self, system: str, part: Part, seed: int, options: Mapping[str, Any]) -> dict[str, Any]:
        """All that a model depends on, but for the number of threads, which changes the order of its steps only."""
        about = {"system": system, "defaults": SYSTEMS[system], "version": version_of(system)}
        return {**about, "options": dict(options), "seed": seed, "corpus": part.digest}

    def _tell(self, run: Trained, about: str) -> None:
        if run.failed is not None:
            self.progress.note(f"{self.label}: {about}: {run.failed}")
        else:
            self.progress.finish(f"{self.label}: {about}: dev {run.mean('dev'):.1f}, {run.record['seconds']:.0f} s")

    def _fit(
        self, system: str, part: Part, seed: int, options: Mapping[str, Any], reporter: Progress
    ) -> tuple[WordVectors, float | None, Any]:
        """Vectors, the last loss and target vectors; gensim has neither of the latter for us."""
        if is_peer(system):
            reporter.start("training (a process of its own)", 0, "")
            return gensim_vectors(part.path, {**SYSTEMS[system], **options}, self.threads, seed), None, None
        model = Word2Vec(part.corpus, seed=seed, workers=self.threads, progress=reporter, **SYSTEMS[system], **options)
        return model.wv, model.history[-1].loss, model.syn1neg

    def _trained(
        self, system: str, part: Part, seed: int, options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        from mumon.evaluation import evaluate

        reporter = Labelled(self.progress, f"{self.label}, {system}")
        started = time.perf_counter()
        about: dict[str, Any] = {"sentences": part.sentences, "tokens": part.tokens, "failed": None}
        try:
            vectors, loss, targets = self._fit(system, part, seed, options, reporter)
        except TrainingError as error:  # it diverged: that is a result, too
            return {**about, "failed": str(error), "scores": {}, "norms": [None, None]}, {}
        finally:
            reporter.close()
        about |= {"seconds": time.perf_counter() - started, "words": len(vectors), "loss": loss}
        about["norms"] = [mean_norm(vectors.vectors), None if targets is None else mean_norm(targets)]
        if not self.tasks:
            return {**about, "scores": {}}, {}
        report = evaluate({"model": vectors}, self.tasks, resamples=0, probes=(), progress=False)
        return {**about, "scores": scores_of(report)}, arrays_of(report)


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


def _stamps(inputs: Sequence[str]) -> list[list[Any]]:
    """What tells one set of files from another without reading them."""
    from mumon.corpus.sources import find_files

    files = [Path(name) for name in find_files(inputs)]
    return [[str(file.resolve()), *((stat := file.stat()).st_size, stat.st_mtime_ns)] for file in files]


def read_json(path: Path, what: str) -> dict[str, Any]:
    """A JSON object that someone else wrote."""
    from mumon.errors import FormatError, to_one_line
    from mumon.utils.strict_json import parse

    if not path.is_file():
        raise OptionError(f"{path} is not a file; {what} should be there")
    try:
        record = parse(path.read_bytes())
    except ValueError as error:
        raise FormatError(f"{path} is not {what} ({to_one_line(error)}); give the JSON file") from None
    if not isinstance(record, dict):
        raise FormatError(f"{path} is not {what}: it holds a {type(record).__name__}; give the JSON file")
    return record
