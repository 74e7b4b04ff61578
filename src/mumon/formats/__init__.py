"""Vectors on disk: one record per format, chosen by name, by extension, or by looking at the file.

A reader opens a `Source`, whose rows come in blocks; a writer takes one. So a conversion needs the memory of a block,
and `read_vectors` and `write_vectors` are the same readers and writers with all rows at once. A format's own file is
imported when it is first used, so that asking which formats exist costs nothing.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mumon.errors import MumonError, OptionError
from mumon.formats.base import (
    Counts,
    Floats,
    LoadedVectors,
    Source,
    as_format_errors,
    check_counts,
    check_writable,
    make_source,
)
from mumon.formats.detection import COMPRESSED_SUFFIXES, detect_format_name
from mumon.formats.paired_files import METADATA_ENDING, WORDS_ENDING, check_pair, name_side_file

ALL = ("float32", "float16", "int8")


@dataclass(frozen=True)
class Format:
    """One on-disk format. The first extension is the usual one; "" stands for a name without extension."""

    name: str
    extensions: tuple[str, ...]
    description: str
    open: Callable[[Path, int | None], AbstractContextManager[Source]]
    write: Callable[[Path, Source, str], None] | None  # None: it is only read
    dtypes: tuple[str, ...] = ("float32",)
    side: str = ""  # how the name of its second file ends, if it has one


def _later(module: str, function: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        return getattr(importlib.import_module(f"mumon.formats.{module}"), function)(*arguments)

    return call


def _format(name: str, extensions: str, description: str, module: str, kind: str = "source", **options: Any) -> Format:
    write = _later(module, f"write_{kind}") if extensions else None
    endings = tuple(extensions.split(" ")) if extensions else ()
    return Format(name, endings, description, _later(module, f"open_{kind}"), write, **options)


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        _format(
            "mumon",
            ".mumon ",
            "a directory of safetensors and JSON, which model2vec and sentence-transformers load too",
            "directory",
            dtypes=ALL,
        ),
        _format(
            "word2vec-text", ".txt .vec .w2v", "a line 'V D', then a line 'word number…' per word", "word2vec", "text"
        ),
        _format(
            "word2vec-bin",
            ".bin",
            "a line 'V D', then per word its name, a space and D little-endian float32",
            "word2vec",
            "binary",
        ),
        _format("glove", ".glove", "a line 'word number…' per word, no header", "glove"),
        _format("npz", ".npz", "NumPy's arrays words, vectors and counts", "npz", dtypes=ALL),
        _format("npy", ".npy", "NumPy's matrix, the words in NAME.words.txt", "npy", dtypes=ALL[:2], side=WORDS_ENDING),
        _format("parquet", ".parquet", "the columns word, count and vector", "parquet", dtypes=ALL),
        _format(
            "projector",
            ".tsv",
            "numbers between tabs, the words in NAME.metadata.tsv, for TensorBoard",
            "projector",
            side=METADATA_ENDING,
        ),
        _format("fasttext-bin", "", "fastText's own model, with the n-grams of its words (only read)", "fasttext"),
    )
}
ALIASES = {"koan": "glove", "fasttext-vec": "word2vec-text"}


@contextmanager
def open_vectors(path: str | os.PathLike[str], format: str | None = None, limit: int | None = None) -> Iterator[Source]:
    """Open vectors to be read block by block, at most the first `limit` rows; every word comes once."""
    from mumon.formats.blocks import drop_repeated_words

    source = Path(path)
    if limit is not None and limit < 1:
        raise OptionError(f"limit is {limit}; ask for at least 1 row")
    chosen = detect(source) if format is None else _named(format)
    with ExitStack() as stack:
        with as_format_errors(source):
            opened = stack.enter_context(chosen.open(source, limit))
        yield drop_repeated_words(opened)


def read_vectors(path: str | os.PathLike[str], format: str | None = None, limit: int | None = None) -> LoadedVectors:
    """Read vectors, at most the first `limit` of them; without `format` the file itself tells what it is."""
    from mumon.formats.blocks import read_all

    with open_vectors(path, format, limit) as source:
        return read_all(source)


def write_vectors(
    path: str | os.PathLike[str],
    words: Sequence[str],
    vectors: Floats,
    counts: Counts | None = None,
    format: str | None = None,
    dtype: str = "float32",
    integer_keys: bool = False,
) -> None:
    """Write vectors atomically; without `format` the extension of `path` decides.

    A mumon folder remembers `integer_keys`: that the words are the decimals of integers, which users know them as.
    """
    target = Path(path)
    vectors = np.asarray(vectors, np.float32)
    chosen = writable(target, format, dtype)
    check_writable(words, vectors)
    known = check_counts(counts, len(words), "counts")
    source = make_source(
        target, LoadedVectors(list(words), vectors, known), {"integer_keys": True} if integer_keys else None
    )
    write_source(target, source, chosen, dtype)


def write_source(target: Path, source: Source, format: Format, dtype: str = "float32") -> None:
    """Write what a reader opened, block by block."""
    assert format.write is not None, format.name
    format.write(target, source, dtype)


def format_for(path: str | os.PathLike[str], format: str | None = None) -> Format:
    """The format in which something is written: the one named, or the one its extension stands for."""
    target = Path(path)
    if target.suffix.lower() in COMPRESSED_SUFFIXES:
        raise OptionError(f"mumon writes no {target.suffix} files; write {target.stem} and compress it afterwards")
    chosen = _by_extension(target) if format is None else _named(format)
    if chosen.write is None:
        raise OptionError(f"mumon reads {chosen.name} and does not write it; choose one of the {_writable_names()}")
    return chosen


def writable(path: str | os.PathLike[str], format: str | None, dtype: str) -> Format:
    """As `format_for`, of one that holds such numbers."""
    chosen = format_for(path, format)
    if dtype != "float32":
        from mumon.formats.precision import check_dtype

        check_dtype(dtype, chosen.dtypes, chosen.name)
    return chosen


def check_target(path: str | os.PathLike[str], format: str | None = None) -> None:
    """Refuse a place for a model or vectors before hours of work go into them.

    It must be possible to write there, and what is there already may only be an earlier model, or other vectors.
    """
    from mumon.utils.atomic import check_directory_target, check_file_target

    chosen = format_for(path, format)
    if chosen.name == "mumon":
        check_directory_target(path)
        return
    target = check_file_target(path)
    if chosen.side:
        check_pair(target, name_side_file(target, chosen.side))
    if target.exists() and target.stat().st_size:
        try:
            read_vectors(target, limit=1)
        except MumonError:
            raise OptionError(f"{path} exists and holds no vectors; choose another name or remove it") from None


def detect(path: str | os.PathLike[str]) -> Format:
    """The format of something that exists, from its bytes; the extension only settles what bytes cannot."""
    return FORMATS[detect_format_name(Path(path))]


def _named(name: str) -> Format:
    found = FORMATS.get(ALIASES.get(name, name))
    if found is None:
        raise OptionError(f"{name!r} is not one of the {len(FORMATS)} formats; choose from {', '.join(FORMATS)}")
    return found


def _by_extension(path: Path) -> Format:
    for entry in FORMATS.values():
        if path.suffix.lower() in entry.extensions:
            return entry
    raise OptionError(f"the extension {path.suffix!r} names no format; name one, or use one of {_writable_names()}")


def _writable_names() -> str:
    shown = (f"{entry.name} ({' '.join(filter(None, entry.extensions))})" for entry in FORMATS.values() if entry.write)
    return ", ".join(shown)
