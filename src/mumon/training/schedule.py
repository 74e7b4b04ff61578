"""The learning-rate schedule of a training."""

from __future__ import annotations

from dataclasses import dataclass

from mumon.errors import OptionError
from mumon.utils.validation import check_float, check_integer


@dataclass(frozen=True)
class Schedule:
    """Learning rates that fall linearly from `alpha` to `min_alpha` over `total` epochs, of which `done` are over.

    >>> Schedule(0.1, 0.0, total=4, done=1).rate(0.5)
    0.0625
    """

    alpha: float | None  # None until it has been chosen for the corpus
    min_alpha: float
    total: int
    done: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_alpha", check_float("min_alpha", self.min_alpha, least=0))
        if self.alpha is not None:
            object.__setattr__(self, "alpha", check_float("alpha", self.alpha, above=0))
            object.__setattr__(self, "min_alpha", min(self.min_alpha, self.alpha))
        object.__setattr__(self, "total", check_integer("total_epochs", self.total))
        object.__setattr__(self, "done", check_integer("done", self.done, least=0))
        if self.done > self.total:
            raise OptionError(f"done is {self.done} of {self.total} epochs; it must be at most all of them")

    @property
    def left(self) -> int:
        """Return how many epochs are still to come."""
        return self.total - self.done

    def check_left(self, epochs: int) -> None:
        """Refuse to train more epochs than are left."""
        if epochs > self.left:
            raise OptionError(
                f"epochs is {epochs} but the rate schedule has {self.left} of {self.total} left; ask for fewer, or "
                "start a new schedule with total_epochs or a rate"
            )

    def rate(self, epochs: float) -> float:
        """Return the rate at a point of the schedule, in epochs after those that are done."""
        assert self.alpha is not None
        return self.alpha - (self.alpha - self.min_alpha) * (self.done + epochs) / self.total
