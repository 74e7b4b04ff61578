"""gensim.models.fasttext: the model with subwords, its vectors, and fastText's own files."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from mumon.corpus.subwords import Ngrams, encode_word
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
        "utf-8", the encoding of all such files; words with other bytes are read with replacement characters.

    Returns
    -------
    FastText
    """
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
    encoding, lr_update_rate, word_ngrams
        Accepted because gensim has them; only their defaults are written.
    """
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
