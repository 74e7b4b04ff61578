"""Where sentences come from, many at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus, corpus_from_files
from mumon.corpus.sentences import LineSentence, PathLineSentences, Text8Corpus
from mumon.errors import CorpusError
from mumon.phrases.table import Numbers
from mumon.utils.progress import Progress

BATCH_SENTENCES, BATCH_TOKENS = 4096, 1 << 18  # that are handled together, at most
Ids = npt.NDArray[np.int32]
Sentences = list[Sequence[str]]


def encode_source(source: Any, progress: Progress | None = None) -> EncodedCorpus | None:
    """Encode a path or a corpus class that knows its `files`; return None for any other iterable."""
    from mumon.utils.threads import available_cores

    if isinstance(source, EncodedCorpus):
        return source
    files = [source] if isinstance(source, str | os.PathLike) else None
    if type(source) in (LineSentence, PathLineSentences, Text8Corpus):  # in a user's class, `files` may mean anything
        files = source.files
    return None if files is None else corpus_from_files(files, workers=available_cores(), progress=progress)


def read_parts(corpus: EncodedCorpus) -> Iterator[tuple[Ids, Numbers]]:
    """Yield a corpus part by part: the ids of some sentences, and where each of these ends."""
    first = 0
    while first < corpus.sentences:
        begin = int(corpus.offsets[first])
        last = max(first + 1, int(np.searchsorted(corpus.offsets, begin + BATCH_TOKENS, side="right")) - 1)
        ends = np.array(corpus.offsets[first + 1 : last + 1]) - begin
        # A copy is writable: Numba would compile the kernels again for read-only arrays.
        yield np.array(corpus.read(begin, begin + int(ends[-1]))), ends
        first = last


def batch_sentences(sentences: Iterable[Iterable[str]], count: int = BATCH_SENTENCES) -> Iterator[Sentences]:
    """Yield lists of sentences: `count` of them in the first, then more and more."""
    batch: Sentences = []
    tokens = 0
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str | bytes):
            raise CorpusError(f"sentence {number} is a string, not a list of tokens; split it first (text.split())")
        batch.append(sentence if isinstance(sentence, list) else list(sentence))
        tokens += len(batch[-1])
        if len(batch) >= count or tokens >= BATCH_TOKENS:
            yield batch
            batch, tokens, count = [], 0, min(2 * count, BATCH_SENTENCES)
    if batch:
        yield batch


def find_ends(sentences: Sentences) -> Numbers:
    """Count the tokens up to the end of each sentence."""
    return np.cumsum(np.fromiter(map(len, sentences), np.int64, len(sentences)))
