"""`mumon convert`: vectors from one format to another."""

from __future__ import annotations

import json as json_
from typing import Annotated

import typer

from mumon.cli import options


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="Model folder or vectors file.", show_default=False)],
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="What to write: .mumon (folder), .txt .vec .w2v, .bin, .glove, .npz, .npy, .parquet or .tsv.",
            show_default=False,
        ),
    ],
    dtype: Annotated[
        str, typer.Option(help="Numbers: float32, float16 or int8 (.mumon, .npz, .parquet; .npy without int8).")
    ] = "float32",
    from_format: Annotated[
        str | None, typer.Option(help="The format of IN, if it cannot be recognised.", show_default=False)
    ] = None,
    to_format: Annotated[
        str | None, typer.Option(help="The format of OUT, if its extension does not say.", show_default=False)
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Write only this many rows.", show_default=False)] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Convert vectors: mumon, word2vec-text, word2vec-bin, glove (koan), npz, npy, parquet, projector (TensorBoard).

    fastText's own .bin is read as well.

    Rows are copied one part at a time, so files may be larger than the memory. float16 and int8 keep the vectors alone,
    without the second matrix that more training needs.

    Example: mumon convert king.mumon king.parquet
    """
    from mumon.formats.conversion import convert as convert_vectors

    options.check_output([], target, source)
    with options.reporter(quiet or json) as progress:
        done = convert_vectors(source, target, from_format, to_format, limit, dtype, progress)
    if json:
        summary = {"path": target, "format": done.format, "words": done.rows, "vector_size": done.dim}
        print(json_.dumps({**summary, "dtype": done.dtype}, ensure_ascii=False))
    elif not quiet:
        print(f"wrote {target}: {done.rows:,} words × {done.dim}")
