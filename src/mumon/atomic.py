"""Files and directories that appear whole or not at all.

Everything is written beside its target under a hidden temporary name, flushed to the disk, and renamed; whatever goes
wrong before the rename, the old target is still there and the temporary is gone.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from mumon.errors import OptionError

CONFIG_NAME = "config.json"
FORMAT_MARKER = "mumon"  # the value of "format" in CONFIG_NAME that makes a directory ours to replace

BUFFER_BYTES = 1 << 20


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` only when the block ends without an exception.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with atomic_file(target) as file:
    ...     _ = file.write(b"1 2 3")
    >>> target.read_bytes()
    b'1 2 3'
    """
    target = check_file_target(path)
    temporary = _temporary_name(target)
    try:
        with temporary.open("xb", buffering=BUFFER_BYTES) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    _sync_directory(target.parent)


@contextmanager
def atomic_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty directory to fill, which becomes `path` only when the block ends without an exception.

    An existing mumon model (or an empty directory) at `path` is replaced as a whole, files of the user's own inside it
    included; anything else that exists there is refused. Two renames replace a model, so a machine that loses power
    exactly between them keeps the old model under its hidden name `.NAME.….tmp`.
    """
    target = check_directory_target(path)
    temporary = _temporary_name(target)
    temporary.mkdir()
    try:
        yield temporary
        for entry in temporary.rglob("*"):
            _sync_directory(entry) if entry.is_dir() else _sync_file(entry)
        _sync_directory(temporary)
        check_directory_target(target)  # again: someone may have put something there meanwhile
        _swap(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _sync_directory(target.parent)


def is_model_directory(path: Path) -> bool:
    """Whether `path` is a directory whose config.json carries mumon's format marker."""
    try:
        config = json.loads((path / CONFIG_NAME).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT_MARKER


def check_file_target(path: str | os.PathLike[str]) -> Path:
    """Where a file will be written; refused if it cannot be. A symbolic link is written through, not replaced."""
    target = _resolve(path)
    if target.is_dir():
        raise OptionError(f"{target} is a directory and a file was to be written there; choose another name")
    if target.exists() and not target.is_file():
        raise OptionError(f"{target} is a device or pipe, which a file cannot replace; choose another name")
    return target


def check_directory_target(path: str | os.PathLike[str]) -> Path:
    """Where a model directory will be written; refused if that would destroy anything but an earlier model."""
    target = _resolve(path)
    if target.exists() and not target.is_dir():
        raise OptionError(f"{target} is a file and a model directory was to be written there; choose another name")
    entries = sum(1 for _ in target.iterdir()) if target.exists() else 0
    if entries and not is_model_directory(target):
        raise OptionError(
            f"{target} is a directory of {entries} entries that is not a mumon model; choose another name or empty it"
        )
    return target


def _resolve(path: str | os.PathLike[str]) -> Path:
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise OptionError(f"the directory {target.parent} does not exist; create it before writing {target.name}")
    if not os.access(target.parent, os.W_OK):
        raise OptionError(f"the directory {target.parent} does not let you write {target.name}; choose another place")
    return target


def _swap(new: Path, target: Path) -> None:
    """Rename `new` to `target`; what was there goes aside first and comes back if the rename fails."""
    if not target.exists():
        new.rename(target)
        return
    aside = _temporary_name(target)
    target.rename(aside)
    try:
        new.rename(target)
    except BaseException:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _temporary_name(target: Path) -> Path:
    # not tempfile: its files are private (0600) whatever the user's umask, and would stay so after the rename
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.tmp")


def _sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _sync_directory(path: Path) -> None:
    if os.name == "nt":  # Windows cannot open a directory, and orders renames itself
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
