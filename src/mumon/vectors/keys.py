"""Keys, which name rows: all strings or all integers; and attributes that gensim 4 renamed."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mumon.errors import FormatError, MissingWordError, OptionError

Key: TypeAlias = "str | int | np.integer[Any]"
Keys: TypeAlias = "Sequence[str] | Sequence[int] | NDArray[Any]"
Item: TypeAlias = "Key | NDArray[Any] | tuple[Key | NDArray[Any], float]"
Items: TypeAlias = "Item | Sequence[Item] | None"
Ranking: TypeAlias = list[tuple[Any, float]]  # (key, score); a key is a str or an int

SUGGESTION_WORDS = 20_000  # frequent words that a misspelt one is compared with
KEY_TYPES = (str, int, np.integer)
ONE_KIND_HINT = "give all of them as strings (str()), or all as integers"

RENAMED_ATTRIBUTES = {  # names of gensim 3 and before, and what to use now
    "vocab": "key_to_index (word to row), and get_vecattr(word, 'count')",
    "index2word": "index_to_key",
    "index2entity": "index_to_key",
    "syn0": "vectors",
    "syn0norm": "get_normed_vectors()",
    "vectors_norm": "get_normed_vectors()",
    "syn0_lockf": "vectors_lockf",
    "add": "add_vectors",
    "accuracy": "evaluate_word_analogies",
    "get_keras_embedding": "vectors, the weights of an Embedding layer",
    "similarity_matrix": "get_normed_vectors(), whose product with itself transposed has every cosine",
}


class UnknownKeyError(MissingWordError):
    """An unknown key. A similar one is looked for only when the message is read, so that catching many costs little."""

    def __init__(self, key: Key, index_to_key: list[Any], key_to_index: dict[Any, int]) -> None:
        super().__init__(key)
        self._key, self._words, self._rows = key, index_to_key, key_to_index

    def __str__(self) -> str:
        key, many = self._key, len(self._words)
        if self._words and isinstance(self._words[0], int):
            hint = "the keys are integers" if isinstance(key, str) else "check the number"
            return f"{key!r} is neither one of the {many} keys nor a row; {hint}"
        if not isinstance(key, str):
            return f"row {key} is outside the {many} words of the vocabulary; count from 0"
        forms = key.lower(), key.title(), key.upper(), key.strip()
        near = next((form for form in forms if form in self._rows), None) or self._find_close_word(key)
        hint = "check the spelling" if near is None else f"did you mean {near!r}?"
        return f"{key!r} is not among the {many} words of the vocabulary; {hint}"

    def __reduce__(self) -> tuple[type[MissingWordError], tuple[str]]:
        return MissingWordError, (str(self),)  # without the words, when an error is sent to another process

    def _find_close_word(self, key: str) -> str | None:
        # one letter and the length first: comparing with every word would take seconds
        frequent = (word for word in self._words[:SUGGESTION_WORDS] if word)
        alike = [word for word in frequent if word[:1] == key[:1] and abs(len(word) - len(key)) <= 2]
        return next(iter(difflib.get_close_matches(key, alike[:2000], n=1, cutoff=0.75)), None)


class UnknownVecattrError(OptionError, MissingWordError):
    """An attribute of words that was never set; a KeyError as in gensim."""


class VecattrTypeError(OptionError, TypeError):
    """A value that an attribute of words cannot hold; a TypeError as in gensim."""


class UnsupportedError(OptionError, NotImplementedError):
    """A method that has no meaning for word vectors."""


def check_keys(keys: Iterable[Any]) -> list[Any]:
    """Return the keys as a list of str or a list of int; refuse a mixture, and other types.

    >>> check_keys(np.array([3, 1])), check_keys(("a", "b"))
    ([3, 1], ['a', 'b'])
    """
    listed: list[Any] = keys.tolist() if isinstance(keys, np.ndarray) else list(keys)
    kinds = set(map(type, listed))
    if kinds <= {str} or kinds == {int}:
        return listed
    for place, key in enumerate(listed, 1):
        if not isinstance(key, KEY_TYPES) or isinstance(key, bool):
            raise FormatError(f"key {place} of {len(listed)} is {key!r} ({type(key).__name__}); {ONE_KIND_HINT}")
    plain = [str(key) if isinstance(key, str) else int(key) for key in listed]
    check_one_kind(plain)
    return plain


def check_one_kind(keys: Sequence[Any], others: Sequence[Any] = ()) -> None:
    """Refuse keys of which some are integers and some strings: would 7 be a key, or a row number?"""
    first = next((key for key in (*others[:1], *keys[:1])), None)
    other = next((key for key in keys if isinstance(key, str) != isinstance(first, str)), None)
    if other is not None:
        raise FormatError(f"some keys are like {first!r} and others like {other!r}; {ONE_KIND_HINT}")


def to_list(items: Items) -> list[Any]:
    """Return a list of words and vectors: a single one becomes a list of one, and a matrix a list of its rows."""
    if items is None:
        return []
    if isinstance(items, KEY_TYPES) or (isinstance(items, np.ndarray) and items.ndim == 1):
        return [items]
    return list(items)  # type: ignore[arg-type]


def check_topn(topn: Any) -> int:
    """Return the number of answers wanted as an int; refuse anything but a whole number."""
    try:
        return operator.index(topn)
    except TypeError:
        raise OptionError(f"topn is {topn!r} where a whole number is needed; give one, like 10") from None


class RenamedAttribute:
    """A descriptor that raises AttributeError with the new name of an attribute."""

    def __init__(self, name: str) -> None:
        self._sentence = f"gensim 3's {name!r} was renamed in gensim 4; use {RENAMED_ATTRIBUTES[name]}"

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        raise AttributeError(self._sentence)

    def __set__(self, owner: object, value: object) -> None:
        raise AttributeError(self._sentence)
