"""Noise words: drawn from Vose's alias table when training, and from word2vec.c's table for comparison.

An alias table has one bin per word. One 64-bit draw gives one word: the upper 32 bits choose the bin, the lower 32
which of the bin's two words it is. A noise word that equals the target is left out, not drawn again, in all training
kernels and in the reference, so that exact and fast kernels have the same expected gradient, k Σ_{n≠o} P(n) ∂L_n.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel
from mumon.kernels.numerics import GAMMA, draw_below, mix

LOW_32 = np.uint64(0xFFFFFFFF)
FACTOR, TERM, S16 = np.uint64(25214903917), np.uint64(11), np.uint64(16)  # word2vec.c's linear congruential generator


@kernel
def build_alias(probabilities: Any) -> Any:
    """Build Vose's alias table, in which each bin is shared by its own word and at most one other.

    Parameters
    ----------
    probabilities
        (V,) float64 that add up to 1.

    Returns
    -------
    ndarray
        (V, 2) uint32: the share (of 2³²) of a bin that its own word has, and the other word.
    """
    V = probabilities.shape[0]
    scaled = probabilities * V
    table = np.empty((V, 2), np.uint32)
    stack = np.empty(V, np.int64)  # small bins grow from the left end, large ones from the right
    small, large = 0, V
    for word in range(V):
        if scaled[word] < 1.0:
            stack[small] = word
            small += 1
        else:
            large -= 1
            stack[large] = word
    while small > 0 and large < V:
        small -= 1
        poor, rich = stack[small], stack[large]
        table[poor, 0] = np.uint32(min(scaled[poor] * 4294967296.0, 4294967295.0))
        table[poor, 1] = rich
        scaled[rich] -= 1.0 - scaled[poor]
        if scaled[rich] < 1.0:
            large += 1
            stack[small] = rich
            small += 1
    for i in range(small):  # what rounding leaves over has its bin alone
        table[stack[i], 0], table[stack[i], 1] = 4294967295, stack[i]
    for i in range(large, V):
        table[stack[i], 0], table[stack[i], 1] = 4294967295, stack[i]
    return table


@inlined
def draw_from_alias(alias: Any, bits: Any) -> Any:
    """Return the word that 64 random bits draw from the table of `build_alias`."""
    own = draw_below(bits, alias.shape[0])
    return own if (bits & LOW_32) < np.uint64(alias[own, 0]) else np.int64(alias[own, 1])


@inlined
def draw_words(alias: Any, state: Any, out: Any) -> Any:
    """Fill `out` with noise words; return the new state of the random numbers."""
    for i in range(out.shape[0]):
        state += GAMMA
        out[i] = draw_from_alias(alias, mix(state))
    return state


@kernel
def draw_negatives(alias: Any, seed: Any, out: Any) -> None:
    """Draw the noise words that a training kernel with the same seed draws, in its order.

    Parameters
    ----------
    alias
        The table of `build_alias`.
    seed
        A uint64.
    out
        Receives the words.
    """
    draw_words(alias, seed, out)


@kernel
def build_unigram_table(probabilities: Any, table: Any) -> None:
    """Fill a table as word2vec.c's InitUnigramTable does: a word has as many entries as its share, and at least one.

    Parameters
    ----------
    probabilities
        (V,) float64 that add up to 1.
    table
        Receives words. Each entry moves on by one word at most.
    """
    V, size = probabilities.shape[0], table.shape[0]
    word = 0
    upto = probabilities[0]
    for entry in range(size):
        table[entry] = word
        if entry / size > upto:
            word += 1
            if word >= V:
                word = V - 1
            else:  # word2vec.c reads past its vocabulary here
                upto += probabilities[word]


@kernel
def draw_from_table(table: Any, seed: Any, out: Any) -> None:
    """Draw words as word2vec.c does.

    Parameters
    ----------
    table
        As filled by `build_unigram_table`.
    seed
        A uint64.
    out
        Receives the words.
    """
    state, size = seed, np.uint64(table.shape[0])
    for i in range(out.shape[0]):
        state = state * FACTOR + TERM
        out[i] = table[np.int64((state >> S16) % size)]
