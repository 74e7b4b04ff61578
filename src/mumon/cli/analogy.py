"""`mumon analogy`: A is to B as C is to …?"""

from __future__ import annotations

from typing import Annotated

import typer

from mumon.cli import options


def analogy(
    model: options.Model,
    a: Annotated[str, typer.Argument(show_default=False)],
    b: Annotated[str, typer.Argument(show_default=False)],
    c: Annotated[str, typer.Argument(show_default=False)],
    topn: options.Count = 5,
    mul: Annotated[bool, typer.Option("--mul", help="Multiply the cosines (3CosMul) instead of adding them.")] = False,
    json: options.Json = False,
) -> None:
    """Answer "A is to B as C is to …".

    Example: mumon analogy king.mumon man king woman
    """
    from mumon.vectors.word_vectors import WordVectors

    vectors = WordVectors.load(model)
    ask = vectors.most_similar_cosmul if mul else vectors.most_similar
    options.show_ranking(ask(positive=[b, c], negative=[a], topn=topn), json, {"a": a, "b": b, "c": c})
