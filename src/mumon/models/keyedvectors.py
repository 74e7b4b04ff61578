"""gensim.models.keyedvectors: the vectors, under every name that gensim has used for them."""

from mumon.vectors.word_vectors import WordVectors as KeyedVectors

Word2VecKeyedVectors = EuclideanKeyedVectors = KeyedVectors
load_word2vec_format = KeyedVectors.load_word2vec_format

__all__ = ["EuclideanKeyedVectors", "KeyedVectors", "Word2VecKeyedVectors", "load_word2vec_format"]
