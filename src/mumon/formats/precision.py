"""Numbers in fewer bytes: float16, and int8 with a scale for each row.

A row of int8 is round(row / scale) with scale = max|row| / 127, so no number changes by more than half a scale: 1/254
of the largest of its row. The scales are a separate tensor or column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError
from mumon.formats.base import Floats

DTYPES = ("float32", "float16", "int8")
INT8_LEVELS = 127
LARGEST_SCALE = np.nextafter(
    np.float32(np.finfo(np.float32).max / INT8_LEVELS), np.float32(0)
)  # 127 times this is finite


def check_dtype(dtype: str, possible: Sequence[str], format: str) -> None:
    """Refuse a dtype that does not exist, or that a format cannot hold."""
    if dtype not in DTYPES:
        raise OptionError(
            f"{dtype!r} is not one of the {len(DTYPES)} kinds of numbers; choose from {', '.join(DTYPES)}"
        )
    if dtype not in possible:
        raise OptionError(
            f"{format} holds {' or '.join(possible)}, not {dtype}; for that, write .mumon, .npz or .parquet"
        )


def narrow(vectors: Floats, dtype: str, words: Sequence[str], done: int = 0) -> tuple[NDArray[Any], Floats | None]:
    """Convert float32 rows to the dtype in which they are written.

    Parameters
    ----------
    vectors
        The rows.
    dtype
        "float32", "float16" or "int8".
    words
        Their words, for errors.
    done
        The number of rows before these, for errors.

    Returns
    -------
    (rows, scales)
        The scales are None except for int8.

    Examples
    --------
    >>> rows, scales = narrow(np.array([[1.0, -0.5], [0, 0]], np.float32), "int8", ["a", "b"])
    >>> rows.tolist(), scales.round(4).tolist()
    ([[127, -64], [0, 0]], [0.007899999618530273, 0.0])
    """
    if dtype == "float32":
        return vectors, None
    if dtype == "float16":
        with np.errstate(over="ignore"):
            halves = vectors.astype(np.float16)
        finite = np.isfinite(halves).all(axis=1)
        if not finite.all():
            row = int(finite.argmin())
            raise FormatError(
                f"the vector of {words[row][:60]!r} (word {done + row + 1}) holds {np.abs(vectors[row]).max():g}, "
                "beyond the 65504 of float16; choose int8 or float32"
            )
        return halves, None
    scales = np.minimum(np.abs(vectors).max(axis=1) / np.float32(INT8_LEVELS), LARGEST_SCALE).astype(np.float32)
    steps = np.divide(vectors, scales[:, None], out=np.zeros_like(vectors), where=scales[:, None] > 0)
    return np.rint(steps).clip(-INT8_LEVELS, INT8_LEVELS).astype(np.int8), scales


def widen(rows: NDArray[Any], scales: Floats | None) -> Floats:
    """Convert rows as they were written to float32, the inverse of `narrow`."""
    wide: Floats = rows.astype(np.float32)
    if scales is not None:
        with np.errstate(over="ignore", invalid="ignore"):  # a hostile scale: the rows are checked afterwards
            wide *= scales[:, None]
    return wide
