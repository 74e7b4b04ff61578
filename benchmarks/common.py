"""Code that the benchmarks share: the text they train on, and a description of where a figure comes from."""

from __future__ import annotations

import lzma
import os
import platform
import subprocess
import time
from itertools import islice
from pathlib import Path
from typing import Any

from mumon import datasets


def write_sentences(count: int | None, folder: Path) -> Path:
    """Write the first `count` sentences of the Wikipedia corpus into `folder`; None means all of them."""
    path = folder / f"{count or 'all'}.txt"
    if not path.exists():
        with lzma.open(datasets.fetch("enwiki"), "rt") as lines, path.with_suffix(".part").open("w") as file:
            file.writelines(islice(lines, count))
        path.with_suffix(".part").rename(path)
    return path


def describe_run() -> dict[str, Any]:
    """Describe the machine, the date and the commit."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
    }
