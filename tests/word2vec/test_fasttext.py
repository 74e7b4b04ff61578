"""FastText: any word has a vector, the mean of its rows, and the rest is as Word2Vec promises."""

from __future__ import annotations

import copy
import json
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from mumon import Checkpoints, FastText, Vocabulary, Word2Vec, WordVectors
from mumon.corpus import corpus_from_sentences
from mumon.corpus.subwords import Ngrams, Subwords, encode_word
from mumon.errors import FormatError, MumonError, OptionError
from mumon.training import thread_runner
from mumon.training.memory import compute_training_bytes
from mumon.utils.signals import Interrupted
from mumon.vectors.fasttext_vectors import FastTextVectors
from tests.conftest import planted_accuracy
from tests.formats.test_format_fasttext import naive_rows
from tests.pets import SENTENCES, once
from tests.samples import files_of, left_over, refused
from tests.training.test_checkpoints import Calls

ROOT = Path(__file__).parents[2]
BUCKET = 2000
SMALL = {"vector_size": 8, "min_count": 1, "sample": 0, "workers": 1, "epochs": 2, "bucket": BUCKET, "progress": False}
UNSEEN = ["doggy", "cats", "naïve", "日本語", "catdog", "🙂🙂", "x"]
FORMS = {
    "cbow": {},
    "sg": {"sg": 1},
    "exact": {"exact": True},
    "exact sg": {"exact": True, "sg": 1},
    "faulty": {"update": "faulty"},
    "pooled": {"pool_rows": True},
    "sum": {"cbow_mean": 0},
    "both sides": {"target_weight": 0.5},
}


def small(sentences=SENTENCES, **options):
    return FastText(sentences, **{**SMALL, **options})


def naive_vector(wv, word, own=None, minn=3, maxn=6, bucket=BUCKET):
    """The mean of a word's rows, each found by fastText's loops and a hash in Python integers."""
    rows = wv.vectors_ngrams[naive_rows(word.encode(), minn, maxn, bucket)].astype(np.float64)
    rows = rows if own is None else np.vstack([own, rows])
    return rows.mean(axis=0) if len(rows) else np.zeros(wv.vector_size)


def rows_of(model):
    return model._state.source.tobytes(), model._state.target.tobytes(), model.wv.vectors.tobytes()


def vectors_of(model, words=UNSEEN):
    return model.wv.vectors.tobytes(), model.wv[words].tobytes()


# ---- vectors


@pytest.mark.parametrize("form", FORMS)
def test_a_word_is_the_mean_of_its_rows_and_its_share_of_the_target_row(form):
    model = small(**FORMS[form])
    weight = {"cbow": 0.25, "pooled": 0.25, "both sides": 0.5}.get(form, 0)
    assert model.target_weight == weight
    for row, word in enumerate(model.wv.index_to_key):
        mean = naive_vector(model.wv, word, model.wv.vectors_vocab[row])
        np.testing.assert_allclose(model.wv[word], mean + weight * model.syn1neg[row], rtol=1e-5, atol=1e-6)
    for word in UNSEEN:
        np.testing.assert_allclose(model.wv[word], naive_vector(model.wv, word), rtol=1e-5, atol=1e-6)
    assert model.wv.vectors_ngrams.any() and model.syn1neg.any()
    assert not hasattr(model, "position_weights") or model.position_weights is None


@pytest.mark.parametrize("form", FORMS)
def test_words_learn_from_the_words_around_them(form):
    """Words with no n-gram in common, of two kinds of sentences, end up closer within a kind."""
    random = np.random.default_rng(1)
    kinds = [[letter * 4 for letter in letters] for letters in ("abcdefghij", "klmnopqrst")]
    sentences = [random.choice(kinds[i % 2], 6).tolist() for i in range(1000)]
    model = small(sentences, **FORMS[form], epochs=12, vector_size=16, window=3)
    if form != "exact":  # whose source rows alone are not alike so soon, with or without n-grams
        within = np.mean([model.wv.similarity("aaaa", word) for word in kinds[0][1:]])
        assert within > np.mean([model.wv.similarity("aaaa", word) for word in kinds[1]]) + 0.2
    losses = [epoch.loss for epoch in model.history]
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("sg", [0, 1])
def test_fasttexts_file_is_the_same_when_it_is_loaded_and_saved_again(sg, tmp_path):
    model = small([*SENTENCES, ["once"]], sg=sg, target_weight=0, min_count=2)
    assert model.corpus_total_words > sum(model.wv.counts)  # it counts words that were dropped
    model.save_facebook_model(tmp_path / "first.bin")
    again = FastText.from_facebook(tmp_path / "first.bin")
    assert again.corpus_total_words == model.corpus_total_words
    again.save_facebook_model(tmp_path / "second.bin")
    assert (tmp_path / "second.bin").read_bytes() == (tmp_path / "first.bin").read_bytes()


def test_planted_analogies_are_found(planted):
    model = small(planted, vector_size=24, epochs=12, bucket=20_000)
    assert planted_accuracy(model.wv) > 0.5


def test_any_word_is_in_the_vectors_and_only_those_of_the_text_have_a_row():
    model = small()
    for word in [*UNSEEN, "cat", "", "</s>"]:
        assert word in model.wv and model.wv[word].shape == (8,) and np.isfinite(model.wv[word]).all()
    assert model.wv.has_index_for("cat") and not model.wv.has_index_for("cats")
    assert not model.wv[""].any()  # <> is too short for an n-gram
    assert model.wv.most_similar("cats", topn=1)[0][0] in model.wv.index_to_key
    assert isinstance(model.wv, FastTextVectors) and len(model.wv) == 8


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=7), min_size=2, max_size=9),
    st.integers(1, 4), st.integers(1, 6), st.sampled_from([1, 7, 500]),
)  # fmt: skip
def test_words_of_any_script_are_means_for_any_lengths_and_buckets(words, minn, maxn, bucket):
    model = small([words] * 3, min_n=minn, max_n=maxn, bucket=bucket, epochs=1, vector_size=4, target_weight=0)
    for row, word in enumerate(model.wv.index_to_key):
        if minn > maxn:
            expected = model.wv.vectors_vocab[row]
        else:
            expected = naive_vector(model.wv, word, model.wv.vectors_vocab[row], minn, maxn, bucket)
        np.testing.assert_allclose(model.wv[word], expected, rtol=1e-4, atol=1e-5)


def test_buckets_without_a_row_are_as_if_they_had_one_of_zeros():
    wv = small().wv
    every = Subwords(wv.subwords.expand_rows(), 3, 6)
    assert len(wv.subwords.rows) < len(every.rows) == BUCKET
    for word in [*UNSEEN, *wv.index_to_key]:
        one, other = wv.subwords.compute_vector(word), every.compute_vector(word)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-9)


def test_rows_of_ngrams_are_in_the_order_of_words_and_any_order_gives_the_same_vectors(tmp_path):
    model = small()
    wv, rows = model.wv, model.wv.subwords
    found = wv.subwords.find_ngrams([encode_word(word) for word in wv.index_to_key])[0]
    assert rows.kept.tolist() == list(dict.fromkeys(found.tolist()))  # a word's new n-grams lie side by side
    other = np.random.default_rng(0).permutation(len(rows.kept))
    shuffled = Subwords(rows.rows[other], 3, 6, rows.kept[other], BUCKET)
    for word in [*UNSEEN, *wv.index_to_key]:
        np.testing.assert_array_equal(shuffled.compute_vector(word), rows.compute_vector(word))
    np.testing.assert_array_equal(shuffled.expand_rows(7, 900), rows.expand_rows()[7:900])
    model.save(tmp_path / "m.mumon")  # in another order, as an earlier version saved it
    save_buckets_in_order(tmp_path / "m.mumon")
    again = FastText.load(tmp_path / "m.mumon")
    np.testing.assert_array_equal(again.wv.vectors_ngrams, wv.vectors_ngrams)
    assert again.wv.subwords.kept.tolist() == rows.kept.tolist()


def save_buckets_in_order(directory):
    tensors = load_file(directory / "model.safetensors")
    order = np.argsort(tensors["buckets"])
    for name in ("ngrams", "buckets"):
        tensors[name] = tensors[name][order].copy()
    save_file(tensors, directory / "model.safetensors")


def test_the_number_of_buckets_changes_nothing_where_no_two_ngrams_meet():
    """Rows begin as zeros, so that those which nobody has do not matter."""
    few, many = small(bucket=10_000_000, max_n=3), small(bucket=20_000_000, max_n=3)
    assert len(few.wv.subwords.rows) == len(many.wv.subwords.rows)
    np.testing.assert_allclose(few.wv.vectors, many.wv.vectors, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=8), min_size=1, max_size=9, unique=True), st.integers(1, 60), st.integers(0, 99))
def test_bags_are_the_own_row_and_the_rows_of_the_loops_frequent_ones_first(words, bucket, seed):
    ngrams, encoded = Ngrams(2, 4, bucket), [encode_word(word) for word in words]
    kept = ngrams.find_buckets(encoded)
    bags = ngrams.build_bags(encoded, kept)
    counts = np.random.default_rng(seed).integers(0, 99, len(words))
    rows = len(words) + len(kept)
    expected = [
        [row, *(len(words) + int(np.flatnonzero(kept == k)[0]) for k in naive_rows(word, 2, 4, bucket))]
        if word != b"</s>"
        else [row]
        for row, word in enumerate(encoded)
    ]
    often = np.zeros(rows, np.int64)
    for bag, count in zip(expected, counts, strict=True):
        for row in bag:
            often[row] += count
    np.testing.assert_array_equal(bags.count_rows(counts, rows), often)
    least = 0.3
    middles, sorted_bags = bags.sort_by_frequency(counts, rows, least)
    for word, bag in enumerate(expected):
        members = bags.members[bags.starts[word] : bags.starts[word + 1]].tolist()
        assert members[0] == word and sorted(members) == sorted(bag)
        frequent = sorted_bags.members[bags.starts[word] : middles[word]].tolist()
        rare = sorted_bags.members[middles[word] : bags.starts[word + 1]].tolist()
        limit = least * max(counts.sum(), 1)
        assert sorted(frequent + rare) == sorted(bag)
        assert all(often[row] >= limit for row in frequent) and all(often[row] < limit for row in rare)


def test_lengths_that_leave_no_ngrams_train_words_only():
    plain = Word2Vec(SENTENCES, **{**{k: v for k, v in SMALL.items() if k != "bucket"}, "alpha": 0.6})
    model = small(min_n=4, max_n=3, alpha=0.6)
    np.testing.assert_allclose(model.wv.vectors, plain.wv.vectors, atol=1e-4)
    np.testing.assert_allclose(model.syn1neg, plain.syn1neg, atol=1e-4)
    assert model.wv.vectors_ngrams.shape == (0, 8) and "cats" not in model.wv


# ---- the same every time


@pytest.mark.parametrize("form", FORMS)
def test_one_thread_is_repeatable_to_the_bit(form):
    assert rows_of(small(**FORMS[form])) == rows_of(small(**FORMS[form]))
    assert rows_of(small(**FORMS[form], seed=2)) != rows_of(small(**FORMS[form]))


@pytest.mark.parametrize("form", FORMS)
def test_what_was_saved_comes_back_to_the_byte(tmp_path, form):
    model = small(**FORMS[form])
    model.save(tmp_path / "m.mumon")
    other = FastText.load(tmp_path / "m.mumon", progress=False)
    assert rows_of(other) == rows_of(model) and vectors_of(other) == vectors_of(model)
    assert (other.min_n, other.max_n, other.bucket) == (3, 6, BUCKET) and other.settings == model.settings
    other.save(tmp_path / "again.mumon")
    assert files_of(tmp_path / "again.mumon") == files_of(tmp_path / "m.mumon")
    for one in (model, other):
        one.train(SENTENCES, epochs=1)
    assert rows_of(other) == rows_of(model)
    wv = WordVectors.load(tmp_path / "again.mumon")
    assert isinstance(wv, FastTextVectors)
    again = FastText.load(tmp_path / "again.mumon")
    np.testing.assert_array_equal(wv[UNSEEN], again.wv[UNSEEN])
    np.testing.assert_allclose(wv.vectors_vocab + 0, again.wv.vectors_vocab + _extra(again), atol=1e-5)


def _extra(model):
    """What the words' share of the target rows amounts to in rows of their own, where those are not known."""
    return model._state.bags.sizes[:, None] * model._state.combined_with * model.syn1neg


@pytest.fixture
def look_often(monkeypatch):
    monkeypatch.setattr(thread_runner, "POLL_SECONDS", 0.001)


@pytest.mark.parametrize("form", ["cbow", "exact sg", "pooled"])
def test_with_one_thread_a_stopped_run_ends_in_the_same_bytes(tmp_path, planted, look_often, form):
    corpus = corpus_from_sentences(planted)

    def trained(tokens=0, call=None):
        kept = Checkpoints(tmp_path / "kept", "never", resume=True)
        return small(corpus, **FORMS[form], epochs=3, checkpoints=kept, progress=Calls(tokens, call))

    small(corpus, **FORMS[form], epochs=3).save(tmp_path / "whole")
    for share in (0.1, 0.6):
        with pytest.raises(Interrupted):
            trained(share * 3 * corpus.tokens, lambda: signal.raise_signal(signal.SIGINT))
    trained().save(tmp_path / "resumed")
    whole, resumed = files_of(tmp_path / "whole"), files_of(tmp_path / "resumed")
    losses = [[e["loss"] for e in json.loads(files.pop("history.json"))["epochs"]] for files in (whole, resumed)]
    assert whole == resumed and losses[0] == losses[1]
    assert left_over(tmp_path) == ["resumed", "whole"]


def test_a_resumed_run_does_not_advise_against_the_rate_that_the_rule_chose(tmp_path, planted, look_often):
    corpus = corpus_from_sentences(planted)

    def trained(progress):
        kept = Checkpoints(tmp_path / "kept", "never", resume=True)
        return small(corpus, epochs=3, checkpoints=kept, progress=progress)

    with pytest.raises(Interrupted):
        trained(Calls(0.2 * corpus.tokens, lambda: signal.raise_signal(signal.SIGINT)))
    progress = Calls()
    trained(progress)
    assert not [note for note in progress.notes if "is low for" in note]


def test_a_stopped_run_is_not_resumed_with_other_ngrams(tmp_path, planted, look_often):
    corpus = corpus_from_sentences(planted)

    def trained(call=None, **options):
        kept = Checkpoints(tmp_path / "kept", "never", resume=True)
        return small(corpus, checkpoints=kept, progress=Calls(corpus.tokens, call), **options)

    with pytest.raises(Interrupted):
        trained(lambda: signal.raise_signal(signal.SIGINT))
    for options in ({"bucket": 3000}, {"max_n": 5}, {"pool_rows": True}):
        refused(lambda options=options: trained(**options), "--restart", error=OptionError)
    assert len(trained().history) == 2


def test_matrices_on_disk_are_the_same_model(tmp_path):
    model, on_disk = small(), small(matrices="disk")
    assert rows_of(model) == rows_of(on_disk)
    model.save(tmp_path / "m")
    loaded = FastText.load(tmp_path / "m", matrices="disk", progress=False)
    assert rows_of(loaded) == rows_of(model) and loaded.matrices == "disk"
    assert rows_of(copy.deepcopy(on_disk)) == rows_of(model)


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_models_of_their_own(make):
    model = small()
    other, before = make(model), rows_of(model)
    assert rows_of(other) == before and vectors_of(other) == vectors_of(model) and type(other) is FastText
    other.train(SENTENCES, epochs=1)
    other.wv.vectors_vocab[:] = 0
    other.wv.subwords.rows[:] = 0
    assert rows_of(model) == before and len(model.history) == 2
    model.train(SENTENCES, epochs=1)
    third = make(model)
    for one in (model, third):
        one.train(SENTENCES, epochs=1)
    assert rows_of(third) == rows_of(model)
    assert make(FastText(**SMALL)).vocabulary is None


@pytest.mark.parametrize("make", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_have_the_locks_and_attributes_of_words(make):
    model = small()
    model.wv.vectors_lockf = np.zeros(len(model.wv), np.float32)
    model.wv.vectors_ngrams_lockf = np.zeros(1, np.float32)
    model.wv.set_vecattr("cat", "legs", 4)
    other = make(model)
    assert other.wv.get_vecattr("cat", "legs") == 4
    np.testing.assert_array_equal(other.wv.vectors_lockf, model.wv.vectors_lockf)
    np.testing.assert_array_equal(other.wv.vectors_ngrams_lockf, model.wv.vectors_ngrams_lockf)


# ---- other words


MORE = [["the", "wombat", "sat"], ["a", "doggy", "saw", "wombats"]] * 20


def test_new_words_leave_old_words_and_ngrams_their_rows():
    model = small()
    old, wv = copy.deepcopy(model.wv), model.wv
    output = model.syn1neg.copy()
    rows, ngrams = old.vectors_vocab.copy(), old.vectors_ngrams
    model.build_vocab(MORE, update=True)
    assert model.wv is wv and {"wombat", "doggy", "wombats"} <= set(wv.index_to_key)
    places = [wv.get_index(word) for word in old.index_to_key]
    np.testing.assert_array_equal(wv.vectors_vocab[places], rows)
    np.testing.assert_array_equal(model.syn1neg[places], output)
    np.testing.assert_array_equal(wv.vectors_ngrams, ngrams)  # new ones begin as zeros
    assert len(wv.subwords.rows) > len(old.subwords.rows)
    np.testing.assert_allclose(wv.vectors[places], old.vectors, atol=1e-6)
    np.testing.assert_allclose(
        wv["doggy"], naive_vector(wv, "doggy", wv.vectors_vocab[wv.get_index("doggy")]), atol=1e-6
    )
    model.train(MORE, epochs=1)
    assert wv.vectors_vocab[wv.get_index("wombat")].any() and not np.array_equal(wv.vectors_ngrams, ngrams)


def test_forgotten_words_leave_the_rows_of_their_ngrams():
    model = small()
    before = model.wv["cat"], model.wv.vectors_ngrams
    model.build_vocab(MORE)  # other words alone
    assert not model.wv.has_index_for("cat")
    np.testing.assert_array_equal(model.wv.vectors_ngrams, before[1])
    np.testing.assert_allclose(model.wv["cat"], naive_vector(model.wv, "cat"), atol=1e-6)
    model.init_weights()
    assert not model.wv.vectors_ngrams.any() and not model.syn1neg.any()


def test_words_cannot_be_changed_through_the_vectors():
    model = small()
    model.wv.add_vector("wombat", np.ones(8, np.float32))
    refused(lambda: model.train(SENTENCES), "build_vocab\\(update=True\\)", error=OptionError)
    model = small()
    with pytest.raises(OptionError):
        model.wv = WordVectors(["a"], np.ones((1, 8), np.float32))


# ---- frozen rows


def test_frozen_rows_of_words_and_ngrams_stay_to_the_byte_while_others_learn():
    for lock, still, moving in (
        ("vectors_vocab_lockf", "vectors_vocab", "vectors_ngrams"),
        ("vectors_lockf", "vectors_vocab", "vectors_ngrams"),
        ("vectors_ngrams_lockf", "vectors_ngrams", "vectors_vocab"),
    ):
        model = small()
        before = {name: getattr(model.wv, name).copy() for name in (still, moving)}
        setattr(model.wv, lock, np.zeros(1, np.float32))
        model.train(SENTENCES, epochs=1)
        assert getattr(model.wv, still).tobytes() == before[still].tobytes()
        assert not np.array_equal(getattr(model.wv, moving), before[moving])


def test_single_words_and_buckets_can_be_frozen():
    model = small()
    cat, wv = model.wv.get_index("cat"), model.wv
    bucket = naive_rows(b"dog", 3, 6, BUCKET)[0]
    rows, ngrams = wv.vectors_vocab.copy(), wv.vectors_ngrams
    wv.vectors_vocab_lockf = np.ones(len(wv), np.float32)
    wv.vectors_vocab_lockf[cat] = 0
    wv.vectors_ngrams_lockf = np.ones(BUCKET, np.float32)
    wv.vectors_ngrams_lockf[bucket] = 0
    model.train(SENTENCES, epochs=1)
    np.testing.assert_array_equal((wv.vectors_vocab == rows).all(axis=1), np.arange(len(wv)) == cat)
    assert wv.vectors_ngrams[bucket].tobytes() == ngrams[bucket].tobytes() and ngrams[bucket].any()
    assert (wv.vectors_ngrams != ngrams).any(axis=1).sum() == len(wv.subwords.rows) - 1


@pytest.mark.parametrize("name", ["vectors_lockf", "vectors_vocab_lockf", "vectors_ngrams_lockf"])
def test_locks_of_another_shape_are_refused_by_name(name):
    model = small()
    setattr(model.wv, name, np.ones(3, np.float32))
    refused(lambda: model.train(SENTENCES), f"wv.{name} has shape \\(3,\\)", error=OptionError)


def test_locks_of_words_outlive_new_words():
    model = small()
    model.wv.vectors_vocab_lockf = np.zeros(1, np.float32)
    rows = {word: model.wv.vectors_vocab[row].copy() for word, row in model.wv.key_to_index.items()}
    model.build_vocab(MORE, update=True)
    model.train(MORE, epochs=1)
    for word, row in rows.items():
        np.testing.assert_array_equal(model.wv.vectors_vocab[model.wv.get_index(word)], row)


def test_locks_of_ngrams_outlive_new_words():
    model = small()
    model.wv.vectors_ngrams_lockf = np.zeros(1, np.float32)
    before = model.wv.vectors_ngrams
    model.build_vocab(MORE, update=True)
    model.train(MORE, epochs=1)
    np.testing.assert_array_equal(model.wv.vectors_ngrams, before)


# ---- the rest of Word2Vec


def test_callbacks_see_the_vectors_that_a_training_ended_now_would_give():
    seen = []

    class Watch:
        def on_epoch_end(self, model):
            row = model.wv.get_index("cat")
            mean = naive_vector(model.wv, "cat", model.wv.vectors_vocab[row])
            expected = mean + model.settings.used_target_weight * model._state.target[row, :8]
            np.testing.assert_allclose(model.wv["cat"], expected, atol=1e-6)
            seen.append(model.wv["cats"].copy())

    model = small(callbacks=[Watch()], epochs=3)
    assert len(seen) == 3 and not np.array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[-1], model.wv["cats"])
    assert rows_of(model) == rows_of(small(epochs=3))  # watching changes nothing


def test_callbacks_may_change_rows_and_locks():
    def change(model):
        model.wv.subwords.rows[:] = 0
        model.wv.vectors_ngrams_lockf = np.zeros(1, np.float32)

    assert not small(callbacks=[once(change)], epochs=3).wv.vectors_ngrams.any()


ADDED_WORDS = """
import sys
import numpy as np
from mumon import FastText
from mumon.errors import OptionError

class Add:
    def on_epoch_end(self, model):
        model.wv.add_vectors([f"w{i}" for i in range(5000)], np.ones((5000, 8), np.float32))

options = dict(vector_size=8, min_count=1, sample=0, workers=1, epochs=1, bucket=2000, progress=False)
callbacks = [Add()] if sys.argv[1] == "callback" else []
try:
    model = FastText([["the", "cat", "sat"]] * 60, **options, callbacks=callbacks)
    Add().on_epoch_end(model)
    if sys.argv[1] == "target_weight":
        model.target_weight = 0.5
    elif sys.argv[1] == "predict_output_word":
        model.predict_output_word(["cat"])
    else:
        model.save_facebook_model("m.bin")
except OptionError as error:
    assert "words" in str(error)
else:
    raise AssertionError
"""


@pytest.mark.parametrize("how", ["callback", "target_weight", "predict_output_word", "save_facebook_model"])
def test_words_that_were_added_to_the_vectors_are_refused_and_do_not_crash(kernels, tmp_path, how):
    done = subprocess.run([sys.executable, "-c", ADDED_WORDS, how], env=kernels, cwd=tmp_path, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr.decode()[-2000:]


def test_questions_to_the_model_leave_it_as_it_is():
    model = small(epochs=8)
    before = rows_of(model)
    words = model.predict_output_word(["the", "cat"], topn=3)
    assert len(words) == 3 and all(word in model.wv.key_to_index for word, _ in words)
    assert rows_of(model) == before
    model.target_weight = 0
    plain = model.wv.vectors.copy()
    model.target_weight = 0.5
    np.testing.assert_allclose(model.wv.vectors, plain + 0.5 * model.syn1neg, atol=1e-6)


def test_a_model_starts_from_the_vectors_of_others(tmp_path):
    words = ["cat", "dog", "wombat"]
    start = WordVectors(words, np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32))
    model = FastText.from_vectors(start, **{k: v for k, v in SMALL.items() if k != "vector_size"})
    np.testing.assert_allclose(model.wv[words], start[words], rtol=1e-5, atol=1e-5)
    model.train(SENTENCES, merge_vocab="union")
    assert {"wombat", "sat"} <= set(model.wv.index_to_key) and model.wv["doggy"].any()
    assert np.isfinite(model.wv.vectors).all()


def test_integer_tokens_are_words_too():
    model = small([[1, 22, 333], [22, 4444, 1]] * 30)
    assert model.wv[333].shape == (8,) and 22 in model.wv
    np.testing.assert_allclose(
        model.wv[4444] - 0.25 * model.syn1neg[model.wv.get_index(4444)],
        naive_vector(model.wv, "4444", model.wv.vectors_vocab[model.wv.get_index(4444)]),
        atol=1e-6,
    )


def test_the_first_words_may_come_from_a_list_or_from_counts():
    model = small(vocab=Vocabulary.from_counts({"cat": 9, "dog": 8}))
    assert model.wv.index_to_key == ["cat", "dog"]
    model = FastText(**SMALL)
    model.build_vocab_from_freq({"cat": 9, "dog": 5, "emu": 1})
    model.train(SENTENCES, epochs=1)
    other = FastText(**SMALL)
    other.reset_from(model)
    assert other.wv.index_to_key == model.wv.index_to_key == ["cat", "dog", "emu"]
    assert not other.wv.vectors_ngrams.any()


def test_two_threads_learn_as_well(planted):
    losses = [small(planted, workers=workers, epochs=6, bucket=20_000).history[-1].loss for workers in (1, 2)]
    assert losses[1] == pytest.approx(losses[0], rel=0.15)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"backend": "ray"}, "n-grams in 2,000 buckets; leave out backend"),
        ({"positions": 4}, "positions is 4 .* choose 0"),
        ({"word_ngrams": 2}, "word_ngrams is 2"),
        ({"hs": 1}, "hs"),
        ({"min_n": -1}, "min_n is -1"),
        ({"max_n": 1000}, "max_n is 1000"),
        ({"bucket": -1}, "bucket is -1"),
        ({"bucket": 1 << 40}, "bucket is"),
        ({"subwords": 3}, "subwords"),
        ({"vectorsize": 3}, "vectorsize"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_is_not_offered_is_refused_in_one_sentence(options, message):
    with pytest.raises((MumonError, TypeError), match=message) as caught:
        small(**options)
    assert "\n" not in str(caught.value)


def test_each_class_names_the_other_for_its_folders(tmp_path):
    small().save(tmp_path / "with")
    Word2Vec(SENTENCES, **{k: v for k, v in SMALL.items() if k != "bucket"}).save(tmp_path / "without")
    refused(lambda: Word2Vec.load(tmp_path / "with"), "mumon.FastText.load", error=FormatError)
    refused(lambda: FastText.load(tmp_path / "without"), "mumon.Word2Vec.load", error=FormatError)


def test_memory_is_estimated_with_the_ngrams_of_the_words():
    """Of words made of syllables, whose n-grams repeat as those of a language do."""
    random = np.random.default_rng(0)
    syllables = ["".join(random.choice(list("bcdfgklmnprst"), 1)) + v + c for v in "aeiou" for c in ("", "n", "r", "s")]
    words = sorted({"".join(random.choice(syllables, random.integers(2, 5))) for _ in range(4000)})
    model = FastText(vector_size=32, min_count=1, workers=1, progress=False)
    model.build_vocab([words])
    parts = model.estimate_memory()
    rows, members = len(model.wv.subwords.rows), len(model._state.bags.members)
    assert parts["total"] == compute_training_bytes(len(words), 32, model.settings, rows, members)
    assert 2 * parts["total"] == sum(parts.values())
    state = model._state
    matrices = state.source.nbytes + state.target.nbytes + state.target.nbytes  # the last for the vectors themselves
    counted = sum(parts[name] for name in ("vectors", "syn0_vocab", "syn0_ngrams", "syn1neg"))
    assert counted == matrices < parts["total"]
    larger = model.estimate_memory(10 * len(words))
    assert larger["total"] > 5 * parts["total"]


def test_memory_of_english_words_is_guessed_within_a_quarter():
    """The guess for a number of words, against the words themselves: those of this project's documents."""
    text = " ".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    text += " ".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    words = sorted(set(re.findall("[a-z]{2,}", text.lower())))
    assert len(words) > 3000
    model = FastText(vector_size=100, min_count=1, workers=1, progress=False)
    model.build_vocab([words])
    assert model.estimate_memory(len(words))["total"] == pytest.approx(model.estimate_memory()["total"], rel=0.25)
