"""gensim.models under mumon's name: change `gensim` to `mumon` in an import, and the rest of a program stays.

>>> from mumon.models import KeyedVectors, Phrases, Word2Vec
>>> from mumon.models.callbacks import CallbackAny2Vec
>>> from mumon.models.word2vec import LineSentence

`docs/compatibility.md` lists every public name of gensim's modules and what becomes of it here.
"""

from mumon.model import Word2Vec
from mumon.models import callbacks, keyedvectors, phrases, word2vec
from mumon.phrases import FrozenPhrases, Phrases
from mumon.vectors import WordVectors as KeyedVectors

__all__ = ["FrozenPhrases", "KeyedVectors", "Phrases", "Word2Vec", "callbacks", "keyedvectors", "phrases", "word2vec"]
