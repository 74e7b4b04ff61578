"""The demo's corpus: the documentation inside the running Python."""

from __future__ import annotations

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from mumon.corpus.text import split_sentences

# Not documentation, or other people's.
SKIPPED = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__", "turtledemo"}


def documentation() -> list[list[str]]:
    """Sentences from `pydoc_data.topics` and the docstrings of the standard library's modules, in lower case.

    Sources are parsed, not imported: some modules of the standard library do things when imported.
    """
    from pydoc_data.topics import topics

    texts = [*topics.values(), *_docstrings(Path(sysconfig.get_path("stdlib")))]
    lines = (line for text in texts for line in split_sentences(text).lower().split("\n"))
    return [line.split() for line in lines if line.strip()]


def _docstrings(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if SKIPPED.isdisjoint(path.relative_to(folder).parts):
            try:
                yield from _docstrings_in(ast.parse(path.read_bytes()))
            except (OSError, SyntaxError, ValueError):  # templates and samples of bad code live there too
                continue


def _docstrings_in(node: ast.AST) -> Iterator[str]:
    """Docstrings of a module and of the classes and functions at its outer levels, where almost all of them are."""
    for child in [node, *ast.iter_child_nodes(node)]:
        if isinstance(child, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(child):
                yield text
            if isinstance(child, ast.ClassDef):
                yield from (t for t in map(_own_docstring, child.body) if t)


def _own_docstring(node: ast.AST) -> str | None:
    return ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else None
