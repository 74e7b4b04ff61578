"""Phrases as a JSON file: plain to read, and nothing in it runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mumon.corpus.vocabulary import MAX_COUNT
from mumon.errors import FormatError, OptionError, to_one_line
from mumon.phrases.finder import PhraseFinder, checked_delimiter
from mumon.phrases.frozen import FrozenPhrases
from mumon.phrases.model import Phrases
from mumon.phrases.scorers import NAMED
from mumon.phrases.table import StringTable
from mumon.utils.validation import check_float, check_integer

FORMAT, VERSION = "mumon phrases", 1


def save(phrases: PhraseFinder, path: str | os.PathLike[str]) -> None:
    """Write phrases, whole or not at all. The counts take one line of text each, so `Phrases` is much the larger."""
    from mumon.utils.atomic import atomic_file

    scoring = next((name for name, scorer in NAMED.items() if scorer is phrases.scoring), None)
    about: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kind": "frozen" if isinstance(phrases, FrozenPhrases) else "counts",
        "min_count": phrases.min_count,
        "threshold": phrases.threshold,
        "delimiter": phrases.delimiter,
        "connector_words": sorted(phrases.connector_words),
        "scoring": scoring,
    }
    if isinstance(phrases, Phrases):
        if scoring is None:
            raise OptionError(
                "a scoring function of your own cannot be written to a file; freeze() the phrases and save those"
            )
        for name in ("max_vocab_size", "min_reduce", "corpus_word_count"):
            about[name] = getattr(phrases, name)
        about["vocab"] = dict(phrases.vocab)
    elif isinstance(phrases, FrozenPhrases):
        about["phrasegrams"] = phrases.phrasegrams
    try:
        data = json.dumps(about, ensure_ascii=False, allow_nan=False, indent=0).encode()
    except ValueError as error:  # a score that is no number, half a character
        raise FormatError(
            f"the phrases cannot be written as JSON ({to_one_line(error)}); remove what is wrong"
        ) from None
    with atomic_file(path) as file:
        file.write(data + b"\n")


def load_phrases(path: str | os.PathLike[str]) -> Phrases:
    """What `Phrases.save` wrote."""
    about = _read(path, "counts", "FrozenPhrases.load")
    try:
        phrases = Phrases(
            None,
            about["min_count"],
            about["threshold"],
            about["max_vocab_size"],
            about["delimiter"],
            scoring=about["scoring"],
            connector_words=_words(about["connector_words"]),
        )
        phrases.min_reduce = check_integer("min_reduce", about["min_reduce"])
        phrases.corpus_word_count = check_integer("corpus_word_count", about["corpus_word_count"], least=0)
        for name, count in about["vocab"].items():
            check_integer(f"the count of {name[:40]!r}", count, least=0, most=MAX_COUNT)
        phrases.table = StringTable.from_counts(about["vocab"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _wrong(path, error) from None
    return phrases


def load_frozen(path: str | os.PathLike[str]) -> FrozenPhrases:
    """What `FrozenPhrases.save` wrote."""
    about = _read(path, "frozen", "Phrases.load")
    frozen = FrozenPhrases.__new__(FrozenPhrases)
    try:
        check_float("min_count", about["min_count"])
        check_float("threshold", about["threshold"])
        frozen.min_count, frozen.threshold = about["min_count"], about["threshold"]
        frozen.delimiter = checked_delimiter(about["delimiter"])
        frozen.connector_words = frozenset(_words(about["connector_words"]))
        frozen.scoring = None if about["scoring"] is None else NAMED[about["scoring"]]
        frozen.phrasegrams = {
            name: check_float(f"the score of {name[:40]!r}", score) for name, score in about["phrasegrams"].items()
        }
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _wrong(path, error) from None
    return frozen


def _read(path: str | os.PathLike[str], kind: str, other: str) -> dict[str, Any]:
    from mumon.utils.strict_json import parse

    try:
        about = parse(Path(path).read_bytes())
    except OSError as error:
        raise FormatError(f"the phrases {os.fspath(path)} cannot be read ({error.strerror}); check the path") from None
    except ValueError as error:
        raise FormatError(
            f"{os.fspath(path)} is not JSON ({to_one_line(error)}); name a file that mumon wrote"
        ) from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise FormatError(f"{os.fspath(path)} holds no phrases; name a file that mumon wrote")
    if about.get("version") != VERSION:
        version = to_one_line(about.get("version"), 20)
        raise FormatError(f"{os.fspath(path)} has version {version} of the format, not {VERSION}; update mumon")
    if about.get("kind") != kind:
        raise FormatError(f"{os.fspath(path)} holds the other kind of phrases; read it with {other}")
    return about


def _words(words: Any) -> list[str]:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise OptionError("connector_words is no list of words")
    return words


def _wrong(path: str | os.PathLike[str], error: Exception) -> FormatError:
    reason = f"{error} is missing" if isinstance(error, KeyError) else to_one_line(error)
    return FormatError(f"{os.fspath(path)} is damaged ({reason}); learn the phrases again")
