"""Vectors from both sides of the model: users get source + λ · target rows."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

from mumon import Checkpoints, Word2Vec
from mumon.errors import FormatError, OptionError
from mumon.formats.checkpoint import read_checkpoint
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
