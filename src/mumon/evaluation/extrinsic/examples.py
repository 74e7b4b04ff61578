"""Labelled sentences, and the folder in which each task's are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mumon.progress import Progress

Kind = Literal["sentence", "pair", "tags"]


@dataclass(frozen=True)
class Split:
    """Items of one part of a task: `columns` has one or two texts for each, `labels` one number, or one per word."""

    columns: list[list[tuple[str, ...]]]
    labels: list[list[int]]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Examples:
    """A task's labelled data. Splits are train, dev, and the tests by the name of their score."""

    task: str
    kind: Kind
    labels: list[str]
    splits: dict[str, Split]
    note: str | None = None

    @property
    def tests(self) -> list[str]:
        """The names of the scores."""
        return [name for name in self.splits if name not in ("train", "dev")]

    def words(self) -> list[str]:
        """Every different word, in order of appearance."""
        found = {
            word: None
            for split in self.splits.values()
            for column in split.columns
            for sentence in column
            for word in sentence
        }
        return list(found)


def load_examples(task: str, progress: Progress | None = None) -> Examples:
    """The data of a task, from the mirror that MUMON_DATA names or from the cache."""
    from mumon import datasets
    from mumon.evaluation.extrinsic.conll import read_conll
    from mumon.evaluation.extrinsic.glue import read_glue

    if task == "ner":
        return read_conll(datasets.fetch_folder("conll2003", progress))
    return read_glue(task, datasets.fetch_folder(task, progress))
