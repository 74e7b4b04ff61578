"""A corpus cut into shards, which machines read independently: together they are the text, in order."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mumon.corpus.filesystem import is_url
from mumon.corpus.parquet import find_row_groups, is_parquet, read_parquet
from mumon.corpus.sources import (
    PIECE_BYTES,
    STDIN,
    cut_pieces,
    find_files,
    format_name,
    is_json_lines,
    open_input,
    read_pieces,
)
from mumon.corpus.text import DEFAULT_FIELD, Piece, TextOptions
from mumon.errors import CorpusError
from mumon.utils.compression import detect_compression, find_size
from mumon.utils.validation import check_integer

SHARD_BYTES = 64 << 20


@dataclass(frozen=True)
class Shard:
    """The lines of a file that begin at a byte of [begin, end); of Parquet, the row groups that do.

    `end` is None at the end of the file. Shard(name) is a whole file, and the only shard of a compressed one.
    """

    name: str
    begin: int = 0
    end: int | None = None


def find_shards(
    inputs: Sequence[str | os.PathLike[str]], options: TextOptions | None = None, size: int = SHARD_BYTES
) -> list[Shard]:
    """Cut files, folders, globs or URLs into shards of about `size` bytes, in the order of the text.

    Files of sentences per line, JSON lines and Parquet are cut. A compressed file is one shard, and so is a file of
    running text (`tokenize`), because its sentences do not end with its lines.

    Parameters
    ----------
    inputs
        As for `corpus_from_files`, but neither standard input nor pipes.
    options
        How the text will be read.
    size
        The bytes of a shard.

    Returns
    -------
    list of Shard
        The shards; local paths are absolute.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = text.write_text("the cat\\nsaw the dog\\n")
    >>> [(shard.begin, shard.end) for shard in find_shards([text], size=10)]
    [(0, 10), (10, None)]
    """
    options, size = options or TextOptions(), check_integer("size", size)
    shards: list[Shard] = []
    for name in find_files(inputs):
        if not is_url(name):
            if name == STDIN or not Path(name).is_file():
                shown = "standard input" if name == STDIN else f"the pipe {name}"
                raise CorpusError(f"a cluster cannot read {shown}; name files that all its machines can read")
            name = os.path.abspath(name)  # noqa: PTH100  # another process has another working directory
        bounds = [0, *_find_cuts(name, options, size)]
        shards += [Shard(name, *ends) for ends in zip(bounds, [*bounds[1:], None], strict=True)]
    return shards


def read_shard(shard: Shard, options: TextOptions, advance: Callable[[int], None]) -> Iterator[Piece]:
    """Read a shard, a piece at a time, as `sources.read_pieces` reads a file.

    Parameters
    ----------
    shard
        One of `find_shards`.
    options
        How the text is read; the same as when it was cut.
    advance
        Called with the bytes that were read since the last call.

    Yields
    ------
    Piece
        The text in order.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> text = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = text.write_text("the cat\\nsaw the dog\\n")
    >>> [piece.data for piece in read_shard(Shard(str(text), 3, 10), TextOptions(), lambda _: None)]
    [b'saw the dog\\n', b'']
    """
    name, begin, end = shard.name, shard.begin, shard.end
    origin = format_name(name)
    if begin == 0 and end is None:
        yield from read_pieces(name, options, advance)
        return
    with open_input(name) as raw:
        if is_parquet(raw):
            yield from read_parquet(raw, origin, options.text_field or DEFAULT_FIELD, advance, begin, end)
            return
        if not _can_cut(raw, name, options):
            raise CorpusError(f"{origin} cannot be read from byte {begin:,} to {end}; cut it with find_shards")
        lines = _LineReader(raw, origin, begin, end)
        start = lines.tell()
        if start:  # for messages that name lines
            origin += f" (lines counted from byte {start:,})"
        yield from cut_pieces(lines, lines.tell, origin, is_json_lines(name, options), advance, start)


def _find_cuts(name: str, options: TextOptions, size: int) -> list[int]:
    """Return the bytes of a file at which its shards begin, after the first."""
    with open_input(name) as raw:
        total = find_size(raw) or 0
        if total <= size:
            return []
        if is_parquet(raw):
            cuts, last = [], 0
            for start in find_row_groups(raw, format_name(name)):
                if start - last >= size:
                    cuts.append(start)
                    last = start
            return cuts
        count = -(-total // size) if _can_cut(raw, name, options) else 1
        return [total * part // count for part in range(1, count)]


def _can_cut(raw: io.BufferedReader, name: str, options: TextOptions) -> bool:
    """Return whether lines of a file can be read without those before: sentences of running text span lines."""
    divided = is_json_lines(name, options) or not options.tokenize
    return divided and raw.seekable() and detect_compression(raw) is None


class _LineReader:
    """A stream of the lines of a file that begin within a range of bytes."""

    def __init__(self, raw: io.BufferedReader, origin: str, begin: int, end: int | None) -> None:
        self._raw, self._end = raw, end
        size = find_size(raw)
        if size is not None and max(begin, end or 0) > size:
            raise CorpusError(
                f"{origin} has {size:,} bytes, fewer than when it was cut at {max(begin, end or 0):,}; start again"
            )
        self._at = begin
        if begin:  # a line begins at `begin` if the byte before is a newline
            self._at = begin - 1
            raw.seek(self._at)
            while block := raw.read(PIECE_BYTES):
                found = block.find(b"\n") + 1
                self._at += found or len(block)
                if found:
                    break
            raw.seek(self._at)
        self._over = end is not None and self._at >= end

    def tell(self) -> int:
        """Return the position in the file after what was read."""
        return self._at

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes; none after the last line."""
        block = b"" if self._over else self._raw.read(size)
        if self._end is not None and self._at + len(block) >= self._end:
            last = block.find(b"\n", max(self._end - 1 - self._at, 0)) + 1
            block, self._over = block[: last or None], last > 0
        self._at += len(block)
        return block
