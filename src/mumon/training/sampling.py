"""Random numbers as pure functions of where they are used, the noise distribution, and subsampling."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

CERTAIN = 1 << 32  # chances are integers of 2³²
TYPICAL_SHARE = 64e-6  # of a word that learns at alpha itself: 1,000 times in 15.7 M words, where alpha was measured
MOST_RATE = 4.0  # the largest factor measured: words that occur 5 times in 15.7 M
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


def compute_row_rates(counts: npt.NDArray[np.int64], exponent: float) -> npt.NDArray[np.float32]:
    """Return the rate of each row as a multiple of alpha: ∝ share^-exponent, 1 at TYPICAL_SHARE, at most MOST_RATE.

    A rare word has few updates to get where it should be; a frequent one has many, and large ones would be noise. Where
    all words are more frequent than TYPICAL_SHARE, the rarest learns at alpha.

    >>> [round(float(rate), 2) for rate in compute_row_rates(np.array([937_500, 62_436, 63, 1]), 0.25)]
    [0.09, 0.18, 1.0, 2.83]
    >>> compute_row_rates(np.array([5, 5, 5]), 0.25).tolist()
    [1.0, 1.0, 1.0]
    """
    shares = np.maximum(counts, 1) / max(counts.sum(dtype=np.float64), 1.0)
    reference = max(TYPICAL_SHARE, float(shares.min(initial=1.0)))
    return np.asarray(np.minimum((shares / reference) ** -exponent, MOST_RATE), np.float32)
