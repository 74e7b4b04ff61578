"""Who is still working on a file or folder: a lock that ends with its process, however that ends.

A temporary that a process claims for as long as it fills it can be told from one that a killed process left behind: the
system drops the lock with the process, where a process number could by then be another's, and an age is only a guess.
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

ABANDONED_SECONDS = 7 * 24 * 3600  # where nothing can be locked, what nobody touched for so long has no process


_held: weakref.WeakSet[FileLock] = weakref.WeakSet()


class FileLock:
    """A held claim. It survives renames of what is claimed, and ends with `release`, `with` or the process."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        _held.add(self)

    def release(self) -> None:
        """Give the claim up; again does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):  # explicitly: a forked child shares the lock and would keep it
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def forget(self) -> None:
        """Let a forked child close its copy: it must not keep the claim of a parent that is killed."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> FileLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def _forget_all() -> None:
    for held in list(_held):
        held.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def lock_file(path: str | os.PathLike[str], exclusive: bool = False) -> FileLock:
    """FileLock a file or folder that this process has just made.

    Between making and claiming somebody may have taken it for abandoned: then this raises FileNotFoundError, and the
    caller makes another. An exclusive claim raises BlockingIOError while another process has one.

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
    # shared, so that only somebody who removes it is waited for
    how = fcntl.LOCK_EX | fcntl.LOCK_NB if exclusive else fcntl.LOCK_SH
    try:
        try:
            fcntl.flock(descriptor, how)
        except BlockingIOError:
            raise
        except OSError:  # no locks here, as on some network drives: the age will have to tell
            pass
        if not os.path.samestat(os.fstat(descriptor), os.stat(path)):  # noqa: PTH116
            raise FileNotFoundError(f"{os.fspath(path)} was replaced before it was claimed")
    except BaseException:
        os.close(descriptor)
        raise
    return FileLock(descriptor)


def is_abandoned(path: str | os.PathLike[str]) -> bool:
    """Whether `path` exists and no process holds a claim on it."""
    with _taken(path) as taken:
        return taken


def remove_abandoned(path: str | os.PathLike[str]) -> bool:
    """Remove a file or folder if no process holds a claim on it; says whether it is gone."""
    with _taken(path) as taken:  # held while it is removed, so that nobody can claim half of it
        if not taken:
            return False
        if Path(path).is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                Path(path).unlink()
    return not os.path.lexists(path)


@contextlib.contextmanager
def _taken(path: str | os.PathLike[str]) -> Iterator[bool]:
    """Try to lock out every claimant for a while; gives whether there was none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:  # gone, another user's, or (Windows) a folder
        yield fcntl is None and _is_old(path)
        return
    try:
        yield _locked(descriptor, path)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, path: str | os.PathLike[str]) -> bool:
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
