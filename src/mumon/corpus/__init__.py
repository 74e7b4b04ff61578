"""Text, sequences and graphs in, token ids out.

The corpus is read once. `sources` finds and reads files (`filesystem` those of other machines, `parquet` Parquet),
`text` turns them into sentences of words (`running_text` says which these are, `characters` finds them fast), `encode`
and `word_table` number the words, and `encoded` is the result on disk, kept in `cache`: words by rank, ids, and
sentence offsets. `vocabulary` chooses which words get a row of a model. `inputs` accepts whatever a user passes as a
corpus, `sentences` has gensim's readers, `walks` makes sentences from graphs, `shards` cuts files for a cluster, and
`subwords` are fastText's character n-grams.
"""

from mumon.corpus.encoded import EncodedCorpus, corpus_from_files, corpus_from_sentences
from mumon.corpus.text import TextOptions

__all__ = ["EncodedCorpus", "TextOptions", "corpus_from_files", "corpus_from_sentences"]
