"""Text in, token ids out: reading, tokenising and the encoded cache."""

from mumon.corpus.encoded import EncodedCorpus, corpus_from_files, corpus_from_sentences
from mumon.corpus.text import TextOptions

__all__ = ["EncodedCorpus", "TextOptions", "corpus_from_files", "corpus_from_sentences"]
