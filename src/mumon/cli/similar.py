"""`mumon similar`: the nearest neighbours of words."""

from __future__ import annotations

from typing import Annotated

import typer

from mumon.cli import options


def similar(
    model: options.Model,
    words: Annotated[list[str], typer.Argument(help="One word, or several to average.", show_default=False)],
    topn: options.Count = 10,
    json: options.Json = False,
) -> None:
    """Show the words nearest to WORDS, by cosine.

    Example: mumon similar king.mumon king
    """
    from mumon.vectors.word_vectors import WordVectors

    pairs = WordVectors.load(model).most_similar(words, topn=topn)
    options.show_ranking(pairs, json, {"words": words})
