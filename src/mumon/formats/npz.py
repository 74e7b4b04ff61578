"""NAME.npz: the arrays words, vectors and counts of np.savez, and scales where the vectors are int8."""

from __future__ import annotations

import shutil
import struct
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, list_names, to_one_line
from mumon.formats.arrays import (
    BLOCK_BYTES,
    STORED_DTYPES,
    check_matrix,
    format_header,
    read_array_blocks,
    read_layout,
)
from mumon.formats.base import Block, Source, check_finite, is_compressed
from mumon.formats.precision import narrow, widen
from mumon.utils.atomic import atomic_file
from mumon.utils.compression import DAMAGE_ERRORS, check_expansion

ARRAYS = ("words", "vectors", "counts", "scales")
FILE_DATE = (1980, 1, 1, 0, 0, 0)  # fixed, so that the same vectors give the same bytes
MAX_WORDS_BYTES = 1 << 32  # of words of fixed width, unless the matrix is larger
# What `zipfile` raises for a damaged archive.
ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    ValueError,
    LookupError,
    OverflowError,
    struct.error,
)


class _Array:
    """One array of an archive, open after its header."""

    def __init__(self, archive: zipfile.ZipFile, name: str, path: Path, stack: ExitStack) -> None:
        entry = archive.getinfo(f"{name}.npy")
        self.where = f"{path}: {name}"
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FormatError(f"{self.where} is packed by method {entry.compress_type}; save it with np.savez")
        self._stream: IO[bytes] = stack.enter_context(archive.open(entry))
        self.layout = read_layout(self._stream, self.where)
        if self.layout.offset + self.layout.nbytes != entry.file_size:
            raise FormatError(
                f"{self.where} has {entry.file_size} bytes where {self.layout.shape} of {self.layout.dtype} are "
                f"{self.layout.offset + self.layout.nbytes}; the file may be damaged"
            )

    def check(self, kinds: str, shape: tuple[int, ...]) -> None:
        layout = self.layout
        if layout.dtype.kind not in kinds or layout.shape != shape or not layout.dtype.itemsize:
            raise FormatError(
                f"{self.where} is {layout.dtype} {layout.shape} where {shape} was expected, as the vectors are; "
                "save the arrays again"
            )

    def read_blocks(self, rows: int, step: int) -> Iterator[NDArray[Any]]:
        return read_array_blocks(self._stream, self.layout, rows, step, self.where)


@contextmanager
def open_source(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open the arrays, to read them side by side, some rows of each at a time."""
    if is_compressed(path):
        raise FormatError(f"{path} is an archive that was packed once more; unpack it and read the 1 file inside")
    with ExitStack() as stack:
        try:
            arrays = _open_arrays(path, stack)
        except ARCHIVE_ERRORS as error:
            raise _make_error(path, error) from None
        layout = arrays["vectors"].layout
        rows = layout.shape[0] if limit is None else min(limit, layout.shape[0])
        counted = "counts" in arrays
        yield Source(path, layout.shape[1], _read_blocks(path, arrays, rows), rows, True, counted)


def _open_arrays(path: Path, stack: ExitStack) -> dict[str, _Array]:
    archive = stack.enter_context(zipfile.ZipFile(path))
    names = archive.namelist()
    if not {"words.npy", "vectors.npy"} <= set(names):
        raise FormatError(
            f"{path} is an archive of {list_names(names)} without the arrays words and vectors; if there are vectors "
            "in it, unpack it"
        )
    check_expansion(path.stat().st_size, sum(entry.file_size for entry in archive.infolist()))
    arrays = {name: _Array(archive, name, path, stack) for name in ARRAYS if f"{name}.npy" in names}
    vectors = arrays["vectors"]
    check_matrix(vectors.layout, vectors.where, "fi" if "scales" in arrays else "f")
    shape = vectors.layout.shape[:1]
    for name, kinds in (("words", "U"), ("counts", "iu"), ("scales", "f")):
        if name in arrays:
            arrays[name].check(kinds, shape)
    return arrays


def _make_error(path: Path, error: Exception) -> FormatError:
    if isinstance(error, FormatError):  # which is a ValueError
        return error
    return FormatError(
        f"{path} cannot be read as .npz ({to_one_line(error)}); the file may be damaged, so fetch it again"
    )


def _read_blocks(path: Path, arrays: dict[str, _Array], rows: int) -> Iterator[Block]:
    widest = max(array.layout.row_bytes for array in arrays.values())
    step = max(1, BLOCK_BYTES // max(widest, 4 * arrays["vectors"].layout.shape[1]))
    parts = {name: array.read_blocks(rows, step) for name, array in arrays.items()}
    for start in range(0, rows, step):
        try:
            values = {name: next(part) for name, part in parts.items()}
        except (*ARCHIVE_ERRORS, *DAMAGE_ERRORS) as error:
            raise _make_error(path, error) from None
        scales = values["scales"].astype(np.float32) if "scales" in values else None
        with np.errstate(over="ignore"):
            vectors = widen(values["vectors"], scales)
        check_finite(path, vectors, start)
        counts = values["counts"].astype(np.int64) if "counts" in values else None
        yield Block(_decode_words(path, values["words"], start), vectors, counts)


def _decode_words(path: Path, array: NDArray[Any], done: int) -> list[str]:
    native = array.astype(array.dtype.newbyteorder("="))
    letters = native.view(np.uint32).reshape(len(array), -1)
    wrong = ((letters > 0x10FFFF) | ((letters >= 0xD800) & (letters < 0xE000))).any(axis=1)
    if wrong.any():
        raise FormatError(
            f"{path}: word {done + int(wrong.argmax()) + 1} has an impossible character; the file may be damaged"
        )
    words: list[str] = native.tolist()
    return words


def write_source(path: Path, source: Source, dtype: str) -> None:
    """Write the arrays. Headers of an archive cannot be changed later, so the vectors wait in a temporary file."""
    kind = STORED_DTYPES[dtype]
    words: list[str] = []
    counts: list[NDArray[Any]] = []
    scales: list[NDArray[Any]] = []
    with atomic_file(path) as file, tempfile.TemporaryFile(dir=path.resolve().parent) as spool:
        for block in source.blocks:
            values, scale = narrow(block.vectors, dtype, block.words, len(words))
            spool.write(np.ascontiguousarray(values, kind).data)
            words += block.words
            counts += [] if block.counts is None else [block.counts]
            scales += [] if scale is None else [scale]
        width = _find_width(words, spool.tell())
        spool.seek(0)
        with zipfile.ZipFile(file, "w") as archive:
            text = np.dtype(f"<U{width}")
            with _open_member(archive, "words", text, (len(words),)) as member:
                for start in range(0, len(words), step := max(1, BLOCK_BYTES // text.itemsize)):
                    member.write(np.array(words[start : start + step], text).data.cast("B"))
            with _open_member(archive, "vectors", kind, (len(words), source.dim)) as member:
                shutil.copyfileobj(spool, member, BLOCK_BYTES)
            for name, parts, number in (("counts", counts, "<i8"), ("scales", scales, "<f4")):
                if parts:
                    with _open_member(archive, name, np.dtype(number), (len(words),)) as member:
                        member.write(np.concatenate(parts).astype(number).data.cast("B"))


def _find_width(words: Sequence[str], matrix_bytes: int) -> int:
    """Return the longest word's length; refuse words that fixed width changes, or makes larger than the matrix."""
    for row, word in enumerate(words):
        if word.endswith("\0"):
            raise FormatError(f"{word[:60]!r} (word {row + 1}) ends in a NUL, which NumPy's text cannot; save as mumon")
    width = max(1, max(map(len, words)))
    if 4 * width * len(words) > max(MAX_WORDS_BYTES, matrix_bytes):
        raise FormatError(
            f"the longest word has {width:,} letters, and NumPy's text makes all {len(words):,} words as wide; save as "
            "parquet or mumon"
        )
    return width


def _open_member(archive: zipfile.ZipFile, name: str, kind: np.dtype[Any], shape: tuple[int, ...]) -> IO[bytes]:
    entry = zipfile.ZipInfo(f"{name}.npy", FILE_DATE)
    entry.external_attr = 0o600 << 16
    member = archive.open(entry, "w", force_zip64=True)
    member.write(format_header(kind, shape))
    return member
