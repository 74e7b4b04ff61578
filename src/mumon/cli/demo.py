"""`mumon demo`: train on the documentation inside the running Python, and look at what came out."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

WORDS = ("list", "file", "thread", "error", "integer", "class", "socket", "week")


def demo(
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Keep the model in this folder.", show_default=False)
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the text.")] = 20,
) -> None:
    """Train on the documentation inside your own Python; no file and no network needed."""
    from mumon.cli.demo_text import documentation
    from mumon.cli.tables import is_terminal, new_table, plain, print_table, print_text, show_status
    from mumon.formats import check_target
    from mumon.word2vec import Word2Vec

    if output is not None:
        check_target(output)
    with show_status("collecting the docstrings of the standard library…"):
        sentences = documentation()
    print_text(f"Training correct CBOW on {sum(map(len, sentences)):,} words of the documentation inside this Python …")
    model = Word2Vec(sentences, vector_size=100, min_count=5, epochs=epochs, progress=is_terminal())
    losses = [epoch.loss for epoch in model.history]
    words, seconds = (sum(getattr(epoch, name) for epoch in model.history) for name in ("tokens", "seconds"))
    print_text(
        f"Loss per word: [bold]{_sparkline(losses)}[/] {losses[0]:.2f} → {losses[-1]:.2f} "
        f"in {seconds:.1f} s ({words / seconds:,.0f} words/s)\n"
    )
    table = new_table("", "word", "nearest neighbours")
    table.box = None
    for word in WORDS:
        if word in model.wv:
            near = ", ".join(neighbour for neighbour, _ in model.wv.most_similar(word, topn=6))
            table.add_row(f"[cyan]{word}[/]", plain(near))
    print_table(table)
    if output is not None:
        model.save(output)
        print_text(plain(f"\nSaved {output}; try: mumon similar {shlex.quote(output)} list"))
    else:
        print_text("\nNow your own text: mumon train corpus.txt -o king.mumon")


def _sparkline(values: list[float]) -> str:
    low, high = min(values), max(values)
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (value - low) / ((high - low) or 1))] for value in values)
