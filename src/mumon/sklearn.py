"""The public name of `mumon.integrations.sklearn`."""

from mumon.integrations.sklearn import Word2VecVectorizer

__all__ = ["Word2VecVectorizer"]
