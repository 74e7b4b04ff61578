"""`mumon similar` and `mumon analogy`: look words up in a model."""

from __future__ import annotations

from typing import Annotated, Any

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
    _show_ranking(pairs, json, {"words": words})


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
    _show_ranking(ask(positive=[b, c], negative=[a], topn=topn), json, {"a": a, "b": b, "c": c})


def _show_ranking(pairs: list[tuple[str, float]], as_json: bool, query: dict[str, Any]) -> None:
    """Print words with their scores, a line each, or all of it as JSON together with the query."""
    import json

    if as_json:
        neighbours = [{"word": word, "score": round(float(score), 6)} for word, score in pairs]
        print(json.dumps({**query, "neighbours": neighbours}, ensure_ascii=False))
        return
    for word, score in pairs:
        print(f"{score:8.4f}  {word}")
