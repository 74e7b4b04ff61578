"""How much memory this process may still take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psutil


def available_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may still take.

    That is the least of what the machine has free and what the limits of the process leave: its control groups, such as
    a container's, and its limit on addresses.

    Parameters
    ----------
    root
        The folder that has `proc` and `sys`, from which the limits are read; another one only in tests.

    Returns
    -------
    int or None
        None if the system does not say.
    """
    limits = [*_read_free(), *_read_group_limits(root), *_read_address_limit(root)]
    return max(min(limits), 0) if limits else None


def format_bytes(size: int) -> str:
    """Write a size in MB or GB.

    >>> format_bytes(187_900_000), format_bytes(61_440_000_000)
    ('188 MB', '61.4 GB')
    """
    return f"{size / 1e9:,.1f} GB" if size >= 10**9 else f"{size / 1e6:,.0f} MB"


def _read_free() -> Iterator[int]:
    try:
        yield int(psutil.virtual_memory().available)
    except (OSError, RuntimeError, NotImplementedError, ValueError, KeyError):  # /proc is hidden in some sandboxes
        return


def _read_group_limits(root: Path) -> Iterator[int]:
    """Yield what each control group of this process leaves of its limit (versions 1 and 2); psutil knows only hosts."""
    for line in _read_text(root / "proc/self/cgroup").splitlines():
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
            here = top / path.lstrip("/")  # may be missing inside a container, whose own group is then `top`
            for group in (here, *here.parents[: len(here.parts) - len(top.parts)]):
                limit, used = _read_text(group / names[0]).strip(), _read_text(group / names[1]).strip()
                if limit.isdecimal() and used.isdecimal():
                    numbers = _read_numbers(group / "memory.stat")
                    # Cached files, matrices on disk among them, are given up when memory is needed.
                    cached = sum(numbers.get(f"{total}{kind}_file", 0) for kind in ("inactive", "active"))
                    yield int(limit) - int(used) + cached


def _read_address_limit(root: Path) -> Iterator[int]:
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _read_text(root / "proc/self/statm").split()
    if limit != resource.RLIM_INFINITY and pages:
        yield limit - int(pages[0]) * os.sysconf("SC_PAGE_SIZE")


def _read_numbers(path: Path) -> dict[str, int]:
    """Read lines of a name and a number."""
    lines = (line.split() for line in _read_text(path).splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdecimal()}


def _read_text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
