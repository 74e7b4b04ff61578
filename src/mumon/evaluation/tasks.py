"""Tasks: the questions that vectors are asked, each task split into a dev and a test half."""

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

MEAN = "mean"  # stands for the mean of all tasks where a task is named
SEMANTIC_SECTIONS = ("capital-common-countries", "capital-world", "currency", "city-in-state", "family")


@dataclass(frozen=True, eq=False)
class Task:
    """Questions of one kind.

    Parameters
    ----------
    name
        How reports call the task.
    kind
        "similarity", "analogy", "categories" or "outliers".
    items
        The words of each question. Similarity: two words; analogy: a, b, c and the answer; categories: one word;
        outliers: the words that belong together, then the one that does not.
    sections
        The section of each question, or ""; for categories, the category of the word.
    gold
        The scores that people gave, for similarity.
    """

    name: str
    kind: Kind
    items: tuple[tuple[str, ...], ...]
    sections: tuple[str, ...]
    gold: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def fold(self, fold: Fold, seed: int = 0) -> NDArray[np.bool_]:
        """Return which items belong to a fold: a random half is dev, the rest is test.

        Parameters
        ----------
        fold
            "dev", "test" or "all".
        seed
            Fixes the halves. They are chosen by a hash of each item, so they do not depend on the order of the file.

        Returns
        -------
        array of bool
            A mask over the items.

        Examples
        --------
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
        """Return the sections by name, each as a mask over the items.

        Google's analogies have two more groups, semantic and syntactic. A task with a single section has no groups.
        """
        names = np.array(self.sections)
        found = list(dict.fromkeys(self.sections))
        if len(found) < 2 or self.kind == "categories":
            return {}
        groups = {name: names == name for name in found if name}  # questions before the first section have no name
        if set(SEMANTIC_SECTIONS) < set(found):  # the German questions are two files
            semantic = np.isin(names, SEMANTIC_SECTIONS)
            groups |= {"semantic": semantic, "syntactic": ~semantic}
        return groups


def check_task_names(tasks: Sequence[Task]) -> None:
    """Refuse tasks that a report could not tell apart."""
    names = [task.name for task in tasks]
    for name in names:
        if name == MEAN or names.count(name) > 1:
            taken = "is the name of the mean of all tasks" if name == MEAN else "is the name of two tasks"
            raise OptionError(f"{name!r} {taken}; rename the file")


def is_possessive(word: str) -> bool:
    """Return whether a word ends in an apostrophe and s; the apostrophe may be straight or curly."""
    return word.endswith(("'s", "’s"))
