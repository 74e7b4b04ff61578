"""NumPy's arrays on disk: a .npy file is one, and a .npz file holds several.

NumPy reads the headers, but not the arrays: it would reserve memory before it looks at the size of the file, and read
arrays of objects by pickle. Only arrays of numbers and of fixed-width text are accepted.
"""

from __future__ import annotations

import io
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from mumon.errors import FormatError

MAX_HEADER_BYTES = 10_000
MAX_ROWS = 10**18
MAX_DIM = 1 << 20
BLOCK_BYTES = 1 << 22
WRITTEN_HEADER_BYTES = 128  # of our own headers: a fixed size, so that they can be written after the rows are counted
STORED_DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(code) for name, code in
                                           (("float32", "<f4"), ("float16", "<f2"), ("int8", "i1"))}  # fmt: skip


@dataclass(frozen=True)
class Layout:
    """What the header of an array says; `offset` is the byte at which the numbers begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.row_bytes


def read_layout(stream: IO[bytes], where: str) -> Layout:
    """Read a header; refuse all but arrays of numbers or fixed-width text with one or two dimensions.

    Parameters
    ----------
    stream
        A file at the beginning of an array; afterwards it is at the first number.
    where
        The name of the array, which begins errors.

    Returns
    -------
    Layout
    """
    try:
        version = npy_format.read_magic(stream)
    except ValueError:
        version = None
    if version not in ((1, 0), (2, 0)):
        raise FormatError(f"{where} does not begin like an array of NumPy; save it again")
    length = stream.read(2 if version == (1, 0) else 4)
    size = int.from_bytes(length, "little")
    text = stream.read(min(size, MAX_HEADER_BYTES))  # NumPy would read 4 GB if the header says so
    parse = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    try:
        shape, by_columns, dtype = parse(io.BytesIO(length + text))
        if not 1 <= len(shape) <= 2 or not all(0 <= n < MAX_ROWS for n in shape) or dtype.names or dtype.subdtype:
            raise ValueError
    except Exception:  # NumPy evaluates the header as Python, so a hostile one can raise anything, MemoryError included
        raise FormatError(
            f"{where} has no header of an array of numbers or text with 1 or 2 dimensions; save it again"
        ) from None
    if dtype.hasobject:
        raise FormatError(f"{where} holds Python objects, which only pickle could read; save words as dtype=str")
    if by_columns and len(shape) == 2:
        raise FormatError(f"{where} is stored by columns ({shape[0]} x {shape[1]}); save np.ascontiguousarray of it")
    return Layout(dtype, tuple(map(int, shape)), 8 + len(length) + size)


def check_matrix(layout: Layout, where: str, kinds: str = "f") -> None:
    """Refuse anything but a matrix of floats with rows and columns; `kinds` "fi" accepts int8 as well."""
    known = layout.dtype.kind == "f" and layout.dtype.itemsize in (2, 4, 8)
    if len(layout.shape) != 2 or not (known or ("i" in kinds and layout.dtype == np.int8)):
        raise FormatError(f"{where} is {layout.dtype} {layout.shape}, not a matrix of floats; save it again")
    if min(layout.shape) < 1 or layout.shape[1] > MAX_DIM:
        raise FormatError(
            f"{where} has {layout.shape[0]} rows of {layout.shape[1]} numbers; at least 1 and at most {MAX_DIM} fit"
        )


def read_array_blocks(stream: IO[bytes], layout: Layout, rows: int, step: int, where: str) -> Iterator[NDArray[Any]]:
    """Read the first `rows` of an array, `step` at a time, from a stream that is at the first number."""
    for start in range(0, rows, step):
        wanted = min(step, rows - start) * layout.row_bytes
        data = stream.read(wanted)
        if len(data) < wanted:
            raise FormatError(
                f"{where} ends after {start + len(data) // max(layout.row_bytes, 1)} of its {layout.shape[0]} rows; "
                "the file may be truncated"
            )
        yield np.frombuffer(data, layout.dtype).reshape(-1, *layout.shape[1:])


def format_header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Return the header of an array, which always has the same length."""
    dimensions = f"({shape[0]},)" if len(shape) == 1 else f"({shape[0]}, {shape[1]})"
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {dimensions}, }}".encode()
    padded = text.ljust(WRITTEN_HEADER_BYTES - 11) + b"\n"
    return npy_format.magic(1, 0) + struct.pack("<H", len(padded)) + padded
