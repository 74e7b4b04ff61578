"""Loading pairs of sentences: the STS benchmark, SICK and the STS tasks of 2012 to 2016 by name, or a file."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mumon import datasets
from mumon.errors import FormatError, OptionError
from mumon.evaluation.sentences import SentenceTask
from mumon.utils.progress import Progress
from mumon.utils.text_files import read_lines

# Tests; `stsb-dev` is there to choose by. The STS tasks of a year are one task here, all of their pairs together.
SENTENCE_SUITE = ("stsb-test", "sick", "sts12", "sts13", "sts14", "sts15", "sts16")
# Name, data set, and what the names of its files begin with.
_FILES = {
    **{f"stsb-{part}": ("stsb", f"stsb-en-{part}") for part in ("train", "dev", "test")},
    "sick-train": ("sick", "SICK_train"),
    "sick-trial": ("sick", "SICK_trial"),
    "sick": ("sick", "SICK_test"),
    **{f"sts{year}": (f"sts{year}", "") for year in range(12, 17)},
}
SICK_HEADER = ["pair_ID", "sentence_A", "sentence_B", "relatedness_score"]
Row = tuple[str, str, str]  # two sentences and the text of their score, which may be empty


def load_sentence_tasks(
    names: Sequence[str | os.PathLike[str]] = SENTENCE_SUITE, *, progress: Progress | None = None
) -> list[SentenceTask]:
    """Load pairs of sentences by name or from files.

    Parameters
    ----------
    names
        stsb-train, stsb-dev, stsb-test, sick-train, sick-trial, sick (its test), sts12 … sts16, or paths of files.
    progress
        Shows downloads.

    Returns
    -------
    list of SentenceTask
        The tasks, in the order of the names.

    Raises
    ------
    OptionError
        If a name is neither a task nor a file.
    DataError
        If a data set is not on this machine and cannot be downloaded.
    """
    return [_load_task(name, progress) for name in names]


def _load_task(name: str | os.PathLike[str], progress: Progress | None) -> SentenceTask:
    known = str(name).lower()
    if known in _FILES:
        dataset, start = _FILES[known]
        paths = [path for path in datasets.fetch_all(dataset, progress) if path.name.startswith(start)]
        parts = [read_sentence_task(path) for path in paths]
        pairs = tuple(pair for part in parts for pair in part.pairs)
        return SentenceTask(known, pairs, np.concatenate([part.gold for part in parts]))
    if Path(name).is_file():
        return read_sentence_task(Path(name))
    raise OptionError(f"{str(name)!r} is neither a file nor one of the {len(_FILES)} tasks {', '.join(_FILES)}")


def read_sentence_task(path: str | os.PathLike[str], name: str | None = None) -> SentenceTask:
    """Read pairs of sentences from a file.

    Parameters
    ----------
    path
        A .csv with sentence, sentence, score (quotation marks protect commas); lines of score, sentence, sentence
        between tabs; or a file of SICK, which has a header. Pairs without a score are left out.
    name
        The name of the task; without one, the name of the file without its suffix.

    Returns
    -------
    SentenceTask
        The pairs in the order of the file.

    Raises
    ------
    FormatError
        If a line does not fit, or if no pair has a score.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "pairs.tsv")
    >>> _ = file.write_text("4.5\\tA cat sits.\\tA cat is sitting.\\n\\tNo score.\\tNone at all.\\n")
    >>> task = read_sentence_task(file)
    >>> task.name, task.pairs, task.gold.tolist()
    ('pairs', (('A cat sits.', 'A cat is sitting.'),), [4.5])
    """
    path = Path(path)
    pairs, gold = [], []
    for number, (first, second, score) in enumerate(_read_rows(path), 1):
        if not score.strip():
            continue
        try:
            gold.append(float(score))
        except ValueError:
            raise FormatError(
                f"{path} gives pair {number} the score {score[:60]!r}, which is not a number; correct it"
            ) from None
        pairs.append((first, second))
    if not pairs:
        raise FormatError(f"{path} holds 0 pairs with a score; give lines of two sentences and a score")
    if not np.isfinite(gold).all():
        raise FormatError(
            f"{path} gives {int((~np.isfinite(gold)).sum())} pairs a score that is not finite; correct it"
        )
    return SentenceTask(name or path.stem, tuple(pairs), np.array(gold))


def _read_rows(path: Path) -> list[Row]:
    """Read the rows of any of the three layouts."""
    lines = [line for line in read_lines(path) if line.strip()]
    if path.suffix == ".csv":
        try:
            return [(row[0], row[1], row[2]) for row in _check_rows(path, list(csv.reader(lines)))]
        except csv.Error as error:
            raise FormatError(f"{path} cannot be split into columns ({error}); correct it") from None
    rows = _check_rows(path, [line.split("\t") for line in lines])
    if rows and rows[0][:4] == SICK_HEADER:
        return [(row[1], row[2], row[3]) for row in rows[1:]]
    return [(row[1], row[2], row[0]) for row in rows]


def _check_rows(path: Path, rows: list[list[str]]) -> list[list[str]]:
    """Refuse lines that have fewer columns than the first one, or than a pair with its score."""
    least = max(3, len(rows[0]) if rows else 0)
    for number, row in enumerate(rows, 1):
        if len(row) < least:
            raise FormatError(f"{path} has {len(row)} columns in line {number}, but needs {least}; correct it")
    return rows
