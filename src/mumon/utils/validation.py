"""Checks of single values, with one sentence for what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mumon.errors import OptionError

MAX_SHOWN = 60  # characters of a value in a message

# What is larger than this is a slip, refused before it fills the memory or the day. A window may have any size: it ends
# with the sentence.
LIMITS = {
    "workers": 1_024,  # more threads than large machines have; every one has buffers and a stack of its own
    "negative": 4_096,  # these three make arrays of batch × shared_negatives for each thread: 128 MB at most
    "shared_negatives": 4_096,
    "batch": 4_096,
    "epochs": 1_000_000,
    "total_epochs": 1_000_000,
    "alpha": 1e30,  # training says that it diverged long before; 10³⁹ would not even be a 32-bit number
    "min_alpha": 1e30,
    "ns_exponent": 100.0,  # both ways: by then all noise is one word, and little more overflows
    "rate_exponent": 10.0,
}


def check_integer(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """A checked integer as Python's own kind: NumPy's would not go into JSON.

    >>> check_integer("workers", 1_000_000)
    Traceback (most recent call last):
    mumon.errors.OptionError: workers is 1000000; it must be a whole number of at most 1,024
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{name} is {format_value(value)}; it must be a whole number of at least {least}")
    most = int(LIMITS.get(name, (1 << 63) - 1)) if most is None else most
    if value > most:
        raise OptionError(f"{name} is {format_value(value)}; it must be a whole number of at most {most:,}")
    return int(value)


def check_float(name: str, value: Any, least: float = -np.inf, above: float = -np.inf) -> float:
    """A checked float as Python's own kind."""
    bound = f" of at least {least:g}" if least > -np.inf else f" above {above:g}" if above > -np.inf else ""
    numeric = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    try:
        number = float(value) if numeric else math.nan
    except (OverflowError, TypeError):  # a whole number that no float holds; a complex one
        number = math.nan
    if not math.isfinite(number) or number < least or number <= above:
        raise OptionError(f"{name} is {format_value(value)}; it must be a finite number{bound}")
    most = LIMITS.get(name, math.inf)
    if abs(number) > most:
        raise OptionError(f"{name} is {format_value(value)}; it must be a number of at most {most:g}")
    return number


def format_value(value: Any) -> str:
    """A value in a message, where it may be anything that a file says."""
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
