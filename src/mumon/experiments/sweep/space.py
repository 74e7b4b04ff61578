"""What a sweep tries: options, lists and ranges of their values, and the configurations they make."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from mumon.corpus import TextOptions
from mumon.errors import OptionError
from mumon.training.objectives import CBOW, SKIPGRAM, Objective, find_objective
from mumon.utils.validation import check_float, check_integer

Search = Literal["grid", "random"]
Options = dict[str, Any]

# The paper's rates and four higher ones: the smaller the corpus, the higher the best rate of the correct update.
DEFAULT_RATES = (0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.45)

# Options with numbers, and the least value of each.
WHOLE_NUMBERS = {
    "epochs": 1,
    "window": 1,
    "positions": 0,
    "min_n": 0,
    "max_n": 0,
    "bucket": 0,
    "negative": 1,
    "shared_negatives": 1,
    "batch": 1,
    "vector_size": 1,
    "min_count": 0,
    "max_final_vocab": 1,
}
REAL_NUMBERS = {
    "alpha": 0.0,
    "min_alpha": 0.0,
    "sample": 0.0,
    "ns_exponent": -math.inf,
    "rate_exponent": 0.0,
    "target_weight": 0.0,
}
# Other reals are magnitudes and drawn by their logarithms.
LINEAR_RANGES = ("ns_exponent", "rate_exponent", "target_weight")
ZERO_ONE_SWITCHES = ("sg", "cbow_mean")  # which gensim writes as 0 and 1
SWITCHES = (*ZERO_ONE_SWITCHES, "exact", "pool_rows", "shrink_windows", "shuffle")
TEXT_VALUED = ("objective", "update", "unk")
SWEEPABLE = (
    *("alpha", *WHOLE_NUMBERS, *(name for name in REAL_NUMBERS if name != "alpha")),
    *("objective", "update", *SWITCHES, "unk"),
)
FIXABLE = (*SWEEPABLE, *(field.name for field in fields(TextOptions)), "workers")

NOT_WITH_EXACT = ("shared_negatives", "batch")  # options that do nothing with exact kernels

# What messages call an option, if not by its own name.
LABELS = {"alpha": "rate", "min_alpha": "last rate", "vector_size": "dim", "sg": "objective"}
OBJECTIVES = (CBOW.name, SKIPGRAM.name)  # of sg=0 and sg=1, which is gensim's way to say `objective`

SIGNIFICANT_DIGITS = 4  # of a drawn number, so that it can be typed
MOST_MISSES = 100_000  # after this many draws without a new configuration there is none left


@dataclass(frozen=True)
class Range:
    """All values from `low` to `high`, for a random search.

    Whole numbers and exponents are drawn uniformly, other numbers by their logarithm.

    >>> str(Range(0.01, 0.5))
    '0.01..0.5'
    """

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low}..{self.high}"


Space = dict[str, "list[Any] | Range"]


def parse_values(name: str, text: str) -> list[Any] | Range:
    """Parse a comma list (`0.05,0.1`) or a range (`0.01..0.5`) of values.

    Parameters
    ----------
    name
        The option.
    text
        What the user wrote.

    Returns
    -------
    list or Range
        The values.

    Raises
    ------
    OptionError
        If a value does not fit the option.

    Examples
    --------
    >>> parse_values("window", "2,5,10"), parse_values("objective", "cbow,sg"), parse_values("alpha", "0.01..0.5")
    ([2, 5, 10], ['cbow', 'sg'], Range(low=0.01, high=0.5))
    """
    if ".." in text and name not in TEXT_VALUED:
        ends = text.split("..")
        if len(ends) != 2:
            raise OptionError(
                f"{label(name)} is {text!r}; a range has two ends, such as 2..10, and no other values beside it"
            )
        return _check_range(name, *(_parse_value(name, end) for end in ends))
    return [_parse_value(name, part) for part in text.split(",")]


def _parse_value(name: str, text: str) -> Any:
    text = text.strip()
    if name == "objective":
        return find_objective(text).name
    if name not in WHOLE_NUMBERS and name not in REAL_NUMBERS:
        return text
    try:
        return int(text) if name in WHOLE_NUMBERS else float(text)
    except ValueError:
        kind = "whole number" if name in WHOLE_NUMBERS else "number"
        raise OptionError(f"{label(name)} has {text!r} where a {kind} belongs; separate values by commas") from None


def _check_range(name: str, low: Any, high: Any) -> Range:
    if name not in WHOLE_NUMBERS and name not in REAL_NUMBERS:
        raise OptionError(f"{label(name)} is no number and has no range; list its values")
    low, high = normalise_value(name, low), normalise_value(name, high)
    if low >= high:
        raise OptionError(f"{label(name)} is {low:g}..{high:g}; a range goes from a lower to a higher value")
    if name in REAL_NUMBERS and name not in LINEAR_RANGES and low <= 0:
        raise OptionError(f"{label(name)} is {low:g}..{high:g}; a range over magnitudes begins above 0")
    return Range(low, high)


def normalise_value(name: str, value: Any) -> Any:
    """Return a value as JSON has it, so that 1, 1.0 and True are equal if they mean the same.

    Parameters
    ----------
    name
        The option.
    value
        Any value for it.

    Returns
    -------
    int, float, bool, str or None
        The value.

    Raises
    ------
    OptionError
        If it is not a value of the option.
    """
    if value is None and name in ("max_final_vocab", "unk"):
        return None
    if name in WHOLE_NUMBERS:
        return check_integer(name, value, WHOLE_NUMBERS[name])
    if name in REAL_NUMBERS:
        return check_float(name, value, least=REAL_NUMBERS[name])
    if name == "objective":
        return find_objective(value).name
    if name in SWITCHES:
        if value not in (0, 1):
            raise OptionError(f"{name} is {value!r}; it must be 0 or 1")
        return int(value) if name in ZERO_ONE_SWITCHES else bool(value)
    return value


def check_space(space: Mapping[str, Any] | None, search: Search) -> Space:
    """Check the options and values of a space.

    Parameters
    ----------
    space
        Lists or ranges by option. None means the default rates; in a random search, the range between them.
    search
        Only a random search has ranges.

    Returns
    -------
    dict
        Lists of distinct values, or ranges.

    Raises
    ------
    OptionError
        If an option is unknown, or if one of its values cannot be used.
    """
    if not space:
        ends = Range(DEFAULT_RATES[0], DEFAULT_RATES[-1])
        space = {"alpha": ends if search == "random" else DEFAULT_RATES}
    checked: Space = {}
    for name, values in space.items():
        if name not in SWEEPABLE:
            raise OptionError(f"{name!r} cannot be swept; a sweep knows {', '.join(SWEEPABLE)}")
        if isinstance(values, str) and ".." in values:
            values = parse_values(name, values)
        values = values.tolist() if isinstance(values, np.ndarray) else values
        if isinstance(values, Range):
            if search == "grid":
                raise OptionError(
                    f"{label(name)} is the range {values}; list values, or say how many to draw (draws, --random)"
                )
            checked[name] = _check_range(name, values.low, values.high)
            continue
        listed = [values] if isinstance(values, str) or not isinstance(values, Sequence) else values
        checked[name] = list(dict.fromkeys(normalise_value(name, value) for value in listed))
        if not checked[name]:
            raise OptionError(f"{label(name)} has 0 values to try; give at least one")
    return checked


def check_fixed(fixed: Mapping[str, Any] | None, space: Space) -> Options:
    """Check the options that all runs share.

    Parameters
    ----------
    fixed
        Values by option.
    space
        The space, which must not have any of these options.

    Returns
    -------
    dict
        The values as JSON has them.

    Raises
    ------
    OptionError
        If an option is unknown or swept, or if its value cannot be used.
    """
    if {"sg", "objective"} <= {*space, *(fixed or {})}:
        raise OptionError("sg and objective are 2 names of one option; give one of them")
    for name in fixed or {}:
        if name in ("seed", "seeds"):
            raise OptionError("seed is not an option that runs share; give the sweep its seeds")
        if name not in FIXABLE:
            raise OptionError(f"{name!r} cannot be fixed in a sweep; it knows {', '.join(FIXABLE)}")
        if name in space:
            raise OptionError(f"{name} is both fixed and swept; give it once")
    return {name: normalise_value(name, value) for name, value in (fixed or {}).items()}


def list_configurations(
    space: Space, search: Search = "grid", draws: int | None = None, seed: int = 1
) -> list[Options]:
    """List every cell of a grid, or the first different ones of a random sequence.

    Parameters
    ----------
    space
        A checked space.
    search
        "grid" or "random".
    draws
        Number of random configurations.
    seed
        Decides the random sequence; more draws continue it.

    Returns
    -------
    list of dict
        Values by option. Cells that would train the same model under two names are there once.

    Raises
    ------
    OptionError
        If there are fewer different configurations than draws.

    Examples
    --------
    >>> list_configurations({"window": [2, 5], "alpha": [0.1, 0.2]})[1]
    {'window': 2, 'alpha': 0.2}
    >>> list_configurations({"alpha": Range(0.01, 0.5)}, "random", draws=2, seed=3)
    [{'alpha': 0.02537}, {'alpha': 0.08407}]
    """
    if search == "grid":
        lists = [values for values in space.values() if isinstance(values, list)]
        cells = [dict(zip(space, cell, strict=True)) for cell in itertools.product(*lists)]
        return [cell for cell in cells if not _is_refused(cell, space) and not _is_repeat(cell, space)]
    if search != "random":
        raise OptionError(f"search is {search!r}; it must be grid or random")
    if draws is None:
        raise OptionError("a random search needs the number of configurations to draw; give draws")
    return list(itertools.islice(_draw_configurations(space, check_integer("draws", draws), seed), draws))


def _is_repeat(cell: Options, space: Space) -> bool:
    """Return whether another cell trains the same: for skip-gram `update` means nothing, for exact kernels `batch`."""
    objective = _find_objective(cell)
    idle = [*objective.unused_options, *(NOT_WITH_EXACT if cell.get("exact") else ())]
    return any(cell[name] != space[name][0] for name in idle if name in cell)  # type: ignore[index]


def _is_refused(cell: Options, space: Space) -> bool:
    """Return whether a cell has weights of positions that its objective or update has not, beside cells without."""
    if not cell.get("positions"):
        return False
    listed = space["positions"]
    if (listed.low if isinstance(listed, Range) else min(listed)) > 0:
        return False  # all cells have weights: `Settings` says what is wrong
    record = _find_objective(cell).positional
    return record is None or cell.get("update", "correct") not in record.updates or not cell.get("cbow_mean", 1)


def _find_objective(cell: Options) -> Objective:
    return find_objective(cell.get("objective", OBJECTIVES[cell.get("sg", 0)]))


def _draw_configurations(space: Space, draws: int, seed: int) -> Iterator[Options]:
    source = random.Random(seed)
    seen: set[tuple[Any, ...]] = set()
    misses = 0
    while misses < MOST_MISSES:
        cell = tuple(_draw_value(source, name, values) for name, values in space.items())
        options = dict(zip(space, cell, strict=True))
        new = cell not in seen and not _is_refused(options, space)
        misses = 0 if new else misses + 1
        if new:
            seen.add(cell)
            yield options
    raise OptionError(f"only {len(seen)} different configurations can be drawn, not {draws}; ask for fewer")


def _draw_value(source: random.Random, name: str, values: list[Any] | Range) -> Any:
    place = source.random()  # the only method whose sequence Python guarantees
    if isinstance(values, list):
        return values[int(place * len(values))]
    if name in WHOLE_NUMBERS:
        return int(values.low) + int(place * (values.high - values.low + 1))
    if name in LINEAR_RANGES:
        drawn = values.low + place * (values.high - values.low)
    else:
        drawn = values.low * (values.high / values.low) ** place
    return min(max(float(f"{drawn:.{SIGNIFICANT_DIGITS}g}"), values.low), values.high)


def find_swept_options(space: Mapping[str, list[Any] | Range]) -> list[str]:
    """List the options that differ between configurations."""
    return [name for name, values in space.items() if isinstance(values, Range) or len(values) > 1]


def is_numeric(name: str) -> bool:
    """Return whether the values of an option are numbers."""
    return name in WHOLE_NUMBERS or name in REAL_NUMBERS


def label(name: str) -> str:
    """Return what messages call an option."""
    return LABELS.get(name, name.replace("_", " "))


def format_value(name: str, value: Any) -> str:
    """Format a value of an option for people.

    Parameters
    ----------
    name
        The option.
    value
        Its value.

    Returns
    -------
    str
        The value.

    Examples
    --------
    >>> format_value("alpha", 0.1), format_value("sg", 1), format_value("exact", True)
    ('0.1', 'sg', 'yes')
    """
    if name == "sg":
        return OBJECTIVES[value]
    if isinstance(value, bool) or name == "cbow_mean":
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else str(value)
