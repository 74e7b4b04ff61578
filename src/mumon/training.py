"""Training: blocks of sentences given to threads, the learning-rate schedule, the loss, the history."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.errors import CorpusError, FormatError, OptionError, TrainingError
from mumon.matrices import Matrix
from mumon.progress import Progress
from mumon.sampling import NOISE, ORDER, SAMPLE, alias_table, keep_chances, noise_distribution, row_rates, stream_seed
from mumon.settings import Schedule, Settings, finite_number, whole_number

# A block is the unit of work of a thread, of random streams and of the rate: some 10 ms of training, small beside an
# epoch even for short corpora.
BLOCK_TOKENS, MIN_BLOCK_TOKENS, BLOCKS_PER_EPOCH = 16_384, 1_024, 256


RUNAWAY_LOSS = 1e5  # per token; guessing costs (negative + 1) · ln 2 per pair, well below a thousand


@dataclass(frozen=True)
class Epoch:
    """What one epoch did. `loss` is the mean negative-sampling loss per trained token, nan if none was trained."""

    epoch: int
    loss: float
    alpha: float
    tokens: int
    trained_tokens: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The fields, with null where JSON has no nan."""
        return {**asdict(self), "loss": None if math.isnan(self.loss) else self.loss}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Epoch:
        """The reverse of `to_json`."""
        loss = math.nan if record.get("loss") is None else record["loss"]
        try:
            return cls(
                whole_number("epoch", record["epoch"], least=0),
                loss if loss != loss else finite_number("loss", loss),
                finite_number("alpha", record["alpha"]),
                whole_number("tokens", record["tokens"], least=0),
                whole_number("trained_tokens", record["trained_tokens"], least=0),
                finite_number("seconds", record["seconds"]),
            )
        except (KeyError, OptionError) as error:
            raise FormatError(f"an epoch of the history is damaged ({error}); save the model again") from None

    @property
    def tokens_per_second(self) -> float:
        """Words of the corpus read per second."""
        return self.tokens / self.seconds if self.seconds else 0.0


class Trainer:
    """Trains two matrices in place on one corpus. `run` may be called again to go on along the schedule."""

    def __init__(
        self,
        corpus: EncodedCorpus,
        lookup: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        source: Matrix,
        target: Matrix,
        settings: Settings,
        progress: Progress | None = None,
    ) -> None:
        self.corpus, self.lookup, self.settings = corpus, lookup, settings
        self.source, self.target = source, target
        self.progress = progress or Progress()
        self.keep = keep_chances(counts, settings.sample)
        self.alias = alias_table(noise_distribution(counts, settings.ns_exponent))
        self.rates = row_rates(counts, settings.row_exponent)
        self.bounds = block_bounds(corpus.offsets)
        self._name, self._kernel = _kernel(settings)

    def run(self, epochs: int, schedule: Schedule, first_epoch: int = 0) -> list[Epoch]:
        """Train the next epochs of a schedule.

        `first_epoch` numbers them over the model's whole life, so that no two epochs see the same random draws.
        """
        from mumon.kernels.jit import is_compiled

        if not is_compiled(self._name):
            self.progress.note("compiling the training kernel, once for this machine …")
        history = []
        self.progress.start("training", epochs * self.corpus.tokens, "tokens")
        for past in range(epochs):
            now = replace(schedule, done=schedule.done + past)
            history.append(self._epoch(first_epoch + past, now, past * self.corpus.tokens))
        if not any(epoch.trained_tokens for epoch in history):
            self._explain_nothing()
        for matrix in (self.source, self.target):
            for first in range(0, len(matrix), 1 << 16):
                if not np.isfinite(matrix[first : first + (1 << 16)]).all():
                    raise TrainingError(_divergence("weights", first_epoch + epochs, schedule.rate(0)))
        if history[-1].loss > RUNAWAY_LOSS:
            raise TrainingError(
                f"the loss ended at {history[-1].loss:.3g} per token, which is no training; start from a lower alpha "
                f"than {schedule.rate(0):.4g}"
            )
        seconds = sum(epoch.seconds for epoch in history)
        self.progress.finish(
            f"trained {epochs} epoch{'s' * (epochs > 1)} in {seconds:.1f} s, loss {history[-1].loss:.4f}",
            loss=history[-1].loss,
        )
        return history

    def _explain_nothing(self) -> None:
        """Nothing was trained: an error if the text is to blame, a note if it was subsampling, on a very small one."""
        known = np.cumsum(np.concatenate([[0], self.lookup[self.corpus.ids] >= 0]))
        if not np.any(np.diff(known[self.corpus.offsets]) > 1):
            raise CorpusError(
                f"none of the {self.corpus.tokens:,} tokens could be trained: no sentence has two words of the "
                "vocabulary; check the text, or lower min_count"
            )
        self.progress.note(f"subsampling left none of the {self.corpus.tokens:,} tokens to train; set sample to 0")

    def _epoch(self, epoch: int, schedule: Schedule, done_before: int) -> Epoch:
        started = time.perf_counter()
        blocks = len(self.bounds) - 1
        order = np.arange(blocks)
        if self.settings.shuffle:
            np.random.default_rng(int(stream_seed(self.settings.seed, epoch, 0, ORDER))).shuffle(order)
        tickets, tally, stop = count(), _Tally(), threading.Event()
        failures: list[BaseException] = []

        def work() -> None:
            try:
                train_block = self._block_trainer()
                while not stop.is_set() and (ticket := next(tickets)) < blocks:
                    alpha = schedule.rate(ticket / blocks)
                    block = train_block(epoch, int(order[ticket]), alpha)
                    if not np.isfinite(block.loss):
                        raise TrainingError(_divergence("loss", epoch + 1, alpha))
                    tally.add(block)
            except BaseException as error:
                failures.append(error)
                stop.set()

        threads = [threading.Thread(target=work, name=f"mumon-{i}") for i in range(min(self.settings.workers, blocks))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.1)
                    self._report(tally, schedule, done_before, started)
        finally:  # on Ctrl-C, each thread ends its block before anyone else touches the matrices
            stop.set()
            for thread in threads:
                thread.join()
        if failures:
            raise failures[0]
        seconds = time.perf_counter() - started
        return Epoch(epoch + 1, tally.mean, schedule.rate(1.0), tally.tokens, tally.trained, seconds)

    def _report(self, tally: _Tally, schedule: Schedule, before: int, started: float) -> None:
        fields = {
            "epoch": schedule.done + 1,
            "epochs": schedule.total,
            "alpha": schedule.rate(tally.tokens / self.corpus.tokens),
            "loss": tally.mean,
            "speed": tally.tokens / max(time.perf_counter() - started, 1e-9),
        }
        shown = {name: value for name, value in fields.items() if not math.isnan(value)}
        self.progress.update(before + tally.tokens, **shown)

    def _block_trainer(self) -> Callable[[int, int, float], _Block]:
        """A function that trains one block, with buffers of its own: one per thread."""
        offsets, bounds, settings = self.corpus.offsets, self.bounds, self.settings
        room = int(np.max(offsets[bounds[1:]] - offsets[bounds[:-1]]))
        ids, left, right = (np.empty(room, np.int32) for _ in range(3))
        window = min(settings.window, room)
        from mumon.kernels.blocks import sample_block

        def train(epoch: int, block: int, alpha: float) -> _Block:
            starts = np.array(offsets[bounds[block] : bounds[block + 1] + 1])
            begin, end = int(starts[0]), int(starts[-1])
            n = sample_block(
                self.corpus.read(begin, end), starts - begin, 0, len(starts) - 1, self.lookup, self.keep, window,
                settings.shrink_windows, settings.shuffle, stream_seed(settings.seed, epoch, block, SAMPLE),
                ids, left, right,
            )  # fmt: skip
            loss, counted = self._kernel(
                self.source, self.target, ids[:n], left[:n], right[:n], self.alias, self.rates, np.float32(alpha),
                stream_seed(settings.seed, epoch, block, NOISE),
            )  # fmt: skip
            return _Block(end - begin, n, loss, counted)

        return train


@dataclass(frozen=True)
class _Block:
    tokens: int
    trained: int
    loss: float
    counted: int


class _Tally:
    """Sums over blocks, in float64 and under a lock: gensim's running loss has neither."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.tokens = self.trained = self._counted = 0
        self.loss = 0.0

    def add(self, block: _Block) -> None:
        with self._lock:
            self.tokens += block.tokens
            self.trained += block.trained
            self.loss += block.loss
            self._counted += block.counted

    @property
    def mean(self) -> float:
        return self.loss / self._counted if self._counted else math.nan


def block_bounds(offsets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Sentence numbers at which blocks begin, and the end: blocks of whole sentences and nearly equal length."""
    tokens = int(offsets[-1])
    size = min(max(tokens // BLOCKS_PER_EPOCH, MIN_BLOCK_TOKENS), BLOCK_TOKENS)
    bounds = np.searchsorted(offsets, np.arange(0, tokens, size))
    return np.asarray(np.unique(np.append(bounds, len(offsets) - 1)), np.int64)


def _kernel(settings: Settings) -> tuple[str, Callable[..., tuple[float, int]]]:
    """The kernel that the settings ask for: its name, and a function of what changes from block to block."""
    from mumon.kernels.cbow import cbow_exact, cbow_fast
    from mumon.kernels.skipgram import skipgram_exact, skipgram_fast

    noise = (settings.negative,) if settings.exact else (settings.negative, settings.shared_negatives, settings.batch)
    if settings.objective == "sg":
        function: Any = skipgram_exact if settings.exact else skipgram_fast
        division: tuple[bool, ...] = ()
    else:
        function = cbow_exact if settings.exact else cbow_fast
        division = settings.division

    def train(
        source: Matrix,
        target: Matrix,
        ids: Any,
        left: Any,
        right: Any,
        alias: Any,
        rates: Any,
        alpha: np.float32,
        seed: np.uint64,
    ) -> tuple[float, int]:
        return function(source, target, ids, left, right, alias, rates, *noise, alpha, *division, seed)  # type: ignore[no-any-return]

    return function.__name__, train


def _divergence(what: str, epoch: int, alpha: float) -> str:
    return f"the {what} stopped being finite in epoch {epoch} at rate {alpha:.4g}; start from a lower alpha"
