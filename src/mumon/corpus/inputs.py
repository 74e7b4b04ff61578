"""What users give as a corpus: a path, paths, sentences, or an encoding made before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mumon.corpus.encoded import EncodedCorpus, corpus_from_files, corpus_from_sentences
from mumon.corpus.sources import STDIN
from mumon.corpus.text import TextOptions
from mumon.errors import OptionError
from mumon.utils.progress import Progress

LONG_SENTENCES = 200  # more words than that on average are a sign that running text has no full stops
Sentences = str | os.PathLike[str] | Iterable[Iterable[Any]] | EncodedCorpus
Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def read_corpus(
    given: Any, files_only: bool, options: TextOptions, workers: int, progress: Progress
) -> tuple[EncodedCorpus, bool]:
    """Encode a corpus; whether it could be read only once comes along."""
    if isinstance(given, EncodedCorpus):
        return given, False
    files = find_paths(given, files_only, options)
    if files is None:
        corpus = corpus_from_sentences(given, progress=progress)
    else:
        corpus = corpus_from_files(files, options, workers=workers, progress=progress)
    for note in corpus.notes():
        progress.note(note)
    if options.tokenize and corpus.tokens > LONG_SENTENCES * corpus.sentences:
        progress.note(
            f"sentences have {corpus.tokens // corpus.sentences:,} words on average; if each line of the text is a "
            "sentence, leave out tokenize"
        )
    return corpus, isinstance(given, Iterator) or (files is not None and STDIN in files)


def choose_input(sentences: Any, corpus_file: Any) -> Any:
    """The one of two ways to name a corpus that was used."""
    if sentences is None and corpus_file is None:
        raise OptionError("there is nothing to read: give sentences (token lists) or corpus_file (paths)")
    if sentences is not None and corpus_file is not None:
        raise OptionError("give sentences or corpus_file, not both")
    return corpus_file if sentences is None else sentences


def find_paths(given: Any, certain: bool, options: TextOptions) -> list[str | os.PathLike[str]] | None:
    """The paths that a corpus argument names, or None if it is an iterable of sentences."""
    if isinstance(given, str | os.PathLike):
        return [given]
    if certain or (isinstance(given, list | tuple) and given and all(isinstance(item, Path) for item in given)):
        return list(given)
    if type(given).__module__ == "mumon.corpus.sentences" and options == TextOptions():
        files: list[str | os.PathLike[str]] | None = given.files  # of lines, which the encoder reads faster
        return files
    return None
