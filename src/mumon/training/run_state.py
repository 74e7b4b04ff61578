"""How far training has come: what each epoch did, and where inside the next one it stands."""

from __future__ import annotations

import math
import threading
from dataclasses import asdict, dataclass, field
from typing import Any

from mumon.errors import FormatError, OptionError
from mumon.utils.validation import check_float, check_integer

COUNTS = ("blocks", "tokens", "trained", "counted")


@dataclass(frozen=True)
class Epoch:
    """What one epoch did. `loss` is the mean negative-sampling loss per trained token, nan if none was trained."""

    epoch: int
    loss: float
    alpha: float
    tokens: int
    trained_tokens: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The fields, with null where JSON has no nan."""
        return {**asdict(self), "loss": None if math.isnan(self.loss) else self.loss}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Epoch:
        """The reverse of `to_json`."""
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
class Block:
    """What training one block did: `counted` tokens of it had their loss taken."""

    tokens: int
    trained: int
    loss: float
    counted: int


class Tally:
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

    def add(self, block: Block) -> None:
        """One more block is done."""
        with self._lock:
            self.blocks += 1
            self.tokens += block.tokens
            self.trained += block.trained
            self.counted += block.counted
            self.loss += block.loss

    @property
    def mean(self) -> float:
        """The loss per token, nan before the first."""
        return self.loss / self.counted if self.counted else math.nan

    def to_json(self) -> dict[str, Any]:
        """The sums; JSON keeps every bit of a float."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    @classmethod
    def from_json(cls, record: Any) -> Tally:
        """The reverse of `to_json`."""
        try:
            counts = {name: check_integer(name, record[name], least=0) for name in COUNTS}
            loss, seconds = check_float("loss", record["loss"]), check_float("seconds", record["seconds"])
            return cls(**counts, loss=loss, seconds=seconds)
        except (KeyError, TypeError, OptionError) as error:
            raise FormatError(f"the position of a checkpoint is damaged ({error}); use an earlier one") from None


@dataclass
class Position:
    """How far a run has come: `history` has its whole epochs, `tally` the blocks done of the next."""

    history: list[Epoch] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    whole: bool = True  # no block was begun that failed, after which the matrices stand at no position

    @property
    def tokens(self) -> int:
        """Tokens of the corpus that lie behind, repetitions counted."""
        return sum(epoch.tokens for epoch in self.history) + self.tally.tokens

    def end_epoch(self, epoch: int, alpha: float) -> None:
        """All blocks are done: the tally becomes an epoch of the history."""
        done = self.tally
        self.history.append(Epoch(epoch, done.mean, alpha, done.tokens, done.trained, done.seconds))
        self.tally = Tally()
