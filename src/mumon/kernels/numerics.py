"""What every training kernel needs: random bits, the sigmoid, the loss of one product, the rates of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mumon.kernels.jit import inlined

# splitmix64 (Steele, Lea and Flood 2014): a counter and a mixer, so that a stream is a pure function of its seed.
GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
S27, S30, S31, S32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)

# Exact in float32, and typed so that float32 arithmetic stays float32.
HALF, QUARTER, FOUR = np.float32(0.5), np.float32(0.25), np.float32(4)
N0, N1, N2 = np.float32(135135), np.float32(17325), np.float32(378)
D1, D2, D3 = np.float32(62370), np.float32(3150), np.float32(28)

# The loss needs logarithms. Computed for one target (exact) or batch (fast) in this many, it costs well under 2 %.
LOSS_TARGETS, LOSS_BATCHES = 16, 64


@inlined
def mix(state: Any) -> Any:
    """Return the 64 random bits of a counter; the caller adds GAMMA for the next ones."""
    z = (state ^ (state >> S30)) * MIX_1
    z = (z ^ (z >> S27)) * MIX_2
    return z ^ (z >> S31)


@inlined
def draw_below(bits: Any, bound: Any) -> Any:
    """Return an integer in [0, bound) from the upper 32 of 64 random bits; the lower ones are free for another use."""
    return np.int64(((bits >> S32) * np.uint64(bound)) >> S32)


@inlined
def sigmoid(x: Any) -> Any:
    """Return σ(x) to about 10⁻⁷ without tables or branches, so that loops over it vectorise.

    σ(x) = ½ + t/(1 + t²) with t = tanh(x/4), and t = n/d is Lambert's continued fraction cut at its seventh term. The
    argument is clamped where float32 can no longer distinguish σ from 0 or 1, and a NaN stays a NaN. No update is
    skipped, as word2vec.c does beyond ±6.
    """
    y = x * QUARTER
    y = FOUR if y > FOUR else y
    y = -FOUR if y < -FOUR else y
    s = y * y
    n = y * (N0 + s * (N1 + s * (N2 + s)))
    d = N0 + s * (D1 + s * (D2 + s * D3))
    return HALF + n * d / (n * n + d * d)


# `rates` is (V,), or (2, V) where source and target rows differ. A kernel is compiled for one of the two: a separate
# argument made skip-gram 6 % slower.


@inlined
def source_rate(rates: Any, word: Any) -> Any:
    """Return the rate of a source row as a multiple of alpha."""
    if rates.ndim == 1:
        return rates[word]
    else:  # noqa: RET505  # Numba drops code in a branch, not what follows it
        return rates[0, word]


@inlined
def target_rate(rates: Any, word: Any) -> Any:
    """Return the rate of a target row as a multiple of alpha."""
    if rates.ndim == 1:
        return rates[word]
    else:  # noqa: RET505
        return rates[1, word]


@inlined
def source_rates(rates: Any) -> Any:
    """Return the rates of all source rows."""
    if rates.ndim == 1:
        return rates
    else:  # noqa: RET505
        return rates[0]


@inlined
def target_rates(rates: Any) -> Any:
    """Return the rates of all target rows."""
    if rates.ndim == 1:
        return rates
    else:  # noqa: RET505
        return rates[1]


@inlined
def minus_log_sigmoid(x: Any) -> Any:
    """Return -log σ(x) in float64, without overflow at either end."""
    if x > 0:
        return math.log1p(math.exp(-x))
    return math.log1p(math.exp(x)) - x
