"""Who takes part: mumon's five ways to train, and the peers that are installed."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from mumon.errors import OptionError
from mumon.experiments.bench.work import Job

Objective = Literal["cbow", "sg"]
SPOKEN = {"cbow": "CBOW", "sg": "skip-gram"}
INSTALL = 'pip install "mumon[bench]"'
DISTRIBUTIONS = {"gensim": ("gensim",), "fastText": ("fasttext-wheel", "fasttext"), "word2vec.c": ("word2vec",)}


@dataclass(frozen=True)
class System:
    """One way to train word vectors: a short `id`, a name for people, and the command line that does a job."""

    id: str
    name: str
    implementation: str
    objective: Objective
    command: Callable[[Job], list[str]]
    missing: Callable[[], str | None] = lambda: None  # what has to be installed first, if anything
    in_folder: bool = False  # started in the job's folder, with names relative to it
    ours: bool = False  # its corpus cache is emptied before a run, and its report is read after

    @property
    def version(self) -> str | None:
        """The version of the package that brings it, if one does."""
        if self.ours:
            from mumon import __version__

            return __version__
        return peer_version(self.implementation)


def peer_version(implementation: str) -> str | None:
    """The installed version of a peer, or None.

    >>> peer_version("nobody's") is None
    True
    """
    for name in DISTRIBUTIONS.get(implementation, ()):
        try:
            return f"{metadata.version(name)} ({name})" if name != implementation else metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def _python(module: str, **fixed: Any) -> Callable[[Job], list[str]]:
    """A program of `mumon.experiments.bench.peers`, with what makes this system differ from others of its program."""
    return lambda job: [
        sys.executable,
        "-m",
        f"mumon.experiments.bench.peers.{module}",
        json.dumps({**job.values(), **fixed}),
    ]


def _needs(module: str) -> Callable[[], str | None]:
    return lambda: None if importlib.util.find_spec(module) else module


def word2vec_binary() -> str | None:
    """Where word2vec.c is: among the scripts of this Python, where the package `word2vec` puts it, or on the path."""
    beside = Path(sysconfig.get_path("scripts")) / "word2vec"
    return str(beside) if beside.is_file() else shutil.which("word2vec")


def _word2vec(cbow: int) -> Callable[[Job], list[str]]:
    def command(job: Job) -> list[str]:
        # Names without folders: word2vec.c has room for 99 letters and does not check.
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
        return [word2vec_binary() or "word2vec", *flags]

    return command


def mumon_system(id_: str, name: str, objective: Objective, **options: Any) -> System:
    """mumon with options of `Word2Vec`."""
    train = _python("mumon_train", options={"sg": int(objective == "sg"), **options})
    return System(id_, name, "mumon", objective, train, ours=True)


def _gensim(objective: Objective, iterable: bool) -> System:
    train = _python("gensim_train", sg=int(objective == "sg"), iterable=iterable)
    id_, name = f"gensim-{objective}{'-iterable' * iterable}", f"gensim {SPOKEN[objective]}{', iterable' * iterable}"
    return System(id_, name, "gensim", objective, train, _needs("gensim"))


def _fasttext(objective: Objective) -> System:
    train = _python("fasttext_train", sg=int(objective == "sg"))
    return System(
        f"fasttext-{objective}", f"fastText {SPOKEN[objective]}", "fastText", objective, train, _needs("fasttext")
    )


def _word2vec_c(objective: Objective) -> System:
    return System(
        f"word2vec-{objective}",
        f"word2vec.c {SPOKEN[objective]}",
        "word2vec.c",
        objective,
        _word2vec(int(objective == "cbow")),
        lambda: None if word2vec_binary() else "word2vec",
        in_folder=True,
    )


SYSTEMS: dict[str, System] = {
    system.id: system
    for system in (
        mumon_system("mumon-cbow", "mumon CBOW", "cbow"),
        mumon_system("mumon-cbow-exact", "mumon CBOW, exact", "cbow", exact=True),
        mumon_system("mumon-cbow-faulty", "mumon CBOW, faulty", "cbow", update="faulty"),
        mumon_system("mumon-sg", "mumon skip-gram", "sg"),
        mumon_system("mumon-sg-exact", "mumon skip-gram, exact", "sg", exact=True),
        _gensim("cbow", iterable=False),
        _gensim("sg", iterable=False),
        _gensim("cbow", iterable=True),
        _gensim("sg", iterable=True),
        _word2vec_c("cbow"),
        _word2vec_c("sg"),
        _fasttext("cbow"),
        _fasttext("sg"),
    )
}


@dataclass(frozen=True)
class Chosen:
    """The systems that run, and those that were asked for and cannot: id → what is missing."""

    systems: list[System]
    left_out: dict[str, str]

    def note(self) -> str | None:
        """One sentence about who is left out."""
        if not self.left_out:
            return None
        missing = ", ".join(dict.fromkeys(self.left_out.values()))
        return f"left out {', '.join(self.left_out)}: {missing} is not installed; try {INSTALL}"


def choose(ids: Sequence[str] | None = None, externals: Sequence[System] = ()) -> Chosen:
    """The systems of that name (or all), without those that are not installed, and the external ones."""
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
        raise OptionError(f"none of the {len(wanted)} systems asked for is installed; try {INSTALL}")
    return Chosen(chosen, missing)
