"""`mumon convert`: vectors from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="Model folder or vectors file.", show_default=False)],
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT", help="What to write: .mumon (folder), .txt .vec .w2v, .bin or .glove.", show_default=False
        ),
    ],
    from_format: Annotated[
        str | None, typer.Option(help="The format of IN, if looking at it is not enough.", show_default=False)
    ] = None,
    to_format: Annotated[
        str | None, typer.Option(help="The format of OUT, if its extension does not tell.", show_default=False)
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Keep only the first rows.", show_default=False)] = None,
) -> None:
    """Convert vectors: mumon, word2vec-text, word2vec-bin, glove.

    Example: mumon convert king.mumon king.bin
    """
    from mumon.formats import check_target, read_vectors, write_vectors

    check_target(target, format=to_format)
    loaded = read_vectors(source, from_format, limit)
    write_vectors(target, loaded.words, loaded.vectors, loaded.counts, to_format)
    print(f"wrote {target}: {len(loaded.words):,} words × {loaded.vectors.shape[1]}")
