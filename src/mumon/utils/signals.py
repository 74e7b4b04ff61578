"""Signals that ask the process to stop.

A signal becomes an exception (`raise_on_signals`) or waits for a good moment (`hold_signals`). A second one ends the
process.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
# Signals within this many seconds of the first are the same request: `timeout` sends two.
REPEAT_SECONDS = 1.0
NOTHING_CHANGED = "stopped; nothing was changed"


class Interrupted(KeyboardInterrupt):
    """A signal asked the process to stop.

    Parameters
    ----------
    signum
        The number of the signal.
    message
        What has become of the work, as one sentence.
    checkpoint
        Where the work was saved, if it was.
    """

    def __init__(self, signum: int, message: str = NOTHING_CHANGED, checkpoint: Path | None = None) -> None:
        super().__init__(message)
        self.signum, self.checkpoint = signum, checkpoint


def reword_interrupt(error: KeyboardInterrupt, message: str) -> Interrupted:
    """Return the same interruption, by Ctrl-C or another signal, with a better message."""
    return Interrupted(getattr(error, "signum", signal.SIGINT), message)


class PendingSignal:
    """The first signal that arrived, if one did, and the handler that it would have gone to."""

    signum: int | None = None
    handler: Any = None
    since = 0.0

    def record(self, signum: int, handler: Any) -> bool:
        """Remember a signal if it is the first; return whether it is a repeated one, some time after the first."""
        if self.signum is None:
            self.signum, self.handler, self.since = signum, handler, time.monotonic()
        return time.monotonic() - self.since > REPEAT_SECONDS

    def deliver(self, message: str, checkpoint: Path | None) -> None:
        """Stop as the signal asks: raise `Interrupted`, or let the process die of a signal that has no handler.

        Parameters
        ----------
        message, checkpoint
            What `Interrupted` is to say.
        """
        assert self.signum is not None
        if self.handler is signal.SIG_DFL:
            _die(self.signum)
        raise Interrupted(self.signum, message, checkpoint)


# The signal that `raise_on_signals` turned into an exception. It is remembered because an exception can be lost: in
# callbacks of C code and in finalizers.
_raised = PendingSignal()


@contextmanager
def raise_on_signals() -> Iterator[None]:
    """Raise `Interrupted` in the main thread when a signal arrives; for mumon's own programs, not for a library."""
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}
    _raised.signum = None
    for signum, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(signum, _interrupt)
    try:
        yield
    finally:
        _restore(before)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    first = _raised.signum is None
    if _raised.record(signum, _interrupt):
        _die(signum)
    if first:
        raise Interrupted(signum)


@contextmanager
def hold_signals() -> Iterator[PendingSignal]:
    """Record the first signal instead of being interrupted by it; the caller then calls `deliver`.

    A second one, after a moment, does what it would have done without us. Signals that the user's own code handles are
    left to it. Only the main thread can hold signals.

    Yields
    ------
    PendingSignal
        Its `signum` is None until a signal arrives.
    """
    pending = PendingSignal()
    before: dict[int, Any] = {}

    def hold(signum: int, frame: FrameType | None) -> None:
        handler = before[signum]
        if handler is _interrupt:
            _raised.record(signum, handler)
        if pending.record(signum, handler):
            _die(signum) if handler in (signal.SIG_DFL, _interrupt) else handler(signum, frame)

    if threading.current_thread() is threading.main_thread():
        for signum in SIGNALS:
            if signal.getsignal(signum) in (signal.SIG_DFL, signal.default_int_handler, _interrupt):
                before[signum] = signal.signal(signum, hold)
        if _raised.signum is not None and _interrupt in before.values():
            pending.record(_raised.signum, _interrupt)
    try:
        yield pending
    finally:
        _restore(before)


def _die(signum: int) -> None:
    signal.signal(signum, signal.SIG_DFL)
    signal.raise_signal(signum)


def _restore(handlers: dict[int, Any]) -> None:
    for signum, handler in handlers.items():
        signal.signal(signum, handler)
