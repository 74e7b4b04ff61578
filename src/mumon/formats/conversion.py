"""From one format to another, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mumon.formats import check_target, detect, open_vectors, writable, write_source
from mumon.formats.base import Block, Source
from mumon.formats.directory import load_model, save_model
from mumon.utils.progress import Progress


@dataclass
class Conversion:
    """What was written; `rows` is how many are there so far."""

    format: str
    dim: int
    dtype: str
    rows: int = 0


def convert(
    source: str | Path,
    target: str | Path,
    from_format: str | None = None,
    to_format: str | None = None,
    limit: int | None = None,
    dtype: str = "float32",
    progress: Progress | None = None,
) -> Conversion:
    """Write what is at `source` to `target`, as formats and options say.

    A model folder becomes a model folder with all that training needs, unless it is cut by `limit` or `dtype`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "v.txt").write_text("2 3\\na 1 2 3\\nb 4 5 6\\n")
    >>> convert(folder / "v.txt", folder / "v.npz", dtype="float16")
    Conversion(format='npz', dim=3, dtype='float16', rows=2)
    """
    chosen = writable(target, to_format, dtype)
    check_target(target, to_format)
    is_model = from_format in (None, "mumon") and detect(source).name == "mumon"
    if is_model and chosen.name == "mumon" and limit is None and dtype == "float32":
        model = load_model(source)
        if model.config:
            save_model(target, model.words, model.counts, model.vectors, model.output, model.config, model.history)
            return Conversion(chosen.name, model.vectors.shape[1], dtype, len(model.words))
    with open_vectors(source, from_format, limit) as vectors:
        done = Conversion(chosen.name, vectors.dim, dtype)
        reported = replace(vectors, blocks=_reported(vectors, done, progress or Progress()))
        write_source(Path(target), reported, chosen, dtype)
    return done


def _reported(source: Source, done: Conversion, progress: Progress) -> Iterator[Block]:
    """The same blocks, counted; progress is told in bytes of the file that is read where those are known."""
    tell = source.tell
    progress.start("converting", source.size if tell else source.rows or 0, "bytes" if tell else "rows")
    for block in source.blocks:
        yield block
        done.rows += len(block.words)
        progress.update(tell() if tell else done.rows, rows=done.rows)
    progress.close()
