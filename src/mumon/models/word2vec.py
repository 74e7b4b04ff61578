"""gensim.models.word2vec: the model and the corpora of lines."""

from mumon.corpus.encode import MAX_SENTENCE as MAX_WORDS_IN_BATCH
from mumon.corpus.sentences import BrownCorpus, LineSentence, PathLineSentences, Text8Corpus
from mumon.word2vec import Word2Vec

FAST_VERSION = CORPUSFILE_VERSION = 1  # programs check that these are above -1: compiled, and able to read files

__all__ = [
    "CORPUSFILE_VERSION",
    "FAST_VERSION",
    "MAX_WORDS_IN_BATCH",
    "BrownCorpus",
    "LineSentence",
    "PathLineSentences",
    "Text8Corpus",
    "Word2Vec",
]
