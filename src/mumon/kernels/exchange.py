"""What replicas of a matrix exchange: changes of rows since the replicas were last equal, as bfloat16, and their sums.

A bfloat16 is the first 16 bits of a float32, rounded to the nearest, ties to even: 8 bits of precision and the whole
range. `pace` is the fraction of the way to its equilibrium that one update of a row covers, and

    damping(x) = (1 - exp(-x)) / x

is what remains of an update, on average, after x = pace · updates of them: 1 while they are few, and 1 / x once the row
has reached its equilibrium.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mumon.kernels.jit import inlined, kernel

S16, HALF, ONE = np.uint32(16), np.uint32(0x7FFF), np.uint32(1)
CHUNK_ROWS = 64  # shares consist of every n-th chunk of rows, so that each has frequent and rare words
SERIES_BELOW = 1e-4  # the quotient loses precision for smaller x; two terms of the series are exact enough


@inlined
def damping(x: Any) -> Any:
    """Return (1 - exp(-x)) / x."""
    if x < SERIES_BELOW:
        return np.float32(1.0 - 0.5 * x)
    return np.float32((1.0 - np.exp(-x)) / x)


@kernel
def narrow(wide: Any, narrowed: Any) -> None:
    """Round a contiguous row of float32 to bfloat16."""
    bits = wide.view(np.uint32)
    for i in range(bits.shape[0]):
        narrowed[i] = np.uint16((bits[i] + HALF + ((bits[i] >> S16) & ONE)) >> S16)


@kernel
def widen(narrowed: Any, wide: Any) -> None:
    """Convert a row of bfloat16 to float32."""
    bits = wide.view(np.uint32)
    for i in range(bits.shape[0]):
        bits[i] = np.uint32(narrowed[i]) << S16


@kernel
def count_rows(ids: Any, updates: Any) -> None:
    """Count another update of each of these rows, in both matrices."""
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
    """Collect the changes of a share of the rows since the replicas were last equal.

    Parameters
    ----------
    current, agreed
        The matrix as it is, and as it was when the replicas were equal.
    share, shares
        Which of how many shares.
    last
        Only rows before this one.
    updates
        The updates of each row since then; those of collected rows are reset to 0.
    pace
        Of each row.
    rows, values, counts
        Receive the rows that changed, their changes without damping as bfloat16, and their updates.

    Returns
    -------
    int
        The number of rows that changed.
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
    """Return the place of a row among those of its share."""
    return row // (CHUNK_ROWS * shares) * CHUNK_ROWS + row % CHUNK_ROWS


@kernel
def add_changes(rows: Any, values: Any, counts: Any, shares: Any, sums: Any, totals: Any, changed: Any) -> None:
    """Add one replica's changes to the sums of a share.

    Parameters
    ----------
    rows, values, counts
        As collected by `take_changes`.
    shares
        The number of shares.
    sums, totals, changed
        By place in the share: the sums of changes and of updates, and whether the row has changed.
    """
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
    """Damp the sums of changes as if one replica had made all updates.

    Parameters
    ----------
    rows
        The rows of the share that changed.
    shares
        The number of shares.
    sums, totals
        As summed by `add_changes`; the sums are changed.
    pace
        Of each row.
    values
        Receives the damped changes as bfloat16.
    """
    for n in range(rows.shape[0]):
        place = find_place(rows[n], shares)
        damped = damping(pace[rows[n]] * totals[place])
        for i in range(sums.shape[1]):
            sums[place, i] *= damped
        narrow(sums[place], values[n])


@kernel
def add_rows(matrix: Any, rows: Any, values: Any) -> None:
    """Add changes, as bfloat16, to rows of a matrix."""
    change = np.empty(values.shape[1], np.float32)
    for n in range(rows.shape[0]):
        widen(values[n], change)
        for i in range(change.shape[0]):
            matrix[rows[n], i] += change[i]


@kernel
def merge_rows(
    current: Any, rows: Any, values: Any, sent_rows: Any, sent_values: Any, sent_counts: Any, pace: Any
) -> None:
    """Add the changes of all replicas to a matrix, without those that this replica had sent.

    What rounding left out of the sent changes stays in the matrix, and is sent the next time.

    Parameters
    ----------
    current
        The matrix.
    rows, values
        The changes of all replicas, in the order of rows.
    sent_rows, sent_values, sent_counts
        What this replica sent, in the order of rows; it is damped again.
    pace
        Of each row.
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
