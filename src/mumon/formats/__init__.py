"""Vectors on disk: one record per format, chosen by name, by extension, or by looking at the file.

A reader gives `LoadedVectors`; a writer takes the same three things. A format's own file is imported when it is first
used, so that asking which formats exist costs nothing.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mumon.errors import FormatError, MumonError, OptionError
from mumon.formats.base import (
    HEADER,
    MAX_HEADER_BYTES,
    Counts,
    Floats,
    LoadedVectors,
    as_format_errors,
    check_writable,
    open_stream,
)

SNIFF_BYTES = 1 << 16
SNIFF_NUMBERS = 1 << 16  # more of them in a row are believed unseen
_COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".zst"}


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
    with as_format_errors(source):
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


def check_target(path: str | os.PathLike[str], format: str | None = None) -> None:
    """Refuse a place for a model or vectors before hours of work go into them.

    It must be possible to write there, and what is there already may only be an earlier model, or other vectors.
    """
    from mumon.atomic import check_directory_target, check_file_target

    if format_for(path, format).name == "mumon":
        check_directory_target(path)
        return
    target = check_file_target(path)
    if target.exists() and target.stat().st_size:
        try:
            read_vectors(target, limit=1)
        except MumonError:
            raise OptionError(f"{path} exists and holds no vectors; choose another name or remove it") from None


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
        dim = min(max(int(header[2]), 0), SNIFF_NUMBERS)
        sample = stream.read(SNIFF_BYTES + 32 * dim)
    if suffix == ".bin" and _may_be_binary(sample, dim):  # four bytes of a float may well be "0.25"
        return FORMATS["word2vec-bin"]
    return FORMATS["word2vec-text" if _looks_like_text(sample, dim, suffix) else "word2vec-bin"]


def _looks_like_text(sample: bytes, dim: int, suffix: str) -> bool:
    row, ended, _ = sample.partition(b"\n")
    if not ended and len(sample) >= SNIFF_BYTES and suffix in FORMATS["word2vec-text"].extensions:
        return True  # a very long first word: so many bytes of floats would hold a newline
    fields = row.rstrip(b" \r").rsplit(b" ", dim)[1:]
    if not ended:
        fields = fields[:-1]  # the sample may have ended inside a number
    try:
        # A whole row has all its numbers: floats of a binary row may begin with a digit and a newline, too.
        if [float(field) for field in fields] and (not ended or len(fields) == dim):
            return True
    except ValueError:
        pass
    # a damaged text row should be reported as such, and float32 bytes hardly ever avoid every control character
    return suffix != ".bin" and not re.search(rb"[\x00-\x08\x0e-\x1f]", sample)


def _may_be_binary(sample: bytes, dim: int) -> bool:
    """Whether the sample is rows of a word, a space, 4 D bytes and a newline: text breaks its lines elsewhere."""
    start = 0
    while (space := sample.find(b" ", start)) >= 0:
        end = space + 1 + 4 * dim
        if b"\n" in sample[start:space] or sample[end : end + 1] not in (b"\n", b""):
            return False
        if end >= len(sample):
            break
        start = end + 1
    return start == len(sample) or (start > 0 and len(sample) >= SNIFF_BYTES)  # of a longer file the last row is cut


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
    raise OptionError(f"the extension {path.suffix!r} names no format; name one, or use one of {known}")
