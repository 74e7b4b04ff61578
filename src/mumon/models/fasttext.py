"""gensim.models.fasttext: the model with subwords, its vectors, and fastText's own files."""

from __future__ import annotations

import codecs
import os

import numpy as np
from numpy.typing import NDArray

from mumon.corpus.subwords import Ngrams, encode_word
from mumon.errors import OptionError
from mumon.fasttext import FastText
from mumon.vectors.fasttext_vectors import FastTextVectors as FastTextKeyedVectors

__all__ = [
    "FastText",
    "FastTextKeyedVectors",
    "ft_ngram_hashes",
    "load_facebook_model",
    "load_facebook_vectors",
    "save_facebook_model",
]


def load_facebook_model(path: str | os.PathLike[str], encoding: str = "utf-8") -> FastText:
    """Load fastText's own .bin, ready for questions and for more training.

    Parameters
    ----------
    path
        The file.
    encoding
        "utf-8", the only one, in which fastText hashes n-grams; other bytes become replacement characters.

    Returns
    -------
    FastText
    """
    _check_encoding(encoding)
    return FastText.from_facebook(path)


def load_facebook_vectors(path: str | os.PathLike[str], encoding: str = "utf-8") -> FastTextKeyedVectors:
    """Load the vectors and n-grams of fastText's own .bin, without what training needs.

    Parameters
    ----------
    path
        The file.
    encoding
        As for `load_facebook_model`.

    Returns
    -------
    FastTextVectors
    """
    _check_encoding(encoding)
    return FastTextKeyedVectors.load(path, "fasttext-bin")


def save_facebook_model(
    model: FastText,
    path: str | os.PathLike[str],
    encoding: str = "utf-8",
    lr_update_rate: int = 100,
    word_ngrams: int = 1,
) -> None:
    """Write fastText's own .bin.

    Parameters
    ----------
    model
        The model.
    path
        The file to write.
    encoding
        As for `load_facebook_model`.
    lr_update_rate
        Accepted because gensim has it; fastText's 100 is written, which is how often its threads report.
    word_ngrams
        1, as for `FastText`.
    """
    _check_encoding(encoding)
    if word_ngrams != 1:
        raise OptionError(f"word_ngrams is {word_ngrams}; n-grams of words are not offered, so choose 1")
    model.save_facebook_model(path)


def ft_ngram_hashes(word: str, minn: int, maxn: int, num_buckets: int) -> NDArray[np.int64]:
    """Return the buckets of a word's n-grams.

    Parameters
    ----------
    word
        Any word.
    minn, maxn
        The least and greatest length of n-grams.
    num_buckets
        How many buckets there are.

    Returns
    -------
    array of int
        In the order of their length; gensim's are in the order of their place.

    >>> ft_ngram_hashes("ab", 3, 3, 5).tolist()
    [3, 1]
    """
    return Ngrams(minn, maxn, num_buckets).find([encode_word(word)])[0]


def _check_encoding(encoding: str) -> None:
    """Refuse other encodings than UTF-8."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError:
        name = None
    if name != "utf-8":
        raise OptionError(f"encoding is {encoding!r}; words of fastText's files are UTF-8, so leave it out")
