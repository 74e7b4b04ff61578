"""One progress bar over all runs of a sweep, and a line for each finished run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mumon.experiments.sweep.runs import Run
from mumon.experiments.sweep.space import Options, format_value, label
from mumon.utils.progress import Progress


class OverallProgress(Progress):
    """Progress of all runs together, to which the trainer of each run reports.

    Percent and time left are those of the sweep; epoch, rate, speed and loss are those of the run.

    Parameters
    ----------
    outer
        Where the progress of the sweep is shown.
    total
        Tokens of all runs.
    """

    def __init__(self, outer: Progress, total: int) -> None:
        self.outer, self._total, self._before, self._share = outer, total, 0, 0
        self._stage = ""

    def begin(self, stage: str, share: int) -> None:
        """Begin a run with this many tokens."""
        self._stage, self._share = stage, share

    def end(self, summary: str | None = None, failed: bool = False) -> None:
        """End a run; without a summary, an earlier call has trained it."""
        self._before += self._share
        if summary is not None:
            (self.outer.note if failed else self.outer.finish)(summary)

    def start(self, stage: str, total: int, unit: str) -> None:
        """Show the stage of the sweep when the trainer starts."""
        self.outer.start(self._stage, self._total, unit)
        self.outer.update(self._before)

    def update(self, done: int, **fields: float) -> None:
        """Add the tokens that the trainer has done to those of earlier runs."""
        self.outer.update(self._before + done, **fields)

    def note(self, text: str) -> None:
        """Show a message."""
        self.outer.note(text)


def format_run(run: Run, place: str, swept: Sequence[str], seeds: int, best: bool) -> str:
    """Format a finished run as one line.

    Parameters
    ----------
    run
        The run.
    place
        Its number among all runs, such as "3/12".
    swept
        The options to show.
    seeds
        Number of seeds; with several the line names the run's own.
    best
        Whether its configuration is the best so far.

    Returns
    -------
    str
        The line.
    """
    what = f"{place}  {format_options(run.options, swept)}" + (f"  seed {run.seed}" if seeds > 1 else "")
    if run.failed is not None:
        return f"{what}  failed: {run.failed}"
    scores = " ".join(f"{task} {score:.1f}" for task, score in run.dev.items())
    return f"{what}  dev {run.mean:.2f} ({scores})  {format_seconds(run.seconds)} s" + (
        "  ← best so far" if best else ""
    )


def format_options(options: Options, names: Iterable[str]) -> str:
    """Format options as `rate 0.1, window 5`.

    Parameters
    ----------
    options
        Values by option.
    names
        The options to show; all, if none of them is among `options`.

    Returns
    -------
    str
        The options, separated by commas.
    """
    listed = [name for name in options if name in set(names)] or list(options)
    return ", ".join(f"{label(name)} {format_value(name, options[name])}" for name in listed)


def format_seconds(seconds: float) -> str:
    """Format seconds, with a decimal below 10."""
    return f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"
