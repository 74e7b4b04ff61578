"""What the tables of all commands have in common."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LOG_WIDTH = 140  # of a table that goes to a file, where nobody's window limits it
TEXT = ("task", "model", "section", "in words", "update", "objective", "")  # columns of words, not of numbers


def stdout() -> Console:
    """Standard output, wide enough for a table if it is not a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=max(console.width, LOG_WIDTH))


def new_table(title: str, *columns: str) -> Table:
    """An empty table with a title."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="left" if column in TEXT else "right", no_wrap=column in TEXT)
    return table


def number(value: float, digits: int = 1) -> str:
    """A score, or a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def interval(low: float, high: float) -> str:
    """From … to, or a dash."""
    return "–" if math.isnan(low) else f"{low:.1f} … {high:.1f}"


def signed_interval(low: float, high: float) -> str:
    """From … to, of a difference."""
    return "–" if math.isnan(low) else f"{low:+.1f} … {high:+.1f}"


def plain(text: Any) -> str:
    """Text in which rich sees no markup."""
    from rich.markup import escape

    return escape(str(text))
