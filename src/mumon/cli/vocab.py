"""`mumon vocab`: count the words of a corpus."""

from __future__ import annotations

from typing import Annotated

import typer

from mumon.cli import options


def vocab(
    corpus: options.Corpus,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Write to this file instead of the screen.", show_default=False)
    ] = None,
    min_count: options.MinCount = None,
    max_vocab: options.MaxVocab = None,
    unk: options.Unk = None,
    tokenize: options.Tokenize = None,
    lowercase: options.Lowercase = None,
    text_field: options.TextField = None,
    workers: options.Workers = None,
    quiet: options.Quiet = False,
) -> None:
    """Count the words of CORPUS: `word count` lines, most frequent first.

    Example: mumon vocab corpus.txt --min-count 10 -o words.txt
    """
    from mumon.corpus import TextOptions, corpus_from_files
    from mumon.corpus.vocabulary import Vocabulary
    from mumon.utils.threads import available_cores

    if output is not None:
        options.check_output(corpus, output)
        options.check_vocabulary_target(output)
    text = TextOptions(bool(tokenize), bool(lowercase), text_field)
    with options.reporter(quiet or output is None) as progress:
        encoded = corpus_from_files(corpus, text, workers=workers or available_cores(), progress=progress)
    counted = Vocabulary.from_corpus(
        encoded, min_count=5 if min_count is None else min_count, max_final_vocab=max_vocab, unk=unk
    )
    if output is None:
        for word, count in zip(counted.words, counted.counts, strict=True):
            print(word, count)
    else:
        counted.save(output)
        progress.note(f"wrote {output}: {len(counted):,} words")
