"""Callbacks: a user's own code, called when training and its epochs begin and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mumon.errors import OptionError
from mumon.training.model_state import ModelState
from mumon.training.run_state import Epoch, RunPosition, RunState
from mumon.training.trainer import EpochRunner

EVENTS = ("on_train_begin", "on_epoch_begin", "on_epoch_end", "on_train_end")


class CallbackAny2Vec:
    """gensim's base class; any object with some of its four methods works as well.

    At the end of an epoch the model may be used and saved: `model.history`, `model.wv` and the rate schedule are as of
    that epoch. An exception ends the training, and the model stays as it is then.

    >>> class Loss(CallbackAny2Vec):
    ...     def on_epoch_end(self, model):
    ...         print(len(model.history), model.history[-1].loss > 0)
    >>> from mumon import Word2Vec
    >>> _ = Word2Vec([["a", "b", "c"]] * 20, min_count=1, sample=0, epochs=2, workers=1, callbacks=[Loss()])
    1 True
    2 True
    """

    def on_train_begin(self, model: Any) -> None:
        """Run before the first epoch."""

    def on_epoch_begin(self, model: Any) -> None:
        """Run before each epoch."""

    def on_epoch_end(self, model: Any) -> None:
        """Run after each epoch."""

    def on_train_end(self, model: Any) -> None:
        """Run after the last epoch."""


def check_callbacks(callbacks: Iterable[Any]) -> list[Any]:
    """Return callbacks as a list; refuse before training what has none of the four methods."""
    listed = list(callbacks)
    for place, callback in enumerate(listed):
        if not any(callable(getattr(callback, event, None)) for event in EVENTS) or isinstance(callback, type):
            raise OptionError(
                f"callback {place + 1} of {len(listed)} is {callback!r:.80}, which has none of {', '.join(EVENTS)}; "
                "give objects that have"
            )
    return listed


def call(callbacks: Iterable[Any], event: str, model: Any) -> None:
    """Call the method for an event of each callback that has one, in their order."""
    for callback in callbacks:
        method = getattr(callback, event, None)
        if method is not None:
            method(model)


def _handles(callback: Any, event: str) -> bool:
    """Return whether a callback has a method for an event that is not the empty one of the base class."""
    method = getattr(callback, event, None)
    return method is not None and getattr(method, "__func__", None) is not getattr(CallbackAny2Vec, event)


class CallbackWatcher:
    """Keeps a model's history and schedule in step with its training, and calls the callbacks.

    Parameters
    ----------
    model
        What callbacks are given.
    state, run
        The model's; the callbacks see it as it is after the epoch that has just ended.
    runner
        What trains: callbacks may change locks.
    callbacks
        To call.
    """

    def __init__(self, model: Any, state: ModelState, run: RunState, runner: EpochRunner, callbacks: list[Any]) -> None:
        self._model, self._state, self._run, self._runner, self._callbacks = model, state, run, runner, callbacks
        self._schedule = run.schedule
        self._words = state.require_vocabulary().words
        self.history_before = list(run.history)

    def call(self, event: str) -> None:
        """Call the callbacks, and let training continue with what they may have changed."""
        if any(_handles(callback, event) for callback in self._callbacks):  # showing them the vectors takes a copy
            with self._state.shown_combined():
                call(self._callbacks, event, self._model)
                self._state.take_over_values(self._words)
            self._runner.lock(self._state.read_locks())

    def begin_epoch(self) -> None:
        """Call the callbacks."""
        self.call("on_epoch_begin")

    def end_epoch(self, position: RunPosition) -> None:
        """Bring the model's history and schedule up to date, and call the callbacks."""
        self.record(position.history)
        self.call("on_epoch_end")

    def record(self, epochs: list[Epoch]) -> None:
        """Add epochs of the run to the model's history, and move its schedule along."""
        self._run.history = [*self.history_before, *epochs]
        self._run.schedule = replace(self._schedule, done=self._schedule.done + len(epochs))
