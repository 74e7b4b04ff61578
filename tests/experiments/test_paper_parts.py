"""The parts that `mumon paper` is made of: sweeps, records, intervals, angles, curves, estimates."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from mumon import Word2Vec
from mumon.errors import PeerError, TrainingError
from mumon.evaluation.bootstrap import Outcome
from mumon.experiments.paper import angle, cosines, curves, estimate, generated, intervals, intrinsic, items, run_paper
from mumon.experiments.paper.experiment_context import ExperimentContext, name_result
from mumon.experiments.paper.run import render_sections
from mumon.experiments.paper.runs import TrainedRun
from mumon.experiments.paper.scales import find_scale
from mumon.experiments.paper.sweeps import MOST_RATES, bracket_best_rate
from mumon.kernels import reference
from mumon.utils.progress import Progress

EXTRINSIC = Path(__file__).parents[2] / "benchmarks" / "results" / "extrinsic.json"


def test_a_sweep_continues_until_the_best_rate_is_not_at_an_edge():
    def train(rate):
        return TrainedRun({"scores": {"task": {"dev": -abs(np.log2(rate / 1.6)), "test": 0.0}}}, {})

    swept = bracket_best_rate(0.1, train)
    assert swept.rate == 1.6 and swept.inside
    assert sorted(swept.runs) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
    for centre, rates in ((1.6, [0.8, 1.6, 3.2]), (6.4, [0.8, 1.6, 3.2, 6.4, 12.8])):
        swept = bracket_best_rate(centre, train)
        assert swept.rate == 1.6 and swept.inside and sorted(swept.runs) == rates


def test_a_sweep_ends_even_if_the_best_rate_runs_away_or_nothing_can_be_trained():
    endless = bracket_best_rate(1.0, lambda rate: TrainedRun({"scores": {"task": {"dev": rate, "test": 0.0}}}, {}))
    assert len(endless.runs) == MOST_RATES and not endless.inside
    with pytest.raises(TrainingError, match="none of 3 rates around 1 gave vectors with a score: it diverged"):
        bracket_best_rate(1.0, lambda rate: TrainedRun({"scores": {}, "failed": "it diverged"}, {}))


def test_the_run_that_won_a_sweep_is_not_counted(tmp_path):
    """It was chosen for being good on items whose word pairs occur in both halves."""
    context, asked = fake_context(tmp_path), []
    swept = bracket_best_rate(
        0.1, lambda rate: TrainedRun({"scores": {"task": {"dev": -abs(rate - 0.1), "test": 0.0}}}, {})
    )

    def train(system, part, seed, **options):
        asked.append((seed, options))
        return TrainedRun({"failed": "it diverged" if seed == 3 else None}, {})

    context.train = train
    assert len(intrinsic.train_seeds(context, "SG", None, swept, negative=7)) == context.scale.seeds - 1
    assert asked == [(seed, {"alpha": 0.1, "negative": 7}) for seed in range(2, context.scale.seeds + 2)]


def test_a_peer_that_crashed_is_not_a_result_and_is_trained_again(tmp_path, monkeypatch):
    pytest.importorskip("gensim")
    text = generated.write_text(tmp_path / "text.txt", sentences=200)
    context = ExperimentContext(
        find_scale("small"), [str(text)], generated.make_questions(), tmp_path / "cache", 1, Progress()
    )
    part = context.part(None)
    with monkeypatch.context() as patch:
        patch.setattr("mumon.experiments.paper.runs.sys.executable", shutil.which("false"))
        with pytest.raises(PeerError, match="gensim ended with exit code 1: it wrote nothing"):
            context.train("gensim CBOW", part, alpha=0.025)
    assert context.train("gensim CBOW", part, alpha=0.025).failed is None


def test_a_record_is_found_by_its_inputs_and_a_damaged_one_is_measured_again(tmp_path):
    context, name = fake_context(tmp_path), name_result("run", {"seed": 1})
    assert name == "run-77101ad07adbaeba93f5"  # or the results of earlier versions would not be found
    context.save_result("run", {"seed": 1}, {"score": 3}, {"values": np.arange(3)})
    assert context.find_result("run", {"seed": 1}) == {"score": 3}
    assert context.store.read_arrays(name)["values"].tolist() == [0, 1, 2]
    assert context.find_result("run", {"seed": 2}) is None
    assert context.measure_once("run", {"seed": 1}, dict) == {"score": 3}
    next(tmp_path.glob("*.json")).write_text('{"result": ')
    arrays = next(tmp_path.glob("*.npz"))
    arrays.write_bytes(arrays.read_bytes()[:40])
    assert context.store.read_arrays(name) is None
    assert context.measure_once("run", {"seed": 1}, lambda: {"score": 4}) == {"score": 4}


def fake_context(tmp_path):
    return ExperimentContext(find_scale("small"), [], generated.make_questions(), tmp_path, 1, Progress())


def answers(context, chance, seed):
    random = np.random.default_rng(seed)
    outcomes = {}
    for task in context.tasks:
        right = random.random(len(task)) < chance
        values = right.astype(float) if task.gold is None else np.where(right, task.gold, random.random(len(task)))
        outcomes[task.name] = Outcome(values, np.ones(len(task), bool), task.gold)
    return TrainedRun({}, outcomes)


def test_a_difference_has_an_interval_over_items_and_seeds(tmp_path):
    context = fake_context(tmp_path)
    bad, good = ([answers(context, chance, seed) for seed in (1, 2)] for chance in (0.3, 0.7))
    better = intervals.estimate_differences(context, bad, good)
    assert set(better) == {"similarity", "analogies", "mean"}
    assert all(gap.low > 0 for gap in better.values())
    same = intervals.estimate_difference(context, good, good)
    assert (same.value, same.low, same.high) == (0, 0, 0)
    other = intervals.estimate_difference(context, good, [answers(context, 0.7, seed) for seed in (3, 4)])
    assert other.low < 0 < other.high
    assert intervals.estimate_score(context, good).value == pytest.approx(
        np.mean([intervals.estimate_score(context, [one]).value for one in good])
    )


def test_what_a_model_is_better_at_in_all_tasks_is_not_averaged_away(tmp_path):
    """Three models whose level differs by 10 points in both tasks, with hardly any noise between items."""
    context = fake_context(tmp_path)
    runs = []
    for shift in (0.4, 0.5, 0.6):
        values = {task.name: np.arange(len(task)) / len(task) < shift for task in context.tasks}
        tasks = {name: Outcome(right.astype(float), np.ones(len(right), bool)) for name, right in values.items()}
        runs.append(TrainedRun({}, tasks))
    spread = intervals.estimate_score(context, runs, fold="all").half
    assert 8 < spread < 16  # 1.96 × 10 / √3 = 11.3; drawn anew for each task it would be 8.0 at most


def test_a_change_of_a_difference_is_taken_on_the_same_items(tmp_path):
    context = fake_context(tmp_path)
    low, high = ([answers(context, chance, seed) for seed in (1, 2)] for chance in (0.3, 0.7))
    same = intervals.estimate_change(context, low, high, low, high)
    assert (same.value, same.low, same.high) == pytest.approx((0, 0, 0), abs=1e-9)
    assert intervals.estimate_change(context, low, low, low, high).low > 0


def test_a_failed_run_is_named_and_not_compared(tmp_path):
    context = fake_context(tmp_path)
    with pytest.raises(TrainingError, match="1 of the runs to compare failed, it diverged"):
        intervals.estimate_score(
            context, [answers(context, 0.5, 1), TrainedRun({"failed": "it diverged", "scores": {}}, {})]
        )


def test_the_measured_angle_is_that_of_the_references_gradients():
    random = np.random.default_rng(0)
    source, target = random.normal(size=(2, 9, 4))
    windows = [(0, [1, 2, 2], [3, 4]), (5, [0, 1], [6, 6, 7]), (8, [2], [1])]
    both = []
    for update in ("correct", "faulty"):
        parts = [
            reference.cbow_gradient(source, target, o, context, noise, [1.0] * len(noise), update=update)
            for o, context, noise in windows
        ]
        both.append(np.concatenate([sum(each).ravel() for each in zip(*parts, strict=True)]))
    expected = both[0] @ both[1] / np.linalg.norm(both[0]) / np.linalg.norm(both[1])
    assert cosines.measure_update_cosine(source, target, windows) == pytest.approx(expected, abs=1e-12)


def test_rows_of_equal_norm_have_the_closed_form_of_the_paper():
    C, k = 6, 4
    rows = np.eye(C + k + 1)
    correct, faulty = rows.copy(), rows.copy()
    faulty[:C] *= C
    cosine = (correct * faulty).sum() / np.linalg.norm(correct) / np.linalg.norm(faulty)
    # The correct source steps are 1/C of a row of norm C each: the paper's norm is that of ∂L/∂v_c.
    assert cosines.cosine(C, k) == pytest.approx((C * C + k + 1) / np.sqrt((C**3 + k + 1) * (C + k + 1)))
    assert cosines.cosine(C, k) == pytest.approx(cosine)


def test_the_curve_has_the_loss_that_training_reports(tmp_path):
    text = generated.write_text(tmp_path / "text.txt", sentences=400)
    context = ExperimentContext(find_scale("small"), [str(text)], [], tmp_path / "cache", 1, Progress())
    part = context.part(None)
    losses = curves._measure_losses(context, part, "correct", 0.05)["losses"]
    model = Word2Vec(part.corpus, alpha=0.05, exact=True, workers=1, progress=False, **context.options(epochs=1))
    assert len(losses) == part.tokens // context.scale.curve_batch
    assert np.mean(losses) == pytest.approx(model.history[0].loss, rel=0.02)  # the last, partial batch is left out
    assert losses[-1] < losses[0]


def test_curves_continue_until_the_best_rate_is_inside_and_say_what_diverged(tmp_path, monkeypatch):
    """Losses that end lowest at a rate of 0.3 (correct), and diverge from 0.2 on (faulty)."""
    text = generated.write_text(tmp_path / "text.txt", sentences=1000)
    context, trained = ExperimentContext(find_scale("small"), [str(text)], [], tmp_path / "cache", 1, Progress()), []

    def losses(context, part, update, rate):
        trained.append((update, rate))
        if update == "faulty" and rate > 0.15:
            raise TrainingError("it diverged")
        return {"losses": [2 + 1 / (n + 1) + abs(np.log(rate / 0.3)) * (n > 3) for n in range(9)]}

    monkeypatch.setattr(curves, "_measure_losses", losses)
    data = curves.measure(context)
    assert data["best"] == {"correct": 0.3, "faulty": 0.1}
    assert data["diverged"] == [["faulty", 0.2]]
    assert [end // context.scale.curve_batch for end in data["ends"]] == [1, 3, 5, 7, 9]  # to the very end of the text
    assert ("correct", 0.6) in trained
    section = curves.build_section(data)
    assert "At 0.2 the faulty update diverged." in section.notes
    curves.measure(context)
    assert len(trained) == len(set(trained))  # what diverged is saved, too


def test_a_norm_that_diverges_fails_its_experiment_and_leaves_no_data(tmp_path, monkeypatch):
    failed = {"failed": "it diverged", "norms": [None, None], "scores": {}}
    monkeypatch.setattr(ExperimentContext, "_train_and_score", lambda *_: (failed, {}))
    report = run_paper(["norms", "gradcheck"], output=tmp_path / "report", progress=False)
    assert report.failed == {"norms": "the correct update at rate 0.075 and width 2 failed: it diverged"}
    assert list(render_sections(tmp_path / "report")[0]) == ["gradcheck"]


def angle_rows(cosines):
    """Rows of the last epoch of the angle, by update and k."""
    return [
        {"update": update, "k": k, "batch": batch, "mean": mean, "error": 0.01}
        for (update, k), mean in cosines.items()
        for batch in (1, 100)
    ]


@pytest.mark.parametrize(
    "correct, faulty, outcome",
    [(0.7, 0.7, "holds"), (0.9, 0.9, "does not hold"), (0.9, 0.7, "undecided"), (0.8, 0.8, "undecided")],
)
def test_more_noise_words_are_judged_for_both_updates(correct, faulty, outcome):
    rows = angle_rows({("correct", 5): 0.8, ("faulty", 5): 0.8, ("correct", 20): correct, ("faulty", 20): faulty})
    data = {"forms": angle.PAPER_COSINES, "closed": {"5": 0.8, "20": 0.7}}
    assert angle._judge(data, rows)[-1].outcome == outcome


def test_one_task_that_is_clearly_behind_decides_for_all_of_glue():
    from mumon.experiments.paper import extrinsic

    data = extrinsic.read_extrinsic(EXTRINSIC)
    pair = ("mumon skip-gram", "mumon CBOW")
    for row in data["comparisons"]:
        if {row["a"], row["b"]} == set(pair) and row["task"] == "sst2":
            row |= {"a": pair[0], "b": pair[1], "difference": -3.0, "low": -4.0, "high": -2.0}
    verdict = next(v for v in extrinsic.build_section(data).verdicts if v.claim.startswith("On GLUE"))
    assert verdict.outcome == "does not hold"


def test_every_question_about_the_made_up_language_can_be_answered(tmp_path):
    words = set(generated.write_text(tmp_path / "text.txt").read_text().split())
    tasks = generated.make_questions()
    assert {word for task in tasks for item in task.items for word in item} <= words
    assert len(set(generated.make_stems())) == generated.TOPICS * generated.STEMS_PER_TOPIC


def test_an_estimate_grows_with_the_text_and_the_vectors():
    scale = find_scale("small")
    text = estimate.CorpusSize("text", 10_000, 200_000, 5_000)
    larger = estimate.CorpusSize("text", 20_000, 400_000, 10_000)
    speeds = {}

    def speed(system, dim, window, threads, corpus):
        return speeds.setdefault((system, dim, window, corpus), 1e6)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "_measure_speed", speed)
        one, two = (estimate.estimate_items(scale, each, larger, 2, set(items())) for each in (text, larger))
    hours = [{need.item: need.hours for need in needs} for needs in (one, two)]
    assert hours[1]["curves"] == pytest.approx(2 * hours[0]["curves"])  # all of the text
    trained = {
        "table1",
        "times",
        "norms",
        "curves",
        "angle",
        "negatives",
        "rates",
        "sizes",
        "both-sides",
        "growth",
        "positions",
        "subwords",
        "c4",
    }
    assert trained == set(hours[0])
    assert two[0].memory > one[0].memory
    memory = {need.item: need.memory for need in one if need.item != "subwords"}  # which has rows of n-grams
    assert max(memory, key=memory.get) == "c4"


def test_the_estimate_counts_the_trainings_that_are_made(tmp_path, monkeypatch):
    """Of sweeps whose best rate is the one they start from; runs that experiments share count once."""
    made, runs = {}, {}

    def train(context, system, part, seed=1, **options):
        key = (system, part.sentences, seed, *sorted(options.items()))
        made.setdefault(key, context.label)
        if key not in runs:
            near = -abs(np.log(options["alpha"] / context.default_rate(system, part)))
            scores = {task: {"dev": near, "test": near} for task in context.task_names}
            outcomes = answers(context, 0.5, seed).outcomes
            runs[key] = TrainedRun({"scores": scores, "norms": [1.0, 1.0], "failed": None}, outcomes)
        return runs[key]

    monkeypatch.setattr(ExperimentContext, "train", train)
    monkeypatch.setattr(ExperimentContext, "is_available", lambda *_: True)
    names = ("table1", "norms", "negatives", "rates", "sizes")
    run_paper(names, output=tmp_path / "report", progress=False)
    scale, text = find_scale("small"), estimate.GENERATED_SIZE
    expected = [item for item, *_ in estimate._list_trainings(scale, text, None, 1) if item in names]
    found = list(made.values())
    assert expected.count("rates") - found.count("rates") in (0, 1)  # one of the shared rates is in a sweep by chance
    for name in set(names) - {"rates"}:
        assert expected.count(name) == found.count(name), name


def test_the_estimated_speed_is_measured_on_this_machine():
    assert 1e3 < estimate._measure_speed("CBOW correct", 16, 5, 1, estimate.CorpusSize("text", 0, 200_000, 2000)) < 1e9
