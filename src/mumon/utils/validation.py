"""Checks of single values that raise one sentence about what is wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mumon.errors import OptionError

MAX_VALUE_CHARACTERS = 60  # characters of a value in a message

# Larger values are mistakes, refused before they fill the memory or take days. A window may have any size: it ends with
# the sentence.
LIMITS = {
    "workers": 1_024,  # more threads than large machines have; each has its own buffers and stack
    "negative": 4_096,  # these three make arrays of batch × shared_negatives for each thread: 128 MB at most
    "shared_negatives": 4_096,
    "batch": 4_096,
    "epochs": 1_000_000,
    "total_epochs": 1_000_000,
    "alpha": 1e30,  # training diverges long before, and says so; 10³⁹ is not even a 32-bit number
    "min_alpha": 1e30,
    "ns_exponent": 100.0,  # positive or negative: by then all noise is one word, and a little more overflows
    "rate_exponent": 10.0,
    "target_weight": 1_000.0,  # by then vectors are the target rows alone
}


def check_integer(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Check an integer and return it as a Python int, since NumPy's cannot be written as JSON.

    Parameters
    ----------
    name
        What to call the value in the error; its largest value is LIMITS[name], if it is listed there.
    value
        Any integer of Python or NumPy.
    least, most
        The range that is allowed, ends included.

    Returns
    -------
    int
        The value.

    Raises
    ------
    OptionError
        If it is not an integer, or out of range.

    Examples
    --------
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
    """Check a finite number and return it as a Python float.

    Parameters
    ----------
    name
        What to call the value in the error; its largest absolute value is LIMITS[name], if it is listed there.
    value
        Any real number of Python or NumPy.
    least
        The smallest value that is allowed.
    above
        The value that it must exceed.

    Returns
    -------
    float
        The value.

    Raises
    ------
    OptionError
        If it is not a finite number, or out of range.
    """
    bound = f" of at least {least:g}" if least > -np.inf else f" above {above:g}" if above > -np.inf else ""
    numeric = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    try:
        number = float(value) if numeric else math.nan
    except (OverflowError, TypeError):  # an integer too large for a float, or a complex number
        number = math.nan
    if not math.isfinite(number) or number < least or number <= above:
        raise OptionError(f"{name} is {format_value(value)}; it must be a finite number{bound}")
    most = LIMITS.get(name, math.inf)
    if abs(number) > most:
        raise OptionError(f"{name} is {format_value(value)}; it must be a number of at most {most:g}")
    return number


def format_value(value: Any) -> str:
    """Shorten a value for a message; it comes from a file and may be anything."""
    text = repr(value)
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[:MAX_VALUE_CHARACTERS]}…"
