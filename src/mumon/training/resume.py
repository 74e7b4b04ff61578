"""Resuming an unfinished run: what must be the same, and where it continues."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from mumon.corpus import EncodedCorpus
from mumon.corpus.encoded import compute_digest
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import FormatError, OptionError, to_one_line
from mumon.formats.checkpoint import CheckpointState, digest_vocabulary
from mumon.formats.directory import LoadedModel
from mumon.training.run_state import Epoch, EpochTotals, RunPosition
from mumon.training.schedule import Schedule
from mumon.training.weights import Matrix
from mumon.utils.validation import check_float

ROWS_DIGESTED = 1 << 14  # at a time
OR_RESTART = "or start again with --restart (in Python: restart=True)"


def refuse_changed_options(state: CheckpointState, plan: dict[str, Any]) -> None:
    """Refuse options that differ from those of the run to be resumed, and name them."""
    changed = [name for name in {**state.plan, **plan} if state.plan.get(name) != plan.get(name)]
    if changed:
        then = ", ".join(f"{name} {state.plan.get(name)!r}" for name in changed)
        now = ", ".join(repr(plan.get(name)) for name in changed)
        raise OptionError(
            f"the unfinished run has {then} where {now} is asked for; give it the same options, {OR_RESTART}"
        )


def refuse_changed_corpus(state: CheckpointState, corpus: EncodedCorpus) -> None:
    """Refuse another text."""
    if corpus.tokens != state.corpus_tokens:
        raise OptionError(
            f"the corpus has {corpus.tokens:,} tokens where that of the unfinished run had {state.corpus_tokens:,}; "
            f"give it the same text, {OR_RESTART}"
        )
    if compute_digest(corpus) != state.corpus:
        raise OptionError(
            f"the corpus still has {corpus.tokens:,} tokens but they are not those of the unfinished run; give it the "
            f"same text, {OR_RESTART}"
        )


def refuse_changed_blocks(state: CheckpointState, blocks: int) -> None:
    """Refuse the same text, cut into other blocks."""
    if blocks != state.blocks:
        raise OptionError(
            f"this mumon cuts the corpus into {blocks:,} blocks where the unfinished run had {state.blocks:,}; resume "
            f"with the version that began it, {OR_RESTART}"
        )


def restore_position(loaded: LoadedModel, state: CheckpointState) -> tuple[list[Epoch], Schedule, RunPosition]:
    """Return the history before the run of a checkpoint, the schedule of the run, and how far it was."""
    epochs = [Epoch.from_json(epoch) for epoch in loaded.history]
    position = RunPosition(epochs[state.first_epoch :], EpochTotals.from_json(state.tally))
    try:
        schedule = Schedule(**{**state.schedule, "alpha": check_float("alpha", state.schedule.get("alpha"), above=0)})
    except (TypeError, OptionError) as error:
        problem = f"the schedule of the checkpoint is damaged ({to_one_line(error)})"
        raise FormatError(f"{problem}; use an earlier one, {OR_RESTART}") from None
    if position.totals.blocks > state.blocks or len(position.history) > state.plan["epochs"]:
        raise FormatError(
            f"the checkpoint has {len(position.history)} epochs and {position.totals.blocks} of {state.blocks} "
            f"blocks done, which is more than there are; use an earlier one, {OR_RESTART}"
        )
    return epochs[: state.first_epoch], schedule, position


def digest_start(vocabulary: Vocabulary | None, vectors: Matrix | None) -> str | None:
    """Return a digest of the words, counts and vectors that a run starts from; None if it starts from nothing."""
    if vocabulary is None:
        return None
    digest = zlib.crc32(vocabulary.counts.tobytes(), zlib.crc32(digest_vocabulary(vocabulary.words).encode()))
    for first in range(0, 0 if vectors is None else len(vectors), ROWS_DIGESTED):
        digest = zlib.crc32(np.ascontiguousarray(vectors[first : first + ROWS_DIGESTED]).data, digest)  # type: ignore[index]
    return f"{digest:08x}"
