"""Locks on files and folders that end with their process, however it ends.

A process locks a temporary for as long as it fills it, so that others can tell it from one that a killed process left
behind: the system drops the lock with the process. A process number could by then belong to another process, and an age
is only a guess.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

try:
    import fcntl
except ImportError:  # Windows, which cannot lock a folder
    fcntl = None  # type: ignore[assignment]

ABANDONED_SECONDS = 7 * 24 * 3600  # where nothing can be locked: what was not touched for this long is abandoned


_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


class FileLock:
    """A lock on a file or folder. It survives renames, and ends with `release`, the `with` block or the process."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        _held.add(self)

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):  # explicitly: a forked child shares the lock and would keep it
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def close_in_child(self) -> None:
        """Close the copy of a forked child, which must not keep the lock of a parent that is killed."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _close_all_in_child() -> None:
    for lock in list(_held):
        lock.close_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_in_child)


def lock_file(path: str | os.PathLike[str], exclusive: bool = False) -> FileLock:
    """Lock a file or folder that this process has just created.

    Parameters
    ----------
    path
        The file or folder.
    exclusive
        Whether no other process may have a lock on it. Shared locks, the default, only keep it from being removed.

    Returns
    -------
    FileLock
        The lock; use it in a `with` block, or call `release`.

    Raises
    ------
    FileNotFoundError
        If another process took it for abandoned and removed it meanwhile. The caller then creates another.
    BlockingIOError
        If an exclusive lock is wanted and another process has a lock.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with lock_file(folder):
    ...     is_abandoned(folder)
    False
    >>> is_abandoned(folder), remove_abandoned(folder), os.path.exists(folder)
    (True, True, False)
    """
    if fcntl is None:
        return FileLock(None)
    descriptor = os.open(path, os.O_RDONLY)
    # A shared lock waits only for a process that is removing it.
    how = fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH
    try:
        try:
            fcntl.flock(descriptor, how)
        except BlockingIOError:
            raise
        except OSError:  # no locks here, as on some network drives: the age decides
            pass
        if not os.path.samestat(os.fstat(descriptor), os.stat(path)):  # noqa: PTH116
            raise FileNotFoundError(f"{os.fspath(path)} was replaced before it was locked")
    except BaseException:
        os.close(descriptor)
        raise
    return FileLock(descriptor)


def is_abandoned(path: str | os.PathLike[str]) -> bool:
    """Return whether `path` exists and no process has a lock on it."""
    with _try_locking(path) as abandoned:
        return abandoned


def remove_abandoned(path: str | os.PathLike[str]) -> bool:
    """Remove a file or folder if no process has a lock on it; return whether it is gone."""
    with _try_locking(path) as abandoned:  # while it is removed, so that no process can lock half of it
        if not abandoned:
            return False
        if Path(path).is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                Path(path).unlink()
    return not os.path.lexists(path)


@contextlib.contextmanager
def _try_locking(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Lock a path for the length of a block, if no process has a lock on it; yield whether that is so."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:  # gone, another user's, or (Windows) a folder
        yield fcntl is None and _is_old(path)
        return
    try:
        yield _lock_if_free(descriptor, path)
    finally:
        os.close(descriptor)


def _lock_if_free(descriptor: int, path: str | os.PathLike[str]) -> bool:
    if fcntl is None:
        return _is_old(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return _is_old(path)
    return True


def _is_old(path: str | os.PathLike[str]) -> bool:
    try:
        return time.time() - os.stat(path).st_mtime > ABANDONED_SECONDS  # noqa: PTH116
    except OSError:
        return False
