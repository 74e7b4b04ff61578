"""Reading the texts of a column of a Parquet file, all of them or those of some row groups."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from mumon.corpus.text import DOCUMENT_END, Piece
from mumon.errors import CorpusError, list_names, to_one_line
from mumon.utils.compression import check_expansion, find_size

MAGIC = b"PAR1"
ROWS_AT_ONCE = 256


def is_parquet(raw: io.BufferedReader) -> bool:
    """Return whether the first bytes of a file are those of Parquet; consume nothing."""
    return raw.peek(len(MAGIC)).startswith(MAGIC)


def read_parquet(
    raw: io.BufferedReader,
    origin: str,
    field: str,
    advance: Callable[[int], None],
    begin: int = 0,
    end: int | None = None,
) -> Iterator[Piece]:
    """Read the texts of one column, a few rows at a time.

    Parameters
    ----------
    raw
        The file, which must be able to seek.
    origin
        What to call it in messages.
    field
        The column.
    advance
        Called with the bytes of the file that were read since the last call, in proportion to the rows.
    begin, end
        Only row groups that begin within these bytes of the file are read.

    Yields
    ------
    Piece
        Texts, with an empty line after each.
    """
    try:
        yield from _read_texts(raw, origin, field, advance, begin, end)
    except CorpusError:
        raise
    except list_damage_errors() as error:
        raise make_damage_error(f"the Parquet file {origin}", error) from None


def find_row_groups(raw: io.BufferedReader, origin: str) -> list[int]:
    """Return the byte of the file at which each row group begins, in ascending order."""
    try:
        return _find_starts(_open_parquet(raw, origin).metadata, find_size(raw) or 0)
    except CorpusError:
        raise
    except list_damage_errors() as error:
        raise make_damage_error(f"the Parquet file {origin}", error) from None


def list_damage_errors() -> tuple[type[Exception], ...]:
    """List what Arrow raises for a damaged file."""
    import pyarrow as pa

    # ValueError: a name is not UTF-8. MemoryError: a page says that it has 2 GB, and Arrow asks for them.
    return pa.ArrowException, OSError, ValueError, LookupError, MemoryError


def make_damage_error(origin: str, error: Exception) -> CorpusError:
    """Return the error for a file whose content makes no sense."""
    return CorpusError(f"{origin} is damaged or cut short ({to_one_line(error)}); make or fetch it again")


def _open_parquet(raw: io.BufferedReader, origin: str) -> Any:
    import pyarrow.parquet as pq

    if not raw.seekable():
        raise CorpusError(
            f"{origin} is Parquet, which is read from its end and cannot come through a pipe; name a file"
        )
    # Arrow reads just what it needs. Over a network, a buffer would fetch more than that at every seek.
    return pq.ParquetFile(raw if isinstance(raw.raw, io.FileIO) else raw.raw)


def _find_starts(metadata: Any, size: int) -> list[int]:
    """Return where row groups begin; wrong offsets are mended so that each group is in exactly one shard, in order."""
    starts = []
    for index in range(metadata.num_row_groups):
        group = metadata.row_group(index)
        columns = [group.column(i) for i in range(group.num_columns)]
        pages = [
            column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
            for column in columns
        ]
        starts.append(min(max(min(pages, default=0), 0), max(size - 1, 0)))
    return list(accumulate(starts, max))


def _read_texts(
    raw: io.BufferedReader, origin: str, field: str, advance: Callable[[int], None], begin: int, end: int | None
) -> Iterator[Piece]:
    import pyarrow as pa

    file = _open_parquet(raw, origin)
    columns = file.schema_arrow.names
    if field not in columns:
        raise CorpusError(f"{origin} has no column {field!r} but {list_names(columns)}; name it with --text-field")
    kind = file.schema_arrow.field(columns.index(field)).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise CorpusError(
            f"column {field!r} of {origin} holds {to_one_line(kind, 60)}, not text; choose another with --text-field"
        )
    size, metadata = find_size(raw) or 0, file.metadata
    unpacked = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if size:
        check_expansion(size, unpacked)
    starts, rows = _find_starts(metadata, size), max(metadata.num_rows, 1)
    chosen = [index for index, start in enumerate(starts) if start >= begin and (end is None or start < end)]
    done = sum(metadata.row_group(index).num_rows for index in range(chosen[0])) if chosen else 0
    for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=chosen, columns=[field]) if chosen else ():
        # As bytes: Parquet does not promise that its strings are valid UTF-8.
        texts = batch.column(0).cast(kind).cast(pa.large_binary()).drop_null().to_pylist()
        yield Piece(DOCUMENT_END.join([*texts, b""]), origin)
        advance(size * (done + len(batch)) // rows - size * done // rows)
        done += len(batch)
