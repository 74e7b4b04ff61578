"""What is known of a text from a sample of it: how long it is, and how many words will get a vector."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mumon.corpus import EncodedCorpus, TextOptions
from mumon.errors import OptionError
from mumon.estimate.heaps_law import VocabGrowth
from mumon.estimate.sample import Sample, read_sample
from mumon.estimate.vocab_projection import VocabProjection, project_vocab
from mumon.training.model_runs import Merge
from mumon.utils.progress import Progress
from mumon.word2vec import Word2Vec

MADE_UP_SENTENCES, MADE_UP_WORDS = 100_000, 200_000
TYPES_PER_WORD = 4.0  # distinct words for each that occurs 5 times, as in 65 M words of the English Wikipedia


@dataclass(frozen=True)
class Text:
    """The text of a training."""

    sample: Sample
    tokens: int
    sentences: int
    types: int  # distinct words
    words: int  # of these, those that get a vector
    word_bytes: float  # of a distinct word, on average
    alike: Callable[[int], VocabProjection]
    how: str  # the figures were found


def examine_text(
    model: Word2Vec, files: list[str], merge: Merge | None, tokens: int | None, words: int | None, progress: Progress
) -> Text:
    """Look at the files of a training, or at text that looks like language if there are none."""
    if files:
        # An encoding of another length does not say how long reading takes.
        sample = read_sample(files, model.text, model.settings.workers, progress, fresh=tokens is not None)
        return _text(model, sample, merge, tokens, words, _how(sample))
    if tokens is None or words is None:
        raise OptionError("there is 0 text to look at; name files, or say how much it is with --tokens and --words")
    with tempfile.TemporaryDirectory(prefix="mumon-estimate-") as folder:
        from mumon.estimate.zipf_text import write_zipf_text

        path = write_zipf_text(Path(folder) / "text.txt", MADE_UP_SENTENCES, min(words, MADE_UP_WORDS))
        sample = read_sample([str(path)], TextOptions(), model.settings.workers, progress, fresh=True)
    return _text(model, sample, None, tokens, words, "made-up text by Zipf's law stands for it", made_up=True)


def _text(
    model: Word2Vec,
    sample: Sample,
    merge: Merge | None,
    tokens: int | None,
    words: int | None,
    how: str,
    made_up: bool = False,
) -> Text:
    corpus = sample.corpus
    total = round(corpus.tokens / sample.share) if tokens is None else tokens
    growth = VocabGrowth(corpus)
    every = round(growth.words(total, model.min_count))
    kept = min(every, model.max_final_vocab or every)
    known, last = model.vocabulary, float(model.min_count)
    if known is not None and merge in (None, "old"):
        kept = len(known)
    elif known is not None and merge == "union":
        kept = len(known) + round(kept * _share_of_strangers(model, corpus))
    kept = max(kept + (model.unk is not None and known is None), 1) if words is None else words
    types = max(round(growth.words(total, 1)), kept)
    if made_up:
        types = max(types, round(TYPES_PER_WORD * kept))
    if words is not None or kept < every:  # the rarest word is more frequent than it must be
        first = float(corpus.counts[0]) * total / corpus.tokens
        last = max(last, first / kept)

    def alike(rows: int) -> VocabProjection:
        if known is not None and merge in (None, "old") and rows == len(known):
            counts = known.counts if known.counts.any() else known.counted_on(corpus).counts
            return VocabProjection(counts, known.lookup(corpus))
        return project_vocab(corpus, total, rows, last)

    return Text(
        sample=sample,
        tokens=total,
        sentences=max(1, round(corpus.sentences * total / corpus.tokens)),
        types=types,
        words=kept,
        word_bytes=_mean_length(corpus),
        alike=alike,
        how=how,
    )


def _how(sample: Sample) -> str:
    if sample.encoded:
        return "exact: an earlier run has encoded it"
    if sample.share == 1:
        return "exact: all of it was read"
    where = "the beginnings of its packed files" if sample.packed else "places all over it"
    return f"estimated from {100 * sample.share:.2g} % of it, {where}"


def _share_of_strangers(model: Word2Vec, corpus: EncodedCorpus) -> float:
    """Of the words of a text that would get a vector, how many a model does not have."""
    frequent = max(1, int(np.count_nonzero(corpus.counts >= model.min_count)))
    known = set(model.vocabulary.words if model.vocabulary is not None else ())
    return sum(word.decode() not in known for word in corpus.words[:frequent].to_pylist()) / frequent


def _mean_length(corpus: EncodedCorpus) -> float:
    import pyarrow.compute as pc

    return float(pc.mean(pc.binary_length(corpus.words)).as_py())
