"""Reading compressed files: gzip, bzip2, xz and zstd are recognised by their first bytes, not by the file's name.

A few bytes can unpack to terabytes, so the output is limited in proportion to the size of the file.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import zlib
from typing import IO, Any

# No text begins like these. A word may begin with "BZh", so more is asked of bzip2; the others are not UTF-8.
MAGIC = re.compile(
    rb"(?P<gz>\x1f\x8b)|(?P<bz2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\0)|(?P<zst>\x28\xb5\x2f\xfd)"
)
MAGIC_BYTES = 10
BUFFER_BYTES = 1 << 20
# Compressed text is about a tenth of its size, vectors a third, and vectors that are all equal a hundredth.
MAX_EXPANSION = 200
ALWAYS_ALLOWED_BYTES = 1 << 22  # allowed for any file: a small one of a repeated line is compressed even more
XZ_MEMORY = 1 << 27  # xz -9 needs half of that; zstd's own bound is the same


class ExpansionError(Exception):
    """A file unpacks to more than its size accounts for. The message continues a sentence that names the file."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"unpacks to more than {MAX_EXPANSION} times its {size:,} bytes; if it is meant to, unpack it before "
            "reading"
        )


# What reading raises when a compressed file is damaged or truncated; zstd raises plain OSErrors.
DAMAGE_ERRORS = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, ExpansionError)


def check_expansion(size: int, unpacked: int) -> None:
    """Raise an ExpansionError if a file unpacks to far more than its size.

    Parameters
    ----------
    size
        The bytes of the compressed file.
    unpacked
        The bytes that it unpacks to, so far or according to its header.
    """
    if unpacked > max(ALWAYS_ALLOWED_BYTES, MAX_EXPANSION * size):
        raise ExpansionError(size)


def find_size(raw: io.BufferedReader) -> int | None:
    """Return the size of an open file in bytes; None for pipes, and for servers that do not say."""
    if not isinstance(raw.raw, io.FileIO):  # a file of another filesystem has no descriptor
        return getattr(raw.raw, "size", None)
    status = os.fstat(raw.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def detect_compression(raw: io.BufferedReader) -> str | None:
    """Return the compression that the first bytes announce ("gz", "bz2", "xz" or "zst"), or None; consume nothing."""
    found = MAGIC.match(raw.peek(MAGIC_BYTES))
    return None if found is None else found.lastgroup


def decompress(raw: io.BufferedReader) -> IO[bytes]:
    """Return a stream of a file's content, decompressed if the file is compressed.

    Parameters
    ----------
    raw
        An open binary file, at its beginning.

    Returns
    -------
    IO[bytes]
        `raw` itself if it is not compressed. Reading raises one of DAMAGE_ERRORS or an OSError if the file is damaged.
    """
    kind = detect_compression(raw)
    if kind is None:
        return raw
    return io.BufferedReader(_BoundedStream(_open_unpacker(kind, raw), raw), BUFFER_BYTES)


def _open_unpacker(kind: str, raw: io.BufferedReader) -> Any:
    if kind == "gz":
        return gzip.open(raw)
    if kind == "bz2":
        return bz2.open(raw)
    if kind == "xz":
        return _XzStream(raw)
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")


class _BoundedStream(io.RawIOBase):
    """What an unpacker returns, as long as it stays in proportion to the file. Pipes have no size, and no bound."""

    def __init__(self, unpacker: Any, raw: io.BufferedReader) -> None:
        self._unpacker, self._unpacked, self._size = unpacker, 0, find_size(raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = int(self._unpacker.readinto(buffer))
        self._unpacked += count
        if self._size is not None:
            check_expansion(self._size, self._unpacked)
        return count


class _XzStream(io.RawIOBase):
    """Like lzma.LZMAFile, but with a limit on the memory that a header may ask for; the format's own limit is 4 GB."""

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw, self._stream = raw, self._new()

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            packed = b""
            if self._stream.eof:  # another stream may follow, after padding
                packed = self._stream.unused_data.lstrip(b"\0")
                while not packed:
                    if not (block := self._raw.read(BUFFER_BYTES)):
                        return 0
                    packed = block.lstrip(b"\0")
                self._stream = self._new()
            elif self._stream.needs_input and not (packed := self._raw.read(BUFFER_BYTES)):
                raise EOFError("the file ends before the stream does")
            data = self._stream.decompress(packed, len(buffer))
            if data:
                buffer[: len(data)] = data
                return len(data)
