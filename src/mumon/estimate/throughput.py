"""How fast this machine trains: the real kernel on a sample of the text, with matrices of the real size if they fit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mumon.corpus import EncodedCorpus
from mumon.corpus.subwords import Bags, Ngrams
from mumon.estimate.vocab_projection import VocabProjection
from mumon.kernels.layout import row_bytes
from mumon.training.memory import guess_ngrams
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.thread_runner import ThreadRunner
from mumon.training.trainer import Trainer
from mumon.training.weights import allocate_matrix
from mumon.utils.memory import available_memory
from mumon.utils.progress import Progress
from mumon.utils.threads import available_cores

SECONDS = 5.0  # of training, as measured
PROBE_TOKENS = 100_000
MOST_BYTES = 2 << 30  # of the matrices: touching more would take longer than training on them
MOST_MEMORY_SHARE = 0.5  # of what is free
SIZE_SHARES = (1 / 16, 1 / 4, 1)  # of the largest matrices that fit, if the real ones do not
RATE = 1e-4  # so small that nothing diverges; the time of a step does not depend on it


@dataclass(frozen=True)
class Speed:
    """Tokens of the corpus per second, and the numbers of rows it was measured with (several: it is extrapolated)."""

    tokens_per_second: float
    rows: tuple[int, ...]
    cpu_share: float  # of the threads' time that other programs left to them


NGRAM_POWER = 10  # 73 % of the rows that words are made of are the most frequent 3 %, in English


def measure_speed(
    sample: EncodedCorpus,
    project: Callable[[int], VocabProjection],
    words: int,
    columns: int,
    settings: Settings,
    needed: float,
    progress: Progress,
    seconds: float | None = None,
    most_bytes: int | None = None,
) -> Speed:
    """Measure the speed of training on this machine.

    Parameters
    ----------
    sample
        Text to train on.
    project
        Spreads the words of the sample over a number of rows.
    words
        The number of rows of the model.
    columns
        The dimensions of its vectors.
    settings
        Those of the training, with its number of threads.
    needed
        Tokens of the whole training; no more are trained here.
    progress
        Where the measurement is reported.
    seconds
        How long to train, in all; by default 5. Less where many speeds are measured.
    most_bytes
        Of both matrices; by default 2 GiB. The speed of larger ones is extrapolated from three sizes.

    Returns
    -------
    Speed
        Tokens of the corpus per second, for all epochs alike.
    """
    free, seconds = available_memory(), SECONDS if seconds is None else seconds
    room = MOST_BYTES if most_bytes is None else most_bytes
    room = room if free is None else min(room, int(MOST_MEMORY_SHARE * free))
    most = max(room // (2 * row_bytes(columns)), 1)
    sizes = [words] if words <= most else sorted({max(1, int(part * most)) for part in SIZE_SHARES})
    progress.start("measuring the speed of training", len(sizes), "sizes")
    try:
        times, shares = [], []
        for done, size in enumerate(sizes):
            each, share = _time_token(sample, project(size), columns, settings, needed, seconds / len(sizes))
            times.append(each)
            shares.append(share)
            progress.update(done + 1)
    finally:
        progress.close()
    return Speed(1 / _extrapolate(sizes, times, words), tuple(sizes), min(shares))


def _extrapolate(sizes: list[int], times: list[float], words: int) -> float:
    """Extrapolate the time of a token to more rows than were tried: it grows with their logarithm.

    >>> round(_extrapolate([100, 1000, 10_000], [1.0, 1.5, 2.0], 100_000), 6)
    2.5
    """
    if len(sizes) == 1 or words <= sizes[-1]:
        return times[-1]
    slope = max(float(np.polyfit(np.log(sizes), times, 1)[0]), 0.0)
    return times[-1] + slope * float(np.log(words / sizes[-1]))


def _time_token(
    sample: EncodedCorpus, projection: VocabProjection, columns: int, settings: Settings, needed: float, seconds: float
) -> tuple[float, float]:
    """Return the time of one token, averaged over `seconds` of training, and the threads' share of the processors."""
    words = len(projection.counts)
    bags = None if settings.subwords is None else imitate_bags(words, settings.subwords)
    rows = words if bags is None else int(bags.members.max(initial=words - 1)) + 1
    source, target = allocate_matrix(rows, columns), allocate_matrix(words, columns)
    source[:, :columns], target[:] = 0.5 / columns, 0  # touch every page now, not while the clock runs

    def train(part: EncodedCorpus, epochs: int) -> float:
        model = projection.counts, source, target, settings
        trainer = Trainer(ThreadRunner(part, projection.lookup, *model, bags=bags))
        history = trainer.run(epochs, Schedule(RATE, RATE, epochs))
        return sum(epoch.seconds for epoch in history) / sum(epoch.tokens for epoch in history)

    probe = _take_first(sample, PROBE_TOKENS)
    train(probe, 1)  # compiles, or loads what was compiled
    wanted = min(seconds / train(probe, 1), needed)
    part = _take_first(sample, wanted)
    processor, started = time.process_time(), time.perf_counter()
    each = train(part, max(1, round(wanted / part.tokens)))
    busy = (time.process_time() - processor) / (time.perf_counter() - started)
    return each, min(1.0, busy / min(settings.workers, available_cores()))


def imitate_bags(words: int, ngrams: Ngrams) -> Bags:
    """Make bags as words with n-grams have them: of the usual size, most of their rows frequent ones.

    Parameters
    ----------
    words
        The number of words.
    ngrams
        Which n-grams they would have.
    """
    rows, members = guess_ngrams(words, ngrams)
    size = max(members // words, 1)
    chosen = np.random.default_rng(1).random((words, size)) ** NGRAM_POWER
    bags = (words + rows * chosen).astype(np.int32) if rows else np.zeros((words, size), np.int32)
    bags[:, 0] = np.arange(words)
    return Bags(np.arange(words + 1) * size, bags.ravel())


def _take_first(corpus: EncodedCorpus, tokens: float) -> EncodedCorpus:
    """Return the first sentences of a corpus, about `tokens` long; in memory, as all of a small one would be."""
    if tokens >= corpus.tokens:
        return corpus
    last = max(1, int(np.searchsorted(corpus.offsets, tokens)))
    offsets = np.array(corpus.offsets[: last + 1])
    return replace(corpus, ids=corpus.read(0, int(offsets[-1])), offsets=offsets, file=None)
