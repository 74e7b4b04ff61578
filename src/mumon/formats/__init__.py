"""Vectors on disk: one record per format, chosen by name, by extension, or by looking at the file.

A reader gives `LoadedVectors`; a writer takes the same three things. A format's own file is imported when it is first
used, so that asking which formats exist costs nothing.
"""

from __future__ import annotations

import importlib
import lzma
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, MumonError, OptionError

Floats = NDArray[np.float32]
Counts = NDArray[np.int64]

HEADER = re.compile(rb"\s*([+-]?\d{1,18})\s+([+-]?\d{1,18})\s*")
SNIFF_BYTES = 1 << 16
MAX_HEADER_BYTES = 128

_MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
_COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".zst"}


@dataclass(frozen=True)
class LoadedVectors:
    """What every reader returns: V words, their (V, D) float32 rows, and counts where the format keeps them."""

    words: list[str]
    vectors: Floats
    counts: Counts | None = None


@dataclass(frozen=True)
class Format:
    """One on-disk format. The first extension is the usual one; "" stands for a name without extension."""

    name: str
    extensions: tuple[str, ...]
    description: str
    read: Callable[[Path, int | None], LoadedVectors]
    write: Callable[[Path, Sequence[str], Floats, Counts | None], None]


def _later(module: str, function: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        return getattr(importlib.import_module(f"mumon.formats.{module}"), function)(*arguments)

    return call


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        Format(
            "mumon",
            (".mumon", ""),
            "a directory of safetensors and JSON, which model2vec and sentence-transformers load too",
            _later("directory", "read"),
            _later("directory", "write"),
        ),
        Format(
            "word2vec-text",
            (".txt", ".vec", ".w2v"),
            "a line 'V D', then a line 'word number…' per word",
            _later("word2vec", "read_text"),
            _later("word2vec", "write_text"),
        ),
        Format(
            "word2vec-bin",
            (".bin",),
            "a line 'V D', then per word its name, a space and D little-endian float32",
            _later("word2vec", "read_binary"),
            _later("word2vec", "write_binary"),
        ),
        Format(
            "glove",
            (".glove",),
            "a line 'word number…' per word, no header",
            _later("glove", "read"),
            _later("glove", "write"),
        ),
    )
}


def read_vectors(path: str | os.PathLike[str], format: str | None = None, limit: int | None = None) -> LoadedVectors:
    """Read vectors, at most the first `limit` of them; without `format` the file itself tells what it is."""
    source = Path(path)
    if limit is not None and limit < 1:
        raise OptionError(f"limit is {limit}; ask for at least 1 row")
    chosen = detect(source) if format is None else _named(format)
    with _as_format_errors(source):
        return chosen.read(source, limit)


def write_vectors(
    path: str | os.PathLike[str],
    words: Sequence[str],
    vectors: Floats,
    counts: Counts | None = None,
    format: str | None = None,
) -> None:
    """Write vectors atomically; without `format` the extension of `path` decides."""
    target = Path(path)
    chosen = format_for(target, format)
    vectors = np.asarray(vectors, np.float32)
    check_writable(words, vectors)
    chosen.write(target, words, vectors, counts)


def format_for(path: str | os.PathLike[str], format: str | None = None) -> Format:
    """The format in which something is written: the one named, or the one its extension stands for."""
    target = Path(path)
    if target.suffix.lower() in _COMPRESSED_SUFFIXES:
        raise OptionError(f"mumon writes no {target.suffix} files; write {target.stem} and compress it afterwards")
    return _by_extension(target) if format is None else _named(format)


def check_target(path: str | os.PathLike[str], format: str | None = None, *, a_file: bool = False) -> None:
    """Refuse a place that cannot be written to before hours of work go into what should be written there."""
    from mumon.formats.atomic import check_directory_target, check_file_target

    if a_file or format_for(path, format).name != "mumon":
        check_file_target(path)
    else:
        check_directory_target(path)


def detect(path: str | os.PathLike[str]) -> Format:
    """The format of something that exists, from its bytes; the extension only settles what bytes cannot."""
    source = Path(path)
    if source.is_dir():
        return FORMATS["mumon"]
    suffix = _uncompressed_suffix(source)
    with open_stream(source) as stream:
        first = stream.readline(MAX_HEADER_BYTES)
        header = HEADER.fullmatch(first)
        if not first:
            raise FormatError(f"{source} is empty (0 bytes of vectors); write or download it again")
        if header is None or suffix == ".glove":
            return FORMATS["glove"]
        dim = min(max(int(header[2]), 0), 1 << 20)
        sample = stream.read(SNIFF_BYTES + 32 * dim)
    return FORMATS["word2vec-text" if _looks_like_text(sample, dim, suffix) else "word2vec-bin"]


def _looks_like_text(sample: bytes, dim: int, suffix: str) -> bool:
    row = sample.split(b"\n", 1)[0]
    fields = row.rstrip(b" \r").rsplit(b" ", dim)[1:]
    if len(row) == len(sample):
        fields = fields[:-1]  # the sample may have ended inside a number
    try:
        if [float(field) for field in fields]:
            return True
    except ValueError:
        pass
    # a damaged text row should be reported as such, and float32 bytes hardly ever avoid every control character
    return suffix != ".bin" and not re.search(rb"[\x00-\x08\x0e-\x1f]", sample)


@contextmanager
def open_stream(path: Path) -> Iterator[BinaryIO]:
    """Open for reading; gzip, bzip2, xz and zstd are recognised by their first bytes, not by the file's name."""
    with _as_format_errors(path):
        compression = compression_of(path)
        if compression is None:
            with path.open("rb") as plain:
                yield plain
        elif compression == "xz":
            with lzma.open(path, "rb") as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            import io

            import pyarrow as pa

            with pa.input_stream(str(path), compression=compression) as raw:
                yield cast(BinaryIO, io.BufferedReader(raw, 1 << 20))


def compression_of(path: Path) -> str | None:
    """The name of the compression that the file's first bytes announce, if any."""
    if path.is_dir():
        raise FormatError(f"{path} is a directory where a file was expected; read it with format='mumon'")
    with path.open("rb") as file:
        magic = file.read(6)
    return next((name for prefix, name in _MAGIC.items() if magic.startswith(prefix)), None)


def check_writable(words: Sequence[str], vectors: Floats) -> None:
    """Refuse what no reader would accept back: no rows, a row without a word, a word twice, numbers not finite."""
    if vectors.ndim != 2 or len(words) != len(vectors) or not vectors.size:
        shape = " x ".join(map(str, vectors.shape))
        raise FormatError(f"{len(words)} words and a matrix of {shape} cannot be saved; give one row of numbers each")
    first_row: dict[str, int] = {}
    for row, word in enumerate(words):
        if first_row.setdefault(word, row) != row:
            raise FormatError(f"{word!r} is both word {first_row[word] + 1} and word {row + 1}; rename one of them")
        try:
            word.encode()
        except UnicodeEncodeError:
            raise FormatError(f"{word!r} (word {row + 1}) cannot be written as UTF-8; rename it") from None
    bad = first_non_finite_row(vectors)
    if bad is not None:
        raise FormatError(f"the vector of {words[bad]!r} (word {bad + 1}) holds nan or inf; train it again")


def first_non_finite_row(vectors: Floats, block: int = 8192) -> int | None:
    """The first row holding nan or inf, found without a V x D array of answers."""
    for start in range(0, len(vectors), block):
        finite = np.isfinite(vectors[start : start + block]).all(axis=1)
        if not finite.all():
            return start + int(finite.argmin())
    return None


@contextmanager
def _as_format_errors(path: Path) -> Iterator[None]:
    """What a missing or damaged file makes the operating system or a decompressor raise, in one sentence."""
    try:
        yield
    except MumonError:
        raise
    except FileNotFoundError:
        raise FormatError(f"there is nothing at {path}; check the name") from None
    except (OSError, EOFError, lzma.LZMAError) as error:
        reason = " ".join(str(error).split())
        raise FormatError(f"{path} cannot be read ({reason}); the file may be damaged, so fetch it again") from error


def _uncompressed_suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in _COMPRESSED_SUFFIXES else suffix


def _named(name: str) -> Format:
    if name not in FORMATS:
        raise OptionError(f"{name!r} is not one of the {len(FORMATS)} formats; choose from {', '.join(FORMATS)}")
    return FORMATS[name]


def _by_extension(path: Path) -> Format:
    for entry in FORMATS.values():
        if path.suffix.lower() in entry.extensions:
            return entry
    known = ", ".join(f"{entry.name} ({' '.join(filter(None, entry.extensions))})" for entry in FORMATS.values())
    raise OptionError(f"the extension {path.suffix!r} names no format; pass format= or use one of {known}")
