"""Arguments and options that several commands share, and what they have in common."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from mumon.utils.progress import Progress

Corpus = Annotated[
    list[str],
    typer.Argument(
        help="Files, folders, quoted globs or - for standard input: text with one sentence per line (also .gz .bz2 "
        ".xz .zst), JSON lines (.jsonl) or Parquet.",
        show_default=False,
    ),
]
Model = Annotated[str, typer.Argument(help="A model folder or any vectors file mumon can read.", show_default=False)]
Count = Annotated[int, typer.Option("-n", "--topn", min=1, help="How many words to show.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Tokenize = Annotated[
    bool | None, typer.Option("--tokenize", help="Running text: split into sentences and words.", show_default=False)
]
Lowercase = Annotated[bool | None, typer.Option("--lowercase", help="Lower-case every word.", show_default=False)]
TextField = Annotated[
    str | None,
    typer.Option("--text-field", help="Field of JSON lines or column of Parquet (default: text).", show_default=False),
]
MinCount = Annotated[
    int | None,
    typer.Option("--min-count", min=0, help="Drop words that occur less often (default: 5).", show_default=False),
]
MaxVocab = Annotated[
    int | None, typer.Option("--max-vocab", min=1, help="Keep only so many frequent words.", show_default=False)
]
Unk = Annotated[
    str | None, typer.Option("--unk", help="Train this word in place of all dropped ones.", show_default=False)
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", "--workers", min=1, help="Threads (default: one per core).", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")]


def reporter(quiet: bool, log_json: bool = False) -> Progress:
    """What the user asked to see: a bar on a terminal, plain lines elsewhere, JSON lines, or nothing."""
    from mumon.utils.progress import BarProgress, JsonProgress, LineProgress, Progress

    if log_json:
        return JsonProgress(sys.stdout)
    if quiet:
        return Progress()
    return BarProgress() if sys.stderr.isatty() else LineProgress()


def names(text: str) -> list[str]:
    """The names in a list with commas, as `--tasks` and its like take them."""
    return [name.strip() for name in text.split(",") if name.strip()]


def number(name: str, text: str | None) -> int | None:
    """A number as people write large ones.

    >>> number("--tokens", "160G"), number("--words", "1.5M"), number("--words", "5000")
    (160000000000, 1500000, 5000)
    """
    import re

    from mumon.errors import OptionError

    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMGB]?)", text.strip())
    value = round(float(found[1]) * {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}[found[2]]) if found else 0
    if not 0 < value < 1 << 62:
        raise OptionError(f"{name} is {text!r}; write a number of at least 1, such as 500k, 20M or 2.5G")
    return value


def spare_inputs(inputs: list[str], output: str, *outputs: str) -> None:
    """Refuse to write over what is read or written already: `-o corpus.txt` is a slip that would cost the corpus."""
    from mumon.corpus.sources import STDIN, find_files
    from mumon.errors import OptionError

    target, inputs = Path(output), [name for name in inputs if "://" not in name]  # nothing is written to URLs
    if (
        output in inputs
        or target.resolve() in map(Path.resolve, map(Path, outputs))
        or (target.is_file() and any(target.samefile(name) for name in find_files(inputs) if name != STDIN))
    ):
        raise OptionError(f"{output} is read or written already and would be overwritten; choose another name")


def check_vocabulary_target(path: str) -> None:
    """Refuse a place for `word count` lines if they cannot be written there, or if anything else is there already."""
    from mumon.corpus.vocabulary import Vocabulary
    from mumon.errors import FormatError, OptionError
    from mumon.utils.atomic import check_file_target

    target = check_file_target(path)
    if target.exists() and target.stat().st_size:
        try:
            Vocabulary.load(target)
        except FormatError:
            raise OptionError(f"{path} exists and is no vocabulary; choose another name or remove it") from None


def show_ranking(pairs: list[tuple[str, float]], as_json: bool, about: dict[str, Any]) -> None:
    """Print words with their scores, for people (a table) or for programs."""
    if as_json:
        neighbours = [{"word": word, "score": round(float(score), 6)} for word, score in pairs]
        print(json.dumps({**about, "neighbours": neighbours}, ensure_ascii=False))
        return
    for word, score in pairs:
        print(f"{score:8.4f}  {word}")
