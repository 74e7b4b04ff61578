"""What can be asked of vectors: tasks, each split into a dev and a test half."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError

Kind = Literal["similarity", "analogy", "categories", "outliers"]
Fold = Literal["dev", "test", "all"]
FOLDS: tuple[Fold, ...] = ("dev", "test", "all")

MEAN = "mean"  # of the tasks, where one is named
SEMANTIC_SECTIONS = ("capital-common-countries", "capital-world", "currency", "city-in-state", "family")


@dataclass(frozen=True, eq=False)
class Task:
    """Items of one kind, each a tuple of words.

    similarity: two words, and the `gold` score that people gave them; analogy: a, b, c and the answer; categories: one
    word, whose category is its section; outliers: the words that belong together, then the one that does not.
    """

    name: str
    kind: Kind
    items: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]
    gold: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def fold(self, fold: Fold, seed: int = 0) -> NDArray[np.bool_]:
        """Which items belong to a fold: a random half is dev, the rest test.

        The half is chosen by a hash of each item's own content, so it does not depend on the order of the file.

        >>> task = Task("t", "similarity", (("a", "b"), ("c", "d"), ("e", "f")), ("", "", ""), np.arange(3.0))
        >>> int(task.fold("dev").sum()), int(task.fold("test").sum()), int(task.fold("all").sum())
        (1, 2, 3)
        """
        if fold == "all":
            return np.ones(len(self), bool)
        gold = [""] * len(self) if self.gold is None else [f"{score:.9g}" for score in self.gold]
        keys = ["\t".join([str(seed), *words, score]) for words, score in zip(self.items, gold, strict=True)]
        digests = [hashlib.blake2b(key.encode(), digest_size=16).digest() for key in keys]
        dev = np.zeros(len(self), bool)
        dev[sorted(range(len(self)), key=digests.__getitem__)[: len(self) // 2]] = True
        return dev if fold == "dev" else ~dev

    def groups(self) -> dict[str, NDArray[np.bool_]]:
        """The sections of the task by name, and for Google's also its two halves; empty if there is just one."""
        names = np.array(self.sections)
        found = list(dict.fromkeys(self.sections))
        if len(found) < 2 or self.kind == "categories":
            return {}
        groups = {name: names == name for name in found if name}  # questions before the first section have none
        if set(SEMANTIC_SECTIONS) <= set(found):
            semantic = np.isin(names, SEMANTIC_SECTIONS)
            groups |= {"semantic": semantic, "syntactic": ~semantic}
        return groups


def check_task_names(tasks: Sequence[Task]) -> None:
    """Refuse tasks that a report could not tell apart."""
    names = [task.name for task in tasks]
    for name in names:
        if name == MEAN or names.count(name) > 1:
            taken = "is what the mean of all tasks is called" if name == MEAN else "is the name of two tasks"
            raise OptionError(f"{name!r} {taken}; rename the file")


def is_possessive(word: str) -> bool:
    """Whether a word ends in an apostrophe and s, of either shape."""
    return word.endswith(("'s", "’s"))
