"""JSON from files that anyone may have written."""

from __future__ import annotations

import json
import re
from typing import Any

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse(data: bytes) -> Any:
    """Read JSON text more strictly than Python does.

    Python's own reader accepts NaN and Infinity, which JSON does not have, and lone surrogates, which no file can hold;
    it raises RecursionError where lists are nested too deeply.

    Parameters
    ----------
    data
        UTF-8, with or without a byte order mark.

    Returns
    -------
    Any
        The value.

    Raises
    ------
    ValueError
        With a short reason, whatever is wrong.

    Examples
    --------
    >>> parse(b'{"a": [1, NaN]}')
    Traceback (most recent call last):
    ValueError: NaN is not a number of JSON
    """
    try:
        text = data.decode("utf-8-sig")
        value = json.loads(text, parse_constant=_refuse)
        if SURROGATE.search(text):  # two of them may still be one character
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")
