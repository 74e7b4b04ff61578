"""The trainer: epoch after epoch along a rate schedule, with signals, checkpoints and callbacks between blocks.

A `Trainer` has something that runs an epoch (an `EpochRunner`): threads on this machine (`thread_runner.py`) or the
nodes of a cluster (`distributed/runner.py`). Everything else is the same for both, and is here.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.errors import MumonError, TrainingError
from mumon.training.run_state import Epoch, RunPosition
from mumon.training.schedule import Schedule
from mumon.training.weights import Matrix
from mumon.utils.progress import Progress
from mumon.utils.signals import Interrupted, PendingSignal, hold_signals

RUNAWAY_LOSS = 1e5  # per token; guessing costs (negative + 1) · ln 2 per pair, well below a thousand
ROWS_CHECKED = 1 << 16  # at a time, for numbers that are not finite


class Keeper(Protocol):
    """What keeps the state of a run: a `CheckpointKeeper`."""

    def is_due(self, tokens: int) -> bool:
        """Return whether to keep the state now, `tokens` tokens into the run."""

    def keep(self, position: RunPosition) -> None:
        """Keep the state; training waits."""

    def stop(self, position: RunPosition) -> tuple[str, Path | None]:
        """Keep the state because the run ends here; return a sentence, and where it is (None if that failed)."""


class Watcher(Protocol):
    """What looks at the matrices between epochs while training waits: the user's callbacks."""

    def begin_epoch(self) -> None:
        """Look before an epoch."""

    def end_epoch(self, position: RunPosition) -> None:
        """Look after an epoch, the last one of the position's history."""


class EpochRunner(Protocol):
    """What trains the blocks of an epoch.

    Its `source` and `target` are the matrices that are trained; between epochs, and whenever it pauses, they hold
    everything up to the position.
    """

    @property
    def corpus(self) -> EncodedCorpus:
        """The text."""

    @property
    def source(self) -> Matrix:
        """The source rows."""

    @property
    def target(self) -> Matrix:
        """The target rows."""

    @property
    def blocks(self) -> int:
        """The number of blocks in an epoch, which is what a position counts."""

    def lock(self, locks: npt.NDArray[np.float32] | None) -> None:
        """Set the factor for the steps of each source row: 0 freezes it."""

    def announce(self, progress: Progress) -> None:
        """Say what the user will wait for before the first block is trained."""

    def run_epoch(self, epoch: int, schedule: Schedule, position: RunPosition, control: EpochControl) -> None:
        """Train the rest of an epoch after `position`, which it moves along; pause and report as `control` says."""

    def explain_nothing(self, progress: Progress) -> None:
        """Explain why a run trained no token: raise an error if the text is to blame, else leave a note."""

    def close(self, progress: Progress) -> None:
        """Release what helped to train."""


class EpochControl:
    """What a runner asks and reports while it trains an epoch."""

    def __init__(self, trainer: Trainer, epoch: int, schedule: Schedule, position: RunPosition) -> None:
        self._trainer, self._epoch, self._schedule, self._position = trainer, epoch, schedule, position

    def should_pause(self) -> bool:
        """Return whether the state is to be kept now, because it is time or because a signal came."""
        keeper, pending = self._trainer.keeper, self._trainer.pending
        return keeper is not None and (pending.signum is not None or keeper.is_due(self._position.tokens))

    def pause(self) -> None:
        """Keep the state. The matrices must hold everything up to the position, and nothing else."""
        self._trainer.keep(self._epoch, self._schedule, self._position)

    def report(self) -> Progress:
        """Report the position; return where to report more."""
        self._trainer.report(self._schedule, self._position)
        return self._trainer.progress


class Trainer:
    """A trainer of two matrices on one corpus. `run` may be called again to continue along the schedule.

    Parameters
    ----------
    runner
        What trains the blocks.
    progress
        Where to report; by default nowhere.
    keeper
        What keeps the state of the run, if anything does. Without one, signals are not held.
    watcher
        What looks at the matrices between epochs.
    """

    def __init__(
        self,
        runner: EpochRunner,
        progress: Progress | None = None,
        keeper: Keeper | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        self.runner, self.progress = runner, progress or Progress()
        self.keeper, self.watcher = keeper, watcher
        self.pending = PendingSignal()

    def run(
        self, epochs: int, schedule: Schedule, first_epoch: int = 0, position: RunPosition | None = None
    ) -> list[Epoch]:
        """Train the next epochs of a schedule, or what is left of them.

        Parameters
        ----------
        epochs
            How many epochs the run has in all.
        schedule
            The learning rates; `schedule.done` epochs of it are over.
        first_epoch
            The number of the first epoch over the model's whole life, so that no two epochs share random draws.
        position
            Where to resume; by default at the beginning.

        Returns
        -------
        list of Epoch
            What each epoch of the run did.
        """
        self.runner.announce(self.progress)
        position = position or RunPosition()
        self.progress.start("training", epochs * self.runner.corpus.tokens, "tokens")
        with hold_signals() if self.keeper is not None else nullcontext(PendingSignal()) as self.pending:
            self._run_epochs(epochs, schedule, first_epoch, position)
        if not any(epoch.trained_tokens for epoch in position.history):
            self.runner.explain_nothing(self.progress)
        self._check_finite(first_epoch + epochs, schedule.rate(0))
        if self.keeper is not None and self.pending.signum is not None:
            self._stop(position)
        self._finish(epochs, schedule, position)
        return position.history

    def _run_epochs(self, epochs: int, schedule: Schedule, first_epoch: int, position: RunPosition) -> None:
        """Run epoch after epoch; if something else than an error of ours ends the run, keep its state."""
        in_callback = False
        try:
            for past in range(len(position.history), epochs):
                if self.watcher is not None:
                    in_callback = True
                    self.watcher.begin_epoch()
                in_callback = False
                epoch, rest = first_epoch + past, replace(schedule, done=schedule.done + past)
                self.runner.run_epoch(epoch, rest, position, EpochControl(self, epoch, rest, position))
                position.end_epoch(epoch + 1, rest.rate(1.0))
                if self.watcher is not None:
                    in_callback = True
                    self.watcher.end_epoch(position)
        except BaseException as error:
            # A handler or a callback of the user's raised it, say, or the reader of our reports has gone.
            ours = isinstance(error, Interrupted | MumonError) and not in_callback
            if self.keeper is not None and position.whole and not ours and self._is_finite():
                self.keeper.stop(position)
            raise

    def keep(self, epoch: int, schedule: Schedule, position: RunPosition) -> None:
        """Keep the state in the middle of an epoch, and stop there if a signal came."""
        assert self.keeper is not None
        self._check_finite(epoch + 1, schedule.rate(0))
        self.keeper.keep(position) if self.pending.signum is None else self._stop(position)

    def report(self, schedule: Schedule, position: RunPosition) -> None:
        """Report how far the run is."""
        totals, tokens = position.totals, self.runner.corpus.tokens
        fields = {
            "epoch": schedule.done + 1,
            "epochs": schedule.total,
            "alpha": schedule.rate(totals.tokens / tokens),
            "loss": totals.mean_loss,
            "speed": totals.tokens / max(totals.seconds, 1e-9),
        }
        known = {name: value for name, value in fields.items() if not math.isnan(value)}
        self.progress.update(position.tokens, **known)

    def close(self) -> None:
        """Release what helped to train."""
        self.runner.close(self.progress)

    def _finish(self, epochs: int, schedule: Schedule, position: RunPosition) -> None:
        loss, seconds = position.history[-1].loss, sum(epoch.seconds for epoch in position.history)
        if loss > RUNAWAY_LOSS:
            raise TrainingError(
                f"the loss ended at {loss:.3g} per token, which is no training; start from a lower alpha than "
                f"{schedule.rate(0):.4g}"
            )
        summary = f"trained {epochs} epoch{'s' * (epochs > 1)} in {seconds:.1f} s, loss {loss:.4f}"
        self.progress.finish(summary, loss=loss)

    def _stop(self, position: RunPosition) -> None:
        """Keep what there is and do what the signal asks."""
        assert self.keeper is not None
        self.progress.close()  # a second signal should find the terminal as it was
        self.pending.deliver(*self.keeper.stop(position))

    def _check_finite(self, epoch: int, alpha: float) -> None:
        """Refuse weights that are not finite: they must not replace the last good checkpoint."""
        if not self._is_finite():
            raise TrainingError(describe_divergence("weights", epoch, alpha))

    def _is_finite(self) -> bool:
        matrices = (self.runner.source, self.runner.target)
        parts = ((matrix, first) for matrix in matrices for first in range(0, len(matrix), ROWS_CHECKED))
        return all(np.isfinite(matrix[first : first + ROWS_CHECKED]).all() for matrix, first in parts)


def describe_divergence(what: str, epoch: int, alpha: float) -> str:
    """Return the sentence for weights or a loss that are no longer finite."""
    return f"the {what} stopped being finite in epoch {epoch} at rate {alpha:.4g}; start from a lower alpha"
