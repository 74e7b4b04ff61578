"""The tasks that `evaluate` asks by default, and tasks by name or from files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mumon import datasets
from mumon.errors import OptionError
from mumon.evaluation.task_files import read_task
from mumon.evaluation.tasks import Task, check_names, is_possessive
from mumon.utils.progress import Progress

# The paper's five, in the order of its Table 1. SYN is MSR's analogies, MIXED is Google's.
SUITE = ("ws353", "men", "rw", "syn", "mixed")


def load_tasks(
    names: Sequence[str | os.PathLike[str] | Task] | None = None, *, progress: Progress | None = None
) -> list[Task]:
    """Tasks by name (ws353, men, rw, syn, mixed) or from files of your own; without names, the paper's five.

    A name that is also a file in the current folder means the data set; write ./ws353 for the file. A `Task` is taken
    as it is.
    """
    given = SUITE if names is None else names
    tasks = [each if isinstance(each, Task) else _loaded(each, progress) for each in given]
    check_names(tasks)
    return tasks


def _loaded(name: str | os.PathLike[str], progress: Progress | None) -> Task:
    known = datasets.ALIASES.get(str(name).lower(), str(name).lower())
    if known in SUITE:
        task = read_task(datasets.fetch(known, progress), name=known)
        return _by_possessive(task) if known == "syn" else task
    if Path(name).exists():
        return read_task(name)
    raise OptionError(f"{str(name)!r} is neither a file nor one of the {len(SUITE)} tasks {', '.join(SUITE)}")


def _by_possessive(task: Task) -> Task:
    """MSR's questions in two sections: many tokenisers leave no possessives, which then are all missing."""
    sections = ["possessive" if any(map(is_possessive, words)) else "inflection" for words in task.items]
    return replace(task, sections=tuple(sections))
