"""Labelled sentences, and the folder in which each task's are found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mumon.utils.text_files import read_text

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

    kind: Kind
    labels: list[str]
    splits: dict[str, Split]
    note: str | None = None

    def words(self) -> Counter[str]:
        """Every word, in order of appearance, and how often it occurs."""
        texts = (text for split in self.splits.values() for column in split.columns for text in column)
        return Counter(word for text in texts for word in text)


def find_test_names(splits: Iterable[str]) -> list[str]:
    """The names of the scores among those of the splits."""
    return [name for name in splits if name not in ("train", "dev")]


def read_raw_lines(path: Path) -> list[str]:
    """The lines of a file in which nothing but a line feed ends one: sentences may hold any other separator."""
    return [line.removesuffix("\r") for line in read_text(path).split("\n")]
