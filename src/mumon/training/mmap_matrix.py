"""Matrices in files, mapped into memory: for models that are larger than the machine's memory.

The system's cache brings rows when they are touched and writes unused ones back to the disk. The files have no name, so
they vanish with their last user, however that one ends. A forked child shares them with its parent; of matrices in
memory it would have a copy.

The system gets no advice on access. When told that access is random it reads nothing ahead, and training that starts
with all rows on the disk and room for them in memory was measured to take more than twice as long.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mumon.errors import DISK_FULL_ERRNOS, MumonError, OutOfMemoryError
from mumon.utils import paths

if TYPE_CHECKING:
    from mumon.formats.base import LoadedVectors, Source

ZEROS = bytes(1 << 20)
MAKE_ROOM = "make room there, or name another place with MUMON_CACHE"


class OutOfDiskError(MumonError, OSError):
    """A matrix does not fit on the disk, or cannot be put there."""


def find_matrices_directory() -> Path:
    """Return the folder of all matrices on disk; it looks empty, because they have no names."""
    return paths.cache_directory() / "matrices"


def map_zeros(size: int) -> npt.NDArray[np.uint8]:
    """Return zero bytes in a file of their own, which is deleted with their last user."""
    with _open_nameless_file() as file:
        try:
            _reserve(file, size)
        except OSError as error:
            raise _describe_full_disk(error, size) from None
        return _map(file, size)


def gather_on_disk(source: Source) -> LoadedVectors:
    """Read vectors into a file rather than into memory."""
    from mumon.formats.base import LoadedVectors

    if source.loaded is not None:
        return source.loaded
    words: list[str] = []
    counts = []
    with _open_nameless_file() as file:
        for block in source.blocks:
            try:
                _write(file, np.ascontiguousarray(block.vectors, np.float32).tobytes())
            except OSError as error:
                raise _describe_full_disk(error, (len(words) + len(block.words)) * source.dim * 4) from None
            words += block.words
            counts.append(block.counts)
        vectors = _map(file, 4 * len(words) * source.dim).view(np.float32).reshape(-1, source.dim)
    known = np.concatenate([part for part in counts if part is not None]) if source.has_counts else None
    return LoadedVectors(words, vectors, known, source.subwords)


def _open_nameless_file() -> IO[bytes]:
    """Open an empty file that vanishes when it, and what is mapped of it, is closed."""
    try:
        find_matrices_directory().mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=find_matrices_directory(), buffering=0)
    except OSError as error:
        raise OutOfDiskError(
            f"no matrix can be kept in {find_matrices_directory()} ({error.strerror or error}); name another place "
            "with MUMON_CACHE"
        ) from None


def _reserve(file: IO[bytes], size: int) -> None:
    """Reserve the disk space now: writing to a mapped file without space kills the process."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
            return
        except OSError as error:
            if error.errno in DISK_FULL_ERRNOS:
                raise
    for first in range(0, size, len(ZEROS)):  # a system or file system that cannot promise
        _write(file, ZEROS[: size - first])


def _write(file: IO[bytes], data: bytes) -> None:
    left = memoryview(data)
    while left:  # without a buffer a file may take less than it is given
        left = left[file.write(left) :]


def _map(file: IO[bytes], size: int) -> npt.NDArray[np.uint8]:
    """Return the bytes of a file as a plain array: kernels would be compiled again for NumPy's own memmap."""
    try:
        return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise OutOfMemoryError(
            f"a file of {size:,} bytes does not fit among the addresses that this process may use; raise ulimit -v"
        ) from None


def _describe_full_disk(error: OSError, size: int) -> OSError:
    if error.errno not in DISK_FULL_ERRNOS:
        return error
    reason = os.strerror(error.errno or 0)
    return OutOfDiskError(f"{size:,} bytes do not fit into {find_matrices_directory()} ({reason}); {MAKE_ROOM}")
