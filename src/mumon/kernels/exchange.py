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
CHUNK_ROWS = 64  # rows; chunks go round among those who add up, so that all have frequent and rare words
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
def take_changes(
    current: Any,
    agreed: Any,
    share: Any,
    shares: Any,
    last: Any,
    updates: Any,
    pace: Any,
    rows: Any,
    values: Any,
    counts: Any,
) -> Any:
    """The changes, undamped, of those of the rows of a share below `last` that are not as agreed.

    Returns how many they are. Of each, the updates that made them are taken along, and begin anew.
    """
    change, n = np.empty(values.shape[1], np.float32), 0
    for chunk in range(share * CHUNK_ROWS, last, shares * CHUNK_ROWS):
        for row in range(chunk, min(chunk + CHUNK_ROWS, last)):
            undamped = np.float32(1.0) / damping(pace[row] * updates[row])
            differs = False
            for i in range(change.shape[0]):
                change[i] = (current[row, i] - agreed[row, i]) * undamped
                differs |= change[i] != 0
            if differs:
                narrow(change, values[n])
                rows[n], counts[n] = row, updates[row]
                updates[row] = np.float32(0.0)
                n += 1
    return n


@inlined
def find_place(row: Any, shares: Any) -> Any:
    """The place of a row among those of its share."""
    return row // (CHUNK_ROWS * shares) * CHUNK_ROWS + row % CHUNK_ROWS


@kernel
def add_changes(rows: Any, values: Any, counts: Any, shares: Any, sums: Any, totals: Any, changed: Any) -> None:
    """Add one replica's changes to those of the others, at the places of their rows."""
    change = np.empty(values.shape[1], np.float32)
    for n in range(rows.shape[0]):
        place = find_place(rows[n], shares)
        changed[place] = True
        totals[place] += counts[n]
        widen(values[n], change)
        for i in range(change.shape[0]):
            sums[place, i] += change[i]


@kernel
def damp_sums(rows: Any, shares: Any, sums: Any, totals: Any, pace: Any, values: Any) -> None:
    """What all replicas together have changed: the sum, damped as if one had made all updates."""
    for n in range(rows.shape[0]):
        place = find_place(rows[n], shares)
        damped = damping(pace[rows[n]] * totals[place])
        for i in range(sums.shape[1]):
            sums[place, i] *= damped
        narrow(sums[place], values[n])


@kernel
def add_rows(matrix: Any, rows: Any, values: Any) -> None:
    """Add changes to the rows they are of."""
    change = np.empty(values.shape[1], np.float32)
    for n in range(rows.shape[0]):
        widen(values[n], change)
        for i in range(change.shape[0]):
            matrix[rows[n], i] += change[i]


@kernel
def merge_rows(
    current: Any, rows: Any, values: Any, sent_rows: Any, sent_values: Any, sent_counts: Any, pace: Any
) -> None:
    """Add what all have changed, less what this replica had sent of it, damped again; both are in the order of rows.

    What rounding had left out of what was sent stays, and is sent the next time.
    """
    change, own = np.empty(current.shape[1], np.float32), np.empty(current.shape[1], np.float32)
    columns, m = values.shape[1], 0
    for n in range(rows.shape[0]):
        row = rows[n]
        widen(values[n], change[:columns])
        if m < sent_rows.shape[0] and sent_rows[m] == row:
            damped = damping(pace[row] * sent_counts[m])
            widen(sent_values[m], own[:columns])
            for i in range(columns):
                change[i] -= own[i] * damped
            m += 1
        for i in range(columns):
            current[row, i] += change[i]
