"""One trial: a network is trained until dev gets no better and, if it is chosen, tested.

The random numbers of an epoch depend only on the seed and the epoch, so a trial that resumes from a saved state ends
with the same result. It uses one thread, so the order of a sum never changes.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mumon.experiments.extrinsic.batches import Items, draw_batches
from mumon.experiments.extrinsic.conll import count_entities
from mumon.experiments.extrinsic.inputs import Inputs, SplitInputs
from mumon.experiments.extrinsic.networks import Classifier, Tagger
from mumon.experiments.extrinsic.plan import Trial
from mumon.experiments.extrinsic.report import compute_f1
from mumon.utils.atomic import atomic_file

MOST_GRADIENT_NORM = 5.0  # longer gradients are clipped
MOST_EVAL_ITEMS = 256  # items in a batch, fewer if the network is wide
MOST_EVAL_UNITS = 1 << 15
SAVE_SECONDS = 30.0  # between two saved states, from which an interrupted trial resumes

SendMessage = Callable[[dict[str, Any]], None]


@dataclass
class TrialProgress:
    """How far a trial has come."""

    epoch: int = 0
    best: float = -math.inf
    best_epoch: int = 0
    curve: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def is_over(self, trial: Trial) -> bool:
        """Return whether the epochs or the patience of a trial are used up."""
        return self.epoch >= trial.epochs or self.epoch - self.best_epoch >= trial.patience


class Training:
    """A network, its optimiser, and the best weights so far.

    Parameters
    ----------
    trial
        What to train.
    inputs
        The task as the embedding represents it.
    """

    def __init__(self, trial: Trial, inputs: Inputs) -> None:
        self.trial, self.inputs = trial, inputs
        torch.manual_seed(_derive_seed(trial.seed, 0))
        self.network = build_network(trial, inputs)
        trained = [weight for weight in self.network.parameters() if weight.requires_grad]
        self.optimiser = torch.optim.Adam(trained, lr=trial.draw.rate, fused=True)
        self.done = TrialProgress()
        self.best: dict[str, Tensor] = {}

    def run(self, state: Path, report: SendMessage) -> dict[str, Any]:
        """Train to the end, from the saved state if there is one.

        Parameters
        ----------
        state
            The file of the saved state.
        report
            Called after each epoch.

        Returns
        -------
        dict
            The best dev score, its epoch, all dev scores and the seconds.
        """
        self.load(state)
        train = self.inputs.parts["train"]
        train_items = choose_items(train, self.trial.train_items, self.trial.seed)
        dev_items = choose_items(self.inputs.parts["dev"], self.trial.dev_items, seed=0)
        saved = time.monotonic()
        while not self.done.is_over(self.trial):
            started = time.perf_counter()
            self.run_epoch(train, train_items)
            reached = compute_f1(count_outcomes(self.network, self.inputs, "dev", self.trial, dev_items))
            self.record_epoch(reached, time.perf_counter() - started)
            report({"epoch": self.done.epoch, "dev": reached})
            if time.monotonic() - saved >= SAVE_SECONDS and not self.done.is_over(self.trial):
                with suppress(OSError):  # a full disk need not stop the training
                    self.save(state)
                saved = time.monotonic()
        return {
            "dev": self.done.best,
            "epoch": self.done.best_epoch,
            "curve": self.done.curve,
            "seconds": round(self.done.seconds, 2),
        }

    def run_epoch(self, part: SplitInputs, items: Items) -> None:
        """Train on all items once."""
        number = self.done.epoch + 1
        torch.manual_seed(_derive_seed(self.trial.seed, number))
        order = np.random.default_rng([self.trial.seed, number])
        self.network.train()
        for batch in draw_batches(part, items, self.trial.batch, self.trial.longest, order):
            loss = nn.functional.cross_entropy(self.network(batch), batch.labels)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.network.parameters(), MOST_GRADIENT_NORM)
            self.optimiser.step()

    def record_epoch(self, reached: float, seconds: float) -> None:
        """Record the dev score of an epoch, and keep the weights if they are the best so far."""
        done = self.done
        done.epoch, done.seconds = done.epoch + 1, done.seconds + seconds
        done.curve.append(round(reached, 3))
        if reached > done.best:
            done.best, done.best_epoch = reached, done.epoch
            self.best = {name: weight.detach().clone() for name, weight in self.network.state_dict().items()}

    def save(self, path: Path) -> None:
        """Save everything that the next epoch depends on in one file."""
        tensors = {f"now.{name}": weight for name, weight in self.network.state_dict().items()}
        tensors |= {f"best.{name}": weight for name, weight in self.best.items()}
        for number, moments in self.optimiser.state_dict()["state"].items():
            tensors |= {f"adam.{number}.{name}": value for name, value in moments.items()}
        write_tensors(tensors, path, {"done": json.dumps(vars(self.done))})

    def load(self, path: Path) -> None:
        """Load what `save` wrote; if the file is missing or damaged, training starts from the beginning."""
        saved = read_tensors(path)
        if saved is None:
            return
        parts: dict[str, dict[str, Tensor]] = {"now": {}, "best": {}, "adam": {}}
        for name, tensor in saved[0].items():
            part, _, rest = name.partition(".")
            parts[part][rest] = tensor
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["adam"].items():
            number, _, moment = name.partition(".")
            state.setdefault(int(number), {})[moment] = tensor
        self.network.load_state_dict(parts["now"])
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": state})
        self.best, self.done = parts["best"], TrialProgress(**json.loads(saved[1]["done"]))


def build_network(trial: Trial, inputs: Inputs) -> nn.Module:
    """Build the network of a trial, with its initial weights."""
    if inputs.kind == "tags":
        return Tagger(inputs, trial.width, trial.draw.dropout, trial.tuned)
    return Classifier(inputs, trial.width, trial.hidden, trial.draw.dropout, trial.tuned)


def choose_items(part: SplitInputs, most: int | None, seed: int) -> Items:
    """Choose the items to use: all, or a random sample of `most` of them."""
    count = len(part.labels)
    if most is None or count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng([seed, count]).permutation(count)[:most])


def count_outcomes(
    network: nn.Module, inputs: Inputs, name: str, trial: Trial, items: Items | None = None
) -> NDArray[np.int64]:
    """Count, for each item of a split, the labels (or entities) that are right, predicted and true.

    Parameters
    ----------
    network
        The trained network.
    inputs
        The task.
    name
        The split.
    trial
        Its sizes.
    items
        The items to use, in this order; None means all.

    Returns
    -------
    array (items, 3)
        The counts.
    """
    part = inputs.parts[name]
    items = np.arange(len(part.labels)) if items is None else items
    found = {}
    network.eval()
    with torch.inference_mode():
        for batch in draw_batches(part, items, min(MOST_EVAL_ITEMS, MOST_EVAL_UNITS // trial.width), trial.longest):
            predicted = network(batch).argmax(dim=1).numpy()
            first = 0
            for item in batch.items:
                gold = part.labels[item]
                found[int(item)] = _count_item(inputs, gold, predicted[first : first + len(gold)])
                first += len(gold)
    return np.array([found[int(item)] for item in items])


def _count_item(inputs: Inputs, gold: NDArray[np.int32], predicted: NDArray[np.int64]) -> tuple[int, int, int]:
    if inputs.kind != "tags":
        return int(gold[0] == predicted[0]), 1, 1
    return count_entities([inputs.labels[tag] for tag in gold], [inputs.labels[tag] for tag in predicted])


def write_tensors(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
    """Write a safetensors file, whole or not at all."""
    from safetensors.torch import save

    with atomic_file(path) as file:
        file.write(save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]] | None:
    """Read what `write_tensors` wrote, or return None if the file is missing or damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except (OSError, SafetensorError):
        return None


def _derive_seed(seed: int, epoch: int) -> int:
    """Derive a seed for the random numbers of one epoch; epoch 0 is for the initial weights."""
    return int(np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0] >> 1)
