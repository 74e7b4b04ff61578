"""What is trained on a task, and how much may be spent on it: the paper's settings, and smaller ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mumon.errors import OptionError
from mumon.experiments.result_store import digest_json

VERSION = 1  # of networks, training and readers: raise it when a change of theirs changes results
PAIRS = ("qnli", "mnli")
METRICS = {"sst2": "accuracy", "qnli": "accuracy", "mnli": "accuracy", "ner": "F1", "ner-tuned": "F1"}
DATA = {task: task.split("-")[0] for task in METRICS}  # what a task is trained and tested on
TASK_VARIANTS = {"sst2": ("sst2",), "qnli": ("qnli",), "mnli": ("mnli",), "ner": ("ner", "ner-tuned")}


@dataclass(frozen=True)
class Budget:
    """Model selection and sizes; the defaults are the paper's, and so cost days on a CPU.

    Each of `draws` networks has its own dropout (uniform) and learning rate (log-uniform) and is trained for at most
    `epochs` epochs, until `patience` of them in a row were no better on dev. Widths are LSTM units per direction.
    Limits of None mean everything. `train_sentences` and `dev_sentences` are sampled, a pair counting as two; sentences
    are cut to `longest` words, but never those to be tagged.
    """

    draws: int = 10
    dropout: tuple[float, float] = (0.0, 0.7)
    rate: tuple[float, float] = (1e-6, 1e-2)
    epochs: int = 100
    patience: int = 2
    batch: int = 32
    encoder_width: int = 1024
    tagger_width: int = 256
    hidden: int = 512
    train_sentences: int | None = None
    dev_sentences: int | None = None
    longest: int | None = None

    def __post_init__(self) -> None:
        for name in ("draws", "epochs", "patience", "batch", "encoder_width", "tagger_width", "hidden"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("train_sentences", "dev_sentences", "longest"):
            if (limit := getattr(self, name)) is not None and limit < 1:
                raise OptionError(f"{name} is {limit}; it must be at least 1, or None for no limit")
        if not 0 <= self.dropout[0] <= self.dropout[1] < 1:
            raise OptionError(f"dropout is drawn from {self.dropout}; the limits must rise and lie in 0 … 1")
        if not 0 < self.rate[0] <= self.rate[1] < 1:
            raise OptionError(f"the rate is drawn from {self.rate}; the limits must rise and lie between 0 and 1")

    def width(self, task: str) -> int:
        """The width of a task's LSTM."""
        return self.tagger_width if METRICS[task] == "F1" else self.encoder_width


# For two cores. Twelve epochs are few for slow rates, so none is drawn.
SMALL = Budget(
    draws=3,
    rate=(5e-4, 1e-2),
    epochs=12,
    encoder_width=64,
    tagger_width=128,
    train_sentences=8000,
    dev_sentences=2000,
    longest=60,
)
BUDGETS = {"small": SMALL, "full": Budget()}


def choose_budget(budget: str | Budget, **changes: Any) -> Budget:
    """A budget by name, with whatever of it was asked to be otherwise.

    >>> choose_budget("full", draws=3, epochs=None).draws
    3
    """
    if isinstance(budget, str):
        if budget not in BUDGETS:
            raise OptionError(f"no budget is called {budget!r}; the {len(BUDGETS)} are {', '.join(BUDGETS)}")
        budget = BUDGETS[budget]
    return replace(budget, **{name: value for name, value in changes.items() if value is not None})


def choose_tasks(names: Sequence[str]) -> list[str]:
    """The tasks behind what people ask for: `ner` is two, with frozen and with fine-tuned vectors.

    >>> choose_tasks(["sst2", "ner"])
    ['sst2', 'ner', 'ner-tuned']
    """
    unknown = [name for name in names if name.lower() not in TASK_VARIANTS]
    if unknown or not names:
        what = f"{unknown[0]!r} is no extrinsic task" if unknown else "0 tasks were given"
        raise OptionError(f"{what}; the {len(TASK_VARIANTS)} are {', '.join(TASK_VARIANTS)}")
    return list(dict.fromkeys(task for name in names for task in TASK_VARIANTS[name.lower()]))


@dataclass(frozen=True)
class Draw:
    """One point of the random search."""

    dropout: float
    rate: float


def draw_points(budget: Budget, seed: int) -> list[Draw]:
    """The points of a search: the same for every embedding and task, and the first of many are those of few.

    >>> draw_points(Budget(draws=2), seed=1) == draw_points(Budget(draws=5), seed=1)[:2]
    True
    """
    points = []
    for index in range(budget.draws):
        random = np.random.default_rng([seed, index])
        dropout = random.uniform(*budget.dropout)
        rate = 10 ** random.uniform(*np.log10(budget.rate))
        points.append(Draw(round(float(dropout), 3), float(f"{rate:.3g}")))
    return points


@dataclass(frozen=True)
class Trial:
    """One network to train: everything its result depends on. `data` and `vectors` are digests, and names of files."""

    task: str
    data: str
    vectors: str
    seed: int
    draw: Draw
    width: int
    hidden: int
    epochs: int
    patience: int
    batch: int
    train_items: int | None
    dev_items: int | None
    longest: int | None
    torch: str

    @property
    def tuned(self) -> bool:
        """Whether the word vectors are trained along."""
        return self.task.endswith("-tuned")

    @property
    def key(self) -> str:
        """A short name that only this trial has."""
        return digest_json({"version": VERSION, **asdict(self)}, size=12)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Trial:
        """The reverse of `dataclasses.asdict`."""
        return cls(**{**record, "draw": Draw(**record["draw"])})


def build_trials(task: str, data: str, vectors: str, seed: int, budget: Budget, torch: str) -> list[Trial]:
    """One search: a trial for each draw."""
    same = {name: getattr(budget, name) for name in ("hidden", "epochs", "patience", "batch")}
    same["train_items"] = _count_items(task, budget.train_sentences)
    same["dev_items"] = _count_items(task, budget.dev_sentences)
    same["longest"] = budget.longest if METRICS[task] == "accuracy" else None  # every word wants its tag
    return [
        Trial(task, data, vectors, seed, draw, budget.width(task), **same, torch=torch)
        for draw in draw_points(budget, seed)
    ]


def _count_items(task: str, sentences: int | None) -> int | None:
    """How many items of a task have so many sentences."""
    return sentences if sentences is None or task not in PAIRS else max(1, sentences // 2)
