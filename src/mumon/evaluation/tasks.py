"""What can be asked of vectors: tasks read from files, each split into a dev and a test half."""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError
from mumon.progress import Progress

Kind = Literal["similarity", "analogy", "categories", "outliers"]
Fold = Literal["dev", "test", "all"]
FOLDS: tuple[Fold, ...] = ("dev", "test", "all")

# The paper's five, in the order of its Table 1. SYN is MSR's analogies, MIXED is Google's.
SUITE = ("ws353", "men", "rw", "syn", "mixed")
SEMANTIC = ("capital-common-countries", "capital-world", "currency", "city-in-state", "family")
DELIMITERS = ("\t", ",", ";")


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
        groups = {name: names == name for name in found}
        if set(SEMANTIC) <= set(found):
            semantic = np.isin(names, SEMANTIC)
            groups |= {"semantic": semantic, "syntactic": ~semantic}
        return groups


def load_tasks(
    names: Sequence[str | os.PathLike[str]] | None = None, *, progress: Progress | None = None
) -> list[Task]:
    """Tasks by name (ws353, men, rw, syn, mixed) or from files of your own; without names, the paper's five.

    A name that is also a file in the current folder means the data set; write ./ws353 for the file.
    """
    from mumon import datasets

    tasks = []
    for name in SUITE if names is None else names:
        known = datasets.ALIASES.get(str(name).lower(), str(name).lower())
        if known in SUITE:
            tasks.append(read_task(datasets.fetch(known, progress), name=known))
        elif Path(name).exists():
            tasks.append(read_task(name))
        else:
            raise OptionError(f"{str(name)!r} is neither a file nor one of the {len(SUITE)} tasks {', '.join(SUITE)}")
    repeated = [task.name for task in tasks if sum(other.name == task.name for other in tasks) > 1]
    if repeated:
        raise OptionError(f"two tasks are called {repeated[0]!r}; rename one of the files")
    return tasks


def read_task(path: str | os.PathLike[str], name: str | None = None, kind: Kind | None = None) -> Task:
    """Read a task file; its columns tell the kind, unless `kind` does.

    Three columns (word, word, score) are similarities, four words are analogies, two (word, category) are categories.
    Columns are separated by tabs, commas, semicolons or blanks; a header, empty lines and lines that begin with # are
    passed over; a line `: name` begins a section. See `read_outliers` for outliers.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pairs.csv")
    >>> _ = file.write_text("word1,word2,score\\ncup,mug,9.5\\ncup,sky,0.5\\n")
    >>> task = read_task(file)
    >>> task.name, task.kind, task.items, task.gold.tolist()
    ('pairs', 'similarity', (('cup', 'mug'), ('cup', 'sky')), [9.5, 0.5])
    """
    path = Path(path)
    name = name or path.stem
    if kind == "outliers":
        return _outliers(path, name)
    rows, sections = _rows(path)
    width = _width(rows, path)
    kind = kind or _kind(rows, width)
    wanted = {"similarity": 3, "analogy": 4, "categories": 2}[kind]
    if width < wanted or (kind == "analogy" and width != 4):
        raise FormatError(f"{path} has {width} columns, and a task of {kind} has {wanted}; check the file")
    gold = None
    if kind == "similarity":
        rows, sections, gold = _with_gold(rows, sections, path)
    elif kind == "categories":
        sections = [row[1] for row in rows]
    words = {"similarity": 2, "analogy": 4, "categories": 1}[kind]
    items = tuple(tuple(row[:words]) for row in rows)
    if name == "syn":
        sections = ["possessive" if any(map(is_possessive, words)) else "inflection" for words in items]
    return Task(name, kind, items, tuple(sections), gold)


def is_possessive(word: str) -> bool:
    """Whether a word ends in an apostrophe and s, of either shape."""
    return word.endswith(("'s", "’s"))


def _rows(path: Path) -> tuple[list[list[str]], list[str]]:
    """The fields of each line, and the section that each is in."""
    lines = [line for line in _lines(path) if line.strip() and not line.startswith("#")]
    if not lines:
        raise FormatError(f"{path} holds 0 lines of questions; give it lines of words")
    data = [line for line in lines if not _is_section(line)]
    delimiter = next((d for d in DELIMITERS if data and all(d in line for line in data[:100])), None)
    rows, sections, section = [], [], ""
    for line in lines:
        if _is_section(line):
            section = line.lstrip(": ").strip()
            continue
        fields = line.split() if delimiter is None else next(csv.reader([line], delimiter=delimiter))
        rows.append([field.strip() for field in fields])
        sections.append(section)
    return rows, sections


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} is not UTF-8 text (byte {error.start}); convert it first") from None


def _is_section(line: str) -> bool:
    return line.startswith(":")


def _width(rows: list[list[str]], path: Path) -> int:
    """How many columns the rows have; the first may be a header of another width."""
    widths = {len(row) for row in rows[1:]} or {len(rows[0])}
    if len(widths) > 1:
        odd = next(number for number, row in enumerate(rows) if len(row) != len(rows[-1]))
        raise FormatError(f"{path} has rows of {len(rows[odd])} and of {len(rows[-1])} columns; give all as many")
    return widths.pop()


def _kind(rows: list[list[str]], width: int) -> Kind:
    if width == 4 and not all(_is_number(row[2]) for row in rows[1:] or rows):
        return "analogy"
    return "similarity" if width >= 3 else "categories"  # columns beyond three are the scores of single raters


def _with_gold(
    rows: list[list[str]], sections: list[str], path: Path
) -> tuple[list[list[str]], list[str], NDArray[np.float64]]:
    if len(rows) > 1 and not (len(rows[0]) >= 3 and _is_number(rows[0][2])):
        rows, sections = rows[1:], sections[1:]  # a header
    bad = next((row for row in rows if not _is_number(row[2])), None)
    if bad is not None:
        raise FormatError(f"{path} gives {' '.join(bad[:2])!r} the score {bad[2]!r}, which is no number; correct it")
    return rows, sections, np.array([float(row[2]) for row in rows])


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _outliers(path: Path, name: str) -> Task:
    """Camacho-Collados and Navigli's layout: the words of a topic one per line, an empty line, then its outliers.

    A folder holds one topic per file; in a single file, lines `: topic` separate them.
    """
    items, sections = [], []
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    for file in files:
        for block in re.split(r"(?m)^(?=:)", "\n".join(_lines(file))):
            title, _, body = block.partition("\n") if block.startswith(":") else (file.stem, "", block)
            words, _, strangers = body.strip().partition("\n\n")
            for stranger in strangers.split():
                items.append((*words.split(), stranger))
                sections.append(title.lstrip(": ").strip())
    if not items:
        raise FormatError(f"{path} holds 0 outliers; list the words of a topic, an empty line, then the outliers")
    if min(map(len, items)) < 3:
        raise FormatError(f"{path} has a topic of 1 word; an outlier needs at least 2 that belong together")
    return Task(name, "outliers", tuple(items), tuple(sections))
