"""The settings of training, checked when they are made."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from mumon.corpus.subwords import Ngrams
from mumon.errors import OptionError
from mumon.training.objectives import Objective, find_objective
from mumon.utils.validation import check_float, check_integer, format_value

UPDATES = ("correct", "faulty")
ROW_EXPONENT = 0.25  # how much slower frequent words learn by default (docs/rates.md)


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a training does, apart from its data and its learning rates.

    The parameters are those of `mumon.Word2Vec`; `objective` is the name of a record in `training.objectives`,
    and `window`, `shared_negatives` and `batch` are by default that record's.

    >>> Settings(window=0)
    Traceback (most recent call last):
    mumon.errors.OptionError: window is 0; it must be a whole number of at least 1
    """

    # None in window, shared_negatives and batch stands for the objective's number.
    objective: str = "cbow"
    update: Literal["correct", "faulty"] = "correct"
    cbow_mean: bool = True
    positions: int = 0
    subwords: Ngrams | None = None
    pool_rows: bool = False
    exact: bool = False
    window: int = None  # type: ignore[assignment]
    shrink_windows: bool = True
    negative: int = 5
    shared_negatives: int = None  # type: ignore[assignment]
    batch: int = None  # type: ignore[assignment]
    ns_exponent: float = 0.75
    rate_exponent: float | None = None
    sample: float = 1e-3
    target_weight: float | None = None
    shuffle: bool = False
    seed: int = 1
    workers: int = 1

    def __post_init__(self) -> None:
        if self.update not in UPDATES:
            raise OptionError(f"update is {format_value(self.update)}; it must be {' or '.join(UPDATES)}")
        for name in ("cbow_mean", "pool_rows", "exact", "shrink_windows", "shuffle"):
            object.__setattr__(self, name, bool(getattr(self, name)))
        object.__setattr__(self, "positions", check_integer("positions", self.positions, least=0))
        self._refuse_positions()
        self._refuse_subwords()
        shared_negatives, batch = self.objective_record.sharing
        defaults = {
            "window": self.objective_record.window(self),
            "shared_negatives": shared_negatives,
            "batch": batch,
        }
        for name, default in defaults.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        for name in ("window", "negative", "shared_negatives", "batch", "workers"):
            object.__setattr__(self, name, check_integer(name, getattr(self, name)))
        object.__setattr__(self, "seed", check_integer("seed", self.seed, least=0))
        object.__setattr__(self, "ns_exponent", check_float("ns_exponent", self.ns_exponent))
        if self.rate_exponent is not None:
            object.__setattr__(self, "rate_exponent", check_float("rate_exponent", self.rate_exponent, least=0))
        if self.target_weight is not None:
            object.__setattr__(self, "target_weight", check_float("target_weight", self.target_weight, least=0))
        object.__setattr__(self, "sample", check_float("sample", self.sample, least=0))

    def to_json(self) -> dict[str, Any]:
        """Return the settings as a saved model has them; without subwords, these are left out."""
        settings = asdict(self)
        if self.subwords is None:
            del settings["subwords"], settings["pool_rows"]
        return settings

    @property
    def objective_record(self) -> Objective:
        """What is known of the objective, in the form that `positions` or `subwords` asks for."""
        record = find_objective(self.objective)
        if self.subwords is not None:
            return record.with_bags or record
        return record.positional or record if self.positions else record

    @property
    def row_exponent(self) -> float:
        """How much slower frequent words learn (`sampling.compute_row_rates`); 0, as with `exact`, is plain SGD."""
        if self.rate_exponent is not None:
            return self.rate_exponent
        return 0.0 if self.exact else ROW_EXPONENT

    @property
    def used_target_weight(self) -> float:
        """The λ of the vectors that users get, source + λ · target rows: the one given, or the objective's."""
        return self.objective_record.target_weight(self) if self.target_weight is None else self.target_weight

    def _refuse_subwords(self) -> None:
        """Refuse subwords where words are no bags of rows."""
        if isinstance(self.subwords, dict):  # of a saved model
            object.__setattr__(self, "subwords", Ngrams(**self.subwords))
        if self.subwords is None:
            return
        record = find_objective(self.objective)
        if record.with_bags is None:
            raise OptionError(f"{record.title} has no subwords; train CBOW or skip-gram, or leave them out")
        if self.positions:
            raise OptionError(f"positions is {self.positions} and subwords have no weights of positions; choose 0")

    def _refuse_positions(self) -> None:
        """Refuse weights of positions where there is no correct mean that they could weigh."""
        if not self.positions:
            return
        record = find_objective(self.objective)
        if record.positional is None:
            reason = f"{record.title} has no"
        elif not self.cbow_mean:
            reason = "the sum of context vectors (cbow_mean=0) has no"
        elif self.update not in record.positional.updates:
            reason = f"update={self.update!r} has no gradient for"
        else:
            return
        raise OptionError(
            f"positions is {self.positions} and {reason} weights of positions; choose 0, or train CBOW with the mean "
            "and the correct update"
        )
