"""Vose's construction of the alias table."""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import kernel


@kernel
def build_alias(probabilities: Any) -> Any:
    """The (V, 2) uint32 table of `alias_draw`: each bin is shared by its own word and at most one other."""
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
    for i in range(small):  # what rounding left over fills its bin alone
        table[stack[i], 0], table[stack[i], 1] = 4294967295, stack[i]
    for i in range(large, V):
        table[stack[i], 0], table[stack[i], 1] = 4294967295, stack[i]
    return table
