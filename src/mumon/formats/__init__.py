"""Vectors on disk: one record per format, chosen by name, by extension, or by looking at the file.

A reader opens a `Source`, whose rows come in blocks, and a writer takes one. So a conversion needs the memory of a few
blocks, and `read_vectors` and `write_vectors` are the same readers and writers with all rows at once. A format's own
module is imported when it is first used, so listing the formats costs nothing.

Every writer is atomic: it writes beside the target, flushes to the disk, and renames. On Linux a model folder is
replaced in one step. Elsewhere this takes two renames, and a power cut exactly between them leaves the old model under
a hidden name. A reader checks whether the folder was replaced meanwhile, and then reads again. The same training with
one thread writes the same bytes, except for `history.json`, which holds clock times.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from mumon.corpus.subwords import Subwords

ALL_DTYPES = ("float32", "float16", "int8")


@dataclass(frozen=True)
class Format:
    """One on-disk format.

    Attributes
    ----------
    name
        By which users choose it.
    extensions
        Of its files, the usual one first; "" is for names without an extension.
    description
        What the file holds, in a few words.
    open
        Opens a file, or its first rows only, as a `Source`.
    write
        Writes a `Source` with numbers of a dtype.
    dtypes
        The kinds of numbers that the format can hold.
    side
        The ending of its second file's name, if it has one.
    """

    name: str
    extensions: tuple[str, ...]
    description: str
    open: Callable[[Path, int | None], AbstractContextManager[Source]]
    write: Callable[[Path, Source, str], None]
    dtypes: tuple[str, ...] = ("float32",)
    side: str = ""


def _import_lazily(module: str, function: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        return getattr(importlib.import_module(f"mumon.formats.{module}"), function)(*arguments)

    return call


def _make_format(
    name: str, extensions: str, description: str, module: str, kind: str = "source", **options: Any
) -> Format:
    opened, written = (_import_lazily(module, f"{verb}_{kind}") for verb in ("open", "write"))
    return Format(name, tuple(extensions.split(" ")), description, opened, written, **options)


FORMATS: dict[str, Format] = {
    entry.name: entry
    for entry in (
        _make_format(
            "mumon",
            ".mumon ",
            "a directory of safetensors and JSON, which model2vec and sentence-transformers load too",
            "directory",
            dtypes=ALL_DTYPES,
        ),
        _make_format(
            "word2vec-text", ".txt .vec .w2v", "a line 'V D', then a line 'word number…' per word", "word2vec", "text"
        ),
        _make_format(
            "word2vec-bin",
            ".bin",
            "a line 'V D', then per word its name, a space and D little-endian float32",
            "word2vec",
            "binary",
        ),
        _make_format("glove", ".glove", "a line 'word number…' per word, no header", "glove"),
        _make_format("npz", ".npz", "NumPy's arrays words, vectors and counts", "npz", dtypes=ALL_DTYPES),
        _make_format(
            "npy",
            ".npy",
            "NumPy's matrix, the words in NAME.words.txt",
            "npy",
            dtypes=ALL_DTYPES[:2],
            side=WORDS_ENDING,
        ),
        _make_format("parquet", ".parquet", "the columns word, count and vector", "parquet", dtypes=ALL_DTYPES),
        _make_format(
            "projector",
            ".tsv",
            "numbers between tabs, the words in NAME.metadata.tsv, for TensorBoard",
            "projector",
            side=METADATA_ENDING,
        ),
        _make_format(
            "fasttext-bin",
            ".fasttext",
            "fastText's own .bin: a model with n-grams, which fastText and gensim open",
            "fasttext",
        ),
    )
}
ALIASES = {"koan": "glove", "fasttext-vec": "word2vec-text"}


@contextmanager
def open_vectors(path: str | os.PathLike[str], format: str | None = None, limit: int | None = None) -> Iterator[Source]:
    """Open vectors to read them block by block; if a word is repeated, only its first row comes.

    Parameters
    ----------
    path
        A file or folder.
    format
        A name in `FORMATS`; None looks at the file.
    limit
        Read only this many rows from the start.

    Yields
    ------
    Source
    """
    from mumon.formats.blocks import drop_repeated_words

    source = Path(path)
    if limit is not None and limit < 1:
        raise OptionError(f"limit is {limit}; ask for at least 1 row")
    chosen = detect(source) if format is None else _find_format(format)
    with ExitStack() as stack:
        with as_format_errors(source):
            vectors = stack.enter_context(chosen.open(source, limit))
        yield drop_repeated_words(vectors)


def read_vectors(path: str | os.PathLike[str], format: str | None = None, limit: int | None = None) -> LoadedVectors:
    """Read vectors into memory.

    Parameters
    ----------
    path
        A file or folder.
    format
        A name in `FORMATS`; None looks at the file.
    limit
        Read only this many rows from the start.

    Returns
    -------
    LoadedVectors
        Words, vectors and, where the format has them, counts.
    """
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
    subwords: Subwords | None = None,
) -> None:
    """Write vectors atomically.

    Parameters
    ----------
    path
        The file or folder.
    words
        V different words.
    vectors
        A (V, D) matrix.
    counts
        How often each word was seen; formats without counts leave them out.
    format
        A name in `FORMATS`; None lets the extension of `path` choose.
    dtype
        How numbers are written: "float32", "float16" or "int8", if the format has it.
    integer_keys
        Whether the words are integers written as decimals; only a mumon folder records this.
    subwords
        The n-grams of which vectors of other words are made; kept by a mumon folder and fastText's .bin alone.
    """
    target = Path(path)
    vectors = np.asarray(vectors, np.float32)
    chosen = writable(target, format, dtype)
    check_writable(words, vectors)
    loaded = LoadedVectors(list(words), vectors, check_counts(counts, len(words), "counts"), subwords)
    source = make_source(target, loaded, {"integer_keys": True} if integer_keys else None)
    write_source(target, source, chosen, dtype)


def write_source(target: Path, source: Source, format: Format, dtype: str = "float32") -> None:
    """Write vectors block by block.

    Parameters
    ----------
    target
        The file or folder.
    source
        What `open_vectors` opened.
    format
        One that can be written.
    dtype
        How numbers are written.
    """
    format.write(target, source, dtype)


def format_for(path: str | os.PathLike[str], format: str | None = None) -> Format:
    """Choose the format to write: the one named, or the one that the extension of `path` belongs to.

    Parameters
    ----------
    path
        The file or folder to write.
    format
        A name in `FORMATS`, or None.

    Returns
    -------
    Format

    Raises
    ------
    OptionError
        If there is no such format.
    """
    target = Path(path)
    if target.suffix.lower() in COMPRESSED_SUFFIXES:
        raise OptionError(f"mumon writes no {target.suffix} files; write {target.stem} and compress it afterwards")
    return _find_by_extension(target) if format is None else _find_format(format)


def choose_subword_format(path: str | os.PathLike[str], subwords: Subwords | None) -> str | None:
    """Return the format of vectors with n-grams that an extension names otherwise: .bin is fastText's, not word2vec's.

    Parameters
    ----------
    path
        The file to write.
    subwords
        The n-grams, if there are any.

    Returns
    -------
    str or None
        None if the extension should choose.
    """
    has_ngrams = subwords is not None and subwords.ngrams.exist
    return "fasttext-bin" if has_ngrams and Path(path).suffix.lower() == ".bin" else None


def writable(path: str | os.PathLike[str], format: str | None, dtype: str) -> Format:
    """Choose the format to write as `format_for` does, and check that it holds numbers of `dtype`.

    Parameters
    ----------
    path
        The file or folder to write.
    format
        A name in `FORMATS`, or None.
    dtype
        "float32", "float16" or "int8".

    Returns
    -------
    Format
    """
    chosen = format_for(path, format)
    if dtype != "float32":
        from mumon.formats.precision import check_dtype

        check_dtype(dtype, chosen.dtypes, chosen.name)
    return chosen


def check_target(path: str | os.PathLike[str], format: str | None = None) -> None:
    """Check, before hours of training, that a model or vectors can be written to a path.

    Parameters
    ----------
    path
        The file or folder to write.
    format
        A name in `FORMATS`; None lets the extension choose.

    Raises
    ------
    OptionError
        If the path cannot be written, or holds something that is neither a model nor vectors.
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
    """Detect the format of a file from its bytes, and from its extension where bytes are ambiguous.

    Parameters
    ----------
    path
        A file or folder that exists.

    Returns
    -------
    Format
    """
    return FORMATS[detect_format_name(Path(path))]


def _find_format(name: str) -> Format:
    found = FORMATS.get(ALIASES.get(name, name))
    if found is None:
        raise OptionError(f"{name!r} is not one of the {len(FORMATS)} formats; choose from {', '.join(FORMATS)}")
    return found


def _find_by_extension(path: Path) -> Format:
    for entry in FORMATS.values():
        if path.suffix.lower() in entry.extensions:
            return entry
    raise OptionError(f"the extension {path.suffix!r} names no format; name one, or use one of {_list_writable()}")


def _list_writable() -> str:
    names = (f"{entry.name} ({' '.join(filter(None, entry.extensions))})" for entry in FORMATS.values())
    return ", ".join(names)
