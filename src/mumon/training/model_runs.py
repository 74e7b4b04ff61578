"""What a model knows of its training: rates, history, loss, and how a run is kept and taken up again."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mumon.corpus import EncodedCorpus, TextOptions
from mumon.formats.checkpoint import CheckpointState
from mumon.formats.directory import LoadedModel, has_integer_keys
from mumon.training.checkpoints import CheckpointKeeper, Checkpoints
from mumon.training.model_rows import ModelRows
from mumon.training.rates import choose_alpha, default_alpha, warn_of_low_rate
from mumon.training.resume import refuse_changed_corpus, standing, start_digest, subject_of
from mumon.training.run_state import Epoch, Position
from mumon.training.schedule import Schedule
from mumon.training.trainer import Trainer
from mumon.utils.progress import Progress
from mumon.utils.validation import check_float, check_integer

MODEL_OPTIONS = ("alpha", "min_alpha", "epochs", "min_count", "max_final_vocab", "unk")
# Of what a saved model says: what decides only the speed, and what is said for people.
COUNTERS = ("corpus_count", "corpus_total_words", "train_count")
NOT_OF_THE_RUN = ("schedule", "planned_epochs", "row_exponent", "workers", "comment", "integer_keys", *COUNTERS)
Merge = Literal["old", "new", "union"]


class ModelRuns(ModelRows):
    """Rows with a rate schedule and a history."""

    epochs: int
    min_count: int
    min_alpha: float
    max_final_vocab: int | None
    unk: str | None
    comment: str | None
    text: TextOptions
    corpus_count: int
    corpus_total_words: int
    _alpha: float | None
    _schedule: Schedule

    def __init__(self) -> None:
        super().__init__()
        self.history: list[Epoch] = []
        self.train_count = 0
        self._tokens_before = 0  # trained elsewhere, before this model's history
        self._run_start = 0  # the length of the history when the latest training began
        self._loss_shift = 0.0  # what a user has set the running loss off by
        self._planned: int | None = None  # the length that the user wants schedules to have, if longer than a training
        self._unfinished: str | None = None  # the start of a run that failed and may be resumed

    @property
    def alpha(self) -> float | None:
        """The first learning rate: the one given, or the one that was chosen for the corpus; None until then."""
        return self._schedule.alpha if self._alpha is None else self._alpha

    @alpha.setter
    def alpha(self, value: float | None) -> None:
        self._alpha = value if value is None else check_float("alpha", value, above=0)

    @property
    def running_training_loss(self) -> float:
        """The loss of all tokens since the latest training began, in float64; some of gensim's users set it to 0."""
        epochs = self.history[self._run_start :]
        total = sum(epoch.loss * epoch.trained_tokens for epoch in epochs if not math.isnan(epoch.loss))
        return total + self._loss_shift

    @running_training_loss.setter
    def running_training_loss(self, value: float) -> None:
        self._loss_shift += value - self.running_training_loss

    def get_latest_training_loss(self) -> float:
        """The loss of the latest training, summed over its tokens and epochs; `history` has it per token and epoch."""
        return self.running_training_loss

    @property
    def total_train_time(self) -> float:
        """The seconds that all epochs took."""
        return sum(epoch.seconds for epoch in self.history)

    @property
    def min_alpha_yet_reached(self) -> float | None:
        """The lowest rate so far; None before the first epoch."""
        return min((epoch.alpha for epoch in self.history), default=None)

    def _begin_run(self, position: Position) -> None:
        """The loss of the latest training counts from here; what a checkpoint has of its epochs counts along."""
        self._run_start, self._loss_shift = len(self.history), 0.0
        self.history = [*self.history, *position.history]

    def init_weights(self) -> None:
        """Forget what was trained: matrices, history and rates begin anew, for the same words."""
        super().init_weights()
        self.history, self._run_start, self._tokens_before = [], 0, 0
        self._schedule = Schedule(self._alpha, self.min_alpha, self._planned or self.epochs)

    def _plan(
        self, epochs: int | None, total_epochs: int | None, start_alpha: float | None, end_alpha: float | None
    ) -> tuple[Schedule, int]:
        """The schedule to walk, and for how many epochs.

        It is the unfinished one if nothing else is asked for; a number of epochs asks for a schedule of that length,
        unless the user planned for more (`total_epochs`).
        """
        schedule = self._schedule
        if epochs is not None:
            epochs = check_integer("epochs", epochs)
        asked = any(value is not None for value in (total_epochs, start_alpha, end_alpha))
        other = self._planned is None and epochs not in (None, schedule.left)
        if schedule.done == 0 or schedule.left == 0 or asked or other:
            planned = self._planned if schedule.done == 0 and total_epochs is None else total_epochs
            schedule = Schedule(
                self._alpha if start_alpha is None else start_alpha,
                self.min_alpha if end_alpha is None else end_alpha,
                (epochs or check_integer("epochs", self.epochs)) if planned is None else planned,
            )
        if epochs is None:
            epochs = schedule.left if schedule.done else min(self.epochs, schedule.left)
        schedule.check_left(epochs)
        return schedule, epochs

    def _with_rate(
        self, schedule: Schedule, corpus: EncodedCorpus, lookup: NDArray[np.int32], progress: Progress
    ) -> Schedule:
        """A schedule whose rate, if nobody gave one, is chosen by all tokens that the model will then have seen."""
        if schedule.alpha is not None:
            self._question_rate(schedule, corpus, progress)
            return schedule
        seen = self._tokens_before + sum(epoch.tokens for epoch in self.history) + corpus.tokens * schedule.total
        alpha = choose_alpha(self.settings, seen, corpus, self._require_vocabulary().counts, lookup)
        usual = default_alpha(self.settings, seen, sentence=corpus.usual_length)
        lowered = ", lowered because few words make up the text or parts of it" if alpha < usual else ""
        progress.note(f"learning rate {alpha:.3g}, by the rule for {seen:,} tokens in all epochs{lowered}")
        return replace(schedule, alpha=alpha)

    def _question_rate(self, schedule: Schedule, corpus: EncodedCorpus, progress: Progress) -> None:
        """A rate that comes from gensim's world, where steps are C times as long, leaves vectors where they began."""
        if self.history or self._tokens_before:
            return
        tokens = corpus.tokens * schedule.total
        advice = warn_of_low_rate(self.settings, schedule.alpha or 0.0, tokens, corpus.usual_length)
        if advice is None:
            return
        if type(progress) is Progress:
            warnings.warn(f"{advice}, or ask for update='faulty', which gensim's rates are for", stacklevel=4)
        else:
            progress.note(advice)

    def _run_plan(self, schedule: Schedule, epochs: int, merge_vocab: Merge | None) -> dict[str, Any]:
        """Everything but the corpus that decides what a run of training comes to."""
        plan = self._config(schedule)
        for name in NOT_OF_THE_RUN:
            del plan[name]
        rates = {"alpha": schedule.alpha, "min_alpha": schedule.min_alpha, "total_epochs": schedule.total}
        trained = self._source if self.history or self._tokens_before else None  # else it follows from the seed
        digest = start_digest(self.vocabulary, trained) if self._unfinished is None else self._unfinished
        start = {"merge_vocab": merge_vocab, "vocab or from": digest}
        before = {"epochs_before": len(self.history), "schedule_done": schedule.done, **start}
        return {**plan, **self._locks_digest(), "vector_size": self.vector_size, "epochs": epochs, **rates, **before}

    def _keeper(
        self, checkpoints: Checkpoints, trainer: Trainer, plan: dict[str, Any], position: Position, progress: Progress
    ) -> CheckpointKeeper:
        subject = subject_of(
            self._require_vocabulary(),
            self.wv.vectors,
            self.syn1neg,
            self._config,
            self.history,
            plan,
            self._schedule,
            trainer.corpus,
            trainer.blocks,
        )
        return CheckpointKeeper(checkpoints, subject, progress, position.tokens)

    def _restore(
        self, loaded: LoadedModel, state: CheckpointState, corpus: EncodedCorpus, progress: Progress
    ) -> tuple[Schedule, Position]:
        """Take over words, matrices and history from a checkpoint; gives its schedule and where in it to go on."""
        refuse_changed_corpus(state, corpus)
        self.history, schedule, position = standing(loaded, state)
        self.corpus_count, self.corpus_total_words = corpus.sentences, corpus.tokens
        unk = self.unk if self.unk in loaded.words else None
        self._adopt(
            loaded.words,
            loaded.counts,
            unk,
            loaded.vectors,
            loaded.output,
            has_integer_keys(loaded.config, loaded.words, "the checkpoint"),
        )
        share = 100 * position.tokens / (corpus.tokens * int(state.plan["epochs"]))
        progress.note(f"going on at {share:.1f} % of the run, in epoch {len(position.history) + 1}")
        return schedule, position

    def _config(self, schedule: Schedule) -> dict[str, Any]:
        """What a saved model says of its training."""
        return {
            **asdict(self.settings),
            **asdict(self.text),
            **{name: getattr(self, name) for name in MODEL_OPTIONS},
            "alpha": self._alpha,  # null if the rule chose it: it will again
            "schedule": asdict(schedule),
            "tokens_before": self._tokens_before,
            "planned_epochs": self._planned,
            **{name: getattr(self, name) for name in COUNTERS},
            "comment": self.comment,
            "integer_keys": self.vocabulary is not None and self.vocabulary.integers,
            "row_exponent": self.settings.row_exponent,  # for people: what rate_exponent null came to
        }
