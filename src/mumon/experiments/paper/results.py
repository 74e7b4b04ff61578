"""The parts of a report: experiments, and their sections of tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.intervals import Estimate

Outcome = Literal["holds", "does not hold", "undecided", "not judged"]
Cell = str | float | int | None
PAPER = "the paper"
SOURCE_ONLY = "source vectors only"  # the paper's protocol: the target vectors are thrown away after training
MARGIN = 1.0  # points on a mean score that still count as "as well as"


@dataclass(frozen=True)
class Table:
    """A table of the page, which is also a CSV file."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Figure:
    """A plot; `draw` draws it on a Figure of matplotlib."""

    name: str
    caption: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (9.0, 4.2)


@dataclass(frozen=True)
class Verdict:
    """A claim, the paper's figures, ours, and the outcome. `source` says who makes the claim."""

    claim: str
    paper: str
    ours: str
    outcome: Outcome
    source: str = PAPER


@dataclass(frozen=True)
class Section:
    """One experiment in the report."""

    title: str
    asks: str  # what the paper says, and what is done here
    verdicts: Sequence[Verdict]
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Item:
    """An experiment: `measure` returns JSON, and `build_section` turns that JSON into a section of the report."""

    name: str
    summary: str
    measure: Callable[[ExperimentContext], dict[str, Any]]
    build_section: Callable[[dict[str, Any]], Section]


def judge_at_least(difference: Estimate, margin: float = 0.0) -> Outcome:
    """Judge whether a difference is above -margin.

    Parameters
    ----------
    difference
        With its 95 % interval, which must lie on one side to decide.
    margin
        How far below 0 the difference may be.

    Returns
    -------
    str
        "holds", "does not hold" or "undecided".

    Examples
    --------
    >>> judge_at_least(Estimate(0.5, -0.2, 1.2)), judge_at_least(Estimate(0.5, -0.2, 1.2), margin=1.0)
    ('undecided', 'holds')
    """
    return "holds" if difference.low > -margin else "does not hold" if difference.high < -margin else "undecided"


def nan_to_none(value: float) -> float | None:
    """Return a number as JSON has it: None for nan."""
    return None if value != value else value


def format_score(value: float | None) -> str:
    """Format a score for a table.

    >>> format_score(41.26), format_score(None)
    ('41.3', '–')
    """
    return "–" if value is None else f"{value:.1f}"


def format_difference(gaps: Mapping[str, Mapping[str, float]], name: str) -> str:
    """Format the difference of a task for a table."""
    return Estimate.from_json(gaps[name]).signed if name in gaps else "–"


def format_gap(value: float | None) -> str:
    """Format a difference without an interval for a table.

    >>> format_gap(-0.44), format_gap(2.9), format_gap(None)
    ('−0.4', '+2.9', '–')
    """
    return "–" if value is None else f"{value:+.1f}".replace("-", "−")
