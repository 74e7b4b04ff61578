"""From corpus ids to what a training kernel reads: the tokens that remain after subsampling, and their windows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import kernel
from mumon.kernels.numerics import GAMMA, S32, draw_below, mix


@kernel
def sample_block(
    corpus: Any,
    offsets: Any,
    first: Any,
    last: Any,
    lookup: Any,
    keep: Any,
    window: Any,
    shrink: Any,
    shuffle: Any,
    seed: Any,
    ids: Any,
    left: Any,
    right: Any,
) -> Any:
    """Subsample sentences and draw each token's window.

    A sentence with one token left has no context and is dropped.

    Parameters
    ----------
    corpus
        int32: the ids of every word of the text.
    offsets
        Sentence s is corpus[offsets[s]:offsets[s+1]].
    first, last
        The sentences of the block are first … last - 1.
    lookup
        The row of the model of each id; -1 for words outside its vocabulary.
    keep
        The chance of each row to remain, of 2³².
    window
        Windows reach this many words to each side, and end with the sentence.
    shrink
        Whether the reach is drawn from 1 … `window`.
    shuffle
        Whether sentences come in random order.
    seed
        A uint64, on which all draws depend.
    ids
        Receives the rows of the tokens that remain.
    left, right
        Receive their windows: the tokens of token i are left[i] … right[i] - 1.

    Returns
    -------
    int
        The number of tokens that remain.
    """
    state, n = seed, np.int64(0)
    order = np.arange(first, last)
    if shuffle:
        for s in range(order.shape[0] - 1, 0, -1):
            state += GAMMA
            other = draw_below(mix(state), s + 1)
            order[s], order[other] = order[other], order[s]
    for sentence in order:
        begin = n
        for position in range(offsets[sentence], offsets[sentence + 1]):
            word = lookup[corpus[position]]
            if word >= 0:
                state += GAMMA
                if (mix(state) >> S32) < keep[word]:
                    ids[n] = word
                    n += 1
        if n - begin < 2:
            n = begin
            continue
        for i in range(begin, n):
            reach = window
            if shrink:
                state += GAMMA
                reach = 1 + draw_below(mix(state), window)
            left[i] = max(begin, i - reach)
            right[i] = min(n, i + reach + 1)
    return n
