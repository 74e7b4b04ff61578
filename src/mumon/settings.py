"""The settings of training, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mumon.errors import OptionError


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a run of training does, apart from its data and its learning rates.

    >>> Settings(window=0)
    Traceback (most recent call last):
    mumon.errors.OptionError: window is 0; it must be a whole number of at least 1
    """

    objective: Literal["cbow", "sg"] = "cbow"
    update: Literal["correct", "faulty"] = "correct"
    cbow_mean: bool = True
    exact: bool = False
    window: int = 5
    shrink_windows: bool = True
    negative: int = 5
    shared_negatives: int = 32
    batch: int = 32
    ns_exponent: float = 0.75
    sample: float = 1e-3
    shuffle: bool = False
    seed: int = 1
    workers: int = 1

    def __post_init__(self) -> None:
        for name, allowed in {"objective": ("cbow", "sg"), "update": ("correct", "faulty")}.items():
            if getattr(self, name) not in allowed:
                raise OptionError(f"{name} is {getattr(self, name)!r}; it must be {' or '.join(allowed)}")
        for name in ("cbow_mean", "exact", "shrink_windows", "shuffle"):
            object.__setattr__(self, name, bool(getattr(self, name)))
        for name in ("window", "negative", "shared_negatives", "batch", "workers"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, least=0))
        object.__setattr__(self, "ns_exponent", finite_number("ns_exponent", self.ns_exponent))
        object.__setattr__(self, "sample", finite_number("sample", self.sample, least=0))

    @property
    def division(self) -> tuple[bool, bool]:
        """Whether CBOW divides by C on the way in (the mean) and on the way out (its gradient).

        The faulty update has the second wrong: word2vec.c leaves it out for the mean, gensim puts it in for the sum.
        """
        return self.cbow_mean, self.cbow_mean == (self.update == "correct")

    @property
    def default_alpha(self) -> float:
        """The rate to start from when the user names none: the paper's 0.075 for the correct mean, 0.025 otherwise."""
        return 0.075 if (self.objective, self.update, self.cbow_mean) == ("cbow", "correct", True) else 0.025


@dataclass(frozen=True)
class Schedule:
    """Learning rates that fall linearly from `alpha` to `min_alpha` over `total` epochs, of which `done` lie behind.

    >>> Schedule(0.1, 0.0, total=4, done=1).rate(0.5)
    0.0625
    """

    alpha: float
    min_alpha: float
    total: int
    done: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", finite_number("alpha", self.alpha, above=0))
        object.__setattr__(self, "min_alpha", min(finite_number("min_alpha", self.min_alpha, least=0), self.alpha))
        object.__setattr__(self, "total", whole_number("total_epochs", self.total))

    @property
    def left(self) -> int:
        """How many epochs are still to come."""
        return self.total - self.done

    def rate(self, epochs: float) -> float:
        """The rate so many epochs after those that are done."""
        return self.alpha - (self.alpha - self.min_alpha) * (self.done + epochs) / self.total


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """A checked integer as Python's own kind: NumPy's would not go into JSON."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value < 1 << 63:
        raise OptionError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    return int(value)


def finite_number(name: str, value: Any, least: float = -np.inf, above: float = -np.inf) -> float:
    """A checked float as Python's own kind."""
    bound = f" of at least {least:g}" if least > -np.inf else f" above {above:g}" if above > -np.inf else ""
    numeric = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not numeric or not np.isfinite(value) or value < least or value <= above:
        raise OptionError(f"{name} is {value!r}; it must be a finite number{bound}")
    return float(value)
