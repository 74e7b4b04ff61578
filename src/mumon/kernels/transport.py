"""The transport problem, the least cost of moving amounts from some places to others, by the simplex on trees.

Row i has supply[i], column j needs demand[j]. A basic solution moves amounts along the arcs of a spanning tree of the
rows (nodes 0 … n-1) and columns (nodes n … n+m-1). The prices of its nodes are such that an arc of the tree costs the
sum of its two ends. An arc that costs less than that enters the tree; in the cycle that this closes, as much moves over
as possible, and the arc that is then empty leaves.

Amounts are integers, so rounding touches costs alone. Each is multiplied, and a 1 added for each row: then no arc of a
tree is ever empty (Orden 1956), every step makes the cost less, and no tree comes twice. The additions are too small to
reach the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel

NONE = -1
TOLERANCE = 1e-12  # of the greatest cost: what an arc must save at least, more than rounding can feign
PARENT, DEPTH, CHILD, NEXT, PREVIOUS = 0, 1, 2, 3, 4  # the columns of a tree: its links, and how far the root is


@inlined
def hang(tree: Any, node: Any, parent: Any) -> None:
    """Make a node the first child of another."""
    first = tree[parent, CHILD]
    tree[node, PARENT], tree[node, NEXT], tree[node, PREVIOUS] = parent, first, NONE
    if first != NONE:
        tree[first, PREVIOUS] = node
    tree[parent, CHILD] = node


@inlined
def take_off(tree: Any, node: Any) -> None:
    """Take a node away from its parent."""
    before, after = tree[node, PREVIOUS], tree[node, NEXT]
    if before != NONE:
        tree[before, NEXT] = after
    else:
        tree[tree[node, PARENT], CHILD] = after
    if after != NONE:
        tree[after, PREVIOUS] = before


@inlined
def step_down(tree: Any, node: Any, top: Any) -> Any:
    """Return the node that comes after another in the subtree of `top`, parents first; `top` after the last."""
    if tree[node, CHILD] != NONE:
        return tree[node, CHILD]
    while node != top and tree[node, NEXT] == NONE:
        node = tree[node, PARENT]
    return node if node == top else tree[node, NEXT]


@inlined
def build_tree(supply: Any, demand: Any, costs: Any, tree: Any, flow: Any, price: Any) -> None:
    """Send each row's supply to the cheapest columns that are still open; the arcs form a spanning tree."""
    n, m = costs.shape
    least = np.empty(m)
    for j in range(m):
        least[j] = costs[0, j]
        for i in range(1, n):
            least[j] = min(least[j], costs[i, j])
    # The arcs that meet at a node are a list: the k-th arc is entry 2k of its row's and 2k+1 of its column's.
    first, following = np.empty(n + m, np.int64), np.empty(2 * (n + m), np.int64)
    amounts, ends = np.empty(n + m, np.int64), np.empty(2 * (n + m), np.int64)
    for node in range(n + m):
        first[node] = NONE
        tree[node, PARENT] = tree[node, CHILD] = tree[node, NEXT] = tree[node, PREVIOUS] = NONE
    arcs = 0
    for i in range(n):
        while supply[i] > 0:
            best = NONE
            for j in range(m):
                if demand[j] > 0 and (best == NONE or costs[i, j] - least[j] < costs[i, best] - least[best]):
                    best = j
            amounts[arcs] = min(supply[i], demand[best])
            supply[i] -= amounts[arcs]
            demand[best] -= amounts[arcs]
            ends[2 * arcs], ends[2 * arcs + 1] = n + best, i
            following[2 * arcs], first[i] = first[i], 2 * arcs
            following[2 * arcs + 1], first[n + best] = first[n + best], 2 * arcs + 1
            arcs += 1
    tree[0, DEPTH], price[0] = 0, 0.0
    node = 0
    while True:
        entry = first[node]
        while entry != NONE:
            other = ends[entry]
            if other != tree[node, PARENT]:
                hang(tree, other, node)
                tree[other, DEPTH], flow[other] = tree[node, DEPTH] + 1, amounts[entry >> 1]
                price[other] = costs[min(node, other), max(node, other) - n] - price[node]
            entry = following[entry]
        node = step_down(tree, node, 0)
        if node == 0:
            break


@inlined
def pivot(i: Any, j: Any, saved: Any, n: Any, tree: Any, flow: Any, price: Any) -> None:
    """Let the arc from row i to column j (node n + j) enter the tree, and the one that it empties leave."""
    row, column = i, n + j
    # Around the cycle: what enters at the column is taken from the arcs above it, every second of which has more then.
    a, b, amount, leaving = row, column, np.int64(-1), np.int64(-1)
    while a != b:
        if tree[a, DEPTH] >= tree[b, DEPTH]:
            if a < n and (amount < 0 or flow[a] < amount):
                amount, leaving = flow[a], a
            a = tree[a, PARENT]
        else:
            if b >= n and (amount < 0 or flow[b] < amount):
                amount, leaving = flow[b], b
            b = tree[b, PARENT]
    join, a, b = a, row, column
    while a != join:
        flow[a] += amount if a >= n else -amount
        a = tree[a, PARENT]
    while b != join:
        flow[b] += amount if b < n else -amount
        b = tree[b, PARENT]
    # What hangs below the leaving arc is hung below the entering one: the way up from its end is turned round.
    top, parent = (row, column) if leaving < n else (column, row)
    node, carried = top, amount
    while True:
        up, had = tree[node, PARENT], flow[node]
        take_off(tree, node)
        hang(tree, node, parent)
        flow[node] = carried
        if node == leaving:
            break
        node, parent, carried = up, node, had
    node = top
    while True:
        tree[node, DEPTH] = tree[tree[node, PARENT], DEPTH] + 1
        price[node] += saved if (node < n) == (top < n) else -saved
        node = step_down(tree, node, top)
        if node == top:
            break


@kernel
def find_least_cost(supply: Any, demand: Any, costs: Any) -> Any:
    """Return the least cost of moving `supply` to `demand`, integers above 0 of equal sums, which are overwritten.

    costs[i, j] is what it takes to move one unit from row i to column j.
    """
    n, m = costs.shape
    scale = 2 * (n + 1)
    for i in range(n):
        supply[i] = supply[i] * scale + 1
    for j in range(m):
        demand[j] *= scale
    demand[m - 1] += n
    tree, flow, price = np.empty((n + m, 5), np.int64), np.zeros(n + m, np.int64), np.empty(n + m)
    build_tree(supply, demand, costs, tree, flow, price)
    greatest = 0.0
    for i in range(n):
        for j in range(m):
            greatest = max(greatest, abs(costs[i, j]))
    least = -TOLERANCE * greatest
    i, idle = 0, 0  # rows are looked at in turn, until none has an arc that saves anything
    while idle < n:
        best, entering = least, NONE
        for j in range(m):
            saved = costs[i, j] - price[i] - price[n + j]
            if saved < best:
                best, entering = saved, j
        if entering == NONE:
            idle += 1
        else:
            pivot(i, entering, best, n, tree, flow, price)
            idle = 0
        i = i + 1 if i + 1 < n else 0
    total = 0.0
    for node in range(1, n + m):
        parent = tree[node, PARENT]
        total += (flow[node] + scale // 2) // scale * costs[min(node, parent), max(node, parent) - n]
    return total
