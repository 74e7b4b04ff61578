"""Checkpoints of a training run: when they are written, which are kept, and where a run goes on."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mumon import __version__
from mumon.errors import FormatError, OptionError
from mumon.formats.checkpoint import CheckpointState, read_checkpoint, read_run_id, write_state
from mumon.formats.directory import LoadedModel, ModelDescription
from mumon.formats.tensors import write_tensors
from mumon.training.run_state import Position
from mumon.training.weights import Matrix
from mumon.utils.atomic import replace_directory, sync_directory, sync_tree
from mumon.utils.file_lock import FileLock, lock_file
from mumon.utils.progress import Progress

SUFFIX = ".checkpoints"  # of the folder beside a model to be
DEFAULT_EVERY = "10m"
KEPT = 2  # the newest, and the one before in case a disk has forgotten part of it
MOST_TIME = 0.02  # of a run may go into checkpoints that nobody asked for
SECONDS = {"s": 1, "m": 60, "h": 3600}
TOKENS = {"k": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}
NAME = re.compile(r"epoch-(\d{1,9})-block-(\d{1,12})\.mumon")
TEMPORARY = re.compile(rf"\.{NAME.pattern}\.tmp")


@dataclass(frozen=True)
class Every:
    """How often: by time or by tokens of the corpus."""

    seconds: float = float("inf")
    tokens: float = float("inf")

    @classmethod
    def parse(cls, text: str) -> Every:
        """What a person writes: a time, a number of tokens, or "never".

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
        Made if need be. It holds the last two checkpoints, each a model folder; they go when the finished model is
        saved.
    every
        A time ("30s", "10m", "2h"), a number of tokens of the corpus ("50M") or "never", which still keeps the state of
        a run that is stopped; by default every ten minutes, and less often where writing would take more than 2 % of
        the time.
    resume
        Go on where the newest checkpoint stands, if there is one. The corpus and the options must be those of the run;
        the number of threads may change.
    restart
        Do without what an unfinished run has left; it goes when there is something newer. With neither, an unfinished
        run is refused.

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
            raise OptionError("resume goes on with a run and restart throws it away; ask for one of the two")
        self.folder, self.resume, self.restart = Path(folder).absolute(), resume, restart
        self.every = Every.parse(DEFAULT_EVERY if every is None else str(every))
        self.most_time = MOST_TIME if every is None else 1.0  # whoever names an interval gets it
        self.run_id = ""
        self._old: set[Path] = set()  # of a run that this one does without
        self._claim: FileLock | None = None
        self._ours = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have the folder for oneself, from the beginning of a run until its model is saved; may be nested."""
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
        """Begin a run; gives where to go on, or None for the beginning. The runs `finished` are over."""
        for path in self.folder.glob(".epoch-*.tmp"):
            if TEMPORARY.fullmatch(path.name):  # of a killed run: nobody else may write here
                shutil.rmtree(path, ignore_errors=True)
                self._ours = True
        self._old = {path for path in self._everything() if finished and read_run_id(path) in finished}
        found = self.found()
        self._ours = self._ours or bool(found)
        if found and self.resume:
            loaded, state = self._newest(found, progress)
            self.run_id = state.run
            return loaded, state
        if found and not self.restart:
            raise OptionError(
                f"{self.folder} has {len(found)} checkpoint{'s' * (len(found) > 1)} of an unfinished run; go on with "
                "--resume (in Python: resume=True), or throw it away with --restart (restart=True)"
            )
        if self.resume:
            progress.note(f"no checkpoint in {self.folder} yet: training starts from the beginning")
        self._old |= set(found)  # a typing error in a corpus's name must not cost them
        self.run_id = secrets.token_hex(8)
        return None

    def discard(self) -> None:
        """Remove the checkpoints of this run and of those it did without: the finished model is saved."""
        try:
            with self.held():
                done = [path for path in self._everything() if path in self._old or read_run_id(path) == self.run_id]
                self._remove([*done, *self.folder.glob("damaged-*.mumon")])
        except OptionError:  # another run has the folder now, and has removed them
            return

    def found(self) -> list[Path]:
        """The checkpoints that count, the furthest first."""
        return [path for path in self._everything() if path not in self._old]

    def published(self, path: Path) -> None:
        """There is a new checkpoint: remove all but the last two, and those of a run that this one does without."""
        self._old.discard(path)  # it may have had the same name
        self._remove([*self._old, *self.found()[KEPT:]])
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
        """The newest whole checkpoint; damaged ones are put aside, so that they do not count among the last two."""
        damaged: dict[Path, str] = {}
        for path in found:
            try:
                loaded, state = read_checkpoint(path)
            except FormatError as error:
                damaged[path] = str(error)
                continue
            for other, reason in damaged.items():
                progress.note(f"{reason}; going on from the checkpoint before it, {path.name}")
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
class Subject:
    """What there is to be kept of a run: its two matrices, and functions that tell the rest."""

    vectors: Matrix
    output: Matrix
    description: Callable[[], ModelDescription]  # of the words, which stay the same
    details: Callable[[Position], Callable[[str], Details]]  # in two steps: the second may take its time
    tokens: int  # of all epochs


@dataclass(frozen=True)
class Details:
    """What a checkpoint says beside its matrices and words."""

    training: dict[str, Any]
    history: list[dict[str, Any]]
    state: CheckpointState


class CheckpointKeeper:
    """Writes checkpoints of a run; training waits while the matrices are copied into files, not for the disk."""

    def __init__(self, checkpoints: Checkpoints, subject: Subject, progress: Progress, tokens: int = 0) -> None:
        self._checkpoints, self._subject, self._progress = checkpoints, subject, progress
        self._description: ModelDescription | None = None
        self._writer: threading.Thread | None = None
        self._failure: Exception | None = None
        self._wait(tokens, 0.0)

    def due(self, tokens: int) -> bool:
        """Whether it is time for another; never while one is being written."""
        if self._writer is not None and self._writer.is_alive():
            return False
        return tokens >= self._next_tokens or time.monotonic() >= self._next_time

    def keep(self, at: Position) -> None:
        """Write a checkpoint; if that fails, say so and go on, for there is the one before."""
        started = time.monotonic()
        self._begin(at)
        self._wait(at.tokens, time.monotonic() - started)

    def stopped(self, at: Position) -> tuple[str, Path | None]:
        """Write a checkpoint and see it safe on the disk."""
        path = self._begin(at)
        self.finish()
        share = f"at {100 * at.tokens / max(self._subject.tokens, 1):.1f} % of the run"
        if path is None or not path.exists():
            kept = self._checkpoints.found()
            before = f"; the one before is {kept[0]}" if kept else ""
            return f"stopped {share} and could not write a checkpoint ({_reason(self._failure)}){before}", None
        return f"stopped {share}; go on with the same command and --resume (in Python: resume=True)", path

    def last_good(self) -> str:
        """What to say of the checkpoint before a run went wrong."""
        self.finish()
        found = self._checkpoints.found()
        return f"; {found[0]} is the last good state: go on --from it, with another -o and rate" if found else ""

    def finish(self) -> None:
        """Wait for what is being written."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def _wait(self, tokens: int, seconds: float) -> None:
        every = self._checkpoints.every
        self._next_tokens = tokens + every.tokens
        self._next_time = time.monotonic() + max(every.seconds, seconds / self._checkpoints.most_time)

    def _begin(self, at: Position) -> Path | None:
        """Copy the matrices into a file and leave the rest to a thread; gives where the checkpoint will be."""
        self.finish()
        folder = self._checkpoints.folder
        path = folder / f"epoch-{len(at.history)}-block-{at.tally.blocks}.mumon"
        if path in self._checkpoints.found():
            return path
        temporary = folder / f".{path.name}.tmp"
        details = self._subject.details(at)
        self._failure = None
        try:
            self._description = self._description or self._subject.description()
            temporary.mkdir(parents=True)
            write_tensors(temporary, self._subject.vectors, self._subject.output, self._description.zero_row)
        except OSError as error:
            self._failed(temporary, error)
            return None
        arguments = temporary, path, self._description, details
        self._writer = threading.Thread(target=self._publish, args=arguments, name="mumon-checkpoint", daemon=True)
        self._writer.start()
        return path

    def _publish(
        self, temporary: Path, path: Path, description: ModelDescription, details: Callable[[str], Details]
    ) -> None:
        try:
            about = details(self._checkpoints.run_id)
            description.write(temporary, about.training, about.history)
            write_state(temporary, about.state)
            sync_tree(temporary)
            replace_directory(temporary, path)  # an older run may have stopped at the same block
            sync_directory(path.parent)
            self._checkpoints.published(path)
        except Exception as error:  # there is nobody above to see it
            self._failed(temporary, error)

    def _failed(self, temporary: Path, error: Exception) -> None:
        self._failure = error
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            self._progress.note(f"no checkpoint could be written ({_reason(error)}); training goes on")


def _reason(error: Any) -> str:
    return str(getattr(error, "strerror", None) or error)
