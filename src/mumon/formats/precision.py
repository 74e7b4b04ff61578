"""Numbers in fewer bytes: float16 as it is, int8 with a scale for each row.

A row of int8 is round(row / scale) with scale = max|row| / 127, so no number moves by more than half a scale: 1/254 of
the largest of its row. The scales are a tensor or column of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, OptionError
from mumon.formats.base import Floats

DTYPES = ("float32", "float16", "int8")
LEVELS = 127
LARGEST_SCALE = np.nextafter(np.float32(np.finfo(np.float32).max / LEVELS), np.float32(0))  # 127 of it are finite


def check_dtype(dtype: str, possible: Sequence[str], format: str) -> None:
    """Refuse numbers that there are not, or that a format does not hold."""
    if dtype not in DTYPES:
        raise OptionError(
            f"{dtype!r} is not one of the {len(DTYPES)} kinds of numbers; choose from {', '.join(DTYPES)}"
        )
    if dtype not in possible:
        raise OptionError(
            f"{format} holds {' or '.join(possible)}, not {dtype}; for that, write .mumon, .npz or .parquet"
        )


def narrow(vectors: Floats, dtype: str, words: Sequence[str], done: int = 0) -> tuple[NDArray[Any], Floats | None]:
    """Rows as they are written, and their scales if they have any; `done` rows came before.

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
    scales = np.minimum(np.abs(vectors).max(axis=1) / np.float32(LEVELS), LARGEST_SCALE).astype(np.float32)
    steps = np.divide(vectors, scales[:, None], out=np.zeros_like(vectors), where=scales[:, None] > 0)
    return np.rint(steps).clip(-LEVELS, LEVELS).astype(np.int8), scales


def widen(rows: NDArray[Any], scales: Floats | None) -> Floats:
    """float32 rows from what was written."""
    wide: Floats = rows.astype(np.float32)
    if scales is not None:
        with np.errstate(over="ignore", invalid="ignore"):  # a hostile scale: the rows are checked afterwards
            wide *= scales[:, None]
    return wide
