"""fastText's own .bin: settings, words, and a matrix of word rows followed by the rows of their character n-grams.

A word's vector is the mean of its row and those of its n-grams. `open_source` reads the words' vectors and the n-grams,
`read_model` all that further training needs, and `write_source` writes version 12, which fastText and gensim open.
Labels of a classifier are left out.

    int32 magic, version; 12 int32 and a double of settings; int32 entries, words, labels; int64 tokens, pruned;
    per entry its name, a 0, int64 count, int8 kind; bool quantised; int64 rows, columns; float32 numbers;
    the same of the output matrix

The first files, of 2016, have no magic, no version, no "pruned" and no "quantised". They are read where this format is
asked for by name.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from mumon.corpus.subwords import MOST_CHARACTERS, Ngrams, Subwords, encode_word
from mumon.errors import FormatError, UnsupportedError
from mumon.formats.base import Block, Counts, Floats, Source, as_format_errors, check_finite, is_compressed, open_stream
from mumon.formats.text_rows import decode_words
from mumon.utils.atomic import atomic_file

MAGIC = struct.pack("<i", 793712314)
VERSIONS = (11, 12)
FIRST_VERSION = 0  # of files that do not say theirs
SETTINGS_FIELDS = struct.Struct("<12id")
SETTINGS_NAMES = (
    "dim",
    "window",
    "epochs",
    "min_count",
    "negative",
    "word_ngrams",
    "loss",
    "model",
    "bucket",
    "min_n",
    "max_n",
    "update_rate",
    "sample",
)
SIZES_FIELDS, FIRST_SIZES_FIELDS = struct.Struct("<3i2q"), struct.Struct("<3iq")
ENTRY_FIELDS = struct.Struct("<qb")  # count and kind, after the 0 that ends a word
MATRIX_FIELDS, FIRST_MATRIX_FIELDS = struct.Struct("<?2q"), struct.Struct("<2q")
CBOW_MODEL, SKIPGRAM_MODEL, SUPERVISED_MODEL = 1, 2, 3
HIERARCHICAL_LOSS, NEGATIVE_SAMPLING_LOSS = 1, 2
MODELS, LOSSES = (CBOW_MODEL, SKIPGRAM_MODEL, SUPERVISED_MODEL), (1, 2, 3)  # softmax is the third loss
UPDATE_RATE = 100  # fastText's setting for how often its threads report
MAX_WORD_BYTES = 1 << 16
MAX_DIM = 1 << 20
CHUNK_BYTES = 1 << 22
ROWS_AT_ONCE = 2048


@dataclass(frozen=True)
class _Header:
    """What a file says before its numbers begin; `offset` is where that is."""

    version: int
    dim: int
    bucket: int
    minn: int
    maxn: int
    words: list[bytes]
    counts: Counts
    tokens: int
    rows: int
    offset: int
    settings: dict[str, int | float]


@dataclass(frozen=True)
class FastTextModel:
    """All of a model of fastText that training needs.

    Attributes
    ----------
    settings
        dim, window, epochs, min_count, negative, word_ngrams, loss, model, bucket, min_n, max_n and sample.
    words, counts
        One of each per row.
    tokens
        The length of the text.
    own, subwords, output
        The words' own rows, the rows of n-grams, and the output matrix.
    """

    settings: dict[str, int | float]
    words: list[str]
    counts: Counts
    tokens: int
    own: Floats
    subwords: Subwords
    output: Floats


def read_model(path: Path) -> FastTextModel:
    """Read a model of fastText with its output matrix.

    Parameters
    ----------
    path
        The .bin file, not compressed.

    Returns
    -------
    FastTextModel
        Its matrices are mapped from the file.
    """
    with open_stream(path) as stream, as_format_errors(path):
        header = _HeaderReader(stream.file, path).read(None)
    if is_compressed(path):
        raise FormatError(
            f"{path} is compressed; decompress it before its {len(header.words)} words are trained further"
        )
    model, loss = header.settings["model"], header.settings["loss"]
    if model == SUPERVISED_MODEL or loss != NEGATIVE_SAMPLING_LOSS:
        raise UnsupportedError(
            f"{path} was trained as fastText's model {model} with its loss {loss}; mumon trains 1 and 2 with loss 2 "
            "(negative sampling), so load its vectors alone"
        )
    matrix = _map_matrix(path, header)
    words = matrix[: header.rows - header.bucket]
    check_finite(path, matrix, 0)
    output = _map_output(path, header)
    check_finite(path, output, 0)
    subwords = Subwords(matrix[len(words) :], header.minn, header.maxn)
    names = decode_words(header.words)
    return FastTextModel(header.settings, names, header.counts, header.tokens, words, subwords, output)


def _map_output(path: Path, header: _Header) -> Floats:
    begin = header.offset + 4 * header.rows * header.dim
    with path.open("rb") as file:
        file.seek(begin)
        size = (MATRIX_FIELDS if header.version else FIRST_MATRIX_FIELDS).size
        fields = file.read(size)
    if len(fields) < size:
        raise FormatError(f"{path} ends at byte {begin}, before its output matrix; use a whole file")
    quantised, rows, columns = _unpack_matrix(fields)
    if quantised or (rows, columns) != (len(header.words), header.dim):
        raise FormatError(
            f"{path} has an output matrix of {rows} x {columns} where {len(header.words)} x {header.dim} follows from "
            "its words; the file may be damaged"
        )
    return _map_rows(path, begin + size, rows, columns)


def _unpack_matrix(fields: bytes) -> tuple[bool, int, int]:
    """Return whether a matrix is quantised, its rows and its columns."""
    if len(fields) == MATRIX_FIELDS.size:
        return MATRIX_FIELDS.unpack(fields)  # type: ignore[return-value]
    return False, *FIRST_MATRIX_FIELDS.unpack(fields)


def write_source(path: Path, source: Source, dtype: str = "float32") -> None:
    """Write a model with n-grams, or words alone, as fastText's .bin, version 12.

    Buckets without a row become zeros. The output matrix is the model's, or zeros.

    Parameters
    ----------
    path
        The file to write.
    source
        The words and rows.
    dtype
        "float32", the only one.
    """
    subwords = source.subwords or Subwords(np.zeros((0, source.dim), np.float32), 0, 0)
    ngrams = subwords.ngrams
    # Words come before rows in the file, and together from the source: rows wait in a file of their own.
    with atomic_file(path) as file, tempfile.TemporaryFile(dir=Path(path).resolve().parent) as rows:
        file.write(MAGIC + struct.pack("<i", VERSIONS[-1]) + _pack_settings(source, ngrams))
        words, counts = _write_own_rows(rows, source, subwords)
        tokens = _read_option(source, "corpus_total_words", 0) or int(counts.sum())
        file.write(SIZES_FIELDS.pack(len(words), len(words), 0, tokens, -1))
        for word, count in zip(words, counts.tolist(), strict=True):
            file.write(word + b"\0" + ENTRY_FIELDS.pack(count, 0))
        file.write(MATRIX_FIELDS.pack(False, len(words) + ngrams.bucket, source.dim))
        rows.seek(0)
        shutil.copyfileobj(rows, file)
        _write_ngrams(file, subwords)
        file.write(MATRIX_FIELDS.pack(False, len(words), source.dim))
        for start in range(0, len(words), ROWS_AT_ONCE):
            some, output = min(ROWS_AT_ONCE, len(words) - start), source.output
            part = np.zeros((some, source.dim), "<f4") if output is None else output[start : start + some]
            file.write(np.ascontiguousarray(part, "<f4").data)


def _write_own_rows(file: IO[bytes], source: Source, subwords: Subwords) -> tuple[list[bytes], Counts]:
    """Write the own rows of words; return the words and counts, 1 where they are not known."""
    words: list[bytes] = []
    counts = [np.zeros(0, np.int64)]
    for block in source.blocks:
        names = [encode_word(word) for word in block.words]
        for number, word in enumerate(names, len(words) + 1):
            if b"\0" in word:
                raise FormatError(f"word {number} has a byte 0, which ends words in fastText's files; rename it")
        words += names
        counts.append(np.ones(len(names), np.int64) if block.counts is None else block.counts)
        if source.own is None:
            rows = subwords.find_own_rows(names, block.vectors)
        else:
            rows = source.own[len(words) - len(names) : len(words)]
        file.write(np.ascontiguousarray(rows, "<f4").data)
    return words, np.concatenate(counts)


def _pack_settings(source: Source, ngrams: Ngrams) -> bytes:
    """Return the settings as fastText has them; of vectors without training, fastText's defaults."""
    usual = {"window": 5, "epochs": 5, "min_count": 5, "negative": 5}
    model = SKIPGRAM_MODEL if _read_option(source, "objective", "cbow") == "sg" else CBOW_MODEL
    numbers = [_read_option(source, name, value) for name, value in usual.items()]
    fixed = (1, NEGATIVE_SAMPLING_LOSS, model, ngrams.bucket, ngrams.min_n, ngrams.max_n, UPDATE_RATE)
    return SETTINGS_FIELDS.pack(source.dim, *numbers, *fixed, float(_read_option(source, "sample", 1e-3)))


def _read_option(source: Source, name: str, usual: Any) -> Any:
    """Return what a model says of its training, if it does."""
    value = source.training.get(name, usual)
    return value if isinstance(value, type(usual)) else usual


def _write_ngrams(file: IO[bytes], subwords: Subwords) -> None:
    """Write a row for each bucket: zeros for those that have none."""
    for start in range(0, subwords.ngrams.bucket, ROWS_AT_ONCE):
        file.write(np.ascontiguousarray(subwords.expand_rows(start, start + ROWS_AT_ONCE), "<f4").data)


@contextmanager
def open_source(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open a model of fastText; its matrix is mapped from the file, or decompressed into memory."""
    with open_stream(path) as stream:
        with as_format_errors(path):
            reader = _HeaderReader(stream.file, path)
            header = reader.read(limit)
            plain = not is_compressed(path)
            if plain:
                matrix = _map_matrix(path, header)
            else:
                matrix = _decompress_matrix(stream.file, reader.get_unread(), path, header)
        words = matrix[: header.rows - header.bucket]
        subwords = Subwords(matrix[len(words) :], header.minn, header.maxn)
        blocks = _read_blocks(path, header, words, subwords)
        yield Source(path, header.dim, blocks, len(header.words), plain, has_counts=True, subwords=subwords)


def _read_blocks(path: Path, header: _Header, own: Floats, subwords: Subwords) -> Iterator[Block]:
    for start in range(0, len(header.words), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        names = header.words[part]
        vectors, _ = subwords.average_rows(names, own[start : start + len(names)])
        check_finite(path, vectors, start)
        yield Block(decode_words(names), vectors, header.counts[part])


class _HeaderReader:
    """Reads what comes before the numbers, in chunks, and counts the bytes."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self._stream, self._path = stream, path
        self._buffer, self._start, self._offset = b"", 0, 0

    def read(self, limit: int | None) -> _Header:
        version, settings = self._read_settings()
        dim, model, bucket = settings["dim"], settings["model"], settings["bucket"]
        minn, maxn = settings["min_n"], settings["max_n"]
        if version < 12 and model == SUPERVISED_MODEL:
            maxn = 0  # such models do not use the value that they save
        if not 1 <= dim <= MAX_DIM or bucket < 0 or minn < 0 or not 0 <= maxn <= MOST_CHARACTERS:
            raise FormatError(
                f"{self._path} promises vectors of {dim} numbers, {bucket} rows of n-grams and n-grams of {minn} to "
                f"{maxn} characters; the file may be damaged"
            )
        sizes = SIZES_FIELDS if version else FIRST_SIZES_FIELDS
        entries, nwords, labels, tokens, pruned = (*sizes.unpack(self._take(sizes.size)), -1)[:5]
        if nwords < 1 or labels < 0 or entries != nwords + labels:
            raise FormatError(
                f"{self._path} promises {nwords} words and {labels} labels in {entries} entries; it may be damaged"
            )
        words, counts = self._read_entries(entries, nwords, limit)
        fields = MATRIX_FIELDS if version else FIRST_MATRIX_FIELDS
        quantised, rows, columns = _unpack_matrix(self._take(fields.size)) if pruned < 0 else (True, 0, 0)
        if quantised:
            raise UnsupportedError(
                f"{self._path} is quantised (as .ftz files are), and mumon does not decode its {nwords} words; use the "
                ".bin that it was made from"
            )
        if rows != nwords + bucket or columns != dim:
            raise FormatError(
                f"{self._path} has a matrix of {rows} x {columns} where {nwords + bucket} x {dim} follows from its "
                "settings; the file may be damaged"
            )
        return _Header(version, dim, bucket, minn, maxn, words, counts, tokens, rows, self._offset, settings)

    def _read_settings(self) -> tuple[int, dict[str, Any]]:
        """Read the version and the settings."""
        first, version = self._take(4), FIRST_VERSION
        if first == MAGIC:
            version, first = int.from_bytes(self._take(4), "little"), b""
            if version not in VERSIONS:
                raise FormatError(
                    f"{self._path} has fastText's version {version}; mumon reads 11 and 12, so save it again"
                )
        fields = first + self._take(SETTINGS_FIELDS.size - len(first))
        settings = dict(zip(SETTINGS_NAMES, SETTINGS_FIELDS.unpack(fields), strict=True))
        known = settings["model"] in MODELS and settings["loss"] in LOSSES and settings["word_ngrams"] >= 1
        if version == FIRST_VERSION and not known:
            raise FormatError(f"{self._path} does not begin with fastText's number 793712314; name another format")
        return version, settings

    def _read_entries(self, entries: int, nwords: int, limit: int | None) -> tuple[list[bytes], Counts]:
        """Read the words, which come before the labels, and their counts."""
        words: list[bytes] = []
        counts: list[int] = []
        wanted = nwords if limit is None else min(nwords, limit)
        for row in range(entries):
            word = self._read_word(row)
            count, _ = ENTRY_FIELDS.unpack(self._take(ENTRY_FIELDS.size))
            if row < wanted:
                words.append(word)
                counts.append(count)
        return words, np.array(counts, np.int64)

    def _read_word(self, row: int) -> bytes:
        end = self._buffer.find(b"\0", self._start)
        while end < 0:
            if len(self._buffer) - self._start > MAX_WORD_BYTES or not self._fill():
                raise FormatError(
                    f"{self._path}: word {row + 1} at byte {self._offset} does not end; the file may be damaged"
                )
            end = self._buffer.find(b"\0", self._start)
        if end - self._start > MAX_WORD_BYTES:
            raise FormatError(
                f"{self._path}: word {row + 1} at byte {self._offset} has more than {MAX_WORD_BYTES} bytes; the file "
                "may be damaged"
            )
        return self._take(end + 1 - self._start)[:-1]

    def _take(self, size: int) -> bytes:
        while len(self._buffer) - self._start < size:
            if not self._fill():
                raise FormatError(
                    f"{self._path} ends at byte {self._offset + len(self._buffer) - self._start}, before its numbers "
                    "begin; the file may be truncated"
                )
        data = self._buffer[self._start : self._start + size]
        self._start, self._offset = self._start + size, self._offset + size
        return data

    def _fill(self) -> bool:
        chunk = self._stream.read(CHUNK_BYTES)
        self._buffer, self._start = self._buffer[self._start :] + chunk, 0
        return bool(chunk)

    def get_unread(self) -> bytes:
        """Return what was read from the stream beyond the header."""
        return self._buffer[self._start :]


def _map_matrix(path: Path, header: _Header) -> Floats:
    size, least = path.stat().st_size, header.offset + 4 * header.rows * header.dim
    if size < least:
        raise FormatError(
            f"{path} has {size} bytes where its {header.rows} rows of {header.dim} numbers need at least {least}; the "
            "file may be truncated"
        )
    return _map_rows(path, header.offset, header.rows, header.dim)


def _map_rows(path: Path, offset: int, rows: int, columns: int) -> Floats:
    if path.stat().st_size < offset + 4 * rows * columns:
        raise FormatError(f"{path} is shorter than its {rows} rows of {columns} numbers; the file may be truncated")
    return np.memmap(path, "<f4", "r", offset, (rows, columns)).view(np.ndarray)


def _decompress_matrix(stream: IO[bytes], unread: bytes, path: Path, header: _Header) -> Floats:
    """Read the numbers of a compressed file into memory that grows as they come: its header may be wrong."""
    matrix = np.empty(1 << 20, np.uint8)
    size, wanted = 0, 4 * header.rows * header.dim
    while size < wanted:
        chunk = unread or stream.read(CHUNK_BYTES)
        if not chunk:
            raise FormatError(
                f"{path} ends after {size // (4 * header.dim)} of its {header.rows} rows; the file may be truncated"
            )
        end = min(wanted, size + len(chunk))
        if end > len(matrix):
            matrix.resize(min(wanted, max(end, 2 * len(matrix))), refcheck=False)
        matrix[size:end] = np.frombuffer(chunk, np.uint8, end - size)
        size, unread = end, b""
    matrix.resize(wanted, refcheck=False)
    return matrix.view("<f4").reshape(header.rows, header.dim)
