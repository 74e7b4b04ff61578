"""Training: blocks of sentences given to threads, the learning-rate schedule, the loss, the history."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.errors import CorpusError, MumonError, TrainingError
from mumon.training.engine import Engine, TrainBlock, block_bounds
from mumon.training.run_state import Epoch, Position
from mumon.training.sampling import ORDER, stream_seed
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.weights import Matrix
from mumon.utils.progress import Progress
from mumon.utils.signals import Interrupted, PendingSignal, hold_signals
from mumon.utils.threads import start_threads

POLL_SECONDS = 0.1  # between looks at the clock, the signals and the tally
RUNAWAY_LOSS = 1e5  # per token; guessing costs (negative + 1) · ln 2 per pair, well below a thousand


class Keeper(Protocol):
    """Whoever keeps the work so far: asked now and then whether it is time, and told when everything stands still."""

    def due(self, tokens: int) -> bool:
        """Whether to keep the state now, so many tokens into the run."""

    def keep(self, at: Position) -> None:
        """Keep the state; training waits."""

    def stopped(self, at: Position) -> tuple[str, Path | None]:
        """Keep the state for good because the run ends here: a sentence, and where it is (None if that failed)."""


class Watcher(Protocol):
    """Whoever wants to look at the matrices between epochs; training waits."""

    def epoch_begins(self) -> None:
        """The next epoch begins."""

    def epoch_ended(self, at: Position) -> None:
        """An epoch has ended, the last one of the position's history."""


class Trainer:
    """Trains two matrices in place on one corpus. `run` may be called again to go on along the schedule.

    `locks` multiplies the steps of each source row: 0 freezes it.
    """

    def __init__(
        self,
        corpus: EncodedCorpus,
        lookup: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        source: Matrix,
        target: Matrix,
        settings: Settings,
        progress: Progress | None = None,
        locks: npt.NDArray[np.float32] | None = None,
    ) -> None:
        self.corpus, self.lookup, self.settings = corpus, lookup, settings
        self.source, self.target = source, target
        self.progress = progress or Progress()
        self.engine = Engine(counts, source, target, settings, locks)
        self.bounds = block_bounds(corpus.offsets)

    @property
    def blocks(self) -> int:
        """How many blocks an epoch has."""
        return len(self.bounds) - 1

    def lock(self, locks: npt.NDArray[np.float32] | None) -> None:
        """From here on, let each source row take that part of its steps."""
        self.engine.lock(locks)

    def run(
        self,
        epochs: int,
        schedule: Schedule,
        first_epoch: int = 0,
        position: Position | None = None,
        keeper: Keeper | None = None,
        watcher: Watcher | None = None,
    ) -> list[Epoch]:
        """Train the next epochs of a schedule, or what is left of them after `position`.

        `first_epoch` numbers them over the model's whole life, so that no two epochs see the same random draws.
        """
        self._announce()
        at, told = position or Position(), False
        self.progress.start("training", epochs * self.corpus.tokens, "tokens")
        with hold_signals() if keeper is not None else nullcontext(PendingSignal()) as held:
            try:
                for past in range(len(at.history), epochs):
                    if watcher is not None:
                        told = True
                        watcher.epoch_begins()
                    told = False
                    self._epoch(first_epoch + past, replace(schedule, done=schedule.done + past), at, keeper, held)
                    if watcher is not None:
                        told = True
                        watcher.epoch_ended(at)
            except BaseException as error:
                # By a handler or a callback of the user's, say, or because nobody reads our reports any more.
                ours = isinstance(error, Interrupted | MumonError) and not told
                if keeper is not None and at.whole and not ours and self._is_finite():
                    keeper.stopped(at)
                raise
        if not any(epoch.trained_tokens for epoch in at.history):
            self._explain_nothing()
        self._check_finite(first_epoch + epochs, schedule.rate(0))
        if keeper is not None and held.signum is not None:
            self._stop(at, keeper, held)
        loss, seconds = at.history[-1].loss, sum(epoch.seconds for epoch in at.history)
        if loss > RUNAWAY_LOSS:
            raise TrainingError(
                f"the loss ended at {loss:.3g} per token, which is no training; start from a lower alpha than "
                f"{schedule.rate(0):.4g}"
            )
        about = f"trained {epochs} epoch{'s' * (epochs > 1)} in {seconds:.1f} s, loss {loss:.4f}"
        self.progress.finish(about, loss=loss)
        return at.history

    def close(self) -> None:
        """Let go of whatever helped to train."""

    def _announce(self) -> None:
        from mumon.kernels.jit import is_compiled

        if not is_compiled(self.engine.name):
            self.progress.note("compiling the training kernel, once for this machine …")

    def _check_finite(self, epoch: int, alpha: float) -> None:
        """Before a state is kept: one that is not finite must not take the place of the last good one."""
        if not self._is_finite():
            raise TrainingError(divergence("weights", epoch, alpha))

    def _is_finite(self) -> bool:
        parts = ((matrix, first) for matrix in (self.source, self.target) for first in range(0, len(matrix), 1 << 16))
        return all(np.isfinite(matrix[first : first + (1 << 16)]).all() for matrix, first in parts)

    def _stop(self, at: Position, keeper: Keeper, held: PendingSignal) -> None:
        """A signal came: keep what there is and obey it."""
        self.progress.close()  # a second signal should find the terminal as it was
        held.deliver(*keeper.stopped(at))

    def _explain_nothing(self) -> None:
        """Nothing was trained: an error if the text is to blame, a note if it was subsampling, on a very small one."""
        if not any(map(self._has_pair, range(self.blocks))):
            raise CorpusError(
                f"none of the {self.corpus.tokens:,} tokens could be trained: no sentence has two words of the "
                "vocabulary; check the text, or lower min_count"
            )
        self.progress.note(f"subsampling left none of the {self.corpus.tokens:,} tokens to train; set sample to 0")

    def _has_pair(self, block: int) -> bool:
        """Whether a sentence of the block has two words of the vocabulary."""
        starts = self.corpus.offsets[self.bounds[block] : self.bounds[block + 1] + 1]
        known = self.lookup[self.corpus.read(int(starts[0]), int(starts[-1]))] >= 0
        return bool(np.any(np.diff(np.cumsum(np.append(0, known))[starts - starts[0]]) > 1))

    def _epoch(self, epoch: int, schedule: Schedule, at: Position, keeper: Keeper | None, held: PendingSignal) -> None:
        """Train what is left of an epoch, in stretches between which the state is kept."""
        blocks = self.blocks
        order = np.arange(blocks)
        if self.settings.shuffle:
            np.random.default_rng(int(stream_seed(self.settings.seed, epoch, 0, ORDER))).shuffle(order)

        def pause() -> bool:
            return held.signum is not None or (keeper is not None and keeper.due(at.tokens))

        while at.tally.blocks < blocks:
            self._stretch(epoch, schedule, order, at, pause)
            if keeper is not None and pause():
                self._check_finite(epoch + 1, schedule.rate(0))
                keeper.keep(at) if held.signum is None else self._stop(at, keeper, held)
        at.end_epoch(epoch + 1, schedule.rate(1.0))

    def _stretch(
        self, epoch: int, schedule: Schedule, order: npt.NDArray[np.int64], at: Position, pause: Callable[[], bool]
    ) -> None:
        """Train block after block until the epoch or the patience of `pause` ends. All blocks begun are then done."""
        started, before, blocks = time.perf_counter(), at.tally.seconds, len(order)
        tickets, stop = count(at.tally.blocks), threading.Event()
        failures: list[BaseException] = []

        def work() -> None:
            try:
                train_block = self._block_trainer()
                while not stop.is_set() and (ticket := next(tickets)) < blocks:
                    alpha = schedule.rate(ticket / blocks)
                    block = train_block(epoch, int(order[ticket]), alpha)
                    if not np.isfinite(block.loss):
                        raise TrainingError(divergence("loss", epoch + 1, alpha))
                    at.tally.add(block)
            except BaseException as error:
                failures.append(error)
                stop.set()

        workers = min(self.settings.workers, blocks - at.tally.blocks)
        threads = [threading.Thread(target=work, name=f"mumon-{i}") for i in range(workers)]
        try:
            start_threads(threads)
            for thread in threads:
                while thread.is_alive():
                    thread.join(POLL_SECONDS)
                    at.tally.seconds = before + time.perf_counter() - started
                    self._report(at, schedule)
                    if pause():
                        stop.set()
        finally:  # on Ctrl-C, each thread ends its block before anyone else touches the matrices
            stop.set()
            for thread in threads:
                if thread.ident is not None:  # it was started
                    thread.join()
            at.tally.seconds = before + time.perf_counter() - started
        if failures:
            at.whole = False
            raise failures[0]
        self._report(at, schedule)

    def _report(self, at: Position, schedule: Schedule) -> None:
        tally = at.tally
        fields = {
            "epoch": schedule.done + 1,
            "epochs": schedule.total,
            "alpha": schedule.rate(tally.tokens / self.corpus.tokens),
            "loss": tally.mean,
            "speed": tally.tokens / max(tally.seconds, 1e-9),
        }
        shown = {name: value for name, value in fields.items() if not math.isnan(value)}
        self.progress.update(at.tokens, **shown)

    def _block_trainer(self) -> TrainBlock:
        return self.engine.trainer(self.corpus, self.lookup, self.bounds)


def divergence(what: str, epoch: int, alpha: float) -> str:
    """What to say of weights or a loss that are not finite any more."""
    return f"the {what} stopped being finite in epoch {epoch} at rate {alpha:.4g}; start from a lower alpha"
