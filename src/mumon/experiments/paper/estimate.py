"""What a report will need: all its trainings, at the speed that `mumon.estimate` measures on this machine."""

from __future__ import annotations

import functools
import math
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mumon.corpus import EncodedCorpus
from mumon.estimate.report import format_time
from mumon.experiments.paper import (
    both_sides,
    curves,
    extrinsic,
    intrinsic,
    norms,
    position_weights,
    rates,
    sizes,
    subwords,
)
from mumon.experiments.paper.runs import POSITIONS, SYSTEMS, has_lowest_rate
from mumon.experiments.paper.scales import WINDOWS, Scale
from mumon.experiments.paper.sides import DEFAULT_SYSTEM
from mumon.experiments.paper.sweeps import FEWEST_RATES
from mumon.fasttext import make_model
from mumon.training.memory import compute_training_bytes
from mumon.utils.memory import format_bytes
from mumon.utils.progress import Progress
from mumon.word2vec import Word2Vec

if TYPE_CHECKING:
    from mumon.estimate.text import Text

# Dozens of speeds are measured: each gets less time and smaller matrices than a single one would.
CALIBRATION_SECONDS, CALIBRATION_BYTES = 1.0, 1 << 29
# gensim's time over that of the mumon system it is compared with: 300 dimensions, 2 threads, docs/benchmarks.md.
PEER_FACTORS = {
    "gensim CBOW": ("CBOW correct", 3.8),
    "gensim SG": ("SG", 8.5),
    "fastText CBOW": ("CBOW correct, subwords", 9.0),
    "fastText SG": ("SG correct, subwords", 17.0),
    "gensim FastText CBOW": ("CBOW correct, subwords", 5.0),
    "gensim FastText SG": ("SG correct, subwords", 9.0),
}
# fastText and word2vec.c count as two and three of gensim's trainings.
TIMED_SYSTEMS = ("CBOW correct", "SG", "CBOW correct, exact", "SG, exact", *["gensim CBOW"] * 6, *["gensim SG"] * 6)


@dataclass(frozen=True)
class CorpusSize:
    """The figures of a text that an estimate needs."""

    name: str
    sentences: int
    tokens: int
    words: int  # that get a vector
    measured: bool = True


# Without a corpus: the made-up language, and rough sizes of the English Wikipedia and of C4.
GENERATED_SIZE = CorpusSize("a made-up language", 8_000, 340_000, 400)
WIKIPEDIA_SIZE = CorpusSize("English Wikipedia, assumed", 150_000_000, 2_500_000_000, 1_000_000, measured=False)
C4_SIZE = CorpusSize("C4, assumed", 8_000_000_000, 160_000_000_000, 5_000_000, measured=False)


@dataclass(frozen=True)
class ItemCost:
    """What one experiment needs."""

    item: str
    trainings: int
    hours: float
    memory: int


def measure_corpus(name: str, encoded: EncodedCorpus, scale: Scale) -> CorpusSize:
    """Return the figures of a corpus.

    Parameters
    ----------
    name
        How messages call it.
    encoded
        The corpus.
    scale
        Decides how many of its words get a vector.

    Returns
    -------
    CorpusSize
        Sentences, tokens and words.
    """
    frequent = int((encoded.counts >= scale.min_count).sum())
    return CorpusSize(name, encoded.sentences, encoded.tokens, min(frequent, scale.max_vocab or frequent))


def estimate_items(
    scale: Scale,
    corpus: CorpusSize,
    second: CorpusSize | None,
    threads: int,
    names: Container[str],
    more_tokens: int = 0,
    german_tokens: int = 0,
) -> list[ItemCost]:
    """Estimate hours and memory of experiments on this machine.

    Parameters
    ----------
    scale
        The sizes of the experiments.
    corpus
        The text of all experiments but one.
    second
        The text of the experiment `c4`, or None to leave it out.
    threads
        Threads of every training.
    names
        The experiments to estimate; those that train nothing are left out.
    more_tokens
        Words of the text that `growth` adds to the corpus.
    german_tokens
        Words of the German text of `subwords`.

    Returns
    -------
    list of ItemCost
        One for each experiment, in the order of its first training.
    """
    speeds: dict[tuple[str, int, int, CorpusSize], float] = {}
    hours: dict[str, list[float]] = {}
    memory: dict[str, int] = {}
    more = more_tokens, german_tokens
    for item, system, tokens, dim, window, on_second in _list_trainings(scale, corpus, second, threads, *more):
        if item not in names:
            continue
        base, factor = PEER_FACTORS.get(system, (system, 1.0))
        text = second if on_second and second is not None else corpus
        key = (base, dim, window, text)
        if key not in speeds:
            speeds[key] = _measure_speed(base, dim, window, threads, text)
        hours.setdefault(item, []).append(factor * tokens / speeds[key] / 3600)
        settings = _create_model(base, window, threads).settings
        memory[item] = max(memory.get(item, 0), compute_training_bytes(text.words, dim, settings))
    return [ItemCost(item, len(each), sum(each), memory[item]) for item, each in hours.items()]


def _list_trainings(
    scale: Scale,
    corpus: CorpusSize,
    second: CorpusSize | None,
    threads: int,
    more_tokens: int = 0,
    german_tokens: int = 0,
) -> Iterator[tuple[str, str, float, int, int, bool]]:
    """Yield experiment, system, tokens of all epochs, dimensions, window and "on the second corpus", by training."""

    def tokens(sentences: int | None, epochs: int = scale.epochs) -> float:
        part = 1.0 if sentences is None else min(1.0, sentences / corpus.sentences)
        return corpus.tokens * part * epochs

    def exact(update: str) -> str:
        return f"CBOW {update}, exact"

    def noisy(sentences: int | None, k: int) -> float:
        return tokens(sentences) * (0.5 + k / 10)  # the time of exact kernels grows with k

    usual = (scale.dim, scale.window, False)
    for system in intrinsic.TABLE_SYSTEMS:
        seeds = scale.fewer_seeds if system in intrinsic.FEWER_SEEDS else scale.seeds
        for _ in range(FEWEST_RATES + seeds):
            yield "table1", system, tokens(scale.table_sentences), *usual
    if scale.name == "full":  # at other scales its results are read, or it is asked for by name
        for system in extrinsic.TRAINED.values():
            for _ in range(scale.seeds):
                yield "extrinsic", system, tokens(None), *usual
    for system in TIMED_SYSTEMS:  # on 1, 2, 4 … threads: half the threads take twice the time
        for count in range(max(1, threads.bit_length())):
            for _ in range(scale.time_repeats):
                yield "times", system, tokens(scale.time_sentences) * 2**count, *usual
    per_norm = tokens(scale.norm_sentences, scale.norm_epochs)
    for update, windows in (("correct", WINDOWS + norms.END_WINDOWS), ("faulty", 2 * WINDOWS + norms.END_WINDOWS)):
        for window in windows:
            yield "norms", exact(update), per_norm, scale.dim, window, False
    for update in ("correct", "faulty"):
        for k in (scale.negative, 4 * scale.negative):
            yield "angle", exact(update), noisy(scale.angle_sentences, k), *usual
        for _ in curves.RATES[update]:
            yield "curves", exact(update), tokens(scale.curve_sentences, 1), *usual
        for k in scale.negatives:
            for _ in range(FEWEST_RATES + scale.fewer_seeds):
                yield "negatives", exact(update), noisy(scale.negative_sentences, k), *usual
        for _ in range(2 * rates.EXTRA_RATES):
            yield "rates", f"CBOW {update}", tokens(scale.table_sentences), *usual
        for _ in rates.SHARED_RATES:
            yield "rates", exact(update), tokens(scale.table_sentences), *usual
    for system in sizes.SYSTEMS:
        for sentences in scale.sizes:
            if sentences != scale.table_sentences:  # those are Table 1's
                for _ in range(FEWEST_RATES + scale.seeds):
                    yield "sizes", system, tokens(sentences), *usual
    grown = [tokens(sentences) for sentences in scale.sizes if sentences != scale.table_sentences]
    if more_tokens:
        grown.append(tokens(None) + more_tokens * scale.epochs)
    for system in both_sides.SYSTEMS:
        for window, count in ((scale.window, FEWEST_RATES + scale.seeds), (2 * scale.window, FEWEST_RATES)):
            for _ in range(count):
                yield "both-sides", system, tokens(scale.table_sentences), scale.dim, window, False
        for each in grown:
            for _ in range(scale.fewer_seeds + (FEWEST_RATES - 1) * has_lowest_rate(system, each)):
                yield "growth", system, each, *usual
    default = (scale.dim, Word2Vec().settings.window, False)  # beside the systems at their best
    for _ in range(scale.seeds):
        yield "both-sides", DEFAULT_SYSTEM, tokens(scale.table_sentences), *default
    for _ in range(scale.fewer_seeds):
        for each in grown:
            yield "growth", DEFAULT_SYSTEM, each, *default
    for times in position_weights.WINDOWS:
        window = times * scale.window
        yield "positions", POSITIONS, tokens(scale.table_sentences), scale.dim, window, False
    for each in (tokens(scale.table_sentences), german_tokens * scale.epochs):
        for system, count in {
            **dict.fromkeys(subwords.OURS, FEWEST_RATES + scale.seeds),
            **dict.fromkeys(subwords.PEERS, 1),
        }.items():
            for _ in range(count if each else 0):
                yield "subwords", system, each, *usual
    for system in sizes.SYSTEMS:
        if second is not None:
            yield "c4", system, second.tokens * scale.c4_epochs, scale.c4_dim, scale.window, True


def _create_model(system: str, window: int, threads: int) -> Word2Vec:
    return make_model(window=window, workers=threads, progress=False, **SYSTEMS[system])


def _measure_speed(system: str, dim: int, window: int, threads: int, corpus: CorpusSize) -> float:
    """Measure tokens per second on generated text with as many words as the corpus has."""
    from mumon.estimate.throughput import measure_speed

    text = _generate_text(corpus.tokens, corpus.words, threads)
    settings = _create_model(system, window, threads).settings
    return measure_speed(
        text.sample.corpus,
        text.project,
        corpus.words,
        dim,
        settings,
        needed=math.inf,
        progress=Progress(),
        seconds=CALIBRATION_SECONDS,
        most_bytes=CALIBRATION_BYTES,
    ).tokens_per_second


@functools.cache
def _generate_text(tokens: int, words: int, threads: int) -> Text:
    from mumon.estimate.text import examine_text

    return examine_text(Word2Vec(workers=threads, progress=False), [], None, tokens, words, Progress())


def format_estimate(costs: list[ItemCost], corpus: CorpusSize, second: CorpusSize | None, threads: int) -> list[str]:
    """Format an estimate as lines of text.

    Parameters
    ----------
    costs
        What `estimate_items` returned.
    corpus, second
        The texts it was made for.
    threads
        Threads of every training.

    Returns
    -------
    list of str
        The texts, a line for each experiment, and the sum.
    """
    hours, memory = sum(cost.hours for cost in costs), max(cost.memory for cost in costs)
    texts = f"{corpus.name}: {corpus.tokens / 1e6:,.0f} M words, {corpus.words:,} different; {threads} threads"
    if second is not None:
        texts += f"; {second.name}: {second.tokens / 1e6:,.0f} M words"
    lines = [
        f"  {cost.item:<10} {cost.trainings:>4} trainings {format_time(3600 * cost.hours):>12}  "
        f"{format_bytes(cost.memory)}"
        for cost in costs
    ]
    total = f"together about {format_time(3600 * hours)} of training and {format_bytes(memory)} of memory"
    return [texts, *lines, total]
