"""Three ways to draw noise words: Vose's alias table, a search in the cumulative distribution, word2vec.c's table.

The probabilities that each really draws with are computed from its tables, not estimated from draws.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
EXPONENT = 0.75
TABLE_ENTRIES = 100_000_000  # word2vec.c's table_size
RAREST_COUNT = 5  # the count of the rarest word
DRAWS_AT_A_TIME = 1_000_000  # so that NumPy's temporary arrays stay small


class Sampler(ABC):
    """A way to draw words with given probabilities, from which it builds its tables."""

    name: str

    @abstractmethod
    def __init__(self, probabilities: Floats) -> None: ...

    @abstractmethod
    def draw(self, out: npt.NDArray[np.int32]) -> None:
        """Fill `out` with random words."""

    @abstractmethod
    def compute_probabilities(self, words: int) -> Floats:
        """Compute the probability with which each word is really drawn."""

    @property
    @abstractmethod
    def bytes(self) -> int:
        """The memory of the tables."""


class AliasSampler(Sampler):
    """The sampler of mumon: constant time, two numbers per word."""

    name = "alias table"

    def __init__(self, probabilities: Floats) -> None:
        from mumon.training.sampling import build_alias_table

        self.table = build_alias_table(probabilities)

    def draw(self, out: npt.NDArray[np.int32]) -> None:
        from mumon.kernels.noise import draw_negatives

        draw_negatives(self.table, np.uint64(1), out)

    def compute_probabilities(self, words: int) -> Floats:
        # A bin is drawn by multiplying 32 random bits: some bins get one of the 2³² values more than others.
        edges = -(-np.arange(words + 1, dtype=np.int64) * (1 << 32) // words)
        bins = np.diff(edges) / 2.0**32
        own = self.table[:, 0] / 2.0**32
        from_others = np.bincount(self.table[:, 1].astype(np.int64), weights=bins * (1 - own), minlength=words)
        return np.asarray(bins * own + from_others)

    @property
    def bytes(self) -> int:
        return int(self.table.nbytes)


class SearchSampler(Sampler):
    """A binary search for a uniform number among the cumulative probabilities: logarithmic time."""

    name = "np.searchsorted"

    def __init__(self, probabilities: Floats) -> None:
        self.cumulative = np.cumsum(probabilities)
        self.cumulative /= self.cumulative[-1]

    def draw(self, out: npt.NDArray[np.int32]) -> None:
        random = np.random.default_rng(1)
        for first in range(0, len(out), DRAWS_AT_A_TIME):
            part = out[first : first + DRAWS_AT_A_TIME]
            part[:] = np.searchsorted(self.cumulative, random.random(len(part)), side="right")

    def compute_probabilities(self, words: int) -> Floats:
        return np.diff(self.cumulative, prepend=0.0)

    @property
    def bytes(self) -> int:
        return int(self.cumulative.nbytes)


class TableSampler(Sampler):
    """The sampler of word2vec.c: constant time, 10⁸ entries; the rarest words are drawn too often or never."""

    name = "word2vec.c's table"

    def __init__(self, probabilities: Floats, entries: int = TABLE_ENTRIES) -> None:
        from mumon.kernels.noise import build_unigram_table

        self.table = np.empty(entries, np.int32)
        build_unigram_table(probabilities, self.table)

    def draw(self, out: npt.NDArray[np.int32]) -> None:
        from mumon.kernels.noise import draw_from_table

        draw_from_table(self.table, np.uint64(1), out)

    def compute_probabilities(self, words: int) -> Floats:
        counts = np.zeros(words, np.int64)
        for first in range(0, len(self.table), 10 * DRAWS_AT_A_TIME):
            counts += np.bincount(self.table[first : first + 10 * DRAWS_AT_A_TIME], minlength=words)
        return np.asarray(counts / len(self.table))

    @property
    def bytes(self) -> int:
        return int(self.table.nbytes)


SAMPLERS: tuple[type[Sampler], ...] = (AliasSampler, SearchSampler, TableSampler)


@dataclass(frozen=True)
class Distortion:
    """How far drawn probabilities are from the wanted ones. Errors are relative; `distance` is the total variation."""

    largest_error: float
    mean_error: float
    never_drawn: int
    distance: float


def measure_distortion(implied: Floats, wanted: Floats) -> Distortion:
    """Compare drawn with wanted probabilities.

    >>> measure_distortion(np.array([0.75, 0.25, 0.0]), np.array([0.5, 0.25, 0.25]))
    Distortion(largest_error=1.0, mean_error=0.5, never_drawn=1, distance=0.25)
    """
    gap = np.abs(implied - wanted)
    error = gap / wanted
    never = int((implied == 0).sum())
    return Distortion(float(error.max()), float(error.mean()), never, float(gap.sum()) / 2)


def compute_zipf_probabilities(words: int) -> Floats:
    """Compute the noise distribution for counts that fall as 1/rank, down to RAREST_COUNT.

    >>> compute_zipf_probabilities(4).round(3).tolist()
    [0.425, 0.253, 0.172, 0.15]
    """
    from mumon.training.sampling import compute_noise_distribution

    return compute_noise_distribution(RAREST_COUNT * words // np.arange(1, words + 1), EXPONENT)
