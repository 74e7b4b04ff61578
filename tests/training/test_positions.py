"""CBOW with positions: its options, how the weights that all words share are trained, and where they are kept."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from mumon import Checkpoints, Word2Vec
from mumon.cli.sweep import _build_space
from mumon.corpus import corpus_from_sentences
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import FormatError, OptionError
from mumon.estimate.calibration import _build_flags
from mumon.formats.checkpoint import read_checkpoint
from mumon.formats.conversion import convert
from mumon.formats.directory import load_model
from mumon.kernels.layout import row_bytes
from mumon.kernels.reference import find_group
from mumon.training import memory
from mumon.training.memory import compute_training_bytes
from mumon.training.objectives import CBOW, POSITIONAL_CBOW, SKIPGRAM, list_position_groups
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.thread_runner import ThreadRunner
from mumon.training.trainer import Trainer
from mumon.training.weights import allocate_matrix, fill_initial_rows
from mumon.utils.progress import Progress
from tests.samples import files_of, refused, small

D = 16


def test_positions_choose_another_record_of_the_same_objective():
    assert Settings().objective_record is CBOW and Settings(objective="sg").objective_record is SKIPGRAM
    settings = Settings(positions=3)
    assert settings.objective == "cbow" and settings.objective_record is POSITIONAL_CBOW
    assert (settings.shared_negatives, settings.batch) == (Settings().shared_negatives, Settings().batch)


@pytest.mark.parametrize("window, weights", [(1, 2), (2, 4), (3, 6), (4, 6), (5, 8), (8, 8), (9, 10), (1000, 10)])
def test_no_side_has_more_groups_of_distances_than_its_window_has_use_for(window, weights):
    settings = Settings(window=window, positions=5)
    assert settings.objective_record.weight_rows(settings) == weights


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"objective": "sg"}, "skip-gram has no weights"),
        ({"cbow_mean": False}, r"the sum of context vectors \(cbow_mean=0\) has no weights"),
        ({"update": "faulty"}, "update='faulty' has no gradient for weights"),
    ],
)
def test_positions_are_refused_where_nothing_has_a_gradient_for_them(options, reason):
    with pytest.raises(OptionError, match=f"positions is 4 and {reason} of positions; choose 0, or train CBOW"):
        Settings(positions=4, **options)
    with pytest.raises(OptionError, match="positions is -1; it must be a whole number of at least 0"):
        Settings(positions=-1)


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
def test_weights_and_their_copies_in_every_thread_count_as_memory(exact):
    columns, words = 10**6, 3
    plain, one, many = (
        compute_training_bytes(words, columns, Settings(exact=exact, **options))
        for options in ({}, {"positions": 2}, {"positions": 2, "workers": 8})
    )
    rows, buffers = words * (2 * row_bytes(columns) + memory.WORD_BYTES), 4 * row_bytes(columns)
    assert many - one == 7 * (one - rows - buffers)
    assert one - plain >= (1 + 2) * buffers


# ---- training


def telling_neighbours(sentences=4000, seed=1):
    """Sentences in which a word tells the next one for certain (a2 b2, then a7 b7 …) and others nothing at all."""
    random = np.random.default_rng(seed)
    return [[f"{letter}{n}" for n in random.integers(0, 20, 4) for letter in "ab"] for _ in range(sentences)]


def train(sentences, weights=None, epochs=1, **options):
    """Train with threads; return what was trained and the last epoch's loss."""
    corpus = corpus_from_sentences(sentences)
    vocabulary = Vocabulary.from_corpus(corpus, min_count=1)
    source, target = allocate_matrix(len(vocabulary), D), allocate_matrix(len(vocabulary), D)
    fill_initial_rows(source, D, np.arange(len(vocabulary)), 1)
    settings = Settings(sample=0, **options)
    lookup = vocabulary.lookup(corpus)
    runner = ThreadRunner(corpus, lookup, vocabulary.counts, source, target, settings, weights=weights)
    done = Trainer(runner, Progress()).run(epochs, Schedule(0.2, 0.01, epochs))
    return source, target, runner.engine.weights, done[-1].loss


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
def test_places_that_tell_more_of_a_word_weigh_more_and_the_loss_falls(exact):
    sentences = telling_neighbours(1500 if exact else 4000)
    *_, weights, loss = train(sentences, positions=3, window=4, epochs=4, exact=exact)
    *_, none, plain = train(sentences, window=4, epochs=4, exact=exact)
    assert none.size == 0 and weights.shape == (6, D)
    left, right = weights[:3], weights[3:]
    strength = [np.abs(row).mean() for row in (left[2], left[1], left[0], right[0], right[1], right[2])]
    assert min(strength[0], strength[3]) > 1.2 * max(strength[1], strength[2], strength[4], strength[5])
    assert loss < 0.95 * plain


def test_one_thread_gives_identical_bytes_and_several_learn_the_same_weights():
    sentences = telling_neighbours()
    first, second, parallel = (train(sentences, positions=2, window=4, workers=workers) for workers in (1, 1, 2))
    for one, other in zip(first[:3], second[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(parallel[2].mean(axis=1), first[2].mean(axis=1), atol=0.1)


def test_weights_are_trained_in_place_from_what_they_are():
    given = np.full((4, D), 0.5, np.float32)
    *_, trained, _ = train(telling_neighbours(500), given, positions=2, window=4)
    assert trained is given and (given != 0.5).all()
    *_, fresh, _ = train(telling_neighbours(500), positions=2, window=4)
    assert np.abs(fresh - 1).max() < np.abs(fresh - 0.5).max() and not np.array_equal(fresh, given)


# ---- models


SENTENCES = telling_neighbours(150)


def model_of(**options):
    return small(SENTENCES, **{"positions": 3, "window": 4, "epochs": 3, "vector_size": D, **options})


def config_of(folder):
    return json.loads((folder / "config.json").read_text())


def test_a_model_has_a_row_of_weights_for_each_group_of_places():
    model = model_of()
    assert model.positions == 3 and model.position_weights.shape == (6, D)
    assert (model.position_weights != 1).any(axis=1).all()
    assert model_of(positions=0).position_weights is None


def test_weights_begin_at_1_and_begin_again_with_the_rest():
    model = Word2Vec(positions=3, window=4, vector_size=D, min_count=1)
    assert model.position_weights is None  # no words yet
    model.build_vocab(SENTENCES)
    assert (model.position_weights == 1).all()
    trained = model_of()
    trained.init_weights()
    assert (trained.position_weights == 1).all()
    trained.reset_from(model_of())
    assert (trained.position_weights == 1).all()


def test_positions_0_gives_the_bytes_of_plain_cbow(tmp_path):
    small(SENTENCES, epochs=2).save(tmp_path / "plain")
    small(SENTENCES, epochs=2, positions=0).save(tmp_path / "zero")
    plain, zero = files_of(tmp_path / "plain"), files_of(tmp_path / "zero")
    assert plain.pop("history.json") and zero.pop("history.json") and plain == zero


@pytest.mark.parametrize(
    "options, window, weight", [({}, 10, 0.5), ({"exact": True}, 5, 0), ({"window": 3, "target_weight": 0.2}, 3, 0.2)]
)
def test_windows_are_wide_and_vectors_from_both_sides_unless_the_user_says_otherwise(options, window, weight):
    settings = Settings(positions=4, **options)
    assert (settings.window, settings.used_target_weight) == (window, weight)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_and_pickles_have_weights_of_their_own(how):
    model = model_of()
    before, twin = model.position_weights.copy(), how(model)
    np.testing.assert_array_equal(twin.position_weights, before)
    twin.train(SENTENCES, epochs=1)
    np.testing.assert_array_equal(model.position_weights, before)
    assert (twin.position_weights != before).any()


@pytest.mark.parametrize("matrices", ["memory", "disk"])
def test_a_saved_model_goes_on_with_the_same_weights_to_the_bytes(tmp_path, matrices):
    model = model_of(target_weight=0, matrices=matrices)
    model.save(tmp_path / "m")
    loaded = Word2Vec.load(tmp_path / "m", matrices=matrices)
    assert loaded.position_weights.tobytes() == model.position_weights.tobytes()
    for each in (model, loaded):
        each.train(SENTENCES, epochs=2)
    assert loaded.position_weights.tobytes() == model.position_weights.tobytes()
    assert loaded.wv.vectors.tobytes() == model.wv.vectors.tobytes()


def test_new_words_do_not_cost_the_weights():
    model = model_of()
    before = model.position_weights.copy()
    model.build_vocab([["a1", "newcomer"]], update=True)
    assert "newcomer" in model.wv
    np.testing.assert_array_equal(model.position_weights, before)
    model.wv.add_vector("another", np.ones(D))
    model.train([["a1", "another"]] * 9, epochs=1)
    assert np.abs(model.position_weights - before).max() < np.abs(before - 1).max()


class Stop:
    """Stops a run in its third epoch, as Ctrl-C would."""

    def on_epoch_begin(self, model):
        if len(model.history) == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
def test_a_resumed_run_ends_with_the_bytes_of_one_that_was_never_stopped(tmp_path, exact):
    options = {"exact": exact, "epochs": 4}
    model_of(**options).save(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        model_of(checkpoints=Checkpoints(tmp_path / "c", every="1k"), callbacks=[Stop()], **options)
    kept = read_checkpoint(max((tmp_path / "c").glob("epoch-*")))[0].positions
    assert kept.shape == (6, D) and (kept != 1).any()
    model_of(checkpoints=Checkpoints(tmp_path / "c", resume=True), **options).save(tmp_path / "resumed")
    whole, resumed = files_of(tmp_path / "whole"), files_of(tmp_path / "resumed")
    assert whole.pop("history.json") and resumed.pop("history.json") and whole == resumed


def test_a_plain_run_is_described_as_versions_without_positions_did_and_not_resumed_with_them(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        model_of(positions=0, checkpoints=Checkpoints(tmp_path / "c", every="1k"), callbacks=[Stop()])
    for checkpoint in (tmp_path / "c").glob("epoch-*"):
        assert "positions" not in read_checkpoint(checkpoint)[1].plan
    refused(
        lambda: model_of(positions=2, checkpoints=Checkpoints(tmp_path / "c", resume=True)),
        "positions None .*where .*2",
        error=OptionError,
    )


def test_frozen_rows_stay_while_the_weights_learn():
    model = model_of(target_weight=0, epochs=1)
    before, weights = model.wv.vectors.copy(), model.position_weights.copy()
    model.wv.vectors_lockf = np.zeros(len(model.wv), np.float32)
    model.train(SENTENCES, epochs=1)
    np.testing.assert_array_equal(model.wv.vectors, before)
    assert (model.position_weights != weights).any()


class Notes(Progress):
    """Remembers what it is told."""

    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.mark.parametrize("positions, window, rows", [(2, 4, 4), (0, 4, None), (3, 2, 4)])
def test_a_model_that_is_trained_with_other_groups_begins_with_weights_of_1_and_says_so(positions, window, rows):
    notes = Notes()
    model = model_of(progress=notes)
    model.settings = replace(model.settings, positions=positions, window=window)
    model.train(SENTENCES, epochs=1, start_alpha=1e-9, end_alpha=1e-9)  # learns next to nothing
    then = f"new ones for {rows} groups begin at 1" if rows else "training continues without them"
    assert f"the learned weights of 6 groups of positions are dropped; {then}" in notes.notes
    weights = model.position_weights
    assert weights is None if rows is None else weights.shape == (rows, D) and np.abs(weights - 1).max() < 1e-6


def test_settings_that_were_tried_and_taken_back_cost_nothing():
    model = model_of()
    before, settings = model.position_weights.copy(), model.settings
    for positions in (0, 2):
        model.settings = replace(settings, positions=positions)
        assert positions == 0 or (model.position_weights == 1).all()
        assert model.wv.vectors.shape[1] == D
    model.settings = settings
    np.testing.assert_array_equal(model.position_weights, before)


def test_a_plain_model_may_be_trained_with_positions_from_weights_of_1(tmp_path):
    model = model_of(positions=0)
    model.positions = 2
    assert (model.position_weights == 1).all()
    model.train(SENTENCES, epochs=1)
    assert (model.position_weights != 1).any()
    model.save(tmp_path / "m")
    assert Word2Vec.load(tmp_path / "m").position_weights.shape == (4, D)


def test_a_bag_of_words_has_no_positions_so_that_predictions_use_plain_means():
    model = model_of(target_weight=0)
    h = model.wv.vectors[[model.wv.get_index(word) for word in ("a1", "a2")]].mean(axis=0)
    best = model.wv.index_to_key[int(np.argmax(model.syn1neg @ h))]
    assert model.predict_output_word(["a1", "a2"], topn=1)[0][0] == best
    assert model.predict_output_word(["a2", "a1"]) == model.predict_output_word(["a1", "a2"])


def test_a_cluster_is_refused_with_the_next_step():
    message = "positions is 4 and nodes of a cluster do not exchange .*; leave out backend, or choose positions=0"
    refused(lambda: Word2Vec(positions=4, backend="ray"), message, error=OptionError)
    model = model_of(positions=4)
    model.backend = "ray"
    refused(lambda: model.train(SENTENCES), message, error=OptionError)


# ---- folders


def test_a_folder_from_before_positions_is_loaded_as_plain_cbow(tmp_path):
    model = model_of(positions=0)
    model.save(tmp_path / "old")
    config = config_of(tmp_path / "old")
    del config["training"]["positions"]
    (tmp_path / "old" / "config.json").write_text(json.dumps(config))
    loaded = Word2Vec.load(tmp_path / "old")
    assert loaded.positions == 0 and loaded.position_weights is None
    assert loaded.wv.vectors.tobytes() == model.wv.vectors.tobytes()


def test_convert_keeps_the_weights_of_a_model(tmp_path):
    model_of().save(tmp_path / "m.mumon")
    convert(tmp_path / "m.mumon", tmp_path / "again.mumon")
    assert files_of(tmp_path / "m.mumon") == files_of(tmp_path / "again.mumon")
    convert(tmp_path / "m.mumon", tmp_path / "small.mumon", dtype="float16")  # vectors alone
    assert load_model(tmp_path / "small.mumon").positions is None


def test_other_libraries_find_the_tensors_they_know(tmp_path):
    model = model_of()
    model.save(tmp_path / "m")
    tensors = load_file(tmp_path / "m" / "model.safetensors")
    assert set(tensors) == {"embeddings", "output", "positions"}
    np.testing.assert_array_equal(tensors["positions"], model.position_weights)
    np.testing.assert_array_equal(tensors["embeddings"][: len(model.wv)], model.wv.vectors)
    static = pytest.importorskip("model2vec").StaticModel.from_pretrained(tmp_path / "m")
    np.testing.assert_allclose(static.encode(["a1"])[0], model.wv["a1"], rtol=1e-6)


@pytest.mark.parametrize(
    "weights, message",
    [
        (np.ones((6, D - 1)), rf"positions is F32 \(6, {D - 1}\) where F32 \(6, {D}\) follows"),
        (np.ones(D), rf"positions is F32 \({D},\) where"),
        (np.ones((0, D)), rf"positions is F32 \(0, {D}\) where F32 \(1, {D}\)"),
        (np.ones(()), r"positions is F32 \(\) where"),
        (np.full((6, D), np.nan), "row 1 of positions holds nan or inf"),
        (np.ones((8, D)), "weights of 8 positions where its settings ask for 6; save it again"),
    ],
    ids=["columns", "one row", "no row", "a number", "nan", "groups"],
)
def test_damaged_weights_are_one_sentence(tmp_path, weights, message):
    model_of().save(tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    save_file({**load_file(path), "positions": weights.astype(np.float32)}, path)
    refused(lambda: Word2Vec.load(tmp_path / "m"), message, error=FormatError)


# ---- the command line


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, SENTENCES)))
    return "text.txt"


SMALL = ("--dim", 8, "--min-count", 1, "--workers", 1, "--sample", 0, "-q")


def test_the_command_line_trains_shows_and_continues_them(run, text):
    assert run("train", text, "-o", "m", "--positions", 4, *SMALL)[0] == 0
    weights = Word2Vec.load("m").position_weights
    assert weights.shape == (8, 8)
    out = run("info", "m")[1]
    line = next(line for line in out.splitlines() if "position weights" in line)
    assert line.split("weights")[1].split()[:3] == ["left", "5–10", f"{weights[0].mean():.2f},"]
    assert f"1 {weights[3].mean():.2f} | right 1 {weights[4].mean():.2f}, 2 " in line
    groups = json.loads(run("info", "m", "--json")[1])["position_weights"]
    assert [(group["side"], group["from"], group["to"]) for group in groups[3:6]] == [
        ("left", 1, 1),
        ("right", 1, 1),
        ("right", 2, 2),
    ]
    assert groups[7]["spread"] == pytest.approx(weights[7].std(), abs=1e-3)
    assert run("train", text, "--from", "m", "-o", "m2", "--epochs", 1, "-q")[0] == 0
    assert Word2Vec.load("m2").position_weights.shape == (8, 8)


def test_a_model_with_positions_may_go_on_as_skip_gram(run, text):
    assert run("train", text, "-o", "m", "--positions", 2, "--epochs", 1, *SMALL)[0] == 0
    assert run("train", text, "--from", "m", "-o", "sg", "--objective", "sg", "-q")[0] == 0
    assert Word2Vec.load("sg").position_weights is None
    code, _, err = run("train", text, "--from", "m", "-o", "f", "--update", "faulty", "-q")
    assert code and "positions is 2 and update='faulty' has no gradient" in err and "choose 0" in err


def test_models_without_positions_do_not_speak_of_their_weights(run, text):
    assert run("train", text, "-o", "m", "--epochs", 1, *SMALL)[0] == 0
    assert "position weights" not in run("info", "m")[1]
    assert "position_weights" not in json.loads(run("info", "m", "--json")[1])


def test_a_sweep_takes_a_list_of_them():
    assert _build_space({"positions": "0,4", "lr": "0.1"}, at_random=False) == {"positions": [0, 4], "alpha": [0.1]}


def test_the_trial_runs_of_an_estimate_train_with_positions_too():
    flags = _build_flags(Settings(positions=4))
    assert flags[flags.index("--positions") + 1] == "4"


def test_gradcheck_has_a_column_for_them(run):
    code, out, _ = run("gradcheck")
    assert code == 0 and "weights off by" in " ".join(out.split())
    rows = [line.split() for line in out.splitlines() if "exact" in line or "fast" in line]
    # objective (three words), update, kernel, three errors and the answer
    assert {len(row) for row in rows if "positions" in row} == {9}


@pytest.mark.parametrize("rows, window", [(2, 1), (4, 9), (8, 10), (10, 1000)])
def test_every_distance_of_a_window_is_in_the_group_that_trains_it(rows, window):
    for row, (side, first, last) in enumerate(list_position_groups(rows, window)):
        for distance in (first, last):
            assert find_group(-distance if side == "left" else distance, rows // 2) == row
    assert max(last for *_, last in list_position_groups(rows, window)) == window
