"""The settings of training, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mumon.errors import OptionError


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a run of training does, apart from its data."""

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
    alpha: float = 0.075
    min_alpha: float = 1e-4
    shuffle: bool = False
    seed: int = 1
    workers: int = 1

    def __post_init__(self) -> None:
        for name, allowed in {"objective": ("cbow", "sg"), "update": ("correct", "faulty")}.items():
            if getattr(self, name) not in allowed:
                raise OptionError(f"{name} is {getattr(self, name)!r}; it must be {' or '.join(allowed)}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise OptionError(f"{name} is {value!r}; it must be a whole number of at least {least}")
        for name in ("ns_exponent", "sample", "alpha", "min_alpha"):
            if not np.isfinite(getattr(self, name)):
                raise OptionError(f"{name} is {getattr(self, name)}; it must be a finite number")
        if not self.alpha > 0:
            raise OptionError(f"alpha is {self.alpha}; a learning rate is above 0, for example {self.default_alpha}")
        if self.min_alpha < 0:
            raise OptionError(f"min_alpha is {self.min_alpha}; it must be 0 or more")
        if self.seed >= 1 << 64:
            raise OptionError(f"seed is {self.seed}; it must be below 2^64")

    @property
    def default_alpha(self) -> float:
        """The paper's rates."""
        return default_alpha(self.objective, self.update)

    @property
    def division(self) -> tuple[bool, bool]:
        """Whether CBOW divides by C on the way in (the mean) and on the way out (its gradient).

        The faulty update has the second wrong: word2vec.c leaves it out for the mean, gensim puts it in for the sum.
        """
        return self.cbow_mean, self.cbow_mean == (self.update == "correct")


_LEAST = {"window": 1, "negative": 1, "shared_negatives": 1, "batch": 1, "workers": 1, "seed": 0}


def default_alpha(objective: str, update: str) -> float:
    """The rate to start from when the user names none: the paper's 0.075 for correct CBOW, 0.025 for the others."""
    return 0.075 if (objective, update) == ("cbow", "correct") else 0.025
