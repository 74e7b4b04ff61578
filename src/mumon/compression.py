"""Reading compressed files: gzip, bzip2, xz and zstd are known by their first bytes, not by the file's name."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from typing import IO

MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}
BUFFER_BYTES = 1 << 20

# What reading raises when a compressed file is damaged or cut short; zstd's errors are plain OSErrors.
DAMAGE = (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile)


def compression_of(raw: io.BufferedReader) -> str | None:
    """The name of the compression that the first bytes announce, if any; nothing is consumed."""
    head = raw.peek(8)
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)


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
