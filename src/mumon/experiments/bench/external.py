"""Any other program as a system: a name and a command line with placeholders."""

from __future__ import annotations

import re
import shlex
import string
from collections.abc import Callable
from dataclasses import fields

from mumon.errors import OptionError
from mumon.experiments.bench.systems import Objective, System
from mumon.experiments.bench.work import Job, Work

PLACEHOLDERS = ("corpus", "output", *(field.name for field in fields(Work)), "threads", "seed")
NEEDED = ("corpus", "output")


def external_system(given: str) -> System:
    """The system that `NAME=COMMAND` describes. A name with sg or skip in it is taken for skip-gram.

    >>> system = external_system("kōan CBOW=koan --file {corpus} --dim {dim} --embedding-path {output}")
    >>> system.id, system.implementation, system.objective
    ('kōan-cbow', 'kōan', 'cbow')
    """
    name, separator, template = (part.strip() for part in given.partition("="))
    id_ = re.sub(r"[\W_]+", "-", name.lower()).strip("-")
    if not separator or not template or not id_:
        raise OptionError(f"--external {given!r} is not NAME=COMMAND; write e.g. 'mine=./mine {{corpus}} {{output}}'")
    words = _checked(name, template)
    objective: Objective = "sg" if re.search(r"\bsg\b|skip", name.lower()) else "cbow"
    return System(id_, name, name.split()[0], objective, _command(words))


def _command(words: list[str]) -> Callable[[Job], list[str]]:
    return lambda job: [word.format(**job.values()) for word in words]


def _checked(name: str, template: str) -> list[str]:
    """The words of a command line whose placeholders all exist."""
    try:
        words = shlex.split(template)
        used = [field for word in words for _, field, _, _ in string.Formatter().parse(word) if field is not None]
    except ValueError as error:
        raise OptionError(f"the command of {name!r} cannot be read ({error}); check its quotes and braces") from None
    unknown = ", ".join(f"{{{field}}}" for field in dict.fromkeys(used) if field not in PLACEHOLDERS)
    if unknown:
        known = " ".join(f"{{{field}}}" for field in PLACEHOLDERS)
        raise OptionError(f"the command of {name!r} has unknown placeholders {unknown}; the known ones are {known}")
    absent = " and ".join(f"{{{field}}}" for field in NEEDED if field not in used)
    if absent:
        raise OptionError(f"the command of {name!r} lacks {absent}; say where the text is and where vectors go")
    return words
