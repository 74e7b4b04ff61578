"""Arrow arrays without a copy, and without pandas: `pyarrow.array` looks for it, and loads it where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def wrap_numbers(numbers: npt.NDArray[Any]) -> Any:
    """Return an Arrow array that shares the memory of numbers.

    Parameters
    ----------
    numbers
        A one-dimensional array.

    Returns
    -------
    pyarrow.Array

    Examples
    --------
    >>> wrap_numbers(np.array([3, 1, 2])).to_pylist()
    [3, 1, 2]
    """
    import pyarrow as pa

    numbers = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [None, pa.py_buffer(numbers)])


def wrap_bytes(strings: Sequence[bytes]) -> Any:
    """Return an Arrow array of byte strings.

    Parameters
    ----------
    strings
        The byte strings, of any length.

    Returns
    -------
    pyarrow.LargeBinaryArray

    Examples
    --------
    >>> wrap_bytes([b"cat", b"", b"dog"]).to_pylist()
    [b'cat', b'', b'dog']
    """
    import pyarrow as pa

    ends = np.zeros(len(strings) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, strings), np.int64, len(strings)), out=ends[1:])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(strings))]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(strings), buffers)


def unwrap_numbers(column: Any) -> npt.NDArray[Any]:
    """Return the numbers of an Arrow array, which must not have missing ones; not copied if they are in one piece.

    Parameters
    ----------
    column
        A `pyarrow.Array` or `pyarrow.ChunkedArray` of numbers.

    Returns
    -------
    ndarray
        One-dimensional and read-only.

    Examples
    --------
    >>> unwrap_numbers(wrap_numbers(np.array([3, 1, 2]))[1:]).tolist()
    [1, 2]
    """
    dtype = np.dtype(column.type.to_pandas_dtype())  # a type of NumPy's
    parts = []
    for piece in getattr(column, "chunks", [column]):
        if piece.null_count:
            raise ValueError(f"{piece.null_count} of {len(piece)} numbers are missing")
        parts.append(np.frombuffer(piece.buffers()[1] or b"", dtype, len(piece), piece.offset * dtype.itemsize))
    joined = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype), *parts])
    joined.setflags(write=False)
    return joined
