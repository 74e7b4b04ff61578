"""mumon trains word vectors with the correct CBOW gradient.

>>> from mumon import Word2Vec
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mumon import models
    from mumon.corpus import EncodedCorpus, TextOptions, corpus_from_files, corpus_from_sentences
    from mumon.corpus.sentences import LineSentence, PathLineSentences, Text8Corpus
    from mumon.corpus.vocabulary import Vocabulary
    from mumon.corpus.walks import random_walks
    from mumon.errors import MumonError
    from mumon.fasttext import FastText
    from mumon.phrases import FrozenPhrases, Phrases
    from mumon.training.checkpoints import Checkpoints
    from mumon.vectors.word_vectors import WordVectors
    from mumon.vectors.word_vectors import WordVectors as KeyedVectors
    from mumon.word2vec import Word2Vec

__version__ = "0.1.0"

_HOMES = {
    "Checkpoints": "mumon.training.checkpoints",
    "EncodedCorpus": "mumon.corpus",
    "FastText": "mumon.fasttext",
    "FrozenPhrases": "mumon.phrases",
    "KeyedVectors": "mumon.models.keyedvectors",
    "LineSentence": "mumon.corpus.sentences",
    "MumonError": "mumon.errors",
    "PathLineSentences": "mumon.corpus.sentences",
    "Phrases": "mumon.phrases",
    "Text8Corpus": "mumon.corpus.sentences",
    "TextOptions": "mumon.corpus",
    "Vocabulary": "mumon.corpus.vocabulary",
    "Word2Vec": "mumon.word2vec",
    "WordVectors": "mumon.vectors.word_vectors",
    "corpus_from_files": "mumon.corpus",
    "corpus_from_sentences": "mumon.corpus",
    "random_walks": "mumon.corpus.walks",
}
__all__ = [
    "Checkpoints",
    "EncodedCorpus",
    "FastText",
    "FrozenPhrases",
    "KeyedVectors",
    "LineSentence",
    "MumonError",
    "PathLineSentences",
    "Phrases",
    "Text8Corpus",
    "TextOptions",
    "Vocabulary",
    "Word2Vec",
    "WordVectors",
    "corpus_from_files",
    "corpus_from_sentences",
    "models",
    "random_walks",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import mumon` stays instant."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name == "models":  # so that `import mumon as gensim` is all it takes
        return importlib.import_module("mumon.models")
    raise AttributeError(f"module 'mumon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
