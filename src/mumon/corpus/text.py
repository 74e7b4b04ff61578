"""Turning pieces of raw input into text with one sentence per line: UTF-8 repair, running text, JSON lines."""

from __future__ import annotations

import functools
import json
import re
import sys
import unicodedata
from dataclasses import dataclass

from mumon.errors import CorpusError, list_names

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
DEFAULT_FIELD = "text"
DOCUMENT_END = b"\n\n"  # ends a sentence of running text, too

# A word is letters, digits and marks, with inner apostrophes and hyphens: don't, rock-solid, Müller, 3. This is the
# pattern of regular expressions whose \w includes combining marks; Python's does not, see `_build_pattern`.
WORD = r"\w+(?:['’‑-]\w+)*"
# A sentence ends at a terminator before white space that no lower-case letter follows ("e.g. this" goes on), at the
# full-width terminators and dandas, which need no space, or at an empty line. Looking behind spares a run of full stops
# from being tried from each of them: a table of contents of n dots would take n² steps.
SENTENCE_END = r"(?<![.!?…])[.!?…]+[\"'”’)\]]*(?=\s+[^\sa-zß-öø-ÿ]|\s*\Z)|[。！？।॥]+|\n[^\S\n]*\n"
JOINERS = "\u200c\u200d"  # inside words of Persian and of Indic scripts


@functools.cache
def _build_pattern() -> re.Pattern[str]:
    """Words (group 1) and sentence ends; made on first use, for it looks at every character there is."""
    marks = "".join(chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M")
    word = WORD.replace(r"\w", rf"[\w{JOINERS}{re.escape(marks)}]")
    return re.compile(f"({word})|{SENTENCE_END}")


@dataclass(frozen=True)
class TextOptions:
    """How raw text becomes sentences of words.

    Plain text has one sentence per line, words between white space. `tokenize` is for running text. Parquet and JSON
    lines (.jsonl, .ndjson, .json) hold their text in the column or field `text_field`, by default "text"; naming it
    makes JSON lines of files with any other name, and of standard input.
    """

    tokenize: bool = False
    lowercase: bool = False
    text_field: str | None = None


@dataclass(frozen=True)
class Piece:
    """Some consecutive bytes of one input, cut between words."""

    data: bytes
    origin: str
    json_lines: bool = False
    first_line: int = 1
    last: bool = False


def prepare(piece: Piece, options: TextOptions) -> tuple[bytes, int]:
    """One sentence per line, words between white space; and how many characters had to be replaced."""
    data, replaced = piece.data, 0
    if not (piece.json_lines or options.tokenize or options.lowercase) and _is_utf8(data):
        return _ended(piece, data), 0  # nothing here needs characters, and decoding would keep other threads waiting
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text, replaced = _repaired(data)
        data = text.encode()
    if piece.json_lines:
        data = _json_text(text, piece, options.text_field or DEFAULT_FIELD)
        text, lone_surrogates = _repaired(data)  # legal in JSON, not in UTF-8
        data, replaced = text.encode(), replaced + lone_surrogates
    if options.tokenize:  # before lower case, which hides where sentences begin
        text = split_sentences(text)
    if options.lowercase:
        text = text.lower()
    if options.tokenize or options.lowercase:
        data = text.encode()
    return _ended(piece, data), replaced


def _is_utf8(data: bytes) -> bool:
    import numpy as np

    from mumon.kernels.bytewise import is_utf8

    return bool(is_utf8(np.frombuffer(data, np.uint8)))


def _ended(piece: Piece, data: bytes) -> bytes:
    """A sentence never runs on into the next file."""
    return data + b"\n" if piece.last else data


def _repaired(data: bytes) -> tuple[str, int]:
    text = data.decode("utf-8", "replace")
    return text, text.count(REPLACEMENT) - data.count(REPLACEMENT.encode())


def split_sentences(text: str) -> str:
    """Sentences of words, one per line.

    >>> split_sentences("Mr Smith doesn't care, e.g. about this.  Do you?\\nYes").split("\\n")
    ["Mr Smith doesn't care e g about this", 'Do you', 'Yes ']
    """
    tokens = _build_pattern().findall(text)
    return " ".join(token or "\n" for token in tokens).replace(" \n ", "\n") + " "


def _json_text(text: str, piece: Piece, field: str) -> bytes:
    texts = []
    for number, line in enumerate(text.split("\n"), piece.first_line):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except RecursionError:
            raise CorpusError(f"{piece.origin} line {number} is JSON nested too deeply; leave it out") from None
        except ValueError as error:
            reason = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
            raise CorpusError(f"{piece.origin} line {number} is not valid JSON ({reason})") from None
        if not isinstance(record, dict):
            raise CorpusError(f"{piece.origin} line {number} is a JSON {type(record).__name__}; each must be an object")
        if field not in record:
            raise CorpusError(
                f"{piece.origin} line {number} has no field {field!r} but {list_names(record)}; name the field with "
                "--text-field"
            )
        if record[field] is not None:
            if not isinstance(record[field], str):
                kind = type(record[field]).__name__
                raise CorpusError(
                    f"{piece.origin} line {number}: field {field!r} holds a {kind}, not text; name another"
                )
            texts.append(record[field])
    return DOCUMENT_END.join([*(document.encode("utf-8", "surrogatepass") for document in texts), b""])
