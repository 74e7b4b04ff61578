"""gensim.models.word2vec: the model and the corpora of lines."""

from mumon.model import Word2Vec
from mumon.sentences import BrownCorpus, LineSentence, PathLineSentences, Text8Corpus

__all__ = ["BrownCorpus", "LineSentence", "PathLineSentences", "Text8Corpus", "Word2Vec"]
