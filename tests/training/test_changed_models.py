"""Models and vectors that are changed on the way, by callbacks, by hand and by copies, and schedules that go on."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from mumon import Checkpoints, Word2Vec, WordVectors
from mumon.errors import MissingWordError, OptionError
from mumon.models.callbacks import CallbackAny2Vec
from tests.pets import SENTENCES, SMALL, At, EnoughError, once, small

# ---- models and vectors that are changed on the way


def normalise(model):
    model.wv.vectors = model.wv.get_normed_vectors()


def test_a_matrix_that_a_callback_puts_in_place_is_what_is_trained_on():
    model = small(epochs=3, callbacks=[once(normalise)])
    by_hand = small(epochs=3, callbacks=[once(lambda model: model.wv.unit_normalize_all())])
    assert model.wv.vectors.tobytes() == by_hand.wv.vectors.tobytes()
    assert (model.wv.vectors != small(epochs=3).wv.vectors).any()
    assert model.wv.vectors is model._state._view


@pytest.mark.parametrize(
    "act",
    [
        lambda model: model.wv.add_vector("emu", np.ones(8)),
        lambda model: model.build_vocab([["emu", "cat"]] * 9, update=True),
        lambda model: model.wv.index_to_key.reverse(),
    ],
)
def test_words_changed_by_a_callback_are_refused_rather_than_lost(act):
    with pytest.raises(OptionError, match="words of the model were changed by a callback; change them between"):
        small(epochs=3, callbacks=[once(act)])


def test_locks_set_by_a_callback_hold_from_there_on():
    def freeze(model):
        model.wv.vectors_lockf = np.zeros(1, np.float32)

    frozen, one = small(epochs=3, alpha=0.1, callbacks=[once(freeze)]), small(epochs=3, alpha=0.1)
    assert len(frozen.history) == 3 and (frozen.wv.vectors != one.wv.vectors).any()
    assert np.abs(frozen.wv.vectors - small(epochs=1, total_epochs=3, alpha=0.1).wv.vectors).max() == 0


def test_a_shallow_copy_is_a_model_of_its_own():
    model = small()
    other = copy.copy(model)
    other.train(SENTENCES, epochs=3)
    model.train(SENTENCES, epochs=1)
    other.wv.add_vector("emu", np.ones(8))
    assert other.wv is not model.wv and "emu" not in model.wv
    assert (model.wv.vectors == model._state.source[:, :8]).all() and len(model.wv.most_similar("cat")) == 7


def test_a_vocabulary_cut_by_hand_keeps_its_output_rows_whatever_goes_wrong_before(tmp_path):
    model = small()
    output = model.syn1neg.copy()
    keep, counts, vectors = model.wv.index_to_key[:5], model.wv.counts[:5], model.wv.vectors[:5].copy()
    model.wv.index_to_key, model.wv.key_to_index = list(keep), {word: row for row, word in enumerate(keep)}
    model.wv.vectors = vectors
    with pytest.raises(OptionError, match="5 words and counts of shape"):
        model.save(tmp_path / "m.mumon")
    model.wv.counts = counts
    assert (model.syn1neg == output[:5]).all()
    model.save(tmp_path / "m.mumon")
    assert Word2Vec.load(tmp_path / "m.mumon").wv.index_to_key == keep


def test_whoever_holds_the_vectors_holds_those_of_the_model_after_words_were_added():
    model = small()
    held = model.wv
    held.set_vecattr("cat", "lang", "en")
    model.build_vocab([["emu", "cat", "runs"]] * 9, update=True)
    model.train([["emu", "cat", "runs"]] * 9, epochs=1)
    assert held is model.wv and "emu" in held and held.get_vecattr("cat", "lang") == "en"
    assert (held["cat"] == model.wv.vectors[model.wv.get_index("cat")]).all()


def test_counts_and_names_changed_in_the_vectors_are_those_of_the_model(tmp_path):
    model = small()
    model.wv.counts = np.arange(8, 0, -1)
    row = model.wv.get_index("cat")
    model.wv.index_to_key[row] = "tom"
    model.wv.key_to_index["tom"] = model.wv.key_to_index.pop("cat")
    model.save(tmp_path / "m.mumon")
    loaded = Word2Vec.load(tmp_path / "m.mumon")
    assert loaded.wv.counts.tolist() == list(range(8, 0, -1)) and (loaded.wv["tom"] == model.wv.vectors[row]).all()


def test_counts_are_not_shared_between_models():
    first = small()
    second, third = Word2Vec(**SMALL), Word2Vec.from_vectors(first.wv, min_count=1)
    second.reset_from(first)
    for other in (second, third):
        other.wv.set_vecattr("cat", "count", 99)
    assert first.wv.get_vecattr("cat", "count") == 40


def test_vectors_and_output_rows_may_be_assigned():
    model, other = small(), small(seed=3)
    model.wv, model.syn1neg = other.wv, np.ones((8, 8))
    assert (model.wv["cat"] == other.wv["cat"]).all() and (model.syn1neg == 1).all()
    empty = Word2Vec(**SMALL)
    empty.wv = other.wv
    assert (empty.wv["cat"] == other.wv["cat"]).all()
    with pytest.raises(OptionError, match="vectors have 3 numbers where the model has 8"):
        model.wv = WordVectors(["a"], np.ones((1, 3)))
    with pytest.raises(OptionError, match="give one row to each word"):
        model.syn1neg = np.ones((2, 8))


def test_a_model_without_words_has_no_vectors_to_ask_for():
    model = Word2Vec(**SMALL)
    assert not hasattr(model, "wv")
    with pytest.raises(OptionError, match="the model has no vocabulary yet"):
        _ = model.wv


def test_a_model_whose_corpus_waits_in_a_generator_can_be_copied():
    model = Word2Vec(**SMALL)
    sentences = (sentence for sentence in SENTENCES)
    model.build_vocab(sentences)
    assert copy.deepcopy(model).wv.index_to_key == model.wv.index_to_key
    assert len(model.train(sentences, epochs=1)) == 1


# ---- schedules, as gensim's programs walk them


def rates(epochs):
    return [round(epoch.alpha, 4) for epoch in epochs]


def test_epochs_and_rates_set_on_the_model_before_training_are_those_of_training():
    model = Word2Vec(**{**SMALL, "epochs": 5}, alpha=0.1)
    model.build_vocab(SENTENCES)
    model.epochs, model.min_alpha = 10, 0.04
    assert rates(model.train(SENTENCES, total_examples=60, epochs=model.epochs))[-1] == 0.04
    assert len(model.history) == 10


def test_a_model_saved_on_the_way_may_be_trained_for_any_number_of_epochs(tmp_path):
    class Save(CallbackAny2Vec):
        def on_epoch_end(self, model):
            model.save(tmp_path / f"{len(model.history)}.mumon")

    small(epochs=5, alpha=0.1, min_alpha=0.01, callbacks=[Save()])
    for epochs, first in ((5, 0.082), (1, 0.01), (7, None), (2, 0.028)):  # 2 are left of the first schedule
        model = Word2Vec.load(tmp_path / "3.mumon")
        added = rates(model.train(SENTENCES, total_examples=60, epochs=epochs))
        assert len(added) == epochs and added[-1] == 0.01 and first in (None, added[0])


def test_after_a_training_that_failed_the_next_one_plans_anew():
    def fail(model):
        raise EnoughError

    model = Word2Vec(**SMALL)
    model.build_vocab(SENTENCES)
    with pytest.raises(EnoughError):
        model.train(SENTENCES, epochs=10, callbacks=[once(fail)])
    chosen = rates(model.train(SENTENCES * 30, epochs=2))
    assert chosen[-1] == 0.0001 and model._run.schedule.total == 2
    other = small(SENTENCES * 30, epochs=2)
    assert model.alpha <= other.alpha  # chosen for this corpus and all that was seen, not for the first


@pytest.mark.parametrize("error", [EnoughError, lambda: MissingWordError("no such word")])
def test_a_run_that_a_callback_ended_can_be_resumed_in_the_same_process(tmp_path, error):
    def fail(model):
        raise error()

    whole = Word2Vec(**SMALL)
    whole.build_vocab(SENTENCES)
    whole.train(SENTENCES, epochs=4)
    whole.train(SENTENCES, epochs=3)
    model = Word2Vec(**SMALL)
    model.build_vocab(SENTENCES)
    for folder, epochs, behind in (("a", 4, 0), ("b", 3, 4)):
        with pytest.raises((EnoughError, MissingWordError)):
            model.train(SENTENCES, epochs=epochs, callbacks=[At(behind + 1, fail)], checkpoints=tmp_path / folder)
        assert list((tmp_path / folder).iterdir()) and len(model.history) == behind
        model.train(SENTENCES, epochs=epochs, checkpoints=Checkpoints(tmp_path / folder, resume=True))
        assert len(model.history) == behind + epochs
    assert model.wv.vectors.tobytes() == whole.wv.vectors.tobytes()


def test_what_was_counted_is_still_known_after_loading(tmp_path):
    small().save(tmp_path / "m.mumon")
    model = Word2Vec.load(tmp_path / "m.mumon")
    assert (model.corpus_count, model.corpus_total_words, model.train_count) == (60, 260, 1)


def test_new_weights_begin_a_new_history():
    model = small()
    model.init_weights()
    assert model.history == [] and not model.syn1neg.any()
    assert model.train(SENTENCES)[0].epoch == 1


def test_a_single_string_is_no_context():
    with pytest.raises(OptionError, match="'cat' is 1 string where a list of words is needed"):
        small().predict_output_word("cat")
