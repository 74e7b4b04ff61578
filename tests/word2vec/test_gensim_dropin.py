"""Word2Vec in the place of gensim's: the same calls, and what is promised of them."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import warnings

import numpy as np
import pytest

from mumon import Word2Vec, WordVectors
from mumon import models as mumon_models
from mumon.errors import CorpusError, FormatError, OptionError
from mumon.models.callbacks import CallbackAny2Vec
from tests.pets import SENTENCES, SMALL, EnoughError, small

gensim = pytest.importorskip("gensim")


# ---- names and arguments


@pytest.mark.parametrize("method", ["__init__", "build_vocab", "build_vocab_from_freq", "train", "predict_output_word"])
def test_arguments_have_gensims_names_in_gensims_order(method):
    theirs = [
        name
        for name, parameter in inspect.signature(getattr(gensim.models.Word2Vec, method)).parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]
    ours = list(inspect.signature(getattr(Word2Vec, method)).parameters)
    assert ours[: len(theirs)] == theirs


@pytest.mark.parametrize("method", ["__init__", "build_vocab", "build_vocab_from_freq", "train", "predict_output_word"])
def test_defaults_are_gensims_but_for_rate_window_and_threads(method):
    def defaults(of):
        found = inspect.signature(getattr(of, method)).parameters
        return {name: p.default for name, p in found.items() if p.default is not p.empty}

    ours, theirs = defaults(Word2Vec), defaults(gensim.models.Word2Vec)
    assert {name for name in theirs if ours[name] != theirs[name]} <= {"alpha", "window", "workers"}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Word2Vec(SENTENCES, size=8), "size= is gensim 3's; gensim 4 and mumon call it vector_size="),
        (lambda: Word2Vec(SENTENCES, iter=3), "iter= is gensim 3's; gensim 4 and mumon call it epochs="),
        (lambda: small().train(sentences=SENTENCES), "sentences= is gensim 3's; .* call it corpus_iterable="),
        (lambda: small().build_vocab(sentences=SENTENCES), "call it corpus_iterable="),
        (lambda: Word2Vec(hs=1), "hierarchical softmax"),
        (lambda: Word2Vec(null_word=1), "Doc2Vec only"),
        (lambda: Word2Vec(sorted_vocab=0), "always in the order of their counts"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_a_sentence(call, sentence):
    with pytest.raises(OptionError, match=sentence):
        call()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("iter", "it is now model.epochs"),
        ("syn0", "it is now model.wv.vectors"),
        ("most_similar", "ask the vectors: model.wv.most_similar"),
        ("score", "needs hierarchical softmax"),
        ("scan_vocab", "call build_vocab"),
        ("nonsense", "no attribute 'nonsense'"),
    ],
)
def test_attributes_that_are_gone_are_explained(name, sentence):
    assert not hasattr(small(), name)
    with pytest.raises(AttributeError, match=sentence):
        getattr(small(), name)


def test_a_misspelt_option_is_an_error_that_suggests_the_right_one():
    with pytest.raises(TypeError, match=r"'vector_sise'; did you mean 'vector_size'\?"):
        Word2Vec(vector_sise=3)


def test_replacing_gensim_by_mumon_in_the_imports_is_enough():
    import mumon as gensim_like
    from mumon.models import KeyedVectors, word2vec
    from mumon.models.keyedvectors import load_word2vec_format
    from mumon.models.phrases import ENGLISH_CONNECTOR_WORDS, Phrases
    from mumon.models.word2vec import LineSentence

    model = gensim_like.models.Word2Vec(SENTENCES, min_count=1, batch_words=4, compute_loss=True, hashfxn=len)
    assert isinstance(model.wv, KeyedVectors) and isinstance(model, word2vec.Word2Vec)
    assert callable(load_word2vec_format) and "of" in ENGLISH_CONNECTOR_WORDS
    assert issubclass(Phrases, object) and LineSentence.__module__.startswith("mumon")


def test_options_can_be_read_and_changed_on_the_model():
    model = small(sg=1, window=3, negative=7, comment="of cats")
    assert (model.sg, model.hs, model.window, model.negative, model.cbow_mean) == (1, 0, 3, 7, 1)
    assert (model.vector_size, model.layer1_size, model.min_count, model.workers) == (8, 8, 1, 1)
    assert (model.comment, model.epochs, model.train_count, model.max_vocab_size) == ("of cats", 2, 1, None)
    assert model.total_train_time > 0 and model.min_alpha_yet_reached == pytest.approx(model.min_alpha)
    model.window, model.workers = 2, 2
    assert (model.settings.window, model.settings.workers) == (2, 2)
    with pytest.raises(OptionError, match="window is 0"):
        model.window = 0


def test_a_limit_on_the_vocabulary_keeps_the_most_frequent_words():
    for limit in ("max_vocab_size", "max_final_vocab"):
        model = small(**{limit: 3})
        assert len(model.wv) == 3 and model.effective_min_count == 40
    assert small().effective_min_count == 1


# ---- vocabulary


def test_gensims_two_steps_train_as_many_epochs_as_are_asked_for_from_the_first_rate_to_the_last():
    model = Word2Vec(**{**SMALL, "epochs": 5}, alpha=0.1)
    model.build_vocab(SENTENCES)
    assert (model.corpus_count, model.corpus_total_words) == (60, 260)
    for epochs in (7, 1, 3):
        added = model.train(SENTENCES, total_examples=model.corpus_count, epochs=epochs, compute_loss=True)
        assert len(added) == epochs and added[-1].alpha == pytest.approx(model.min_alpha)
    assert len(model.history) == 11


def test_words_counted_elsewhere_make_gensims_vocabulary():
    counts = {f"w{i}": (i * 7) % 13 for i in range(40)}
    ours, theirs = Word2Vec(min_count=3), gensim.models.Word2Vec(min_count=3)
    for model in (ours, theirs):
        model.build_vocab_from_freq(counts, corpus_count=11)
    assert {w: ours.wv.get_vecattr(w, "count") for w in ours.wv} == {
        w: theirs.wv.get_vecattr(w, "count") for w in theirs.wv.index_to_key
    }
    assert ours.corpus_count == theirs.corpus_count == 11
    assert ours.corpus_total_words == sum(counts.values())  # gensim says 0
    ours.build_vocab_from_freq({"w1": 5, "new": 3, "rare": 1}, update=True)
    assert ours.wv.get_vecattr("w1", "count") == counts["w1"] + 5
    assert "new" in ours.wv and "rare" not in ours.wv


@pytest.mark.parametrize("counts", [{}, {"a": 1}])
def test_no_word_frequent_enough_is_said(counts):
    with pytest.raises(CorpusError, match="no word is left"):
        Word2Vec(min_count=5).build_vocab_from_freq(counts)


def test_update_adds_words_and_keeps_the_rows_of_the_old():
    model = small()
    before = model.wv["cat"].copy()
    model.build_vocab([["cat", "purrs", "loudly"]], update=True)
    assert "purrs" in model.wv and (model.wv["cat"] == before).all()
    model.train([["cat", "purrs", "loudly"]] * 9, total_examples=9, epochs=1)
    assert not (model.wv["cat"] == before).all()


def test_a_model_reset_from_another_has_its_words_and_rows_of_its_own():
    other, model = small(), Word2Vec(**SMALL, seed=9)
    model.reset_from(other)
    assert model.wv.index_to_key == other.wv.index_to_key and model.corpus_count == other.corpus_count
    assert not model.syn1neg.any() and not np.allclose(model.wv.vectors, other.wv.vectors)
    other.init_weights()
    assert not other.syn1neg.any() and np.abs(other.wv.vectors).max() <= 0.5 / 8


# ---- callbacks and loss


class Recorder(gensim.models.callbacks.CallbackAny2Vec):
    def __init__(self):
        self.events = []

    def on_train_begin(self, model):
        self.events.append("train begin")

    def on_epoch_begin(self, model):
        self.events.append("epoch begin")

    def on_epoch_end(self, model):
        self.events.append("epoch end")

    def on_train_end(self, model):
        self.events.append("train end")


def test_callbacks_hear_what_gensims_hear_in_the_same_order():
    heard = []
    for kind in (Word2Vec, gensim.models.Word2Vec):
        recorder = Recorder()
        model = kind(SENTENCES, min_count=1, epochs=3, workers=1, callbacks=[recorder])
        model.train(SENTENCES, total_examples=60, epochs=1, callbacks=(recorder,))
        heard.append(recorder.events)
    assert heard[0] == heard[1] and heard[0].count("epoch end") == 4


def test_at_the_end_of_an_epoch_the_model_stands_there():
    seen = []

    class Look:  # no base class, and not all methods
        def on_epoch_end(self, model):
            norms = np.linalg.norm(model.wv.vectors, axis=1)
            assert np.allclose(model.wv.norms, norms)
            seen.append((len(model.history), model.history[-1].loss, model.get_latest_training_loss()))

    model = small(epochs=4, callbacks=[Look()])
    assert [count for count, *_ in seen] == [1, 2, 3, 4]
    sums = np.cumsum([epoch.loss * epoch.trained_tokens for epoch in model.history])
    assert [total for *_, total in seen] == pytest.approx(sums.tolist())
    assert model.get_latest_training_loss() == pytest.approx(sums[-1])
    model.train(SENTENCES, epochs=1)
    assert model.get_latest_training_loss() < sums[-1]  # of the latest training


def test_the_running_loss_may_be_set_to_0_after_every_epoch_as_gensims_users_do():
    losses = []

    class PerEpoch(CallbackAny2Vec):
        def on_epoch_end(self, model):
            losses.append(model.get_latest_training_loss())
            model.running_training_loss = 0.0

    model = small(epochs=3, compute_loss=True, callbacks=[PerEpoch()])
    assert losses == pytest.approx([epoch.loss * epoch.trained_tokens for epoch in model.history])
    assert losses[2] < losses[0]


def test_the_loss_is_that_of_the_corpus_and_not_a_sum_that_lost_its_digits():
    model = small(SENTENCES * 50, epochs=1, alpha=1e-9)
    per_token = model.get_latest_training_loss() / model.history[0].trained_tokens
    counts = model.wv.counts
    is_target = float(counts / counts.sum() @ (counts**0.75 / (counts**0.75).sum()))  # noise that is left out
    assert per_token == pytest.approx((1 + 5 * (1 - is_target)) * math.log(2), rel=0.01)  # untrained: σ(0) each


def test_a_model_saved_at_the_end_of_an_epoch_goes_on_to_the_very_same_bytes(tmp_path):
    class Save(CallbackAny2Vec):
        def on_epoch_end(self, model):
            model.save(tmp_path / f"{len(model.history)}.mumon")

    whole = small(epochs=4, target_weight=0, callbacks=[Save()])  # other weights lose a last bit of the source rows
    part = Word2Vec.load(tmp_path / "2.mumon")
    part.train(SENTENCES)
    assert len(part.history) == 4
    assert part.wv.vectors.tobytes() == whole.wv.vectors.tobytes()


def test_an_exception_in_a_callback_ends_training_and_leaves_a_model(tmp_path):
    class Stop(CallbackAny2Vec):
        def on_epoch_end(self, model):
            if len(model.history) == 2:
                raise EnoughError

    model = Word2Vec(**SMALL)
    model.build_vocab(SENTENCES)
    with pytest.raises(EnoughError):
        model.train(SENTENCES, epochs=9, callbacks=[Stop()])
    assert len(model.history) == 2 and len(model.wv.most_similar("cat")) == 7
    model.save(tmp_path / "stopped.mumon")
    assert len(model.train(SENTENCES, epochs=3)) == 3
    assert len(model.history) == 5


def test_what_cannot_be_called_back_is_refused_before_training():
    with pytest.raises(OptionError, match="callback 1 of 1 is 7, which has none of on_train_begin"):
        small(callbacks=[7])


# ---- frozen rows


@pytest.mark.parametrize("sg", [0, 1])
@pytest.mark.parametrize("exact", [False, True])
def test_a_locked_row_stays_while_the_others_and_its_output_row_learn(sg, exact):
    model = small(epochs=1, sg=sg, exact=exact)
    before, output = model.wv.vectors.copy(), model.syn1neg.copy()
    frozen = model.wv.get_index("cat")
    model.wv.vectors_lockf = np.ones(len(model.wv), np.float32)
    model.wv.vectors_lockf[frozen] = 0
    model.train(SENTENCES, epochs=1)
    moved = (model.wv.vectors != before).any(axis=1)
    assert not moved[frozen] and moved.sum() == len(model.wv) - 1
    assert (model.syn1neg[frozen] != output[frozen]).any()


def test_a_lock_between_0_and_1_takes_that_part_of_the_step():
    sentence = [["a", "b"]]
    steps = []
    for lock in (1.0, 0.25):
        model = small(sentence, epochs=1, alpha=0.1, exact=True)
        before = model.wv.vectors.copy()
        model.wv.vectors_lockf = np.full(1, lock, np.float32)
        model.train(sentence, epochs=1, start_alpha=1e-3)
        steps.append(model.wv.vectors - before)
    np.testing.assert_allclose(steps[1], 0.25 * steps[0], rtol=1e-2)


def test_locks_stay_with_their_words_when_words_are_added():
    model = small(epochs=1)
    model.wv.vectors_lockf = np.ones(len(model.wv), np.float32)
    model.wv.vectors_lockf[model.wv.get_index("dog")] = 0
    before = model.wv["dog"].copy()
    model.train([["dog", "barks", "the", "dog", "barks"]] * 50, epochs=1, merge_vocab="union")
    assert "barks" in model.wv and (model.wv["dog"] == before).all()


@pytest.mark.parametrize("locks", [np.ones(3), np.full(8, -1.0), np.full(8, np.nan)])
def test_locks_that_fit_no_rows_are_refused(locks):
    model = small()
    model.wv.vectors_lockf = locks
    with pytest.raises(OptionError, match="one number of at least 0"):
        model.train(SENTENCES, epochs=1)


def test_vectors_from_a_file_can_be_frozen_by_intersection(tmp_path):
    other = small(seed=5)
    other.wv.save_word2vec_format(tmp_path / "other.bin", binary=True)
    model = Word2Vec(**SMALL)
    model.build_vocab([*SENTENCES, ["ship", "sea"] * 9])
    model.wv.intersect_word2vec_format(tmp_path / "other.bin", lockf=0.0, binary=True)
    model.train([*SENTENCES, ["ship", "sea"] * 9], total_examples=61, epochs=2)
    assert (model.wv["cat"] == other.wv["cat"]).all()
    assert np.abs(model.wv["ship"]).max() > 0.5 / 8  # learns


# ---- other questions


def test_predicted_words_are_those_of_gensims_model_with_the_same_matrices():
    ours = small(epochs=20, target_weight=0)
    theirs = gensim.models.Word2Vec(SENTENCES, vector_size=8, min_count=1, epochs=1)
    theirs.wv.vectors = np.stack([ours.wv[word] for word in theirs.wv.index_to_key])
    theirs.syn1neg = np.stack([ours.syn1neg[ours.wv.get_index(word)] for word in theirs.wv.index_to_key])
    for context in (["the", "sat"], ["cat", "unheard-of"], ["a"]):
        expected = theirs.predict_output_word(context, topn=5)
        found = ours.predict_output_word(context, topn=5)
        assert [chance for _, chance in found] == pytest.approx([chance for _, chance in expected], rel=1e-4)
        assert found[0][0] == expected[0][0]
    assert ours.predict_output_word(["unheard-of"]) is None


def test_the_estimate_of_memory_has_gensims_parts_and_covers_the_matrices():
    model = small()
    report = model.estimate_memory()
    assert report["vectors"] == report["syn1neg"] == model._state.source.nbytes
    assert report["total"] == report["vocab"] + 2 * report["vectors"]
    assert model.estimate_memory(vocab_size=10**6)["vectors"] == 10**6 * 64


def test_words_added_to_the_vectors_become_words_of_the_model(tmp_path):
    model = small()
    output = model.syn1neg[model.wv.get_index("sat")].copy()
    model.wv.add_vectors(["emu"], [np.full(8, 0.5, np.float32)])
    held = model.wv
    model.train([["emu", "sat", "down"]] * 50, epochs=1)
    assert held is model.wv and (held["emu"] != 0.5).any() and len(model.vocabulary) == 9
    assert (model.syn1neg[held.get_index("sat")] != output).any()
    model.save(tmp_path / "m.mumon")
    assert (Word2Vec.load(tmp_path / "m.mumon").wv["emu"] == held["emu"]).all()


def test_a_matrix_put_in_the_place_of_the_vectors_is_trained():
    model = small()
    model.wv.vectors = np.ones((8, 8), np.float32)
    model.train(SENTENCES, epochs=1)
    assert (model.wv.vectors != 1).any()
    model.wv.vectors = np.ones((8, 5), np.float32)
    with pytest.raises(OptionError, match=r"a matrix of .* give as many rows as words"):
        model.train(SENTENCES, epochs=1)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_trains_on_to_the_same_bytes_without_touching_the_original(copied):
    model = small()
    before = model.wv.vectors.copy()
    other = copied(model)
    other.train(SENTENCES, epochs=2)
    assert (model.wv.vectors == before).all()
    model.train(SENTENCES, epochs=2)
    assert model.wv.vectors.tobytes() == other.wv.vectors.tobytes()
    assert other.wv.most_similar("cat") == model.wv.most_similar("cat")


# ---- what is said on the way


def test_gensims_rate_for_the_correct_update_is_warned_of_and_for_the_faulty_one_is_not():
    with pytest.warns(UserWarning, match=r"alpha=0.025 is low for the correct update, which 0.6 suits here"):
        model = small(alpha=0.025, progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.train(SENTENCES, start_alpha=0.025)  # further training may well be careful
        for options in ({"update": "faulty"}, {"sg": 1}, {"alpha": 0.2}, {"alpha": None}):
            small(**{"alpha": 0.025, "progress": False, **options})


def test_whoever_asks_for_log_lines_gets_them_and_nobody_else(caplog):
    small()
    assert not caplog.records
    with caplog.at_level("INFO"):
        small()
        small(progress=False)
    lines = [record.getMessage() for record in caplog.records if record.name == "mumon"]
    assert [line for line in lines if line.startswith("read 260 tokens")] == ["read 260 tokens in 60 sentences"]
    assert any(line.startswith("trained 2 epochs") for line in lines)


def test_a_file_read_as_the_wrong_kind_is_told_its_own(tmp_path):
    model = small()
    model.wv.save_word2vec_format(tmp_path / "v.bin", binary=True)
    model.wv.save_word2vec_format(tmp_path / "v.txt")
    for name, binary, advice in (("v.bin", False, "binary=True"), ("v.txt", True, "binary=False")):
        with pytest.raises(FormatError, match=f"was read as .*; load it with {advice}"):
            WordVectors.load_word2vec_format(tmp_path / name, binary=binary)


def test_gensim_3s_questions_to_the_model_name_the_vectors():
    model = small()
    with pytest.raises(TypeError, match=r"model.wv\['cat'\]"):
        model["cat"]
    with pytest.raises(TypeError, match=r"'cat' in model.wv"):
        _ = "cat" in model
    with pytest.raises(AttributeError, match=r"import Doc2Vec from gensim.models"):
        mumon_models.Doc2Vec  # noqa: B018
