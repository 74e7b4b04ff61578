"""Who trains what, and which rows are exchanged when: the plan of an epoch over several workers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mumon.training.sampling import CERTAIN, keep_chances

# Rounds between two exchanges of a row: each, if its word is frequent; every fourth, if it is less so; else every 16th.
EVERY = (1, 4, 16)
ENOUGH = 0.25  # updates of a row in a worker, as far as its frequency tells, are worth an exchange
# Tokens of a worker between two exchanges: as many for each of its threads, which takes it a tenth of a second and is
# long beside what a round costs in Ray; but so many for each word of the vocabulary, for an exchange of all rows costs
# as much as there are words; and no more than leave an epoch so many rounds for each worker, which keep the quality of
# one process (docs/scale.md).
TOKENS_PER_THREAD, TOKENS_PER_WORD, ROUNDS_PER_WORKER, LEAST_TOKENS = 250_000, 1.25, 32, 16_384


def usual_period(words: int, tokens: int, workers: int, threads: int) -> int:
    """Tokens that a worker trains between two exchanges, if nobody says how many.

    >>> usual_period(words=80_000, tokens=10**9, workers=4, threads=1)
    250000
    >>> usual_period(words=80_000, tokens=64_000_000, workers=8, threads=16)
    31250
    """
    wanted = max(TOKENS_PER_THREAD * threads, TOKENS_PER_WORD * words)
    return int(max(min(wanted, tokens / (ROUNDS_PER_WORKER * workers**2)), LEAST_TOKENS))


@dataclass(frozen=True)
class Tiers:
    """Which rows are exchanged after which round. Rows are in the order of counts, so those of a tier are the first."""

    ends: tuple[int, ...]  # the rows of each tier, for EVERY

    @classmethod
    def of(cls, counts: npt.NDArray[np.int64], sample: float, period: int) -> Tiers:
        """Tiers in which most rows have had ENOUGH updates when they are exchanged.

        >>> Tiers.of(np.array([900_000, 9_000, 100, 5]), sample=0, period=1_000).ends
        (2, 3, 4)
        """
        kept = counts * (keep_chances(counts, sample) / CERTAIN)
        expected = period * kept / max(float(counts.sum(dtype=np.float64)), 1.0)
        often = [np.flatnonzero(every * expected >= ENOUGH) for every in EVERY[:-1]]
        return cls((*(int(rows[-1]) + 1 if len(rows) else 0 for rows in often), len(counts)))

    def rows_after(self, round_: int) -> int:
        """How many of the first rows to exchange after a round, the first of which is 0."""
        return max(end for every, end in zip(EVERY, self.ends, strict=True) if (round_ + 1) % every == 0)


@dataclass(frozen=True)
class Stretch:
    """What one worker trains between two exchanges: blocks first … last of a part of the text."""

    part: int
    first: int
    last: int
    tokens: int
    before: int  # tokens of the epoch that come before it in the plan


def plan_epoch(parts: Sequence[npt.NDArray[np.int64]], lanes: int, period: int) -> list[Stretch]:
    """An epoch as stretches of about `period` tokens, in the order in which workers take them.

    `parts` has the tokens of each block of each part. Neighbours in the plan are of different parts, as long as
    there are `lanes` of them, so that as many workers find each their own beside them and need not fetch the same.

    >>> [(s.part, s.first) for s in plan_epoch([np.array([5, 5]), np.array([5, 5])], lanes=2, period=5)]
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    cut = [_stretches(part, blocks, period) for part, blocks in enumerate(parts)]
    plan: list[Stretch] = []
    before = 0
    for group in range(0, len(cut), lanes):
        queues = cut[group : group + lanes]
        for turn in range(max(map(len, queues))):
            for part, first, last, tokens in (queue[turn] for queue in queues if turn < len(queue)):
                plan.append(Stretch(part, first, last, tokens, before))
                before += tokens
    return plan


def _stretches(part: int, blocks: npt.NDArray[np.int64], period: int) -> list[tuple[int, int, int, int]]:
    """Cut a part into stretches of nearly equal length, none of them empty."""
    ends = np.cumsum(blocks)
    count = max(1, min(len(blocks), round(int(ends[-1]) / period)))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count, "right")
    bounds = np.unique(np.concatenate([[0], cuts, [len(blocks)]]))
    return [(part, int(a), int(b), int(blocks[a:b].sum())) for a, b in itertools.pairwise(bounds)]
