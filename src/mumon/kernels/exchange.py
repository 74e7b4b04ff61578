"""What replicas of a matrix tell each other: changes of rows since all agreed, as bfloat16, and how these add up.

A float32 keeps its first 16 bits, rounded to the nearest, ties to even: 8 bits of precision and the whole range. Below,
`pace` is how far one update of a row goes on the way to where its updates would come to rest, and

    damping(x) = (1 - exp(-x)) / x

is what is left of an update, on average, when x = pace · updates of them follow one another: 1 while they are few, and
1 / x when they have arrived.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel

S16, HALF, ONE = np.uint32(16), np.uint32(0x7FFF), np.uint32(1)
SMALL = 1e-4  # below, the quotient would lose its digits


@inlined
def damping(x: Any) -> Any:
    """(1 - exp(-x)) / x."""
    if x < SMALL:
        return np.float32(1.0 - 0.5 * x)
    return np.float32((1.0 - np.exp(-x)) / x)


@kernel
def narrow(wide: Any, narrowed: Any) -> None:
    """bfloat16 of a contiguous row of float32."""
    bits = wide.view(np.uint32)
    for i in range(bits.shape[0]):
        narrowed[i] = np.uint16((bits[i] + HALF + ((bits[i] >> S16) & ONE)) >> S16)


@kernel
def widen(narrowed: Any, wide: Any) -> None:
    """The float32 that a row of bfloat16 stands for."""
    bits = wide.view(np.uint32)
    for i in range(bits.shape[0]):
        bits[i] = np.uint32(narrowed[i]) << S16


@kernel
def count_rows(ids: Any, updates: Any) -> None:
    """Another update of each of these rows, in both matrices."""
    for i in range(ids.shape[0]):
        updates[0, ids[i]] += np.float32(1.0)
        updates[1, ids[i]] += np.float32(1.0)


@kernel
def changed_rows(current: Any, agreed: Any, first: Any, step: Any, last: Any, rows: Any) -> Any:
    """Those of the rows first, first + step, … below `last` that are not as agreed; returns how many."""
    n = 0
    for row in range(first, last, step):
        differs = False
        for i in range(current.shape[1]):
            differs |= current[row, i] != agreed[row, i]
        if differs:
            rows[n] = row
            n += 1
    return n


@kernel
def take_changes(current: Any, agreed: Any, rows: Any, updates: Any, pace: Any, values: Any, counts: Any) -> None:
    """The changes of rows, undamped, and the updates that made them, which begin anew."""
    change = np.empty(values.shape[1], np.float32)
    for n in range(rows.shape[0]):
        row = rows[n]
        counts[n] = updates[row]
        undamped = np.float32(1.0) / damping(pace[row] * updates[row])
        updates[row] = np.float32(0.0)
        for i in range(change.shape[0]):
            change[i] = (current[row, i] - agreed[row, i]) * undamped
        narrow(change, values[n])


@kernel
def add_changes(rows: Any, values: Any, counts: Any, first: Any, step: Any, sums: Any, totals: Any) -> None:
    """Add one replica's changes to those of the others; row r has its sum at (r - first) / step."""
    change = np.empty(values.shape[1], np.float32)
    for n in range(rows.shape[0]):
        place = (rows[n] - first) // step
        totals[place] += counts[n]
        widen(values[n], change)
        for i in range(change.shape[0]):
            sums[place, i] += change[i]


@kernel
def damp_sums(rows: Any, first: Any, step: Any, sums: Any, totals: Any, pace: Any, values: Any) -> None:
    """What all replicas together have changed: the sum, damped as if one had made all updates."""
    for n in range(rows.shape[0]):
        place = (rows[n] - first) // step
        damped = damping(pace[rows[n]] * totals[place])
        for i in range(sums.shape[1]):
            sums[place, i] *= damped
        narrow(sums[place], values[n])


@kernel
def apply_changes(matrix: Any, rows: Any, values: Any) -> None:
    """Add changes to the rows they are of."""
    change = np.empty(values.shape[1], np.float32)
    for n in range(rows.shape[0]):
        widen(values[n], change)
        for i in range(change.shape[0]):
            matrix[rows[n], i] += change[i]


@kernel
def take_back(matrix: Any, rows: Any, values: Any, counts: Any, pace: Any) -> None:
    """Take from rows what was sent of them, damped again: what rounding left out stays, and is sent next time."""
    change = np.empty(values.shape[1], np.float32)
    for n in range(rows.shape[0]):
        damped = damping(pace[rows[n]] * counts[n])
        widen(values[n], change)
        for i in range(change.shape[0]):
            matrix[rows[n], i] -= change[i] * damped
