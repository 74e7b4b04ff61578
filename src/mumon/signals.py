"""Being asked to stop: a signal becomes an exception, or waits for a good moment; a second one is obeyed at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted(KeyboardInterrupt):
    """A signal asked to stop; it says what became of the work, and `checkpoint` where it is kept, if it is."""

    def __init__(self, signum: int, about: str = "stopped; nothing was saved", checkpoint: Path | None = None) -> None:
        super().__init__(about)
        self.signum, self.checkpoint = signum, checkpoint


def interrupted(error: KeyboardInterrupt, about: str) -> Interrupted:
    """The same interruption, by Ctrl-C or another signal, with something better to say."""
    return Interrupted(getattr(error, "signum", signal.SIGINT), about)


class Held:
    """The signal that came meanwhile, if one did, and who would have had it."""

    signum: int | None = None
    handler: Any = None

    def obey(self, about: str, checkpoint: Path | None) -> None:
        """Stop as the signal asks: by an exception, or, where nobody handles it, by its ordinary death."""
        assert self.signum is not None
        if self.handler is signal.SIG_DFL:
            signal.raise_signal(self.signum)
        raise Interrupted(self.signum, about, checkpoint)


@contextmanager
def interrupting_signals() -> Iterator[None]:
    """Raise `Interrupted` in the main thread at a signal: for a program of our own, not for a library."""
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}
    for signum, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(signum, _interrupt)
    try:
        yield
    finally:
        _put_back(before)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    _die_at_the_next()
    raise Interrupted(signum)


def _die_at_the_next() -> None:
    """Let the system end the process at the next signal: even inside a compiler, where no Python runs."""
    for signum in SIGNALS:
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, signal.SIG_DFL)


@contextmanager
def held_signals() -> Iterator[Held]:
    """Note the first signal instead of being torn out of the work by it; whoever asked then calls `obey`.

    The second signal does what it would have done without us. Signals that the user's own code handles are left to it;
    only the main thread can hold any.
    """
    held = Held()
    before: dict[int, Any] = {}

    def hold(signum: int, frame: FrameType | None) -> None:
        held.signum, held.handler = signum, before[signum]
        _put_back(before)
        if held.handler is _interrupt:
            _die_at_the_next()

    if threading.current_thread() is threading.main_thread():
        for signum in SIGNALS:
            if signal.getsignal(signum) in (signal.SIG_DFL, signal.default_int_handler, _interrupt):
                before[signum] = signal.signal(signum, hold)
    try:
        yield held
    finally:
        if held.signum is None:
            _put_back(before)


def _put_back(handlers: dict[int, Any]) -> None:
    for signum, handler in handlers.items():
        signal.signal(signum, handler)
