"""A file of another filesystem, opened as one of this machine is."""

from __future__ import annotations

import io
from typing import Any

from mumon.corpus.filesystem import Place, place_of, sentences

FIRST_BYTES, BUFFER_BYTES = 1 << 18, 1 << 23  # asked for at once: every request waits for the network


def open_url(url: str) -> io.BufferedReader:
    """A file to read."""
    with sentences(url):
        place = place_of(url)
        if place.fsspec is None:
            file = place.files.open_input_file(place.path)
            return io.BufferedReader(_Remote(file, file.size(), url), BUFFER_BYTES)
        streamed = url.startswith("http") and not _serves_ranges(place)
        file = place.fsspec.open(place.path, "rb", **({"block_size": 0} if streamed else {}))
        size = getattr(file, "size", None)  # of some it is a method
        return io.BufferedReader(_Remote(file, size if isinstance(size, int) else None, url, streamed), BUFFER_BYTES)


def _serves_ranges(place: Place) -> bool:
    """Whether a web server sends parts of a file; they do not say so, and fsspec finds out after the first 5 MB."""
    with place.fsspec.open(place.path, "rb", block_size=16) as file:
        if not getattr(file, "size", None):
            return False
        try:
            file.seek(1)
            file.read(1)
        except ValueError:
            return False
        return True


class _Remote(io.RawIOBase):
    """A file of another filesystem as Python's own; an error of its library becomes a sentence.

    The first time a buffer gets little: many look at no more than a file's beginning.
    """

    def __init__(self, file: Any, size: int | None, url: str, streamed: bool = False) -> None:
        self._file, self.size, self._url, self._streamed = file, size, url, streamed
        self._ahead, self._over = FIRST_BYTES, False

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return not self._streamed

    def readinto(self, buffer: Any) -> int:
        data = self.read(min(len(buffer), self._ahead))
        self._ahead = BUFFER_BYTES
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int = -1) -> bytes:
        """All that was asked for, unless the file ends before: Arrow would take less for the end of a Parquet file."""
        parts: list[bytes] = []
        with sentences(self._url):
            while size and not self._over:
                parts.append(bytes(self._file.read(size) if size > 0 else self._file.read()))
                size -= len(parts[-1]) if size > 0 else 0
                self._over = not parts[-1]
        return b"".join(parts)

    def seek(self, offset: int, whence: int = 0) -> int:
        with sentences(self._url):
            self._file.seek(offset, whence)
            self._over = False
            return int(self._file.tell())

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
