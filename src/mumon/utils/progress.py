"""Progress reports: a live bar on a terminal, plain lines elsewhere, JSON lines for programs."""

from __future__ import annotations

import json
import logging
import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import IO, Any

NARROW_COLUMNS = 80  # on a narrower terminal, a bar shows the time left and the loss, and not the speed
TINY_COLUMNS = 40  # on a narrower terminal still, it shows only the percentage
log = logging.getLogger("mumon")


class Progress:
    """Receives reports of long work; this base class shows nothing.

    A stage begins with `start`, continues with `update` and ends with `finish`. Stages follow one another; they do not
    nest.
    """

    def start(self, stage: str, total: int, unit: str) -> None:
        """Begin a stage.

        Parameters
        ----------
        stage
            What is being done, as in "reading".
        total
            The units of work that it has; 0 if that is not known.
        unit
            What is counted, such as "tokens".
        """

    def update(self, done: int, **fields: float) -> None:
        """Report the units that are done so far, and fields worth showing, such as `loss` and `speed`."""

    def update_node(self, name: str, done: int, share: int, speed: float) -> None:
        """Report the work of one node of a cluster.

        Parameters
        ----------
        name
            The node.
        done, share
            The units that it has done so far, of those that are its share of the stage.
        speed
            Units per second.
        """

    def finish(self, summary: str, **fields: float) -> None:
        """End the stage with a sentence, and numbers for programs."""

    def note(self, text: str) -> None:
        """Show a sentence that a person should read."""

    def close(self) -> None:
        """Remove the bar from the terminal."""

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BarProgress(Progress):
    """A live bar: percent, speed, rate, loss, time left."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._bar: Any = None

    def _print(self, *parts: str) -> None:
        with suppress(OSError):  # the terminal was closed: that is no reason to stop working
            self._console.print(*parts, highlight=False, soft_wrap=True)  # paths stay whole

    def start(self, stage: str, total: int, unit: str) -> None:
        from rich import progress

        self.close()
        columns: list[progress.ProgressColumn] = [
            progress.TextColumn("[bold]{task.description}"),
            progress.BarColumn(bar_width=None if self._console.width < NARROW_COLUMNS else 30),
            progress.TaskProgressColumn(),
            progress.TextColumn("{task.fields[shown]}"),
            progress.TimeRemainingColumn(compact=True),
        ]
        columns = columns if self._console.width >= TINY_COLUMNS else columns[2:3]
        self._bar = progress.Progress(*columns, console=self._console, transient=True)
        self._task = self._bar.add_task(stage, total=total or None, shown="")
        self._nodes: dict[str, Any] = {}
        with suppress(OSError):
            self._bar.start()

    def update(self, done: int, **fields: float) -> None:
        if self._bar is not None:
            with suppress(OSError):
                narrow = self._console.width < NARROW_COLUMNS
                shown = {name: value for name, value in fields.items() if name == "loss" or not narrow}
                self._bar.update(self._task, completed=done, shown=_format_fields(shown))

    def update_node(self, name: str, done: int, share: int, speed: float) -> None:
        if self._bar is not None:
            with suppress(OSError):
                if name not in self._nodes:
                    self._nodes[name] = self._bar.add_task(f"[dim]{name}", total=share, shown="")
                shown = f"[dim]{_format_number(speed)} tokens/s" if self._console.width >= NARROW_COLUMNS else ""
                self._bar.update(self._nodes[name], completed=done, total=share, shown=shown)

    def finish(self, summary: str, **fields: float) -> None:
        from rich.markup import escape

        self.close()
        self._print("[green]✓[/]", escape(summary))

    def note(self, text: str) -> None:
        from rich.markup import escape

        self._print(f"[dim]{escape(text)}[/]")

    def close(self) -> None:
        if self._bar is not None:
            with suppress(OSError):
                self._bar.stop()
            self._bar = None


class LineProgress(Progress):
    """A plain line every few seconds, for logs."""

    def __init__(self, stream: IO[str] | None = None, every: float = 5.0) -> None:
        self._stream, self._every = stream or sys.stderr, every

    def start(self, stage: str, total: int, unit: str) -> None:
        self._stage, self._total, self._last = stage, total, time.monotonic()
        self._nodes: dict[str, tuple[int, float]] = {}

    def update(self, done: int, **fields: float) -> None:
        if time.monotonic() - self._last >= self._every:
            self._last = time.monotonic()
            percent = f" {100 * done / self._total:.0f} %" if self._total else ""
            each = "".join(f"  {name} {_format_number(speed)} tokens/s" for name, (_, speed) in self._nodes.items())
            self.note(f"{self._stage}{percent}  {_format_fields(fields)}{each}")

    def update_node(self, name: str, done: int, share: int, speed: float) -> None:
        self._nodes[name] = done, speed

    def finish(self, summary: str, **fields: float) -> None:
        self.note(summary)

    def note(self, text: str) -> None:
        with suppress(OSError):  # the reader has closed the pipe: that is no reason to stop working
            print(text, file=self._stream, flush=True)


class LogProgress(LineProgress):
    """The same lines through Python's logging, as in gensim."""

    def start(self, stage: str, total: int, unit: str) -> None:
        super().start(stage, total, unit)
        self.note(stage)

    def note(self, text: str) -> None:
        log.info(text)


class JsonProgress(LineProgress):
    """One JSON object per line, for the events start, progress, finish and note."""

    def __init__(self, stream: IO[str] | None = None, every: float = 1.0) -> None:
        super().__init__(stream, every)

    def start(self, stage: str, total: int, unit: str) -> None:
        super().start(stage, total, unit)
        self._event("start", total=total, unit=unit)

    def update(self, done: int, **fields: float) -> None:
        if time.monotonic() - self._last >= self._every:
            self._last = time.monotonic()
            workers = {name: {"done": done, "speed": speed} for name, (done, speed) in self._nodes.items()}
            self._event("progress", done=done, total=self._total, **fields, **({"workers": workers} if workers else {}))

    def finish(self, summary: str, **fields: float) -> None:
        self._event("finish", summary=summary, **fields)

    def note(self, text: str) -> None:
        print(json.dumps({"event": "note", "text": text}), file=self._stream, flush=True)

    def _event(self, event: str, **fields: Any) -> None:
        numbers = {name: None if value != value else value for name, value in fields.items()}  # JSON has no nan
        record = {"event": event, "stage": self._stage, "time": round(time.time(), 3), **numbers}
        print(json.dumps(record), file=self._stream, flush=True)


def choose_progress(choice: bool | Progress | None) -> Progress:
    """Return the reporter that an argument `progress=` means.

    Parameters
    ----------
    choice
        A reporter; True for a bar, False for nothing; None for a bar if standard error is a terminal, and otherwise for
        log lines if the program logs at level INFO.

    Returns
    -------
    Progress
        The reporter.
    """
    if isinstance(choice, Progress):
        return choice
    if choice is None:
        choice = sys.stderr is not None and sys.stderr.isatty()
        if not choice and log.isEnabledFor(logging.INFO):
            return LogProgress()
    return BarProgress() if choice else Progress()


def _format_fields(fields: dict[str, float]) -> str:
    parts = []
    if "epochs" in fields:
        parts.append(f"epoch {fields['epoch']:.0f}/{fields['epochs']:.0f}")
    if "tokens" in fields:
        parts.append(f"{_format_number(fields['tokens'])} tokens")
    if "speed" in fields:
        parts.append(f"{_format_number(fields['speed'])} tokens/s")
    if "alpha" in fields:
        parts.append(f"rate {fields['alpha']:.4f}")
    if "loss" in fields:
        parts.append(f"loss {fields['loss']:.3f}")
    return "  ".join(parts)


def _format_number(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.0f}"
