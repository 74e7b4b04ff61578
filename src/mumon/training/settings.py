"""The settings of training, checked when they are made."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from mumon.errors import OptionError
from mumon.utils.validation import finite_number, show_value, whole_number


@dataclass(frozen=True)
class RateRule:
    """A rate that falls with the number of tokens to be trained, between two bounds.

    Few tokens leave the vectors of most words far from where they should be, and only large steps bring them there;
    many tokens do so by themselves, and then large steps are noise.
    """

    least: float
    most: float
    at_100m: float  # the rate for 100 M tokens
    power: float

    def at(self, tokens: float) -> float:
        """The rate for so many tokens, epochs included."""
        rate = self.at_100m * float(max(tokens, 1) / 1e8) ** -self.power
        return float(min(max(rate, self.least), self.most))


# How many noise words how many targets share by default: as good as twice the noise words or half the batch, and the
# fastest such (docs/speed.md).
SHARING = {"cbow": (16, 8), "sg": (32, 32)}

# Steps that the fast kernels add up before anyone sees them must not add up to more than this many times a gradient:
# uniform, Zipfian and steeper texts over 3 … 1,000 words diverged from 2.6 on, counted over 128 targets.
SAFE_STEPS, SUMMED = 1.5, 128
# Where a word's rows take the gradients of C windows undivided, rate × C must stay below these: over long lines
# skip-gram trained at 0.6, with norms already growing, and diverged at 0.8, for every window from 5 to 40.
SAFE_PAIRS = {"correct": float("inf"), "faulty": 1.0, "sg": 0.4, "sum": 0.4}

# Many noise words or a word that comes back within a batch multiply a step: rate × crowding (`sampling.crowding`), × C
# where nothing divides by it, × negative / 5 must stay below this. Walks on rings, paths and trees and sessions among
# few items, with 5 … 60 noise words, had growing norms from about 2 (skip-gram) and 2.6 on; ordinary text is below.
SAFE_CROWD = {"correct": 1.5, "faulty": 1.5, "sg": 1.0, "sum": 1.0}
USUAL_NEGATIVE = 5

# Fitted to sweeps over 1.3 M … 65 M words × 5 epochs (docs/rates.md). The lower bounds are the rates of the paper and
# of word2vec, chosen on corpora of 10⁹ words and more.
RATES = {
    "correct": RateRule(0.075, 0.3, 0.13, 0.3),
    "faulty": RateRule(0.025, 0.15, 0.07, 0.3),
    "sg": RateRule(0.025, 0.1, 0.03, 0.45),
    "sum": RateRule(0.025, 0.025, 0.025, 0),
}


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
    shared_negatives: int = None  # type: ignore[assignment]  # None here and in batch stands for SHARING
    batch: int = None  # type: ignore[assignment]
    ns_exponent: float = 0.75
    rate_exponent: float | None = None
    sample: float = 1e-3
    shuffle: bool = False
    seed: int = 1
    workers: int = 1

    def __post_init__(self) -> None:
        for name, allowed in {"objective": ("cbow", "sg"), "update": ("correct", "faulty")}.items():
            if getattr(self, name) not in allowed:
                raise OptionError(f"{name} is {show_value(getattr(self, name))}; it must be {' or '.join(allowed)}")
        for name in ("cbow_mean", "exact", "shrink_windows", "shuffle"):
            object.__setattr__(self, name, bool(getattr(self, name)))
        for name, usual in zip(("shared_negatives", "batch"), SHARING[self.objective], strict=True):
            if getattr(self, name) is None:
                object.__setattr__(self, name, usual)
        for name in ("window", "negative", "shared_negatives", "batch", "workers"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        object.__setattr__(self, "seed", whole_number("seed", self.seed, least=0))
        object.__setattr__(self, "ns_exponent", finite_number("ns_exponent", self.ns_exponent))
        if self.rate_exponent is not None:
            object.__setattr__(self, "rate_exponent", finite_number("rate_exponent", self.rate_exponent, least=0))
        object.__setattr__(self, "sample", finite_number("sample", self.sample, least=0))

    @property
    def division(self) -> tuple[bool, bool]:
        """Whether CBOW divides by C on the way in (the mean) and on the way out (its gradient).

        The faulty update has the second wrong: word2vec.c leaves it out for the mean, gensim puts it in for the sum.
        """
        return self.cbow_mean, self.cbow_mean == (self.update == "correct")

    @property
    def row_exponent(self) -> float:
        """How much slower frequent words learn (see `sampling.row_rates`): 0, as with `exact`, is the paper's SGD."""
        if self.rate_exponent is not None:
            return self.rate_exponent
        return 0.0 if self.exact else 0.25

    def default_alpha(
        self, tokens: int, heaviest_share: float = 0.0, sentence: float = math.inf, crowding: float = 1.0
    ) -> float:
        """The rate to start from when the user names none, for so many tokens to be trained, epochs included.

        The fast kernels add up the steps of a word before anyone sees them. Where few words make up most of the text
        (`sampling.heaviest_share`) or of a part of it (`sampling.crowding`), for many noise words, and for wide windows
        where nothing is divided by C, that calls for smaller steps. Windows end with their sentence, so that one wider
        than the usual `sentence` is no wider than that.

        >>> [round(Settings().default_alpha(tokens), 3) for tokens in (10**6, 10**8, 10**9, 10**10)]
        [0.3, 0.13, 0.075, 0.075]
        >>> round(Settings().default_alpha(10**6, heaviest_share=0.5), 3)
        0.023
        """
        kind = "sg" if self.objective == "sg" else self.update if self.cbow_mean else "sum"
        rate = RATES[kind].at(tokens)
        if self.exact:
            return rate
        # C, on average
        contexts = min(self.window + 1 if self.shrink_windows else 2 * self.window, max(sentence - 1, 1))
        divided = self.objective == "cbow" and self.division[1]
        summed = 1 if divided else contexts  # gradients that one window or centre adds to a row
        noise = max(self.negative / USUAL_NEGATIVE, 1.0)
        rate = min(rate, SAFE_PAIRS[kind] / contexts, SAFE_CROWD[kind] / (crowding * summed * noise))
        if not heaviest_share:
            return rate
        # A CBOW row is read when the first window reaches it and written when the last has left it.
        delay = self.batch + (min(2 * self.window, sentence) if self.objective == "cbow" else 0)
        steps = max(SUMMED, delay) * heaviest_share * summed
        return min(rate, SAFE_STEPS / steps)


@dataclass(frozen=True)
class Schedule:
    """Learning rates that fall linearly from `alpha` to `min_alpha` over `total` epochs, of which `done` lie behind.

    >>> Schedule(0.1, 0.0, total=4, done=1).rate(0.5)
    0.0625
    """

    alpha: float | None  # None until it has been chosen for the corpus
    min_alpha: float
    total: int
    done: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_alpha", finite_number("min_alpha", self.min_alpha, least=0))
        if self.alpha is not None:
            object.__setattr__(self, "alpha", finite_number("alpha", self.alpha, above=0))
            object.__setattr__(self, "min_alpha", min(self.min_alpha, self.alpha))
        object.__setattr__(self, "total", whole_number("total_epochs", self.total))
        object.__setattr__(self, "done", whole_number("done", self.done, least=0))
        if self.done > self.total:
            raise OptionError(f"done is {self.done} of {self.total} epochs; it must be at most all of them")

    @property
    def left(self) -> int:
        """How many epochs are still to come."""
        return self.total - self.done

    def check_left(self, epochs: int) -> None:
        """Refuse to train more epochs than are left."""
        if epochs > self.left:
            raise OptionError(
                f"epochs is {epochs} but the rate schedule has {self.left} of {self.total} left; ask for fewer, or "
                "start a new schedule with total_epochs or a rate"
            )

    def rate(self, epochs: float) -> float:
        """The rate so many epochs after those that are done."""
        assert self.alpha is not None
        return self.alpha - (self.alpha - self.min_alpha) * (self.done + epochs) / self.total
