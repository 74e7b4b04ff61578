"""Results on disk, each named by a digest of everything it depends on, so that nothing is computed twice."""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from mumon.utils.atomic import atomic_file
from mumon.utils.strict_json import parse

Arrays = Mapping[str, NDArray[Any]]


def digest_json(content: Any, size: int) -> str:
    """Return a short name for JSON content; the order of the keys of its objects does not matter.

    Parameters
    ----------
    content
        Anything that `json.dumps` accepts.
    size
        Length of the digest in bytes. The name has two characters per byte.

    Returns
    -------
    str
        Hexadecimal digits.

    Examples
    --------
    >>> digest_json({"a": 1, "b": 2}, size=6) == digest_json({"b": 2, "a": 1}, size=6)
    True
    """
    text = json.dumps(content, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


def write_json(path: Path, value: Any, indent: int | None = 2) -> None:
    """Write strict JSON, whole or not at all.

    Parameters
    ----------
    path
        The file, which is replaced if it exists.
    value
        What to write; nan and infinities are refused.
    indent
        Spaces per level, or None for a single line.
    """
    with atomic_file(path) as file:
        file.write(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent).encode() + b"\n")


class ResultStore:
    """A folder of records (JSON) and arrays (NumPy's npz, without pickle).

    A record that is missing and a record that is damaged are the same to a reader: the result has to be computed again.

    Parameters
    ----------
    folder
        Where the files are; it is created if it does not exist.
    indent
        Spaces per level in the JSON files, or None for records on a single line.
    """

    def __init__(self, folder: Path, indent: int | None = None) -> None:
        self.folder, self._indent = folder, indent
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, name: str, ending: str) -> Path:
        """Return the place of a file of a result, whether it exists or not."""
        return self.folder / f"{name}.{ending}"

    def read(self, name: str) -> dict[str, Any] | None:
        """Return the record of that name, or None if it is missing or damaged."""
        try:
            record = parse(self.path(name, "json").read_bytes())
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) else None

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Save a record under a name."""
        write_json(self.path(name, "json"), record, self._indent)

    def read_arrays(self, name: str) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of that name, or None if they are missing or damaged."""
        try:
            with np.load(self.path(name, "npz"), allow_pickle=False) as stored:
                return {key: stored[key] for key in stored.files}
        except (OSError, ValueError, EOFError, BadZipFile, zlib.error):
            return None

    def write_arrays(self, name: str, arrays: Arrays) -> None:
        """Save arrays under a name. Write them before their record, so that a record always has its arrays."""
        content = io.BytesIO()
        np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
        with atomic_file(self.path(name, "npz")) as file:
            file.write(content.getvalue())
