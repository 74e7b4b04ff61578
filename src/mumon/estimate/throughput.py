"""How fast this machine trains: the very kernel on the text at hand, with matrices of the real size where they fit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mumon.corpus import EncodedCorpus
from mumon.estimate.vocab_projection import VocabProjection
from mumon.kernels.layout import row_bytes
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.trainer import Trainer
from mumon.training.weights import new_matrix
from mumon.utils.memory import available_memory
from mumon.utils.progress import Progress
from mumon.utils.threads import available_cores

SECONDS = 5.0  # of training
PROBE_TOKENS = 100_000
MOST_BYTES = 2 << 30  # of the matrices: touching more would take longer than training on them
MOST_OF_MEMORY = 0.5  # of what is free
SIZES = (1 / 16, 1 / 4, 1)  # of the largest matrices that fit, where the real ones do not
RATE = 1e-4  # so small that nothing diverges; the time of a step does not depend on it


@dataclass(frozen=True)
class Speed:
    """Tokens of the corpus per second, and with how many rows that was measured (several: it is extrapolated)."""

    tokens_per_second: float
    rows: tuple[int, ...]
    cpu_share: float  # of the threads' time that other programs left them


def measure_speed(
    sample: EncodedCorpus,
    alike: Callable[[int], VocabProjection],
    words: int,
    columns: int,
    settings: Settings,
    needed: float,
    progress: Progress,
    seconds: float | None = None,
    most_bytes: int | None = None,
) -> Speed:
    """The speed for so many rows. `alike` spreads the sample over rows; more than `needed` tokens are not trained.

    Less time and smaller matrices are for whoever has many speeds to measure.
    """
    free, seconds = available_memory(), SECONDS if seconds is None else seconds
    room = MOST_BYTES if most_bytes is None else most_bytes
    room = room if free is None else min(room, int(MOST_OF_MEMORY * free))
    most = max(room // (2 * row_bytes(columns)), 1)
    sizes = [words] if words <= most else sorted({max(1, int(part * most)) for part in SIZES})
    progress.start("measuring the speed of training", len(sizes), "sizes")
    try:
        times, shares = [], []
        for done, size in enumerate(sizes):
            each, share = _seconds(sample, alike(size), columns, settings, needed, seconds / len(sizes))
            times.append(each)
            shares.append(share)
            progress.update(done + 1)
    finally:
        progress.close()
    return Speed(1 / _extrapolated(sizes, times, words), tuple(sizes), min(shares))


def _extrapolated(sizes: list[int], times: list[float], words: int) -> float:
    """The time of a token for more rows than were tried: what caches hold of them falls with the logarithm.

    >>> round(_extrapolated([100, 1000, 10_000], [1.0, 1.5, 2.0], 100_000), 6)
    2.5
    """
    if len(sizes) == 1 or words <= sizes[-1]:
        return times[-1]
    slope = max(float(np.polyfit(np.log(sizes), times, 1)[0]), 0.0)
    return times[-1] + slope * float(np.log(words / sizes[-1]))


def _seconds(
    sample: EncodedCorpus, alike: VocabProjection, columns: int, settings: Settings, needed: float, seconds: float
) -> tuple[float, float]:
    """The time of one token, on average over so many seconds of training, and the threads' share of the processors."""
    source, target = (new_matrix(len(alike.counts), columns) for _ in range(2))
    source[:, :columns], target[:] = 0.5 / columns, 0  # every page is touched now, not while the clock runs

    def trained(part: EncodedCorpus, epochs: int) -> float:
        trainer = Trainer(part, alike.lookup, alike.counts, source, target, settings)
        history = trainer.run(epochs, Schedule(RATE, RATE, epochs))
        return sum(epoch.seconds for epoch in history) / sum(epoch.tokens for epoch in history)

    probe = _first(sample, PROBE_TOKENS)
    trained(probe, 1)  # compiles, or loads what was compiled
    wanted = min(seconds / trained(probe, 1), needed)
    part = _first(sample, wanted)
    processor, started = time.process_time(), time.perf_counter()
    each = trained(part, max(1, round(wanted / part.tokens)))
    busy = (time.process_time() - processor) / (time.perf_counter() - started)
    return each, min(1.0, busy / min(settings.workers, available_cores()))


def _first(corpus: EncodedCorpus, tokens: float) -> EncodedCorpus:
    """The first sentences of a corpus, with about so many tokens; in memory, as all of a small one would be."""
    if tokens >= corpus.tokens:
        return corpus
    last = max(1, int(np.searchsorted(corpus.offsets, tokens)))
    offsets = np.array(corpus.offsets[: last + 1])
    return replace(corpus, ids=corpus.read(0, int(offsets[-1])), offsets=offsets, file=None)
