"""How much memory this process may still take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def available_memory(root: Path = Path("/")) -> int | None:
    """The bytes that this process may still take: what is free, or what its limits leave; None if nobody knows."""
    limits = [*_free(root), *_left_in_groups(root), *_left_of_addresses(root)]
    return max(min(limits), 0) if limits else None


def format_bytes(size: int) -> str:
    """A size as people say it.

    >>> format_bytes(187_900_000), format_bytes(61_440_000_000)
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
