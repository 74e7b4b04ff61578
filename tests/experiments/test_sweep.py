"""A sweep trains each configuration once, chooses by the dev halves alone, and can be stopped and resumed."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import shlex
import sys

import numpy as np
import pytest
import typer

import mumon.experiments.sweep.plots
import mumon.experiments.sweep.runner
from mumon import Word2Vec, WordVectors, cli
from mumon.cli.sweep import sweep as command
from mumon.corpus import corpus_from_sentences
from mumon.errors import FormatError, OptionError, TrainingError
from mumon.evaluation import Task
from mumon.experiments.sweep import DEFAULT_RATES, Range, sweep
from mumon.experiments.sweep.space import list_configurations
from mumon.utils.progress import Progress
from tests.samples import refused

SMALL = {"vector_size": 16, "min_count": 1, "sample": 0.0, "workers": 1, "epochs": 2}
RATES = [0.02, 0.1, 0.2]


@pytest.fixture(scope="module")
def text(planted):
    return corpus_from_sentences(planted[:2000])


@pytest.fixture(scope="module")
def tasks():
    """Analogies that are planted in the corpus, and pairs of words that do or do not belong together."""
    questions = [
        (f"country{a}", f"capital{a}", f"country{b}", f"capital{b}") for a, b in itertools.permutations(range(16), 2)
    ]
    pairs = [(f"country{a}", f"topic{b % 16}.{i}") for a in range(16) for b in (a, a + 1) for i in range(4)]
    gold = np.array([float(a[7:] == b[5:].split(".")[0]) for a, b in pairs])
    return [
        Task("capitals", "analogy", tuple(questions), ("",) * len(questions)),
        Task("pairs", "similarity", tuple(pairs), ("",) * len(pairs), gold),
    ]


@pytest.fixture
def files(tmp_path, tasks, planted, monkeypatch):
    """The same as files in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("\n".join(map(" ".join, planted[:2000])))
    for task in tasks:
        gold = itertools.repeat("") if task.gold is None else map(str, task.gold)
        lines = [" ".join([*words, score]) for words, score in zip(task.items, gold, strict=False)]
        (tmp_path / f"{task.name}.txt").write_text("\n".join(lines))
    return tmp_path


@pytest.fixture(autouse=True)
def no_plots(monkeypatch):
    """Drawing takes longer than training here; the tests of plots call `draw_sweep` themselves."""
    monkeypatch.setattr(mumon.experiments.sweep.plots, "draw_sweep", lambda result: [])


@pytest.fixture
def trained(monkeypatch):
    """The options and seed of every model that a sweep trains, as it begins to."""
    begun = []

    class Counted(Word2Vec):
        def train(self, *arguments, **options):
            begun.append((self.alpha, self.settings.window, self.settings.update, self.settings.seed))
            return super().train(*arguments, **options)

    monkeypatch.setattr(mumon.experiments.sweep.runner, "make_model", Counted)
    return begun


@pytest.fixture
def asked(monkeypatch):
    """The vectors and tasks of every evaluation."""
    import mumon.evaluation

    calls, real = [], mumon.evaluation.evaluate

    def evaluate(models, tasks, **options):
        calls.append(({name: wv.vectors.copy() for name, wv in models.items()}, tasks))
        return real(models, tasks, **options)

    monkeypatch.setattr(mumon.evaluation, "evaluate", evaluate)
    return calls


class Heard(Progress):
    """Keeps what was said, and may stop everything when a stage begins for the n-th time."""

    def __init__(self, stop_at=None):
        self.notes, self.lines, self.stages, self._stop_at = [], [], [], stop_at

    def start(self, stage, total, unit):
        self.stages.append(stage)
        if len(self.stages) == self._stop_at:
            raise KeyboardInterrupt

    def note(self, text):
        self.notes.append(text)

    def finish(self, summary, **fields):
        self.lines.append(summary)


def lines_of(folder):
    return [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]


def timeless(value):
    """A result without its clock times."""
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items() if name != "seconds"}
    return [timeless(part) for part in value] if isinstance(value, list) else value


def half_of(task, fold):
    return {item for item, chosen in zip(task.items, task.fold(fold), strict=True) if chosen}


def test_every_cell_of_the_grid_is_trained_once_and_written_down(text, tasks, tmp_path, trained):
    space = {"window": [2, 5], "alpha": RATES}
    result = sweep(text, space, folder=tmp_path / "s", tasks=tasks, fixed=SMALL)
    assert [(alpha, window) for alpha, window, *_ in trained] == [(a, w) for w in (2, 5) for a in RATES]
    records = lines_of(tmp_path / "s")
    assert [record["options"] for record in records] == list_configurations(space)
    for record in records:
        assert set(record["dev"]) == {"capitals", "pairs"} and record["failed"] is None
        assert record["mean"] == pytest.approx(np.mean(list(record["dev"].values())))
        assert record["loss"] > 0 and record["seconds"] > 0 and record["covered"] == record["asked"] == 120 + 64
    means = [item.mean for item in result.configurations]
    assert len(means) == 6 and means == sorted(means, reverse=True) and result.best is result.configurations[0]
    stored = json.loads((tmp_path / "s" / "result.json").read_text())
    assert stored == result.to_json() and stored["best"]["options"] == result.best.options


def test_the_corpus_is_encoded_once(files, monkeypatch):
    import mumon.corpus.encoded as encoded

    calls, real = [], encoded.encode_files
    monkeypatch.setattr(encoded, "encode_files", lambda *arguments: calls.append(1) or real(*arguments))
    sweep("corpus.txt", {"alpha": RATES}, folder="s", tasks=["pairs.txt"], fixed=SMALL)
    assert len(calls) == 1


def test_runs_see_dev_questions_only_and_the_chosen_alone_is_tested(text, tasks, tmp_path, asked):
    result = sweep(text, {"alpha": RATES}, folder=tmp_path / "s", tasks=tasks, fixed=SMALL)
    *runs, last = asked
    assert len(runs) == 3
    for _, dev_tasks in runs:
        for task, whole in zip(dev_tasks, tasks, strict=True):
            assert set(task.items) == half_of(whole, "dev") and not set(task.items) & half_of(whole, "test")
    vectors, final_tasks = last
    assert len(vectors) == 1 and [set(task.items) for task in final_tasks] == [set(task.items) for task in tasks]
    np.testing.assert_array_equal(vectors["best"], WordVectors.load(tmp_path / "s" / "best.mumon").vectors)
    for task in ("capitals", "pairs"):  # the halves that runs were asked are the halves that `mumon eval` calls dev
        assert result.tested[0].scores[task]["dev"].score == pytest.approx(result.best.dev(task))
    test = result.tested[0].scores["pairs"]["test"]
    assert test.low < test.score < test.high and test.n == 64
    assert "test" not in (tmp_path / "s" / "runs.jsonl").read_text()
    sweep(text, {"alpha": RATES}, folder=tmp_path / "s", tasks=tasks, fixed=SMALL)
    assert len(asked) == 4  # not even when it is asked for again


def test_a_configuration_that_only_the_test_half_likes_is_not_chosen(text, tasks, tmp_path, monkeypatch):
    """Test scores are turned upside down here, so choosing by them would prefer not to train at all."""

    def alternate(self, fold, seed=0):
        dev = np.arange(len(self)) % 2 == 0
        return np.ones(len(self), bool) if fold == "all" else dev if fold == "dev" else ~dev

    monkeypatch.setattr(Task, "fold", alternate)
    turned = np.where(np.arange(128) % 2 == 0, 1.0, -1.0) * tasks[1].gold
    task = dataclasses.replace(tasks[1], gold=turned)
    fixed = {**SMALL, "rate_exponent": 0.0}  # frequent words matter here
    result = sweep(text, {"alpha": [1e-6, 0.2]}, folder=tmp_path / "s", tasks=[task], fixed=fixed)
    mean = result.tested[0].scores["mean"]
    assert result.best.options == {"alpha": 0.2} and mean["dev"].score > 10 and mean["test"].score < -10


@pytest.mark.parametrize("stop_at", [1, 3, 5])
def test_a_stopped_sweep_resumes_and_has_the_result_of_one_that_was_not_stopped(
    text, tasks, tmp_path, trained, stop_at
):
    options = {"space": {"window": [2, 5], "alpha": [0.02, 0.2]}, "tasks": tasks, "fixed": SMALL}
    whole = sweep(text, folder=tmp_path / "whole", **options)
    trained.clear()
    with pytest.raises(KeyboardInterrupt):  # the fifth stage is the test of the chosen
        sweep(text, folder=tmp_path / "s", progress=Heard(stop_at), **options)
    assert len(lines_of(tmp_path / "s")) == stop_at - 1 if stop_at > 1 else not (tmp_path / "s/runs.jsonl").exists()
    again = Heard()
    result = sweep(text, folder=tmp_path / "s", progress=again, **options)
    assert len(trained) == 4 + (stop_at < 5)  # the one at hand was begun twice
    assert len(lines_of(tmp_path / "s")) == 4 and len(again.lines) == 5 - stop_at
    assert timeless(result.to_json()) == timeless(whole.to_json())
    np.testing.assert_array_equal(result.model().wv.vectors, whole.model().wv.vectors)
    assert not (tmp_path / "s" / "kept").exists()


def test_a_line_that_was_cut_off_is_passed_over_and_its_run_repeated(text, tasks, tmp_path, trained):
    options = {"folder": tmp_path / "s", "tasks": tasks, "fixed": SMALL}
    whole = sweep(text, {"alpha": RATES}, **options)
    path = tmp_path / "s" / "runs.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    trained.clear()
    result = sweep(text, {"alpha": RATES}, **options)
    assert [alpha for alpha, *_ in trained] == [0.2] and len(lines_of(tmp_path / "s")) == 3
    assert timeless(result.to_json()) == timeless(whole.to_json())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0][:40] + b"\n", *lines[1:]]))
    refused(lambda: sweep(text, {"alpha": RATES}, **options), "runs.jsonl line 1 is damaged", error=FormatError)


def test_more_values_and_more_seeds_train_only_what_is_new(text, tasks, tmp_path, trained):
    options = {"folder": tmp_path / "s", "tasks": tasks, "fixed": SMALL}
    sweep(text, {"window": [5], "alpha": [0.02, 0.1]}, **options)
    trained.clear()
    result = sweep(text, {"window": [2, 5], "alpha": [0.02, 0.1, 0.2]}, **options)
    assert len(trained) == 4 and (0.1, 5, "correct", 1) not in trained
    assert len(result.configurations) == 6
    trained.clear()
    result = sweep(text, {"window": [2, 5], "alpha": [0.02, 0.1, 0.2]}, seeds=(1, 2), **options)
    assert {seed for *_, seed in trained[:6]} == {2} and len(trained) in (6, 7)  # a lost seed 1 may be the best
    assert all(len(item.runs) == 2 for item in result.configurations)
    assert result.best.deviation == pytest.approx(np.std([run.mean for run in result.best.runs], ddof=1))
    assert result.best.mean == pytest.approx(np.mean([run.mean for run in result.best.runs]))


DIFFERENT = {
    "a smaller grid": ({"space": {"alpha": [0.1]}}, "it has also the rate 0.02"),
    "another option": ({"space": {"alpha": [0.02, 0.1], "window": [5]}}, "it sweeps rate;"),
    "a random search": ({"space": {"alpha": [0.02, 0.1]}, "search": "random", "draws": 2}, "it is a grid search"),
    "another fixed value": ({"fixed": {**SMALL, "epochs": 1}}, "its epochs is 2"),
    "one fixed value more": ({"fixed": {**SMALL, "negative": 3}}, "its negative is the default"),
    "other seeds": ({"seeds": (2,)}, "the seed 1, too"),
}


@pytest.fixture(scope="module")
def finished(text, tasks, tmp_path_factory):
    """A finished sweep, whose folder refuses other plans."""
    folder = tmp_path_factory.mktemp("finished") / "s"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mumon.experiments.sweep.plots, "draw_sweep", lambda result: [])
        sweep(text, {"alpha": [0.02, 0.1]}, folder=folder, tasks=tasks, fixed=SMALL)
    return folder


@pytest.mark.parametrize("case", DIFFERENT)
def test_another_plan_is_refused_and_says_what_differs(text, tasks, finished, case):
    change, message = DIFFERENT[case]
    before = (finished / "sweep.json").read_bytes()
    options = {"space": {"alpha": [0.02, 0.1]}, "folder": finished, "tasks": tasks, "fixed": SMALL, **change}
    refused(lambda: sweep(text, **options), "holds another sweep: ", message, error=OptionError)
    assert (finished / "sweep.json").read_bytes() == before


def test_another_corpus_other_tasks_and_other_versions_are_refused(text, tasks, planted, finished):
    options = {"space": {"alpha": [0.02, 0.1]}, "folder": finished, "fixed": SMALL}
    other = corpus_from_sentences(planted[:1999])
    refused(lambda: sweep(other, tasks=tasks, **options), "14,000 tokens; this one has 13,993", error=OptionError)
    same_size = corpus_from_sentences([*planted[1:2000], planted[0]])
    refused(lambda: sweep(same_size, tasks=tasks, **options), "its corpus is another text", error=OptionError)
    refused(lambda: sweep(text, tasks=tasks[:1], **options), "its tasks are capitals, pairs", error=OptionError)
    changed = [tasks[0], dataclasses.replace(tasks[1], gold=tasks[1].gold + 1)]
    refused(lambda: sweep(text, tasks=changed, **options), "questions of its tasks have changed", error=OptionError)
    plan = json.loads((finished / "sweep.json").read_text())
    (finished / "sweep.json").write_text(json.dumps({**plan, "version": "0.0.9"}))
    refused(lambda: sweep(text, tasks=tasks, **options), "begun by mumon 0.0.9", error=OptionError)
    (finished / "sweep.json").write_text(json.dumps(plan))


def test_a_copy_of_the_corpus_and_other_threads_are_the_same_sweep(files, trained):
    options = {"folder": "s", "tasks": ["pairs.txt"]}
    sweep(["corpus.txt"], {"alpha": [0.1]}, fixed=SMALL, **options)
    (files / "copy.txt").write_bytes((files / "corpus.txt").read_bytes())
    sweep(["copy.txt"], {"alpha": [0.1]}, fixed={**SMALL, "workers": 2}, **options)
    assert len(trained) == 1


def test_a_random_search_can_ask_for_more_draws_later(text, tasks, tmp_path, trained):
    options = {"folder": tmp_path / "s", "tasks": tasks, "fixed": SMALL, "search": "random", "seed": 5}
    space = {"alpha": "0.02..0.3", "window": Range(2, 6)}
    first = sweep(text, space, draws=2, **options)
    result = sweep(text, space, draws=4, **options)
    assert len(trained) == 4 and len(result.configurations) == 4
    assert {tuple(item.options.values()) for item in first.configurations} < {
        tuple(item.options.values()) for item in result.configurations
    }
    refused(lambda: sweep(text, space, draws=3, **options), "4 draws and this one only 3", error=OptionError)
    refused(lambda: sweep(text, {**space, "alpha": "0.02..0.4"}, draws=4, **options), "0.02..0.3", error=OptionError)
    refused(lambda: sweep(text, space, draws=4, **{**options, "seed": 6}), "the seed 5", error=OptionError)


WRONG = {
    "unknown option": ({"space": {"colour": [1]}}, "'colour' cannot be swept; a sweep knows alpha, epochs, window"),
    "unknown fixed option": ({"fixed": {"vocab": "v.txt"}}, "'vocab' cannot be fixed"),
    "a seed among the options": ({"fixed": {"seed": 3}}, "give the sweep its seeds"),
    "fixed and swept": ({"space": {"window": [2, 5]}, "fixed": {"window": 3}}, "both fixed and swept"),
    "no value": ({"space": {"alpha": []}}, "0 values"),
    "an impossible value": ({"space": {"alpha": [0.1, 0.0]}}, "alpha is 0.0"),
    "an impossible window": ({"space": {"window": [0]}}, "window is 0"),
    "an impossible switch": ({"space": {"exact": ["yes"]}}, "must be 0 or 1"),
    "an impossible update": ({"space": {"update": ["right"]}}, "correct or faulty"),
    "a range in a grid": ({"space": {"alpha": "0.1..0.2"}}, "say how many to draw"),
    "no draws": ({"search": "random"}, "give draws"),
    "an unknown search": ({"search": "bayes"}, "grid or random"),
    "no seeds": ({"seeds": ()}, "0 seeds"),
    "nothing to compare": ({"compare": "update"}, "no list of values to compare"),
    "no tasks": ({"tasks": []}, "0 tasks"),
    "tasks without halves": ({"tasks": [Task("t", "categories", (("a",),), ("b",))]}, "chooses by similarity"),
    "tasks in another tongue": (
        {"tasks": [Task("fr", "similarity", (("le", "la"),) * 8, ("",) * 8, np.arange(8.0))]},
        "has the words of 0 of the 4 dev questions of fr",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_one_sentence_and_leaves_no_folder(text, tasks, tmp_path, case):
    change, message = WRONG[case]
    options = {"space": {"alpha": [0.1]}, "tasks": tasks, **change, "fixed": {**SMALL, **change.get("fixed", {})}}
    refused(lambda: sweep(text, folder=tmp_path / "s", **options), message, error=OptionError)
    assert not (tmp_path / "s").exists()


def test_a_folder_that_is_not_a_sweep_is_refused(text, tasks, files):
    options = {"tasks": tasks, "fixed": SMALL}
    (files / "notes").mkdir()
    (files / "notes" / "precious.txt").touch()
    refused(lambda: sweep(text, folder="notes", **options), "1 entries and no sweep.json", error=OptionError)
    refused(lambda: sweep(text, folder="corpus.txt", **options), "is a file", error=OptionError)
    refused(lambda: sweep(text, folder="no/s", **options), "does not exist", error=OptionError)
    refused(lambda: sweep(["."], folder="s", **options), "lies inside", error=OptionError)
    (files / "notes" / "sweep.json").write_text('{"name": "chimney"}')
    refused(lambda: sweep(text, folder="notes", **options), "not the plan of a sweep", error=FormatError)


def test_a_run_that_diverges_is_written_down_and_the_others_continue(text, tasks, tmp_path, trained):
    options = {"folder": tmp_path / "s", "tasks": tasks, "fixed": SMALL}
    heard = Heard()
    result = sweep(text, {"alpha": [1e9, 0.1]}, progress=heard, **options)
    assert result.best.options == {"alpha": 0.1} and "finite" in result.configurations[1].failed
    assert any("rate 1e+09  failed: the loss stopped being finite" in note for note in heard.notes)
    record = lines_of(tmp_path / "s")[0]
    assert record["options"] == {"alpha": 1e9} and "finite" in record["failed"] and record["mean"] is None
    sweep(text, {"alpha": [1e9, 0.1]}, **options)
    assert len(trained) == 2  # it would diverge again


def test_a_vocabulary_without_words_fails_alone_and_different_vocabularies_are_mentioned(text, tasks, tmp_path):
    result = sweep(
        text,
        {"min_count": [1, 60, 99999]},
        folder=tmp_path / "s",
        tasks=tasks,
        fixed={name: value for name, value in SMALL.items() if name != "min_count"},
    )
    failed = [item for item in result.configurations if item.failed]
    assert [item.options["min_count"] for item in failed] == [99999]
    assert any("vocabularies differ" in note for note in result.notes)


def test_when_all_diverge_the_first_reason_is_shown(text, tasks, tmp_path):
    call = lambda: sweep(text, {"alpha": [1e9, 2e9]}, folder=tmp_path / "s", tasks=tasks, fixed=SMALL)  # noqa: E731
    refused(call, "all 2 configurations failed, the first because the loss", error=TrainingError)


def test_a_best_value_at_the_edge_of_its_list_is_pointed_out(text, tasks, tmp_path):
    space = {"alpha": [1e-6, 0.2], "epochs": [1], "update": ["correct"]}
    fixed = {name: value for name, value in SMALL.items() if name != "epochs"}
    result = sweep(text, space, folder=tmp_path / "s", tasks=tasks, fixed=fixed)
    assert result.notes == ["the best rate 0.2 is the largest tried; extend the grid upward"]
    result = sweep(text, {**space, "alpha": [1e-6, 0.2, 1e9]}, folder=tmp_path / "s", tasks=tasks, fixed=fixed)
    assert result.notes == []


@pytest.mark.parametrize("updates", [["correct", "faulty"], ["faulty", "correct"]])  # whichever overtakes the other
def test_the_best_of_each_compared_value_is_kept_and_tested_once(text, tasks, tmp_path, asked, trained, updates):
    space = {"update": updates, "alpha": [1e-6, 0.05, 0.2]}
    options = {"folder": tmp_path / "s", "tasks": tasks, "fixed": SMALL}
    result = sweep(text, space, compare="update", **options)
    assert len(asked) == 7 and len(trained) == 6 and set(asked[-1][0]) == {"correct", "faulty"}
    by_value = result.best_per_value["update"]
    assert result.tested[0].options == result.best.options
    for model in result.tested:
        best = by_value[model.name]
        rivals = [item for item in result.configurations if item.options["update"] == model.name]
        assert best.mean == max(item.mean for item in rivals) and model.options == best.options
        saved = Word2Vec.load(tmp_path / "s" / model.model)
        assert (saved.settings.update, saved.alpha) == (model.name, best.options["alpha"])
        assert model.scores["mean"]["dev"].score == pytest.approx(best.mean)
    assert {row["task"] for row in result.comparisons} == {"capitals", "pairs", "mean"}
    assert {row["fold"] for row in result.comparisons} == {"test"}
    again = sweep(text, space, compare="update", **options)
    assert len(asked) == 7 and timeless(again.to_json()) == timeless(result.to_json())


def test_a_lost_or_stale_best_model_is_trained_again_with_a_note(text, tasks, tmp_path, trained, asked):
    import shutil

    options = {"folder": tmp_path / "s", "tasks": tasks, "fixed": SMALL}
    first = sweep(text, {"alpha": [0.02, 0.2]}, **options)
    vectors = first.model().wv.vectors.copy()
    best = tmp_path / "s" / "best.mumon"
    shutil.rmtree(best)
    heard = Heard()
    second = sweep(text, {"alpha": [0.02, 0.2]}, progress=heard, **options)
    assert len(trained) == 3 and any("no longer" in note and "training it again" in note for note in heard.notes)
    assert len(asked) == 4  # two runs, the test, and the test of what is now the model
    np.testing.assert_array_equal(second.model().wv.vectors, vectors)
    Word2Vec(text, alpha=0.01, seed=9, **SMALL).save(best)  # somebody else's
    third = sweep(text, {"alpha": [0.02, 0.2]}, **options)
    np.testing.assert_array_equal(third.model().wv.vectors, vectors)
    assert timeless(third.to_json()) == timeless(first.to_json())


@pytest.mark.parametrize("broken", ["log", "store"])
def test_a_crash_between_model_and_line_loses_no_model(text, tasks, tmp_path, trained, broken):
    """Models are on the disk before the lines that make them the best, so that at most one run is repeated."""
    space = {"update": ["correct", "faulty"], "alpha": [0.02, 0.2]}
    options = {"tasks": tasks, "fixed": SMALL, "compare": "update", "seeds": (1, 2)}
    whole = sweep(text, space, folder=tmp_path / "whole", **options)
    owner, name = (
        (mumon.experiments.sweep.runs.RunLog, "add")
        if broken == "log"
        else (mumon.experiments.sweep.model_store, "_discard")
    )
    real = getattr(owner, name)
    for number in (1, 3):
        trained.clear()
        folder, calls = tmp_path / f"s{number}", itertools.count(1)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                owner, name, lambda *arguments, c=calls, n=number: _die() if next(c) == n else real(*arguments)
            )
            with pytest.raises(SystemExit):
                sweep(text, space, folder=folder, **options)
        result = sweep(text, space, folder=folder, **options)
        assert len(trained) == 8 + (broken == "log")
        assert timeless(result.to_json()) == timeless(whole.to_json())


def _die():
    raise SystemExit("the lights went out")


def test_seeds_are_averaged_and_the_best_seed_of_the_best_configuration_is_kept(text, tasks, tmp_path, trained):
    options = {"folder": tmp_path / "s", "tasks": tasks, "fixed": SMALL, "seeds": (1, 2, 3)}
    result = sweep(text, {"alpha": [0.05, 0.2]}, **options)
    assert len(trained) == 6 and [len(item.runs) for item in result.configurations] == [3, 3]
    for item in result.configurations:
        scores = [run.mean for run in item.runs]
        assert (item.mean, item.deviation) == pytest.approx((np.mean(scores), np.std(scores, ddof=1)))
    champion = max(result.best.runs, key=lambda run: run.mean)
    assert result.tested[0].seed == champion.seed == Word2Vec.load(tmp_path / "s" / "best.mumon").settings.seed
    assert result.tested[0].scores["mean"]["dev"].score == pytest.approx(champion.mean)


# The shell.


@pytest.fixture
def run(files, monkeypatch, capfd):
    """`mumon sweep` among the other commands; gives (exit code, standard output, standard error)."""
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command("sweep")(cli._guard(command))
    app.callback()(lambda: None)

    def call(*arguments):
        with pytest.raises(SystemExit) as caught:
            app(list(map(str, arguments)))
        out = capfd.readouterr()
        return caught.value.code or 0, out.out, out.err

    return call


FLAGS = ["--tasks", "capitals.txt,pairs.txt", "--dim", 16, "--min-count", 1, "--epochs", 2, "--threads", 1]


def test_the_shell_shows_runs_table_test_and_a_command_that_trains_the_winner(run, files, capfd, monkeypatch):
    code, out, err = run("sweep", "corpus.txt", "-o", "s", *FLAGS, "--update", "correct,faulty", "--lr", "0.05,0.1")
    assert code == 0, err
    assert "1/4  update correct, rate 0.05  dev " in err and "← best so far" in err and "capitals" in err
    for part in ("dev scores", "█", "best of each update, by dev", "95 % interval", "chosen on the dev halves: update"):
        assert part in out
    line = next(line for line in out.splitlines() if "mumon train" in line)
    arguments = shlex.split(line[line.index("mumon train") :])
    monkeypatch.setattr(sys, "argv", [*arguments, "--threads", "1", "-q"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert not caught.value.code, capfd.readouterr().err
    np.testing.assert_array_equal(Word2Vec.load("winner.mumon").syn1neg, Word2Vec.load("s/best.mumon").syn1neg)
    code, out, err = run(
        "sweep", "corpus.txt", "-o", "s", *FLAGS, "--update", "correct,faulty", "--lr", "0.05,0.1", "--json", "-q"
    )
    assert code == 0 and not err and len(json.loads(out)["configurations"]) == 4


def test_the_shell_compares_updates_over_seeds(run):
    arguments = ["sweep", "corpus.txt", "-o", "s", *FLAGS, "--update", "correct,faulty", "--lr", 0.1, "--seeds", 2]
    code, out, err = run(*arguments, "--compare", "update")
    assert code == 0, err
    assert "differences on the test halves" in out and "±" in out and "seed 2" in err and "(its seed" in out


def test_without_lists_the_shell_sweeps_the_default_rates(run):
    code, out, err = run("sweep", "corpus.txt", "-o", "s", *FLAGS, "--json", "-q")
    assert code == 0, err
    found = json.loads(out)["configurations"]
    assert sorted(item["options"]["alpha"] for item in found) == list(DEFAULT_RATES)
    assert {item["options"]["epochs"] for item in found} == {2}


def test_the_shell_draws_at_random(run):
    code, out, err = run("sweep", "corpus.txt", "-o", "s", *FLAGS, "--random", 3, "--window", "2..8", "--json", "-q")
    assert code == 0, err
    assert all(2 <= item["options"]["window"] <= 8 for item in json.loads(out)["configurations"])
    code, out, err = run("sweep", "corpus.txt", "-o", "t", *FLAGS, "--random", 2, "--json", "-q")
    assert all(0.025 <= item["options"]["alpha"] <= 0.3 for item in json.loads(out)["configurations"])


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.txt", "-o", "s"], 1, "nowhere.txt"),
        (["corpus.txt"], 2, "--output"),
        (["corpus.txt", "-o", "s", "--window", "2..8"], 1, "say how many to draw"),
        (["corpus.txt", "-o", "s", "--lr", "fast"], 1, "rate has 'fast'"),
        (["corpus.txt", "-o", "s", "--compare", "update"], 1, "no list of values to compare"),
        (["corpus.txt", "-o", "s", "--tasks", "chess"], 1, "chess"),
        (["corpus.txt", "-o", "corpus.txt"], 1, "is a file"),
    ],
)
def test_a_slip_in_the_shell_is_one_sentence(run, files, arguments, code, message):
    shared = [] if "--tasks" in arguments else ["--tasks", "pairs.txt"]
    got, out, err = run("sweep", *arguments, *shared, "-q")
    assert got == code and message in err and "Traceback" not in err and not out and not (files / "s").exists()


def test_ctrl_c_says_what_is_kept_and_how_to_resume(run, monkeypatch):
    monkeypatch.setattr("mumon.cli.options.reporter", lambda quiet: Heard(stop_at=3))
    code, _, err = run("sweep", "corpus.txt", "-o", "s", *FLAGS, "--lr", "0.05,0.1")  # stage 1 reads the corpus
    assert code == 130 and err.strip() == "mumon: stopped; 1 finished run is kept, and the same command resumes"


# The plot.


@pytest.mark.parametrize(
    ("space", "seeds"),
    [
        ({"alpha": [0.05, 0.2, 1e9], "update": ["correct", "faulty"]}, (1, 2)),
        ({"window": [2, 5]}, (1,)),
        ({"alpha": [0.1]}, (1,)),
    ],
)
def test_the_curve_is_drawn_where_a_number_was_swept(text, tasks, tmp_path, space, seeds, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.undo()
    result = sweep(text, space, folder=tmp_path / "s", tasks=tasks, fixed={**SMALL, "epochs": 1}, seeds=seeds)
    if len(result.configurations) == 1:
        assert result.plots == []
        return
    png, svg = result.plots
    assert png.read_bytes().startswith(b"\x89PNG") and png.name == "curve.png"
    drawn = svg.read_text()
    assert "dev score" in drawn and "capitals" in drawn and "best: " in drawn
    assert ("learning rate" if "alpha" in space else "window") in drawn
    if "update" in space:
        assert "correct" in drawn and "faulty" in drawn and "failed" in drawn and "2 seeds" in drawn


def test_without_matplotlib_a_note_says_how_to_have_the_curve(text, tasks, tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    heard = Heard()
    result = sweep(text, {"alpha": [0.1, 0.2]}, folder=tmp_path / "s", tasks=tasks, fixed=SMALL, progress=heard)
    assert result.plots == [] and "pip install 'mumon[plot]' draws the curve" in heard.notes
    assert (tmp_path / "s" / "result.json").exists() and math.isfinite(result.best.mean)
