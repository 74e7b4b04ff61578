"""A digest of a corpus: of the text itself, so that a copy or a touched file is still the same corpus."""

from __future__ import annotations

import hashlib

from mumon.corpus.encoded import EncodedCorpus

AT_ONCE = 1 << 20


def corpus_digest(corpus: EncodedCorpus) -> str:
    """Equal for equal words in equal sentences, however they were stored.

    >>> from mumon.corpus import corpus_from_sentences
    >>> one, same, other = (corpus_from_sentences(s) for s in ([["a", "b"]], [["a", "b"]], [["a"], ["b"]]))
    >>> corpus_digest(one) == corpus_digest(same), corpus_digest(one) == corpus_digest(other)
    (True, False)
    """
    if corpus.known_digest:
        return corpus.known_digest
    digest = hashlib.blake2b(digest_size=16)
    for first in range(0, corpus.tokens, AT_ONCE):
        digest.update(corpus.read(first, min(first + AT_ONCE, corpus.tokens)).tobytes())
    for first in range(0, len(corpus.offsets), AT_ONCE):
        digest.update(corpus.offsets[first : first + AT_ONCE].tobytes())
    for first in range(0, len(corpus.words), AT_ONCE):
        digest.update(b"\n".join(corpus.words[first : first + AT_ONCE].to_pylist()) + b"\n")
    return digest.hexdigest()
