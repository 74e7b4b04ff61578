"""The systems that are compared: mumon's six ways to train, its peers, and any other program."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
import string
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from mumon.errors import OptionError
from mumon.experiments.bench.work import Job, Work
from mumon.training.objectives import CBOW, SKIPGRAM

Objective = Literal["cbow", "sg"]
OBJECTIVE_NAMES = {objective.name: objective.title for objective in (CBOW, SKIPGRAM)}
INSTALL_COMMAND = 'pip install "mumon[bench]"'
PLACEHOLDERS = ("corpus", "output", *(field.name for field in fields(Work)), "threads", "seed")
REQUIRED_PLACEHOLDERS = ("corpus", "output")
SUBWORDS = {"min_n": 3, "max_n": 6}  # the lengths of n-grams that fastText has by default
DISTRIBUTIONS = {"gensim": ("gensim",), "fastText": ("fasttext-wheel", "fasttext"), "word2vec.c": ("word2vec",)}


@dataclass(frozen=True)
class System:
    """One way to train word vectors.

    Parameters
    ----------
    id
        A short name for options and files.
    name
        A name for people.
    implementation
        The program, of which there may be several systems.
    objective
        "cbow" or "sg".
    command
        Returns the command line for a job.
    missing
        Returns what has to be installed first, or None.
    in_folder
        Whether it is started in the job's folder, with names relative to it.
    ours
        Whether it is mumon: its corpus cache is emptied before a run, and its report is read afterwards.
    """

    id: str
    name: str
    implementation: str
    objective: Objective
    command: Callable[[Job], list[str]]
    missing: Callable[[], str | None] = lambda: None
    in_folder: bool = False
    ours: bool = False

    @property
    def version(self) -> str | None:
        """The version of the package that provides the system, or None."""
        if self.ours:
            from mumon import __version__

            return __version__
        return find_peer_version(self.implementation)


def find_peer_version(implementation: str) -> str | None:
    """Return the installed version of a peer, or None.

    >>> find_peer_version("unknown") is None
    True
    """
    for name in DISTRIBUTIONS.get(implementation, ()):
        try:
            return f"{metadata.version(name)} ({name})" if name != implementation else metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def _build_python_command(module: str, **fixed: Any) -> Callable[[Job], list[str]]:
    """Build commands that run a program of `mumon.experiments.bench.peers` with options that are fixed for a system."""
    return lambda job: [
        sys.executable,
        "-m",
        f"mumon.experiments.bench.peers.{module}",
        json.dumps({**job.values(), **fixed}),
    ]


def _require_module(module: str) -> Callable[[], str | None]:
    return lambda: None if importlib.util.find_spec(module) else module


def find_word2vec_binary() -> str | None:
    """Find word2vec.c: among the scripts of this Python, where the package `word2vec` puts it, or on the path."""
    beside = Path(sysconfig.get_path("scripts")) / "word2vec"
    return str(beside) if beside.is_file() else shutil.which("word2vec")


def _build_word2vec_command(cbow: int) -> Callable[[Job], list[str]]:
    def command(job: Job) -> list[str]:
        # Names without folders: word2vec.c has room for 99 characters and does not check.
        options = {
            "train": job.corpus.name,
            "output": job.output.name,
            "cbow": cbow,
            "size": job.work.dim,
            "window": job.work.window,
            "negative": job.work.negative,
            "hs": 0,
            "iter": job.work.epochs,
            "min-count": job.work.min_count,
            "sample": job.work.sample,
            "threads": job.threads,
            "binary": 1,
            "debug": 0,
        }
        flags = [word for name, value in options.items() for word in (f"-{name}", str(value))]
        return [find_word2vec_binary() or "word2vec", *flags]

    return command


def build_mumon_system(id_: str, name: str, objective: Objective, **options: Any) -> System:
    """Build a system that is mumon with options of `Word2Vec`.

    Parameters
    ----------
    id_, name, objective
        As in `System`.
    **options
        Passed to `Word2Vec`.

    Returns
    -------
    System
        The system.
    """
    train = _build_python_command("mumon_train", options={"sg": int(objective == "sg"), **options})
    return System(id_, name, "mumon", objective, train, ours=True)


def _build_gensim_system(objective: Objective, iterable: bool, subwords: bool = False) -> System:
    options = dict(SUBWORDS) if subwords else {}
    train = _build_python_command("gensim_train", sg=int(objective == "sg"), iterable=iterable, options=options)
    id_, name = (
        f"gensim-{objective}{'-iterable' * iterable}{'-subwords' * subwords}",
        f"gensim {OBJECTIVE_NAMES[objective]}{', iterable' * iterable}{', subwords' * subwords}",
    )
    return System(id_, name, "gensim", objective, train, _require_module("gensim"))


def _build_fasttext_system(objective: Objective, subwords: bool = False) -> System:
    lengths = SUBWORDS if subwords else {"min_n": 0, "max_n": 0}
    train = _build_python_command("fasttext_train", sg=int(objective == "sg"), options=lengths)
    return System(
        f"fasttext-{objective}{'-subwords' * subwords}",
        f"fastText {OBJECTIVE_NAMES[objective]}{', subwords' * subwords}",
        "fastText",
        objective,
        train,
        _require_module("fasttext"),
    )


def _build_word2vec_system(objective: Objective) -> System:
    return System(
        f"word2vec-{objective}",
        f"word2vec.c {OBJECTIVE_NAMES[objective]}",
        "word2vec.c",
        objective,
        _build_word2vec_command(int(objective == "cbow")),
        lambda: None if find_word2vec_binary() else "word2vec",
        in_folder=True,
    )


SYSTEMS: dict[str, System] = {
    system.id: system
    for system in (
        build_mumon_system("mumon-cbow", "mumon CBOW", "cbow"),
        build_mumon_system("mumon-cbow-default", "mumon CBOW, its own window", "cbow", window=None),
        build_mumon_system("mumon-cbow-positions", "mumon CBOW, positions", "cbow", positions=4),
        build_mumon_system("mumon-cbow-exact", "mumon CBOW, exact", "cbow", exact=True),
        build_mumon_system("mumon-cbow-faulty", "mumon CBOW, faulty", "cbow", update="faulty"),
        build_mumon_system("mumon-sg", "mumon skip-gram", "sg"),
        build_mumon_system("mumon-sg-exact", "mumon skip-gram, exact", "sg", exact=True),
        build_mumon_system("mumon-cbow-subwords", "mumon CBOW, subwords", "cbow", **SUBWORDS),
        build_mumon_system("mumon-sg-subwords", "mumon skip-gram, subwords", "sg", **SUBWORDS),
        _build_gensim_system("cbow", iterable=False),
        _build_gensim_system("sg", iterable=False),
        _build_gensim_system("cbow", iterable=True),
        _build_gensim_system("sg", iterable=True),
        _build_word2vec_system("cbow"),
        _build_word2vec_system("sg"),
        _build_fasttext_system("cbow"),
        _build_fasttext_system("sg"),
        _build_gensim_system("cbow", iterable=False, subwords=True),
        _build_gensim_system("sg", iterable=False, subwords=True),
        _build_fasttext_system("cbow", subwords=True),
        _build_fasttext_system("sg", subwords=True),
    )
}


@dataclass(frozen=True)
class SystemChoice:
    """The systems that run, and those that were asked for but cannot run: id → what is missing."""

    systems: list[System]
    left_out: dict[str, str]

    def note(self) -> str | None:
        """Return a sentence about the systems that are left out, or None."""
        if not self.left_out:
            return None
        missing = ", ".join(dict.fromkeys(self.left_out.values()))
        return f"left out {', '.join(self.left_out)}: {missing} is not installed; try {INSTALL_COMMAND}"


def choose_systems(ids: Sequence[str] | None = None, externals: Sequence[System] = ()) -> SystemChoice:
    """Choose systems by id and leave out those that are not installed.

    Parameters
    ----------
    ids
        The ids, in order; without any, all systems.
    externals
        Systems of other programs, which always run.

    Returns
    -------
    SystemChoice
        The systems that run, and those that are not installed.

    Raises
    ------
    OptionError
        If an id is unknown or used twice, or if no system is left.
    """
    known = {**SYSTEMS, **{system.id: system for system in externals}}
    twice = [system.id for system in externals if system.id in SYSTEMS] or (
        [] if len(known) == len(SYSTEMS) + len(externals) else [externals[-1].id]
    )
    if twice:
        raise OptionError(f"{twice[0]!r} is the id of two systems; give the external one another name")
    unknown = [id_ for id_ in ids or () if id_ not in known]
    if unknown:
        raise OptionError(
            f"no system is called {', '.join(unknown)}; the {len(known)} known ones are {', '.join(known)}"
        )
    wanted = [known[id_] for id_ in dict.fromkeys(ids)] if ids else list(SYSTEMS.values())
    wanted += [system for system in externals if system not in wanted]
    missing = {system.id: reason for system in wanted if (reason := system.missing()) is not None}
    chosen = [system for system in wanted if system.id not in missing]
    if not chosen:
        raise OptionError(f"none of the {len(wanted)} systems asked for is installed; try {INSTALL_COMMAND}")
    return SystemChoice(chosen, missing)


def parse_external_system(text: str) -> System:
    """Parse `NAME=COMMAND`, a system that is any other program.

    Parameters
    ----------
    text
        The name and the command line with placeholders. A name that contains sg or skip means skip-gram.

    Returns
    -------
    System
        The system.

    Raises
    ------
    OptionError
        If the text or its placeholders are wrong.

    Examples
    --------
    >>> system = parse_external_system("kōan CBOW=koan --files {corpus} --dim {dim} --embedding-path {output}")
    >>> system.id, system.implementation, system.objective
    ('kōan-cbow', 'kōan', 'cbow')
    """
    name, separator, template = (part.strip() for part in text.partition("="))
    id_ = re.sub(r"[\W_]+", "-", name.lower()).strip("-")
    if not separator or not template or not id_:
        raise OptionError(f"--external {text!r} is not NAME=COMMAND; write e.g. 'mine=./mine {{corpus}} {{output}}'")
    words = _check_command(name, template)
    objective: Objective = "sg" if re.search(r"\bsg\b|skip", name.lower()) else "cbow"
    return System(id_, name, name.split()[0], objective, _build_command(words))


def _build_command(words: list[str]) -> Callable[[Job], list[str]]:
    return lambda job: [word.format(**job.values()) for word in words]


def _check_command(name: str, template: str) -> list[str]:
    """Split a command line into words and check its placeholders."""
    try:
        words = shlex.split(template)
        used = [field for word in words for _, field, _, _ in string.Formatter().parse(word) if field is not None]
    except ValueError as error:
        raise OptionError(f"the command of {name!r} cannot be read ({error}); check its quotes and braces") from None
    unknown = ", ".join(f"{{{field}}}" for field in dict.fromkeys(used) if field not in PLACEHOLDERS)
    if unknown:
        known = " ".join(f"{{{field}}}" for field in PLACEHOLDERS)
        raise OptionError(f"the command of {name!r} has unknown placeholders {unknown}; the known ones are {known}")
    absent = " and ".join(f"{{{field}}}" for field in REQUIRED_PLACEHOLDERS if field not in used)
    if absent:
        raise OptionError(f"the command of {name!r} lacks {absent}; say where the text is and where the vectors go")
    return words
