"""Who trains what, and which rows are exchanged when: the plan of an epoch over several workers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mumon.training.sampling import CERTAIN, keep_chances

# Rounds between two exchanges of a row: each, if its word is frequent; every fourth, if it is less so; else every 16th.
TIER_PERIODS = (1, 4, 16)
MIN_UPDATES = 0.25  # updates of a row in a worker, as far as its frequency tells, are worth an exchange
# Tokens of a worker between two exchanges: as many for each of its threads, which takes it a tenth of a second and is
# long beside what a round costs in Ray; but so many for each word of the vocabulary, for an exchange of all rows costs
# as much as there are words; and no more than leave an epoch so many rounds for each worker, which keep the quality of
# one process (docs/scale.md).
TOKENS_PER_WORKER, TOKENS_PER_WORD, ROUNDS_PER_NODE, MIN_SYNC_TOKENS = 250_000, 1.25, 32, 16_384


def choose_sync_every(words: int, tokens: int, nodes: int, workers: int) -> int:
    """Tokens that a worker trains between two exchanges, if nobody says how many.

    >>> choose_sync_every(words=80_000, tokens=10**9, nodes=4, workers=1)
    250000
    >>> choose_sync_every(words=80_000, tokens=64_000_000, nodes=8, workers=16)
    31250
    """
    wanted = max(TOKENS_PER_WORKER * workers, TOKENS_PER_WORD * words)
    return int(max(min(wanted, tokens / (ROUNDS_PER_NODE * nodes**2)), MIN_SYNC_TOKENS))


@dataclass(frozen=True)
class Tiers:
    """Which rows are exchanged after which round. Rows are in the order of counts, so those of a tier are the first."""

    ends: tuple[int, ...]  # the rows of each tier, for TIER_PERIODS

    @classmethod
    def from_counts(cls, counts: npt.NDArray[np.int64], sample: float, sync_every: int) -> Tiers:
        """Tiers in which most rows have had MIN_UPDATES updates when they are exchanged.

        >>> Tiers.from_counts(np.array([900_000, 9_000, 100, 5]), sample=0, sync_every=1_000).ends
        (2, 3, 4)
        """
        kept = counts * (keep_chances(counts, sample) / CERTAIN)
        expected = sync_every * kept / max(float(counts.sum(dtype=np.float64)), 1.0)
        often = [np.flatnonzero(every * expected >= MIN_UPDATES) for every in TIER_PERIODS[:-1]]
        return cls((*(int(rows[-1]) + 1 if len(rows) else 0 for rows in often), len(counts)))

    def rows_after(self, round_: int) -> int:
        """How many of the first rows to exchange after a round, the first of which is 0."""
        return max(end for every, end in zip(TIER_PERIODS, self.ends, strict=True) if (round_ + 1) % every == 0)


@dataclass(frozen=True)
class Stretch:
    """What one worker trains between two exchanges: blocks first … last of a part of the text."""

    part: int
    first: int
    last: int
    tokens: int
    before: int  # tokens of the epoch that come before it in the plan


def plan_epoch(parts: Sequence[npt.NDArray[np.int64]], lanes: int, sync_every: int) -> list[Stretch]:
    """An epoch as stretches of about `sync_every` tokens, in the order in which workers take them.

    `parts` has the tokens of each block of each part. Neighbours in the plan are of different parts, as long as
    there are `lanes` of them, so that as many workers find each their own beside them and need not fetch the same.

    >>> [(s.part, s.first) for s in plan_epoch([np.array([5, 5]), np.array([5, 5])], lanes=2, sync_every=5)]
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    cut = [_cut_part(part, blocks, sync_every) for part, blocks in enumerate(parts)]
    plan: list[Stretch] = []
    before = 0
    for group in range(0, len(cut), lanes):
        queues = cut[group : group + lanes]
        for turn in range(max(map(len, queues))):
            for part, first, last, tokens in (queue[turn] for queue in queues if turn < len(queue)):
                plan.append(Stretch(part, first, last, tokens, before))
                before += tokens
    return plan


def _cut_part(part: int, blocks: npt.NDArray[np.int64], sync_every: int) -> list[tuple[int, int, int, int]]:
    """Cut a part into stretches of nearly equal length, none of them empty."""
    ends = np.cumsum(blocks)
    count = max(1, min(len(blocks), round(int(ends[-1]) / sync_every)))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count, "right")
    bounds = np.unique(np.concatenate([[0], cuts, [len(blocks)]]))
    return [(part, int(a), int(b), int(blocks[a:b].sum())) for a, b in itertools.pairwise(bounds)]
