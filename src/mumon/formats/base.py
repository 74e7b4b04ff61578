"""What all formats share: `LoadedVectors`, `Source`, streams, checks, and errors in one sentence."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, MumonError, to_one_line
from mumon.utils import compression

if TYPE_CHECKING:
    from mumon.corpus.subwords import Subwords

Floats = NDArray[np.float32]
Counts = NDArray[np.int64]

HEADER = re.compile(rb"\s*([+-]?\d{1,18})\s+([+-]?\d{1,18})\s*")
MAX_HEADER_BYTES = 128
BLOCK_NUMBERS = 1 << 20  # in one block of a matrix that is in memory


@dataclass(frozen=True)
class LoadedVectors:
    """What `read_vectors` returns.

    Attributes
    ----------
    words, vectors
        V words and their (V, D) float32 matrix.
    counts
        How often each word was seen, if the format has counts.
    subwords
        The n-grams of a fastText model, of which vectors for other words are made.
    integer_keys
        Whether the words are integers written as decimals.
    """

    words: list[str]
    vectors: Floats
    counts: Counts | None = None
    subwords: Subwords | None = None
    integer_keys: bool = False


class Block(NamedTuple):
    """Some consecutive rows."""

    words: list[str]
    vectors: Floats
    counts: Counts | None = None


@dataclass(frozen=True)
class Source:
    """Vectors on their way from a reader to a writer.

    Attributes
    ----------
    path
        Where they are read from.
    dim
        D, the numbers in a row.
    blocks
        The rows, a few megabytes at a time.
    rows
        The largest number of rows that may come, if the reader knows it.
    size_checked
        Whether the file is large enough for that number of rows, so that memory may be reserved for them.
    has_counts
        Whether the blocks have counts.
    text
        How words are found in text: lowercase, tokenize, unk, integer_keys.
    subwords
        The n-grams of a fastText model.
    loaded
        All of the vectors, if they are mapped from the file and need no memory.
    own
        The words' own rows, if their vectors are the means of these and of the n-grams, and of nothing else.
    output, training
        The output matrix of a model, and what it says of its training, for formats that have room for them.
    size, tell
        The size of the file in bytes, and a function that returns how far it has been read.
    """

    path: Path
    dim: int
    blocks: Iterator[Block]
    rows: int | None = None
    size_checked: bool = False
    has_counts: bool = False
    text: Mapping[str, Any] = field(default_factory=dict)
    subwords: Subwords | None = None
    loaded: LoadedVectors | None = None
    own: Floats | None = None
    output: Floats | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    size: int = 0
    tell: Callable[[], int] | None = None


def make_source(path: Path, loaded: LoadedVectors, text: Mapping[str, Any] | None = None) -> Source:
    """Make a `Source` of vectors that are in memory.

    Parameters
    ----------
    path
        Named in errors.
    loaded
        The vectors.
    text
        How words are found in text, if that is known.

    Returns
    -------
    Source
    """
    rows, dim = loaded.vectors.shape
    has_counts = loaded.counts is not None
    return Source(path, dim, _split_blocks(loaded), rows, True, has_counts, text or {}, loaded.subwords, loaded)


def _split_blocks(loaded: LoadedVectors) -> Iterator[Block]:
    step = max(1, BLOCK_NUMBERS // loaded.vectors.shape[1])
    for start in range(0, len(loaded.words), step):
        part = slice(start, start + step)
        counts = None if loaded.counts is None else loaded.counts[part]
        yield Block(loaded.words[part], loaded.vectors[part], counts)


class Stream(NamedTuple):
    """An open file, decompressed, and a function that returns how far the compressed file has been read."""

    file: IO[bytes]
    size: int
    tell: Callable[[], int] | None


@contextmanager
def open_stream(path: Path) -> Iterator[Stream]:
    """Open a file for reading and decompress it if necessary; errors inside the `with` block are not changed."""
    with as_format_errors(path):
        raw = _open_raw(path)
    with raw:
        with as_format_errors(path):
            status = os.fstat(raw.fileno())
            stream = compression.decompress(raw)
        regular = stat.S_ISREG(status.st_mode)
        yield Stream(stream, status.st_size if regular else 0, raw.tell if regular else None)


def is_compressed(path: Path) -> bool:
    """Say whether a file is compressed, judging by its first bytes."""
    with _open_raw(path) as raw:
        return compression.detect_compression(raw) is not None


def _open_raw(path: Path) -> io.BufferedReader:
    if path.is_dir():
        raise FormatError(f"{path} is a directory where a file was expected; read it with format='mumon'")
    return io.BufferedReader(io.FileIO(path), compression.BUFFER_BYTES)


def check_writable(words: Sequence[str], vectors: Floats) -> None:
    """Refuse what no reader would accept: no rows, a row without a word, a repeated word, or nan and inf."""
    if vectors.ndim != 2 or len(words) != len(vectors) or not vectors.size:
        shape = " x ".join(map(str, vectors.shape))
        raise FormatError(f"{len(words)} words and a matrix of {shape} cannot be saved; give one row of numbers each")
    _check_words(words)
    bad = find_non_finite_row(vectors)
    if bad is not None:
        raise FormatError(f"the vector of {words[bad]!r} (word {bad + 1}) holds nan or inf; train it again")


def _check_words(words: Sequence[str]) -> None:
    """Refuse repeated words and words that are not UTF-8; look at single words only to name one in the error."""
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


def find_non_finite_row(vectors: Floats, block: int = 1024) -> int | None:
    """Find the first row that holds nan or inf, without making a V x D array of booleans."""
    for start in range(0, len(vectors), block):
        finite = np.isfinite(vectors[start : start + block]).all(axis=1)
        if not finite.all():
            return start + int(finite.argmin())
    return None


def check_finite(path: Path, vectors: Floats, first: int) -> None:
    """Refuse rows of a file that hold nan or inf; `first` is the number of the first of them, from 0."""
    bad = find_non_finite_row(vectors)
    if bad is not None:
        raise FormatError(f"{path}: row {first + bad + 1} holds nan or inf; remove the row")


def check_counts(counts: Any, V: int, where: str) -> Counts | None:
    """Check that counts are V whole numbers of at least 0, and return them as an array; `where` begins an error."""
    if counts is None:
        return None
    try:
        array = np.asarray(counts)
    except ValueError:  # lists inside the list
        array = np.empty(0)
    if array.shape != (V,) or array.dtype.kind != "i":
        raise FormatError(f"{where}: the counts are not {V} whole numbers, one per word; save the model again")
    if array.min() < 0:
        row = int(array.argmin())
        raise FormatError(f"{where}: the count of word {row + 1} is {array[row]}, below 0; save the model again")
    if array.sum(dtype=np.float64) >= 2.0**63:
        raise FormatError(f"{where}: the counts of the {V} words add up to 2^63 or more; save the model again")
    return array.astype(np.int64)


@contextmanager
def as_format_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system or a decompressor into a FormatError of one sentence."""
    try:
        yield
    except MumonError:
        raise
    except FileNotFoundError:
        raise FormatError(f"there is nothing at {path}; check the name") from None
    except compression.ExpansionError as error:
        raise FormatError(f"{path} {error}") from None
    except (OSError, *compression.DAMAGE_ERRORS) as error:
        raise FormatError(
            f"{path} cannot be read ({to_one_line(error)}); the file may be damaged, so fetch it again"
        ) from error
