"""Training curves: the loss per token as training goes on, correct against faulty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mumon import __version__
from mumon.errors import CorpusError, TrainingError
from mumon.evaluation.bootstrap import interval, item_draws
from mumon.matrices import initial_rows, new_matrix
from mumon.paper.figures import SHADES, curve
from mumon.paper.intervals import Estimate, estimate_of
from mumon.paper.lab import Lab, Labelled, Part
from mumon.paper.results import Figure, Item, Section, Table, Verdict, at_least
from mumon.paper.runs import SYSTEMS
from mumon.paper.sweeps import MOST, STEP, rounded
from mumon.position import Block
from mumon.settings import Schedule, Settings
from mumon.training import Trainer
from mumon.vocab import Vocabulary

# From the paper's rate for the correct update up, and from gensim's for the faulty one; as many more as it takes.
RATES = {"correct": (0.075, 0.15, 0.3), "faulty": (0.025, 0.05, 0.1)}
FEWEST = 4  # points of a curve
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
    """One pass over the text with each update and rate; the loss of every batch of it."""
    part = lab.part(lab.scale.curve_sentences)
    if part.tokens < FEWEST * lab.scale.curve_batch:
        raise CorpusError(f"the corpus has {part.tokens:,} words, too few for curves; give more text")
    losses = {(update, rate): loss for update in RATES for rate, loss in _swept(lab, part, update).items()}
    count = min(map(len, losses.values()))
    per_point = _per_point(lab, count)
    points = [slice(start, start + per_point) for start in range(0, count - per_point + 1, per_point)]
    best = {update: _best({r: loss for (u, r), loss in losses.items() if u == update}, per_point) for update in RATES}
    gaps = losses["correct", best["correct"]][:count] - losses["faulty", best["faulty"]][:count]
    resamples = lab.scale.resamples
    return {
        "tokens": part.tokens,
        "step": per_point * lab.scale.curve_batch,
        "batch": lab.scale.curve_batch,
        "best": best,
        "series": [
            {"update": update, "rate": rate, "points": [_mean(found[where], resamples).to_json() for where in points]}
            for (update, rate), found in losses.items()
        ],
        "difference": [_mean(gaps[where], resamples).to_json() for where in points],
    }


def _swept(lab: Lab, part: Part, update: str) -> dict[float, Any]:
    """The losses of an update by rate: those of RATES, and more until the one that ends lowest is not at an edge."""
    losses = {rate: np.array(_kept(lab, part, update, rate)) for rate in RATES[update]}
    while len(losses) < MOST:
        best = _best(losses, _per_point(lab, len(next(iter(losses.values())))))
        if min(losses) < best < max(losses):
            break
        more = rounded(best * STEP if best == max(losses) else best / STEP)
        try:
            losses[more] = np.array(_kept(lab, part, update, more))
        except TrainingError:  # it diverged, so the one before is the highest that can be used
            break
    return dict(sorted(losses.items()))


def _per_point(lab: Lab, batches: int) -> int:
    return max(1, min(round(lab.scale.curve_step / lab.scale.curve_batch), batches // FEWEST))


def _best(losses: dict[float, Any], last: int) -> float:
    """The rate whose last point is lowest."""
    return min(losses, key=lambda rate: float(losses[rate][-last:].mean()))


def _kept(lab: Lab, part: Part, update: str, rate: float) -> list[float]:
    inputs = {"corpus": part.digest, "options": lab.options(epochs=1), "update": update, "rate": rate, "least": LEAST}
    inputs |= {"batch": lab.scale.curve_batch, "version": __version__}
    losses: list[float] = lab.cache.record("curve", inputs, lambda: _losses(lab, part, update, rate))["losses"]
    return losses


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
    reporter = Labelled(lab.progress, f"{lab.label}, {update}, rate {rate}")
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
    lab.progress.finish(f"{lab.label}: {update} CBOW, rate {rate}: loss of {len(losses):,} batches")
    return {"losses": losses}


def _mean(values: Any, resamples: int) -> Estimate:
    """The mean of batches and its bootstrap interval."""
    draws = [values[drawn].mean(axis=1) for drawn in item_draws(len(values), resamples, 0)]
    return Estimate(float(values.mean()), *interval(np.concatenate(draws)))


def section(data: dict[str, Any]) -> Section:
    """The curves and where they end."""
    ends = {(line["update"], line["rate"]): estimate_of(line["points"][-1]) for line in data["series"]}
    gap, best = estimate_of(data["difference"][-1]), data["best"]
    told = "; ".join(
        f"{update} at {rate:g}: {ends[update, rate].value:.3f} [{ends[update, rate].low:.3f} … "
        f"{ends[update, rate].high:.3f}]"
        for update, rate in best.items()
    )
    verdicts = [
        Verdict(
            "The correct update ends at a lower loss than the faulty one.",
            "the paper shows both curves, per 5 M tokens; their values are not given as numbers",
            f"{told}; correct less faulty {gap.value:+.3f} [{gap.low:+.3f} … {gap.high:+.3f}]".replace("-", "−"),
            at_least(Estimate(-gap.value, -gap.high, -gap.low)),
        )
    ]
    return Section(
        "Training curves",
        f"The mean loss per token of one pass over {data['tokens'] / 1e6:.3g} M words, one SGD step per window, for "
        f"each update at several rates; those that end lowest are compared. Each point is the mean of {data['step']:,} "
        "tokens of text that was not seen before; bands are 95 % bootstrap intervals over its batches of "
        f"{data['batch']:,} tokens, and so do not tell what another seed would change.",
        verdicts,
        [_table(data)],
        [
            Figure(
                "curves", "Loss per token as training goes on; the best rates are drawn bold.", lambda f: _draw(f, data)
            )
        ],
    )


def _table(data: dict[str, Any]) -> Table:
    rows = [
        [line["update"], line["rate"], data["step"] * (place + 1), *(round(point[name], 4) for name in point)]
        for line in data["series"]
        for place, point in enumerate(line["points"])
    ]
    return Table("curves", "Loss per token", ["update", "rate", "tokens", "loss", "2.5 %", "97.5 %"], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.add_subplot()
    along = [data["step"] * (place + 1) / 1e6 for place in range(len(data["difference"]))]
    highest = 1.5 * max(
        line["points"][0]["value"] for line in data["series"] if line["rate"] == data["best"][line["update"]]
    )
    for line in data["series"]:
        if max(point["value"] for point in line["points"]) > highest:
            continue  # it diverges, and would flatten the others
        update, name = line["update"], f"{line['update']}, rate {line['rate']:g}"
        if line["rate"] == data["best"][update]:
            curve(axes, along, [estimate_of(point) for point in line["points"]], name, SHADES[update])
        else:
            style = ":" if line["rate"] < data["best"][update] else "--"
            axes.plot(
                along, [point["value"] for point in line["points"]], style, color=SHADES[update], alpha=0.6, label=name
            )
    axes.set(xlabel="million tokens", ylabel="loss per token")
    axes.legend(fontsize=9)


ITEM = Item("curves", "training curves of both updates", measure, section)
