"""`mumon demo`: train on the documentation of the running Python, and show neighbours."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

PROBES = ("list", "file", "thread", "error", "integer", "class", "socket", "week")
# Not documentation, or other people's.
SKIPPED = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__", "turtledemo"}


def demo(
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Keep the model in this folder.", show_default=False)
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the text.")] = 20,
) -> None:
    """Train on the documentation of your own Python, without any file or network.

    Example: mumon demo
    """
    from mumon.cli.tables import escape, is_terminal, new_table, print_table, print_text, show_status
    from mumon.formats import check_target
    from mumon.word2vec import Word2Vec

    if output is not None:
        check_target(output)
    with show_status("collecting the docstrings of the standard library…"):
        sentences = read_documentation()
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
    for word in PROBES:
        if word in model.wv:
            near = ", ".join(neighbour for neighbour, _ in model.wv.most_similar(word, topn=6))
            table.add_row(f"[cyan]{word}[/]", escape(near))
    print_table(table)
    if output is not None:
        model.save(output)
        print_text(escape(f"\nSaved {output}; try: mumon similar {shlex.quote(output)} list"))
    else:
        print_text("\nNow your own text: mumon train corpus.txt -o king.mumon")


def _sparkline(values: list[float]) -> str:
    low, high = min(values), max(values)
    return "".join("▁▂▃▄▅▆▇█"[round(7 * (value - low) / ((high - low) or 1))] for value in values)


def read_documentation() -> list[list[str]]:
    """Return sentences from `pydoc_data.topics` and from the docstrings of the standard library, in lower case.

    Sources are parsed, not imported: some modules of the standard library do things when imported.
    """
    import sysconfig
    from pydoc_data.topics import topics

    from mumon.corpus.characters import lower_utf8, split_utf8

    texts = [*topics.values(), *_find_docstrings(Path(sysconfig.get_path("stdlib")))]
    documents = (lower_utf8(split_utf8(text.encode(errors="ignore"))).decode() for text in texts)
    return [line.split() for document in documents for line in document.split("\n") if line.strip()]


def _find_docstrings(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if SKIPPED.isdisjoint(path.relative_to(folder).parts):
            try:
                yield from _read_docstrings(ast.parse(path.read_bytes()))
            except (OSError, SyntaxError, ValueError):  # templates and samples of bad code live there too
                continue


def _read_docstrings(node: ast.AST) -> Iterator[str]:
    """Yield the docstrings of a module and of its outer classes and functions, which are almost all that it has."""
    for child in [node, *ast.iter_child_nodes(node)]:
        if isinstance(child, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(child):
                yield text
            if isinstance(child, ast.ClassDef):
                yield from (t for t in map(_read_docstring, child.body) if t)


def _read_docstring(node: ast.AST) -> str | None:
    return ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else None
