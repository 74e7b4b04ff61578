"""Turning pieces of raw input into text with one sentence per line: UTF-8 repair, running text, JSON lines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from mumon.errors import CorpusError

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

# A word is letters, digits and marks, with inner apostrophes and hyphens: don't, rock-'n'-roll's parts, Müller, 3.
WORD = r"\w+(?:['’‑-]\w+)*"
# A sentence ends at a terminator before white space that no lower-case letter follows ("e.g. this" goes on), at the
# full-width terminators, which need no space, or at an empty line.
SENTENCE_END = r"[.!?…]+[\"'”’)\]]*(?=\s+[^\sa-zß-öø-ÿ]|\s*\Z)|[。！？]+|\n[^\S\n]*\n"
RUNNING_TEXT = re.compile(f"({WORD})|{SENTENCE_END}")


@dataclass(frozen=True)
class TextOptions:
    """How raw text becomes sentences of words.

    Plain text has one sentence per line, words between white space. `tokenize` is for running text. JSON lines and
    Parquet hold their text in the field or column `text_field`.
    """

    tokenize: bool = False
    lowercase: bool = False
    text_field: str = "text"


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
    data = _json_text(piece, options.text_field) if piece.json_lines else piece.data
    replaced = 0
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        replaced = text.count(REPLACEMENT) - data.count(REPLACEMENT.encode())
        data = text.encode()
    if options.tokenize:  # before lower case, which hides where sentences begin
        text = running_text(text)
    if options.lowercase:
        text = text.lower()
    if options.tokenize or options.lowercase:
        data = text.encode()
    return (data + b"\n" if piece.last else data), replaced  # a sentence never runs on into the next file


def running_text(text: str) -> str:
    """Sentences of words, one per line.

    >>> running_text("Mr Smith doesn't care, e.g. about this.  Do you?\\nYes").split("\\n")
    ["Mr Smith doesn't care e g about this", 'Do you', 'Yes ']
    """
    tokens = RUNNING_TEXT.findall(text)
    return " ".join(token or "\n" for token in tokens).replace(" \n ", "\n").lstrip() + " "


def _json_text(piece: Piece, field: str) -> bytes:
    texts = []
    for number, line in enumerate(piece.data.split(b"\n"), piece.first_line):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:  # UnicodeDecodeError included
            raise CorpusError(f"{piece.origin} line {number} is not valid JSON ({error})") from None
        if not isinstance(record, dict) or field not in record:
            known = ", ".join(list(record)[:8]) if isinstance(record, dict) else type(record).__name__
            raise CorpusError(
                f"{piece.origin} line {number} has no field {field!r} but {known}; name the field with --text-field"
            )
        if record[field] is not None:
            if not isinstance(record[field], str):
                raise CorpusError(f"{piece.origin} line {number}: field {field!r} is not text")
            texts.append(record[field])
    # Lone surrogates are legal in JSON, not in UTF-8: let the repair above count and replace them.
    return ("\n\n".join(texts) + "\n\n").encode("utf-8", "surrogatepass")
