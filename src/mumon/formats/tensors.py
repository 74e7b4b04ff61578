"""model.safetensors: the matrices of a model directory, written row by row and mapped when read.

The safetensors library would need a second, contiguous copy of each matrix to write it, and copies what it reads.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, to_one_line
from mumon.formats.base import Floats, find_non_finite_row
from mumon.formats.precision import narrow, widen
from mumon.utils.strict_json import parse

if TYPE_CHECKING:
    from mumon.corpus.subwords import Subwords

TENSORS_NAME = "model.safetensors"
DTYPE_CODES = {"float32": "F32", "float16": "F16", "int8": "I8", "int32": "I32"}
NUMPY_DTYPES = {"F32": "<f4", "F16": "<f2", "I8": "i1", "I32": "<i4"}
TRAINING_TENSORS = ("output", "positions", "own")  # what only training needs
ROWS_AT_ONCE = 8192
MAX_ROWS = 10**12  # that a header has room for before the rows are counted


def write_tensors(
    directory: Path,
    vectors: Floats,
    output: Floats | None,
    zero_row: bool,
    more: Mapping[str, NDArray[Any]] | None = None,
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
    more
        Other tensors by name: "positions", the weights of positions (groups, D); "own", the words' own rows (V, D); and
        those of `name_ngram_tensors`.
    """
    with (directory / TENSORS_NAME).open("wb") as file:
        writer = TensorWriter(file, vectors.shape[1], "float32", len(vectors), output is not None, more)
        writer.add(vectors)
        writer.finish(zero_row, output)


def name_ngram_tensors(subwords: Subwords | None, dtype: str = "float32") -> dict[str, NDArray[Any]]:
    """Return the tensors that the n-grams of a model are saved as, by name.

    Parameters
    ----------
    subwords
        The rows of n-grams, if there are any.
    dtype
        In which kind of numbers: with int8, "ngram_weights" has a scale for each row.

    Returns
    -------
    dict
        "ngrams" has the rows, "buckets" which of the buckets they are, unless all have one.
    """
    if subwords is None:
        return {}
    rows, scales = narrow(subwords.rows, dtype, ["an n-gram"] * len(subwords.rows))
    tensors = {"ngrams": rows} if scales is None else {"ngrams": rows, "ngram_weights": scales}
    return tensors if subwords.kept is None else {**tensors, "buckets": subwords.kept}


class TensorWriter:
    """Writes rows of embeddings as they come; room is left for the header, which is written last."""

    def __init__(
        self,
        file: IO[bytes],
        dim: int,
        dtype: str,
        rows: int | None,
        output: bool = False,
        more: Mapping[str, NDArray[Any]] | None = None,
    ) -> None:
        self._file, self._dim, self._dtype, self._more = file, dim, dtype, more or {}
        self._rows, self._scales, self._output = 0, [np.zeros(0, np.float32)], output
        most = MAX_ROWS if rows is None else rows + 1
        room = len(self._format_header(most, most))
        self._room = room + -room % 8  # the data begins 8-byte aligned
        file.write(bytes(8 + self._room))

    def _format_header(self, rows: int, output_rows: int) -> bytes:
        tensors = {"embeddings": (DTYPE_CODES[self._dtype], [rows, self._dim])}
        if self._dtype == "int8":
            tensors["weights"] = ("F32", [rows])  # the name by which model2vec multiplies rows
        if self._output:
            tensors["output"] = ("F32", [output_rows, self._dim])
        tensors |= {name: (DTYPE_CODES[str(array.dtype)], list(array.shape)) for name, array in self._more.items()}
        header, end = {}, 0
        for name, (code, shape) in tensors.items():
            begin, end = end, end + math.prod(shape) * np.dtype(NUMPY_DTYPES[code]).itemsize
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

    def finish(self, zero_row: bool, output: Floats | None = None) -> None:
        """Write what comes after the embeddings, and the header; `zero_row` adds a row for unknown words."""
        output_rows = self._rows
        if zero_row:
            self.add(np.zeros((1, self._dim), np.float32))
        if self._dtype == "int8":
            self._write(np.concatenate(self._scales), "<f4")
        for array in [*([] if output is None else [output]), *self._more.values()]:
            for start in range(0, len(array), ROWS_AT_ONCE):
                self._write(array[start : start + ROWS_AT_ONCE], NUMPY_DTYPES[DTYPE_CODES[str(array.dtype)]])
        header = self._format_header(self._rows, output_rows)
        self._file.seek(0)
        self._file.write(self._room.to_bytes(8, "little") + header.ljust(self._room))


@dataclass(frozen=True)
class Tensors:
    """What a file of tensors holds, as far as it is there and wanted."""

    vectors: Floats
    output: Floats | None = None
    positions: Floats | None = None
    own: Floats | None = None
    ngrams: Floats | None = None
    buckets: NDArray[np.int32] | None = None


def read_tensors(path: Path, V: int, D: int, zero_row: bool, output: bool) -> Tensors:
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
        Whether to read what only training needs: the output matrix, weights of positions, and words' own rows.

    Returns
    -------
    Tensors
    """
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FormatError(f"{path.parent} has no {path.name}; it is not a whole mumon model, so save it again")
    tensors: dict[str, NDArray[Any]] = {}
    try:
        with safe_open(path, framework="numpy") as file:  # checks that the header and the size of the file are right
            layouts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (it is no dictionary)
            shapes = {name: (str(part.get_dtype()), tuple(part.get_shape())) for name, part in layouts.items()}
        _check_layout(path, shapes, V + zero_row, V, D)
        tensors["embeddings"] = _read_rows(path, shapes, "embeddings", "weights")
        if "ngrams" in shapes:
            tensors["ngrams"] = _read_rows(path, shapes, "ngrams", "ngram_weights")
        for name in (*(TRAINING_TENSORS if output else ()), "buckets"):
            if name in shapes:
                tensors[name] = _map_tensor(path, name, *shapes[name])
    except FormatError:
        raise
    except (SafetensorError, OSError, ValueError, LookupError, TypeError) as error:  # the last three from `_map_tensor`
        reason = to_one_line(error)
        raise FormatError(f"{path} cannot be read ({reason}); the file may be truncated, so save it again") from None
    for name, tensor in tensors.items():
        bad = find_non_finite_row(tensor) if tensor.dtype.kind == "f" else None
        if bad is not None:
            raise FormatError(f"{path}: row {bad + 1} of {name} holds nan or inf; train the model again")
    vectors = tensors.pop("embeddings")
    if zero_row and vectors[V].any():
        raise FormatError(f"{path}: row {V + 1} of embeddings, for unknown words, is not zeros; save the model again")
    return Tensors(vectors[:V], **tensors)


def _check_layout(path: Path, shapes: dict[str, tuple[str, tuple[int, ...]]], rows: int, V: int, D: int) -> None:
    if "embeddings" not in shapes:
        raise FormatError(f"{path} has no tensor 'embeddings' among its {len(shapes)}; save the model again")
    kind = shapes["embeddings"][0]
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "embeddings": (kind if kind in NUMPY_DTYPES else "F32", (rows, D)),
        "output": ("F32", (V, D)),
    }
    expected["own"] = expected["output"]
    for name, least in (("positions", 1), ("ngrams", 0)):  # any number of them: it follows from options and words
        if name in shapes:
            code, shape = shapes[name]
            free = name == "ngrams" and code in ("F16", "I8")
            expected[name] = (code if free else "F32", (max(shape[0], least) if shape else least, D))
    for name, code in (("ngram_weights", "F32"), ("buckets", "I32")):
        expected[name] = (code, shapes.get("ngrams", ("", (0,)))[1][:1])
    if shapes.get("ngrams", ("",))[0] == "I8" and "ngram_weights" not in shapes:
        raise FormatError(f"{path} has no tensor 'ngram_weights' for its rows of I8; save the model again")
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


def _read_rows(path: Path, shapes: dict[str, tuple[str, tuple[int, ...]]], name: str, scale_name: str) -> Floats:
    """Map rows of float32; read rows of fewer bytes, with their scales, into memory."""
    kind, shape = shapes[name]
    stored = _map_tensor(path, name, kind, shape)
    if kind == "F32":
        return stored
    scales = _map_tensor(path, scale_name, "F32", shapes[scale_name][1]) if kind == "I8" else None
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
    if not math.prod(shape):  # which cannot be mapped
        return np.zeros(shape, NUMPY_DTYPES[kind])
    matrix = np.memmap(path, NUMPY_DTYPES[kind], "c", 8 + size + begin, shape).view(np.ndarray)
    return matrix.copy() if os.name == "nt" else matrix  # Windows would not let a mapped model be replaced
