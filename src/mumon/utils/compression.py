"""Reading compressed files: gzip, bzip2, xz and zstd are known by their first bytes, not by the file's name.

A few bytes can unpack to terabytes, so what comes out is bounded by what goes in.
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

# No text begins like these: the others are not UTF-8, and "BZh" alone, which a word may begin with, is not enough.
MAGIC = re.compile(
    rb"(?P<gz>\x1f\x8b)|(?P<bz2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\0)|(?P<zst>\x28\xb5\x2f\xfd)"
)
MAGIC_BYTES = 10
BUFFER_BYTES = 1 << 20
# Text packs to a tenth, vectors to a third, and vectors that are all alike to a hundredth.
MAX_EXPANSION = 200
ALWAYS_ALLOWED_BYTES = 1 << 22  # may come out of any file: small ones of one repeated line pack better than that
XZ_MEMORY = 1 << 27  # xz -9 needs half of that; zstd's own bound is the same


class ExpansionError(Exception):
    """More comes out of a file than its size accounts for. The message goes on after the file's name."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"unpacks to more than {MAX_EXPANSION} times its {size:,} bytes; if it is meant to, unpack it before "
            "reading"
        )


# What reading raises when a compressed file is damaged or cut short; zstd's errors are plain OSErrors.
DAMAGE_ERRORS = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, ExpansionError)


def check_expansion(size: int, unpacked: int) -> None:
    """Refuse what is out of proportion to the size of its file."""
    if unpacked > max(ALWAYS_ALLOWED_BYTES, MAX_EXPANSION * size):
        raise ExpansionError(size)


def find_size(raw: io.BufferedReader) -> int | None:
    """How many bytes a file has; None for pipes, and for what a server sends without saying how much it is."""
    if not isinstance(raw.raw, io.FileIO):  # of another filesystem, and without a descriptor
        return getattr(raw.raw, "size", None)
    about = os.fstat(raw.fileno())
    return about.st_size if stat.S_ISREG(about.st_mode) else None


def detect_compression(raw: io.BufferedReader) -> str | None:
    """The name of the compression that the first bytes announce, if any; nothing is consumed."""
    found = MAGIC.match(raw.peek(MAGIC_BYTES))
    return None if found is None else found.lastgroup


def decompress(raw: io.BufferedReader) -> IO[bytes]:
    """The content of a file, unpacked if it is packed."""
    kind = detect_compression(raw)
    if kind is None:
        return raw
    return io.BufferedReader(_Bounded(_unpacker(kind, raw), raw), BUFFER_BYTES)


def _unpacker(kind: str, raw: io.BufferedReader) -> Any:
    if kind == "gz":
        return gzip.open(raw)
    if kind == "bz2":
        return bz2.open(raw)
    if kind == "xz":
        return _Xz(raw)
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")


class _Bounded(io.RawIOBase):
    """What an unpacker gives, as long as it stays in proportion to the file. Pipes have no size, and no bound."""

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


class _Xz(io.RawIOBase):
    """As lzma.LZMAFile, but with a bound on the memory that a header may ask for: the format's own is 4 GB."""

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
