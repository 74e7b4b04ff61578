"""A file of one word per line, which stands beside a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO

from mumon.errors import FormatError
from mumon.formats.base import as_format_errors
from mumon.formats.text_rows import MAX_ROW_BYTES


class LineReader:
    """Lines of the second of two files, as many at a time as the first has rows."""

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
        """The next lines."""
        lines = list(islice(self._lines, count))
        if len(lines) < count:
            raise FormatError(
                f"{self.path} ends after {self.done} lines, and there are more rows; keep the 2 files together"
            )
        return [line.decode("utf-8", "replace") for line in lines]

    def end(self) -> None:
        """Refuse lines beyond those that were taken."""
        if next(self._lines, None) is not None:
            raise FormatError(f"{self.path} goes on at line {self.done}, after the last row; keep the 2 files together")
