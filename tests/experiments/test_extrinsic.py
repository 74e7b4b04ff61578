"""Extrinsic evaluation: what the networks compute, that trials are repeatable and resume, and that good vectors win."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from tests.samples import KINDS, left_over, write_extrinsic_mirror

torch = pytest.importorskip("torch")
pytest.importorskip("seqeval")

from typer.testing import CliRunner  # noqa: E402 (torch may be missing)

from mumon import WordVectors  # noqa: E402
from mumon.cli import app  # noqa: E402
from mumon.errors import DataError, OptionError, OutOfMemoryError, TrainingError  # noqa: E402
from mumon.experiments.extrinsic import (  # noqa: E402
    Budget,
    evaluate_extrinsic,
    process_pool,
)
from mumon.experiments.extrinsic.batches import draw_batches  # noqa: E402
from mumon.experiments.extrinsic.evaluate import load_examples  # noqa: E402
from mumon.experiments.extrinsic.inputs import read_inputs, write_examples, write_vectors  # noqa: E402
from mumon.experiments.extrinsic.networks import BiLSTM, Classifier, Encoder, Tagger, WordEmbedding  # noqa: E402
from mumon.experiments.extrinsic.plan import Draw, build_trials  # noqa: E402
from mumon.experiments.extrinsic.report import resample_scores  # noqa: E402
from mumon.experiments.extrinsic.training import (  # noqa: E402
    Training,
    choose_items,
    count_outcomes,
    read_tensors,
    write_tensors,
)

TINY = Budget(draws=2, rate=(0.01, 0.02), dropout=(0.0, 0.3), epochs=4, encoder_width=8, tagger_width=8, hidden=8)
DIM = 6


@pytest.fixture(scope="module")
def vectors():
    """Vectors in which the words of a kind lie together."""
    random = np.random.default_rng(0)
    words = [f"{kind}{number}" for kind in KINDS for number in range(40)]
    centres = np.repeat(np.eye(len(KINDS), DIM), 40, axis=0)
    return WordVectors(words, (centres + 0.1 * random.standard_normal(centres.shape)).astype(np.float32))


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    home = tmp_path_factory.mktemp("mirror")
    write_extrinsic_mirror(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUMON_DATA", str(home))
        yield home


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where inputs of single trials are."""
    return tmp_path_factory.mktemp("inputs")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Where the trials of the report are."""
    return tmp_path_factory.mktemp("trials")


@pytest.fixture(scope="module")
def report(mirror, vectors, trained):
    """Everything, in two processes and with two seeds."""
    return evaluate_extrinsic(
        {"good": vectors},
        ["sst2", "qnli", "mnli", "ner"],
        baselines=("random",),
        budget=TINY,
        seeds=(1, 2),
        folder=trained,
        workers=2,
        progress=False,
    )


def trial_of(mirror, vectors, folder, task="ner", **changes):
    """One trial and its inputs."""
    examples = load_examples(task.split("-")[0])
    words = examples.words()
    data = write_examples(examples, words, folder)
    written = write_vectors(vectors, words, folder, whole=examples.kind == "tags")
    trial = replace(build_trials(task, data, written.digest, 1, TINY, "2")[0], **changes)
    return trial, read_inputs(folder, data, written.digest)


def test_a_bilstm_is_the_packed_one_and_never_reads_the_filling():
    torch.manual_seed(0)
    lengths = torch.tensor([5, 2, 4, 5, 1])
    x = torch.randn(5, 5, 3)
    ours, theirs = BiLSTM(3, 4, layers=2), torch.nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True)
    for layer, (forwards, backwards) in enumerate(zip(ours.forwards, ours.backwards, strict=True)):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(forwards, f"{name}_l0").data = getattr(theirs, f"{name}_l{layer}").data
            getattr(backwards, f"{name}_l0").data = getattr(theirs, f"{name}_l{layer}_reverse").data
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(theirs(packed)[0], batch_first=True)
    real = torch.arange(5) < lengths[:, None]
    torch.testing.assert_close(ours(x, lengths)[real], expected[real])
    otherwise = torch.where(real[:, :, None], x, torch.full_like(x, 99.0))
    torch.testing.assert_close(ours(otherwise, lengths)[real], expected[real])
    loss, other = ours(x, lengths)[real].sum(), theirs(packed)[0].data.sum()
    loss.backward()
    other.backward()
    torch.testing.assert_close(ours.backwards[0].weight_ih_l0.grad, theirs.weight_ih_l0_reverse.grad)


def test_a_sentence_is_the_largest_state_of_its_words_alone():
    torch.manual_seed(0)
    encoder = Encoder(3, 4, dropout=0.0).eval()
    x = torch.randn(2, 5, 3)
    together = encoder(x, torch.tensor([5, 2]))
    torch.testing.assert_close(together[1], encoder(x[1:, :2], torch.tensor([2]))[0])
    torch.testing.assert_close(together[0], encoder.lstm(x[:1], torch.tensor([5]))[0].amax(dim=0))


def test_pairs_have_encoders_of_their_own_and_an_mlp_over_four_combinations(mirror, vectors, folder):
    _, inputs = trial_of(mirror, vectors, folder, "qnli")
    network = Classifier(inputs, width=8, hidden=512, dropout=0.0, tuned=False).eval()
    batch = next(draw_batches(inputs.parts["train"], np.arange(8), 8, None))
    v, w = (
        encoder(network.words(text), lengths)
        for encoder, text, lengths in zip(network.encoders, batch.texts, batch.lengths, strict=True)
    )
    seen = []
    network.head.register_forward_pre_hook(lambda module, arguments: seen.append(arguments[0]))
    network(batch)
    torch.testing.assert_close(seen[0], torch.cat([v, w, v - w, v * w], dim=1))
    assert [layer.out_features for layer in network.head if hasattr(layer, "out_features")] == [512, 2]
    first, second = (encoder.lstm.forwards[0].weight_ih_l0 for encoder in network.encoders)
    assert not torch.equal(first, second)


def test_frozen_vectors_stay_and_tuned_ones_move_but_for_the_zero_row(mirror, vectors, folder):
    for task in ("ner", "ner-tuned"):
        known = WordVectors(vectors.index_to_key[10:], vectors.vectors[10:])  # good0 … good9 are missing
        trial, inputs = trial_of(mirror, known, folder, task)
        training = Training(trial, inputs)
        training.run_epoch(inputs.parts["train"], np.arange(100))
        table = training.network.words.table.detach().numpy()
        assert not table[0].any() and np.isfinite(table).all()
        assert np.array_equal(table, inputs.vectors) == (task == "ner")
        assert ("words.table" in training.network.state_dict()) == (task == "ner-tuned")


def test_missing_words_are_zero_vectors(mirror):
    words = WordEmbedding(np.array([[0, 0], [1, 2]], np.float32), tuned=False, dropout=0.0)
    assert words(torch.tensor([[1, 0]])).tolist() == [[[1, 2], [0, 0]]]


def test_batches_have_every_item_once_and_little_filling(mirror, vectors, folder):
    _, inputs = trial_of(mirror, vectors, folder)
    part = inputs.parts["train"]
    for order in (None, np.random.default_rng(1)):
        found = list(draw_batches(part, np.arange(240), 16, None, order))
        assert sorted(item for batch in found for item in batch.items) == list(range(240))
        assert sum(batch.texts[0].numel() for batch in found) < 1.1 * len(part.columns[0].values)
    one, other = (
        [tuple(b.items) for b in draw_batches(part, np.arange(240), 16, None, np.random.default_rng(s))] for s in (1, 2)
    )
    again = [tuple(batch.items) for batch in draw_batches(part, np.arange(240), 16, None, np.random.default_rng(1))]
    assert one == again and {frozenset(items) for items in one} != {frozenset(items) for items in other}
    batch = next(draw_batches(part, np.array([3]), 1, longest=None))
    assert (
        batch.texts[0][0].tolist() == part.columns[0][3].tolist() and batch.labels.tolist() == part.labels[3].tolist()
    )


def test_sentences_to_classify_are_cut_and_those_to_tag_never(mirror, vectors, folder):
    limited = replace(TINY, longest=2)
    assert (
        build_trials("sst2", "", "", 1, limited, "2")[0].longest == 2
        and build_trials("ner", "", "", 1, limited, "2")[0].longest is None
    )
    _, inputs = trial_of(mirror, vectors, folder, "sst2")
    assert max(batch.texts[0].shape[1] for batch in draw_batches(inputs.parts["dev"], np.arange(60), 8, 2)) == 2


def test_outcomes_do_not_depend_on_batches(mirror, vectors, folder):
    trial, inputs = trial_of(mirror, vectors, folder)
    network = Tagger(inputs, 8, 0.0, tuned=False)
    together = count_outcomes(network, inputs, "dev", trial)
    alone = [count_outcomes(network, inputs, "dev", trial, np.array([item]))[0] for item in range(60)]
    assert together.tolist() == np.array(alone).tolist()


@pytest.mark.parametrize("task", ["sst2", "ner-tuned"])
def test_an_interrupted_trial_ends_as_an_undisturbed_one(mirror, vectors, folder, tmp_path, task, monkeypatch):
    from mumon.experiments.extrinsic import training as module

    trial, inputs = trial_of(mirror, vectors, folder, task, draw=Draw(0.3, 0.005))
    whole = Training(trial, inputs)
    expected = whole.run(tmp_path / "none", lambda message: None)
    monkeypatch.setattr(module, "SAVE_SECONDS", 0.0)
    state = tmp_path / "state"

    def stop(message):
        if message["epoch"] == 2 and not state.with_suffix(".done").exists():
            state.with_suffix(".done").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Training(trial, inputs).run(state, stop)
    assert state.exists()
    resumed = Training(trial, inputs)
    found = resumed.run(state, lambda message: None)
    assert found["curve"] == expected["curve"] and found["epoch"] == expected["epoch"]
    assert all(torch.equal(whole.best[name], resumed.best[name]) for name in whole.best)


def test_training_stops_when_dev_gets_no_better(mirror, vectors, folder, monkeypatch):
    trial, inputs = trial_of(mirror, vectors, folder, epochs=50)
    training = Training(trial, inputs)
    for reached in (10.0, 30.0, 20.0):
        training.record_epoch(reached, 1.0)
        assert not training.done.is_over(trial)
    training.record_epoch(30.0, 1.0)  # no better than the best: patience is at its end
    assert training.done.is_over(trial) and training.done.best_epoch == 2
    assert Training(replace(trial, epochs=0), inputs).done.is_over(replace(trial, epochs=0))


def test_a_sample_of_items_depends_on_the_seed_alone(mirror, vectors, folder):
    _, inputs = trial_of(mirror, vectors, folder)
    part = inputs.parts["train"]
    assert choose_items(part, None, 1).tolist() == choose_items(part, 240, 1).tolist() == list(range(240))
    assert choose_items(part, 9, 1).tolist() == choose_items(part, 9, 1).tolist() != choose_items(part, 9, 2).tolist()


def test_good_vectors_win_where_words_of_the_test_are_new(report):
    assert report.task_names == ["sst2", "qnli", "mnli-m", "mnli-mm", "ner", "ner-tuned"]
    for task in ("sst2", "ner", "ner-tuned"):
        good, random = (report.score(model, task) for model in ("good", "random"))
        assert good.score > random.score + 20 and good.score > 85
        assert good.low <= good.score <= good.high and len(good.seeds) == len(good.dev) == len(good.chosen) == 2
        assert np.mean(good.seeds) == pytest.approx(good.score)
    rows = {row.task: row for row in report.compare("random", "good")}
    assert rows["ner"].verdict == "better" and rows["ner"].difference == pytest.approx(
        report.score("good", "ner").score - report.score("random", "ner").score
    )
    assert report.score("good", "ner").metric == "F1" and report.score("good", "sst2").metric == "accuracy"
    with pytest.raises(OptionError, match="none of the 12 scores"):
        report.score("good", "wnli")


def test_only_the_best_of_a_search_is_tested(report, trained):
    assert len(list(trained.glob("*.dev.json"))) == 2 * 2 * 5 * 2  # models, seeds, tasks, draws
    assert len(list(trained.glob("*.test.json"))) == 2 * 2 * 5
    assert {path.name.split(".", 1)[1] for path in trained.iterdir()} == {
        "dev.json",
        "test.json",
    }  # nothing else is kept


def test_what_is_done_is_not_done_again_and_workers_change_nothing(
    report, mirror, vectors, trained, tmp_path, monkeypatch
):
    alone = evaluate_extrinsic(
        {"good": vectors}, ["sst2"], budget=TINY, seeds=(1, 2), folder=tmp_path, workers=1, progress=False
    )
    expected = report.score("good", "sst2")
    assert alone.score("good", "sst2") == expected
    monkeypatch.setattr(process_pool.subprocess, "Popen", None)  # no process is started
    again = evaluate_extrinsic(
        {"good": vectors}, ["sst2"], budget=TINY, seeds=(1, 2), folder=trained, workers=2, progress=False
    )
    assert again.score("good", "sst2") == expected


def test_more_draws_train_only_what_is_new_and_fewer_find_their_own_best(mirror, vectors, tmp_path):
    def run(count, folder):
        budget = replace(TINY, draws=count)
        found = evaluate_extrinsic(vectors, "sst2", budget=budget, folder=folder, workers=2, progress=False)
        return {path.name: path.stat().st_mtime_ns for path in folder.glob("*.dev.json")}, found.scores

    shared, alone = tmp_path / "shared", tmp_path / "alone"
    (first, _), (more, _), (fewer, scores) = run(1, shared), run(4, shared), run(2, shared)
    assert first.items() <= more.items() and len(more) == 4
    assert fewer == more  # if another is the best now, its weights were dropped: it is trained again, and tested
    assert scores == run(2, alone)[1]


def test_equal_models_are_trained_once(mirror, vectors, tmp_path):
    copy = WordVectors(list(vectors.index_to_key), vectors.vectors.copy())
    found = evaluate_extrinsic(
        {"one": vectors, "two": copy}, "sst2", budget=TINY, folder=tmp_path, workers=2, progress=False
    )
    one, two = (replace(found.score(name, "sst2"), model="") for name in ("one", "two"))
    assert one == two and found.compare("one", "two")[0].verdict == "no clear difference"
    assert sorted(name.split(".", 1)[1] for name in left_over(tmp_path)) == ["dev.json", "dev.json", "test.json"]


def test_models_may_be_paths_and_lists_of_them(mirror, saved, tmp_path):
    common = {"budget": TINY, "folder": tmp_path, "workers": 2, "progress": False}
    by_path = evaluate_extrinsic(str(saved), "sst2", seeds=(0, np.int64(1)), **common)
    by_list = evaluate_extrinsic({"model": [saved, saved]}, ["sst2"], seeds=(0, 1), **common)
    assert by_path.scores == by_list.scores


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"seeds": ()}, "0 seeds were given"),
        ({"seeds": (1, 1)}, "2 seeds were given"),
        ({"seeds": (-1,)}, "a seed is -1"),
        ({"workers": 0}, "workers is 0"),
        ({"budget": "huge"}, "no budget is called 'huge'; the 2 are small, full"),
        ({"baselines": ("bert",)}, "no baseline is called 'bert'; the 2 are random, glove"),
        ({"tasks": []}, "0 tasks were given; the 5 are sst2, qnli, mnli, ner, ner-frozen"),
        ({"models": {}}, "0 models were given"),
        ({"models": {"m": []}}, "m has vectors for 0 seeds, but there are 1 seeds"),
        ({"models": {"random": "good"}, "baselines": ("random",)}, "'random' is the name of a model and of a baseline"),
        ({"models": "strange"}, "model has 0 of the 1,"),
        ({"models": "infinite"}, "model has vectors that are not finite among the "),
    ],
)
def test_what_cannot_be_evaluated_is_refused_before_training(mirror, vectors, tmp_path, change, sentence):
    known = {
        "good": vectors,
        "strange": WordVectors(["hallo", "welt"], np.ones((2, DIM), np.float32)),
        "infinite": WordVectors(vectors.index_to_key, np.full_like(vectors.vectors, np.nan)),
    }
    models = change.pop("models", "good")
    given = known[models] if isinstance(models, str) else {name: known.get(str(m), m) for name, m in models.items()}
    with pytest.raises(OptionError) as caught:
        evaluate_extrinsic(given, change.pop("tasks", ["sst2"]), folder=tmp_path, progress=False, **change)
    assert str(caught.value).startswith(sentence)
    assert not list(tmp_path.glob("*"))


def test_resampled_seeds_vary_as_much_as_the_seeds_do():
    random = np.random.default_rng(0)
    spreads = []
    for _ in range(60):  # seeds whose true scores have a standard deviation of 5, items that hardly vary
        levels = random.normal(50, 5, size=3)
        outcomes = [np.column_stack([np.full(400, level), np.full(400, 100), np.full(400, 100)]) for level in levels]
        spreads.append(resample_scores(outcomes, "task", 500).var())
    assert np.mean(spreads) == pytest.approx(25 / 3, rel=0.3)  # the variance of a mean of three


def test_a_process_that_dies_while_it_is_idle_is_reported(mirror, vectors, tmp_path):
    trial, _ = trial_of(mirror, vectors, tmp_path)
    order = {"job": "train", "trial": {**trial.__dict__, "draw": trial.draw.__dict__}}
    for give in (True, False):
        with process_pool.ProcessPool[str](tmp_path, tmp_path, 2) as pool:
            pool.submit("job", order)
            while "result" not in pool.collect()[1]:
                pass
            pool._all[0].kill()
            pool._all[0].wait()
            if give:
                pool.submit("another", order)
            with pytest.raises(OutOfMemoryError, match="one of 1 processes ended with exit code -9"):
                pool.collect()


def test_a_process_that_dies_is_reported_and_what_was_done_is_kept(mirror, vectors, tmp_path, monkeypatch):
    collect = process_pool.ProcessPool.collect

    def kill_one(self):
        job, message = collect(self)
        if "result" in message:
            for process in self._all:
                process.kill()
        return job, message

    monkeypatch.setattr(process_pool.ProcessPool, "collect", kill_one)
    with pytest.raises(OutOfMemoryError, match="one of 1 processes ended with exit code -9"):
        evaluate_extrinsic(vectors, ["sst2"], budget=TINY, folder=tmp_path, workers=1, progress=False)
    assert len(list(tmp_path.glob("*.dev.json"))) == 1


def test_what_a_worker_cannot_do_is_one_sentence(mirror, vectors, tmp_path):
    trial, _ = trial_of(mirror, vectors, tmp_path)
    with process_pool.ProcessPool[str](tmp_path, tmp_path, 1) as pool:
        pool.submit("job", {"job": "train", "trial": {**trial.__dict__, "data": "gone", "draw": trial.draw.__dict__}})
        with pytest.raises(DataError, match=r"could not be saved \(FileNotFoundError: No such file .*make room"):
            pool.collect()
    with process_pool.ProcessPool[str](tmp_path, tmp_path, 1) as pool:
        pool.submit("job", {"job": "train"})
        with pytest.raises(TrainingError, match=r"could not be trained \(KeyError: 'trial'\)"):
            pool.collect()


def run_cli(*arguments):
    result = CliRunner().invoke(app, ["eval", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def saved(vectors, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "good.bin"
    vectors.save(path)
    return path


QUICK = ("--draws", 1, "--width", 8, "--epochs", 3, "--train-sentences", 200, "--threads", 2)


def test_the_command_shows_tables_json_and_csv(mirror, saved, tmp_path):
    command = (saved, "--extrinsic", "sst2,ner", "--baselines", "random", "--folder", tmp_path, *QUICK, "--seeds", 2)
    code, out, err = run_cli(*command)
    assert code == 0, err
    assert "SST-2" in out and "NER, fine-tuned" in out and "is it better than good.bin?" in out and "2 seeds" in out
    code, out, _ = run_cli(*command, "--json", "--quiet")
    answer = json.loads(out)
    assert code == 0 and answer["models"] == ["good.bin", "random"] and len(answer["scores"]) == 6
    assert answer["settings"]["seeds"] == [0, 1] and answer["settings"]["budget"]["encoder_width"] == 8
    answer = json.loads(run_cli(*command, "--json", "--quiet", "--resamples", 0)[1], parse_constant=pytest.fail)
    assert answer["scores"][0]["low"] is None and answer["comparisons"][0]["verdict"] == "no clear difference"
    code, out, _ = run_cli(*command, "--csv", "--quiet")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0 and len(rows) == 6 and rows[0]["model"] == "good.bin" and len(rows[0]["seeds"].split()) == 2


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--extrinsic", "wnli"), "'wnli' is not an extrinsic task; the 5 are sst2, qnli, mnli, ner, ner-frozen"),
        (("--extrinsic", "sst2", "--tasks", "men"), "--tasks and --extrinsic do not go together; run two commands"),
        (("--draws", 3), "--draws is for extrinsic tasks; name at least 1 of them (--extrinsic sst2,qnli,mnli,ner)"),
        (("--extrinsic", "sst2", "--baselines", "bert"), "no baseline is called 'bert'; the 2 are random, glove"),
    ],
)
def test_mistakes_end_in_one_sentence(mirror, saved, arguments, sentence):
    assert run_cli(saved, *arguments)[::2] == (1, f"mumon: {sentence}\n")


def test_without_the_extra_one_sentence_says_what_to_install(mirror, saved, monkeypatch):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else found(name))
    code, _, err = run_cli(saved, "--extrinsic", "sst2")
    assert code == 1 and err.endswith("need torch, which is not installed; pip install 'mumon[extrinsic]'\n")


def test_ctrl_c_keeps_what_is_trained_and_leaves_no_process(mirror, saved, tmp_path):
    command = [sys.executable, "-m", "mumon", "eval", str(saved), "--extrinsic", "ner", "--folder", str(tmp_path)]
    options = ["--draws", "50", "--width", "8", "--epochs", "2", "--threads", "2"]
    process = subprocess.Popen(
        [*command, *options], env={**os.environ, "MUMON_DATA": str(mirror)}, stderr=subprocess.PIPE, text=True
    )
    until = time.monotonic() + 120
    while len(list(tmp_path.glob("*.dev.json"))) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.endswith("stopped; what is trained is kept, and the same command resumes\n") and "Traceback" not in err
    assert len(list(tmp_path.glob("*.dev.json"))) >= 2
    time.sleep(0.2)
    before = len(list(tmp_path.iterdir()))
    time.sleep(1.0)
    assert len(list(tmp_path.iterdir())) == before  # no process is still training


def test_weights_are_plain_tensors_and_damaged_ones_are_none(mirror, vectors, folder, tmp_path):
    trial, inputs = trial_of(mirror, vectors, folder)
    training, path = Training(trial, inputs), tmp_path / "weights.safetensors"
    training.record_epoch(1.0, 0.0)
    assert read_tensors(path) is None
    write_tensors(training.best, path)
    kept = read_tensors(path)
    assert kept is not None and kept[0].keys() == training.network.state_dict().keys()
    path.write_bytes(path.read_bytes()[:-5])
    assert read_tensors(path) is None
    training.load(path)  # nothing complete: training starts from the beginning
    assert training.done.epoch == 1
