"""Turning pieces of raw input into text with one sentence per line: UTF-8 repair, running text, JSON lines.

Running text (`tokenize`) is split by regular expressions. Words are runs of letters, digits and marks with inner
apostrophes and hyphens. Sentences end at a full stop, question mark or the like that no lower-case letter follows, at
an empty line, or with the file; a single newline is a blank. This step holds the GIL and reads about 10 MB/s.
"""

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
# A sentence ends at a terminator before white space that no lower-case letter follows ("e.g. this" continues), at the
# full-width terminators and dandas, which need no space, or at an empty line. The lookbehind keeps a run of full stops
# from being tried from each of them: a table of contents of n dots would take n² steps.
SENTENCE_END = r"(?<![.!?…])[.!?…]+[\"'”’)\]]*(?=\s+[^\sa-zß-öø-ÿ]|\s*\Z)|[。！？।॥]+|\n[^\S\n]*\n"
JOINERS = "\u200c\u200d"  # inside words of Persian and of Indic scripts


@functools.cache
def _build_pattern() -> re.Pattern[str]:
    """Build the pattern of words (group 1) and sentence ends, on first use: it looks at every character of Unicode."""
    marks = "".join(chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M")
    word = WORD.replace(r"\w", rf"[\w{JOINERS}{re.escape(marks)}]")
    return re.compile(f"({word})|{SENTENCE_END}")


@dataclass(frozen=True)
class TextOptions:
    """How raw text becomes sentences of words. Plain text has one sentence per line, words between white space.

    Parameters
    ----------
    tokenize
        Split running text into sentences and words.
    lowercase
        Write all words in lower case.
    text_field
        The column or field of Parquet and JSON lines (.jsonl, .ndjson, .json) that has the text, by default "text".
        If it is named, files with any other name, and standard input, are read as JSON lines, too.
    """

    tokenize: bool = False
    lowercase: bool = False
    text_field: str | None = None


@dataclass(frozen=True)
class Piece:
    """Consecutive bytes of one input, cut between words."""

    data: bytes
    origin: str
    json_lines: bool = False
    first_line: int = 1
    last: bool = False


def prepare(piece: Piece, options: TextOptions) -> tuple[bytes, int]:
    """Turn a piece into UTF-8 with one sentence per line and words between white space.

    Parameters
    ----------
    piece
        Bytes of an input.
    options
        How to read them.

    Returns
    -------
    tuple of bytes and int
        The text, and the number of characters that were not UTF-8 and had to be replaced.
    """
    data, replaced = piece.data, 0
    if not (piece.json_lines or options.tokenize or options.lowercase) and _is_utf8(data):
        return _end_sentence(piece, data), 0  # nothing here needs characters, and decoding would hold the GIL
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text, replaced = _repair_utf8(data)
        data = text.encode()
    if piece.json_lines:
        data = _read_json_lines(text, piece, options.text_field or DEFAULT_FIELD)
        text, lone_surrogates = _repair_utf8(data)  # allowed in JSON, not in UTF-8
        data, replaced = text.encode(), replaced + lone_surrogates
    if options.tokenize:  # before lower case, which hides where sentences begin
        text = split_sentences(text)
    if options.lowercase:
        text = text.lower()
    if options.tokenize or options.lowercase:
        data = text.encode()
    return _end_sentence(piece, data), replaced


def _is_utf8(data: bytes) -> bool:
    import numpy as np

    from mumon.kernels.bytewise import is_utf8

    return bool(is_utf8(np.frombuffer(data, np.uint8)))


def _end_sentence(piece: Piece, data: bytes) -> bytes:
    """End the last sentence of a file, so that it does not continue in the next one."""
    return data + b"\n" if piece.last else data


def _repair_utf8(data: bytes) -> tuple[str, int]:
    text = data.decode("utf-8", "replace")
    return text, text.count(REPLACEMENT) - data.count(REPLACEMENT.encode())


def split_sentences(text: str) -> str:
    """Split running text into sentences, one per line, of words between spaces.

    >>> split_sentences("Mr Smith doesn't care, e.g. about this.  Do you?\\nYes").split("\\n")
    ["Mr Smith doesn't care e g about this", 'Do you', 'Yes ']
    """
    tokens = _build_pattern().findall(text)
    return " ".join(token or "\n" for token in tokens).replace(" \n ", "\n") + " "


def _read_json_lines(text: str, piece: Piece, field: str) -> bytes:
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
