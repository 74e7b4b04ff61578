"""gensim.models.keyedvectors: the vectors, under all names that gensim has had for them."""

from mumon.vectors.word_vectors import WordVectors as KeyedVectors

Word2VecKeyedVectors = EuclideanKeyedVectors = KeyedVectors
load_word2vec_format = KeyedVectors.load_word2vec_format

__all__ = ["EuclideanKeyedVectors", "KeyedVectors", "Word2VecKeyedVectors", "load_word2vec_format"]
