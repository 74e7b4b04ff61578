"""A description of the machine; without it, measured seconds mean nothing to others."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

PACKAGES = ("numpy", "scipy", "numba", "llvmlite")
CACHE_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")


def describe_machine() -> dict[str, Any]:
    """Describe the processor, its caches, the memory and all versions that matter, but no host name and no path.

    Returns
    -------
    dict
        What `format_machine` shows; ready for JSON.
    """
    from mumon import __version__
    from mumon.experiments.bench.systems import DISTRIBUTIONS, find_peer_version
    from mumon.utils.threads import available_cores

    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _find_cpu(),
        "architecture": platform.machine(),
        "cores": available_cores(),
        "all_cores": psutil.cpu_count(),
        "caches": _read_caches(),
        "memory_bytes": psutil.virtual_memory().total,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "os": platform.platform(),
        "python": platform.python_version(),
        "mumon": __version__,
        "commit": find_commit(),
        **{name: _find_version(name) for name in PACKAGES},
        "blas": _find_blas(),
        "peers": {name: find_peer_version(name) for name in DISTRIBUTIONS},
    }


def format_machine(machine: dict[str, Any]) -> list[tuple[str, str]]:
    """Format the description of a machine as lines for people.

    Parameters
    ----------
    machine
        The result of `describe_machine`.

    Returns
    -------
    list of tuples
        Names and values.

    Examples
    --------
    >>> dict(format_machine(describe_machine()))["Python"] == platform.python_version()
    True
    """
    cores = f"{machine['cores']} cores" + (
        f" of {machine['all_cores']}" if machine["cores"] != machine["all_cores"] else ""
    )
    caches = ", ".join(f"L{level} {size}" for level, size in machine["caches"].items())
    memory = f"{machine['memory_bytes'] / 2**30:.1f} GiB" if machine["memory_bytes"] else "unknown"  # of old records
    peers = ", ".join(f"{name} {version}" for name, version in machine["peers"].items() if version) or "none"
    packages = ", ".join(f"{name} {machine[name]}" for name in PACKAGES)
    load = "" if machine["load"] is None else f"; load {machine['load']:.2f} at the start"
    return [
        ("processor", f"{machine['cpu']} ({machine['architecture']}), {cores}{load}"),
        ("caches", caches or "unknown"),
        ("memory", memory),
        ("system", machine["os"]),
        ("Python", machine["python"]),
        ("packages", packages),
        ("BLAS", machine["blas"] or "unknown"),
        ("mumon", machine["mumon"] + (f", commit {machine['commit']}" if machine["commit"] else "")),
        ("peers", peers),
        ("date", machine["date"]),
    ]


def find_commit() -> str | None:
    """Return the commit of the checkout that mumon is imported from, with a + if files differ; None elsewhere."""
    package = Path(__file__).resolve().parents[2]
    try:
        top, head = (_run_git(package, "rev-parse", *what) for what in (["--show-toplevel"], ["--short", "HEAD"]))
        if Path(top, "src", "mumon").resolve() != package:  # a repository that only contains an installed mumon
            return None
        return head + "+" * bool(_run_git(package, "status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.SubprocessError):
        return None


def _run_git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True, timeout=10
    ).stdout.strip()


def _find_cpu() -> str:
    try:
        if sys.platform == "darwin":
            return subprocess.run(
                ["sysctl", "-n", "machdep.cpu.brand_string"], check=True, capture_output=True, text=True
            ).stdout.strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except (OSError, subprocess.SubprocessError):
        pass
    return platform.processor() or "unknown processor"


def _read_caches() -> dict[str, str]:
    """Read the sizes of the data caches by level: {"1": "48K", …}."""
    found = {}
    for index in sorted(CACHE_FOLDER.glob("index*")):
        try:
            kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found[level] = size
    return found


def _find_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _find_blas() -> str | None:
    """Find the BLAS of NumPy, whose products the roofline is compared with."""
    import numpy  # noqa: F401  loaded now so that its BLAS is listed
    from threadpoolctl import threadpool_info

    found = [info for info in threadpool_info() if info["user_api"] == "blas"]
    found.sort(key=lambda info: "numpy" not in info.get("filepath", "").lower())  # SciPy has one, too
    if not found:
        return None
    first = found[0]
    return " ".join(filter(None, (first["internal_api"], first["version"], first.get("architecture"))))
