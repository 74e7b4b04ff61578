"""`mumon demo`: train on the documentation inside the running Python, and look at what came out."""

from __future__ import annotations

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
    from rich.console import Console
    from rich.table import Table

    from mumon.cli.demo_text import documentation
    from mumon.formats import check_target
    from mumon.word2vec import Word2Vec

    if output is not None:
        check_target(output)
    console = Console()
    with console.status("collecting the docstrings of the standard library…"):
        sentences = documentation()
    console.print(
        f"Training correct CBOW on {sum(map(len, sentences)):,} words of the documentation inside this Python …",
        highlight=False,
    )
    model = Word2Vec(sentences, vector_size=100, min_count=5, epochs=epochs, progress=console.is_terminal)
    losses = [epoch.loss for epoch in model.history]
    words, seconds = (sum(getattr(epoch, name) for epoch in model.history) for name in ("tokens", "seconds"))
    console.print(
        f"Loss per word: [bold]{_sparkline(losses)}[/] {losses[0]:.2f} → {losses[-1]:.2f} "
        f"in {seconds:.1f} s ({words / seconds:,.0f} words/s)\n",
        highlight=False,
    )
    table = Table("word", "nearest neighbours", box=None, header_style="bold", padding=(0, 2))
    for word in WORDS:
        if word in model.wv:
            near = ", ".join(neighbour for neighbour, _ in model.wv.most_similar(word, topn=6))
            table.add_row(f"[cyan]{word}[/]", near)
    console.print(table)
    if output is not None:
        model.save(output)
        console.print(f"\nSaved {output}; try: mumon similar {output} list", highlight=False)
    else:
        console.print("\nNow your own text: mumon train corpus.txt -o king.mumon", highlight=False)


def _sparkline(values: list[float]) -> str:
    low, high = min(values), max(values)
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (value - low) / ((high - low) or 1))] for value in values)
