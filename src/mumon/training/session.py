"""One call of `Word2Vec.train`, step by step."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mumon.corpus import EncodedCorpus, TextOptions
from mumon.errors import TrainingError
from mumon.formats.checkpoint import CheckpointState
from mumon.formats.directory import LoadedModel, has_integer_keys
from mumon.training.backend import Backend, CorpusReader
from mumon.training.callbacks import CallbackWatcher, call
from mumon.training.checkpoints import CheckpointKeeper, Checkpoints, CheckpointSource
from mumon.training.kernel_loader import LoadingProgress
from mumon.training.model_state import ModelState
from mumon.training.rates import advise_on_low_rate, choose_alpha, compute_default_alpha
from mumon.training.resume import (
    digest_start,
    refuse_changed_blocks,
    refuse_changed_corpus,
    refuse_changed_options,
    restore_position,
)
from mumon.training.run_state import Epoch, RunPosition, RunState
from mumon.training.schedule import Schedule
from mumon.training.trainer import Trainer
from mumon.utils.progress import Progress, choose_progress

Merge = Literal["old", "new", "union"]
Checkpoint = tuple[LoadedModel, CheckpointState]
# Of what a saved model says: counters, what decides only the speed, and what is for people.
COUNTERS = ("corpus_count", "corpus_total_words", "train_count")
NOT_OF_THE_RUN = (
    "schedule",
    "planned_epochs",
    "row_exponent",
    "combined_with",
    "uncombined_rows",
    "target_weight",
    "workers",
    "comment",
    "integer_keys",
    *COUNTERS,
)


class TrainableModel(Protocol):
    """What a session trains."""

    text: TextOptions
    _state: ModelState
    _run: RunState
    _reader: CorpusReader

    def _count_corpus(self, corpus: EncodedCorpus) -> None:
        """Remember the size of the corpus."""

    def _build_vocab_to_train(self, corpus: EncodedCorpus, merge: Merge, progress: Progress) -> None:
        """Choose which words of the corpus and of the model get rows."""

    def _describe_training(self, schedule: Schedule) -> dict[str, Any]:
        """Return what a saved model says of its training."""


@dataclass(frozen=True)
class TrainingRequest:
    """What a call of `train` asks for."""

    sentences: Any
    corpus_file: Any
    schedule: Schedule
    epochs: int
    merge_vocab: Merge | None
    callbacks: list[Any]


class TrainingSession:
    """One training, from the corpus to the trained matrices.

    Parameters
    ----------
    model
        What to train.
    request
        On what, for how long.
    backend
        Where.
    checkpoints
        What keeps the state of the run, if anything does.
    finished
        Checkpoints of earlier runs of the model, which are over.
    """

    def __init__(
        self,
        model: TrainableModel,
        request: TrainingRequest,
        backend: Backend,
        checkpoints: Checkpoints | None,
        finished: list[Checkpoints],
    ) -> None:
        self._model, self._state, self._run = model, model._state, model._run
        self._request, self._backend, self._checkpoints, self._finished = request, backend, checkpoints, finished
        self._schedule_before = self._run.schedule
        self._plan: dict[str, Any] = {}
        self._progress = Progress()

    def run(self) -> list[Epoch]:
        """Train; return the epochs that were added to the history."""
        self._plan = {} if self._checkpoints is None else self._describe_run()
        with ExitStack() as stack:
            self._progress = stack.enter_context(choose_progress(self._state.progress))
            if self._checkpoints is not None:
                stack.enter_context(self._checkpoints.hold())
            stack.enter_context(self._backend.connect(self._progress))
            checkpoint = self._find_checkpoint()
            corpus = self._read_corpus()
            if checkpoint is None:
                self._choose_vocabulary(corpus)
                schedule, position = self._request.schedule, RunPosition()
            else:
                schedule, position = self._resume(*checkpoint, corpus)
            lookup = self._match_vocabulary(corpus)
            self._run.schedule = self._choose_rate(schedule, corpus, lookup)
            with self._separate_sides():
                trainer, watcher, keeper = self._make_trainer(corpus, lookup, position, checkpoint)
                added = self._train(trainer, watcher, keeper, position)
        watcher.record(added)
        self._run.train_count, self._run.unfinished = self._run.train_count + 1, None
        return added

    def finish(self) -> None:
        """Tell the callbacks that training has ended."""
        call(self._request.callbacks, "on_train_end", self._model)

    # ---- the steps, in their order

    def _describe_run(self) -> dict[str, Any]:
        """Return everything but the corpus that decides the result: a resumed run must have the same."""
        schedule, run, state = self._request.schedule, self._run, self._state
        plan = self._model._describe_training(schedule)
        for name in NOT_OF_THE_RUN:
            del plan[name]
        for name in ("positions", "subwords", "pool_rows"):
            if not plan.get(name):
                plan.pop(name, None)  # unfinished runs of versions without the option have no such entry
        trained = state.source if run.history or run.tokens_before else None  # else the rows follow from the seed
        start = digest_start(state.vocabulary, trained) if run.unfinished is None else run.unfinished
        return {
            **plan,
            **state.digest_locks(),
            "vector_size": state.vector_size,
            "epochs": self._request.epochs,
            "alpha": schedule.alpha,
            "min_alpha": schedule.min_alpha,
            "total_epochs": schedule.total,
            "epochs_before": len(run.history),
            "schedule_done": schedule.done,
            "merge_vocab": self._request.merge_vocab,
            "vocab or from": start,
        }

    def _find_checkpoint(self) -> Checkpoint | None:
        """Find where to resume; refuse to resume a run with other options."""
        found = None
        if self._checkpoints is not None:
            found = self._checkpoints.start(self._progress, [earlier.run_id for earlier in self._finished])
        self._plan |= self._backend.describe_run(None if found is None else found[1].plan)
        if found is not None:
            refuse_changed_options(found[1], self._plan)
        return found

    def _read_corpus(self) -> EncodedCorpus:
        """Read the text, and meanwhile load the kernels."""
        request, workers = self._request, self._state.settings.workers
        progress = LoadingProgress(self._progress, lambda: self._backend.load_kernels(self._state))
        corpus = self._model._reader.read(
            request.sentences, request.corpus_file, self._model.text, workers, self._backend, progress
        )
        progress.begin()  # an earlier run may have read the text
        return corpus

    def _choose_vocabulary(self, corpus: EncodedCorpus) -> None:
        if self._request.merge_vocab is not None:
            self._model._build_vocab_to_train(corpus, self._request.merge_vocab, self._progress)

    def _resume(
        self, loaded: LoadedModel, state: CheckpointState, corpus: EncodedCorpus
    ) -> tuple[Schedule, RunPosition]:
        """Take words, matrices and history from a checkpoint; return its schedule and where in it to resume."""
        refuse_changed_corpus(state, corpus)
        self._run.history, schedule, position = restore_position(loaded, state)
        self._model._count_corpus(corpus)
        unk = self._plan["unk"] if self._plan["unk"] in loaded.words else None
        integers = has_integer_keys(loaded.config, loaded.words, "the checkpoint")
        self._state.restore(loaded, unk, integers)  # not combined: a checkpoint has the source rows
        share = 100 * position.tokens / (corpus.tokens * int(state.plan["epochs"]))
        self._progress.note(f"resuming at {share:.1f} % of the run, in epoch {len(position.history) + 1}")
        return schedule, position

    def _match_vocabulary(self, corpus: EncodedCorpus) -> NDArray[np.int32]:
        """Return the row of each word of the corpus, -1 for none."""
        return self._state.match_corpus(corpus, self._progress).lookup(corpus)

    def _choose_rate(self, schedule: Schedule, corpus: EncodedCorpus, lookup: NDArray[np.int32]) -> Schedule:
        """Give the schedule a first rate, if the user gave none: by all tokens that the model will then have seen."""
        settings, run = self._state.settings, self._run
        if schedule.alpha is not None:
            self._warn_of_low_rate(schedule, corpus)
            return schedule
        tokens = run.tokens_seen + corpus.tokens * schedule.total
        state = self._state
        alpha = choose_alpha(settings, tokens, corpus, state.require_vocabulary().counts, lookup, state.bags)
        usual = compute_default_alpha(settings, tokens, sentence=corpus.usual_length)
        lowered = ", lowered because few words make up the text or parts of it" if alpha < usual else ""
        self._progress.note(f"learning rate {alpha:.3g}, by the rule for {tokens:,} tokens in all epochs{lowered}")
        return replace(schedule, alpha=alpha)

    def _warn_of_low_rate(self, schedule: Schedule, corpus: EncodedCorpus) -> None:
        """Warn of a rate made for gensim, where steps are C times as long: vectors would stay where they began."""
        if self._run.history or self._run.tokens_before or self._request.schedule.alpha is None:
            return  # its vectors are where they should be, or the rate of a resumed run was chosen by the rule
        tokens = corpus.tokens * schedule.total
        advice = advise_on_low_rate(self._state.settings, schedule.alpha or 0.0, tokens, corpus.usual_length)
        if advice is None:
            return
        if type(self._progress) is Progress:
            warnings.warn(f"{advice}, or ask for update='faulty', which gensim's rates are for", stacklevel=5)
        else:
            self._progress.note(advice)

    @contextmanager
    def _separate_sides(self) -> Iterator[None]:
        """Train source and target rows; afterwards, even if training fails, users get the vectors from both sides."""
        self._state.combine(0.0, self._progress)
        try:
            yield
        finally:
            self._state.combine(progress=self._progress)

    def _make_trainer(
        self,
        corpus: EncodedCorpus,
        lookup: NDArray[np.int32],
        position: RunPosition,
        checkpoint: Checkpoint | None,
    ) -> tuple[Trainer, CallbackWatcher, CheckpointKeeper | None]:
        runner, more = self._backend.make_runner(corpus, lookup, self._state, self._plan, self._progress)
        self._plan |= more
        if checkpoint is not None:
            refuse_changed_blocks(checkpoint[1], runner.blocks)
        keeper = None
        if self._checkpoints is not None:
            source = CheckpointSource(
                self._state.require_vocabulary(),
                self._state.matrices,
                corpus,
                runner.blocks,
                self._plan,
                self._run.schedule,
                self._run.history,
                self._model._describe_training,
            )
            keeper = CheckpointKeeper(self._checkpoints, source, self._progress, position.tokens)
        watcher = CallbackWatcher(self._model, self._state, self._run, runner, self._request.callbacks)
        return Trainer(runner, self._progress, keeper, watcher), watcher, keeper

    def _train(
        self, trainer: Trainer, watcher: CallbackWatcher, keeper: CheckpointKeeper | None, position: RunPosition
    ) -> list[Epoch]:
        """Run the epochs. If that fails, the next training plans its rates again; with checkpoints, it can resume."""
        run, first_epoch = self._run, len(watcher.history_before)
        run.begin(position)
        try:
            watcher.call("on_train_begin")
            return trainer.run(self._request.epochs, run.schedule, first_epoch, position)
        except BaseException as error:
            run.schedule = self._schedule_before  # the next training plans again, or resumes from a checkpoint
            if keeper is not None:
                run.history, run.unfinished = watcher.history_before, self._plan["vocab or from"]
            if isinstance(error, TrainingError):
                raise TrainingError(f"{error}{'' if keeper is None else keeper.describe_last_good()}") from None
            raise
        finally:
            if keeper is not None:
                keeper.finish()
            trainer.close()
            self._model._reader.forget()
