"""Going on with an unfinished run: what must be as it was, and what a checkpoint of a model has to say."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from mumon import __version__
from mumon.corpus import EncodedCorpus
from mumon.corpus.encoded import compute_digest
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import FormatError, OptionError, to_one_line
from mumon.formats.checkpoint import CheckpointState, digest_vocabulary
from mumon.formats.directory import LoadedModel, ModelDescription
from mumon.training.checkpoints import Details, Subject
from mumon.training.run_state import Epoch, Position, Tally
from mumon.training.schedule import Schedule
from mumon.training.weights import Matrix
from mumon.utils.validation import check_float

AT_ONCE = 1 << 14  # rows
ANEW = "or start anew with --restart (in Python: restart=True)"


def refuse_changed_options(state: CheckpointState, plan: dict[str, Any]) -> None:
    """Name the options in which a run would differ from the one it is to go on with."""
    changed = [name for name in {**state.plan, **plan} if state.plan.get(name) != plan.get(name)]
    if changed:
        then = ", ".join(f"{name} {state.plan.get(name)!r}" for name in changed)
        now = ", ".join(repr(plan.get(name)) for name in changed)
        raise OptionError(f"the unfinished run has {then} where {now} is asked for; give it the same options, {ANEW}")


def refuse_changed_corpus(state: CheckpointState, corpus: EncodedCorpus) -> None:
    """Refuse another text."""
    if corpus.tokens != state.corpus_tokens:
        raise OptionError(
            f"the corpus has {corpus.tokens:,} tokens where that of the unfinished run had {state.corpus_tokens:,}; "
            f"give it the same text, {ANEW}"
        )
    if compute_digest(corpus) != state.corpus:
        raise OptionError(
            f"the corpus still has {corpus.tokens:,} tokens but they are not those of the unfinished run; give it the "
            f"same text, {ANEW}"
        )


def refuse_changed_blocks(state: CheckpointState, blocks: int) -> None:
    """Refuse the same text, cut into other blocks."""
    if blocks != state.blocks:
        raise OptionError(
            f"this mumon cuts the corpus into {blocks:,} blocks where the unfinished run had {state.blocks:,}; go on "
            f"with the version that began it, {ANEW}"
        )


def standing(loaded: LoadedModel, state: CheckpointState) -> tuple[list[Epoch], Schedule, Position]:
    """The history before the run of a checkpoint, the schedule of the run, and how far it had come."""
    epochs = [Epoch.from_json(epoch) for epoch in loaded.history]
    position = Position(epochs[state.first_epoch :], Tally.from_json(state.tally))
    try:
        schedule = Schedule(**{**state.schedule, "alpha": check_float("alpha", state.schedule.get("alpha"), above=0)})
    except (TypeError, OptionError) as error:
        about = f"the schedule of the checkpoint is damaged ({to_one_line(error)})"
        raise FormatError(f"{about}; use an earlier one, {ANEW}") from None
    if position.tally.blocks > state.blocks or len(position.history) > state.plan["epochs"]:
        raise FormatError(
            f"the checkpoint has {len(position.history)} epochs and {position.tally.blocks} of {state.blocks} "
            f"blocks behind it, which is more than there are; use an earlier one, {ANEW}"
        )
    return epochs[: state.first_epoch], schedule, position


def subject_of(
    vocabulary: Vocabulary,
    vectors: Matrix,
    output: Matrix,
    config: Callable[[Schedule], dict[str, Any]],
    history: list[Epoch],
    plan: dict[str, Any],
    schedule: Schedule,
    corpus: EncodedCorpus,
    blocks: int,
) -> Subject:
    """What there is to be kept of a run of training; `history` is what the model had before it."""
    before, digests = [epoch.to_json() for epoch in history], dict[str, str]()

    def details(at: Position) -> Callable[[str], Details]:
        now = replace(schedule, done=schedule.done + len(at.history))
        epochs, tally = [*before, *(epoch.to_json() for epoch in at.history)], at.tally.to_json()

        def complete(run: str) -> Details:
            if not digests:  # the same for every checkpoint of the run
                digests.update(corpus=compute_digest(corpus), vocabulary=digest_vocabulary(vocabulary.words))
            about: dict[str, Any] = {"corpus_tokens": corpus.tokens, **digests, "blocks": blocks, "tally": tally}
            state = CheckpointState(run, __version__, plan, asdict(schedule), len(before), **about)
            return Details(config(now), epochs, state)

        return complete

    def description() -> ModelDescription:
        return ModelDescription(vocabulary.words, vocabulary.counts, vectors.shape[1], vocabulary.unk)

    return Subject(vectors, output, description, details, int(plan["epochs"]) * corpus.tokens)


def start_digest(vocabulary: Vocabulary | None, vectors: Matrix | None) -> str | None:
    """A digest of the words, counts and vectors that a run is given to begin with; None if it begins with nothing."""
    if vocabulary is None:
        return None
    digest = zlib.crc32(vocabulary.counts.tobytes(), zlib.crc32(digest_vocabulary(vocabulary.words).encode()))
    for first in range(0, 0 if vectors is None else len(vectors), AT_ONCE):
        digest = zlib.crc32(np.ascontiguousarray(vectors[first : first + AT_ONCE]).data, digest)  # type: ignore[index]
    return f"{digest:08x}"
