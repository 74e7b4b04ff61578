"""Where sentences come from, a good many at a time."""

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

MOST_SENTENCES, MOST_TOKENS = 4096, 1 << 18  # that are taken together
Ids = npt.NDArray[np.int32]
Sentences = list[Sequence[str]]


def as_encoded(source: Any, progress: Progress | None = None) -> EncodedCorpus | None:
    """The encoding of a path or of a corpus class that knows its `files`; None of any other iterable."""
    from mumon.utils.threads import available_cores

    if isinstance(source, EncodedCorpus):
        return source
    files = [source] if isinstance(source, str | os.PathLike) else None
    if type(source) in (LineSentence, PathLineSentences, Text8Corpus):  # of a user's class, `files` may mean anything
        files = source.files
    return None if files is None else corpus_from_files(files, workers=available_cores(), progress=progress)


def encoded_parts(corpus: EncodedCorpus) -> Iterator[tuple[Ids, Numbers]]:
    """The ids of some sentences after the others, and where each of these ends."""
    first = 0
    while first < corpus.sentences:
        begin = int(corpus.offsets[first])
        last = max(first + 1, int(np.searchsorted(corpus.offsets, begin + MOST_TOKENS, side="right")) - 1)
        ends = np.array(corpus.offsets[first + 1 : last + 1]) - begin
        # A copy can be written to: Numba would compile the kernels again for arrays that cannot.
        yield np.array(corpus.read(begin, begin + int(ends[-1]))), ends
        first = last


def taken_together(sentences: Iterable[Iterable[str]], count: int = MOST_SENTENCES) -> Iterator[Sentences]:
    """Lists of sentences, first of `count` of them, then of more and more."""
    held: Sentences = []
    tokens = 0
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str | bytes):
            raise CorpusError(f"sentence {number} is a string, not a list of tokens; split it first (text.split())")
        held.append(sentence if isinstance(sentence, list) else list(sentence))
        tokens += len(held[-1])
        if len(held) >= count or tokens >= MOST_TOKENS:
            yield held
            held, tokens, count = [], 0, min(2 * count, MOST_SENTENCES)
    if held:
        yield held


def ends_of(sentences: Sentences) -> Numbers:
    """How many tokens there are up to the end of each sentence."""
    return np.cumsum(np.fromiter(map(len, sentences), np.int64, len(sentences)))
