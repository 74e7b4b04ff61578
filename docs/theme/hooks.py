"""Hooks of mkdocs: the reference of the command line, and pages whose files are in the root of the repository."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent.parent
FROM_ROOT = {
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "code-of-conduct.md": "CODE_OF_CONDUCT.md",
}
COMMANDS = "<!-- commands -->"


def on_files(files: Files, config: Any) -> Files:
    """Add the documents of the root, where people look for them first, as pages."""
    for page, name in FROM_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](").replace("](README.md", "](index.md")
        files.append(File.generated(config, page, content=_inside(text, "")))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Insert the help of every command where a page asks for it."""
    markdown = _inside(markdown, "../")
    return markdown.replace(COMMANDS, command_reference()) if COMMANDS in markdown else markdown


def _inside(text: str, up: str) -> str:
    """Turn links to documents of the root into links to their pages."""
    for page, name in FROM_ROOT.items():
        text = text.replace(f"]({up}{name}", f"]({page}")
    return text


def command_reference() -> str:
    """Return what `mumon … --help` says, as typer writes it, with tables in place of lists."""
    call = [sys.executable, "-m", "typer", "mumon.cli", "utils", "docs", "--name", "mumon"]
    listing = subprocess.run(call, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    head, *commands = re.split(r"^(?=## )", html.unescape(listing), flags=re.MULTILINE)
    summary = [f"| [`{name}`](#{_anchor(name)}) | {first} |" for name, first in map(_first_sentence, commands)]
    options = _tables(head.split("**Options**:")[1].split("**Commands**:")[0])
    return "\n".join(["| | |", "|---|---|", *summary, "", "Of `mumon` itself:", options, *map(_tables, commands)])


def _first_sentence(command: str) -> tuple[str, str]:
    heading, _, body = command.partition("\n\n")
    return heading.strip("#` "), " ".join(body.split("\n\n")[0].split())


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _tables(text: str) -> str:
    """Turn lists of `* `option`: meaning` into tables; drop lists of sub-commands, which have their own sections."""
    lines: list[str] = []
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text).replace("```console\n$ ", "```console\n")
    for line in text.split("\n"):
        found = re.fullmatch(r"\* `(.+?)`:? ?(.*)", line)
        if found is None:
            lines.append(re.sub(r"^Example: (.*)", r"Example: `\1`", line))
        elif found[1] != "--help":
            if not lines[-1].startswith("|"):
                lines += ["| | |", "|---|---|"]
            lines.append(f"| <code>{_cell(found[1].replace(' range>', '>'))}</code> | {_cell(found[2])} |")
    return "\n".join(lines).replace("**Options**:\n\n\n", "")


def _cell(text: str) -> str:
    """Escape text for a table cell: brackets are not tags, stars not emphasis, bars not borders."""
    return html.escape(text, quote=False).replace("|", "&#124;").replace("*", "&#42;").replace("  [", " [")
