"""From corpus ids to what a training kernel reads: kept tokens and their windows."""

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
    """Subsample sentences [first, last) and draw each token's window; returns how many tokens remain.

    corpus (int32) holds the ids of every word of the text, sentence s at offsets[s]:offsets[s+1]; lookup maps them to
    rows of the model, -1 for words outside its vocabulary. keep[row] is the chance of staying, of 2³². Windows reach
    1 … `window` words to each side (always `window` without `shrink`) and stop at the sentence's ends. A sentence
    with one token left has no context and is passed over.
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
