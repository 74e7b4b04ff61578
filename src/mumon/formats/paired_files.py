"""Formats of two files, a matrix and the words of its rows beside it: never one without the other."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO

from mumon.errors import FormatError, OptionError
from mumon.formats.base import as_format_errors
from mumon.formats.text_rows import MAX_ROW_BYTES
from mumon.utils.atomic import atomic_file, check_file_target

WORDS_ENDING = ".words.txt"  # beside NAME.npy
METADATA_ENDING = ".metadata.tsv"  # beside NAME.tsv


def name_side_file(path: Path, ending: str) -> Path:
    """Return the path of the second file of a pair: NAME.words.txt for NAME.npy."""
    return path.with_name(path.stem + ending)


def find_side_file(path: Path, *endings: str) -> Path:
    """Find the second file of a pair: the first of its possible names that exists."""
    places = [name_side_file(path, ending) for ending in endings]
    for place in places:
        if place.is_file():
            return place
    raise FormatError(f"{path} has no {places[0].name} beside it for the words of its rows; keep the 2 files together")


def check_pair(main: Path, side: Path) -> None:
    """Refuse to write over a second file that is not part of an earlier pair."""
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

    Two files cannot be renamed in one step. So both are first written to the disk; then the old main file is removed,
    the second file renamed, and finally the main one. A reader between these steps, or after a power cut there, finds
    no main file and says so. It never reads new words with an old matrix of the same size, which would go unnoticed.
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


class LineReader:
    """Lines of the second file, read in step with the rows of the first."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self.path, self.done = path, 0
        self._lines = self._read(stream)

    def _read(self, stream: IO[bytes]) -> Iterator[bytes]:
        while True:
            with as_format_errors(self.path):
                line = stream.readline(MAX_ROW_BYTES)
            if not line:
                return
            if len(line) == MAX_ROW_BYTES:
                raise FormatError(
                    f"{self.path}: line {self.done + 1} has more than {len(line)} bytes; is it the words?"
                )
            self.done += 1
            yield line.removesuffix(b"\n").removesuffix(b"\r")

    def take(self, count: int) -> list[str]:
        """Return the next `count` lines."""
        lines = list(islice(self._lines, count))
        if len(lines) < count:
            raise FormatError(
                f"{self.path} ends after {self.done} lines, and there are more rows; keep the 2 files together"
            )
        return [line.decode("utf-8", "replace") for line in lines]

    def check_end(self) -> None:
        """Refuse lines beyond those that were taken."""
        if next(self._lines, None) is not None:
            raise FormatError(
                f"{self.path} continues at line {self.done}, after the last row; keep the 2 files together"
            )
