"""What every format shares: the thing read, streams, checks, and errors in one sentence."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from mumon import compression
from mumon.errors import FormatError, MumonError

Floats = NDArray[np.float32]
Counts = NDArray[np.int64]

HEADER = re.compile(rb"\s*([+-]?\d{1,18})\s+([+-]?\d{1,18})\s*")
MAX_HEADER_BYTES = 128


@dataclass(frozen=True)
class LoadedVectors:
    """What every reader returns: V words, their (V, D) float32 rows, and counts where the format keeps them."""

    words: list[str]
    vectors: Floats
    counts: Counts | None = None


@contextmanager
def open_stream(path: Path) -> Iterator[IO[bytes]]:
    """Open for reading, unpacked if the file is compressed."""
    with as_format_errors(path), _open_raw(path) as raw:
        yield compression.decompressed(raw)


def is_compressed(path: Path) -> bool:
    """Whether the file's first bytes announce a compression."""
    with _open_raw(path) as raw:
        return compression.compression_of(raw) is not None


def _open_raw(path: Path) -> io.BufferedReader:
    if path.is_dir():
        raise FormatError(f"{path} is a directory where a file was expected; read it with format='mumon'")
    return io.BufferedReader(io.FileIO(path), compression.BUFFER_BYTES)


def check_writable(words: Sequence[str], vectors: Floats) -> None:
    """Refuse what no reader would accept back: no rows, a row without a word, a word twice, numbers not finite."""
    if vectors.ndim != 2 or len(words) != len(vectors) or not vectors.size:
        shape = " x ".join(map(str, vectors.shape))
        raise FormatError(f"{len(words)} words and a matrix of {shape} cannot be saved; give one row of numbers each")
    _check_words(words)
    bad = first_non_finite_row(vectors)
    if bad is not None:
        raise FormatError(f"the vector of {words[bad]!r} (word {bad + 1}) holds nan or inf; train it again")


def _check_words(words: Sequence[str]) -> None:
    """Refuse a word twice and words that are not UTF-8: all at once, one by one only to say which."""
    try:
        "".join(words).encode()
        if len(set(words)) == len(words):
            return
    except UnicodeEncodeError:
        pass
    first_row: dict[str, int] = {}
    for row, word in enumerate(words):
        if first_row.setdefault(word, row) != row:
            raise FormatError(
                f"{word[:60]!r} is both word {first_row[word] + 1} and word {row + 1}; rename one of them"
            )
        try:
            word.encode()
        except UnicodeEncodeError:
            raise FormatError(f"{word[:60]!r} (word {row + 1}) cannot be written as UTF-8; rename it") from None


def first_non_finite_row(vectors: Floats, block: int = 1024) -> int | None:
    """The first row holding nan or inf, found without a V x D array of answers."""
    for start in range(0, len(vectors), block):
        finite = np.isfinite(vectors[start : start + block]).all(axis=1)
        if not finite.all():
            return start + int(finite.argmin())
    return None


@contextmanager
def as_format_errors(path: Path) -> Iterator[None]:
    """What a missing or damaged file makes the operating system or a decompressor raise, in one sentence."""
    try:
        yield
    except MumonError:
        raise
    except FileNotFoundError:
        raise FormatError(f"there is nothing at {path}; check the name") from None
    except compression.ExpansionError as error:
        raise FormatError(f"{path} {error}") from None
    except (OSError, *compression.DAMAGE) as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{path} cannot be read ({reason}); the file may be damaged, so fetch it again") from error
