"""Run documents: find their code blocks, write the files that they mention, and run their lines."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.conftest import write_mirror
from tests.samples import KINDS, write_extrinsic_mirror

ROOT = Path(__file__).parent.parent
FENCE = re.compile(r"^( *)```([\w-]*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# These install packages or have their own test.
SKIPPED = ("make ", "pip ", "mumon demo")
PROMPT = re.compile(r"^\$ ")
SHELL = set("|&;<>$`*~")  # only a shell understands these, unless they are quoted


@dataclass(frozen=True)
class Block:
    """A fenced block: the word after the fence, the text inside, and the line where it starts."""

    kind: str
    text: str
    line: int

    def lines(self) -> list[str]:
        """Return the commands of a block of shell, with continued lines joined and without prompts and comments."""
        joined = self.text.replace("\\\n", " ")
        commands = (PROMPT.sub("", line).split("  #")[0].strip() for line in joined.splitlines())
        return [command for command in commands if command and not command.startswith("#")]


def find_blocks(text: str) -> list[Block]:
    """Return every fenced block of a document, in order."""
    return [
        Block(
            found[2], re.sub(rf"^{found[1]}", "", found[3], flags=re.MULTILINE), text[: found.start()].count("\n") + 1
        )
        for found in FENCE.finditer(text)
    ]


def write_files(home: Path, planted: list[list[str]]) -> None:
    """Write small versions of the files that the documents mention."""
    royal = ["the king and the queen rule", "a man and a woman walk", "the king is a man"] * 40
    kinds = [" ".join(f"{kind}{number}" for number in range(40)) for kind in KINDS] * 10
    words = ["king", "queen", "man", "woman", "cat", "hill", "rule", "walk"]
    mixed = [" ".join(Random(line).sample(words, 5)) for line in range(300)]  # so that few pairs are phrases
    text = "\n".join(royal + kinds + mixed + [" ".join(sentence) for sentence in planted[:500]])
    (home / "corpus.txt").write_text(text)
    (home / "more.txt").write_text("the new king of the hill is a cat\n" * 40)
    (home / "glove.txt").write_text("king 0.5 0.25 0.125\nqueen 0.5 0.25 0.375\n")
    pairs = [("king", "queen", 9), ("king", "cat", 1), ("queen", "hill", 2), ("king", "man", 5), ("king", "new", 3)]
    (home / "pairs.csv").write_text("".join(f"{a},{b},{score}\n" for a, b, score in pairs))
    (home / "pairs.tsv").write_text("".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs))
    (home / "data").mkdir()
    write_mirror(home / "data")
    write_extrinsic_mirror(home / "data")
    (home / "wiki").mkdir()
    (home / "wiki" / "a.txt.zst").write_text("The king walks. The queen talks to a man. " * 40)


def run_line(line: str) -> tuple[int, str]:
    """Run a line of shell in this folder and return its exit code and error.

    A plain mumon command runs in this process, because starting Python and loading the kernels takes longer than most
    commands.
    """
    words = shlex.split(line)
    if words[0] == "mumon" and not SHELL & set(re.sub(r"'[^']*'|\"[^\"]*\"", "", line)):
        return run_here(words[1:])
    folder = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": folder + os.pathsep + os.environ["PATH"]}
    run = subprocess.run(line, shell=True, env=environment, capture_output=True, text=True)
    return run.returncode, run.stderr


def run_here(arguments: list[str]) -> tuple[int, str]:
    """Run the command line in this process and return its exit code and error."""
    from mumon import cli

    arguments_before, sys.argv = sys.argv, ["mumon", *arguments]
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0), "see the captured standard error"
    finally:
        sys.argv = arguments_before
    return 0, ""


def find_options(line: str) -> Iterator[tuple[list[str], str]]:
    """Yield the options of a mumon command, each with the command that it belongs to."""
    with contextlib.suppress(ValueError):
        words = shlex.split(line)
        command = words[1:2] if words[1:2] != ["data"] else words[1:3]
        if command and command[0].startswith("-"):
            command = []
        yield from ((command, word.split("=")[0]) for word in words[1:] if re.match(r"--?[a-zA-Z]", word))
