"""Where encoded corpora are kept: folders that are filled out of sight, and published whole under their fingerprint."""

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

INFO_FILE = "corpus.json"  # written last: its presence says that the others are whole
TEMPORARY_PREFIX = "mumon-encoding-"  # folders outside the cache
# A file's path or URL, size and time of change (or whatever else its filesystem has that changes with the content)
Stamp = tuple[str, int, int | str]
UNUSED_DAYS = 30  # before the encoding of remote files goes: to ask whether they changed may take long, and cost


def cache_folder() -> Path:
    """The folder of all encodings."""
    return paths.cache_directory() / "corpora"


@contextlib.contextmanager
def create_folder(stamps: Sequence[Stamp] = ()) -> Iterator[tuple[Path, str]]:
    """A folder to encode into, claimed for as long as that takes, and why it is not in the cache, if it is not.

    In the cache if possible, for temporary folders are often kept in memory. What is not renamed is removed, and so
    are encodings of what these files were before.
    """
    folder, held, remark = _new_folder(stamps)
    with held:
        try:
            yield folder, remark
        except OSError as error:
            if error.errno is None or error.errno not in DISK_FULL_ERRNOS:  # perhaps of the iterable that is read
                raise
            raise CorpusError(
                f"the encoded text does not fit into {folder.parent} ({os.strerror(error.errno)}); make room there, or "
                "name another place with MUMON_CACHE"
            ) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _new_folder(stamps: Sequence[Stamp]) -> tuple[Path, FileLock, str]:
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        _forget_stale(cache_folder(), stamps)  # before the new one needs the room
        return *_claimed_folder(cache_folder(), ".encoding-"), ""
    except OSError as error:
        remark = (
            f"the cache {cache_folder()} cannot be written to ({error.strerror}): the text is encoded for this run only"
        )
    try:
        elsewhere = Path(tempfile.gettempdir())
        for left in elsewhere.glob(f"{TEMPORARY_PREFIX}*"):
            remove_abandoned(left)
        return *_claimed_folder(elsewhere, TEMPORARY_PREFIX), remark
    except OSError as error:
        raise CorpusError(
            f"neither the cache {cache_folder()} nor a temporary folder can be written to ({error.strerror or error}); "
            "name a place with MUMON_CACHE"
        ) from None


def _claimed_folder(parent: Path, prefix: str) -> tuple[Path, FileLock]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with contextlib.suppress(FileNotFoundError):  # another process has just taken it for abandoned
            return folder, lock_file(folder)


def publish(folder: Path, kept: Path, is_whole: Callable[[Path], bool]) -> bool:
    """Give an encoding the name under which others look for it, once it is safe from a power cut."""
    sync_tree(folder)
    try:
        folder.rename(kept)
    except OSError:
        if is_whole(kept):  # another process was first with the same text
            return False
        shutil.rmtree(kept, ignore_errors=True)  # it was damaged
        folder.rename(kept)
    sync_directory(kept.parent)
    return True


def read_stamps(names: Sequence[str], fresh: bool = False) -> list[Stamp] | None:
    """What tells these files from what they were or will be; None if one of them, as a pipe, has nothing that does.

    `fresh` asks servers again for what may be remembered here.
    """
    if not all(is_url(name) or Path(name).is_file() for name in names):
        return None
    urls = [name for name in names if is_url(name)]
    told = {url: _remote_stamp(url, about) for url, about in zip(urls, read_file_info(urls, fresh), strict=True)}
    stamps = []
    for name in names:
        try:
            stamp = told[name] if name in told else _stamp(name)
        except OSError as error:  # it was there a moment ago
            raise make_unreadable_error(name, error) from None
        if stamp is None:
            return None
        stamps.append(stamp)
    return stamps


def _stamp(name: str) -> Stamp:
    stat = Path(name).stat()
    return str(Path(name).resolve()), stat.st_size, stat.st_mtime_ns


def _remote_stamp(url: str, about: FileInfo) -> Stamp | None:
    if about.size is None or about.identity is None:
        return None
    shown = hide_secrets(url)  # stamps are written down, and secrets should not be
    hidden = "" if shown == url else " " + hashlib.sha256(url.encode()).hexdigest()[:24]
    return shown, about.size, about.identity + hidden


def are_unchanged(names: Sequence[str], stamps: list[Stamp]) -> bool:
    """Whether the files are still the same."""
    try:
        return read_stamps(names, fresh=True) == stamps
    except CorpusError:
        return False


def touch(folder: Path) -> None:
    """Remember that an encoding is still of use."""
    with contextlib.suppress(OSError):
        os.utime(folder / INFO_FILE)


def _forget_stale(everything: Path, stamps: Sequence[Stamp]) -> None:
    """Delete encodings of files that have changed or gone, which can never be asked for again, and abandoned ones."""
    now = {stamp[0]: stamp for stamp in stamps}
    with contextlib.suppress(OSError):  # other processes come and go in this folder, too
        for folder in everything.iterdir():
            if folder.name.startswith("."):
                remove_abandoned(folder)
            elif _is_stale(folder, now):
                shutil.rmtree(folder, ignore_errors=True)


def _is_stale(folder: Path, now: dict[str, Stamp]) -> bool:
    try:
        about = folder / INFO_FILE
        for stamp in (tuple(stamp) for stamp in json.loads(about.read_text())["inputs"]):
            if not is_url(stamp[0]):
                if stamp != _stamp(stamp[0]):
                    return True
            elif stamp != now.get(stamp[0], stamp) or time.time() - about.stat().st_mtime > UNUSED_DAYS * 86400:
                return True
        return False
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return True
