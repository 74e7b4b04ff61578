"""Where mumon keeps what can be made or downloaded again: encoded corpora, compiled kernels, data sets."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """Return the user's cache directory for mumon; the environment variable MUMON_CACHE moves it."""
    override = os.environ.get("MUMON_CACHE")
    if override:
        return Path(override).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("mumon", appauthor=False))
