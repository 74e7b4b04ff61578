"""Documents in the shapes that scikit-learn's users have them in, as lists of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from mumon.errors import CorpusError, OptionError


def word_splitter(pattern: Any) -> Callable[[str], list[str]]:
    """What finds the words of a text by a regular expression, or its one group.

    >>> word_splitter(r"\\b\\w\\w+\\b")("I saw a cat")
    ['saw', 'cat']
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise OptionError(f"token_pattern is no regular expression ({error}); correct it") from None
    if compiled.groups > 1:
        raise OptionError(f"token_pattern has {compiled.groups} groups; it must have at most 1")
    return compiled.findall


def token_lists(documents: Iterable[Any], tokens_of: Callable[[str], Iterable[str]]) -> list[list[str]]:
    """Documents as lists of words: strings by way of `tokens_of`, lists of words as they are."""
    lists: list[list[str]] = []
    for number, document in enumerate(documents):
        if isinstance(document, bytes):
            document = document.decode("utf-8", "replace")
        is_text = isinstance(document, str)
        if not is_text and not (isinstance(document, Iterable) and not isinstance(document, Mapping)):
            kind = type(document).__name__
            raise CorpusError(f"document {number} is a {kind}, not text or a list of words; fill it in or drop it")
        tokens = list(tokens_of(document) if is_text else document)
        for token in tokens:
            if not isinstance(token, str):
                raise CorpusError(
                    f"document {number} holds {token!r}, a {type(token).__name__} and no word; convert it with str()"
                )
        lists.append(tokens)
    return lists


def column_of(X: Any) -> Iterable[Any]:
    """The documents, one after the other: a table of one column is that column."""
    if isinstance(X, str | bytes):
        raise CorpusError("a single string was given where a list of documents is wanted; put it into a list")
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        if len(shape) != 2 or shape[1] != 1 or hasattr(X, "tocsr"):
            raise CorpusError(f"a table of shape {shape} is no list of documents; give one column of text")
        return np.asarray(X, object)[:, 0]
    if not isinstance(X, Iterable):
        raise CorpusError(f"a {type(X).__name__} is no list of documents; give an iterable of strings or token lists")
    return X
