"""Labelled sentences: the data of a task."""

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
    """One split of a task. `columns` has one or two texts per item, `labels` one number per item, or one per word."""

    columns: list[list[tuple[str, ...]]]
    labels: list[list[int]]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Examples:
    """The labelled data of a task. The splits are train, dev, and the tests by the name of their score."""

    kind: Kind
    labels: list[str]
    splits: dict[str, Split]
    note: str | None = None

    def words(self) -> Counter[str]:
        """Count every word, in order of appearance."""
        texts = (text for split in self.splits.values() for column in split.columns for text in column)
        return Counter(word for text in texts for word in text)


def find_test_names(splits: Iterable[str]) -> list[str]:
    """Return the names of the tests among the names of splits."""
    return [name for name in splits if name not in ("train", "dev")]


def read_raw_lines(path: Path) -> list[str]:
    """Read lines that only a line feed ends: sentences may contain any other separator."""
    return [line.removesuffix("\r") for line in read_text(path).split("\n")]
