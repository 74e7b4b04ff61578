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
    from mumon.cli.options import spare_inputs
    from mumon.formats import check_target, detect, format_for, read_vectors, write_vectors
    from mumon.formats.directory import load_model, save_model

    spare_inputs([], target, source)
    check_target(target, to_format)
    if limit is None and detect(source).name == format_for(target, to_format).name == "mumon":
        model = load_model(source)  # whole: with its output vectors, settings and history
        save_model(target, model.words, model.counts, model.vectors, model.output, model.config, model.history)
        words, vectors = model.words, model.vectors
    else:
        loaded = read_vectors(source, from_format, limit)
        write_vectors(target, loaded.words, loaded.vectors, loaded.counts, to_format)
        words, vectors = loaded.words, loaded.vectors
    print(f"wrote {target}: {len(words):,} words × {vectors.shape[1]}")
