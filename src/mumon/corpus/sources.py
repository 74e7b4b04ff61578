"""Finding input files and reading them as pieces of bytes, whatever their compression."""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mumon.compression import DAMAGE, decompressed
from mumon.corpus.text import Piece, TextOptions
from mumon.errors import CorpusError

STDIN = "-"
PIECE_BYTES = 1 << 20
JSON_LINES = {".jsonl", ".ndjson", ".json"}


def find_files(inputs: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Every file that the inputs name, in a fixed order: files, folders (all files below, but hidden ones), globs, "-".

    Links to folders are not followed, so a loop of links cannot trap the search.
    """
    found: list[str] = []
    for given in inputs:
        name = os.fspath(given)
        path = Path(name)
        if name == STDIN or path.is_file() or (path.exists() and not path.is_dir()):
            found.append(name)
        elif path.is_dir():
            below = sorted(_walk(path))
            if not below:
                raise CorpusError(f"the folder {name} holds no file to read; name one that holds text")
            found += below
        else:
            matches = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []  # noqa: PTH207
            if not matches:
                raise CorpusError(f"there is no file {name}; check the path{_look_alike(path)}")
            found += find_files(matches)
    return found


def _walk(folder: Path) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (str(Path(parent) / name) for name in files if not name.startswith("."))


def _look_alike(path: Path) -> str:
    import difflib

    if not path.parent.is_dir():
        return f" (not even the folder {path.parent} exists)"
    near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], 1)
    return f" (did you mean {path.parent / near[0]}?)" if near else ""


def read_pieces(name: str, options: TextOptions, advance: Callable[[int], None]) -> Iterator[Piece]:
    """The content of one file (or of standard input for "-"), a piece at a time; `advance` hears of bytes read."""
    origin = "standard input" if name == STDIN else name
    try:
        with _open_raw(name) as raw:
            head = raw.peek(8)[:8]
            if head.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise CorpusError(f"{origin} is UTF-16; convert it first, e.g. with iconv -f UTF-16 -t UTF-8")
            if head.startswith(b"PAR1"):
                yield from _parquet_pieces(raw, origin, options.text_field, advance)
                return
            stream = decompressed(raw)
            suffixes = Path(name).suffixes[-2:]
            json_lines = bool(JSON_LINES & set(suffixes))
            yield from _cut(stream, raw, origin, json_lines, advance)
    except DAMAGE as error:
        raise CorpusError(f"{origin} is damaged or cut short ({error}); make or fetch it again") from None
    except OSError as error:
        raise CorpusError(f"{origin} cannot be read ({error.strerror or error})") from None


def _open_raw(name: str) -> io.BufferedReader:
    if name == STDIN:
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), PIECE_BYTES)
    return io.BufferedReader(io.FileIO(name), PIECE_BYTES)


def _cut(
    stream: Any, raw: io.BufferedReader, origin: str, json_lines: bool, advance: Callable[[int], None]
) -> Iterator[Piece]:
    """Pieces that end at a newline, or else (never within a JSON record) at a blank; never within a word."""
    held: list[bytes] = []
    line, position = 1, 0
    seekable = raw.seekable()
    first = True
    while block := stream.read(PIECE_BYTES):
        if first:
            block, first = block.removeprefix(b"\xef\xbb\xbf"), False
        at = block.rfind(b"\n") + 1
        if not at and not json_lines:
            at = max(block.rfind(b" "), block.rfind(b"\t")) + 1
        if at:
            data = b"".join([*held, block[:at]])
            yield Piece(data, origin, json_lines, line)
            line += data.count(b"\n")
            held = []
        held.append(block[at:])
        reached = raw.tell() if seekable else position + len(block)
        advance(reached - position)
        position = reached
    yield Piece(b"".join(held), origin, json_lines, line, last=True)


def _parquet_pieces(raw: io.BufferedReader, origin: str, field: str, advance: Callable[[int], None]) -> Iterator[Piece]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(raw)
    except pa.ArrowInvalid as error:
        raise CorpusError(f"{origin} is not a whole Parquet file ({str(error).splitlines()[0]})") from None
    columns = file.schema_arrow.names
    if field not in columns:
        raise CorpusError(f"{origin} has no column {field!r} but {', '.join(columns[:8])}; name it with --text-field")
    kind = file.schema_arrow.field(field).type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise CorpusError(f"column {field!r} of {origin} holds {kind}, not text; choose another with --text-field")
    size = os.fstat(raw.fileno()).st_size
    done, rows = 0, max(file.metadata.num_rows, 1)
    for batch in file.iter_batches(1024, columns=[field]):
        texts = [text for text in batch.column(0).to_pylist() if text is not None]
        yield Piece(("\n\n".join(texts) + "\n\n").encode(), origin)
        advance(size * (done + len(batch)) // rows - size * done // rows)
        done += len(batch)
