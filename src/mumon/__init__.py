"""mumon trains word vectors with the correct CBOW gradient.

>>> from mumon import Word2Vec
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mumon import models
    from mumon.checkpoints import Checkpoints
    from mumon.corpus import EncodedCorpus, TextOptions, corpus_from_files, corpus_from_sentences
    from mumon.errors import MumonError
    from mumon.model import Word2Vec
    from mumon.phrases import FrozenPhrases, Phrases
    from mumon.sentences import LineSentence, PathLineSentences, Text8Corpus
    from mumon.vectors import WordVectors
    from mumon.vectors import WordVectors as KeyedVectors
    from mumon.vocab import Vocabulary
    from mumon.walks import random_walks

__version__ = "0.1.0"

_HOMES = {
    "Checkpoints": "mumon.checkpoints",
    "EncodedCorpus": "mumon.corpus",
    "FrozenPhrases": "mumon.phrases",
    "KeyedVectors": "mumon.models.keyedvectors",
    "LineSentence": "mumon.sentences",
    "MumonError": "mumon.errors",
    "PathLineSentences": "mumon.sentences",
    "Phrases": "mumon.phrases",
    "Text8Corpus": "mumon.sentences",
    "TextOptions": "mumon.corpus",
    "Vocabulary": "mumon.vocab",
    "Word2Vec": "mumon.model",
    "WordVectors": "mumon.vectors",
    "corpus_from_files": "mumon.corpus",
    "corpus_from_sentences": "mumon.corpus",
    "random_walks": "mumon.walks",
}
__all__ = [
    "Checkpoints",
    "EncodedCorpus",
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
