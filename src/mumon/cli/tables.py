"""What commands print for people: one console, text that is never wrapped, and tables that keep every cell whole.

A path, a command to type or a number stays on one line, however narrow the terminal is: it must survive being copied.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

PROSE = ("what", "licence", "nearest neighbours")  # columns that may be wrapped between words
NAMES = ("task", "model", "section", "in words", "update", "objective", "kernel", "gradient?", "name", "word", "where")
LEFT_ALIGNED = {*PROSE, *NAMES, ""}  # the others are of numbers


def _stdout() -> Console:
    from rich.console import Console

    return Console(highlight=False, emoji=False)


def is_terminal() -> bool:
    """Say whether standard output is a terminal."""
    return _stdout().is_terminal


def print_text(text: str = "") -> None:
    """Print text with rich's markup on standard output; the terminal breaks long lines, and copies them whole."""
    _stdout().print(text, soft_wrap=True)


def print_prose(text: str) -> None:
    """Print an explanation without paths and commands, wrapped between words."""
    _stdout().print(text)


def print_table(table: Table) -> None:
    """Print a table in which only columns of prose are wrapped; it may become wider than the terminal.

    Parameters
    ----------
    table
        A table of `new_table`. Its title is printed as a line of its own: rich would wrap it at the table's width.
    """
    console = _stdout()
    if table.title:
        console.print(table.title, style="bold", soft_wrap=True)
        table.title = None
    console.width = _fit(table, console)
    console.print(table, crop=False)


def _fit(table: Table, console: Console) -> int:
    """Return the width to print a table at, once its columns of prose are as narrow as the terminal asks for."""
    from rich.measure import Measurement, measure_renderables

    unlimited = console.options.update(width=1 << 20)
    width = Measurement.get(console, unlimited, table).maximum
    for column in table.columns if console.is_terminal else ():
        if not column.no_wrap and width > console.width:
            cells = measure_renderables(console, unlimited, list(column.cells))
            column.width = max(cells.minimum, cells.maximum - (width - console.width))
            width -= cells.maximum - column.width
    return max(width, console.width)


def show_status(text: str) -> Any:
    """Return a context in which a terminal shows that something is under way."""
    return _stdout().status(text)


def new_table(title: str, *columns: str) -> Table:
    """Return an empty table with a title; columns of numbers are right-aligned."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column in LEFT_ALIGNED else "right", no_wrap=column not in PROSE)
    return table


def format_number(value: float, digits: int = 1) -> str:
    """Return a score as text, or a dash if it is not a number."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def format_interval(low: float, high: float) -> str:
    """Return "low … high", or a dash if they are not numbers."""
    return "–" if math.isnan(low) else f"{low:.1f} … {high:.1f}"


def format_difference(low: float, high: float) -> str:
    """Return the interval of a difference, with signs, or a dash."""
    return "–" if math.isnan(low) else f"{low:+.1f} … {high:+.1f}"


def escape(text: Any) -> str:
    """Return text in which rich sees no markup."""
    from rich import markup

    return markup.escape(str(text))
