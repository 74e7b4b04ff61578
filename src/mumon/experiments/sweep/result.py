"""What a sweep found: the table of all configurations, the chosen one, and its scores on the test halves."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mumon import __version__
from mumon.experiments.result_store import write_json
from mumon.experiments.sweep.plan import Plan
from mumon.experiments.sweep.selection import Configuration, find_best_per_value
from mumon.experiments.sweep.space import OBJECTIVES, Options, find_swept_options, is_numeric
from mumon.utils.strict_json import parse

if TYPE_CHECKING:
    from mumon.evaluation.report import Score
    from mumon.word2vec import Word2Vec

RESULT_NAME = "result.json"
FLAGS = {"alpha": "--lr", "min_alpha": "--min-lr", "vector_size": "--dim", "max_final_vocab": "--max-vocab"}
# Options that are flags on the command line, and the value that the flag means.
SWITCH_FLAGS = {
    "exact": ("--exact", True),
    "cbow_mean": ("--cbow-sum", 0),
    "shrink_windows": ("--fixed-window", False),
    "shuffle": ("--shuffle", True),
    "tokenize": ("--tokenize", True),
    "lowercase": ("--lowercase", True),
}


@dataclass(frozen=True)
class TestScore:
    """A score × 100 with its 95 % interval, over the `covered` ones of `n` questions."""

    __test__ = False  # pytest: this is no test

    score: float
    low: float
    high: float
    n: int
    covered: int

    @classmethod
    def of(cls, score: Score) -> TestScore:
        """Return the numbers of a score of an evaluation."""
        return cls(float(score.score), float(score.low), float(score.high), int(score.n), int(score.covered))


@dataclass(frozen=True)
class Tested:
    """A chosen model, which was asked the test questions.

    Attributes
    ----------
    name
        "best", or the value of the compared option.
    run
        The key of its run.
    options, seed
        How it was trained.
    model
        Its path inside the folder of the sweep.
    scores
        `scores[task][fold]`, for each task and "mean", and the folds "dev" and "test".
    """

    name: str
    run: str
    options: Options
    seed: int
    model: str
    scores: dict[str, dict[str, TestScore]]

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Tested:
        """Return the model that `SweepResult.to_json` wrote."""
        known = {name: record[name] for name in cls.__dataclass_fields__}
        known["scores"] = {
            task: {
                fold: TestScore(**{name: math.nan if value is None else value for name, value in score.items()})  # type: ignore[arg-type]
                for fold, score in folds.items()
            }
            for task, folds in record["scores"].items()
        }
        return cls(**known)


@dataclass(frozen=True)
class SweepResult:
    """The result of a sweep.

    Attributes
    ----------
    folder, plan
        The folder of the sweep, and what it tried.
    configurations
        Sorted by their dev score; those that failed are last.
    best
        The chosen configuration.
    tested
        The models that were asked the test questions: the best one first, and with `compare` the best of each value of
        that option.
    comparisons
        With `compare`, the differences between these models, task by task.
    notes
        Warnings, such as a best value at the edge of its list.
    command
        The command line that trains the best model again.
    compare
        The compared option, or None.
    plots
        The files of the curve.
    """

    folder: Path
    plan: Plan
    configurations: list[Configuration]
    best: Configuration
    tested: list[Tested]
    comparisons: list[dict[str, Any]]
    notes: list[str]
    command: str
    compare: str | None = None
    plots: list[Path] = field(default_factory=list)

    @property
    def swept(self) -> list[str]:
        """Options that differ between configurations."""
        return find_swept_options(self.plan.space)

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks."""
        return list(self.plan.tasks)

    @property
    def best_per_value(self) -> dict[str, dict[Any, Configuration]]:
        """Best configuration of each value, for each swept option without an order and for the compared one."""
        names = [name for name in self.swept if not is_numeric(name) or name == self.compare]
        return {name: find_best_per_value(self.configurations, name, self.plan.space) for name in names}

    def model(self) -> Word2Vec:
        """Load the best model."""
        from mumon.fasttext import load_trained

        return load_trained(self.folder / self.tested[0].model)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain lists and dictionaries; nan becomes None."""
        value = {
            "mumon_version": __version__,
            "swept": self.swept,
            "tasks": self.tasks,
            "best": _build_row(self.best, self.tasks),
            "tested": [asdict(model) for model in self.tested],
            "compare": self.compare,
            "comparisons": self.comparisons,
            "best_per_value": {
                name: [{"value": value, **_build_row(item, self.tasks)} for value, item in found.items()]
                for name, found in self.best_per_value.items()
            },
            "configurations": [_build_row(item, self.tasks) for item in self.configurations],
            "notes": self.notes,
            "command": self.command,
        }
        cleaned: dict[str, Any] = _without_nan(value)
        return cleaned

    def save(self) -> None:
        """Write result.json."""
        write_json(self.folder / RESULT_NAME, self.to_json())


def read_earlier_tests(folder: Path) -> tuple[list[Tested], list[dict[str, Any]]]:
    """Read the models that an earlier call has tested, and their differences.

    Parameters
    ----------
    folder
        The folder of the sweep.

    Returns
    -------
    tuple of two lists
        Both are empty if there is no readable result.
    """
    try:
        record = parse((folder / RESULT_NAME).read_bytes())
        return [Tested.from_json(model) for model in record["tested"]], record["comparisons"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # it is made again
        return [], []


def build_train_command(corpus: Sequence[str], options: Mapping[str, Any], seed: int) -> str:
    """Build the command line that trains a configuration.

    Parameters
    ----------
    corpus
        Files to train on.
    options
        Options of `Word2Vec` by name.
    seed
        Seed of the training; 1 is the default of the command.

    Returns
    -------
    str
        The command, quoted for a shell.

    Examples
    --------
    >>> build_train_command(["my text.txt"], {"alpha": 0.1, "sg": 1, "exact": True, "shuffle": False}, seed=2)
    "mumon train 'my text.txt' -o winner.mumon --lr 0.1 --objective sg --exact --seed 2"
    """
    words = ["mumon", "train", *corpus, "-o", "winner.mumon"]
    for name, value in options.items():
        if name in SWITCH_FLAGS:
            flag, meant = SWITCH_FLAGS[name]
            words += [flag] if value == meant else []
        elif name == "sg":
            words += ["--objective", OBJECTIVES[value]]
        elif value is not None and name != "workers":
            words += [FLAGS.get(name, "--" + name.replace("_", "-")), str(value)]
    if seed != 1:
        words += ["--seed", str(seed)]
    return shlex.join(words)


def _build_row(item: Configuration, tasks: Sequence[str]) -> dict[str, Any]:
    return {
        "options": item.options,
        "mean": item.mean,
        "deviation": item.deviation,
        "dev": {task: item.dev(task) for task in tasks},
        "loss": item.loss,
        "seconds": item.seconds,
        "seeds": [run.seed for run in item.runs],
        "failed": item.failed,
    }


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
