"""NumPy's arrays on disk, which .npy files are and .npz files hold.

Headers are read here and not by NumPy, which believes them: it asks for memory before it looks at the file, and reads
arrays of objects by pickle. Nothing of that can happen to arrays of numbers and of fixed-width text, and others are not
taken.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError

MAGIC = b"\x93NUMPY"
MAX_HEADER = 10_000
MAX_DIM = 1 << 20
BLOCK_BYTES = 1 << 22
HEADER_ROOM = 128  # of a header that is written before the rows were counted
HEADER = re.compile(
    rb"""\{\s*'descr':\s*'([<>|=][a-zA-Z]\d+)',\s*'fortran_order':\s*(True|False),"""
    rb"""\s*'shape':\s*\((\d{1,18}),\s*(\d{0,18}),?\s*\),?\s*\}\s*"""
)


@dataclass(frozen=True)
class Layout:
    """What the header of an array says."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int  # where the numbers begin

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.shape[0] * self.row_bytes


def read_layout(stream: IO[bytes], where: str) -> Layout:
    """Read a header; arrays of one or two dimensions, of numbers or fixed-width text, are all that is taken."""
    start = stream.read(8)
    if start[:6] != MAGIC or start[6:] not in (b"\1\0", b"\2\0"):
        raise FormatError(f"{where} does not begin as an array of NumPy does; save it again")
    width = 2 if start[6] == 1 else 4
    size = int.from_bytes(stream.read(width), "little")
    text = stream.read(min(size, MAX_HEADER))
    if b"'|O'" in text:
        raise FormatError(f"{where} holds Python objects, which only pickle could read; save words as dtype=str")
    found = HEADER.fullmatch(text)
    try:
        if found is None or size > MAX_HEADER:
            raise ValueError
        dtype = np.dtype(found[1].decode())
    except (TypeError, ValueError, OverflowError):
        raise FormatError(
            f"{where} has no header of an array of numbers or text with 1 or 2 dimensions; save it again"
        ) from None
    shape = (int(found[3]), int(found[4])) if found[4] else (int(found[3]),)
    if found[2] == b"True" and len(shape) == 2:
        raise FormatError(f"{where} is a matrix of columns ({shape[0]} x {shape[1]}); save np.ascontiguousarray of it")
    return Layout(dtype, shape, 8 + width + size)


def check_matrix(layout: Layout, where: str, kinds: str = "f") -> None:
    """Refuse a matrix without rows or columns, or of anything but numbers with a point (or int8 with scales)."""
    known = layout.dtype.kind == "f" and layout.dtype.itemsize in (2, 4, 8)
    if len(layout.shape) != 2 or not (known or ("i" in kinds and layout.dtype == np.int8)):
        raise FormatError(f"{where} is {layout.dtype} {layout.shape}, not a matrix of floats; save it again")
    if min(layout.shape) < 1 or layout.shape[1] > MAX_DIM:
        raise FormatError(
            f"{where} has {layout.shape[0]} rows of {layout.shape[1]} numbers; at least 1 and at most {MAX_DIM} fit"
        )


def array_blocks(stream: IO[bytes], layout: Layout, rows: int, step: int, where: str) -> Iterator[NDArray[Any]]:
    """So many rows of an array, `step` at a time, from a stream that stands behind its header."""
    for start in range(0, rows, step):
        wanted = min(step, rows - start) * layout.row_bytes
        data = stream.read(wanted)
        if len(data) < wanted:
            raise FormatError(
                f"{where} ends after {start + len(data) // max(layout.row_bytes, 1)} of its {layout.shape[0]} rows; "
                "the file may be truncated"
            )
        yield np.frombuffer(data, layout.dtype).reshape(-1, *layout.shape[1:])


def header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The first bytes of an array file: always as many, so that they can be written last."""
    shown = f"({shape[0]},)" if len(shape) == 1 else f"({shape[0]}, {shape[1]})"
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': {shown}, }}".encode()
    return MAGIC + b"\1\0" + struct.pack("<H", HEADER_ROOM - 10) + text.ljust(HEADER_ROOM - 11) + b"\n"


def stored_type(dtype: str) -> np.dtype[Any]:
    """How numbers are written."""
    return np.dtype({"float32": "<f4", "float16": "<f2", "int8": "i1"}[dtype])
