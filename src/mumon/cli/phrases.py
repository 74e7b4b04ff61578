"""`mumon phrases`: find the phrases of a corpus, and write it with its phrases joined."""

from __future__ import annotations

import json as json_
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from mumon.cli import options

if TYPE_CHECKING:
    from mumon.corpus import EncodedCorpus
    from mumon.phrases import FrozenPhrases
    from mumon.utils.progress import Progress


class Scoring(str, Enum):
    """How a pair is scored."""

    default = "default"
    npmi = "npmi"


class Connectors(str, Enum):
    """The words that may be inside a phrase."""

    english = "english"
    none = "none"


def phrases(
    corpus: options.Corpus,
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Write the phrases and their scores here.", show_default=False)
    ] = None,
    apply: Annotated[
        str | None,
        typer.Option(help="Write the text here, one sentence per line, with its phrases joined.", show_default=False),
    ] = None,
    min_count: Annotated[int, typer.Option(min=1, help="Ignore words and pairs that occur less often.")] = 5,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="A pair that scores more is a phrase (default: 10; npmi, from -1 to 1: 0.5).", show_default=False
        ),
    ] = None,
    scoring: Annotated[Scoring, typer.Option(help="How pairs are scored.")] = Scoring.default,
    connector_words: Annotated[
        Connectors, typer.Option(help="Words that phrases may have inside: of, the, and …")
    ] = Connectors.none,
    top: Annotated[int, typer.Option(min=0, help="The number of phrases to show, best first.")] = 20,
    tokenize: options.Tokenize = None,
    lowercase: options.Lowercase = None,
    text_field: options.TextField = None,
    workers: options.Workers = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find the phrases of CORPUS: pairs of words that occur together more often than by chance.

    Example: mumon phrases corpus.txt -o phrases.json --apply joined.txt
    """
    from mumon.corpus import TextOptions, corpus_from_files
    from mumon.phrases import ENGLISH_CONNECTOR_WORDS, Phrases
    from mumon.utils.atomic import check_file_target
    from mumon.utils.threads import available_cores

    targets = [name for name in (output, apply) if name is not None]
    for number, name in enumerate(targets):
        options.check_output(corpus, name, *targets[:number])
        check_file_target(name)
    connectors = ENGLISH_CONNECTOR_WORDS if connector_words is Connectors.english else frozenset[str]()
    limit = threshold if threshold is not None else 0.5 if scoring is Scoring.npmi else 10.0
    text = TextOptions(bool(tokenize), bool(lowercase), text_field)
    with options.reporter(quiet or not targets) as progress:
        learnt = Phrases(None, min_count, limit, scoring=scoring.value, connector_words=connectors, progress=progress)
        encoded = corpus_from_files(corpus, text, workers=workers or available_cores(), progress=progress)
        learnt.add_vocab(encoded)
        frozen = learnt.freeze()
        if apply is not None:
            _write_joined(frozen, encoded, apply, progress)
        if output is not None:
            frozen.save(output)
            progress.note(f"wrote {output}: {len(frozen.phrasegrams):,} phrases")
    _print_ranking(frozen, top, encoded.tokens, json)


def _write_joined(frozen: FrozenPhrases, corpus: EncodedCorpus, path: str, progress: Progress) -> None:
    from mumon.utils.atomic import atomic_file

    progress.start("joining", corpus.sentences, "sentences")
    with atomic_file(path) as file:
        for number, sentence in enumerate(frozen[corpus], 1):
            file.write((" ".join(sentence) + "\n").encode())
            if not number % 10_000:
                progress.update(number)
    progress.finish(f"wrote {path}: {corpus.sentences:,} sentences")


def _print_ranking(frozen: FrozenPhrases, top: int, tokens: int, as_json: bool) -> None:
    ranking = sorted(frozen.phrasegrams.items(), key=lambda item: (-item[1], item[0]))[:top]
    if as_json:
        best = [{"phrase": phrase, "score": round(score, 6)} for phrase, score in ranking]
        print(json_.dumps({"tokens": tokens, "phrases": len(frozen.phrasegrams), "top": best}, ensure_ascii=False))
        return
    for phrase, score in ranking:
        print(f"{score:12.4f}  {phrase}")
