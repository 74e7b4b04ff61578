"""Callbacks: a user's own code, called when training and its epochs begin and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mumon.errors import OptionError
from mumon.training.run_state import Epoch, Position

if TYPE_CHECKING:
    from mumon.training.trainer import Trainer
    from mumon.word2vec import Word2Vec

EVENTS = ("on_train_begin", "on_epoch_begin", "on_epoch_end", "on_train_end")


class CallbackAny2Vec:
    """gensim's base class; anything that has some of its four methods will do as well.

    At the end of an epoch the model may be asked and saved: `model.history`, `model.wv` and the rate schedule stand at
    that epoch. An exception ends the training, and the model stays as it then is.

    >>> class Loss(CallbackAny2Vec):
    ...     def on_epoch_end(self, model):
    ...         print(len(model.history), model.history[-1].loss > 0)
    >>> from mumon import Word2Vec
    >>> _ = Word2Vec([["a", "b", "c"]] * 20, min_count=1, sample=0, epochs=2, workers=1, callbacks=[Loss()])
    1 True
    2 True
    """

    def on_train_begin(self, model: Word2Vec) -> None:
        """Training begins."""

    def on_epoch_begin(self, model: Word2Vec) -> None:
        """An epoch begins."""

    def on_epoch_end(self, model: Word2Vec) -> None:
        """An epoch has ended."""

    def on_train_end(self, model: Word2Vec) -> None:
        """Training has ended."""


def checked(callbacks: Iterable[Any]) -> list[Any]:
    """Callbacks as a list; what has none of the four methods is refused before training rather than passed over."""
    given = list(callbacks)
    for place, callback in enumerate(given):
        if not any(callable(getattr(callback, event, None)) for event in EVENTS) or isinstance(callback, type):
            raise OptionError(
                f"callback {place + 1} of {len(given)} is {callback!r:.80}, which has none of {', '.join(EVENTS)}; "
                "give objects that have"
            )
    return given


def call(callbacks: Iterable[Any], event: str, model: Word2Vec) -> None:
    """Tell each callback that has a method for the event, in their order."""
    for callback in callbacks:
        method = getattr(callback, event, None)
        if method is not None:
            method(model)


class ModelWatcher:
    """Keeps a model's history and schedule in step with its training, and tells the callbacks."""

    def __init__(self, model: Word2Vec, trainer: Trainer, callbacks: list[Any]) -> None:
        self._model, self._trainer, self._callbacks, self._schedule = model, trainer, callbacks, model._schedule
        self._words = model._require_vocabulary().words
        self.before = list(model.history)

    def tell(self, event: str) -> None:
        """Call the callbacks, and let training go on with what they may have changed."""
        if self._callbacks:
            call(self._callbacks, event, self._model)
            self._model._settle_rows(self._words)
            self._trainer.lock(self._model._locks())

    def epoch_begins(self) -> None:
        """Tell the callbacks."""
        self.tell("on_epoch_begin")

    def epoch_ended(self, at: Position) -> None:
        """Let the model stand where training does, and tell the callbacks."""
        self.stand_after(at.history)
        if self._callbacks:  # they may ask for neighbours
            self._model.wv.fill_norms(force=True)
        self.tell("on_epoch_end")

    def stand_after(self, epochs: list[Epoch]) -> None:
        """Let the model's history and schedule stand so many epochs of the run further."""
        self._model.history = [*self.before, *epochs]
        self._model._schedule = replace(self._schedule, done=self._schedule.done + len(epochs))
