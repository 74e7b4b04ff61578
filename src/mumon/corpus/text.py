"""Turning pieces of raw input into text with one sentence per line: UTF-8 repair, running text, JSON lines.

All but the decoding of JSON runs without the GIL, so that threads share the work.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from mumon.errors import CorpusError, list_names

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
DEFAULT_FIELD = "text"
DOCUMENT_END = b"\n\n"  # ends a sentence of running text, too


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
    data, replaced = _repair_utf8(piece.data)
    if piece.json_lines:
        data = _read_json_lines(data.decode(), piece, options.text_field or DEFAULT_FIELD)
        data, lone_surrogates = _repair_utf8(data)  # allowed in JSON, not in UTF-8
        replaced += lone_surrogates
    if options.tokenize or options.lowercase:
        from mumon.corpus.characters import lower_utf8, split_utf8

        data = split_utf8(data) if options.tokenize else data  # before lower case, which hides where sentences begin
        data = lower_utf8(data) if options.lowercase else data
    return _end_sentence(piece, data), replaced


def _end_sentence(piece: Piece, data: bytes) -> bytes:
    """End the last sentence of a file, so that it does not continue in the next one."""
    return data + b"\n" if piece.last else data


def _repair_utf8(data: bytes) -> tuple[bytes, int]:
    """Replace what is not UTF-8; return how often. Decoding, which holds the GIL, is left to text that needs it."""
    import numpy as np

    from mumon.kernels.bytewise import is_utf8

    if is_utf8(np.frombuffer(data, np.uint8)):
        return data, 0
    text = data.decode("utf-8", "replace")
    return text.encode(), text.count(REPLACEMENT) - data.count(REPLACEMENT.encode())


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
