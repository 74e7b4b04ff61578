"""Reading compressed files: gzip, bzip2, xz and zstd are known by their first bytes, not by the file's name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zlib
from typing import IO

# No text begins like these: the others are not UTF-8, and "BZh" alone, which a word may begin with, is not enough.
MAGIC = re.compile(
    rb"(?P<gz>\x1f\x8b)|(?P<bz2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\0)|(?P<zst>\x28\xb5\x2f\xfd)"
)
MAGIC_BYTES = 10
BUFFER_BYTES = 1 << 20

# What reading raises when a compressed file is damaged or cut short; zstd's errors are plain OSErrors.
DAMAGE = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)


def compression_of(raw: io.BufferedReader) -> str | None:
    """The name of the compression that the first bytes announce, if any; nothing is consumed."""
    found = MAGIC.match(raw.peek(MAGIC_BYTES))
    return None if found is None else found.lastgroup


def decompressed(raw: io.BufferedReader) -> IO[bytes]:
    """The content of a file, unpacked if it is packed."""
    kind = compression_of(raw)
    if kind == "gz":
        return gzip.open(raw)  # type: ignore[return-value]
    if kind == "bz2":
        return bz2.open(raw)
    if kind == "xz":
        return lzma.open(raw)
    if kind == "zst":
        import pyarrow as pa

        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd"), BUFFER_BYTES)
    return raw
