"""What users may pass as a corpus: a path, paths, sentences, or an encoded corpus."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mumon.corpus.encoded import EncodedCorpus, corpus_from_files, corpus_from_sentences
from mumon.corpus.sentences import LineSentence, PathLineSentences, Text8Corpus
from mumon.corpus.sources import STDIN
from mumon.corpus.text import TextOptions
from mumon.errors import OptionError
from mumon.utils.progress import Progress

LONG_SENTENCES = 200  # more words than this on average suggest that running text has no full stops
LINE_READERS = (LineSentence, PathLineSentences, Text8Corpus)
Sentences = str | os.PathLike[str] | Iterable[Iterable[Any]] | EncodedCorpus
Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read_corpus(
    source: Any, files_only: bool, options: TextOptions, workers: int, progress: Progress
) -> tuple[EncodedCorpus, bool]:
    """Encode a corpus, whatever the user passed as one.

    Parameters
    ----------
    source
        A path, paths, sentences, or an encoded corpus, which is returned as it is.
    files_only
        Whether a list can only be of paths, as with `corpus_file`.
    options
        How text is read.
    workers
        The number of threads.
    progress
        Receives the progress, and notes about the text.

    Returns
    -------
    tuple of EncodedCorpus and bool
        The corpus, and whether the source could be read only once.
    """
    if isinstance(source, EncodedCorpus):
        return source, False
    files = find_paths(source, files_only, options)
    if files is None:
        corpus = corpus_from_sentences(source, progress=progress)
    else:
        corpus = corpus_from_files(files, options, workers=workers, progress=progress)
    for note in corpus.notes():
        progress.note(note)
    if options.tokenize and corpus.tokens > LONG_SENTENCES * corpus.sentences:
        progress.note(
            f"sentences have {corpus.tokens // corpus.sentences:,} words on average; if each line of the text is a "
            "sentence, leave out tokenize"
        )
    return corpus, isinstance(source, Iterator) or (files is not None and STDIN in files)


def choose_input(sentences: Any, corpus_file: Any) -> Any:
    """Return whichever of two arguments names the corpus; raise an OptionError unless it is exactly one."""
    if sentences is None and corpus_file is None:
        raise OptionError("there is nothing to read: give sentences (token lists) or corpus_file (paths)")
    if sentences is not None and corpus_file is not None:
        raise OptionError("give sentences or corpus_file, not both")
    return corpus_file if sentences is None else sentences


def find_paths(source: Any, files_only: bool, options: TextOptions) -> list[str | os.PathLike[str]] | None:
    """Return the paths that a corpus argument names.

    Parameters
    ----------
    source, files_only, options
        As for `read_corpus`.

    Returns
    -------
    list or None
        None if the argument is an iterable of sentences.
    """
    if isinstance(source, str | os.PathLike):
        return [source]
    if files_only or (isinstance(source, list | tuple) and source and all(isinstance(item, Path) for item in source)):
        return list(source)
    if type(source) in LINE_READERS and options == TextOptions():  # not a subclass, which may change the sentences
        files: list[str | os.PathLike[str]] | None = source.files  # the encoder reads files faster
        return files
    return None
