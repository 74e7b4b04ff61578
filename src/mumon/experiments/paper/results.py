"""What an experiment puts into the report: a section of tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.intervals import Estimate

Outcome = Literal["holds", "does not hold", "undecided", "not judged"]
Cell = str | float | int | None
PAPER = "the paper"
MARGIN = 1.0  # points on a mean score that still count as "as well as"


@dataclass(frozen=True)
class Table:
    """Rows under columns: a CSV file as it is, and a table of the page."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Figure:
    """A plot, drawn by a function that is given matplotlib's Figure."""

    name: str
    caption: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (9.0, 4.2)


@dataclass(frozen=True)
class Verdict:
    """A claim, the paper's figures, ours, and what follows. `source` is who makes the claim."""

    claim: str
    paper: str
    ours: str
    outcome: Outcome
    source: str = PAPER


@dataclass(frozen=True)
class Section:
    """One item of the report."""

    title: str
    asks: str  # what the paper says, and what is done here
    verdicts: Sequence[Verdict]
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Item:
    """An experiment by name: `measure` makes JSON out of a laboratory, `section` a part of the report out of JSON."""

    name: str
    summary: str
    measure: Callable[[ExperimentContext], dict[str, Any]]
    build_section: Callable[[dict[str, Any]], Section]


def judge_at_least(difference: Estimate, margin: float = 0.0) -> Outcome:
    """Whether a difference is above -margin: decided when the 95 % interval lies on one side.

    >>> judge_at_least(Estimate(0.5, -0.2, 1.2)), judge_at_least(Estimate(0.5, -0.2, 1.2), margin=1.0)
    ('undecided', 'holds')
    """
    return "holds" if difference.low > -margin else "does not hold" if difference.high < -margin else "undecided"


def nan_to_none(value: float) -> float | None:
    """A number as JSON has it."""
    return None if value != value else value


def format_score(value: float | None) -> str:
    """A score in a table.

    >>> format_score(41.26), format_score(None)
    ('41.3', '–')
    """
    return "–" if value is None else f"{value:.1f}"


def format_difference(gaps: Mapping[str, Mapping[str, float]], name: str) -> str:
    """A difference in a table, by the name of its task."""
    return Estimate.from_json(gaps[name]).signed if name in gaps else "–"
