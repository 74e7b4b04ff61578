"""What has been measured, by all that it depends on: nothing is measured twice, whatever was interrupted."""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from mumon.utils.atomic import atomic_file
from mumon.utils.strict_json import parse

VERSION = 1  # of what the records hold
Arrays = Mapping[str, NDArray[Any]]


class Cache:
    """Records (JSON) and arrays (NumPy's npz, no pickle) in a folder, named by a digest of their inputs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def key(self, kind: str, inputs: Mapping[str, Any]) -> str:
        """A name that only these inputs have.

        >>> import tempfile
        >>> cache = Cache(Path(tempfile.mkdtemp()))
        >>> cache.key("run", {"a": 1, "b": 2}) == cache.key("run", {"b": 2, "a": 1})
        True
        """
        content = json.dumps([VERSION, kind, inputs], sort_keys=True, allow_nan=False)
        return f"{kind}-{hashlib.blake2b(content.encode(), digest_size=10).hexdigest()}"

    def record(self, kind: str, inputs: Mapping[str, Any], measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What `measure` gave for these inputs, now or an earlier time."""
        found = self.find(kind, inputs)
        return found if found is not None else self.put(kind, inputs, measure())

    def find(self, kind: str, inputs: Mapping[str, Any]) -> dict[str, Any] | None:
        """The record of these inputs, if there is one; a damaged one counts as none."""
        try:
            record = parse((self.folder / f"{self.key(kind, inputs)}.json").read_bytes())
        except (OSError, ValueError):
            return None
        return record["result"] if isinstance(record, dict) and isinstance(record.get("result"), dict) else None

    def put(
        self, kind: str, inputs: Mapping[str, Any], result: dict[str, Any], arrays: Arrays | None = None
    ) -> dict[str, Any]:
        """Keep a record; its arrays are written first, so that a record always has them."""
        stem = self.folder / self.key(kind, inputs)
        if arrays is not None:
            content = io.BytesIO()
            np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
            with atomic_file(stem.with_suffix(".npz")) as file:
                file.write(content.getvalue())
        with atomic_file(stem.with_suffix(".json")) as file:
            content_ = json.dumps({"kind": kind, "inputs": inputs, "result": result}, ensure_ascii=False, indent=1)
            file.write(content_.encode() + b"\n")
        return result

    def arrays(self, kind: str, inputs: Mapping[str, Any]) -> dict[str, NDArray[Any]] | None:
        """The arrays of a record, or None if they are gone or damaged."""
        try:
            with np.load(self.folder / f"{self.key(kind, inputs)}.npz", allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
        except (OSError, ValueError, EOFError, BadZipFile, zlib.error):
            return None
