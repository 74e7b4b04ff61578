"""Epochs on this machine: threads take blocks of the corpus and update the two matrices in place.

An epoch is trained in stretches. Between two of them all threads have ended, and every block up to the position is
done: there the state can be kept and a signal delivered. The random draws and the rate of a block depend only on its
place in the epoch, so it does not matter which thread trains it; with one thread a run is repeatable to the bit.
"""

from __future__ import annotations

import threading
import time
from itertools import count

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.corpus.subwords import Bags
from mumon.errors import CorpusError, TrainingError
from mumon.training.engine import Engine, TrainBlock, cut_blocks
from mumon.training.run_state import RunPosition
from mumon.training.sampling import ORDER, derive_seed
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.trainer import EpochControl, describe_divergence
from mumon.training.weights import Matrix
from mumon.utils.progress import Progress
from mumon.utils.threads import start_threads

POLL_SECONDS = 0.1  # between looks at the clock, the signals and the totals


class ThreadRunner:
    """An `EpochRunner` of threads, which share the matrices without locks (Hogwild).

    Parameters
    ----------
    corpus
        The text.
    lookup
        The row of each word of the corpus, -1 for none.
    counts
        How often the word of each row occurs.
    source, target
        The matrices to train in place.
    settings
        What to train, with how many threads.
    locks
        A factor for the steps of each source row: 0 freezes it.
    weights
        The weights that all words share, to train in place; by default all 1, for an objective that has any.
    bags
        The source rows of each word, for an objective that has bags.
    """

    def __init__(
        self,
        corpus: EncodedCorpus,
        lookup: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        source: Matrix,
        target: Matrix,
        settings: Settings,
        locks: npt.NDArray[np.float32] | None = None,
        weights: Matrix | None = None,
        bags: Bags | None = None,
    ) -> None:
        self.corpus, self.lookup, self.settings = corpus, lookup, settings
        self.source, self.target = source, target
        self.engine = Engine(counts, source, target, settings, locks, weights, bags)
        self.bounds = cut_blocks(corpus.offsets, settings.objective_record.block_tokens)

    @property
    def blocks(self) -> int:
        """The number of blocks in an epoch."""
        return len(self.bounds) - 1

    def lock(self, locks: npt.NDArray[np.float32] | None) -> None:
        """Set the factor for the steps of each source row, from now on."""
        self.engine.lock(locks)

    def announce(self, progress: Progress) -> None:
        """Say that the kernel is compiled first, if it is."""
        from mumon.kernels.jit import is_compiled

        if not is_compiled(self.engine.name):
            progress.note("compiling the training kernel, once for this machine …")

    def run_epoch(self, epoch: int, schedule: Schedule, position: RunPosition, control: EpochControl) -> None:
        """Train the rest of an epoch, in stretches between which the state is kept."""
        order = np.arange(self.blocks)
        if self.settings.shuffle:
            np.random.default_rng(int(derive_seed(self.settings.seed, epoch, 0, ORDER))).shuffle(order)
        while position.totals.blocks < self.blocks:
            self._run_stretch(epoch, schedule, order, position, control)
            if control.should_pause():
                control.pause()

    def _run_stretch(
        self,
        epoch: int,
        schedule: Schedule,
        order: npt.NDArray[np.int64],
        position: RunPosition,
        control: EpochControl,
    ) -> None:
        """Train block after block until the epoch ends or it is time to pause; finish all blocks that were begun."""
        totals, blocks = position.totals, len(order)
        started, before = time.perf_counter(), totals.seconds
        tickets, stop = count(totals.blocks), threading.Event()
        failures: list[BaseException] = []

        def work() -> None:
            try:
                train_block = self.make_block_trainer()
                while not stop.is_set() and (ticket := next(tickets)) < blocks:
                    alpha = schedule.rate(ticket / blocks)
                    block = train_block(epoch, int(order[ticket]), alpha)
                    if not np.isfinite(block.loss):
                        raise TrainingError(describe_divergence("loss", epoch + 1, alpha))
                    totals.add(block)
            except BaseException as error:
                failures.append(error)
                stop.set()

        workers = min(self.settings.workers, blocks - totals.blocks)
        threads = [threading.Thread(target=work, name=f"mumon-{i}") for i in range(workers)]
        try:
            start_threads(threads)
            for thread in threads:
                while thread.is_alive():
                    thread.join(POLL_SECONDS)
                    totals.seconds = before + time.perf_counter() - started
                    control.report()
                    if control.should_pause():
                        stop.set()
        finally:  # on Ctrl-C, each thread ends its block before anything else touches the matrices
            stop.set()
            for thread in threads:
                if thread.ident is not None:  # it was started
                    thread.join()
            totals.seconds = before + time.perf_counter() - started
        if failures:
            position.whole = False
            raise failures[0]
        control.report()

    def explain_nothing(self, progress: Progress) -> None:
        """Raise an error if the text is to blame; leave a note if it was subsampling, on a very small text."""
        if not any(map(self._has_pair, range(self.blocks))):
            raise CorpusError(
                f"none of the {self.corpus.tokens:,} tokens could be trained: no sentence has two words of the "
                "vocabulary; check the text, or lower min_count"
            )
        progress.note(f"subsampling left none of the {self.corpus.tokens:,} tokens to train; set sample to 0")

    def _has_pair(self, block: int) -> bool:
        """Return whether a sentence of the block has two words of the vocabulary."""
        starts = self.corpus.offsets[self.bounds[block] : self.bounds[block + 1] + 1]
        known = self.lookup[self.corpus.read(int(starts[0]), int(starts[-1]))] >= 0
        return bool(np.any(np.diff(np.cumsum(np.append(0, known))[starts - starts[0]]) > 1))

    def close(self, progress: Progress) -> None:
        """Do nothing: the threads ended with their stretch."""

    def make_block_trainer(self) -> TrainBlock:
        """Return a function that trains one block, for one thread."""
        return self.engine.make_block_trainer(self.corpus, self.lookup, self.bounds)
