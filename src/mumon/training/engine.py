"""Training one block of a corpus: the same for the threads of a machine and for the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.corpus.subwords import Bags
from mumon.kernels.layout import count_scratch_rows
from mumon.training.run_state import BlockResult
from mumon.training.sampling import (
    NOISE,
    SAMPLE,
    build_alias_table,
    compute_bag_rates,
    compute_keep_chances,
    compute_noise_distribution,
    compute_row_rates,
    derive_block_seed,
)
from mumon.training.settings import Settings
from mumon.training.weights import Matrix, allocate_matrix, make_shared_weights

# A block is the unit of work of a thread, of random streams and of the rate: some 10 ms of training, small beside an
# epoch even for short corpora.
BLOCK_TOKENS, MIN_BLOCK_TOKENS, BLOCKS_PER_EPOCH = 16_384, 1_024, 256

FREQUENT_ROW = 2e-3  # share of all tokens from which on a row of a bag is exchanged with every piece of a block

Ids = npt.NDArray[np.int32]
TrainBlock = Callable[[int, int, float], BlockResult]  # of an epoch, a block and a rate


class Engine:
    """Two matrices, and how a block of text changes them.

    Parameters
    ----------
    counts
        How often the word of each row occurs.
    source, target
        The matrices, updated in place.
    settings
        What to train.
    locks
        A factor for the steps of each source row, of which there are more than words with bags: 0 freezes it.
    weights
        The weights that all words share, updated in place; by default all 1, for an objective that has any.
    bags
        The source rows of each word, for an objective that has bags.
    """

    def __init__(
        self,
        counts: npt.NDArray[np.int64],
        source: Matrix,
        target: Matrix,
        settings: Settings,
        locks: npt.NDArray[np.float32] | None = None,
        weights: Matrix | None = None,
        bags: Bags | None = None,
    ) -> None:
        self.source, self.target, self.settings = source, target, settings
        if weights is None:
            weights = make_shared_weights(settings.objective_record.weight_rows(settings), source.shape[1])
        self.weights = weights
        self.noise = compute_noise_distribution(counts, settings.ns_exponent)
        self.keep = compute_keep_chances(counts, settings.sample)
        self.alias = build_alias_table(self.noise)
        self.row_rates = compute_row_rates(counts, settings.row_exponent)
        self.bags = bags
        self.source_rates = self.row_rates
        if bags is not None:
            self.middles, self.bags = bags.sort_by_frequency(counts, len(source), FREQUENT_ROW)
            boost = partial(settings.objective_record.source_boost, settings)
            self.source_rates = compute_bag_rates(counts, len(source), bags, settings.row_exponent, boost)
        self.name, self._kernel = load_kernel(settings)
        self.lock(locks)

    def lock(self, locks: npt.NDArray[np.float32] | None) -> None:
        """Set the factor for the steps of each source row, from now on."""
        source, target = self.source_rates, self.row_rates
        if self.bags is None and locks is None:
            self.rates = target
        else:  # one array for both, of which the second row is shorter where words are bags of rows
            self.rates = np.zeros((2, len(source)), np.float32)
            self.rates[0] = source if locks is None else source * locks
            self.rates[1, : len(target)] = target

    def make_block_trainer(
        self,
        corpus: EncodedCorpus,
        lookup: Ids,
        bounds: npt.NDArray[np.int64],
        first_block: int = 0,
        seen: Callable[[Ids], None] | None = None,
    ) -> TrainBlock:
        """Return a function that trains one block of a corpus, with buffers of its own: each thread needs one.

        Parameters
        ----------
        corpus
            The text.
        lookup
            The row of each word of the corpus, -1 for none.
        bounds
            The sentences at which blocks begin (`cut_blocks`).
        first_block
            The number of the corpus's first block in a larger text of which it is a part, so that no two parts have the
            same random draws.
        seen
            Called with the rows of all tokens that were trained.

        Returns
        -------
        function of an epoch, a block and a rate
            It returns a `BlockResult`.
        """
        offsets, settings = corpus.offsets.view(np.ndarray), self.settings  # slices of a memory map take long
        room = int(np.max(offsets[bounds[1:]] - offsets[bounds[:-1]]))
        ids, left, right = (np.empty(room, np.int32) for _ in range(3))
        window = min(settings.window, room)
        bags: dict[str, Any] = {}
        if self.bags is not None:
            scratch = allocate_matrix(
                count_scratch_rows(room, len(self.target), settings.batch, window), self.source.shape[1]
            )
            bags = {"bags": (self.bags.starts, self.middles, self.bags.members, scratch)}
        from mumon.kernels.windows import sample_block

        def train(epoch: int, block: int, alpha: float) -> BlockResult:
            starts = np.array(offsets[bounds[block] : bounds[block + 1] + 1])
            begin, end, number = int(starts[0]), int(starts[-1]), first_block + block
            n = sample_block(
                corpus.read(begin, end), starts - begin, 0, len(starts) - 1, lookup, self.keep, window,
                settings.shrink_windows, settings.shuffle, derive_block_seed(settings.seed, epoch, number, SAMPLE),
                ids, left, right,
            )  # fmt: skip
            weights = (self.weights,) if len(self.weights) else ()
            loss, counted = self._kernel(
                self.source, self.target, ids[:n], left[:n], right[:n], self.alias,
                self.rates, np.float32(alpha),
                derive_block_seed(settings.seed, epoch, number, NOISE), *weights, **bags,
            )  # fmt: skip
            if seen is not None:
                seen(ids[:n])
            return BlockResult(end - begin, n, loss, counted)

        return train


def cut_blocks(offsets: npt.NDArray[np.int64], most: int = BLOCK_TOKENS) -> npt.NDArray[np.int64]:
    """Return the sentences at which blocks begin, and the end: blocks are whole sentences of nearly equal length.

    Parameters
    ----------
    offsets
        Where sentences begin, and the end.
    most
        The most tokens that a block is meant to have.
    """
    tokens = int(offsets[-1])
    size = min(max(tokens // BLOCKS_PER_EPOCH, MIN_BLOCK_TOKENS), most)
    bounds = np.searchsorted(offsets, np.arange(0, tokens, size))
    return np.asarray(np.unique(np.append(bounds, len(offsets) - 1)), np.int64)


def load_kernel(settings: Settings) -> tuple[str, Callable[..., tuple[float, int]]]:
    """Return the name of the kernel that the settings ask for, and a function of what changes from block to block.

    The function takes the weights that all words share, if the objective has any, then their rate if it is to be
    another than the objective's, and the arrays of bags, if it has them, last.
    """
    objective = settings.objective_record
    function: Any = objective.kernel(settings.exact)
    switches = objective.kernel_switches(settings)
    noise = (settings.negative,) if settings.exact else (settings.negative, settings.shared_negatives, settings.batch)

    def train(
        source: Matrix,
        target: Matrix,
        ids: Any,
        left: Any,
        right: Any,
        alias: Any,
        rates: Any,
        alpha: Any,
        seed: np.uint64,
        weights: Matrix | None = None,
        weight_rate: float = objective.weight_rate,
        bags: tuple[Any, ...] = (),
    ) -> tuple[float, int]:
        matrices = (source, target, *bags) if weights is None else (source, target, *bags, weights)
        alphas = (alpha,) if weights is None else (alpha, weight_rate)
        return function(*matrices, ids, left, right, alias, rates, *noise, *alphas, *switches, seed)  # type: ignore[no-any-return]

    return function.__name__, train
