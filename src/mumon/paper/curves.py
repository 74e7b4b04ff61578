"""Training curves: the loss per token as training goes on, correct against faulty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mumon.evaluation.bootstrap import interval, item_draws
from mumon.matrices import initial_rows, new_matrix
from mumon.paper.figures import SHADES, curve
from mumon.paper.intervals import Estimate, estimate_of
from mumon.paper.lab import SYSTEMS, Lab, Labelled, Part
from mumon.paper.results import Figure, Item, Section, Table, Verdict, at_least
from mumon.position import Block
from mumon.settings import Schedule, Settings
from mumon.training import Trainer
from mumon.vocab import Vocabulary

RATES = {"correct": 0.075, "faulty": 0.025}  # the paper's, and word2vec's for CBOW when it was written
LEAST = 1e-4


class RecordingTrainer(Trainer):
    """A trainer that remembers what every block of the text did."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.blocks: dict[tuple[int, int], Block] = {}

    def _block_trainer(self) -> Callable[[int, int, float], Block]:
        train = super()._block_trainer()

        def record(epoch: int, block: int, alpha: float) -> Block:
            self.blocks[epoch, block] = done = train(epoch, block, alpha)
            return done

        return record


def measure(lab: Lab) -> dict[str, Any]:
    """One pass over the text with each update; the loss of every batch of it."""
    part = lab.part(lab.scale.curve_sentences)
    curves = {}
    for update, rate in RATES.items():
        inputs = {"corpus": part.digest, "options": lab.options(epochs=1), "update": update, "rate": rate}
        inputs |= {"batch": lab.scale.curve_batch}
        curves[update] = lab.cache.record("curve", inputs, lambda: _losses(lab, part, update, rate))["losses"]  # noqa: B023
    per_point = max(1, round(lab.scale.curve_step / lab.scale.curve_batch))
    first = {update: np.array(losses) for update, losses in curves.items()}
    count = min(len(losses) for losses in first.values())
    points = [slice(start, start + per_point) for start in range(0, count - per_point + 1, per_point)]
    resamples = lab.scale.resamples
    return {
        "tokens": part.tokens,
        "step": per_point * lab.scale.curve_batch,
        "batch": lab.scale.curve_batch,
        "rates": RATES,
        "points": {
            update: [_mean(losses[where], resamples).to_json() for where in points] for update, losses in first.items()
        },
        "difference": [
            _mean(first["correct"][where] - first["faulty"][where], resamples).to_json() for where in points
        ],
    }


def _losses(lab: Lab, part: Part, update: str, rate: float) -> dict[str, Any]:
    """The mean loss per token of one batch of text after another, in the order of the text."""
    options = lab.options()
    settings = Settings(
        **{**SYSTEMS[f"CBOW {update}, exact"], "window": options["window"], "negative": options["negative"]},
        workers=lab.threads,
    )
    words = Vocabulary.from_corpus(
        part.corpus, min_count=options["min_count"], max_final_vocab=options["max_final_vocab"]
    )
    source, target = (new_matrix(len(words), options["vector_size"]) for _ in range(2))
    initial_rows(source, options["vector_size"], np.arange(len(words)), settings.seed)
    reporter = Labelled(lab.progress, f"{lab.label}, {update}")
    trainer = RecordingTrainer(part.corpus, words.lookup(part.corpus), words.counts, source, target, settings, reporter)
    trainer.run(1, Schedule(rate, LEAST, 1))
    losses: list[float] = []
    tokens, loss, counted = 0, 0.0, 0
    for place in sorted(trainer.blocks):
        block = trainer.blocks[place]
        tokens, loss, counted = tokens + block.tokens, loss + block.loss, counted + block.counted
        if tokens >= lab.scale.curve_batch * (len(losses) + 1):
            losses.append(loss / max(counted, 1))
            loss, counted = 0.0, 0
    lab.progress.finish(f"{lab.label}: loss of {len(losses):,} batches of {update} CBOW")
    return {"losses": losses}


def _mean(values: Any, resamples: int) -> Estimate:
    """The mean of batches and its bootstrap interval."""
    draws = [values[drawn].mean(axis=1) for drawn in item_draws(len(values), resamples, 0)]
    return Estimate(float(values.mean()), *interval(np.concatenate(draws)))


def section(data: dict[str, Any]) -> Section:
    """The curves and where they end."""
    ends = {update: estimate_of(points[-1]) for update, points in data["points"].items()}
    gap = estimate_of(data["difference"][-1])
    told = "; ".join(f"{update} {end.value:.3f} [{end.low:.3f} … {end.high:.3f}]" for update, end in ends.items())
    verdicts = [
        Verdict(
            "The correct update ends at a lower loss than the faulty one.",
            "the paper shows both curves, per 5 M tokens, and gives no numbers",
            f"{told}; correct less faulty {gap.value:+.3f} [{gap.low:+.3f} … {gap.high:+.3f}]".replace("-", "−"),
            at_least(Estimate(-gap.value, -gap.high, -gap.low)),
        )
    ]
    return Section(
        "Training curves",
        f"The mean loss per token of one pass over {data['tokens'] / 1e6:.3g} M words, one SGD step per window, at the "
        "rates "
        f"{data['rates']['correct']} (correct) and {data['rates']['faulty']} (faulty). Each point is the mean of "
        f"{data['step']:,} tokens of text that was not seen before; bands are 95 % bootstrap intervals over its "
        "batches of "
        f"{data['batch']:,} tokens.",
        verdicts,
        [_table(data)],
        [Figure("curves", "Loss per token as training goes on.", lambda figure: _draw(figure, data))],
        ["Both curves fall along the same schedule to a rate near zero at the end of the text."],
    )


def _table(data: dict[str, Any]) -> Table:
    rows = [
        [
            data["step"] * (place + 1),
            *(round(data["points"][update][place][name], 4) for update in RATES for name in ("value", "low", "high")),
        ]
        for place in range(len(data["difference"]))
    ]
    columns = ["tokens", *(f"{update}{name}" for update in RATES for name in ("", ", 2.5 %", ", 97.5 %"))]
    return Table("curves", "Loss per token", columns, rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.add_subplot()
    along = [data["step"] * (place + 1) / 1e6 for place in range(len(data["difference"]))]
    for update, points in data["points"].items():
        curve(axes, along, [estimate_of(point) for point in points], update, SHADES[update])
    axes.set(xlabel="million tokens", ylabel="loss per token")
    axes.legend()


ITEM = Item("curves", "training curves of both updates", measure, section)
