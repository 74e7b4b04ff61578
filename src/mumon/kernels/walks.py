"""Random walks on a graph in compressed rows: the neighbours of node v are `neighbours[starts[v] : starts[v + 1]]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel
from mumon.kernels.noise import LOW_32, build_alias, draw_from_alias
from mumon.kernels.numerics import GAMMA, draw_below, mix

UNIT = 1.0 / 4294967296.0
WALKS_AT_ONCE = 32  # walks that take their steps in turn: while one waits for memory, the others continue


@kernel
def build_row_aliases(starts: Any, weights: Any) -> Any:
    """Build an alias table for the edges of each node.

    Parameters
    ----------
    starts
        Where the edges of each node begin.
    weights
        The weights of all edges.

    Returns
    -------
    ndarray
        The tables one after another; bins are counted from the node's own start.
    """
    tables = np.empty((weights.shape[0], 2), np.uint32)
    for node in range(starts.shape[0] - 1):
        begin, end = starts[node], starts[node + 1]
        if begin < end:
            row = weights[begin:end].astype(np.float64)
            tables[begin:end] = build_alias(row / row.sum())
    return tables


@inlined
def _draw_step(node: Any, starts: Any, neighbours: Any, aliases: Any, bits: Any) -> Any:
    """Draw a neighbour in proportion to the weight of its edge; without tables all weights are equal."""
    begin, end = starts[node], starts[node + 1]
    if aliases.shape[0] == 0:
        return neighbours[begin + draw_below(bits, end - begin)]
    return neighbours[begin + draw_from_alias(aliases[begin:end], bits)]


@inlined
def _has_edge(source: Any, target: Any, starts: Any, neighbours: Any) -> Any:
    """Return whether a node is among the neighbours of another, which are sorted."""
    low, high = starts[source], starts[source + 1]
    while low < high:
        middle = (low + high) // 2
        if neighbours[middle] < target:
            low = middle + 1
        else:
            high = middle
    return low < starts[source + 1] and neighbours[low] == target


@inlined
def _draw_biased_step(
    before: Any, node: Any, starts: Any, neighbours: Any, aliases: Any, state: Any, back: Any, away: Any
) -> Any:
    """Draw a neighbour by node2vec's weights; return it and the new state of the random numbers.

    It is drawn as a first step is and accepted in proportion to its factor, so no table of pairs of edges is needed.
    """
    most, low, high = max(back, away, 1.0), min(away, 1.0), max(away, 1.0)
    while True:
        following = np.int64(_draw_step(node, starts, neighbours, aliases, mix(state + GAMMA)))
        state += GAMMA + GAMMA
        level = np.float64(mix(state) & LOW_32) * UNIT * most
        if following == before:
            accepted = level < back
        elif level < low or level >= high:  # accepted or not, whichever factor it has
            accepted = level < low
        else:
            accepted = (level < 1.0) == _has_edge(before, following, starts, neighbours)
        if accepted:
            return following, state


@kernel
def walk(
    starts: Any, neighbours: Any, aliases: Any, first: Any, number: Any, seed: Any, back: Any, away: Any, out: Any
) -> None:
    """Walk from each of some nodes.

    Parameters
    ----------
    starts, neighbours
        The graph.
    aliases
        The tables of `build_row_aliases`; none if all weights are equal.
    first
        The node at which each walk starts.
    number
        The number of each walk; its random numbers depend only on this and `seed`.
    seed
        A uint64.
    back, away
        From the second step on, the edge back to the previous node counts `back` times, an edge to a neighbour of the
        previous node once, any other `away` times.
    out
        Row i receives walk i. If it ends early, the rest is -1.
    """
    plain = back == 1.0 and away == 1.0
    states = np.empty(WALKS_AT_ONCE, np.uint64)
    for begin in range(0, out.shape[0], WALKS_AT_ONCE):
        count = min(WALKS_AT_ONCE, out.shape[0] - begin)
        for i in range(count):
            states[i] = mix(seed + np.uint64(number[begin + i]) * GAMMA)
            out[begin + i, 0] = first[begin + i]
        for place in range(1, out.shape[1]):
            for i in range(begin, begin + count):
                node = np.int64(out[i, place - 1])
                degree = starts[node + 1] - starts[node] if node >= 0 else 0
                if degree == 0:
                    out[i, place] = -1
                elif plain or place == 1 or degree == 1:  # with one neighbour, chances do not matter
                    states[i - begin] += GAMMA
                    out[i, place] = _draw_step(node, starts, neighbours, aliases, mix(states[i - begin]))
                else:
                    before = np.int64(out[i, place - 2])
                    out[i, place], states[i - begin] = _draw_biased_step(
                        before, node, starts, neighbours, aliases, states[i - begin], back, away
                    )
