"""What the benchmarks share: the text they train and the words that say where a figure comes from."""

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


def sentences_of(count: int | None, folder: Path) -> Path:
    """The first sentences of the Wikipedia corpus, as a file in `folder`; None is all of them."""
    path = folder / f"{count or 'all'}.txt"
    if not path.exists():
        with lzma.open(datasets.fetch("enwiki"), "rt") as lines, path.with_suffix(".part").open("w") as file:
            file.writelines(islice(lines, count))
        path.with_suffix(".part").rename(path)
    return path


def about() -> dict[str, Any]:
    """Machine, date and commit."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    return {
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
    }
