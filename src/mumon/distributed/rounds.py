"""The plan of an epoch on several nodes: who trains what, and which rows are exchanged when."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mumon.training.sampling import CERTAIN, compute_keep_chances

# Rounds between two exchanges of a row: rows of frequent words are exchanged in every round, those of less frequent
# words in every fourth, and all others in every 16th.
TIER_PERIODS = (1, 4, 16)
MIN_UPDATES = 0.25  # that a node is expected to make of a row for it to be worth an exchange
# Tokens that a node trains between two exchanges. Per thread: they take a tenth of a second, which is long beside what
# a round costs in Ray. Per word of the vocabulary: the cost of exchanging all rows is proportional to it. But an epoch
# needs ROUNDS_PER_NODE rounds for each node to keep the quality of one process (docs/scale.md).
TOKENS_PER_WORKER, TOKENS_PER_WORD, ROUNDS_PER_NODE, MIN_SYNC_TOKENS = 250_000, 1.25, 32, 16_384


def choose_sync_every(words: int, tokens: int, nodes: int, workers: int) -> int:
    """Choose how many tokens a node trains between two exchanges.

    Parameters
    ----------
    words
        Of the vocabulary.
    tokens
        Of the text.
    nodes
        Machines that train.
    workers
        Threads of each node.

    Returns
    -------
    int
        The number of tokens.

    Examples
    --------
    >>> choose_sync_every(words=80_000, tokens=10**9, nodes=4, workers=1)
    250000
    >>> choose_sync_every(words=80_000, tokens=64_000_000, nodes=8, workers=16)
    31250
    """
    wanted = max(TOKENS_PER_WORKER * workers, TOKENS_PER_WORD * words)
    return int(max(min(wanted, tokens / (ROUNDS_PER_NODE * nodes**2)), MIN_SYNC_TOKENS))


@dataclass(frozen=True)
class Tiers:
    """Which rows are exchanged after which round; rows are sorted by count, so each tier is a number of first rows."""

    ends: tuple[int, ...]  # the number of first rows, for each of TIER_PERIODS

    @classmethod
    def from_counts(cls, counts: npt.NDArray[np.int64], sample: float, sync_every: int) -> Tiers:
        """Choose tiers so that most rows have had MIN_UPDATES updates when they are exchanged.

        Parameters
        ----------
        counts
            How often the word of each row occurs.
        sample
            The threshold of subsampling; 0 for none.
        sync_every
            Tokens that a node trains between two exchanges.

        Returns
        -------
        Tiers
            The last tier has all rows.

        Examples
        --------
        >>> Tiers.from_counts(np.array([900_000, 9_000, 100, 5]), sample=0, sync_every=1_000).ends
        (2, 3, 4)
        """
        kept = counts * (compute_keep_chances(counts, sample) / CERTAIN)
        expected = sync_every * kept / max(float(counts.sum(dtype=np.float64)), 1.0)
        often = [np.flatnonzero(every * expected >= MIN_UPDATES) for every in TIER_PERIODS[:-1]]
        return cls((*(int(rows[-1]) + 1 if len(rows) else 0 for rows in often), len(counts)))

    def rows_after(self, round_: int) -> int:
        """Return how many of the first rows to exchange after a round; rounds count from 0."""
        return max(end for every, end in zip(TIER_PERIODS, self.ends, strict=True) if (round_ + 1) % every == 0)


@dataclass(frozen=True)
class Stretch:
    """What one node trains between two exchanges: the blocks first … last - 1 of a part of the text."""

    part: int
    first: int
    last: int
    tokens: int
    before: int  # tokens of the epoch that precede it in the plan


def plan_epoch(parts: Sequence[npt.NDArray[np.int64]], lanes: int, sync_every: int) -> list[Stretch]:
    """Cut an epoch into stretches, in the order in which nodes train them.

    Parameters
    ----------
    parts
        For each part of the text the number of tokens in each of its blocks.
    lanes
        How many parts are trained at the same time. This many neighbours in the plan belong to different parts, so that
        as many nodes can each stay with a part that they have fetched.
    sync_every
        The approximate number of tokens in a stretch.

    Returns
    -------
    list of Stretch
        Every block of every part, once.

    Examples
    --------
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
    """Cut a part into stretches of nearly equal length, none of them empty: (part, first, last, tokens)."""
    ends = np.cumsum(blocks)
    count = max(1, min(len(blocks), round(int(ends[-1]) / sync_every)))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count, "right")
    bounds = np.unique(np.concatenate([[0], cuts, [len(blocks)]]))
    return [(part, int(a), int(b), int(blocks[a:b].sum())) for a, b in itertools.pairwise(bounds)]
