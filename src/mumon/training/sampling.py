"""Random numbers as pure functions of where they are used, the noise distribution, and subsampling."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mumon.corpus.subwords import Bags

CERTAIN = 1 << 32  # chances are integers of 2³²
TYPICAL_SHARE = 64e-6  # of a word that learns at alpha itself: 1,000 times in 15.7 M words, where alpha was measured
MOST_RATE = 4.0  # the largest factor measured: words that occur 5 times in 15.7 M
SEEDS_AT_ONCE = 1024  # blocks whose seeds are computed together
SAMPLE, NOISE, ORDER, INITIAL = range(4)  # what a stream of random numbers is for


def derive_seed(seed: int, epoch: int, block: int, purpose: int) -> np.uint64:
    """Return the seed of one stream of random numbers, which does not depend on the thread that uses it.

    Parameters
    ----------
    seed
        Of the training.
    epoch, block
        Where the numbers are used.
    purpose
        What for: SAMPLE, NOISE, ORDER or INITIAL.

    >>> len({int(derive_seed(1, 0, block, SAMPLE)) for block in (0, 1, 1)})
    2
    """
    seed_: np.uint64 = np.random.SeedSequence((seed, epoch, block, purpose)).generate_state(1, np.uint64)[0]
    return seed_


def derive_block_seed(seed: int, epoch: int, block: int, purpose: int) -> np.uint64:
    """Return what `derive_seed` returns, from a table of the blocks around: threads ask for it while others wait.

    >>> derive_block_seed(1, 2, 3, SAMPLE) == derive_seed(1, 2, 3, SAMPLE)
    np.True_
    """
    chunk, place = divmod(block, SEEDS_AT_ONCE)
    if block >= 1 << 31:  # of more tokens than there will be
        return derive_seed(seed, epoch, block, purpose)
    found: np.uint64 = _derive_seeds(seed, epoch, chunk, purpose)[place]
    return found


@functools.lru_cache(maxsize=1 << 12)
def _derive_seeds(seed: int, epoch: int, chunk: int, purpose: int) -> npt.NDArray[np.uint64]:
    """Compute the seeds of consecutive blocks together, by the algorithm of NumPy's SeedSequence, which is fixed."""
    blocks = np.arange(chunk * SEEDS_AT_ONCE, (chunk + 1) * SEEDS_AT_ONCE, dtype=np.uint32)
    same = [np.full(len(blocks), word, np.uint32) for word in (*_split(seed), *_split(epoch))]
    entropy = [*same, blocks, np.full(len(blocks), purpose, np.uint32)]
    constant = 0x43B0D7E5

    def hashed(words: npt.NDArray[np.uint32], factor: int = 0x931E8875) -> npt.NDArray[np.uint32]:
        nonlocal constant
        words = words ^ np.uint32(constant)
        constant = constant * factor & 0xFFFFFFFF
        words = words * np.uint32(constant)
        return words ^ (words >> np.uint32(16))

    def mixed(words: npt.NDArray[np.uint32], others: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
        words = words * np.uint32(0xCA01F9DD) - hashed(others) * np.uint32(0x4973F715)
        return words ^ (words >> np.uint32(16))

    pool = [hashed(words) for words in entropy[:4]]
    for source in range(4):
        for target in range(4):
            if source != target:
                pool[target] = mixed(pool[target], pool[source])
    for words in entropy[4:]:
        pool = [mixed(target, words) for target in pool]
    constant = 0x8B51F9DD
    low, high = (hashed(words, 0x58F38DED).astype(np.uint64) for words in pool[:2])
    return low | high << np.uint64(32)


def _split(number: int) -> list[int]:
    """Split a number into words of 32 bits, the lowest first."""
    return [number >> shift & 0xFFFFFFFF for shift in range(0, max(number.bit_length(), 1), 32)]


def compute_noise_distribution(counts: npt.NDArray[np.int64], exponent: float) -> npt.NDArray[np.float64]:
    """Return the distribution of noise words, P_n(w) ∝ count(w)^exponent.

    >>> compute_noise_distribution(np.array([16, 1]), 0.75).round(3).tolist()
    [0.889, 0.111]
    """
    if not counts.any():
        return np.full(len(counts), 1 / len(counts))
    # In logarithms, so that no exponent overflows. A word that never occurs is no noise, whatever the exponent.
    logs = np.where(counts > 0, exponent * np.log(np.maximum(counts, 1).astype(np.float64)), -np.inf)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def build_alias_table(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.uint32]:
    """Build Vose's alias table: a draw from any distribution in constant time, exact for rare words.

    Row w holds the share of bin w (of 2³²) that word w keeps and the word that has the rest.
    """
    from mumon.kernels.noise import build_alias

    return np.asarray(build_alias(np.ascontiguousarray(probabilities, np.float64)))


def compute_keep_chances(counts: npt.NDArray[np.int64], sample: float) -> npt.NDArray[np.uint64]:
    """Return the chance (of 2³²) that an occurrence of each word survives subsampling.

    word2vec's rule, with f a word's share of the corpus: √(sample/f) + sample/f, at most 1; sample = 0 keeps all.

    >>> (compute_keep_chances(np.array([999_000, 1_000]), 1e-3) / CERTAIN).round(3).tolist()
    [0.033, 1.0]
    """
    if sample == 0:
        return np.full(len(counts), CERTAIN, np.uint64)
    # 1 keeps all, and more might overflow; so would int64, before its counts do
    ratio = min(sample, 1.0) * counts.sum(dtype=np.float64) / np.maximum(counts, 1)
    return np.asarray((np.minimum(np.sqrt(ratio) + ratio, 1.0) * CERTAIN).astype(np.uint64))


def compute_row_rates(
    counts: npt.NDArray[np.int64], exponent: float, tokens: float | None = None
) -> npt.NDArray[np.float32]:
    """Return the rate of each row as a multiple of alpha: ∝ share^-exponent, 1 at TYPICAL_SHARE, at most MOST_RATE.

    A share is a part of all counts, or of `tokens` where a token counts for several rows. A rare word has few updates
    to get where it should be; a frequent one has many, and large ones would be noise. Where all words are more frequent
    than TYPICAL_SHARE, the rarest learns at alpha.

    >>> [round(float(rate), 2) for rate in compute_row_rates(np.array([937_500, 62_436, 63, 1]), 0.25)]
    [0.09, 0.18, 1.0, 2.83]
    >>> compute_row_rates(np.array([5, 5, 5]), 0.25).tolist()
    [1.0, 1.0, 1.0]
    """
    shares = np.maximum(counts, 1) / max(counts.sum(dtype=np.float64) if tokens is None else tokens, 1.0)
    reference = max(TYPICAL_SHARE, float(shares.min(initial=1.0)))
    return np.asarray(np.minimum((shares / reference) ** -exponent, MOST_RATE), np.float32)


def compute_bag_rates(
    counts: npt.NDArray[np.int64], rows: int, bags: Bags, exponent: float, boost: Callable[[float], float]
) -> npt.NDArray[np.float32]:
    """Return the rates of source rows of which words have several each, as multiples of alpha.

    Parameters
    ----------
    counts
        How often each word occurs.
    rows
        How many source rows there are.
    bags
        The rows of each word.
    exponent
        As in `compute_row_rates`: the share of a row is that of all words whose bag has it.
    boost
        A factor for all of them, by the number of rows that a token has on average.
    """
    tokens = max(counts.sum(dtype=np.float64), 1.0)
    usual = float((counts * bags.sizes).sum(dtype=np.float64) / tokens) or 1.0
    rates = compute_row_rates(bags.count_rows(counts, rows), exponent, tokens)
    return np.asarray(rates * boost(usual), np.float32)
