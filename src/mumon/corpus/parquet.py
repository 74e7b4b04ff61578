"""The texts of a column of a Parquet file, all of them or those of some row groups."""

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
    """Whether the first bytes say so; nothing is consumed."""
    return raw.peek(len(MAGIC)).startswith(MAGIC)


def read_parquet(
    raw: io.BufferedReader,
    origin: str,
    field: str,
    advance: Callable[[int], None],
    begin: int = 0,
    end: int | None = None,
) -> Iterator[Piece]:
    """The texts of the row groups that begin within these bytes of the file."""
    try:
        yield from _texts(raw, origin, field, advance, begin, end)
    except CorpusError:
        raise
    except list_damage_errors() as error:
        raise make_damage_error(f"the Parquet file {origin}", error) from None


def find_row_groups(raw: io.BufferedReader, origin: str) -> list[int]:
    """The byte of the file at which each row group begins, never falling."""
    try:
        return _starts(_opened(raw, origin).metadata, find_size(raw) or 0)
    except CorpusError:
        raise
    except list_damage_errors() as error:
        raise make_damage_error(f"the Parquet file {origin}", error) from None


def list_damage_errors() -> tuple[type[Exception], ...]:
    """What Arrow raises over a damaged file."""
    import pyarrow as pa

    # names that are not UTF-8 are ValueErrors; a page may promise 2 GB, and Arrow believes it until it has looked
    return pa.ArrowException, OSError, ValueError, LookupError, MemoryError


def make_damage_error(origin: str, error: Exception) -> CorpusError:
    """What to say of a file whose content makes no sense."""
    return CorpusError(f"{origin} is damaged or cut short ({to_one_line(error)}); make or fetch it again")


def _opened(raw: io.BufferedReader, origin: str) -> Any:
    import pyarrow.parquet as pq

    if not raw.seekable():
        raise CorpusError(
            f"{origin} is Parquet, which is read from its end and cannot come through a pipe; name a file"
        )
    # Arrow asks for just what it needs. Over a network, a buffer would fetch more than that with every step aside.
    return pq.ParquetFile(raw if isinstance(raw.raw, io.FileIO) else raw.raw)


def _starts(about: Any, size: int) -> list[int]:
    """Offsets that lie are bent so that, however a file is cut, each row group is in one part, in the file's order."""
    starts = []
    for index in range(about.num_row_groups):
        group = about.row_group(index)
        columns = [group.column(i) for i in range(group.num_columns)]
        pages = [
            column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
            for column in columns
        ]
        starts.append(min(max(min(pages, default=0), 0), max(size - 1, 0)))
    return list(accumulate(starts, max))


def _texts(
    raw: io.BufferedReader, origin: str, field: str, advance: Callable[[int], None], begin: int, end: int | None
) -> Iterator[Piece]:
    import pyarrow as pa

    file = _opened(raw, origin)
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
    size, about = find_size(raw) or 0, file.metadata
    unpacked = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    if size:
        check_expansion(size, unpacked)
    starts, rows = _starts(about, size), max(about.num_rows, 1)
    chosen = [index for index, start in enumerate(starts) if start >= begin and (end is None or start < end)]
    done = sum(about.row_group(index).num_rows for index in range(chosen[0])) if chosen else 0
    for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=chosen, columns=[field]) if chosen else ():
        # As bytes: Parquet does not promise that its strings are valid UTF-8.
        texts = batch.column(0).cast(kind).cast(pa.large_binary()).drop_null().to_pylist()
        yield Piece(DOCUMENT_END.join([*texts, b""]), origin)
        advance(size * (done + len(batch)) // rows - size * done // rows)
        done += len(batch)
