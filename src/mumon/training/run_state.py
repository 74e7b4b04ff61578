"""How far training is: what each epoch did, the position inside the next one, and the rates."""

from __future__ import annotations

import math
import threading
from dataclasses import asdict, dataclass, field
from typing import Any

from mumon.errors import FormatError, OptionError
from mumon.training.schedule import Schedule
from mumon.utils.validation import check_float, check_integer

COUNTS = ("blocks", "tokens", "trained", "counted")


@dataclass(frozen=True)
class Epoch:
    """What one epoch did.

    Attributes
    ----------
    epoch
        Its number over the model's whole life, from 1.
    loss
        The mean negative-sampling loss per trained token; nan if none was trained.
    alpha
        The learning rate at its end.
    tokens, trained_tokens
        Tokens of the corpus that were read, and those that were trained: words of the vocabulary after subsampling.
    seconds
        How long it took.
    """

    epoch: int
    loss: float
    alpha: float
    tokens: int
    trained_tokens: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields, with null where JSON has no nan."""
        return {**asdict(self), "loss": None if math.isnan(self.loss) else self.loss}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Epoch:
        """Read what `to_json` wrote."""
        loss = math.nan if record.get("loss") is None else record["loss"]
        try:
            return cls(
                check_integer("epoch", record["epoch"], least=0),
                loss if loss != loss else check_float("loss", loss),
                check_float("alpha", record["alpha"]),
                check_integer("tokens", record["tokens"], least=0),
                check_integer("trained_tokens", record["trained_tokens"], least=0),
                check_float("seconds", record["seconds"]),
            )
        except (KeyError, OptionError) as error:
            raise FormatError(f"an epoch of the history is damaged ({error}); save the model again") from None

    @property
    def tokens_per_second(self) -> float:
        """Words of the corpus read per second."""
        return self.tokens / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class BlockResult:
    """What training one block did: `counted` tokens of it had their loss taken."""

    tokens: int
    trained: int
    loss: float
    counted: int


class EpochTotals:
    """Sums over blocks, in float64 and under a lock: gensim's running loss has neither."""

    def __init__(
        self,
        blocks: int = 0,
        tokens: int = 0,
        trained: int = 0,
        counted: int = 0,
        loss: float = 0.0,
        seconds: float = 0.0,
    ) -> None:
        self._lock = threading.Lock()
        self.blocks, self.tokens, self.trained, self.counted = blocks, tokens, trained, counted
        self.loss, self.seconds = loss, seconds

    def add(self, block: BlockResult) -> None:
        """Add a block that is done."""
        with self._lock:
            self.blocks += 1
            self.tokens += block.tokens
            self.trained += block.trained
            self.counted += block.counted
            self.loss += block.loss

    @property
    def mean_loss(self) -> float:
        """The loss per token, nan before the first."""
        return self.loss / self.counted if self.counted else math.nan

    def to_json(self) -> dict[str, Any]:
        """Return the sums; JSON keeps every bit of a float."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    @classmethod
    def from_json(cls, record: Any) -> EpochTotals:
        """Read what `to_json` wrote."""
        try:
            counts = {name: check_integer(name, record[name], least=0) for name in COUNTS}
            loss, seconds = check_float("loss", record["loss"]), check_float("seconds", record["seconds"])
            return cls(**counts, loss=loss, seconds=seconds)
        except (KeyError, TypeError, OptionError) as error:
            raise FormatError(f"the position of a checkpoint is damaged ({error}); use an earlier one") from None


@dataclass
class RunPosition:
    """How far a run is: `history` has its whole epochs, `totals` the blocks done of the next."""

    history: list[Epoch] = field(default_factory=list)
    totals: EpochTotals = field(default_factory=EpochTotals)
    whole: bool = True  # False after a block failed: the matrices then belong to no position

    @property
    def tokens(self) -> int:
        """Tokens of the corpus that were trained, repetitions counted."""
        return sum(epoch.tokens for epoch in self.history) + self.totals.tokens

    def end_epoch(self, epoch: int, alpha: float) -> None:
        """Turn the totals into an epoch of the history: all its blocks are done."""
        done = self.totals
        self.history.append(Epoch(epoch, done.mean_loss, alpha, done.tokens, done.trained, done.seconds))
        self.totals = EpochTotals()


class RunState:
    """What a model knows of its training: rates, schedule and history.

    Parameters
    ----------
    alpha
        The first learning rate that the user gave; None to choose it for the corpus.
    min_alpha
        The last one.
    epochs
        Of a training.
    planned
        The length that the user wants rate schedules to have, if longer than a training.
    """

    def __init__(self, alpha: float | None, min_alpha: float, epochs: int, planned: int | None) -> None:
        self.schedule = Schedule(alpha, min_alpha, epochs if planned is None else planned)
        self.schedule.check_left(epochs)
        self.given_alpha, self.min_alpha, self.planned = self.schedule.alpha, self.schedule.min_alpha, planned
        self.history: list[Epoch] = []
        self.train_count = 0
        self.tokens_before = 0  # trained elsewhere, before this model's history
        self.unfinished: str | None = None  # the digest of the start of a run that failed and may be resumed
        self._run_start = 0  # the length of the history when the latest training began
        self._loss_shift = 0.0  # by how much a user has changed the running loss

    @property
    def alpha(self) -> float | None:
        """The first learning rate: the one given, or the one chosen for the corpus; None until then."""
        return self.schedule.alpha if self.given_alpha is None else self.given_alpha

    @property
    def tokens_seen(self) -> int:
        """Tokens that the model was trained on so far, here and elsewhere."""
        return self.tokens_before + sum(epoch.tokens for epoch in self.history)

    @property
    def loss(self) -> float:
        """The loss of the latest training, summed over its tokens and epochs."""
        epochs = self.history[self._run_start :]
        total = sum(epoch.loss * epoch.trained_tokens for epoch in epochs if not math.isnan(epoch.loss))
        return total + self._loss_shift

    @loss.setter
    def loss(self, value: float) -> None:
        self._loss_shift += value - self.loss

    def plan(
        self,
        usual_epochs: int,
        epochs: int | None,
        total_epochs: int | None,
        start_alpha: float | None,
        end_alpha: float | None,
    ) -> tuple[Schedule, int]:
        """Plan a training.

        It continues an unfinished schedule if nothing else is asked for. A number of epochs asks for a schedule of that
        length, unless the user planned for more (`total_epochs`).

        Parameters
        ----------
        usual_epochs
            Of a training that does not say otherwise.
        epochs, total_epochs, start_alpha, end_alpha
            As given to `Word2Vec.train`.

        Returns
        -------
        tuple of Schedule and int
            The schedule, and how many of its epochs to train.
        """
        schedule = self.schedule
        if epochs is not None:
            epochs = check_integer("epochs", epochs)
        asked = any(value is not None for value in (total_epochs, start_alpha, end_alpha))
        other = self.planned is None and epochs not in (None, schedule.left)
        if schedule.done == 0 or schedule.left == 0 or asked or other:
            planned = self.planned if schedule.done == 0 and total_epochs is None else total_epochs
            schedule = Schedule(
                self.given_alpha if start_alpha is None else start_alpha,
                self.min_alpha if end_alpha is None else end_alpha,
                (epochs or check_integer("epochs", usual_epochs)) if planned is None else planned,
            )
        if epochs is None:
            epochs = schedule.left if schedule.done else min(usual_epochs, schedule.left)
        schedule.check_left(epochs)
        return schedule, epochs

    def begin(self, position: RunPosition) -> None:
        """Count the loss from here; epochs that a checkpoint brings count as part of the run."""
        self._run_start, self._loss_shift = len(self.history), 0.0
        self.history = [*self.history, *position.history]

    def reset(self, epochs: int) -> None:
        """Forget what was trained; rates begin again."""
        self.forget_history()
        self.tokens_before = 0
        self.schedule = Schedule(self.given_alpha, self.min_alpha, self.planned or epochs)

    def restore(self, saved: dict[str, Any], history: list[dict[str, Any]], epochs: int) -> None:
        """Take schedule, history and counters from a saved model.

        Parameters
        ----------
        saved
            What it says of its training (`Word2Vec._describe_training`).
        history
            Its epochs, as `Epoch.to_json` wrote them.
        epochs
            Of a training: a schedule of another length was planned.
        """
        self.schedule = Schedule(**saved["schedule"])
        self.history = [Epoch.from_json(epoch) for epoch in history]
        self.tokens_before = check_integer("tokens_before", saved.get("tokens_before", 0), least=0)
        self.train_count = check_integer("train_count", saved.get("train_count", 0), least=0)
        planned = saved.get("planned_epochs", None if self.schedule.total == epochs else self.schedule.total)
        self.planned = None if planned is None else check_integer("planned_epochs", planned)

    def forget_history(self) -> None:
        """Forget the epochs that were trained."""
        self.history, self._run_start = [], 0
