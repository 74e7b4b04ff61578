"""A Griffe extension that adapts mumon's docstrings to the pages.

Examples come after the prose, without a heading, and Markdown would take `>>>` for quotations. Parameters that are
described together (`tokenize, lowercase`) share a paragraph, and Griffe would give all of them the type of the first.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Docstring, Extension

EXAMPLES = re.compile(r"^Examples?\n-+\n", re.MULTILINE)
PARAMETERS = re.compile(r"(?<=^Parameters\n----------\n).*?(?=^\w+\n---|\Z)", re.MULTILINE | re.DOTALL)
NAMES = re.compile(r"^((?:\w+,[ \n])+\w+)\n((?:[ \t]+.*\n?|\n(?=[ \t]))+)", re.MULTILINE)


def fence_examples(text: str) -> str:
    """Put fences around every paragraph that begins with >>>."""
    paragraphs = re.split(r"\n[ \t]*\n", text)
    fenced = [f"```pycon\n{each}\n```" if each.lstrip("\n").startswith(">>>") else each for each in paragraphs]
    return "\n\n".join(fenced)


def split_parameters(text: str) -> str:
    """Give each parameter of a group its own paragraph."""

    def split_group(group: re.Match[str]) -> str:
        first, *others = re.split(r",\s", group[1])
        short = re.split(r"(?<=\.)\s", group[2].strip())[0]  # one sentence is enough for the others
        return "".join([f"{first}\n{group[2].rstrip()}\n", *(f"{name}\n    {short}\n" for name in others)])

    return PARAMETERS.sub(lambda section: NAMES.sub(split_group, section[0]), text)


class Docstrings(Extension):
    """Change the docstrings while they are read."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        docstring: Docstring | None = obj.docstring
        if docstring is None:
            return
        docstring.value = split_parameters(docstring.value)
        if ">>>" in docstring.value and not EXAMPLES.search(docstring.value):
            docstring.value = fence_examples(docstring.value)
