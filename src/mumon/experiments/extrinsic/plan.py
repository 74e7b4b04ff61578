"""What is trained on a task, and how much time it may take: the paper's settings, and smaller ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from mumon.errors import OptionError
from mumon.experiments.result_store import digest_json

VERSION = 1  # raise it when a change to networks, training or readers changes results
PAIRS = ("qnli", "mnli")
METRICS = {"sst2": "accuracy", "qnli": "accuracy", "mnli": "accuracy", "ner": "F1", "ner-tuned": "F1"}
DATA = {task: task.split("-")[0] for task in METRICS}  # the data of a task
TASK_VARIANTS = {
    **{task: (task,) for task in ("sst2", "qnli", "mnli")},
    "ner": ("ner", "ner-tuned"),
    "ner-frozen": ("ner",),
}


@dataclass(frozen=True)
class Budget:
    """Sizes of the networks and of the search; the defaults are the paper's and take days on a CPU.

    Parameters
    ----------
    draws
        Networks per search, each with its own dropout and learning rate.
    dropout, rate
        The limits between which these are drawn, uniformly and log-uniformly.
    epochs, patience
        A network is trained for at most `epochs` epochs, until `patience` of them in a row are no better on dev.
    batch
        Items in a batch.
    encoder_width, tagger_width
        LSTM units per direction.
    hidden
        Units of the classifier of pairs.
    train_sentences, dev_sentences
        Use a sample of this many sentences, where a pair counts as two; None means all.
    longest
        Cut sentences to this many words, except those to be tagged; None means never.
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
        """Return the width of a task's LSTM."""
        return self.tagger_width if METRICS[task] == "F1" else self.encoder_width


# For two cores. Twelve epochs are too few for slow rates, so none is drawn.
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
    """Return a budget by name, with changes.

    Parameters
    ----------
    budget
        "small", "full", or a `Budget`.
    **changes
        Fields with other values; None leaves a field as it is.

    Returns
    -------
    Budget
        The budget.

    Examples
    --------
    >>> choose_budget("full", draws=3, epochs=None).draws
    3
    """
    if isinstance(budget, str):
        if budget not in BUDGETS:
            raise OptionError(f"no budget is called {budget!r}; the {len(BUDGETS)} are {', '.join(BUDGETS)}")
        budget = BUDGETS[budget]
    return replace(budget, **{name: value for name, value in changes.items() if value is not None})


def choose_tasks(names: Sequence[str]) -> list[str]:
    """List the tasks behind names: `ner` is two, with frozen and with trained vectors, and `ner-frozen` the first.

    >>> choose_tasks(["sst2", "ner"]), choose_tasks(["ner-frozen"])
    (['sst2', 'ner', 'ner-tuned'], ['ner'])
    """
    unknown = [name for name in names if name.lower() not in TASK_VARIANTS]
    if unknown or not names:
        what = f"{unknown[0]!r} is not an extrinsic task" if unknown else "0 tasks were given"
        raise OptionError(f"{what}; the {len(TASK_VARIANTS)} are {', '.join(TASK_VARIANTS)}")
    return list(dict.fromkeys(task for name in names for task in TASK_VARIANTS[name.lower()]))


@dataclass(frozen=True)
class Draw:
    """One point of the random search."""

    dropout: float
    rate: float


def draw_points(budget: Budget, seed: int) -> list[Draw]:
    """Draw the points of a search: the same for every embedding and task; a longer search begins with the same points.

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
    """One network to train: everything its result depends on. `data` and `vectors` are digests that name files."""

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
        """Whether the word vectors are trained, too."""
        return self.task.endswith("-tuned")

    @property
    def key(self) -> str:
        """A short name that is unique to this trial."""
        return digest_json({"version": VERSION, **asdict(self)}, size=12)

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Trial:
        """Build a trial from the result of `dataclasses.asdict`."""
        return cls(**{**record, "draw": Draw(**record["draw"])})


def build_trials(task: str, data: str, vectors: str, seed: int, budget: Budget, torch: str) -> list[Trial]:
    """Build the trials of one search, one for each draw.

    Parameters
    ----------
    task
        A task, such as "ner-tuned".
    data, vectors
        The digests of the inputs.
    seed
        Fixes the draws and the training.
    budget
        The sizes.
    torch
        The version of torch, which results depend on.

    Returns
    -------
    list of Trial
        The trials.
    """
    same = {name: getattr(budget, name) for name in ("hidden", "epochs", "patience", "batch")}
    same["train_items"] = _count_items(task, budget.train_sentences)
    same["dev_items"] = _count_items(task, budget.dev_sentences)
    same["longest"] = budget.longest if METRICS[task] == "accuracy" else None  # every word needs its tag
    return [
        Trial(task, data, vectors, seed, draw, budget.width(task), **same, torch=torch)
        for draw in draw_points(budget, seed)
    ]


def _count_items(task: str, sentences: int | None) -> int | None:
    """Return how many items of a task have this many sentences."""
    return sentences if sentences is None or task not in PAIRS else max(1, sentences // 2)
