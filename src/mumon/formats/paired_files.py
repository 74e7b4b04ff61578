"""Formats of two files, a matrix and the words of its rows beside it: never the one without the other."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mumon.errors import FormatError, OptionError
from mumon.utils.atomic import atomic_file, check_file_target

WORDS_ENDING = ".words.txt"  # beside NAME.npy
METADATA_ENDING = ".metadata.tsv"  # beside NAME.tsv


def name_side_file(path: Path, ending: str) -> Path:
    """The second file of a pair: NAME.words.txt beside NAME.npy."""
    return path.with_name(path.stem + ending)


def check_pair(main: Path, side: Path) -> None:
    """Refuse to write over a second file that is no part of an earlier pair."""
    check_file_target(main)
    check_file_target(side)
    if side.exists() and not main.exists():
        raise OptionError(
            f"{side} exists without {main.name}, so it may be something else, and would be the second of 2 files; "
            "choose another name"
        )


@contextmanager
def atomic_pair(main: Path, side: Path) -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Open two files that replace `main` and `side` together when the block ends without an exception.

    Two renames are two moments. So both files are on the disk first; then the old main file goes, then the second
    file is renamed, then the main one. Whoever comes in between, or after a power cut there, finds no main file and is
    told so: never new words with an old matrix of the same size, which nobody would notice.
    """
    check_pair(main, side)
    with atomic_file(main) as first, atomic_file(side) as second:
        yield first, second
        for file in (first, second):
            file.flush()
            os.fsync(file.fileno())
        target = main.resolve()
        if target.exists():
            if hasattr(os, "fchmod"):
                os.fchmod(first.fileno(), stat.S_IMODE(target.stat().st_mode))
            target.unlink()


def find_side_file(path: Path, *endings: str) -> Path:
    """The second file of a pair that is read: the first of its possible names that is there."""
    places = [name_side_file(path, ending) for ending in endings]
    for place in places:
        if place.is_file():
            return place
    raise FormatError(f"{path} has no {places[0].name} beside it for the words of its rows; keep the 2 files together")
