"""Matrices in files: memory that the disk lends to models larger than what the machine has.

The files are mapped, shared with the system's cache: it brings rows when they are touched and takes those that nobody
asks for back to the disk. They have no name, so that they go with their last user, however that ends. A forked child
shares them with its parent, where of matrices in memory it would have a copy.

The system gets no advice. Told that access is random it reads nothing ahead, and training with all rows on the disk at
its start, and room for them in memory, was measured to take more than twice as long.
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
ELSEWHERE = "make room there, or name another place with MUMON_CACHE"


class OutOfDiskError(MumonError, OSError):
    """What was asked for does not fit on the disk, or cannot be put there."""


def home() -> Path:
    """The folder of all matrices on disk; whoever looks sees it empty."""
    return paths.cache_directory() / "matrices"


def mapped_zeros(size: int) -> npt.NDArray[np.uint8]:
    """So many zero bytes in a file of their own, which is gone when nobody holds them any more."""
    with _nameless_file() as file:
        try:
            _reserve(file, size)
        except OSError as error:
            raise _too_full(error, size) from None
        return _mapped(file, size)


def gathered_on_disk(source: Source) -> LoadedVectors:
    """What a reader of vectors gives, with the rows in a file rather than in memory."""
    from mumon.formats.base import LoadedVectors

    if source.loaded is not None:
        return source.loaded
    words: list[str] = []
    counts = []
    with _nameless_file() as file:
        for block in source.blocks:
            try:
                _write(file, np.ascontiguousarray(block.vectors, np.float32).tobytes())
            except OSError as error:
                raise _too_full(error, (len(words) + len(block.words)) * source.dim * 4) from None
            words += block.words
            counts.append(block.counts)
        vectors = _mapped(file, 4 * len(words) * source.dim).view(np.float32).reshape(-1, source.dim)
    known = np.concatenate([part for part in counts if part is not None]) if source.has_counts else None
    return LoadedVectors(words, vectors, known, source.subwords)


def _nameless_file() -> IO[bytes]:
    """An empty file that vanishes when it, and what is mapped of it, is closed."""
    try:
        home().mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryFile(dir=home(), buffering=0)
    except OSError as error:
        raise OutOfDiskError(
            f"no matrix can be kept in {home()} ({error.strerror or error}); name another place with MUMON_CACHE"
        ) from None


def _reserve(file: IO[bytes], size: int) -> None:
    """Take the room now: writing to a mapped file for which there is none kills the process."""
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


def _mapped(file: IO[bytes], size: int) -> npt.NDArray[np.uint8]:
    """The bytes of a file as a plain array: for NumPy's own memmap kernels would be compiled once more."""
    try:
        return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)
    except OSError as error:
        if error.errno != errno.ENOMEM:
            raise
        raise OutOfMemoryError(
            f"a file of {size:,} bytes does not fit among the addresses that this process may use; raise ulimit -v"
        ) from None


def _too_full(error: OSError, size: int) -> OSError:
    if error.errno not in DISK_FULL_ERRNOS:
        return error
    return OutOfDiskError(f"{size:,} bytes do not fit into {home()} ({os.strerror(error.errno or 0)}); {ELSEWHERE}")
