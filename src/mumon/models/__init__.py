"""gensim.models under mumon's name: change `gensim` to `mumon` in an import, and the rest of a program stays.

>>> from mumon.models import FastText, KeyedVectors, Phrases, Word2Vec
>>> from mumon.models.callbacks import CallbackAny2Vec
>>> from mumon.models.word2vec import LineSentence

`docs/compatibility.md` lists every public name of gensim's modules and what it is here.
"""

from typing import Any

from mumon.fasttext import FastText
from mumon.models import callbacks, fasttext, keyedvectors, phrases, word2vec
from mumon.phrases import FrozenPhrases, Phrases
from mumon.vectors.word_vectors import WordVectors as KeyedVectors
from mumon.word2vec import Word2Vec

__all__ = [
    "FastText",
    "FrozenPhrases",
    "KeyedVectors",
    "Phrases",
    "Word2Vec",
    "callbacks",
    "fasttext",
    "keyedvectors",
    "phrases",
    "word2vec",
]


def __getattr__(name: str) -> Any:
    """Say, for a name that only gensim has, where to import it from."""
    if name.startswith("_"):
        raise AttributeError(f"module 'mumon.models' has no attribute {name!r}")
    raise AttributeError(
        f"mumon.models has Word2Vec, FastText, KeyedVectors and Phrases; import {name} from gensim.models"
    )
