"""Conversion from one format to another, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mumon.formats import check_target, choose_subword_format, detect, open_vectors, writable, write_source
from mumon.formats.base import Block, Source
from mumon.formats.directory import load_model, save_model
from mumon.utils.progress import Progress


@dataclass
class Conversion:
    """What was written: the format, the numbers in a row, their dtype, and the rows so far."""

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
    """Convert vectors from one format to another.

    A model folder becomes a model folder with all that training needs, unless `limit` or `dtype` reduces it.

    Parameters
    ----------
    source, target
        The file or folder to read, and the one to write.
    from_format, to_format
        Their formats, as names in `mumon.formats.FORMATS`; None looks at the file, or at the extension of `target`.
    limit
        Convert only this many rows from the start.
    dtype
        How numbers are written: "float32", "float16" or "int8".
    progress
        Where to report progress.

    Returns
    -------
    Conversion

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "v.txt").write_text("2 3\\na 1 2 3\\nb 4 5 6\\n")
    >>> convert(folder / "v.txt", folder / "v.npz", dtype="float16")
    Conversion(format='npz', dim=3, dtype='float16', rows=2)
    """
    if to_format is None and Path(target).suffix.lower() == ".bin":
        with open_vectors(source, from_format, 1) as vectors:
            to_format = choose_subword_format(target, vectors.subwords)
    chosen = writable(target, to_format, dtype)
    check_target(target, to_format)
    is_model = from_format in (None, "mumon") and detect(source).name == "mumon"
    if is_model and chosen.name == "mumon" and limit is None and dtype == "float32":
        model = load_model(source)
        if model.config:
            matrices, training = (model.vectors, model.output), (model.config, model.history)
            more = {"own": model.own, "subwords": model.subwords}
            save_model(target, model.words, model.counts, *matrices, *training, model.positions, **more)  # type: ignore[arg-type]
            return Conversion(chosen.name, model.vectors.shape[1], dtype, len(model.words))
    with open_vectors(source, from_format, limit) as vectors:
        done = Conversion(chosen.name, vectors.dim, dtype)
        counted = replace(vectors, blocks=_report_progress(vectors, done, progress or Progress()))
        write_source(Path(target), counted, chosen, dtype)
    return done


def _report_progress(source: Source, done: Conversion, progress: Progress) -> Iterator[Block]:
    """Yield the same blocks and count them; progress is in bytes of the file that is read, where these are known."""
    tell = source.tell
    progress.start("converting", source.size if tell else source.rows or 0, "bytes" if tell else "rows")
    for block in source.blocks:
        yield block
        done.rows += len(block.words)
        progress.update(tell() if tell else done.rows, rows=done.rows)
    progress.close()
