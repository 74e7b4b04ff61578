"""Parquet: a column word (string), count (int64) where there are counts, and vector, a list of D float32.

DuckDB, pandas, polars and embedding-atlas open it. Rows are written in groups, and read as they come. int8 has another
column, scale: the numbers are scale × vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, list_names, to_one_line
from mumon.formats.base import Block, Source, as_format_errors, check_finite
from mumon.formats.blocks import resize_blocks
from mumon.formats.precision import narrow, widen
from mumon.utils.atomic import atomic_file
from mumon.utils.compression import check_expansion

MAGIC = b"PAR1"
GROUP_NUMBERS = 1 << 21  # in a row group
BATCH_NUMBERS = 1 << 20  # read at once
MAX_DIM = 1 << 20


@contextmanager
def open_source(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open the columns, to read some rows at a time."""
    import pyarrow.parquet as pq

    with path.open("rb") as raw:
        with _as_format_errors(path):
            file = pq.ParquetFile(raw, pre_buffer=False)
            columns = _check_columns(path, file.schema_arrow)
            metadata = file.metadata
            groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
            check_expansion(path.stat().st_size, sum(group.total_byte_size for group in groups))
            first = next(file.iter_batches(1, columns=["vector"], use_threads=False), None)
            dim = 0 if first is None or not len(first) else len(first.column(0)[0].as_py() or ())
        if not 1 <= dim <= MAX_DIM:
            raise FormatError(
                f"{path} has {metadata.num_rows} rows, the first of {dim} numbers; both must be at least 1"
            )
        rows = metadata.num_rows if limit is None else min(limit, metadata.num_rows)
        blocks = _read_blocks(path, file, columns, dim, rows)
        yield Source(path, dim, blocks, rows, False, "count" in columns)


@contextmanager
def _as_format_errors(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        with as_format_errors(path):
            yield
    except FormatError:
        raise
    except (pa.ArrowException, ValueError, TypeError, LookupError, MemoryError) as error:
        # ValueError: names that are not UTF-8; MemoryError: a page whose header says 2 GB
        raise FormatError(
            f"{path} cannot be read as Parquet ({to_one_line(error)}); the file may be damaged, so fetch it again"
        ) from None


def _check_columns(path: Path, schema: Any) -> list[str]:
    """Return the names of the columns to read, after checking their types."""
    import pyarrow as pa

    kinds = {name: schema.field(schema.names.index(name)).type for name in ("word", "vector", "count", "scale")
             if name in schema.names}  # fmt: skip
    if not {"word", "vector"} <= kinds.keys():
        raise FormatError(f"{path} has the columns {list_names(schema.names)} where word and vector were expected")
    vector, numbers = kinds["vector"], None
    if pa.types.is_list(vector) or pa.types.is_large_list(vector) or pa.types.is_fixed_size_list(vector):
        numbers = vector.value_type
    right = {
        "word": pa.types.is_string(kinds["word"]) or pa.types.is_large_string(kinds["word"]),
        "vector": numbers is not None
        and (pa.types.is_floating(numbers) or (numbers == pa.int8() and "scale" in kinds)),
        "count": "count" not in kinds or pa.types.is_integer(kinds["count"]),
        "scale": "scale" not in kinds or pa.types.is_floating(kinds["scale"]),
    }
    for name, fits in right.items():
        if not fits:
            raise FormatError(
                f"column {name} of {path} holds {to_one_line(kinds[name], 60)}, which is not possible; write it again"
            )
    return [name for name in kinds if name != "scale" or numbers == pa.int8()]


def _read_blocks(path: Path, file: Any, columns: list[str], dim: int, rows: int) -> Iterator[Block]:
    with _as_format_errors(path):
        batches = file.iter_batches(max(1, BATCH_NUMBERS // dim), columns=columns, use_threads=False)
    done = 0
    while done < rows:
        with _as_format_errors(path):
            batch = next(batches, None)
            if batch is None:
                raise FormatError(f"{path} ends after {done} of its {rows} rows; the file may be truncated")
            block = _convert_batch(path, batch.slice(0, rows - done), dim, done)
        yield block
        done += len(block.words)


def _convert_batch(path: Path, batch: Any, dim: int, done: int) -> Block:
    import pyarrow as pa

    column = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name, values in column.items():
        if values.null_count:
            raise FormatError(f"{path}: rows {done + 1} to {done + len(batch)} have a {name} that is null; drop them")
    scale = _to_numpy(column["scale"]).astype(np.float32) if "scale" in column else None
    with np.errstate(over="ignore"):
        vectors = widen(_to_matrix(path, column["vector"], dim, done), scale)
    check_finite(path, vectors, done)
    # as bytes: Parquet does not promise that its strings are valid UTF-8
    words = column["word"].cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
    counts = _to_numpy(column["count"].cast(pa.int64())) if "count" in column else None
    return Block([word.decode("utf-8", "replace") for word in words], vectors, counts)


def _to_matrix(path: Path, lists: Any, dim: int, done: int) -> NDArray[Any]:
    flat = lists.flatten()
    lengths = _to_numpy(lists.value_lengths()) if hasattr(lists, "value_lengths") else np.full(len(lists), dim)
    if (lengths != dim).any() or len(flat) != len(lists) * dim or flat.null_count:
        row = int((lengths != dim).argmax()) if (lengths != dim).any() else 0
        raise FormatError(
            f"{path}: row {done + row + 1} does not have the {dim} numbers of the first row; write it again"
        )
    return _to_numpy(flat).reshape(len(lists), dim)


def _to_numpy(array: Any) -> NDArray[Any]:
    numbers: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return numbers


def write_source(path: Path, source: Source, dtype: str) -> None:
    """Write row groups of about 8 MB, so that no more is in memory at once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = {"float32": pa.float32(), "float16": pa.float16(), "int8": pa.int8()}[dtype]
    fields = [pa.field("word", pa.string(), nullable=False)]
    fields += [pa.field("count", pa.int64(), nullable=False)] if source.has_counts else []
    fields += [pa.field("vector", pa.list_(pa.field("element", number, nullable=False), source.dim), nullable=False)]
    fields += [pa.field("scale", pa.float32(), nullable=False)] if dtype == "int8" else []
    schema = pa.schema(fields)
    compressions = {field.name: "zstd" for field in fields if field.name != "vector"}
    options: dict[str, Any] = {
        # floats hardly compress, a dictionary would be as large as they are, and their minimum is of no use
        "compression": {**compressions, "vector.list.element": "none"},
        "use_dictionary": ["vector.list.element"]
        if dtype == "int8"
        else False,  # otherwise Parquet takes 4 bytes for each
        "write_statistics": list(compressions),
    }
    done = 0
    with atomic_file(path) as file, pq.ParquetWriter(file, schema, **options) as writer:
        for block in resize_blocks(source, max(1, GROUP_NUMBERS // source.dim)):
            writer.write_batch(_make_batch(schema, block, dtype, done), row_group_size=len(block.words))
            done += len(block.words)


def _make_batch(schema: Any, block: Block, dtype: str, done: int) -> Any:
    import pyarrow as pa

    values, scales = narrow(block.vectors, dtype, block.words, done)
    kind = schema.field("vector").type
    flat = pa.array(np.ascontiguousarray(values).reshape(-1), kind.value_type)
    arrays = {
        "word": pa.array(block.words, pa.string()),
        "count": None if block.counts is None else pa.array(block.counts),
        "vector": pa.FixedSizeListArray.from_arrays(flat, type=kind),
        "scale": None if scales is None else pa.array(scales),
    }
    return pa.record_batch([arrays[name] for name in schema.names], schema=schema)
