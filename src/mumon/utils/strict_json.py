"""JSON from files that anyone may have written."""

from __future__ import annotations

import json
import re
from typing import Any

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse(data: bytes) -> Any:
    """What JSON text holds; ValueError with a short reason for whatever is wrong with it.

    Python's own reader takes NaN and Infinity, which no JSON has, and halves of characters, which no file can hold; and
    where lists lie too deep in lists it raises RecursionError.

    >>> parse(b'{"a": [1, NaN]}')
    Traceback (most recent call last):
    ValueError: NaN is no number of JSON
    """
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_refuse)
        if SURROGATE.search(text):  # two halves may still be one character
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")
