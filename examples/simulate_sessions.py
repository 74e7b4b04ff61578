"""Sessions of a simulated shop, because no real file may be passed on.

    python examples/simulate_sessions.py clicks.csv

writes the columns session_id, item_id, timestamp (seconds) and category.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

KINDS = ["tents", "sleeping bags", "stoves", "coffee", "mugs", "tea", "books", "lamps"]  # each goes with the next
SAME_KIND_CHANCE, NEXT_KIND_CHANCE = 0.7, 0.2  # the chances to continue within the kind, and to the next


def simulate(path: Path, sessions: int = 20_000, per_kind: int = 250, seed: int = 1) -> None:
    """Write a CSV of simulated sessions, in order of time, those of many visitors interleaved.

    An item has a kind, a popularity (Zipf within its kind) and a place on a square of tastes (style and price, say). A
    visitor starts at a popular item and continues, mostly to one of the same kind with a place nearby, sometimes to one
    of the next kind with a place nearby (an expensive tent, an expensive sleeping bag), now and then to anything
    popular.
    """
    random = np.random.default_rng(seed)
    items = len(KINDS) * per_kind
    kind, place = np.repeat(np.arange(len(KINDS)), per_kind), random.random((items, 2))
    popularity = np.concatenate([random.permutation(np.arange(1, per_kind + 1) ** -0.8) for _ in KINDS])
    anything = np.cumsum(popularity) / popularity.sum()
    chances = np.empty((2, items, per_kind))  # cumulative, for the same kind and the next
    for step, i in np.ndindex(2, items):
        others = np.flatnonzero(kind == (kind[i] + step) % len(KINDS))
        near = np.exp(-((place[others] - place[i]) ** 2).sum(axis=1) / 0.045) * np.sqrt(popularity[others])
        chances[step, i] = np.cumsum(near) / near.sum()
    rows = []
    for session, begin in enumerate(np.sort(random.uniform(0, 30 * 86_400, sessions))):
        item, seen, clock = int(np.searchsorted(anything, random.random())), set(), begin
        for _ in range(2 + random.geometric(0.2)):
            if item not in seen:
                seen.add(item)
                rows.append((session, item, round(clock)))
            clock += random.exponential(60)
            step, draw = (
                np.searchsorted([SAME_KIND_CHANCE, SAME_KIND_CHANCE + NEXT_KIND_CHANCE], random.random(), "right"),
                random.random(),
            )
            if step == 2:
                item = int(np.searchsorted(anything, draw))
            else:
                item = (kind[item] + step) % len(KINDS) * per_kind + int(np.searchsorted(chances[step, item], draw))
    columns = zip(*sorted(rows, key=lambda row: row[2]), strict=True)
    table = pa.table(dict(zip(["session_id", "item_id", "timestamp"], columns, strict=True)))
    csv.write_csv(table.append_column("category", [[KINDS[kind[i]] for i in table["item_id"].to_pylist()]]), path)


if __name__ == "__main__":
    simulate(Path(sys.argv[1]))
