"""Where encoded corpora are kept: folders that are filled out of sight, and published whole under their fingerprint."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from mumon import paths
from mumon.atomic import sync_directory, sync_tree
from mumon.claims import Claim, claim, remove_abandoned
from mumon.corpus.sources import unreadable
from mumon.errors import FULL, CorpusError

INFO = "corpus.json"  # written last: its presence says that the others are whole
TEMPORARY = "mumon-encoding-"  # folders outside the cache
Stamp = tuple[str, int, int]  # a file's path, size and time of change


def home() -> Path:
    """The folder of all encodings."""
    return paths.cache_directory() / "corpora"


@contextlib.contextmanager
def folder_to_fill() -> Iterator[tuple[Path, str]]:
    """A folder to encode into, claimed for as long as that takes, and why it is not in the cache, if it is not.

    In the cache if possible, for temporary folders are often kept in memory. What is not renamed is removed.
    """
    folder, held, remark = _new_folder()
    with held:
        try:
            yield folder, remark
        except OSError as error:
            if error.errno is None or error.errno not in FULL:  # perhaps of the iterable that is read
                raise
            raise CorpusError(
                f"the encoded text does not fit into {folder.parent} ({os.strerror(error.errno)}); make room there, or "
                "name another place with MUMON_CACHE"
            ) from None
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _new_folder() -> tuple[Path, Claim, str]:
    try:
        home().mkdir(parents=True, exist_ok=True)
        _forget_stale(home())  # before the new one needs the room
        return *_claimed_folder(home(), ".encoding-"), ""
    except OSError as error:
        remark = f"the cache {home()} cannot be written to ({error.strerror}): the text is encoded for this run only"
    try:
        elsewhere = Path(tempfile.gettempdir())
        for left in elsewhere.glob(f"{TEMPORARY}*"):
            remove_abandoned(left)
        return *_claimed_folder(elsewhere, TEMPORARY), remark
    except OSError as error:
        raise CorpusError(
            f"neither the cache {home()} nor a temporary folder can be written to ({error.strerror or error}); name a "
            "place with MUMON_CACHE"
        ) from None


def _claimed_folder(parent: Path, prefix: str) -> tuple[Path, Claim]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        with contextlib.suppress(FileNotFoundError):  # another process has just taken it for abandoned
            return folder, claim(folder)


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


def stamps_of(names: list[str]) -> list[Stamp]:
    """What tells these files from what they were or will be."""
    stamps = []
    for name in names:
        try:
            stamps.append(_stamp(name))
        except OSError as error:  # it was there a moment ago
            raise unreadable(name, error) from None
    return stamps


def _stamp(name: str) -> Stamp:
    stat = Path(name).stat()
    return str(Path(name).resolve()), stat.st_size, stat.st_mtime_ns


def unchanged(stamps: list[Stamp]) -> bool:
    """Whether the files are still the same."""
    try:
        return stamps == [_stamp(name) for name, *_ in stamps]
    except OSError:
        return False


def _forget_stale(everything: Path) -> None:
    """Delete encodings of files that have changed or gone, which can never be asked for again, and abandoned ones."""
    with contextlib.suppress(OSError):  # other processes come and go in this folder, too
        for folder in everything.iterdir():
            if folder.name.startswith("."):
                remove_abandoned(folder)
            elif _is_stale(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_stale(folder: Path) -> bool:
    try:
        return not unchanged([tuple(stamp) for stamp in json.loads((folder / INFO).read_text())["inputs"]])
    except (OSError, ValueError, KeyError, TypeError):
        return True
