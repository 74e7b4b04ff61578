"""Corpora on other filesystems: `scheme://…` names a file, a folder or a glob there."""

from __future__ import annotations

import re

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # two letters at least: C: is a drive


def is_url(name: str) -> bool:
    """Whether a name is a URL rather than a path.

    >>> is_url("s3://bucket/a.txt"), is_url("a.txt"), is_url("C:/a.txt")
    (True, False, False)
    """
    return URL.match(name) is not None
