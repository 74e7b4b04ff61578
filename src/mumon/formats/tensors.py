"""model.safetensors: the matrices of a model directory, written row by row and mapped when read.

The safetensors library would need a second, contiguous copy of each matrix to write it, and copies what it reads.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, to_one_line
from mumon.formats.base import Floats, find_non_finite_row
from mumon.formats.precision import narrow, widen
from mumon.utils.strict_json import parse

TENSORS_NAME = "model.safetensors"
DTYPE_CODES = {"float32": "F32", "float16": "F16", "int8": "I8"}
NUMPY_DTYPES = {"F32": "<f4", "F16": "<f2", "I8": "i1"}
ROWS_AT_ONCE = 8192
MAX_ROWS = 10**12  # that a header has room for before the rows are counted


def write_tensors(
    directory: Path, vectors: Floats, output: Floats | None, zero_row: bool, positions: Floats | None = None
) -> None:
    """Write the matrices of a model to model.safetensors, block by block.

    Parameters
    ----------
    directory
        Where to write.
    vectors, output
        The (V, D) matrices; the second may be None.
    zero_row
        Whether to add a row of zeros to the first, for unknown words.
    positions
        The weights of positions, (groups, D), of a model that has any.
    """
    groups = 0 if positions is None else len(positions)
    with (directory / TENSORS_NAME).open("wb") as file:
        writer = TensorWriter(file, vectors.shape[1], "float32", len(vectors), output is not None, groups)
        writer.add(vectors)
        writer.finish(zero_row, output, positions)


class TensorWriter:
    """Writes rows of embeddings as they come; room is left for the header, which is written last."""

    def __init__(
        self, file: IO[bytes], dim: int, dtype: str, rows: int | None, output: bool = False, positions: int = 0
    ) -> None:
        self._file, self._dim, self._dtype, self._positions = file, dim, dtype, positions
        self._rows, self._scales, self._output = 0, [np.zeros(0, np.float32)], output
        most = MAX_ROWS if rows is None else rows + 1
        room = len(self._format_header(most, most))
        self._room = room + -room % 8  # the data begins 8-byte aligned
        file.write(bytes(8 + self._room))

    def _format_header(self, rows: int, output_rows: int) -> bytes:
        width = np.dtype(NUMPY_DTYPES[DTYPE_CODES[self._dtype]]).itemsize
        tensors = {"embeddings": (DTYPE_CODES[self._dtype], [rows, self._dim], width)}
        if self._dtype == "int8":
            tensors["weights"] = ("F32", [rows], 4)  # the name by which model2vec multiplies rows
        if self._output:
            tensors["output"] = ("F32", [output_rows, self._dim], 4)
        if self._positions:
            tensors["positions"] = ("F32", [self._positions, self._dim], 4)
        header, end = {}, 0
        for name, (code, shape, itemsize) in tensors.items():
            begin, end = end, end + math.prod(shape) * itemsize
            header[name] = {"dtype": code, "shape": shape, "data_offsets": [begin, end]}
        return json.dumps(header, separators=(",", ":")).encode()

    def add(self, vectors: Floats, words: list[str] | None = None) -> None:
        """Write further rows; `words` are for errors."""
        for start in range(0, len(vectors), ROWS_AT_ONCE):
            part = vectors[start : start + ROWS_AT_ONCE]
            names = [""] * len(part) if words is None else words[start : start + ROWS_AT_ONCE]
            rows, scales = narrow(part, self._dtype, names, self._rows)
            self._write(rows, NUMPY_DTYPES[DTYPE_CODES[self._dtype]])
            self._rows += len(part)
            if scales is not None:
                self._scales.append(scales)

    def _write(self, rows: NDArray[Any], kind: str) -> None:
        self._file.write(np.ascontiguousarray(rows, kind).data)

    def finish(self, zero_row: bool, output: Floats | None = None, positions: Floats | None = None) -> None:
        """Write what comes after the embeddings, and the header; `zero_row` adds a row for unknown words."""
        output_rows = self._rows
        if zero_row:
            self.add(np.zeros((1, self._dim), np.float32))
        if self._dtype == "int8":
            self._write(np.concatenate(self._scales), "<f4")
        if output is not None:
            for start in range(0, len(output), ROWS_AT_ONCE):
                self._write(output[start : start + ROWS_AT_ONCE], "<f4")
        if positions is not None:
            self._write(positions, "<f4")
        header = self._format_header(self._rows, output_rows)
        self._file.seek(0)
        self._file.write(self._room.to_bytes(8, "little") + header.ljust(self._room))


def read_tensors(
    path: Path, V: int, D: int, zero_row: bool, output: bool
) -> tuple[Floats, Floats | None, Floats | None]:
    """Map the matrices from the file: nothing is copied, and changes in memory do not change the file.

    float16 and int8 are copied to float32.

    Parameters
    ----------
    path
        The file.
    V, D
        The shape that config.json says.
    zero_row
        Whether the first matrix has a row of zeros more, for unknown words.
    output
        Whether to read the output matrix, and the weights of positions.

    Returns
    -------
    (vectors, output, positions)
        The last two are None if there are none, or they are not wanted.
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FormatError(f"{path.parent} has no {path.name}; it is not a whole mumon model, so save it again")
    tensors: dict[str, Floats] = {}
    try:
        with safe_open(path, framework="numpy") as file:  # checks that the header and the size of the file are right
            layouts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)
            shapes = {name: (str(part.get_dtype()), tuple(part.get_shape())) for name, part in layouts.items()}
        _check_layout(path, shapes, V + zero_row, V, D)
        tensors["embeddings"] = _read_embeddings(path, shapes)
        for name in ("output", "positions"):
            if output and name in shapes:
                tensors[name] = _map_tensor(path, name, "F32", shapes[name][1])
    except FormatError:
        raise
    except (SafetensorError, OSError, ValueError, LookupError, TypeError) as error:  # the last three from `_map_tensor`
        reason = to_one_line(error)
        raise FormatError(f"{path} cannot be read ({reason}); the file may be truncated, so save it again") from None
    for name, tensor in tensors.items():
        bad = find_non_finite_row(tensor)
        if bad is not None:
            raise FormatError(f"{path}: row {bad + 1} of {name} holds nan or inf; train the model again")
    if zero_row and tensors["embeddings"][V].any():
        raise FormatError(f"{path}: row {V + 1} of embeddings, for unknown words, is not zeros; save the model again")
    return tensors["embeddings"][:V], tensors.get("output"), tensors.get("positions")


def _check_layout(path: Path, shapes: dict[str, tuple[str, tuple[int, ...]]], rows: int, V: int, D: int) -> None:
    if "embeddings" not in shapes:
        raise FormatError(f"{path} has no tensor 'embeddings' among its {len(shapes)}; save the model again")
    kind = shapes["embeddings"][0]
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "embeddings": (kind if kind in NUMPY_DTYPES else "F32", (rows, D)),
        "output": ("F32", (V, D)),
    }
    if "positions" in shapes:  # any number of them: it follows from the options of the training
        groups = shapes["positions"][1][:1]
        expected["positions"] = ("F32", (max(*groups, 1) if groups else 1, D))
    if kind == "I8":
        expected["weights"] = ("F32", (rows,))
        if "weights" not in shapes:
            raise FormatError(f"{path} has no tensor 'weights' for its {rows} rows of I8; save the model again")
    for name in sorted(expected.keys() & shapes.keys()):
        if shapes[name] != expected[name]:
            (code, shape), (right, wanted) = shapes[name], expected[name]
            raise FormatError(
                f"{path}: {name} is {code} {shape} where {right} {wanted} follows from config.json; "
                "save the model again"
            )


def _read_embeddings(path: Path, shapes: dict[str, tuple[str, tuple[int, ...]]]) -> Floats:
    kind, shape = shapes["embeddings"]
    stored = _map_tensor(path, "embeddings", kind, shape)
    if kind == "F32":
        return stored
    scales = _map_tensor(path, "weights", "F32", shapes["weights"][1]) if kind == "I8" else None
    matrix = np.empty(shape, np.float32)
    for start in range(0, len(matrix), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        matrix[part] = widen(stored[part], None if scales is None else scales[part])
    return matrix


def _map_tensor(path: Path, name: str, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Map one tensor of a file that the library has checked; the library itself would copy it."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        begin: int = parse(file.read(size))[name]["data_offsets"][0]
    matrix = np.memmap(path, NUMPY_DTYPES[kind], "c", 8 + size + begin, shape).view(np.ndarray)
    return matrix.copy() if os.name == "nt" else matrix  # Windows would not let a mapped model be replaced
