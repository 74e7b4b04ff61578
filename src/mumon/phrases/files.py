"""Phrases as a JSON file: plain to read, and nothing in it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mumon.errors import FormatError, OptionError, to_one_line

FORMAT, VERSION = "mumon phrases", 1
READERS = {"counts": "Phrases.load", "frozen": "FrozenPhrases.load"}  # by the kind of phrases


def write_phrases(path: str | os.PathLike[str], kind: str, fields: dict[str, Any]) -> None:
    """Write phrases, whole or not at all.

    Parameters
    ----------
    path
        The file; an existing one is replaced.
    kind
        "counts" or "frozen".
    fields
        What JSON can express, in the order in which it is written. Every count or phrase takes a line.
    """
    from mumon.utils.atomic import atomic_file

    try:
        metadata = {"format": FORMAT, "version": VERSION, "kind": kind}
        data = json.dumps({**metadata, **fields}, ensure_ascii=False, allow_nan=False, indent=0).encode()
    except ValueError as error:  # a score that is not a number, half a character
        raise FormatError(
            f"the phrases cannot be written as JSON ({to_one_line(error)}); remove what is wrong"
        ) from None
    with atomic_file(path) as file:
        file.write(data + b"\n")


def read_phrases(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Read what `write_phrases` wrote.

    Parameters
    ----------
    path
        The file.
    kind
        What it must hold: "counts" or "frozen".

    Returns
    -------
    dict
        The fields. They are not checked: take them out of it inside `refuse_damage`.
    """
    from mumon.utils.strict_json import parse

    try:
        fields = parse(Path(path).read_bytes())
    except OSError as error:
        raise FormatError(f"the phrases {os.fspath(path)} cannot be read ({error.strerror}); check the path") from None
    except ValueError as error:
        raise FormatError(
            f"{os.fspath(path)} is not JSON ({to_one_line(error)}); name a file that mumon wrote"
        ) from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise FormatError(f"{os.fspath(path)} holds no phrases; name a file that mumon wrote")
    if fields.get("version") != VERSION:
        version = to_one_line(fields.get("version"), 20)
        raise FormatError(f"{os.fspath(path)} has version {version} of the format, not {VERSION}; update mumon")
    if fields.get("kind") != kind:
        (other,) = READERS.keys() - {kind}
        raise FormatError(f"{os.fspath(path)} holds the other kind of phrases; read it with {READERS[other]}")
    return fields


@contextmanager
def refuse_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what goes wrong with the fields of a file into one error that names the file."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else to_one_line(error)
        raise FormatError(f"{os.fspath(path)} is damaged ({reason}); learn the phrases again") from None


def check_words(words: Any) -> list[str]:
    """Check that connector words came as a list of strings."""
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise OptionError("connector_words is not a list of words")
    return words
