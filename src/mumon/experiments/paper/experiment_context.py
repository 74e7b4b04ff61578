"""What every experiment works with: parts of the corpus, the tasks, and trainings that are made once and saved."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mumon.corpus import EncodedCorpus, corpus_from_files
from mumon.corpus.encoded import compute_digest
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import CorpusError, FormatError, OptionError, TrainingError, to_one_line
from mumon.experiments.bench.work import write_plain_text
from mumon.experiments.paper.runs import (
    PEER_RATES,
    SOURCE_OPTIONS,
    SYSTEMS,
    TrainedRun,
    collect_scores,
    compute_mean_norm,
    describe_run,
    find_program,
    find_version,
    is_peer,
    pack_outcomes,
    train_peer,
    unpack_outcomes,
)
from mumon.experiments.paper.scales import Scale
from mumon.experiments.result_store import Arrays, ResultStore, digest_json
from mumon.experiments.sweep.plan import digest_task
from mumon.fasttext import make_model
from mumon.training.rates import choose_alpha
from mumon.utils.progress import Progress
from mumon.utils.strict_json import parse

if TYPE_CHECKING:
    from mumon.evaluation import SentenceTask, Task
    from mumon.vectors.word_vectors import WordVectors

RECORD_VERSION = 1  # of what the saved records hold; it is a part of their names


@dataclass(frozen=True)
class Part:
    """The first sentences of the corpus: as a plain file, for other programs, and encoded."""

    path: Path
    corpus: EncodedCorpus

    @cached_property
    def digest(self) -> str:
        """Digest of the text itself."""
        return compute_digest(self.corpus)

    @property
    def sentences(self) -> int:
        """Number of sentences."""
        return self.corpus.sentences

    @property
    def tokens(self) -> int:
        """Number of words in all."""
        return self.corpus.tokens


class ExperimentContext:
    """Trains on parts of one corpus, scores with the same tasks, and saves every result.

    Every training is saved under a digest of its text, questions, options and seed, with the model's answer to every
    question. So experiments share trainings, and intervals need no model.

    Parameters
    ----------
    scale
        The sizes of all experiments.
    inputs
        Files, folders or globs of the corpus.
    tasks
        The tasks that every model is scored with.
    cache
        Folder of the saved results.
    threads
        Threads of a training. They are not a part of the digest.
    progress
        Where progress is reported.
    earlier_results
        Results of earlier commands ("extrinsic", "bench") to include.
    c4
        Files of a second, larger corpus.
    more
        Files that `growth` adds to the corpus for its largest part.
    sentence_tasks
        Pairs of sentences; those of tasks whose names end in "-dev" choose, the others test.
    german
        Files of a German text, for `subwords`.
    """

    def __init__(
        self,
        scale: Scale,
        inputs: Sequence[str],
        tasks: Sequence[Task],
        cache: Path,
        threads: int,
        progress: Progress,
        earlier_results: Mapping[str, Any] | None = None,
        c4: Sequence[str] = (),
        more: Sequence[str] = (),
        sentence_tasks: Sequence[SentenceTask] = (),
        german: Sequence[str] = (),
    ) -> None:
        self.scale, self.inputs, self.tasks, self.threads = scale, list(inputs), list(tasks), threads
        self.store, self.progress = ResultStore(cache, indent=1), progress
        self.earlier_results, self.c4, self.more = dict(earlier_results or {}), list(c4), list(more)
        self.sentence_tasks, self.german = list(sentence_tasks), list(german)
        self.label = ""  # of the experiment that is running
        self._parts: dict[tuple[str, int | None], Part] = {}

    @property
    def task_names(self) -> list[str]:
        """Names of the tasks in the order of the tables."""
        return [task.name for task in self.tasks]

    def part(self, sentences: int | None) -> Part:
        """Return the first sentences of the corpus, or all of it (None)."""
        return self._read_part("corpus", self.inputs, sentences)

    def extended_part(self) -> Part:
        """Return all of the corpus and the text that was given besides."""
        return self._read_part("corpus and more", [*self.inputs, *self.more], None)

    def c4_part(self) -> Part:
        """Return all of the second corpus."""
        return self._read_part("c4", self.c4, None)

    def options(self, **changed: Any) -> dict[str, Any]:
        """Return the training options of the scale, some of them changed."""
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

    def is_available(self, system: str) -> bool:
        """Return whether a system can be trained here."""
        return find_version(system) is not None

    def default_rate(self, system: str, part: Part, **changed: Any) -> float:
        """Return the learning rate that a system chooses by itself."""
        if is_peer(system):
            return PEER_RATES[find_program(system)]
        options = self.options(**changed)
        settings = make_model(window=options["window"], negative=options["negative"], **SYSTEMS[system]).settings
        sizes = {"min_count": options["min_count"], "max_final_vocab": options["max_final_vocab"]}
        words, tokens = Vocabulary.from_corpus(part.corpus, **sizes), part.tokens * options["epochs"]
        return choose_alpha(settings, tokens, part.corpus, words.counts, words.lookup(part.corpus))

    def train(self, system: str, part: Part, seed: int = 1, **changed: Any) -> TrainedRun:
        """Train a system and ask it all questions, or return the saved run.

        Parameters
        ----------
        system
            A name of `SYSTEMS`.
        part
            The text to train on.
        seed
            Seed of the training.
        **changed
            Options that differ from those of the scale.

        Returns
        -------
        TrainedRun
            Scores, norms and answers. A training that diverged is a result, too: it says so in `failed`.
        """
        options = self.options(**changed)
        inputs = self.list_inputs(system, part, seed, options)
        inputs |= {"tasks": {task.name: digest_task(task) for task in self.tasks}}
        found, arrays = self.find_result("run", inputs), self.store.read_arrays(name_result("run", inputs))
        if found is None or arrays is None:
            found, arrays = self._train_and_score(system, part, seed, options)
            self.save_result("run", inputs, found, arrays)
            self._report_run(TrainedRun(found, {}), describe_run(system, changed, seed))
        return TrainedRun(found, unpack_outcomes(arrays, self.tasks))

    def train_vectors(self, system: str, part: Part, seed: int) -> WordVectors:
        """Return the vectors of a system at its own rate; they are saved, too."""
        from mumon.vectors.word_vectors import WordVectors

        options = self.options(alpha=self.default_rate(system, part))
        path = self.store.path(name_result("vectors", self.list_inputs(system, part, seed, options)), "bin")
        if not path.exists():
            reporter = LabelledProgress(self.progress, f"{self.label}, {system}")
            self.fit(system, part, seed, options, reporter)[0].save(path)
        return WordVectors.load(path)

    def measure_once(
        self, kind: str, inputs: Mapping[str, Any], measure: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Return the saved result of these inputs, or measure and save it.

        Parameters
        ----------
        kind
            What is measured; the file's name begins with it.
        inputs
            Everything that the result depends on.
        measure
            Is called if there is no saved result.

        Returns
        -------
        dict
            The result, as JSON has it.
        """
        found = self.find_result(kind, inputs)
        return found if found is not None else self.save_result(kind, inputs, measure())

    def find_result(self, kind: str, inputs: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the saved result of these inputs, or None if it is missing or damaged."""
        record = self.store.read(name_result(kind, inputs)) or {}
        return record["result"] if isinstance(record.get("result"), dict) else None

    def save_result(
        self, kind: str, inputs: Mapping[str, Any], result: dict[str, Any], arrays: Arrays | None = None
    ) -> dict[str, Any]:
        """Save a result with its arrays, and return it."""
        name = name_result(kind, inputs)
        if arrays is not None:
            self.store.write_arrays(name, arrays)
        self.store.write(name, {"kind": kind, "inputs": inputs, "result": result})
        return result

    def fit(
        self, system: str, part: Part, seed: int, options: Mapping[str, Any], reporter: Progress
    ) -> tuple[WordVectors, float | None, Any]:
        """Train a system, without looking for a saved run.

        Parameters
        ----------
        system, part, seed
            What to train, and on which text.
        options
            All training options.
        reporter
            Where progress is reported.

        Returns
        -------
        tuple
            Source vectors, the last loss and the matrix of target vectors; of a peer only the vectors are known.
        """
        if is_peer(system):
            reporter.start("training (a process of its own)", 0, "")
            return train_peer(system, part.path, options, self.threads, seed), None, None
        asked = {**SOURCE_OPTIONS, **SYSTEMS[system], **options}
        model = make_model(part.corpus, seed=seed, workers=self.threads, progress=reporter, **asked)
        return model.wv, model.history[-1].loss, model.syn1neg

    def list_inputs(self, system: str, part: Part, seed: int, options: Mapping[str, Any]) -> dict[str, Any]:
        """List everything that a model depends on; the number of threads changes only the order of its steps.

        Parameters
        ----------
        system, part, seed
            What to train, and on which text.
        options
            All training options.

        Returns
        -------
        dict
            What the name of a saved result is computed from.
        """
        which = {"system": system, "defaults": SYSTEMS[system], "version": find_version(system)}
        return {**which, "options": dict(options), "seed": seed, "corpus": part.digest}

    def _read_part(self, name: str, inputs: Sequence[str], sentences: int | None) -> Part:
        if (name, sentences) not in self._parts:
            path = self.store.path(name_result("text", {"files": _stamp_files(inputs), "first": sentences}), "txt")
            if not path.exists():
                part = f"all of the {name}" if sentences is None else f"{sentences:,} sentences"
                self.progress.note(f"reading {part} …")
                write_plain_text(inputs, path, sentences)
            encoded = corpus_from_files([path], workers=self.threads)
            if not encoded.tokens:
                raise CorpusError(f"the {name} has 0 words; name a file with more text")
            self._parts[name, sentences] = Part(path, encoded)
        return self._parts[name, sentences]

    def _report_run(self, run: TrainedRun, description: str) -> None:
        if run.failed is not None:
            self.progress.note(f"{self.label}: {description}: {run.failed}")
        else:
            dev, seconds = run.mean("dev"), run.record["seconds"]
            self.progress.finish(f"{self.label}: {description}: dev {dev:.1f}, {seconds:.0f} s")

    def fit_recorded(
        self, system: str, part: Part, seed: int, options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], WordVectors | None, Any]:
        """Train a system and record how that went.

        Parameters
        ----------
        system, part, seed
            What to train, and on which text.
        options
            All training options.

        Returns
        -------
        tuple
            A record without scores, the source vectors (None if training diverged, as the record then says) and the
            matrix of target vectors.
        """
        reporter = LabelledProgress(self.progress, f"{self.label}, {system}")
        started = time.perf_counter()
        record: dict[str, Any] = {"sentences": part.sentences, "tokens": part.tokens, "failed": None, "scores": {}}
        try:
            vectors, loss, targets = self.fit(system, part, seed, options, reporter)
        except TrainingError as error:  # it diverged: that is a result, too
            return {**record, "failed": str(error), "norms": [None, None]}, None, None
        finally:
            reporter.close()
        record |= {"seconds": time.perf_counter() - started, "words": len(vectors), "loss": loss}
        target_norm = None if targets is None else compute_mean_norm(targets)
        return {**record, "norms": [compute_mean_norm(vectors.vectors), target_norm]}, vectors, targets

    def _train_and_score(
        self, system: str, part: Part, seed: int, options: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the record of a new training and the arrays of its answers."""
        from mumon.evaluation import evaluate

        record, vectors, _ = self.fit_recorded(system, part, seed, options)
        if vectors is None or not self.tasks:
            return record, {}
        report = evaluate({"model": vectors}, self.tasks, resamples=0, probes=(), progress=False)
        return {**record, "scores": collect_scores(report)}, pack_outcomes(report)


class LabelledProgress(Progress):
    """Progress of work inside an experiment: its stages are labelled, its summaries and notes are not shown."""

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


def name_result(kind: str, inputs: Mapping[str, Any]) -> str:
    """Return the name under which the result of these inputs is saved."""
    return f"{kind}-{digest_json([RECORD_VERSION, kind, inputs], size=10)}"


def _stamp_files(inputs: Sequence[str]) -> list[list[Any]]:
    """List path, size and time of each file: they identify the text without reading it."""
    from mumon.corpus.sources import find_files

    files = [Path(name) for name in find_files(inputs)]
    return [[str(file.resolve()), *((stat := file.stat()).st_size, stat.st_mtime_ns)] for file in files]


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Read a JSON object that another command wrote.

    Parameters
    ----------
    path
        The file.
    what
        What the file should hold, for the messages.

    Returns
    -------
    dict
        The object.

    Raises
    ------
    OptionError
        If there is no such file.
    FormatError
        If the file holds anything but a JSON object.
    """
    if not path.is_file():
        raise OptionError(f"{path} is not a file; {what} should be there")
    try:
        record = parse(path.read_bytes())
    except ValueError as error:
        raise FormatError(f"{path} is not {what} ({to_one_line(error)}); give the JSON file") from None
    if not isinstance(record, dict):
        raise FormatError(f"{path} is not {what}: it holds a {type(record).__name__}; give the JSON file")
    return record
