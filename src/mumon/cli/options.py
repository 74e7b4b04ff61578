"""Arguments and options that several commands share, and how they are read and checked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    int | None,
    typer.Option("--max-vocab", min=1, help="Keep only this many words, the most frequent.", show_default=False),
]
Unk = Annotated[
    str | None, typer.Option("--unk", help="Train this word instead of all dropped ones.", show_default=False)
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", "--threads", min=1, help="Threads (default: one per core).", show_default=False),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def reporter(quiet: bool, log_json: bool = False) -> Progress:
    """Return the reporter that the user asked for.

    Parameters
    ----------
    quiet
        Report nothing.
    log_json
        Print JSON lines on standard output. Otherwise a terminal shows a bar, and a log gets plain lines.
    """
    from mumon.utils.progress import BarProgress, JsonProgress, LineProgress, Progress

    if log_json:
        return JsonProgress(sys.stdout)
    if quiet:
        return Progress()
    return BarProgress() if sys.stderr.isatty() else LineProgress()


def split_names(text: str) -> list[str]:
    """Return the names in a comma-separated list, which is what `--tasks` and others take."""
    return [name.strip() for name in text.split(",") if name.strip()]


def parse_number(name: str, text: str | None) -> int | None:
    """Read a whole number that may end in k, M or G (also B).

    Parameters
    ----------
    name
        The option, for the message if the number cannot be read.
    text
        What was written, or None if the option was left out.

    Returns
    -------
    int or None
        The number, or None if there is none.

    Examples
    --------
    >>> parse_number("--tokens", "160G"), parse_number("--words", "1.5M"), parse_number("--words", "5000")
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


def check_output(inputs: list[str], output: str, *outputs: str) -> None:
    """Refuse an output that is also an input or another output: `-o corpus.txt` would overwrite the corpus.

    Parameters
    ----------
    inputs
        Files, folders, globs and URLs that the command reads.
    output
        The path to check.
    outputs
        Other paths that the command uses.
    """
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
    """Refuse a path for `word count` lines if it cannot be written, or if it is a file of another kind."""
    from mumon.corpus.vocabulary import Vocabulary
    from mumon.errors import FormatError, OptionError
    from mumon.utils.atomic import check_file_target

    target = check_file_target(path)
    if target.exists() and target.stat().st_size:
        try:
            Vocabulary.load(target)
        except FormatError:
            raise OptionError(f"{path} exists and is no vocabulary; choose another name or remove it") from None
