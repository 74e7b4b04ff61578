"""One bar over all runs of a sweep, and a line for each run that is finished."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mumon.experiments.sweep.runs import Run
from mumon.experiments.sweep.space import Options, format_value, label
from mumon.utils.progress import Progress


class OverallProgress(Progress):
    """What the trainer of each run reports to: its stage becomes a part of the whole sweep's.

    So the bar's percent and time left are those of the sweep, while epoch, rate, speed and loss are the run's own.
    """

    def __init__(self, outer: Progress, total: int) -> None:
        self.outer, self._total, self._before, self._share = outer, total, 0, 0
        self._stage = ""

    def begin(self, stage: str, share: int) -> None:
        """A run begins that is so much of the whole."""
        self._stage, self._share = stage, share

    def end(self, summary: str | None = None, failed: bool = False) -> None:
        """The run is over; without a summary it was done by an earlier call."""
        self._before += self._share
        if summary is not None:
            (self.outer.note if failed else self.outer.finish)(summary)

    def start(self, stage: str, total: int, unit: str) -> None:
        """The trainer begins."""
        self.outer.start(self._stage, self._total, unit)
        self.outer.update(self._before)

    def update(self, done: int, **fields: float) -> None:
        """The trainer has done so much of its share."""
        self.outer.update(self._before + done, **fields)

    def note(self, text: str) -> None:
        """Something a person should read."""
        self.outer.note(text)


def format_run(run: Run, place: str, swept: Sequence[str], seeds: int, best: bool) -> str:
    """One finished run in one line."""
    what = f"{place}  {format_options(run.options, swept)}" + (f"  seed {run.seed}" if seeds > 1 else "")
    if run.failed is not None:
        return f"{what}  failed: {run.failed}"
    scores = " ".join(f"{task} {score:.1f}" for task, score in run.dev.items())
    return f"{what}  dev {run.mean:.2f} ({scores})  {format_seconds(run.seconds)} s" + (
        "  ← best so far" if best else ""
    )


def format_options(options: Options, names: Iterable[str]) -> str:
    """Options for people: `rate 0.1, window 5`."""
    listed = [name for name in options if name in set(names)] or list(options)
    return ", ".join(f"{label(name)} {format_value(name, options[name])}" for name in listed)


def format_seconds(seconds: float) -> str:
    """Seconds, with a tenth where that says something."""
    return f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
