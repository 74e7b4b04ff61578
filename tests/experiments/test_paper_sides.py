"""Vectors from both sides of a model in `mumon paper`: one training answers for every λ, and dev halves choose."""

from __future__ import annotations

import numpy as np
import pytest

from mumon import Word2Vec, WordVectors
from mumon.errors import CorpusError, OptionError, TrainingError
from mumon.evaluation import evaluate
from mumon.evaluation.bootstrap import Outcome
from mumon.evaluation.sentences import SentenceTask, answer_pairs
from mumon.experiments.paper import both_sides, estimate, generated, growth, run_paper, sentence_similarity, sides
from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.intervals import Estimate
from mumon.experiments.paper.run import WITH_SENTENCES
from mumon.experiments.paper.runs import SOURCE_OPTIONS, TrainedRun
from mumon.experiments.paper.scales import find_scale
from mumon.experiments.paper.sweeps import bracket_best_rate
from mumon.training.settings import Settings
from mumon.utils.progress import Progress
from tests.conftest import write_mirror

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def context(tmp_path):
    text = generated.write_text(tmp_path / "text.txt", sentences=400)
    tasks, pairs = generated.make_questions(), generated.make_sentence_tasks()
    return ExperimentContext(
        find_scale("small"), [str(text)], tasks, tmp_path / "cache", 1, Progress(), sentence_tasks=pairs
    )


def test_every_weight_is_scored_from_the_same_two_matrices(context, monkeypatch):
    part, fits = context.part(None), []
    honest = ExperimentContext.fit

    def fit(*arguments):
        fits.append(honest(*arguments))
        return fits[-1]

    monkeypatch.setattr(ExperimentContext, "fit", fit)
    runs = sides.train_sides(context, "CBOW correct", part, seed=2, alpha=0.3)
    again = sides.train_sides(context, "CBOW correct", part, seed=2, alpha=0.3)
    assert len(fits) == 1 and list(runs) == list(again) == list(sides.WEIGHTS)  # saved, and not trained again
    source, _, target = fits[0]
    for weight, run in runs.items():
        both = WordVectors(list(source.index_to_key), source.vectors + np.float32(weight) * target, source.counts)
        report = evaluate({"m": both}, context.tasks, resamples=0, probes=(), progress=False)
        for task in context.task_names:
            assert run.score(task, "dev") == pytest.approx(report.score("m", task, fold="dev").score)
            assert (run.outcomes[task].values == report.outcomes["m", task].values).all()
        for task in context.sentence_tasks:
            for method in ("mean", "sif"):
                expected = answer_pairs(both, task, method)
                assert run.outcomes[f"{task.name}/{method}"].values == pytest.approx(expected.values)
        assert again[weight].record == run.record
    assert len({run.mean("dev") for run in runs.values()}) > 2


def test_the_papers_protocol_is_of_source_vectors_alone(context):
    part = context.part(None)
    options = context.options(alpha=0.3)
    vectors, _, target = context.fit("CBOW correct", part, 1, options, Progress())
    alone = Word2Vec(part.corpus, seed=1, workers=1, progress=False, **SOURCE_OPTIONS, **options)
    assert (vectors.vectors == alone.wv.vectors).all() and (target == alone.syn1neg).all()
    assert SOURCE_OPTIONS.get("target_weight", None) == (0.0 if hasattr(Settings, "target_weight") else None)


def test_other_pairs_of_sentences_are_asked_anew(context):
    digests = {sides.digest_sentences(task) for task in context.sentence_tasks}
    assert len(digests) == 2
    task = context.sentence_tasks[0]
    changed = SentenceTask(task.name, task.pairs, task.gold + 1)
    assert sides.digest_sentences(changed) not in digests


def test_a_training_that_diverges_is_a_result_and_named(context, monkeypatch):
    asked = []

    def diverge(*arguments):
        asked.append(arguments)
        raise TrainingError("the loss is nan")

    monkeypatch.setattr(ExperimentContext, "fit", diverge)
    part = context.part(None)
    runs = sides.train_sides(context, "SG", part, alpha=9.0)
    assert {run.failed for run in runs.values()} == {"the loss is nan"}
    sides.train_sides(context, "SG", part, alpha=9.0)
    assert len(asked) == 1
    with pytest.raises(TrainingError, match="all 2 trainings of SG at rate 9 failed: the loss is nan"):
        sides.train_side_seeds(context, "SG", part, 9.0, 5, 2)


def run_with(dev):
    return TrainedRun({"failed": None, "scores": {"task": {"dev": dev, "test": 0.0}}}, {})


def test_the_mean_over_seeds_chooses_the_weight_and_of_equals_the_least():
    assert sides.choose_weight({0.0: [run_with(40), run_with(41)], 0.5: [run_with(50), run_with(30)]}) == 0.0
    assert sides.choose_weight({0.0: [run_with(40)], 0.5: [run_with(41)], 1.0: [run_with(41)]}) == 0.5


def test_a_sweep_judges_each_window_and_rate_by_its_best_weight(context, monkeypatch):
    def train(context, system, part, seed=1, alpha=0.0, window=5):
        wide = window == 10
        return {0.0: run_with(-abs(np.log2(alpha / 0.3))), 0.5: run_with(1 + wide - abs(np.log2(alpha / 0.6)))}

    monkeypatch.setattr(sides, "train_sides", train)
    swept = sides.sweep_sides(context, "CBOW correct", context.part(None))
    assert (swept.window, swept.rate, swept.inside) == (10, 0.6, True) and list(swept.swept) == [5, 10]


def test_a_swept_rate_falls_with_the_text_as_the_default_does(context, monkeypatch):
    small, large = context.part(100), context.part(None)
    swept = sides.SideSweep(10, {10: bracket_best_rate(0.4, lambda rate: run_with(-abs(rate - 0.4)))})
    assert growth.choose_rate(context, "SG", swept, small, small) == 0.4
    monkeypatch.setattr(ExperimentContext, "default_rate", lambda *a, **k: 0.05 if a[2] is large else 0.2)
    assert growth.choose_rate(context, "SG", swept, small, large) == 0.1


def test_where_the_default_falls_no_further_other_rates_are_tried(context, monkeypatch):
    small, large = context.part(100), context.part(None)
    swept = sides.SideSweep(10, {10: bracket_best_rate(0.4, lambda rate: run_with(-abs(rate - 0.4)))})
    seeds = set()

    def train(context, system, part, seed=1, alpha=0.0, window=5):
        assert part is large and window == 10
        seeds.add(seed)
        return {0.0: run_with(-abs(np.log2(alpha / 0.1)))}

    monkeypatch.setattr(growth, "train_sides", train)
    monkeypatch.setattr(growth, "has_lowest_rate", lambda system, tokens: True)
    monkeypatch.setattr(ExperimentContext, "default_rate", lambda *a, **k: 0.2)
    assert growth.choose_rate(context, "SG", swept, small, large) == 0.1
    assert seeds == {sides.FIRST_SEED}


def test_the_default_of_the_report_is_what_a_user_gets(context):
    part, user = context.part(None), Word2Vec().settings
    found = sides.train_default(context, part, 1)
    assert (found.window, found.weight) == (user.window, user.used_target_weight)
    assert found.rate == pytest.approx(context.default_rate("CBOW correct", part, window=user.window), rel=0.01)
    runs = sides.train_sides(context, "CBOW correct", part, seed=2, alpha=found.rate, window=user.window)
    assert [run.record["scores"] for run in found.runs] == [runs[user.used_target_weight].record["scores"]]
    assert runs[0.0].record["scores"] != runs[user.used_target_weight].record["scores"]


def test_pairs_of_sentences_choose_their_own_weight():
    gold = np.arange(5.0)
    dev = SentenceTask("x-dev", (("a", "b"),) * 5, gold)

    def answering(values):
        return [TrainedRun({"failed": None}, {"x-dev/mean": Outcome(np.array(values), np.ones(5, bool), gold)})]

    runs = {0.0: answering([0, 2, 1, 3, 4.0]), 0.25: answering([0, 1, 2, 3, 4.0]), 1.0: answering([4, 3, 2, 1, 0.0])}
    assert sentence_similarity.choose_sentence_weight(runs, dev, "mean") == 0.25


def test_one_task_of_sentences_chooses_and_others_test(context):
    dev, tests = sentence_similarity.split_tasks(context.sentence_tasks)
    assert dev.name == "sentences-dev" and [task.name for task in tests] == ["sentences-test"]
    with pytest.raises(OptionError, match="1 tasks of sentences choose λ and 0 test"):
        sentence_similarity.split_tasks([dev])


def test_made_up_sentences_on_one_topic_are_similar(context):
    part = context.part(None)
    run = sides.train_sides(context, "SG", part, alpha=0.1)[0.0]
    assert run.outcomes["sentences-test/mean"].score() > 40


def test_no_target_side_is_no_gain():
    assert both_sides.judge_gain(Estimate(0, 0, 0), 0.0) == "does not hold"
    assert both_sides.judge_gain(Estimate(1, 0.5, 1.5), 0.25) == "holds"


def test_more_text_makes_the_largest_part(context, tmp_path):
    more = generated.write_text(tmp_path / "more.txt", sentences=500, seed=9)
    context.more = [str(more)]
    assert [part.sentences for part in growth.list_parts(context)] == [400, 900]
    context.more = []
    with pytest.raises(CorpusError, match="the corpus has 400 sentences, too few for parts of two sizes"):
        growth.list_parts(context)


def test_without_pairs_of_sentences_words_are_still_measured(tmp_path, planted, monkeypatch):
    (tmp_path / "data").mkdir()
    write_mirror(tmp_path / "data")
    monkeypatch.setenv("MUMON_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("mumon.datasets.registry._FOLDER_ADDRESSES", {})
    monkeypatch.setattr("mumon.datasets._download", refuse)
    (tmp_path / "own.txt").write_text("\n".join(" ".join(sentence) for sentence in planted))
    report = run_paper(
        ["both-sides", "sentences"], corpus=tmp_path / "own.txt", output=tmp_path / "report", progress=False
    )
    assert list(report.sections) == ["both-sides"] and not report.failed
    section = report.sections["both-sides"]
    assert [row[0] for row in section.tables[0].rows if "paper" in str(row[0])] == [
        "kōan CBOW correct, source only, paper", "kōan CBOW faulty, source only, paper", "kōan SG, source only, paper"
    ]  # fmt: skip


def refuse(*_):
    from mumon.errors import DataError

    raise DataError("stsb could not be downloaded")


def test_the_estimate_counts_each_training_once(tmp_path, monkeypatch):
    """Of sweeps whose best rate is the one they start from; sentences train nothing that both sides have not."""
    made = {}

    def train(context, system, part, seed, options):
        made.setdefault((system, part.sentences, seed, options["window"], options["alpha"]), context.label)
        near = -abs(np.log(options["alpha"] / context.default_rate(system, part, window=options["window"])))
        scores = {task: {"dev": near, "test": near} for task in context.task_names}
        arrays = {}
        for weight in sides.WEIGHTS:
            for task in [*context.tasks, *context.sentence_tasks]:
                for name in [task.name, f"{task.name}/mean", f"{task.name}/sif"]:
                    arrays[f"{weight:g} {name}.values"] = np.random.default_rng(seed).random(len(task))
                    arrays[f"{weight:g} {name}.found"] = np.ones(len(task), bool)
        record = {"failed": None, "seconds": 0.0, "norms": [1.0, 1.0]}
        return {**record, "scores": {f"{weight:g}": scores for weight in sides.WEIGHTS}}, arrays

    monkeypatch.setattr(sides, "_train_and_score", train)
    run_paper(WITH_SENTENCES, output=tmp_path / "report", progress=False)
    text = estimate.GENERATED_SIZE
    expected = [item for item, *_ in estimate._list_trainings(find_scale("small"), text, None, 1)]
    found = list(made.values())
    assert {name: expected.count(name) for name in WITH_SENTENCES} == {n: found.count(n) for n in WITH_SENTENCES}
