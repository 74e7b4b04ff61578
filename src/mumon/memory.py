"""How much memory this process may still take, and whether what it is about to allocate fits into that.

Linux hands out memory that it does not have and kills who then uses it, without a word. So the matrices are measured
before they are made.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from mumon.corpus.encode import MAX_SENTENCE
from mumon.errors import OutOfMemoryError
from mumon.mapped import ELSEWHERE, OutOfDiskError, home
from mumon.matrices import row_bytes
from mumon.progress import Progress
from mumon.settings import Settings

WORTH_A_LINE = 10**9  # bytes; less is no surprise on any machine
# A word's part in dictionaries, in noise and rate tables, and in what saving writes at once; measured with short words.
WORD_BYTES = 480


def check_memory(words: int, columns: int, settings: Settings, progress: Progress, on_disk: bool = False) -> None:
    """Say what training so many vectors will take if that is much; refuse it if there is less.

    Matrices on disk take none of the memory, and must fit on the disk instead.
    """
    needed, free = training_bytes(words, columns, settings), available_memory()
    about = f"2 matrices of {words:,} × {columns:,}"
    size = 2 * words * row_bytes(columns) if on_disk else 0
    needed -= size
    subject = f"the words of {about} on disk" if on_disk else about
    if free is not None and needed > free:
        raise OutOfMemoryError(
            f"{subject} and their training need {spoken_bytes(needed)} of memory where {spoken_bytes(free)} are free; "
            "ask for fewer words (max_final_vocab, --max-vocab) or dimensions"
        )
    if on_disk:
        _check_disk(size, about)
        progress.note(f"{about} take {spoken_bytes(size)} of disk in {home()}")
    if needed >= WORTH_A_LINE:
        progress.note(f"{subject} and their training take {spoken_bytes(needed)} of memory")


def _check_disk(needed: int, about: str) -> None:
    """Before the first byte is taken: others on this disk should not find it full even for a moment."""
    there = home()
    while not there.exists() and there != there.parent:
        there = there.parent
    free = shutil.disk_usage(there).free
    if needed > free:
        raise OutOfDiskError(
            f"{about} need {spoken_bytes(needed)} of disk where {home()} has {spoken_bytes(free)} left; {ELSEWHERE}"
        )


def training_bytes(words: int, columns: int, settings: Settings) -> int:
    """What a model of so many words takes while it is trained, beyond its corpus and Python itself."""
    return words * (2 * row_bytes(columns) + WORD_BYTES) + settings.workers * _buffer_bytes(columns, settings)


def _buffer_bytes(columns: int, settings: Settings) -> int:
    """What a training kernel allocates for itself, in each thread."""
    if settings.exact:
        return 2 * row_bytes(columns) + 8 * settings.negative
    scores = 4 * settings.batch * settings.shared_negatives
    if settings.objective == "sg":
        return 2 * settings.batch * row_bytes(columns) + 2 * scores
    ring = 2
    while ring < 2 * min(settings.window, MAX_SENTENCE) + 2:
        ring *= 2
    return 2 * (settings.batch + ring) * row_bytes(columns) + scores


def available_memory(root: Path = Path("/")) -> int | None:
    """The bytes that this process may still take: what is free, or what its limits leave; None if nobody knows."""
    limits = [*_free(root), *_left_in_groups(root), *_left_of_addresses(root)]
    return max(min(limits), 0) if limits else None


def spoken_bytes(size: int) -> str:
    """A size as people say it.

    >>> spoken_bytes(187_900_000), spoken_bytes(61_440_000_000)
    ('188 MB', '61.4 GB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 10**9 else f"{size / 1e6:,.0f} MB"


def _free(root: Path) -> Iterator[int]:
    fields = _fields(root / "proc/meminfo")
    if "MemAvailable:" in fields:
        yield 1024 * fields["MemAvailable:"]
        return
    try:  # elsewhere than on Linux; macOS knows only how much there is in all
        names = os.sysconf_names
        pages = os.sysconf("SC_AVPHYS_PAGES" if "SC_AVPHYS_PAGES" in names else "SC_PHYS_PAGES")
        yield pages * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return


def _left_in_groups(root: Path) -> Iterator[int]:
    """What each control group that this process is in, such as a container, leaves of its limit (versions 1 and 2)."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            tops = [root / "sys/fs/cgroup", root / "sys/fs/cgroup/unified"]
            names, total = ("memory.max", "memory.current"), ""
        elif "memory" in controllers.split(","):
            tops = [root / "sys/fs/cgroup/memory"]
            names, total = ("memory.limit_in_bytes", "memory.usage_in_bytes"), "total_"
        else:
            continue
        for top in tops:
            here = top / path.lstrip("/")  # inside a container it may not be there, but its root is the container's
            for group in (here, *here.parents[: len(here.parts) - len(top.parts)]):
                limit, used = _text(group / names[0]).strip(), _text(group / names[1]).strip()
                if limit.isdecimal() and used.isdecimal():
                    counted = _fields(group / "memory.stat")
                    # What is kept of files, matrices on disk among them, is given up when it is needed.
                    cached = sum(counted.get(f"{total}{kind}_file", 0) for kind in ("inactive", "active"))
                    yield int(limit) - int(used) + cached


def _left_of_addresses(root: Path) -> Iterator[int]:
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _text(root / "proc/self/statm").split()
    if limit != resource.RLIM_INFINITY and pages:
        yield limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE")


def _fields(path: Path) -> dict[str, int]:
    """Lines of a name and a number."""
    lines = (line.split() for line in _text(path).splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdecimal()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
