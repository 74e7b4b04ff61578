"""Checkpoints of a training run: when they are written, which are kept, and where a run resumes."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from mumon import __version__
from mumon.corpus import EncodedCorpus
from mumon.corpus.encoded import compute_digest
from mumon.corpus.subwords import Subwords
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import FormatError, OptionError
from mumon.formats.checkpoint import CheckpointState, digest_vocabulary, read_checkpoint, read_run_id, write_state
from mumon.formats.directory import LoadedModel, ModelDescription, name_training_tensors
from mumon.formats.tensors import write_tensors
from mumon.training.run_state import Epoch, RunPosition
from mumon.training.schedule import Schedule
from mumon.training.weights import ModelMatrices
from mumon.utils.atomic import replace_directory, sync_directory, sync_tree
from mumon.utils.file_lock import FileLock, lock_file
from mumon.utils.progress import Progress

SUFFIX = ".checkpoints"  # of the folder beside a model to be
DEFAULT_EVERY = "10m"
CHECKPOINTS_KEPT = 2  # the newest, and the one before in case a disk has lost part of it
MOST_TIME_SHARE = 0.02  # of a run may go into checkpoints whose interval the user did not choose
SECONDS = {"s": 1, "m": 60, "h": 3600}
TOKENS = {"k": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}
NAME = re.compile(r"epoch-(\d{1,9})-block-(\d{1,12})\.mumon")
TEMPORARY = re.compile(rf"\.{NAME.pattern}\.tmp")


@dataclass(frozen=True)
class Every:
    """How often checkpoints are written: by time or by tokens of the corpus."""

    seconds: float = float("inf")
    tokens: float = float("inf")

    @classmethod
    def parse(cls, text: str) -> Every:
        """Read an interval as people write it: a time, a number of tokens, or "never".

        >>> Every.parse("1.5m").seconds, Every.parse("50M").tokens
        (90.0, 50000000.0)
        """
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhkMGB])", text.strip())
        if text.strip() == "never":
            return cls()
        if found is None or not float(found[1]):
            raise OptionError(
                f"checkpoint-every is {text!r}; write a time (30s, 10m, 2h), a number of tokens (50M, 2G) or never"
            )
        amount, unit = float(found[1]), found[2]
        return cls(seconds=amount * SECONDS[unit]) if unit in SECONDS else cls(tokens=amount * TOKENS[unit])


class Checkpoints:
    """The checkpoints of one run, in a folder of their own.

    Parameters
    ----------
    folder
        Made if it does not exist. It holds the last two checkpoints, each a model folder; they are removed when the
        finished model is saved.
    every
        A time ("30s", "10m", "2h"), a number of tokens of the corpus ("50M") or "never", which still keeps the state of
        a run that is stopped; by default every ten minutes, and less often where writing would take more than 2 % of
        the time.
    resume
        Resume from the newest checkpoint, if there is one. The corpus and the options must be those of the run; the
        number of threads may change.
    restart
        Discard what an unfinished run has left, as soon as there is something newer. With neither `resume` nor
        `restart`, an unfinished run is an error.

    Examples
    --------
    >>> import tempfile
    >>> from mumon import Checkpoints, Word2Vec
    >>> folder = tempfile.mkdtemp()
    >>> model = Word2Vec([["a", "b"]] * 99, min_count=1, checkpoints=Checkpoints(folder, every="5m", resume=True))
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        every: str | None = None,
        *,
        resume: bool = False,
        restart: bool = False,
    ) -> None:
        if resume and restart:
            raise OptionError("resume continues a run and restart discards it; ask for one of the two")
        self.folder, self.resume, self.restart = Path(folder).absolute(), resume, restart
        self.every = Every.parse(DEFAULT_EVERY if every is None else str(every))
        self.most_time_share = MOST_TIME_SHARE if every is None else 1.0  # an interval that was asked for is kept
        self.run_id = ""
        self._old: set[Path] = set()  # of a run that this one replaces
        self._claim: FileLock | None = None
        self._ours = False

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Lock the folder, from the beginning of a run until its model is saved; may be nested."""
        if self._claim is not None:
            yield
            return
        self._claim = self._take()
        try:
            yield
        finally:
            self._remove_if_empty()
            self._claim.release()
            self._claim = None

    def start(self, progress: Progress, finished: Sequence[str] = ()) -> tuple[LoadedModel, CheckpointState] | None:
        """Begin a run.

        Parameters
        ----------
        progress
            Where to say from which checkpoint the run resumes.
        finished
            The ids of runs that are over: their checkpoints do not count.

        Returns
        -------
        tuple of LoadedModel and CheckpointState, or None
            Where to resume; None to start from the beginning.
        """
        for path in self.folder.glob(".epoch-*.tmp"):
            if TEMPORARY.fullmatch(path.name):  # of a killed run: no other may write here
                shutil.rmtree(path, ignore_errors=True)
                self._ours = True
        self._old = {path for path in self._everything() if finished and read_run_id(path) in finished}
        found = self.find()
        self._ours = self._ours or bool(found)
        if found and self.resume:
            loaded, state = self._newest(found, progress)
            self.run_id = state.run
            return loaded, state
        if found and not self.restart:
            raise OptionError(
                f"{self.folder} has {len(found)} checkpoint{'s' * (len(found) > 1)} of an unfinished run; resume it "
                "with --resume (in Python: resume=True), or discard it with --restart (restart=True)"
            )
        if self.resume:
            progress.note(f"no checkpoint in {self.folder} yet: training starts from the beginning")
        self._old |= set(found)  # a typing error in a corpus's name must not cost them
        self.run_id = secrets.token_hex(8)
        return None

    def discard(self) -> None:
        """Remove the checkpoints of this run and of those it replaced: the finished model is saved."""
        try:
            with self.hold():
                done = [path for path in self._everything() if path in self._old or read_run_id(path) == self.run_id]
                self._remove([*done, *self.folder.glob("damaged-*.mumon")])
        except OptionError:  # another run has the folder now, and has removed them
            return

    def find(self) -> list[Path]:
        """Return the checkpoints that count, the furthest first."""
        return [path for path in self._everything() if path not in self._old]

    def remove_old(self, path: Path) -> None:
        """Remove all but the last two checkpoints, and those of a run that this one replaces."""
        self._old.discard(path)  # it may have had the same name
        self._remove([*self._old, *self.find()[CHECKPOINTS_KEPT:]])
        self._old.clear()

    def _everything(self) -> list[Path]:
        names = {path: NAME.fullmatch(path.name) for path in self.folder.glob("epoch-*")}
        places = {path: (int(name[1]), int(name[2])) for path, name in names.items() if name is not None}
        return sorted(places, key=lambda path: places[path], reverse=True)

    def _take(self) -> FileLock:
        if not self.folder.parent.is_dir():
            raise OptionError(f"the directory {self.folder.parent} does not exist; create it before training")
        while True:
            try:
                self._ours = self._ours or self.folder.suffix == SUFFIX or not self.folder.exists()
                self.folder.mkdir(exist_ok=True)
                return lock_file(self.folder, exclusive=True)
            except FileExistsError:
                raise OptionError(f"{self.folder} is a file where checkpoints were to be kept; remove it") from None
            except BlockingIOError:
                raise OptionError(f"another run is training with {self.folder}; wait, or write elsewhere") from None
            except FileNotFoundError:  # another run has just ended and removed the folder
                continue

    def _newest(self, found: list[Path], progress: Progress) -> tuple[LoadedModel, CheckpointState]:
        """Return the newest whole checkpoint; put damaged ones aside, so that they do not count among the last two."""
        damaged: dict[Path, str] = {}
        for path in found:
            try:
                loaded, state = read_checkpoint(path)
            except FormatError as error:
                damaged[path] = str(error)
                continue
            for other, reason in damaged.items():
                progress.note(f"{reason}; resuming from the checkpoint before it, {path.name}")
                other.rename(other.with_name(f"damaged-{time.time_ns()}-{other.name}"))
            if state.mumon_version != __version__:
                progress.note(f"{path.name} was written by mumon {state.mumon_version:.20}; the bytes may differ")
            return loaded, state
        reason = damaged[found[0]]
        raise FormatError(f"none of {len(found)} checkpoints in {self.folder} can be used ({reason}); use --restart")

    def _remove(self, paths: Iterable[Path]) -> None:
        for path in paths:
            gone = path.with_name(f".{path.name}.tmp")  # so that it is never found half removed
            shutil.rmtree(gone, ignore_errors=True)
            path.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)

    def _remove_if_empty(self) -> None:
        if self._ours:  # a folder that was there before stays
            with suppress(OSError):  # it holds something
                self.folder.rmdir()


@dataclass(frozen=True)
class Snapshot:
    """How far a run was when a checkpoint of it was begun."""

    schedule: Schedule
    history: list[dict[str, Any]]
    totals: dict[str, Any]


@dataclass(frozen=True)
class CheckpointMetadata:
    """What a checkpoint says beside its matrices and words."""

    training: dict[str, Any]
    history: list[dict[str, Any]]
    state: CheckpointState


class CheckpointSource:
    """What the checkpoints of a run are made of.

    Parameters
    ----------
    vocabulary
        The model's words.
    matrices
        Returns what is trained, as it is at that time.
    corpus, blocks
        The text, and the number of blocks in an epoch of it.
    plan
        All options that decide the result, by name.
    schedule
        As it is when the run begins.
    history
        What the model had before the run.
    describe_training
        What a saved model says of its training, for a schedule.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        matrices: Callable[[], ModelMatrices],
        corpus: EncodedCorpus,
        blocks: int,
        plan: dict[str, Any],
        schedule: Schedule,
        history: list[Epoch],
        describe_training: Callable[[Schedule], dict[str, Any]],
    ) -> None:
        self.matrices, self._vocabulary = matrices, vocabulary
        self._corpus, self._blocks, self._plan, self._schedule = corpus, blocks, plan, schedule
        self._before = [epoch.to_json() for epoch in history]
        self._describe_training = describe_training
        self._digests: dict[str, str] = {}

    @property
    def tokens(self) -> int:
        """Tokens to be trained in all epochs."""
        return int(self._plan["epochs"]) * self._corpus.tokens

    def describe_words(self, columns: int) -> ModelDescription:
        """Return what a model folder says of the words, which stay the same, and of the length of vectors."""
        words = self._vocabulary
        return ModelDescription(words.words, words.counts, columns, words.unk)

    def take_snapshot(self, position: RunPosition) -> Snapshot:
        """Note how far the run is, while training waits."""
        schedule = replace(self._schedule, done=self._schedule.done + len(position.history))
        history = [*self._before, *(epoch.to_json() for epoch in position.history)]
        return Snapshot(schedule, history, position.totals.to_json())

    def describe(self, snapshot: Snapshot, run_id: str) -> CheckpointMetadata:
        """Return what a checkpoint says. This may read the whole corpus, and training does not wait for it."""
        if not self._digests:  # the same for every checkpoint of the run
            words = digest_vocabulary(self._vocabulary.words)
            self._digests.update(corpus=compute_digest(self._corpus), vocabulary=words)
        state = CheckpointState(
            run_id,
            __version__,
            self._plan,
            asdict(self._schedule),
            len(self._before),
            blocks=self._blocks,
            tally=snapshot.totals,
            corpus_tokens=self._corpus.tokens,
            **self._digests,
        )
        return CheckpointMetadata(self._describe_training(snapshot.schedule), snapshot.history, state)


class CheckpointKeeper:
    """Writes checkpoints of a run; training waits while the matrices are copied into files, not for the disk."""

    def __init__(self, checkpoints: Checkpoints, source: CheckpointSource, progress: Progress, tokens: int = 0) -> None:
        self._checkpoints, self._source, self._progress = checkpoints, source, progress
        self._description: ModelDescription | None = None
        self._writer: threading.Thread | None = None
        self._failure: Exception | None = None
        self._wait(tokens, 0.0)

    def is_due(self, tokens: int) -> bool:
        """Return whether it is time for another one; never while one is being written."""
        if self._writer is not None and self._writer.is_alive():
            return False
        return tokens >= self._next_tokens or time.monotonic() >= self._next_time

    def keep(self, position: RunPosition) -> None:
        """Write a checkpoint; if that fails, say so and continue, because there is the one before."""
        started = time.monotonic()
        self._begin(position)
        self._wait(position.tokens, time.monotonic() - started)

    def stop(self, position: RunPosition) -> tuple[str, Path | None]:
        """Write a checkpoint, wait until it is safe on the disk, and return what to say and where it is."""
        path = self._begin(position)
        self.finish()
        share = f"at {100 * position.tokens / max(self._source.tokens, 1):.1f} % of the run"
        if path is None or not path.exists():
            found = self._checkpoints.find()
            before = f"; the one before is {found[0]}" if found else ""
            return f"stopped {share} and could not write a checkpoint ({_reason(self._failure)}){before}", None
        return f"stopped {share}; resume with the same command and --resume (in Python: resume=True)", path

    def describe_last_good(self) -> str:
        """Return what to say of the last checkpoint before a run went wrong."""
        self.finish()
        found = self._checkpoints.find()
        if not found:
            return ""
        return f"; {found[0]} is the last good state: continue --from it, with another -o and rate"

    def finish(self) -> None:
        """Wait for the checkpoint that is being written."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def _wait(self, tokens: int, seconds: float) -> None:
        every = self._checkpoints.every
        self._next_tokens = tokens + every.tokens
        self._next_time = time.monotonic() + max(every.seconds, seconds / self._checkpoints.most_time_share)

    def _begin(self, position: RunPosition) -> Path | None:
        """Copy the matrices into a file and leave the rest to a thread; return where the checkpoint will be."""
        self.finish()
        folder = self._checkpoints.folder
        path = folder / f"epoch-{len(position.history)}-block-{position.totals.blocks}.mumon"
        if path in self._checkpoints.find():
            return path
        temporary = folder / f".{path.name}.tmp"
        snapshot = self._source.take_snapshot(position)
        self._failure = None
        try:
            matrices = self._source.matrices()
            self._description = self._description or self._source.describe_words(matrices.vectors.shape[1])
            temporary.mkdir(parents=True)
            more = name_training_tensors(matrices.positions, matrices.own, matrices.subwords)
            write_tensors(temporary, matrices.vectors, matrices.output, self._description.zero_row, more)
        except OSError as error:
            self._report_failure(temporary, error)
            return None
        arguments = temporary, path, self._description, snapshot, matrices.subwords
        self._writer = threading.Thread(target=self._publish, args=arguments, name="mumon-checkpoint", daemon=True)
        self._writer.start()
        return path

    def _publish(
        self,
        temporary: Path,
        path: Path,
        description: ModelDescription,
        snapshot: Snapshot,
        subwords: Subwords | None,
    ) -> None:
        try:
            metadata = self._source.describe(snapshot, self._checkpoints.run_id)
            description.write(temporary, metadata.training, metadata.history, subwords=subwords)
            write_state(temporary, metadata.state)
            sync_tree(temporary)
            replace_directory(temporary, path)  # an older run may have stopped at the same block
            sync_directory(path.parent)
            self._checkpoints.remove_old(path)
        except Exception as error:  # nothing above this thread would see it
            self._report_failure(temporary, error)

    def _report_failure(self, temporary: Path, error: Exception) -> None:
        self._failure = error
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            self._progress.note(f"no checkpoint could be written ({_reason(error)}); training continues")


def _reason(error: Any) -> str:
    return str(getattr(error, "strerror", None) or error)
