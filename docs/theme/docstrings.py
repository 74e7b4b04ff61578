"""A Griffe extension: what mumon's docstrings leave to the reader, spelt out for the pages.

Examples stand after the prose, without a heading, and Markdown would take `>>>` for quotations. Parameters that are
told of together (`tokenize, lowercase`) share a paragraph, and Griffe would give all of them the type of the first.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Docstring, Extension

EXAMPLES = re.compile(r"^Examples?\n-+\n", re.MULTILINE)
PARAMETERS = re.compile(r"(?<=^Parameters\n----------\n).*?(?=^\w+\n---|\Z)", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r"^((?:\w+,[ \n])+\w+)\n((?:[ \t]+.*\n?|\n(?=[ \t]))+)", re.MULTILINE)


def fenced(text: str) -> str:
    """Put every paragraph that begins with >>> between fences."""
    paragraphs = re.split(r"\n[ \t]*\n", text)
    shown = [f"```pycon\n{each}\n```" if each.lstrip("\n").startswith(">>>") else each for each in paragraphs]
    return "\n\n".join(shown)


def one_by_one(text: str) -> str:
    """Give each parameter of a group a paragraph of its own."""

    def apart(group: re.Match[str]) -> str:
        first, *others = re.split(r",\s", group[1])
        short = re.split(r"(?<=\.)\s", group[2].strip())[0]  # one sentence is enough for the others
        return "".join([f"{first}\n{group[2].rstrip()}\n", *(f"{name}\n    {short}\n" for name in others)])

    return PARAMETERS.sub(lambda section: NAMES.sub(apart, section[0]), text)


class Docstrings(Extension):
    """Change the docstrings while they are read."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        docstring: Docstring | None = obj.docstring
        if docstring is None:
            return
        docstring.value = one_by_one(docstring.value)
        if ">>>" in docstring.value and not EXAMPLES.search(docstring.value):
            docstring.value = fenced(docstring.value)
