"""gensim's options of word2vec files that `mumon.formats` does not have.

These are other encodings, counts in a file of their own, a prefix, and rows that are appended. A file that is not UTF-8
is converted before it is read.
"""

from __future__ import annotations

import codecs
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError
from mumon.formats.base import HEADER, MAX_HEADER_BYTES, LoadedVectors, as_format_errors
from mumon.utils import compression
from mumon.vectors.neighbours import Floats

Name = str | os.PathLike[str]
CHUNK_BYTES = 1 << 20

log = logging.getLogger(__name__)


def read_word2vec(
    fname: Name,
    fvocab: Name | None,
    binary: bool,
    encoding: str,
    unicode_errors: str,
    limit: int | None,
    datatype: Any,
    no_header: bool,
) -> LoadedVectors:
    """Read words, vectors and, if `fvocab` has them, counts; see `WordVectors.load_word2vec_format`."""
    if not np.issubdtype(np.dtype(datatype), np.floating):
        raise OptionError(f"datatype is {np.dtype(datatype)}; vectors are float32, or rounded to another float")
    if binary and no_header:
        raise OptionError("a binary file without a header does not say how long its rows are; leave out no_header")
    format = "glove" if no_header else "word2vec-bin" if binary else "word2vec-text"
    try:
        loaded = _read(fname, format, limit, encoding, unicode_errors)
    except FormatError:
        _refuse_other_format(Path(fname), format)
        raise
    counts = None if fvocab is None else _read_counts(fvocab, loaded.words)
    rounded = loaded.vectors.astype(datatype) if np.dtype(datatype).itemsize < 4 else loaded.vectors
    return LoadedVectors(loaded.words, np.asarray(rounded, np.float32), counts)


def _refuse_other_format(path: Path, format: str) -> None:
    """Raise FormatError if a file that could not be read is of another format, which gensim's users must name."""
    from mumon.formats import detect

    kinds = {"word2vec-text": "binary=False", "word2vec-bin": "binary=True", "glove": "no_header=True"}
    try:
        found = detect(path).name
    except FormatError:
        return
    if found != format and found in kinds:
        raise FormatError(f"{path} is {found} and was read as {format}; load it with {kinds[found]}") from None


def read_common_rows(
    fname: Name, wanted: dict[str, int], size: int, binary: bool, encoding: str, unicode_errors: str
) -> tuple[NDArray[np.int64], Floats]:
    """Return the rows that `wanted` gives to words of a file, and the vectors of these words in the file."""
    from mumon.formats import open_vectors

    format = "word2vec-bin" if binary else "word2vec-text"
    places: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    rows: list[Floats] = [np.empty((0, size), np.float32)]
    with _open_as_utf8(fname, format, encoding, unicode_errors) as path, open_vectors(path, format) as source:
        if source.dim != size:
            raise FormatError(f"{path} has vectors of {source.dim} numbers and these have {size}; choose another file")
        for block in source.blocks:  # the file may hold many more words than memory
            found = np.array([wanted.get(word, -1) for word in block.words], np.int64)
            places.append(found[found >= 0])
            rows.append(block.vectors[found >= 0])
    return np.concatenate(places), np.concatenate(rows)


def _read(fname: Name, format: str, limit: int | None, encoding: str, errors: str) -> LoadedVectors:
    from mumon.formats import read_vectors

    with _open_as_utf8(fname, format, encoding, errors) as path:
        loaded = read_vectors(path, format, limit)
    replaced = sum("\ufffd" in word for word in loaded.words) if errors == "strict" else 0
    if replaced:
        log.warning("%s: %d words hold bytes that are not UTF-8, which are replaced", os.fspath(fname), replaced)
    return loaded


@contextmanager
def _open_as_utf8(fname: Name, format: str, encoding: str, errors: str) -> Iterator[Path]:
    """Yield a path that the readers accept: the file itself, or a copy in UTF-8, which no message names."""
    try:
        utf8 = codecs.lookup(encoding).name == "utf-8"
        codecs.lookup_error(errors)
    except LookupError as error:
        raise OptionError(f"Python knows no such text ({error}); see its list of standard encodings") from None
    if utf8 and errors in ("strict", "replace"):
        yield Path(fname)
        return
    with _copy_as_utf8(Path(fname), format, encoding, errors) as path:
        try:
            yield path
        except FormatError as error:
            raise FormatError(str(error).replace(str(path), os.fspath(fname))) from None


@contextmanager
def _copy_as_utf8(source: Path, format: str, encoding: str, errors: str) -> Iterator[Path]:
    """Yield a temporary copy of a file, decompressed and with its words in UTF-8."""
    copy: Callable[..., None] = _copy_binary if format == "word2vec-bin" else _copy_text
    with tempfile.TemporaryDirectory(prefix="mumon-") as folder:
        target = Path(folder) / "vectors"
        try:
            with as_format_errors(source), source.open("rb") as raw, target.open("wb") as file:
                copy(compression.decompress(raw), file, encoding, errors)
        except UnicodeDecodeError as error:
            raise FormatError(
                f"{source} has bytes that are no {encoding} ({error.object[error.start : error.end]!r}); "
                "name its encoding, or say unicode_errors='replace'"
            ) from None
        yield target


def _copy_text(stream: IO[bytes], file: IO[bytes], encoding: str, errors: str) -> None:
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    while chunk := stream.read(CHUNK_BYTES):
        file.write(decoder.decode(chunk).encode("utf8", "replace"))
    file.write(decoder.decode(b"", final=True).encode("utf8", "replace"))


def _copy_binary(stream: IO[bytes], file: IO[bytes], encoding: str, errors: str) -> None:
    """Convert whole rows and copy the rest as it is: the reader says what is wrong with it."""
    line = stream.readline(MAX_HEADER_BYTES)
    file.write(line)
    header = HEADER.fullmatch(line)
    width = 4 * int(header[2]) if header else 0
    buffer, start = b"", 0
    while width > 0:
        space = buffer.find(b" ", start)
        end = space + 1 + width
        if space < 0 or end > len(buffer):
            chunk = stream.read(CHUNK_BYTES)
            buffer, start = buffer[start:] + chunk, 0
            if not chunk:
                break
            continue
        word = buffer[start:space].lstrip(b"\n").decode(encoding, errors).encode("utf8", "replace")
        file.write(word + buffer[space:end] + b"\n")
        start = end
    file.write(buffer.removeprefix(b"\n"))


def _read_counts(fvocab: Name, words: Sequence[str]) -> NDArray[np.int64]:
    from mumon.corpus.vocabulary import Vocabulary

    vocabulary = Vocabulary.load(fvocab)
    known = dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))
    missing = [word for word in words if word not in known]
    if missing:
        log.warning("%s has no count of %d words, like %r: they get 0", os.fspath(fvocab), len(missing), missing[0])
    return np.array([known.get(word, 0) for word in words], np.int64)


def write_word2vec(
    fname: Name,
    words: Sequence[str],
    vectors: Floats,
    binary: bool,
    total_vec: int | None,
    write_header: bool,
    prefix: str,
    append: bool,
) -> None:
    """Write rows atomically, with any header or none, perhaps after those of an existing file."""
    from mumon.formats import format_for, write_vectors
    from mumon.utils.atomic import atomic_file

    format = format_for(fname, "word2vec-bin" if binary else "word2vec-text").name
    words = [prefix + word for word in words] if prefix else words
    if write_header and total_vec is None and not append:
        write_vectors(fname, words, vectors, None, format)
        return
    with tempfile.TemporaryDirectory(prefix="mumon-") as folder:
        whole = Path(folder) / "vectors"
        write_vectors(whole, words, vectors, None, format)
        with atomic_file(fname) as file, whole.open("rb") as rows:
            if append and Path(fname).exists():
                with Path(fname).open("rb") as older:
                    shutil.copyfileobj(older, file, CHUNK_BYTES)
            rows.readline()
            if write_header:
                file.write(f"{len(words) if total_vec is None else total_vec} {vectors.shape[1]}\n".encode())
            shutil.copyfileobj(rows, file, CHUNK_BYTES)


def write_vocabulary(fvocab: Name, words: Sequence[str], values: Sequence[Any], prefix: str, append: bool) -> None:
    """Write lines `word value` atomically, perhaps after those of an existing file."""
    from mumon.utils.atomic import atomic_file

    with atomic_file(fvocab) as file:
        if append and Path(fvocab).exists():
            with Path(fvocab).open("rb") as older:
                shutil.copyfileobj(older, file, CHUNK_BYTES)
        for word, value in zip(words, values, strict=True):
            file.write(f"{prefix}{word} {value}\n".encode())
