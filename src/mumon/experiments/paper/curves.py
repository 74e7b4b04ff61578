"""Training curves: the loss per token during training, correct against faulty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mumon import __version__
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import CorpusError, TrainingError
from mumon.evaluation.bootstrap import compute_interval, draw_items
from mumon.experiments.paper.experiment_context import ExperimentContext, LabelledProgress, Part
from mumon.experiments.paper.figures import SYSTEM_COLOURS, draw_curve
from mumon.experiments.paper.intervals import Estimate
from mumon.experiments.paper.results import Figure, Item, Section, Table, Verdict, judge_at_least
from mumon.experiments.paper.runs import SYSTEMS
from mumon.experiments.paper.sweeps import MOST_RATES, RATE_STEP, round_rate
from mumon.training.run_state import BlockResult
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.thread_runner import ThreadRunner
from mumon.training.trainer import Trainer
from mumon.training.weights import allocate_matrix, fill_initial_rows

# The first is the paper's rate for the correct update and gensim's for the faulty one; more follow if needed.
RATES = {"correct": (0.075, 0.15, 0.3), "faulty": (0.025, 0.05, 0.1)}
FEWEST_POINTS = 4  # points of a curve
FINAL_RATE = 1e-4


class RecordingRunner(ThreadRunner):
    """A runner that records the totals of every block of the text."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.recorded: dict[tuple[int, int], BlockResult] = {}

    def make_block_trainer(self) -> Callable[[int, int, float], BlockResult]:
        train = super().make_block_trainer()

        def record(epoch: int, block: int, alpha: float) -> BlockResult:
            self.recorded[epoch, block] = done = train(epoch, block, alpha)
            return done

        return record


def measure(context: ExperimentContext) -> dict[str, Any]:
    """Train one pass over the text with each update and rate, and record the loss of every batch."""
    part = context.part(context.scale.curve_sentences)
    if part.tokens < FEWEST_POINTS * context.scale.curve_batch:
        raise CorpusError(f"the corpus has {part.tokens:,} words, too few for curves; give more text")
    swept = {update: _sweep_rates(context, part, update) for update in RATES}
    losses = {(update, rate): loss for update, (found, _) in swept.items() for rate, loss in found.items()}
    best = {update: _find_best_rate(context, found) for update, (found, _) in swept.items()}
    points = _cut_points(context, len(losses["correct", best["correct"]]))
    gaps = losses["correct", best["correct"]] - losses["faulty", best["faulty"]]
    resamples = context.scale.resamples
    return {
        "tokens": part.tokens,
        "ends": [where.stop * context.scale.curve_batch for where in points],
        "batch": context.scale.curve_batch,
        "best": best,
        "diverged": [[update, rate] for update, (_, rates) in swept.items() for rate in rates],
        "series": [
            {
                "update": update,
                "rate": rate,
                "points": [_estimate_mean(found[where], resamples).to_json() for where in points],
            }
            for (update, rate), found in losses.items()
        ],
        "difference": [_estimate_mean(gaps[where], resamples).to_json() for where in points],
    }


def _sweep_rates(context: ExperimentContext, part: Part, update: str) -> tuple[dict[float, Any], list[float]]:
    """Return the losses of an update by rate, and the rates at which it diverged.

    The rates of RATES are trained, and more until the one that ends lowest has others on both sides.
    """
    tried = {rate: _measure_once(context, part, update, rate) for rate in RATES[update]}
    while True:
        losses = {rate: np.array(tried[rate]) for rate in sorted(tried) if tried[rate]}
        if not losses:
            raise TrainingError(f"the {update} update diverged at all of {len(tried)} rates; give more text")
        best = _find_best_rate(context, losses)
        edge = best * RATE_STEP if best == max(tried) else best / RATE_STEP if best == min(tried) else None
        if edge is None or len(tried) >= MOST_RATES:
            return losses, sorted(set(tried) - set(losses))
        tried[round_rate(edge)] = _measure_once(context, part, update, round_rate(edge))


def _cut_points(context: ExperimentContext, batches: int) -> list[slice]:
    """Return the batches of each point, counted from the end, where curves are compared; the first may have fewer."""
    each = max(1, min(round(context.scale.curve_step / context.scale.curve_batch), batches // FEWEST_POINTS))
    return [slice(max(0, stop - each), stop) for stop in range(batches, 0, -each)][::-1]


def _find_best_rate(context: ExperimentContext, losses: dict[float, Any]) -> float:
    """Return the rate whose last point is lowest."""
    return min(losses, key=lambda rate: float(losses[rate][_cut_points(context, len(losses[rate]))[-1]].mean()))


def _measure_once(context: ExperimentContext, part: Part, update: str, rate: float) -> list[float]:
    """Return the losses of one pass, saved or new; an empty list if it diverged."""

    def measure() -> dict[str, Any]:
        try:
            return _measure_losses(context, part, update, rate)
        except TrainingError:
            return {"losses": []}

    inputs = {
        "corpus": part.digest,
        "options": context.options(epochs=1),
        "update": update,
        "rate": rate,
        "least": FINAL_RATE,
    }
    inputs |= {"batch": context.scale.curve_batch, "version": __version__}
    losses: list[float] = context.measure_once("curve", inputs, measure)["losses"]
    return losses


def _measure_losses(context: ExperimentContext, part: Part, update: str, rate: float) -> dict[str, Any]:
    """Measure the mean loss per token of each batch, in the order of the text."""
    options = context.options()
    settings = Settings(
        **{**SYSTEMS[f"CBOW {update}, exact"], "window": options["window"], "negative": options["negative"]},
        workers=context.threads,
    )
    words = Vocabulary.from_corpus(
        part.corpus, min_count=options["min_count"], max_final_vocab=options["max_final_vocab"]
    )
    source, target = (allocate_matrix(len(words), options["vector_size"]) for _ in range(2))
    fill_initial_rows(source, options["vector_size"], np.arange(len(words)), settings.seed)
    reporter = LabelledProgress(context.progress, f"{context.label}, {update}, rate {rate}")
    runner = RecordingRunner(part.corpus, words.lookup(part.corpus), words.counts, source, target, settings)
    Trainer(runner, reporter).run(1, Schedule(rate, FINAL_RATE, 1))
    losses: list[float] = []
    tokens, loss, counted = 0, 0.0, 0
    for place in sorted(runner.recorded):
        block = runner.recorded[place]
        tokens, loss, counted = tokens + block.tokens, loss + block.loss, counted + block.counted
        if tokens >= context.scale.curve_batch * (len(losses) + 1):
            losses.append(loss / max(counted, 1))
            loss, counted = 0.0, 0
    context.progress.finish(f"{context.label}: {update} CBOW, rate {rate}: loss of {len(losses):,} batches")
    return {"losses": losses}


def _estimate_mean(values: Any, resamples: int) -> Estimate:
    """Estimate the mean of batches with a bootstrap interval."""
    draws = [values[drawn].mean(axis=1) for drawn in draw_items(len(values), resamples, 0)]
    return Estimate(float(values.mean()), *compute_interval(np.concatenate(draws)))


def build_section(data: dict[str, Any]) -> Section:
    """Build the section: the curves and where they end."""
    ends = {(line["update"], line["rate"]): Estimate.from_json(line["points"][-1]) for line in data["series"]}
    gap, best = Estimate.from_json(data["difference"][-1]), data["best"]
    best_ends = "; ".join(
        f"{update} at {rate:g}: {ends[update, rate].value:.3f} [{ends[update, rate].low:.3f} … "
        f"{ends[update, rate].high:.3f}]"
        for update, rate in best.items()
    )
    verdicts = [
        Verdict(
            "The correct update ends at a lower loss than the faulty one.",
            "the paper shows both curves, per 5 M tokens; their values are not given as numbers",
            f"{best_ends}; correct less faulty {gap.value:+.3f} [{gap.low:+.3f} … {gap.high:+.3f}]".replace("-", "−"),
            judge_at_least(Estimate(-gap.value, -gap.high, -gap.low)),
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
        [_build_table(data)],
        [
            Figure(
                "curves", "Loss per token as training goes on; the best rates are drawn bold.", lambda f: _draw(f, data)
            )
        ],
        _list_notes(data),
    )


def _list_notes(data: dict[str, Any]) -> list[str]:
    """List what happened at the rates that the figure does not show."""
    above = [f"At {rate:g} the {update} update diverged." for update, rate in data["diverged"]]
    outside = [
        f"At {line['rate']:g} the {line['update']} update's loss rose to {max(_get_values(line)):.3g}; it is in the "
        "table, but not in the figure."
        for line in data["series"]
        if not _is_drawn(line, data)
    ]
    return [*outside, *above]


def _get_values(line: dict[str, Any]) -> list[float]:
    return [point["value"] for point in line["points"]]


def _is_drawn(line: dict[str, Any], data: dict[str, Any]) -> bool:
    """Return whether a curve is near the best ones; others would flatten the figure."""
    best = [_get_values(each)[0] for each in data["series"] if each["rate"] == data["best"][each["update"]]]
    return max(_get_values(line)) <= 1.5 * max(best)


def _build_table(data: dict[str, Any]) -> Table:
    rows = [
        [line["update"], line["rate"], end, *(round(point[name], 4) for name in point)]
        for line in data["series"]
        for end, point in zip(data["ends"], line["points"], strict=True)
    ]
    return Table("curves", "Loss per token", ["update", "rate", "tokens", "loss", "2.5 %", "97.5 %"], rows)


def _draw(figure: Any, data: dict[str, Any]) -> None:
    axes = figure.add_subplot()
    along = [end / 1e6 for end in data["ends"]]
    for line in filter(lambda line: _is_drawn(line, data), data["series"]):
        update, name = line["update"], f"{line['update']}, rate {line['rate']:g}"
        if line["rate"] == data["best"][update]:
            draw_curve(
                axes, along, [Estimate.from_json(point) for point in line["points"]], name, SYSTEM_COLOURS[update]
            )
        else:
            style = ":" if line["rate"] < data["best"][update] else "--"
            axes.plot(along, _get_values(line), style, color=SYSTEM_COLOURS[update], alpha=0.6, label=name)
    axes.set(xlabel="million tokens", ylabel="loss per token")
    axes.legend(fontsize=9)


ITEM = Item("curves", "training curves of both updates", measure, build_section)
