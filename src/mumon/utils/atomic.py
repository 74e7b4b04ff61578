"""Files and directories that appear whole or not at all.

Everything is written next to its target under a hidden temporary name, flushed to the disk, and renamed. If something
goes wrong before the rename, the old target is still there and the temporary is removed, at the latest when the next
process writes there: temporaries are locked, so that those of a killed process can be recognised.
"""

from __future__ import annotations

import glob
import json
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

from mumon.errors import OptionError
from mumon.utils.file_lock import FileLock, lock_file, remove_abandoned

CONFIG_NAME = "config.json"
FORMAT_MARKER = "mumon"  # the value of "format" in CONFIG_NAME that makes a directory ours to replace

BUFFER_BYTES = 1 << 20
T = TypeVar("T")


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` only when the block ends without an exception.

    Parameters
    ----------
    path
        Where the file is to appear. A symbolic link is written through, not replaced.

    Yields
    ------
    BinaryIO
        The file to write to.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "numbers.txt"
    >>> with atomic_file(target) as file:
    ...     _ = file.write(b"1 2 3")
    >>> target.read_bytes()
    b'1 2 3'
    """
    target = check_file_target(path)
    temporary, file, lock = _create_locked(target, lambda path: path.open("xb", buffering=BUFFER_BYTES))
    try:
        with lock, file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            temporary.unlink()
        _name_target(error, target)
        raise
    sync_directory(target.parent)


@contextmanager
def atomic_directory(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Create an empty directory to fill, which becomes `path` only when the block ends without an exception.

    An existing mumon model (or an empty directory) at `path` is replaced as a whole, including files of the user's own
    inside it; anything else that exists there is refused. Linux exchanges two directories in one step. On other
    systems, a machine that loses power exactly between two renames keeps the old model as `.NAME.….old`.

    Parameters
    ----------
    path
        Where the directory is to appear.

    Yields
    ------
    Path
        The directory to fill.
    """
    target = check_directory_target(path)
    temporary, _, lock = _create_locked(target, Path.mkdir)
    try:
        with lock:
            yield temporary
            sync_tree(temporary)
            check_directory_target(target)  # again: something may have been put there meanwhile
            replace_directory(temporary, target)
    except BaseException as error:
        shutil.rmtree(temporary, ignore_errors=True)
        _name_target(error, target)
        raise
    sync_directory(target.parent)


def _name_target(error: BaseException, target: Path) -> None:
    """Put the target's name into an error that has none, as of a full disk, or that of the temporary, which is gone."""
    if isinstance(error, OSError) and error.errno is not None and not os.path.lexists(error.filename or ""):
        error.filename = str(target)


def sync_tree(folder: Path) -> None:
    """Flush everything in a folder to the disk, before it gets the name that others look for."""
    for entry in folder.rglob("*"):
        sync_directory(entry) if entry.is_dir() else _sync_file(entry)
    sync_directory(folder)


def is_model_directory(path: Path) -> bool:
    """Return whether `path` is a directory whose config.json has mumon's format marker."""
    try:
        config = json.loads((path / CONFIG_NAME).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT_MARKER


def check_file_target(path: str | os.PathLike[str]) -> Path:
    """Return where a file will be written, or raise an OptionError if it cannot be.

    A symbolic link is written through, not replaced.
    """
    target = _resolve(path)
    if target.is_dir():
        raise OptionError(f"{target} is a directory and a file was to be written there; choose another name")
    if target.exists() and not target.is_file():
        raise OptionError(f"{target} is a device or pipe, which a file cannot replace; choose another name")
    return target


def check_directory_target(path: str | os.PathLike[str]) -> Path:
    """Return where a model directory will be written; refuse to destroy anything but an earlier model."""
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
    if "://" in os.fspath(path):
        raise OptionError(f"{os.fspath(path)} is a URL, and results are written to this machine; choose a path")
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise OptionError(f"the directory {target.parent} does not exist; create it before writing {target.name}")
    if not os.access(target.parent, os.W_OK):
        raise OptionError(f"the directory {target.parent} does not let you write {target.name}; choose another place")
    return target


def replace_directory(new: Path, target: Path) -> None:
    """Rename the directory `new` to `target`, in one step if the system can, and remove what was there."""
    if not target.exists():
        new.rename(target)
        return
    if _exchange(new, target):
        sync_directory(target.parent)
        shutil.rmtree(new, ignore_errors=True)
        return
    aside = _temporary_name(target, "old")
    target.rename(aside)
    try:
        new.rename(target)
    except BaseException:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _exchange(a: Path, b: Path) -> bool:
    """Exchange two paths in one step; return False where the system or its file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library from before 2018
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(here, os.fsencode(a), here, os.fsencode(b), exchange) == 0)


def _temporary_name(target: Path, suffix: str = "tmp") -> Path:
    # not tempfile: its files are private (0600) whatever the user's umask, and would stay so after the rename
    return target.with_name(f".{target.name[:40]}.{secrets.token_hex(6)}.{suffix}")


def _create_locked(target: Path, make: Callable[[Path], T]) -> tuple[Path, T, FileLock]:
    """Create a temporary for a target and lock it; try again if another process took it for abandoned meanwhile."""
    _clear_abandoned(target)
    while True:
        temporary = _temporary_name(target)
        made = make(temporary)
        with suppress(FileNotFoundError):
            return temporary, made, lock_file(temporary)


def _clear_abandoned(target: Path) -> None:
    """Remove what killed processes left half-written for this target; an old model only if there is a new one."""
    stem = glob.escape(f".{target.name[:40]}.") + "[0-9a-f]" * 12
    for suffix in ("tmp", "old") if target.exists() else ("tmp",):
        for temporary in target.parent.glob(f"{stem}.{suffix}"):
            remove_abandoned(temporary)


def _sync_file(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Flush the names in a directory to the disk."""
    if os.name == "nt":  # Windows cannot open a directory, and orders renames itself
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
