"""Vectors from both sides of the model: users get source + λ · target rows."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from mumon import Checkpoints, Word2Vec
from mumon.errors import FormatError, OptionError
from mumon.formats.checkpoint import read_checkpoint
from mumon.training.callbacks import CallbackAny2Vec
from mumon.training.model_state import ModelState
from tests.samples import refused, small

WORDS = [f"w{i}" for i in range(40)]
RANDOM = np.random.default_rng(0)
SENTENCES = [[WORDS[(start + step) % 40] for step in RANDOM.integers(0, 6, 12).cumsum()] for start in range(200)]


def train(**options):
    return small(SENTENCES, epochs=options.pop("epochs", 3), **options)


def combine(model, weight):
    return model.wv.vectors + np.float32(weight) * model.syn1neg


@pytest.mark.parametrize("options", [{}, {"sg": 1}, {"update": "faulty"}, {"exact": True}, {"cbow_mean": 0}], ids=str)
@pytest.mark.parametrize("weight", [0.25, 1, 0.3])
def test_vectors_are_source_rows_plus_the_weight_times_target_rows(options, weight):
    raw, both = train(target_weight=0, **options), train(target_weight=weight, **options)
    assert both.target_weight == weight
    np.testing.assert_array_equal(both.syn1neg, raw.syn1neg)
    np.testing.assert_array_equal(both.wv.vectors, combine(raw, weight))
    assert both.wv.norms == pytest.approx(np.linalg.norm(both.wv.vectors, axis=1), rel=1e-6)


@pytest.mark.parametrize("options", [{"exact": True}, {"update": "faulty"}, {"sg": 1}], ids=str)
def test_the_papers_algorithm_word2vecs_and_skipgram_give_the_source_rows(options):
    model = train(**options)
    assert model.target_weight == 0
    assert model.wv.vectors.tobytes() == train(target_weight=0, **options).wv.vectors.tobytes()


def test_the_weight_can_be_changed_after_training():
    raw, model = train(target_weight=0), train(target_weight=0.5)
    model.target_weight = 0
    np.testing.assert_allclose(model.wv.vectors, raw.wv.vectors, atol=1e-6)
    model.target_weight = 1
    np.testing.assert_allclose(model.wv.vectors, combine(raw, 1), atol=1e-6)
    assert model.wv.similarity("w1", "w2") != pytest.approx(raw.wv.similarity("w1", "w2"), abs=1e-4)


def test_combining_takes_no_third_matrix():
    model = Word2Vec(vector_size=200, min_count=1, progress=False)
    model.build_vocab_from_freq({f"w{i}": 5 for i in range(50_000)})
    tracemalloc.start()
    model.target_weight = 0.5
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < model.syn1neg.nbytes / 4


def test_a_saved_model_says_its_weight_and_training_continues_from_its_source_rows(tmp_path):
    raw, both = train(target_weight=0), train(target_weight=0.5)
    both.save(tmp_path / "both.mumon")
    config = json.loads((tmp_path / "both.mumon" / "config.json").read_text())["training"]
    assert config["target_weight"] == config["combined_with"] == 0.5
    loaded = Word2Vec.load(tmp_path / "both.mumon")
    assert loaded.target_weight == 0.5
    assert loaded.wv.vectors.tobytes() == both.wv.vectors.tobytes()
    loaded.train(SENTENCES, epochs=2)
    raw.train(SENTENCES, epochs=2)
    np.testing.assert_allclose(loaded.syn1neg, raw.syn1neg, atol=3e-5)
    np.testing.assert_allclose(loaded.wv.vectors, combine(raw, 0.5), atol=3e-5)


def test_a_model_from_before_the_weight_is_loaded_with_its_source_rows(tmp_path):
    model = train(target_weight=0)
    model.save(tmp_path / "old.mumon")
    path = tmp_path / "old.mumon" / "config.json"
    config = json.loads(path.read_text())
    del config["training"]["combined_with"], config["training"]["target_weight"]
    path.write_text(json.dumps(config))
    loaded = Word2Vec.load(tmp_path / "old.mumon")
    assert loaded.target_weight == 0
    assert loaded.wv.vectors.tobytes() == model.wv.vectors.tobytes()


def test_a_damaged_weight_is_one_sentence(tmp_path):
    train().save(tmp_path / "bad.mumon")
    path = tmp_path / "bad.mumon" / "config.json"
    config = json.loads(path.read_text())
    config["training"]["combined_with"] = "much"
    path.write_text(json.dumps(config))
    refused(lambda: Word2Vec.load(tmp_path / "bad.mumon"), "combined_with is 'much'", error=FormatError)


class Stop:
    """Stops a run in its third epoch, as Ctrl-C would."""

    def on_epoch_begin(self, model):
        if len(model.history) == 2:
            raise KeyboardInterrupt


def test_checkpoints_hold_the_source_rows_and_a_resumed_run_ends_with_the_same_bytes(tmp_path):
    options = {"target_weight": 0.5, "epochs": 4}
    whole = train(**options)
    with pytest.raises(KeyboardInterrupt):
        train(checkpoints=Checkpoints(tmp_path / "c", every="1k"), callbacks=[Stop()], **options)
    checkpoint = max((tmp_path / "c").glob("epoch-*"))
    assert read_checkpoint(checkpoint)[0].config["combined_with"] == 0
    resumed = train(checkpoints=Checkpoints(tmp_path / "c", every="never", resume=True), **options)
    assert resumed.wv.vectors.tobytes() == whole.wv.vectors.tobytes()
    assert resumed.target_weight == 0.5


def test_an_interrupted_training_leaves_vectors_from_both_sides():
    model = Word2Vec(min_count=1, vector_size=24, sample=0, workers=1, target_weight=0.5, progress=False)
    model.build_vocab(SENTENCES)
    with pytest.raises(KeyboardInterrupt):
        model.train(SENTENCES, epochs=4, callbacks=[Stop()])
    raw = train(target_weight=0, epochs=4)  # another schedule: only the weight is compared
    assert model.target_weight == 0.5
    model.target_weight = 0
    assert np.linalg.norm(model.wv.vectors) == pytest.approx(np.linalg.norm(raw.wv.vectors), rel=0.5)


class Look:
    def __init__(self):
        self.seen, self.weights = [], []

    def on_epoch_begin(self, model):
        self.weights.append(model.target_weight)

    def on_epoch_end(self, model):
        self.seen.append(model.wv.vectors.copy())


def test_callbacks_see_the_vectors_that_users_get_and_change_nothing_by_looking():
    look = Look()
    watched = train(callbacks=[look], target_weight=0.3)
    assert watched.wv.vectors.tobytes() == train(target_weight=0.3).wv.vectors.tobytes()
    assert look.seen[-1].tobytes() == watched.wv.vectors.tobytes()
    assert look.weights[1:] == [0.3, 0.3]


def test_a_row_that_a_callback_sets_is_trained_from_there():
    class Set:
        def on_epoch_end(self, model):
            if len(model.history) == 2:
                model.wv.vectors[3] = 7

    model = train(callbacks=[Set()], target_weight=0.5, epochs=2)
    assert model.wv.vectors[3] == pytest.approx(7, rel=1e-6)
    others = np.arange(40) != 3
    assert (model.wv.vectors[others] == train(target_weight=0.5, epochs=2).wv.vectors[others]).all()


def test_frozen_rows_stay_as_they_were_given():
    model = Word2Vec(min_count=1, vector_size=24, sample=0, workers=1, target_weight=0.5, progress=False)
    model.build_vocab(SENTENCES)
    model.wv.vectors[5] = 2
    model.wv.vectors_lockf = np.ones(40, np.float32)
    model.wv.vectors_lockf[5] = 0
    for _ in range(2):
        model.train(SENTENCES, epochs=2, callbacks=[Look()])
        assert (model.wv.vectors[5] == 2).all()
    assert np.abs(model.wv.vectors[6]).max() > 0.1


def freeze(model, row, lock=0):
    model.wv.vectors_lockf = np.ones(40, np.float32)
    model.wv.vectors_lockf[row] = lock


@pytest.mark.parametrize("reload", [False, True], ids=["same object", "saved and loaded"])
def test_rows_that_were_frozen_are_trained_further_from_where_they_are(tmp_path, reload):
    model = Word2Vec(min_count=1, vector_size=24, sample=0, workers=1, target_weight=0.5, progress=False)
    model.build_vocab(SENTENCES)
    model.wv.vectors[5] = 2
    freeze(model, 5)
    model.train(SENTENCES, epochs=2)
    context = [model.wv.index_to_key[5], "w6"]
    chances = dict(model.predict_output_word(context, topn=40))
    if reload:
        model.save(tmp_path / "m.mumon")
        model = Word2Vec.load(tmp_path / "m.mumon")
    freeze(model, 5, 1)
    assert dict(model.predict_output_word(context, topn=40)) == pytest.approx(chances, rel=1e-4)
    model.train(SENTENCES, epochs=1, start_alpha=1e-6, end_alpha=1e-6)
    model.target_weight = 0
    np.testing.assert_allclose(model.wv.vectors[5], 2, atol=1e-4)


def test_rows_that_are_frozen_after_training_stay_and_are_then_the_source_rows():
    model = train(target_weight=0.5)
    seen = model.wv.vectors[5].copy()
    freeze(model, 5)
    model.train(SENTENCES, epochs=1)
    assert model.wv.vectors[5].tobytes() == seen.tobytes()
    freeze(model, 5, 1)
    model.target_weight = 0
    assert model.wv.vectors[5].tobytes() == seen.tobytes()


@pytest.mark.parametrize(("weight", "other"), [(0.3, 0), (0, 0.3), (0.3, 1)])
def test_a_callback_may_look_at_another_weight(weight, other):
    class Change:
        def on_epoch_end(self, model):
            model.target_weight = other
            self.seen = model.wv.vectors.copy()
            if len(model.history) < 3:
                model.target_weight = weight

    change = Change()
    model = train(callbacks=[change], target_weight=weight)
    raw = train(target_weight=0)
    np.testing.assert_allclose(model.syn1neg, raw.syn1neg, atol=1e-5)
    np.testing.assert_allclose(change.seen, combine(raw, other), atol=1e-5)
    assert model.target_weight == other
    np.testing.assert_allclose(model.wv.vectors, combine(raw, other), atol=1e-5)


def test_callbacks_without_a_method_for_an_event_cost_no_copy(monkeypatch):
    shown = []
    whole = ModelState.shown_combined
    monkeypatch.setattr(ModelState, "shown_combined", lambda state: shown.append(1) or whole(state))

    class End(CallbackAny2Vec):
        def on_epoch_end(self, model):
            pass

    train(callbacks=[End()], epochs=2)
    assert len(shown) == 2


def test_other_target_rows_leave_the_source_rows_as_they_are():
    model, raw = train(target_weight=0.5), train(target_weight=0)
    model.syn1neg = np.ones_like(model.syn1neg)
    np.testing.assert_allclose(model.wv.vectors, raw.wv.vectors + np.float32(0.5), atol=1e-6)
    model.target_weight = 0
    np.testing.assert_allclose(model.wv.vectors, raw.wv.vectors, atol=1e-6)
    model.syn1neg[3] = 2  # in place, where no vectors depend on it


def test_target_rows_that_are_in_the_vectors_are_not_changed_in_place():
    with pytest.raises(ValueError, match="read-only"):
        train(target_weight=0.5).syn1neg[3] = 2


def test_a_run_can_be_resumed_with_another_weight(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(checkpoints=Checkpoints(tmp_path / "c", every="1k"), callbacks=[Stop()], epochs=4)
    options = {"target_weight": 1, "epochs": 4}
    resumed = train(checkpoints=Checkpoints(tmp_path / "c", every="never", resume=True), **options)
    assert resumed.wv.vectors.tobytes() == train(**options).wv.vectors.tobytes()


@pytest.mark.parametrize("rows", [[40], [-1], ["a"], 3, [1.5]], ids=str)
def test_damaged_rows_without_the_weight_are_one_sentence(tmp_path, rows):
    train().save(tmp_path / "bad.mumon")
    path = tmp_path / "bad.mumon" / "config.json"
    config = json.loads(path.read_text())
    config["training"]["uncombined_rows"] = rows
    path.write_text(json.dumps(config))
    refused(lambda: Word2Vec.load(tmp_path / "bad.mumon"), "does not say how it was trained", error=FormatError)


def test_words_predicted_from_a_context_do_not_depend_on_the_weight():
    raw, both = train(target_weight=0), train(target_weight=1)
    for (word, chance), (other, other_chance) in zip(
        raw.predict_output_word(["w1", "w3"]), both.predict_output_word(["w1", "w3"]), strict=True
    ):
        assert word == other
        assert chance == pytest.approx(other_chance, rel=1e-4)


@pytest.mark.parametrize("weight", [-1, "half", float("nan"), 1e9])
def test_an_impossible_weight_is_refused_in_one_sentence(weight):
    refused(lambda: Word2Vec(target_weight=weight), "target_weight is", error=OptionError)


def test_the_command_line_takes_the_weight_and_info_shows_it(run, tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, SENTENCES)))
    common = ("--min-count", 1, "--dim", 8, "--workers", 1, "-q")
    for weight in ("0", "0.5"):
        code, _, err = run("train", "text.txt", "-o", f"{weight}.mumon", "--target-weight", weight, *common)
        assert code == 0, err
    raw, both = (Word2Vec.load(tmp_path / f"{weight}.mumon") for weight in ("0", "0.5"))
    np.testing.assert_array_equal(both.wv.vectors, combine(raw, 0.5))
    assert "target weight  0.5" in run("info", "0.5.mumon")[1]
    assert run("train", "text.txt", "-o", "more.mumon", "--from", "0.5.mumon", "-q", "--target-weight", 0)[0] == 0
    assert Word2Vec.load(tmp_path / "more.mumon").target_weight == 0
