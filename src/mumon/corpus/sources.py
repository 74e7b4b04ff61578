"""Finding input files and reading them as pieces of bytes, whatever their compression."""

from __future__ import annotations

import glob
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mumon.corpus.filesystem import (
    MODEL_FILE,
    MODEL_SUFFIXES,
    find_urls,
    hide_secrets,
    is_url,
    open_url,
    read_file_info,
    to_local_path,
)
from mumon.corpus.parquet import is_parquet, make_damage_error, read_parquet
from mumon.corpus.text import DEFAULT_FIELD, Piece, TextOptions
from mumon.errors import CorpusError
from mumon.utils.compression import DAMAGE_ERRORS, ExpansionError, decompress, find_size

STDIN = "-"
PIECE_BYTES = 1 << 20
MAX_UNCUT_BYTES = 1 << 26  # of one word, or of one JSON record, which must fit into memory
SNIFF_BYTES = 8192  # a NUL among the first bytes means that a file is binary
JSON_LINES = {".jsonl", ".ndjson", ".json"}


def find_files(inputs: Sequence[str | os.PathLike[str]]) -> list[str]:
    """List the files that some inputs name, in a fixed order.

    Hidden files and model folders (.mumon) below a folder are left out. Links to folders are not followed, so a loop of
    links does no harm.

    Parameters
    ----------
    inputs
        Files, folders (all files below), globs, URLs of these, or "-" for standard input.

    Returns
    -------
    list of str
        Paths and URLs.

    Raises
    ------
    CorpusError
        If an input names nothing that can be read.
    """
    found: list[str] = []
    for path in inputs:
        name = to_local_path(os.fspath(path))
        if not name:
            raise CorpusError("one of the paths to read is empty; name a file or folder")
        if is_url(name):
            found += find_urls(name)
            continue
        try:
            found += _find_local(name)
        except CorpusError:
            raise
        except PermissionError as error:
            raise make_unreadable_error(error.filename or name, error) from None
        except (OSError, ValueError):  # too long for a file name, or with a NUL inside
            raise CorpusError(_explain_missing(name)) from None
    return found


def _find_local(name: str) -> list[str]:
    path = Path(name)
    if (path / MODEL_FILE).exists():
        raise CorpusError(f"{name} is a model, not text; to continue its training, name it with --from")
    if path.is_dir():
        below = sorted(_walk(path))
        if not below:
            raise CorpusError(f"the folder {name} has no file to read; name one that has text files")
        return below
    if name == STDIN or path.exists():
        return [name]
    matches = sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else []  # noqa: PTH207
    matches = [match for match in matches if not _is_model(Path(match))]
    if not matches:
        raise CorpusError(_explain_missing(name))
    # A pattern may match a folder and files in it: each is read once.
    return list({os.path.normpath(found): found for found in find_files(matches)}.values())


def _explain_missing(name: str) -> str:
    shown = name if len(name) <= 80 else f"{name[:80]}…"
    if len(name.split()) > 4:
        return f"there is no file {shown!r}; pass text itself as a list of token lists, and files by their paths"
    if is_url(name.replace(":/", "://", 1)):
        return f"there is no file {shown}; if it is a URL, pass it as a string: a Path loses one of its slashes"
    return f"there is no file {shown}; check the path{_suggest_name(Path(name))}"


def make_unreadable_error(name: str, error: OSError) -> CorpusError:
    """Return the error for a file or folder that the system does not let us read."""
    step = "let this user read it" if isinstance(error, PermissionError) else "check the path"
    return CorpusError(f"{format_name(name)} cannot be read ({error.strerror or error}); {step}, or leave it out")


def _walk(folder: Path) -> Iterator[str]:
    def refuse(error: OSError) -> None:  # os.walk would skip it, and the text would be missing unnoticed
        raise make_unreadable_error(error.filename, error)

    for parent, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".") and not _is_model(Path(parent) / name)]
        paths = [Path(parent) / name for name in files if not name.startswith(".")]
        # Opening a pipe without a writer would wait for ever. A broken link stays in the list: it should be noticed.
        yield from (str(path) for path in paths if path.is_file() or not path.exists())


def _is_model(folder: Path) -> bool:
    return folder.suffix in MODEL_SUFFIXES or (folder / MODEL_FILE).exists()


def _suggest_name(path: Path) -> str:
    import difflib

    if not path.parent.is_dir():
        return f" (not even the folder {path.parent} exists)"
    near = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], 1)
    return f" (did you mean {path.parent / near[0]}?)" if near else ""


def is_json_lines(name: str, options: TextOptions) -> bool:
    """Return whether a file that is not Parquet has one JSON record per line, by its name and the options."""
    path = name.partition("?")[0] if is_url(name) else name
    suffixes = {suffix.lower() for suffix in Path(path).suffixes[-2:]}
    return options.text_field is not None or bool(JSON_LINES & suffixes)


def format_name(name: str) -> str:
    """Return what to call an input in a message."""
    return "standard input" if name == STDIN else hide_secrets(name) if is_url(name) else name


def count_bytes(names: Sequence[str]) -> int:
    """Add up the sizes of files, as far as they are known: pipes have none."""
    urls = [name for name in names if is_url(name)]
    local = sum(Path(name).stat().st_size for name in names if not is_url(name) and Path(name).is_file())
    return local + sum(info.size or 0 for info in read_file_info(urls))


def read_pieces(name: str, options: TextOptions, advance: Callable[[int], None]) -> Iterator[Piece]:
    """Read one file, a piece at a time.

    Parameters
    ----------
    name
        A path, a URL, or "-" for standard input.
    options
        Which column or field of Parquet or JSON lines has the text.
    advance
        Called with the bytes of the file that were read since the last call.

    Yields
    ------
    Piece
        About a MiB that ends between words, or the texts of some rows.
    """
    origin = format_name(name)
    with open_input(name) as raw:
        if is_parquet(raw):
            yield from read_parquet(raw, origin, options.text_field or DEFAULT_FIELD, advance)
            return
        size = find_size(raw) if raw.seekable() else None
        stream = decompress(raw)
        yield from cut_pieces(
            stream, raw.tell if raw.seekable() else None, origin, is_json_lines(name, options), advance
        )
        if size and stream is raw and raw.tell() < size:
            raise CorpusError(f"{origin} was cut to {raw.tell():,} of {size:,} bytes while it was read; try again")


@contextmanager
def open_input(name: str) -> Iterator[io.BufferedReader]:
    """Open a file for reading, and turn whatever goes wrong while it is read into a CorpusError about it.

    Parameters
    ----------
    name
        A path, a URL, or "-" for standard input.

    Yields
    ------
    io.BufferedReader
        The bytes as they are stored.
    """
    origin = format_name(name)
    try:
        with _open_raw(name) as raw:
            if raw.peek(2).startswith((b"\xff\xfe", b"\xfe\xff")):
                raise CorpusError(f"{origin} is UTF-16; convert it first, e.g. with iconv -f UTF-16 -t UTF-8")
            yield raw
    except ExpansionError as error:
        raise CorpusError(f"{origin} {error}") from None
    except DAMAGE_ERRORS as error:
        raise make_damage_error(origin, error) from None
    except OSError as error:  # zstd and bzip2 raise OSErrors, too, but only the system's have numbers
        raise (make_unreadable_error(name, error) if error.errno else make_damage_error(origin, error)) from None


def _open_raw(name: str) -> io.BufferedReader:
    if name == STDIN:
        if sys.stdin is None:
            raise CorpusError("standard input is closed; send text to it, or name a file")
        return io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False), PIECE_BYTES)
    path = to_local_path(name)
    return open_url(path) if is_url(path) else io.BufferedReader(io.FileIO(path), PIECE_BYTES)


def cut_pieces(
    stream: Any,
    tell: Callable[[], int] | None,
    origin: str,
    json_lines: bool,
    advance: Callable[[int], None],
    begin: int = 0,
) -> Iterator[Piece]:
    """Cut a stream into pieces that end at a newline or else, except for JSON lines, at a blank; never within a word.

    Parameters
    ----------
    stream
        Decompressed bytes.
    tell
        Returns how many bytes of the file have been read, compressed as they are; None if that is not known.
    origin
        What to call the file in messages.
    json_lines
        Whether each line is a JSON record.
    advance
        Called with the bytes of the file that were read since the last call.
    begin
        The byte of the file at which the stream begins. At 0 a byte order mark is dropped, and a binary file refused.

    Yields
    ------
    Piece
        The text in order; the last piece, perhaps empty, is marked.
    """
    held: list[bytes] = []
    line, position = 1, begin
    first = begin == 0
    while block := stream.read(PIECE_BYTES):
        if first:
            if b"\0" in block[:SNIFF_BYTES]:
                raise CorpusError(f"{origin} has a NUL at byte {block.index(0)}: it is not text; leave it out")
            block, first = block.removeprefix(b"\xef\xbb\xbf"), False
        at = block.rfind(b"\n") + 1
        if not at and not json_lines:
            at = max(block.rfind(b" "), block.rfind(b"\t")) + 1
        if at:
            data = b"".join([*held, memoryview(block)[:at]])
            yield Piece(data, origin, json_lines, line)
            if json_lines:  # only their messages name lines, and counting takes as long as reading
                line += data.count(b"\n")
            held = []
        held.append(block[at:])
        if len(held) > MAX_UNCUT_BYTES // PIECE_BYTES:
            what = "a JSON record" if json_lines else "a word"
            raise CorpusError(
                f"{origin} has {what} of more than {MAX_UNCUT_BYTES:,} bytes; is it text, with line ends?"
            )
        reached = tell() if tell else position + len(block)
        advance(reached - position)
        position = reached
    yield Piece(b"".join(held), origin, json_lines, line, last=True)
