"""Loading tasks: by name, or from files with any delimiter, with or without a header, with or without sections.

The German analogies (Köper, Scheible and Schulte im Walde) name their sections in comments, `# section`, below the
header a1, a2, b1, b2 between tabs. Below that header a comment begins a section; in every other file it is skipped.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mumon import datasets
from mumon.errors import FormatError, OptionError
from mumon.evaluation.tasks import Kind, Task, check_task_names, is_possessive
from mumon.utils.compression import DAMAGE_ERRORS, ExpansionError, decompress
from mumon.utils.progress import Progress
from mumon.utils.text_files import read_lines

# The paper's five, in the order of its Table 1. SYN is MSR's analogies, MIXED is Google's.
SUITE = ("ws353", "men", "rw", "syn", "mixed")
GERMAN = ("de-gur350", "de-zg222", "de-schm280", "de-yp130", "de-syntactic", "de-semantic")
NAMED = (*SUITE, *GERMAN)
DELIMITERS = ("\t", ",", ";")
MOST_TOPIC_WORDS = 100
COLUMNS: dict[str, int] = {"similarity": 3, "analogy": 4, "categories": 2}
# The names of columns in a header. A file with only such words in its first line loses that line.
HEADER_WORD = re.compile(
    r"[abcd]|[ab][12]|word[ _-]?\d*|answer|expected|question|category|class|label|concept", re.IGNORECASE
)
COMMENTED_SECTIONS = "a1\ta2\tb1\tb2"  # the header below which comments begin sections
SNIFF_BYTES, SNIFF_LINES = 1 << 16, 20  # of the start of a file that may be a task or vectors


def load_tasks(
    names: Sequence[str | os.PathLike[str] | Task] | None = None, *, progress: Progress | None = None
) -> list[Task]:
    """Load tasks by name or from files.

    Parameters
    ----------
    names
        Names (ws353, men, rw, syn, mixed; German: de-gur350, de-zg222, de-schm280, de-yp130, de-syntactic,
        de-semantic), paths of task files, or `Task` objects, which are used as they are. Without any, the paper's five.
        A name that is also a file in the current folder means the data set; write ./ws353 for the file.
    progress
        Shows downloads.

    Returns
    -------
    list of Task
        The tasks, in the order of the names.

    Raises
    ------
    OptionError
        If a name is neither a task nor a file, or if two tasks have the same name.
    """
    chosen = SUITE if names is None else names
    tasks = [each if isinstance(each, Task) else _load_task(each, progress) for each in chosen]
    check_task_names(tasks)
    return tasks


def _load_task(name: str | os.PathLike[str], progress: Progress | None) -> Task:
    known = _find_name(name)
    if known is not None:
        task = read_task(datasets.fetch(known, progress), name=known)
        return _split_possessives(task) if known == "syn" else task
    if Path(name).exists():
        return read_task(name)
    raise OptionError(f"{str(name)!r} is neither a file nor one of the {len(NAMED)} tasks {', '.join(NAMED)}")


def _find_name(name: str | os.PathLike[str]) -> str | None:
    """Return the name of the data set that a name or an alias means, if it is a task."""
    known = datasets.ALIASES.get(str(name).lower(), str(name).lower())
    return known if known in NAMED else None


def is_task(name: str | os.PathLike[str]) -> bool:
    """Say whether a name or path is a task, where it could be a model.

    Both may be text. The second column of vectors is a number, that of a task a word.

    Parameters
    ----------
    name
        The name of a task, or the path of a file.

    Returns
    -------
    bool
        True of names of data sets (unless there is such a file or folder), and of files of pairs with scores or of
        analogies.
    """
    path = Path(name)
    if not path.is_file():
        return not path.exists() and _find_name(name) is not None
    try:
        with path.open("rb") as raw:
            start = decompress(raw).read(SNIFF_BYTES)
        text = (start if len(start) < SNIFF_BYTES else start[: start.rfind(b"\n") + 1]).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ExpansionError, *DAMAGE_ERRORS):
        return False
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith((":", "#"))][:SNIFF_LINES]
    delimiter = _find_delimiter(lines)
    rows = [line.strip().rstrip(delimiter).split(delimiter) for line in lines]
    if not rows or len(set(map(len, rows))) > 1 or len(rows[-1]) < COLUMNS["similarity"]:
        return False
    has_kind = len(rows[-1]) == COLUMNS["analogy"] or _is_number(rows[-1][2])  # a text is neither
    return has_kind and not any(_is_float(row[1]) for row in rows)


def _split_possessives(task: Task) -> Task:
    """Put MSR's questions into two sections: many tokenisers produce no possessives, which then are all missing."""
    sections = ["possessive" if any(map(is_possessive, words)) else "inflection" for words in task.items]
    return replace(task, sections=tuple(sections))


def read_task(path: str | os.PathLike[str], name: str | None = None, kind: Kind | None = None) -> Task:
    """Read a task file.

    Columns are separated by tabs, commas, semicolons or blanks. A header, empty lines and lines that begin with # are
    skipped; a line `: name` begins a section, and so does `# name` below the header a1, a2, b1, b2 (between tabs) of
    the German analogies. Outliers have their own layout: the words of a topic one per line, an empty line, then its
    outliers. Several topics in a file begin with `: topic`; a folder has one topic per file.

    Parameters
    ----------
    path
        The file, or for outliers also a folder.
    name
        The name of the task; without one, the name of the file without its suffix.
    kind
        "similarity" (word, word, score), "analogy" (four words), "categories" (word, category) or "outliers". Without
        it, the columns decide between the first two.

    Returns
    -------
    Task
        The questions in the order of the file.

    Raises
    ------
    FormatError
        If the file does not fit the kind.

    Examples
    --------
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
        return _read_outliers(path, name)
    rows, sections = _read_rows(path)
    width = len(rows[-1])
    kind = kind or _detect_kind(rows, path)
    wanted = COLUMNS[kind]
    if width < wanted or (kind != "similarity" and width > wanted):  # more columns are the scores of single raters
        raise FormatError(f"{path} has {width} columns, but a task of {kind} has {wanted}; check the file")
    header = not _is_number(rows[0][2]) if kind == "similarity" else all(map(HEADER_WORD.fullmatch, rows[0]))
    if header and len(rows) > 1 and not sections[0]:  # a section has no header
        rows, sections = rows[1:], sections[1:]
    gold = _parse_gold(rows, path) if kind == "similarity" else None
    if kind == "categories":
        sections = [row[1] for row in rows]
    words = {"similarity": 2, "analogy": 4, "categories": 1}[kind]
    return Task(name, kind, tuple(tuple(row[:words]) for row in rows), tuple(sections), gold)


def _read_rows(path: Path) -> tuple[list[list[str]], list[str]]:
    """Read the fields of each line, all lines having the same number, and the section that each line is in."""
    lines = _drop_comments([line for line in read_lines(path) if line.strip()])
    data = [line.rstrip() for line in lines if not line.startswith(":")]
    if not data:
        raise FormatError(f"{path} holds 0 lines of questions; give it lines of words")
    delimiter = _find_delimiter(data)
    rows: list[list[str]] = []
    sections: list[str] = []
    section = ""
    for line in lines:
        if line.startswith(":"):
            section = line.lstrip(": ").strip()
            continue
        text = line.rstrip().rstrip(delimiter or "")
        try:
            rows.append([field.strip() for field in _split_fields(text, delimiter)])
        except csv.Error as error:
            raise FormatError(f"{path} has a line that cannot be split ({error}): {text[:60]!r}; correct it") from None
        sections.append(section)
        if len(rows[-1]) != len(rows[0]) or not all(rows[-1]):
            raise FormatError(
                f"{path} has {len(rows[0])} columns in its first line and {len(list(filter(None, rows[-1])))} in "
                f"{line.strip()[:60]!r}; give every line the same number"
            )
    return rows, sections


def _drop_comments(lines: list[str]) -> list[str]:
    """Leave out lines that begin with #; below the header of the German analogies, turn them into lines `: section`."""
    kept = [line for line in lines if not line.startswith("#")]
    if not kept or kept[0].rstrip() != COMMENTED_SECTIONS:
        return kept
    below = lines.index(kept[0]) + 1
    return [kept[0], *(":" + line[1:] if line.startswith("#") else line for line in lines[below:])]


def _find_delimiter(lines: list[str]) -> str | None:
    """Return what separates the columns; None for blanks."""
    return next((delimiter for delimiter in DELIMITERS if all(delimiter in line for line in lines)), None)


def _split_fields(text: str, delimiter: str | None) -> list[str]:
    if delimiter is None or delimiter == "\t":  # between tabs, a quotation mark has no meaning
        return text.split(delimiter)
    return next(csv.reader([text], delimiter=delimiter))


def _detect_kind(rows: list[list[str]], path: Path) -> Kind:
    width = len(rows[-1])
    if width < 3:
        raise FormatError(
            f"{path} has {width} column{'s' * (width != 1)} where word, word, score or four words belong; if it lists "
            "words and their categories, say so (kind, --categories)"
        )
    if width == 4 and not all(_is_number(row[2]) for row in rows[1:] or rows):
        return "analogy"
    return "similarity"


def _parse_gold(rows: list[list[str]], path: Path) -> NDArray[np.float64]:
    bad = next((row for row in rows if not _is_number(row[2])), None)
    if bad is not None:
        raise FormatError(
            f"{path} gives {' '.join(bad[:2])[:60]!r} the score {bad[2][:60]!r}, which is not a number; correct it"
        )
    return np.array([float(row[2]) for row in rows])


def _is_number(text: str) -> bool:
    return _is_float(text) and bool(np.isfinite(float(text)))


def _is_float(text: str) -> bool:
    """Say whether a text is a number, nan and inf included."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_outliers(path: Path, name: str) -> Task:
    items, sections = [], []
    for file in sorted(path.glob("*.txt")) if path.is_dir() else [path]:
        for block in re.split(r"(?m)^(?=:)", "\n".join(read_lines(file))):
            title, _, body = block.partition("\n") if block.startswith(":") else (file.stem, "", block)
            if not block.strip():
                continue
            words, *rest = re.split(r"\n\s*\n", body.strip(), maxsplit=1)
            title, members = title.lstrip(": ").strip(), words.split()
            if not rest or len(members) < 2:
                raise FormatError(
                    f"{file} has the topic {title[:60]!r} with {len(members)} words and {'some' if rest else '0'} "
                    "outliers; list 2 or more words that belong together, an empty line, then the outliers"
                )
            if len(members) > MOST_TOPIC_WORDS:  # they are repeated for every outlier
                raise FormatError(
                    f"{file} has the topic {title[:60]!r} with {len(members)} words that belong together; list at most "
                    f"{MOST_TOPIC_WORDS}"
                )
            for outlier in rest[0].split():
                items.append((*members, outlier))
                sections.append(title)
    if not items:
        raise FormatError(f"{path} holds 0 outliers; list the words of a topic, an empty line, then the outliers")
    return Task(name, "outliers", tuple(items), tuple(sections))
