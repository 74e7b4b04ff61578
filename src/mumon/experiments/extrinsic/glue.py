"""Reading GLUE's files by their headers: sentences, or pairs of them, with a label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mumon.errors import DataError, FormatError
from mumon.experiments.extrinsic.examples import Examples, Split, read_raw_lines

LABEL_COLUMNS = ("gold_label", "label")
NO_LABEL = "-"  # MNLI: the annotators did not agree
SECRET_LABEL = "-1"  # the label in the test files that some libraries write
HELD_OUT_SHARE = 0.1  # of the training data, where the test labels are secret and dev is used as test

SEPARATE_CLITIC = re.compile(r"\s+(n['’]t|['’](?:s|m|d|re|ve|ll))\b", re.IGNORECASE)  # clitics, as SST-2 has them
WORD = re.compile(r"\w+(?:(?:['’.&/-]|(?<=\d),(?=\d))\w+)*|[^\w\s]")

Row = tuple[str, tuple[tuple[str, ...], ...]]  # the label and the words of each text


@dataclass(frozen=True)
class Layout:
    """The columns of a task's texts, and the names that its files may have; tests go by the name of the score."""

    columns: tuple[str, ...]
    dev: tuple[str, ...]
    tests: dict[str, tuple[str, ...]]
    dev_as_tests: dict[str, tuple[str, ...]]  # used as tests if the test files have no labels


LAYOUTS = {
    "sst2": Layout(("sentence",), ("dev.tsv",), {"sst2": ("test.tsv",)}, {"sst2": ("dev.tsv",)}),
    "qnli": Layout(("question", "sentence"), ("dev.tsv",), {"qnli": ("test.tsv",)}, {"qnli": ("dev.tsv",)}),
    "mnli": Layout(
        ("sentence1", "sentence2"),
        ("dev.tsv", "dev_matched.tsv"),
        {"mnli-m": ("test_matched.tsv",), "mnli-mm": ("test_mismatched.tsv",)},
        {"mnli-m": ("dev_matched.tsv", "dev.tsv"), "mnli-mm": ("dev_mismatched.tsv",)},
    ),
}


def split_words(text: str) -> tuple[str, ...]:
    """Split a sentence into words and punctuation; words keep their apostrophes, hyphens and inner points.

    >>> split_words("They do n't say it's well-made!")
    ('They', "don't", 'say', "it's", 'well-made', '!')
    """
    return tuple(WORD.findall(SEPARATE_CLITIC.sub(r"\1", text)))


def read_glue(task: str, folder: Path) -> Examples:
    """Read a GLUE task from a folder of its official files.

    If the test files have labels, they are the test. The official ones have none: then the dev files are the test, and
    a tenth of the training data is held out as dev.

    Parameters
    ----------
    task
        sst2, qnli or mnli.
    folder
        Has the .tsv files.

    Returns
    -------
    Examples
        The sentences and labels, with a note if dev is the test.

    Raises
    ------
    DataError
        If a file is missing.
    FormatError
        If a file is not one of this task.
    """
    layout = LAYOUTS[task]
    train = _read_labelled_rows(folder, ("train.tsv",), layout.columns)
    tests = {name: _read_rows(folder, names, layout.columns) for name, names in layout.tests.items()}
    note = None
    if all(tests.values()):
        dev = _read_labelled_rows(folder, layout.dev, layout.columns)
    else:
        tests = {
            name: _read_labelled_rows(folder, names, layout.columns) for name, names in layout.dev_as_tests.items()
        }
        train, dev = _hold_out(train)
        note = f"{task} has no test labels: its dev files are the test, and {len(dev):,} training items are the dev"
    labels = sorted({label for label, _ in train})
    parts = {"train": train, "dev": dev, **tests}
    splits = {name: _build_split(rows, labels, folder) for name, rows in parts.items()}
    return Examples("pair" if len(layout.columns) > 1 else "sentence", labels, splits, note)


def _hold_out(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    chosen = set(np.random.default_rng(0).permutation(len(rows))[: max(1, int(HELD_OUT_SHARE * len(rows)))].tolist())
    return (
        [row for index, row in enumerate(rows) if index not in chosen],
        [row for index, row in enumerate(rows) if index in chosen],
    )


def _build_split(rows: Sequence[Row], labels: Sequence[str], folder: Path) -> Split:
    numbers = {label: number for number, label in enumerate(labels)}
    unknown = next((label for label, _ in rows if label not in numbers), None)
    if unknown is not None:
        raise FormatError(
            f"{folder} has the label {unknown[:40]!r}, which is not one of the {len(labels)} in its training data "
            f"({', '.join(labels)}); are these the files of one task?"
        )
    columns = zip(*(texts for _, texts in rows), strict=True)
    return Split([list(column) for column in columns], [[numbers[label]] for label, _ in rows])


def _read_labelled_rows(folder: Path, names: Sequence[str], columns: Sequence[str]) -> list[Row]:
    """Read the first of several files, which must exist and have labels."""
    rows = _read_rows(folder, names, columns)
    if not rows:
        raise DataError(f"{folder} has no {' or '.join(names)} with labels; put the official GLUE files there")
    return rows


def _read_rows(folder: Path, names: Sequence[str], columns: Sequence[str]) -> list[Row]:
    """Read label and texts of each line of the first of several files; none if it is missing or has no labels."""
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        return []
    first, *lines = read_raw_lines(path)
    header = [name.strip() for name in first.split("\t")]
    missing = [name for name in columns if name not in header]
    if missing:
        raise FormatError(
            f"{path} has {len(header)} columns and none is called {missing[0]}; is it a file of this task?"
        )
    label = next((header.index(name) for name in LABEL_COLUMNS if name in header), None)
    if label is None:
        return []
    places = [header.index(name) for name in columns]
    rows = []
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        fields = line.split("\t")  # there is no quoting
        if len(fields) != len(header):
            raise FormatError(
                f"{path} has {len(fields)} columns in line {number} and {len(header)} in its header; correct it"
            )
        texts = tuple(split_words(fields[place]) for place in places)
        if (gold := fields[label].strip()) != NO_LABEL and all(texts):
            rows.append((gold, texts))
    return [] if {gold for gold, _ in rows} == {SECRET_LABEL} else rows
