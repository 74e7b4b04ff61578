"""Where encoded corpora are kept: folders that are filled under a hidden name, and renamed when they are complete.

An encoding is keyed by the paths, sizes and modification times of its files (of remote ones by URL, size, and time or
ETag) and by the text options. Encodings of files that changed or vanished are deleted when the next one is made; those
of remote files when a newer one replaces them, or when they have not been used for 30 days.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from mumon.corpus.filesystem import FileInfo, hide_secrets, is_url, read_file_info
from mumon.corpus.sources import make_unreadable_error
from mumon.errors import DISK_FULL_ERRNOS, CorpusError
from mumon.utils import paths
from mumon.utils.atomic import sync_directory, sync_tree
from mumon.utils.file_lock import FileLock, lock_file, remove_abandoned

INFO_FILE = "corpus.json"  # written last: if it is there, the other files are complete
TEMPORARY_PREFIX = "mumon-encoding-"  # of folders outside the cache
# A file's path or URL, size, and time of change (or whatever its filesystem has that changes with the content).
Stamp = tuple[str, int, int | str]
UNUSED_DAYS = (
    30  # until the encoding of remote files is deleted: asking whether they changed is slow, and may cost money
)


def cache_folder() -> Path:
    """Return the folder of all encodings."""
    return paths.cache_directory() / "corpora"


@contextlib.contextmanager
def create_folder(stamps: Sequence[Stamp] = ()) -> Iterator[tuple[Path, str]]:
    """Create a folder to encode into, locked for as long as that takes.

    It is in the cache if possible, because temporary folders are often kept in memory. Encodings of earlier versions of
    these files are removed, and at the end the folder, unless it was renamed.

    Parameters
    ----------
    stamps
        The files that will be encoded.

    Yields
    ------
    tuple of Path and str
        The folder, and why it is not in the cache, if it is not.
    """
    folder, lock, remark = _choose_folder(stamps)
    with lock:
        try:
            yield folder, remark
        except OSError as error:
            if error.errno is None or error.errno not in DISK_FULL_ERRNOS:  # perhaps from the iterable that is read
                raise
            raise CorpusError(
                f"the encoded text does not fit into {folder.parent} ({os.strerror(error.errno)}); make room there, or "
                "name another place with MUMON_CACHE"
            ) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _choose_folder(stamps: Sequence[Stamp]) -> tuple[Path, FileLock, str]:
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        _delete_stale(cache_folder(), stamps)  # before the new one needs the space
        return *_create_locked_folder(cache_folder(), ".encoding-"), ""
    except OSError as error:
        remark = (
            f"the cache {cache_folder()} cannot be written to ({error.strerror}): the text is encoded for this run only"
        )
    try:
        elsewhere = Path(tempfile.gettempdir())
        for abandoned in elsewhere.glob(f"{TEMPORARY_PREFIX}*"):
            remove_abandoned(abandoned)
        return *_create_locked_folder(elsewhere, TEMPORARY_PREFIX), remark
    except OSError as error:
        raise CorpusError(
            f"neither the cache {cache_folder()} nor a temporary folder can be written to ({error.strerror or error}); "
            "name a place with MUMON_CACHE"
        ) from None


def _create_locked_folder(parent: Path, prefix: str) -> tuple[Path, FileLock]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with contextlib.suppress(FileNotFoundError):  # another process has just taken it for abandoned
            return folder, lock_file(folder)


def publish(folder: Path, target: Path, is_whole: Callable[[Path], bool]) -> bool:
    """Rename a complete encoding to the name under which other runs look for it.

    Parameters
    ----------
    folder
        The encoding; it is flushed to the disk first.
    target
        Its name in the cache.
    is_whole
        Checks an encoding that is there already.

    Returns
    -------
    bool
        False if another process was first with the same text.
    """
    sync_tree(folder)
    try:
        folder.rename(target)
    except OSError:
        if is_whole(target):
            return False
        shutil.rmtree(target, ignore_errors=True)  # it was damaged
        folder.rename(target)
    sync_directory(target.parent)
    return True


def read_stamps(names: Sequence[str], fresh: bool = False) -> list[Stamp] | None:
    """Read what distinguishes files from their earlier and later versions.

    Parameters
    ----------
    names
        Paths and URLs.
    fresh
        Whether to ask servers again instead of using what fsspec remembers.

    Returns
    -------
    list of Stamp or None
        One for each file; None if a file, such as a pipe, has nothing that changes with its content.
    """
    if not all(is_url(name) or Path(name).is_file() for name in names):
        return None
    urls = [name for name in names if is_url(name)]
    remote = {url: _make_remote_stamp(url, info) for url, info in zip(urls, read_file_info(urls, fresh), strict=True)}
    stamps = []
    for name in names:
        try:
            stamp = remote[name] if name in remote else _read_stamp(name)
        except OSError as error:  # it was there a moment ago
            raise make_unreadable_error(name, error) from None
        if stamp is None:
            return None
        stamps.append(stamp)
    return stamps


def _read_stamp(name: str) -> Stamp:
    stat = Path(name).stat()
    return str(Path(name).resolve()), stat.st_size, stat.st_mtime_ns


def _make_remote_stamp(url: str, info: FileInfo) -> Stamp | None:
    if info.size is None or info.identity is None:
        return None
    shown = hide_secrets(url)  # stamps are written to disk, and secrets should not be
    hidden = "" if shown == url else " " + hashlib.sha256(url.encode()).hexdigest()[:24]
    return shown, info.size, info.identity + hidden


def are_unchanged(names: Sequence[str], stamps: list[Stamp]) -> bool:
    """Return whether files still have the stamps that they had."""
    try:
        return read_stamps(names, fresh=True) == stamps
    except CorpusError:
        return False


def touch(folder: Path) -> None:
    """Record that an encoding is still in use."""
    with contextlib.suppress(OSError):
        os.utime(folder / INFO_FILE)


def _delete_stale(everything: Path, stamps: Sequence[Stamp]) -> None:
    """Delete encodings of files that changed or vanished, which can never be used again, and abandoned ones."""
    now = {stamp[0]: stamp for stamp in stamps}
    with contextlib.suppress(OSError):  # other processes add and delete folders here, too
        for folder in everything.iterdir():
            if folder.name.startswith("."):
                remove_abandoned(folder)
            elif _is_stale(folder, now):
                shutil.rmtree(folder, ignore_errors=True)


def _is_stale(folder: Path, now: dict[str, Stamp]) -> bool:
    try:
        info = folder / INFO_FILE
        for stamp in (tuple(stamp) for stamp in json.loads(info.read_text())["inputs"]):
            if not is_url(stamp[0]):
                if stamp != _read_stamp(stamp[0]):
                    return True
            elif stamp != now.get(stamp[0], stamp) or time.time() - info.stat().st_mtime > UNUSED_DAYS * 86400:
                return True
        return False
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return True
