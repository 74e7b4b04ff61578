"""Training curves: the loss per token as training goes on, correct against faulty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mumon import __version__
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import CorpusError, TrainingError
from mumon.evaluation.bootstrap import compute_interval, draw_items
from mumon.experiments.paper.experiment_context import Lab, Labelled, Part
from mumon.experiments.paper.figures import SHADES, curve
from mumon.experiments.paper.intervals import Estimate, estimate_of
from mumon.experiments.paper.results import Figure, Item, Section, Table, Verdict, at_least
from mumon.experiments.paper.runs import SYSTEMS
from mumon.experiments.paper.sweeps import MOST, STEP, rounded
from mumon.training.run_state import Block
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.trainer import Trainer
from mumon.training.weights import initial_rows, new_matrix

# From the paper's rate for the correct update up, and from gensim's for the faulty one; as many more as it takes.
RATES = {"correct": (0.075, 0.15, 0.3), "faulty": (0.025, 0.05, 0.1)}
FEWEST = 4  # points of a curve
LEAST = 1e-4


class RecordingTrainer(Trainer):
    """A trainer that remembers what every block of the text did."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.recorded: dict[tuple[int, int], Block] = {}

    def _block_trainer(self) -> Callable[[int, int, float], Block]:
        train = super()._block_trainer()

        def record(epoch: int, block: int, alpha: float) -> Block:
            self.recorded[epoch, block] = done = train(epoch, block, alpha)
            return done

        return record


def measure(lab: Lab) -> dict[str, Any]:
    """One pass over the text with each update and rate; the loss of every batch of it."""
    part = lab.part(lab.scale.curve_sentences)
    if part.tokens < FEWEST * lab.scale.curve_batch:
        raise CorpusError(f"the corpus has {part.tokens:,} words, too few for curves; give more text")
    swept = {update: _swept(lab, part, update) for update in RATES}
    losses = {(update, rate): loss for update, (found, _) in swept.items() for rate, loss in found.items()}
    best = {update: _best(lab, found) for update, (found, _) in swept.items()}
    points = _points(lab, len(losses["correct", best["correct"]]))
    gaps = losses["correct", best["correct"]] - losses["faulty", best["faulty"]]
    resamples = lab.scale.resamples
    return {
        "tokens": part.tokens,
        "ends": [where.stop * lab.scale.curve_batch for where in points],
        "batch": lab.scale.curve_batch,
        "best": best,
        "diverged": [[update, rate] for update, (_, rates) in swept.items() for rate in rates],
        "series": [
            {"update": update, "rate": rate, "points": [_mean(found[where], resamples).to_json() for where in points]}
            for (update, rate), found in losses.items()
        ],
        "difference": [_mean(gaps[where], resamples).to_json() for where in points],
    }


def _swept(lab: Lab, part: Part, update: str) -> tuple[dict[float, Any], list[float]]:
    """The losses of an update by rate, and the rates at which it diverged.

    Those of RATES are trained, and more until the one that ends lowest has others on both sides.
    """
    tried = {rate: _kept(lab, part, update, rate) for rate in RATES[update]}
    while True:
        losses = {rate: np.array(tried[rate]) for rate in sorted(tried) if tried[rate]}
        if not losses:
            raise TrainingError(f"the {update} update diverged at all of {len(tried)} rates; give more text")
        best = _best(lab, losses)
        edge = best * STEP if best == max(tried) else best / STEP if best == min(tried) else None
        if edge is None or len(tried) >= MOST:
            return losses, sorted(set(tried) - set(losses))
        tried[rounded(edge)] = _kept(lab, part, update, rounded(edge))


def _points(lab: Lab, batches: int) -> list[slice]:
    """The batches of each point, counted from the end, which is what is compared; the first may have fewer."""
    each = max(1, min(round(lab.scale.curve_step / lab.scale.curve_batch), batches // FEWEST))
    return [slice(max(0, stop - each), stop) for stop in range(batches, 0, -each)][::-1]


def _best(lab: Lab, losses: dict[float, Any]) -> float:
    """The rate whose last point is lowest."""
    return min(losses, key=lambda rate: float(losses[rate][_points(lab, len(losses[rate]))[-1]].mean()))


def _kept(lab: Lab, part: Part, update: str, rate: float) -> list[float]:
    """The losses of one pass, from now or from an earlier time; none if it diverged."""

    def measure() -> dict[str, Any]:
        try:
            return _losses(lab, part, update, rate)
        except TrainingError:
            return {"losses": []}

    inputs = {"corpus": part.digest, "options": lab.options(epochs=1), "update": update, "rate": rate, "least": LEAST}
    inputs |= {"batch": lab.scale.curve_batch, "version": __version__}
    losses: list[float] = lab.cache.record("curve", inputs, measure)["losses"]
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
    for place in sorted(trainer.recorded):
        block = trainer.recorded[place]
        tokens, loss, counted = tokens + block.tokens, loss + block.loss, counted + block.counted
        if tokens >= lab.scale.curve_batch * (len(losses) + 1):
            losses.append(loss / max(counted, 1))
            loss, counted = 0.0, 0
    lab.progress.finish(f"{lab.label}: {update} CBOW, rate {rate}: loss of {len(losses):,} batches")
    return {"losses": losses}


def _mean(values: Any, resamples: int) -> Estimate:
    """The mean of batches and its bootstrap interval."""
    draws = [values[drawn].mean(axis=1) for drawn in draw_items(len(values), resamples, 0)]
    return Estimate(float(values.mean()), *compute_interval(np.concatenate(draws)))


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
        f"each update at several rates; those that end lowest are compared. Each point is the mean of "
        f"{data['ends'][-1] - data['ends'][-2]:,} tokens of text that was not seen before (the first of what is left); "
        f"bands are 95 % bootstrap intervals over its batches of {data['batch']:,} tokens, and so do not tell what "
        "another seed would change.",
        verdicts,
        [_table(data)],
        [
            Figure(
                "curves", "Loss per token as training goes on; the best rates are drawn bold.", lambda f: _draw(f, data)
            )
        ],
        _notes(data),
    )


def _notes(data: dict[str, Any]) -> list[str]:
    """What became of the rates that the figure does not have."""
    above = [f"At {rate:g} the {update} update diverged." for update, rate in data["diverged"]]
    outside = [
        f"At {line['rate']:g} the {line['update']} update's loss rose to {max(_values(line)):.3g}; it is in the table, "
        "but not in the figure."
        for line in data["series"]
        if not _drawn(line, data)
    ]
    return [*outside, *above]


def _values(line: dict[str, Any]) -> list[float]:
    return [point["value"] for point in line["points"]]


def _drawn(line: dict[str, Any], data: dict[str, Any]) -> bool:
    """Whether a curve is near the best ones; one that runs away would flatten the others."""
    best = [_values(each)[0] for each in data["series"] if each["rate"] == data["best"][each["update"]]]
    return max(_values(line)) <= 1.5 * max(best)


def _table(data: dict[str, Any]) -> Table:
    rows = [
        [line["update"], line["rate"], end, *(round(point[name], 4) for name in point)]
        for line in data["series"]
        for end, point in zip(data["ends"], line["points"], strict=True)
    ]
    return Table("curves", "Loss per token", ["update", "rate", "tokens", "loss", "2.5 %", "97.5 %"], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.add_subplot()
    along = [end / 1e6 for end in data["ends"]]
    for line in filter(lambda line: _drawn(line, data), data["series"]):
        update, name = line["update"], f"{line['update']}, rate {line['rate']:g}"
        if line["rate"] == data["best"][update]:
            curve(axes, along, [estimate_of(point) for point in line["points"]], name, SHADES[update])
        else:
            style = ":" if line["rate"] < data["best"][update] else "--"
            axes.plot(along, _values(line), style, color=SHADES[update], alpha=0.6, label=name)
    axes.set(xlabel="million tokens", ylabel="loss per token")
    axes.legend(fontsize=9)


ITEM = Item("curves", "training curves of both updates", measure, section)
