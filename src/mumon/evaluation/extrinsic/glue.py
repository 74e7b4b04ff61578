"""GLUE's files, read by their headers: sentences, or pairs of them, with a label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mumon.errors import DataError, FormatError
from mumon.evaluation.extrinsic.examples import Examples, Split
from mumon.evaluation.files import read_lines

LABELS = ("gold_label", "label")
NO_LABEL = "-"  # MNLI: the annotators did not agree
HELD_OUT = 0.1  # of the training data, where the test labels are secret and dev has to stand in for test

# Words as the Penn Treebank has them, which is how SST-2 comes: clitics apart, hyphens inside, punctuation alone.
WORD = re.compile(r"\w+(?=n['’]t\b)|n['’]t\b|['’](?:s|m|d|re|ve|ll)\b|\w+(?:[-.&/]\w+)*|[^\w\s]", re.IGNORECASE)


@dataclass(frozen=True)
class Layout:
    """The columns of a task's texts, and the names that its files may have; tests are by the name of the score."""

    columns: tuple[str, ...]
    train: tuple[str, ...]
    dev: tuple[str, ...]
    tests: dict[str, tuple[str, ...]]
    dev_as_tests: dict[str, tuple[str, ...]]  # what is tested on where test files have no labels


LAYOUTS = {
    "sst2": Layout(("sentence",), ("train.tsv",), ("dev.tsv",), {"sst2": ("test.tsv",)}, {"sst2": ("dev.tsv",)}),
    "qnli": Layout(
        ("question", "sentence"), ("train.tsv",), ("dev.tsv",), {"qnli": ("test.tsv",)}, {"qnli": ("dev.tsv",)}
    ),
    "mnli": Layout(
        ("sentence1", "sentence2"),
        ("train.tsv",),
        ("dev.tsv", "dev_matched.tsv"),
        {"mnli-m": ("test_matched.tsv",), "mnli-mm": ("test_mismatched.tsv",)},
        {"mnli-m": ("dev_matched.tsv", "dev.tsv"), "mnli-mm": ("dev_mismatched.tsv",)},
    ),
}


def words_of(text: str) -> tuple[str, ...]:
    """The words and marks of a sentence, as the Penn Treebank splits them.

    >>> words_of("They can't say it's well-made!")
    ('They', 'ca', "n't", 'say', 'it', "'s", 'well-made', '!')
    """
    return tuple(WORD.findall(text))


def read_glue(task: str, folder: Path) -> Examples:
    """A GLUE task from a folder of its official files.

    Where the test files have labels, they are the test. The official ones have none: then dev is the test, and a tenth
    of the training data is held out to choose by.
    """
    layout = LAYOUTS[task]
    train = _rows(_found(folder, layout.train), layout.columns)
    tests = {name: _labelled(folder, names, layout.columns) for name, names in layout.tests.items()}
    if all(rows is not None for rows in tests.values()):
        dev = _rows(_found(folder, layout.dev), layout.columns)
        note = None
    else:
        tests = {name: _labelled(folder, names, layout.columns) for name, names in layout.dev_as_tests.items()}
        held = np.random.default_rng(0).permutation(len(train))[: max(1, int(HELD_OUT * len(train)))]
        chosen = set(held.tolist())
        dev = [row for index, row in enumerate(train) if index in chosen]
        train = [row for index, row in enumerate(train) if index not in chosen]
        note = f"{task} has no test labels: its dev files are the test, and {len(dev):,} training items are the dev"
    empty = [name for name, rows in tests.items() if not rows]
    if empty:
        raise DataError(f"{folder} has 0 labelled items to test {empty[0]} on; put the official GLUE files there")
    labels = sorted({row[0] for row in train})
    splits = {"train": train, "dev": dev, **{name: rows for name, rows in tests.items() if rows}}
    return Examples(
        task,
        "pair" if len(layout.columns) > 1 else "sentence",
        labels,
        {name: _split(rows, labels, folder) for name, rows in splits.items()},
        note,
    )


Row = tuple[str, tuple[str, ...]]  # the label and the texts


def _split(rows: Sequence[Row], labels: Sequence[str], folder: Path) -> Split:
    numbers = {label: number for number, label in enumerate(labels)}
    unknown = next((label for label, _ in rows if label not in numbers), None)
    if unknown is not None:
        known = ", ".join(labels)
        raise FormatError(
            f"{folder} has the label {unknown[:40]!r}, which its {len(labels)} of training ({known}) lack"
        )
    columns = zip(*(map(words_of, texts) for _, texts in rows), strict=True)
    return Split([list(column) for column in columns], [[numbers[label]] for label, _ in rows])


def _found(folder: Path, names: Sequence[str]) -> Path:
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise DataError(f"{folder} has no {' or '.join(names)}; put the official GLUE files there")
    return path


def _labelled(folder: Path, names: Sequence[str], columns: Sequence[str]) -> list[Row] | None:
    """The rows of the first of several files, or None if it has no labels or is not there."""
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None or not set(LABELS) & set(_header(read_lines(path)[:1])):
        return None
    return _rows(path, columns)


def _header(lines: Sequence[str]) -> list[str]:
    return [name.strip() for name in lines[0].split("\t")] if lines else []


def _rows(path: Path, columns: Sequence[str]) -> list[Row]:
    """Label and texts of each line; the files have no quoting."""
    lines = read_lines(path)
    header = _header(lines)
    label = next((name for name in LABELS if name in header), None)
    missing = [name for name in columns if name not in header] or ([] if label else [" or ".join(LABELS)])
    if missing:
        raise FormatError(
            f"{path} has {len(header)} columns and none is called {missing[0]}; it is no file of this task"
        )
    places = [header.index(name) for name in columns]
    assert label is not None
    rows = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        fields = line.split("\t")
        if len(fields) != len(header):
            raise FormatError(
                f"{path} has {len(fields)} columns in line {number} and {len(header)} in its header; correct it"
            )
        texts = tuple(fields[place] for place in places)
        if (gold := fields[header.index(label)].strip()) != NO_LABEL and all(map(words_of, texts)):
            rows.append((gold, texts))
    if not rows:
        raise FormatError(f"{path} holds 0 labelled items; fetch it again")
    return rows
