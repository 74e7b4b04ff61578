"""An index on disk: a line of JSON that says of which vectors it is, then usearch's own bytes."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mumon.errors import FormatError
from mumon.utils.strict_json import parse

if TYPE_CHECKING:
    from mumon.vectors.lookup import Lookup

MAGIC, VERSION = "mumon index", 1
MAX_HEADER = 4096
BLOCK = 4096  # rows that are digested at a time


def write(path: str | os.PathLike[str], wv: Lookup, data: bytes) -> None:
    """Write an index of these vectors, whole or not at all."""
    from mumon.utils.atomic import atomic_file

    header = {"format": MAGIC, "version": VERSION, **_about(wv), "bytes": _digest(data)}
    with atomic_file(path) as file:
        file.write(json.dumps(header).encode() + b"\n")
        file.write(data)


def read(path: str | os.PathLike[str], wv: Lookup) -> bytes:
    """The bytes of an index; refused if they are damaged, or belong to other vectors."""
    from mumon.formats.base import as_format_errors

    name = os.fspath(path)
    with as_format_errors(Path(path)), Path(path).open("rb") as file:
        header = _header(file.readline(MAX_HEADER))
        if header.get("format") != MAGIC or header.get("version") != VERSION:
            raise FormatError(f"{name} is no index that this mumon wrote; make one by index() and save that")
        data = file.read()
    if _digest(data) != header.get("bytes"):  # usearch believes what it reads
        raise FormatError(f"{name} is damaged (it has {len(data)} bytes of an index); make it again by index()")
    about = _about(wv)
    if any(header.get(key) != value for key, value in about.items()):
        raise FormatError(
            f"{name} is an index of {header.get('rows')} vectors, which are not these {about['rows']}; "
            "make one of these by index()"
        )
    return data


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = parse(line)
    except ValueError:
        return {}
    return header if isinstance(header, dict) else {}


def _about(wv: Lookup) -> dict[str, Any]:
    """What tells vectors from others: how many, how long, and a digest of the words and numbers."""
    rows = wv.next_index
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, rows, BLOCK):
        block = wv.vectors[start : min(start + BLOCK, rows)]
        digest.update(np.ascontiguousarray(block, "<f4").data)
        digest.update(json.dumps(wv.index_to_key[start : start + len(block)]).encode())
    return {"rows": rows, "size": wv.vector_size, "digest": digest.hexdigest()}


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
