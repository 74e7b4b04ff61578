"""What a report will need, before anything is trained: hours and memory, from a short calibration on this machine."""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from mumon.corpus import EncodedCorpus, corpus_from_files
from mumon.experiments.paper import curves, extrinsic, intrinsic, norms, rates, sizes
from mumon.experiments.paper.runs import SYSTEMS
from mumon.experiments.paper.scales import WINDOWS, Scale
from mumon.experiments.paper.sweeps import FEWEST_RATES
from mumon.training.memory import training_bytes
from mumon.training.settings import Settings
from mumon.utils.memory import format_bytes
from mumon.utils.progress import Progress
from mumon.word2vec import Word2Vec

# Of which there are dozens: less time for each than a single one deserves, and no larger matrices than that allows.
CALIBRATION_SENTENCES, CALIBRATION_SECONDS, CALIBRATION_BYTES = 50_000, 1.0, 1 << 29
CALIBRATION_WORDS = 50_000  # of the text; a model's others are reckoned from these
# gensim's time over that of the mumon system it is compared with: 300 dimensions, 2 threads, docs/benchmarks.md.
PEER_FACTORS = {"gensim CBOW": ("CBOW correct", 3.8), "gensim SG": ("SG", 8.5)}
# fastText and word2vec.c, counted as two and three of gensim's.
TIMED_SYSTEMS = ("CBOW correct", "SG", "CBOW correct, exact", "SG, exact", *["gensim CBOW"] * 6, *["gensim SG"] * 6)


@dataclass(frozen=True)
class CorpusSize:
    """What an estimate has to know of a text."""

    name: str
    sentences: int
    tokens: int
    words: int  # that are kept
    measured: bool = True


# For whoever has no corpus yet: the made-up language, and the size of the English Wikipedia and of C4, roughly.
GENERATED_SIZE = CorpusSize("a made-up language", 8_000, 340_000, 400)
WIKIPEDIA_SIZE = CorpusSize("English Wikipedia, assumed", 150_000_000, 2_500_000_000, 1_000_000, measured=False)
C4_SIZE = CorpusSize("C4, assumed", 8_000_000_000, 160_000_000_000, 5_000_000, measured=False)


@dataclass(frozen=True)
class ItemCost:
    """What one experiment takes."""

    item: str
    trainings: int
    hours: float
    memory: int


def measure_corpus(name: str, encoded: EncodedCorpus, scale: Scale) -> CorpusSize:
    """The figures of a corpus that is at hand."""
    kept = int((encoded.counts >= scale.min_count).sum())
    return CorpusSize(name, encoded.sentences, encoded.tokens, min(kept, scale.max_vocab or kept))


def estimate_items(
    scale: Scale, corpus: CorpusSize, second: CorpusSize | None, threads: int, names: Container[str]
) -> list[ItemCost]:
    """Hours and memory of those of the named experiments that train on the corpus."""
    speeds: dict[tuple[str, int, int, int], float] = {}
    needs: dict[str, list[float]] = {}
    memory: dict[str, int] = {}
    for item, system, tokens, dim, window, large in _list_trainings(scale, corpus, second, threads):
        if item not in names:
            continue
        base, factor = PEER_FACTORS.get(system, (system, 1.0))
        words = second.words if large and second is not None else corpus.words
        key = (base, dim, window, words)
        if key not in speeds:
            speeds[key] = _measure_speed(base, dim, window, threads, words)
        needs.setdefault(item, []).append(factor * tokens / speeds[key] / 3600)
        settings = Settings(objective="sg" if base.startswith("SG") else "cbow", window=window, workers=threads)
        memory[item] = max(memory.get(item, 0), training_bytes(words, dim, settings))
    return [ItemCost(item, len(hours), sum(hours), memory[item]) for item, hours in needs.items()]


def _list_trainings(
    scale: Scale, corpus: CorpusSize, second: CorpusSize | None, threads: int
) -> Iterator[tuple[str, str, float, int, int, bool]]:
    """(experiment, system, tokens in all epochs, dimensions, window, of the second corpus?) of every training."""

    def tokens(sentences: int | None, epochs: int = scale.epochs) -> float:
        part = 1.0 if sentences is None else min(1.0, sentences / corpus.sentences)
        return corpus.tokens * part * epochs

    def exact(update: str) -> str:
        return f"CBOW {update}, exact"

    def noisy(sentences: int | None, k: int) -> float:
        return tokens(sentences) * (0.5 + k / 10)  # the time of exact kernels grows with k, from about half of it on

    usual = (scale.dim, scale.window, False)
    for system in intrinsic.TABLE_SYSTEMS:
        seeds = scale.fewer_seeds if system in intrinsic.FEWER_SEEDS else scale.seeds
        for _ in range(FEWEST_RATES + seeds):
            yield "table1", system, tokens(scale.table_sentences), *usual
    if scale.name == "full":  # elsewhere they are given, or asked for by name
        for system in extrinsic.TRAINED.values():
            for _ in range(scale.seeds):
                yield "extrinsic", system, tokens(None), *usual
    for system in TIMED_SYSTEMS:  # on 1, 2, 4 … threads: as long on half as many as twice on all
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
        if second is not None:
            yield "c4", system, second.tokens * scale.c4_epochs, scale.c4_dim, scale.window, True


def _measure_speed(system: str, dim: int, window: int, threads: int, words: int) -> float:
    """Tokens of text per second, measured on text that looks like language to a stop-watch, with so many words."""
    from mumon.estimate.throughput import measure_speed
    from mumon.estimate.vocab_projection import VocabProjection, project_vocab

    text = _calibration_text(min(words, CALIBRATION_WORDS), threads)
    settings = Word2Vec(window=window, workers=threads, progress=False, **SYSTEMS[system]).settings  # type: ignore[arg-type]

    def alike(rows: int) -> VocabProjection:
        tokens = max(text.tokens, 100 * rows)
        return project_vocab(text, tokens, rows, text.counts[0] * tokens / text.tokens / rows)

    bounds = {"seconds": CALIBRATION_SECONDS, "most_bytes": CALIBRATION_BYTES}
    return measure_speed(text, alike, words, dim, settings, math.inf, Progress(), **bounds).tokens_per_second  # type: ignore[arg-type]


@functools.cache
def _calibration_text(words: int, threads: int) -> EncodedCorpus:
    from mumon.estimate.zipf_text import write_zipf_text

    with tempfile.TemporaryDirectory() as folder:
        path = write_zipf_text(Path(folder) / "text.txt", CALIBRATION_SENTENCES, words)
        return corpus_from_files([path], workers=threads, reuse=False)


def format_estimate(needs: list[ItemCost], corpus: CorpusSize, second: CorpusSize | None, threads: int) -> list[str]:
    """The estimate as lines of text."""
    hours, memory = sum(need.hours for need in needs), max(need.memory for need in needs)
    about = f"{corpus.name}: {corpus.tokens / 1e6:,.0f} M words, {corpus.words:,} different"
    lines = [
        f"{about}; {threads} threads"
        + ("" if second is None else f"; {second.name}: {second.tokens / 1e6:,.0f} M words")
    ]
    lines += [
        f"  {need.item:<10} {need.trainings:>4} trainings {spoken_hours(need.hours):>12}  {format_bytes(need.memory)}"
        for need in needs
    ]
    return [*lines, f"together about {spoken_hours(hours)} of training and {format_bytes(memory)} of memory"]


def spoken_hours(hours: float) -> str:
    """A time in the unit that fits.

    >>> spoken_hours(0.02), spoken_hours(5.25), spoken_hours(100)
    ('1.2 min', '5.2 h', '4.2 days')
    """
    if hours < 1:
        return f"{60 * hours:.1f} min"
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} days"
