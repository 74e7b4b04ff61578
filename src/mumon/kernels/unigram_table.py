"""word2vec.c's way to draw noise words, for comparison: a table in which each word has as many entries as its share."""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import kernel

FACTOR, TERM = np.uint64(25214903917), np.uint64(11)  # word2vec.c's linear congruential generator
S16 = np.uint64(16)


@kernel
def build_unigram_table(probabilities: Any, table: Any) -> None:
    """Fill `table` as InitUnigramTable does: each entry moves on by one word at most, so that the rarest get one."""
    V, size = probabilities.shape[0], table.shape[0]
    word = 0
    upto = probabilities[0]
    for entry in range(size):
        table[entry] = word
        if entry / size > upto:
            word += 1
            if word >= V:
                word = V - 1
            else:  # word2vec.c reads on past its vocabulary here
                upto += probabilities[word]


@kernel
def draw_from_table(table: Any, seed: Any, out: Any) -> None:
    """Fill `out` with words as word2vec.c draws them."""
    state, size = seed, np.uint64(table.shape[0])
    for i in range(out.shape[0]):
        state = state * FACTOR + TERM
        out[i] = table[np.int64((state >> S16) % size)]
