"""Being asked to stop: a signal becomes an exception, or waits for a good moment; a second one ends the process."""

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
# Signals that follow the first within so many seconds are the same wish: `timeout` sends two.
REPEAT_SECONDS = 1.0
UNCHANGED = "stopped; nothing was changed"


class Interrupted(KeyboardInterrupt):
    """A signal asked to stop; it says what became of the work, and `checkpoint` where it is kept, if it is."""

    def __init__(self, signum: int, about: str = UNCHANGED, checkpoint: Path | None = None) -> None:
        super().__init__(about)
        self.signum, self.checkpoint = signum, checkpoint


def reword_interrupt(error: KeyboardInterrupt, about: str) -> Interrupted:
    """The same interruption, by Ctrl-C or another signal, with something better to say."""
    return Interrupted(getattr(error, "signum", signal.SIGINT), about)


class PendingSignal:
    """The first signal that came, if one did, and who would have had it."""

    signum: int | None = None
    handler: Any = None
    since = 0.0

    def record(self, signum: int, handler: Any) -> bool:
        """Note a signal; True if it is another one, some time after the first."""
        if self.signum is None:
            self.signum, self.handler, self.since = signum, handler, time.monotonic()
        return time.monotonic() - self.since > REPEAT_SECONDS

    def deliver(self, about: str, checkpoint: Path | None) -> None:
        """Stop as the signal asks: by an exception, or, where nobody handles it, by its ordinary death."""
        assert self.signum is not None
        if self.handler is signal.SIG_DFL:
            _die(self.signum)
        raise Interrupted(self.signum, about, checkpoint)


# What our own program was asked. It remembers, for an exception can be lost: in callbacks of C code and in finalizers.
_asked = PendingSignal()


@contextmanager
def raise_on_signals() -> Iterator[None]:
    """Raise `Interrupted` in the main thread at a signal: for a program of our own, not for a library."""
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}
    _asked.signum = None
    for signum, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(signum, _interrupt)
    try:
        yield
    finally:
        _put_back(before)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    first = _asked.signum is None
    if _asked.record(signum, _interrupt):
        _die(signum)
    if first:
        raise Interrupted(signum)


@contextmanager
def hold_signals() -> Iterator[PendingSignal]:
    """Note the first signal instead of being torn out of the work by it; whoever asked then calls `deliver`.

    A second one, after a moment, does what it would have done without us. Signals that the user's own code handles are
    left to it; only the main thread can hold any.
    """
    held = PendingSignal()
    before: dict[int, Any] = {}

    def hold(signum: int, frame: FrameType | None) -> None:
        handler = before[signum]
        if handler is _interrupt:
            _asked.record(signum, handler)
        if held.record(signum, handler):
            _die(signum) if handler in (signal.SIG_DFL, _interrupt) else handler(signum, frame)

    if threading.current_thread() is threading.main_thread():
        for signum in SIGNALS:
            if signal.getsignal(signum) in (signal.SIG_DFL, signal.default_int_handler, _interrupt):
                before[signum] = signal.signal(signum, hold)
        if _asked.signum is not None and _interrupt in before.values():
            held.record(_asked.signum, _interrupt)
    try:
        yield held
    finally:
        _put_back(before)


def _die(signum: int) -> None:
    signal.signal(signum, signal.SIG_DFL)
    signal.raise_signal(signum)


def _put_back(handlers: dict[int, Any]) -> None:
    for signum, handler in handlers.items():
        signal.signal(signum, handler)
