"""Training: everything learns, repeats itself, goes on, and stops when it should."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import planted_accuracy

from mumon import Vocabulary, Word2Vec, WordVectors
from mumon.errors import CorpusError, FormatError, MumonError, OptionError, TrainingError

COMBINATIONS = {
    f"{'sg' if sg else 'cbow'}-{update}-{'mean' if mean else 'sum'}-{'exact' if exact else 'fast'}": {
        "sg": sg,
        "update": update,
        "cbow_mean": mean,
        "exact": exact,
    }
    for exact in (True, False)
    for sg, update, mean in [
        (0, "correct", 1),
        (0, "faulty", 1),
        (0, "correct", 0),
        (0, "faulty", 0),
        (1, "correct", 1),
    ]
}


def small(sentences, **options):
    defaults = {"vector_size": 24, "min_count": 1, "sample": 0, "epochs": 12, "workers": 1, "progress": False}
    return Word2Vec(sentences, **{**defaults, **options})


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_every_combination_learns_the_planted_analogies(planted, combination):
    model = small(planted, **COMBINATIONS[combination])
    untrained = small(None, **COMBINATIONS[combination])
    untrained.build_vocab(planted)
    assert planted_accuracy(untrained.wv) < 0.1
    assert planted_accuracy(model.wv) > 0.7
    losses = [epoch.loss for epoch in model.history]
    assert losses[-1] < 0.9 * losses[0]
    assert np.abs(model.syn1neg).max() > 0.1


def test_two_threads_learn_as_well_as_one(planted):
    assert planted_accuracy(small(planted, workers=2).wv) > 0.7


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_same_seed_and_one_thread_give_identical_bytes(planted, combination, tmp_path):
    options = {**COMBINATIONS[combination], "epochs": 2}
    for name in ("a", "b"):
        small(planted[:500], **options).save(tmp_path / name)
    for file in sorted((tmp_path / "a").iterdir()):
        if file.name != "history.json":  # holds the seconds each epoch took
            assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
    other = small(planted[:500], **options, seed=2)
    assert not np.array_equal(other.wv.vectors, Word2Vec.load(tmp_path / "a").wv.vectors)


def test_files_lists_and_generators_train_the_same_model(planted, tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(map(" ".join, planted[:500])))
    models = [
        small(planted[:500], epochs=2),
        small((sentence for sentence in planted[:500]), epochs=2),
        small(str(tmp_path / "a.txt"), epochs=2),
        small([tmp_path / "a.txt"], epochs=2),
        small(None, corpus_file=[str(tmp_path / "a.txt")], epochs=2),
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.wv.vectors, models[0].wv.vectors)


def test_plain_python_and_compiled_kernels_train_the_same_model(planted, tmp_path):
    """The same source runs without a compiler; float32 sums may be taken in another order."""
    code = f"""
import json, sys, warnings
warnings.simplefilter("ignore")  # NumPy warns when a 64-bit mixer wraps around
import numpy as np
from mumon import Word2Vec
combinations, sentences = json.load(sys.stdin)
for name, options in combinations.items():
    model = Word2Vec(sentences, vector_size=8, min_count=1, sample=0, epochs=1, workers=1, **options)
    np.save({str(tmp_path)!r} + "/" + name, model.wv.vectors)
"""
    import json

    sentences = planted[:12]
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([COMBINATIONS, sentences]),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        text=True,
        capture_output=True,
    )
    assert run.returncode == 0, run.stderr
    for name, options in COMBINATIONS.items():
        compiled = small(sentences, vector_size=8, epochs=1, **options)
        np.testing.assert_allclose(np.load(tmp_path / f"{name}.npy"), compiled.wv.vectors, atol=1e-5)


def test_history_tells_loss_rate_and_speed_of_every_epoch(planted):
    model = small(planted[:500], epochs=4, alpha=0.1, min_alpha=0.02)
    assert [epoch.epoch for epoch in model.history] == [1, 2, 3, 4]
    assert [epoch.alpha for epoch in model.history] == pytest.approx([0.08, 0.06, 0.04, 0.02])
    assert all(epoch.tokens == 3500 and epoch.tokens_per_second > 0 for epoch in model.history)
    assert all(epoch.trained_tokens == 3500 for epoch in model.history)


def test_subsampling_trains_fewer_tokens(planted):
    assert small(planted[:500], epochs=1, sample=1e-3).history[0].trained_tokens < 2500


def test_the_default_rate_depends_on_the_objective_and_update():
    assert [Word2Vec(**o).settings.alpha for o in ({}, {"update": "faulty"}, {"sg": 1})] == [0.075, 0.025, 0.025]


def test_a_schedule_can_be_walked_in_parts_along_the_same_rates(planted, tmp_path):
    whole = small(planted[:500], epochs=4)
    part = small(planted[:500], epochs=1, total_epochs=4)
    part.save(tmp_path / "m")
    resumed = Word2Vec.load(tmp_path / "m", progress=False)
    with pytest.raises(OptionError, match="3 of 4 left"):
        resumed.train(planted[:500], epochs=4)
    resumed.train(planted[:500], epochs=2)
    resumed.train(planted[:500])  # to the end
    np.testing.assert_array_equal(resumed.wv.vectors, whole.wv.vectors)
    np.testing.assert_array_equal(resumed.syn1neg, whole.syn1neg)
    assert [e.alpha for e in resumed.history] == [e.alpha for e in whole.history]


def test_a_finished_schedule_starts_anew_with_new_draws(planted):
    model = small(planted[:500], epochs=2)
    before = model.wv.vectors.copy()
    added = model.train(planted[:500], epochs=1, start_alpha=0.05, end_alpha=0.01)
    assert [epoch.epoch for epoch in model.history] == [1, 2, 3]
    assert added[0].alpha == pytest.approx(0.01)
    assert not np.array_equal(before, model.wv.vectors)


def test_similarities_are_fresh_after_more_training(planted):
    model = small(planted[:500], epochs=1)
    model.wv.most_similar("capital1")
    model.train(planted[:500], epochs=5)
    copy = WordVectors(model.wv.index_to_key, model.wv.vectors.copy())
    assert model.wv.most_similar("capital1") == copy.most_similar("capital1")


@pytest.mark.parametrize("how, words", [("old", "a b c"), ("new", "b c d"), ("union", "a b c d")])
def test_continued_training_keeps_rows_in_both_matrices_under_each_merge(how, words, tmp_path):
    first = [["a", "b", "c"]] * 30
    model = small(first, epochs=3)
    old = {word: (model.wv[word].copy(), model.syn1neg[model.wv.get_index(word)].copy()) for word in "abc"}
    model.save(tmp_path / "m")
    model = Word2Vec.load(tmp_path / "m", progress=False)
    model.build_vocab([["b", "c", "d"]] * 50, merge_vocab=how)
    assert sorted(model.wv.index_to_key) == words.split()
    for word in set(words.split()) & set("abc"):
        np.testing.assert_array_equal(model.wv[word], old[word][0])
        np.testing.assert_array_equal(model.syn1neg[model.wv.get_index(word)], old[word][1])
    if "d" in words:
        assert np.abs(model.wv["d"]).max() > 0
        assert not model.syn1neg[model.wv.get_index("d")].any()
    model.train([["b", "c", "d"]] * 50, epochs=2)
    assert not np.array_equal(model.wv["b"], old["b"][0])


def test_training_starts_from_any_vectors_file(planted, tmp_path):
    taught = small(planted)
    taught.wv.save(tmp_path / "v.bin")
    model = Word2Vec.from_vectors(tmp_path / "v.bin", min_count=1, workers=1, epochs=1, sample=0, alpha=0.01)
    model.train(planted[:200], merge_vocab="union")
    assert planted_accuracy(model.wv) > 0.7  # two hundred sentences alone teach nothing
    assert planted_accuracy(small(planted[:200], epochs=1, alpha=0.01).wv) < 0.1


def test_vectors_without_counts_train_on_the_counts_of_the_corpus(planted, tmp_path):
    small(planted[:500], epochs=1).wv.save(tmp_path / "v.txt")
    model = Word2Vec.from_vectors(tmp_path / "v.txt", workers=1, epochs=1, unk="<unk>")
    before = {word: model.wv[word].copy() for word in model.wv.index_to_key}
    model.train(planted[:500])
    assert model.history[0].trained_tokens > 1000
    assert model.wv.get_vecattr("capital-word1", "count") > 100
    assert all(not np.array_equal(model.wv[word], vector) for word, vector in before.items())


def test_unknown_words_train_the_unk_row(planted):
    model = small(planted[:500], min_count=60, unk="<unk>", epochs=2)
    assert model.wv.get_vecattr("<unk>", "count") > 1000
    assert np.linalg.norm(model.wv["<unk>"]) > 0.5  # vectors start below 0.11


def test_a_given_vocabulary_replaces_the_corpus_own(planted, tmp_path):
    Vocabulary.from_counts({"capital1": 5, "country1": 4, "elsewhere": 3}).save(tmp_path / "v.txt")
    model = small(planted, vocab=tmp_path / "v.txt", epochs=1)
    assert model.wv.index_to_key == ["capital1", "country1", "elsewhere"]


def test_saving_and_loading_keeps_everything(planted, tmp_path):
    model = small(planted[:300], epochs=2, sg=1, lowercase=True, unk="<unk>", window=3)
    model.save(tmp_path / "m")
    loaded = Word2Vec.load(tmp_path / "m")
    assert (loaded.settings, loaded.text, loaded.history) == (model.settings, model.text, model.history)
    assert loaded.vocabulary.words == model.vocabulary.words and loaded.vocabulary.unk == "<unk>"
    np.testing.assert_array_equal(loaded.vocabulary.counts, model.vocabulary.counts)
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)
    np.testing.assert_array_equal(loaded.syn1neg, model.syn1neg)


def test_values_that_are_not_finite_stop_training_with_advice(planted):
    with pytest.raises(TrainingError, match=r"not|finite.*lower alpha"):
        small(planted[:500], alpha=1e30, cbow_mean=0)


def test_shuffling_changes_the_order_and_still_learns(planted):
    assert planted_accuracy(small(planted, shuffle=True).wv) > 0.7


def test_shared_and_fresh_negatives_cost_the_same_loss(planted):
    """The fast kernels minimise the loss of the exact ones: their per-token losses are on one scale."""
    for options in ({}, {"sg": 1}):
        exact, fast = (small(planted, exact=e, epochs=6, **options).history[-1].loss for e in (True, False))
        assert fast == pytest.approx(exact, rel=0.05)


BAD_OPTIONS = [
    ({"vector_size": 0}, "vector_size is 0"),
    ({"epochs": 0}, "epochs is 0"),
    ({"window": 0}, "window is 0"),
    ({"negative": 0}, "negative is 0"),
    ({"alpha": float("nan")}, "alpha is nan"),
    ({"alpha": -1.0}, "alpha is -1"),
    ({"sample": -1.0}, "sample is -1"),
    ({"update": "wrong"}, "update is 'wrong'"),
    ({"hs": 1}, "hierarchical softmax"),
    ({"workers": -2}, "workers is -2"),
    ({"seed": -1}, "seed is -1"),
    ({"max_final_vocab": 0}, "max_final_vocab is 0"),
]


@pytest.mark.parametrize("options, message", BAD_OPTIONS, ids=lambda value: str(value)[:30])
def test_impossible_options_are_refused_in_one_sentence(options, message):
    with pytest.raises(OptionError, match=message) as caught:
        small([["a", "b"]], **options)
    assert "\n" not in str(caught.value)


def test_windows_of_any_size_train(planted):
    assert small(planted[:100], window=10**9, epochs=1).history


def test_tiny_corpora_train():
    assert len(small([["a"], ["a", "b"]], epochs=1).wv) == 2
    assert len(small([["only", "only"]], epochs=1).wv) == 1


def test_mistakes_are_told_in_one_sentence(tmp_path):
    with pytest.raises(CorpusError, match="is a string"):
        small(["not tokens"])
    with pytest.raises(CorpusError, match="occurs 1 times and min_count is 5"):
        small([["a", "b"]], min_count=5)
    with pytest.raises(OptionError, match="nothing to read"):
        small([["a", "b"]]).train()
    with pytest.raises(OptionError, match="no vocabulary yet"):
        _ = Word2Vec().wv
    with pytest.raises(OptionError, match="merge_vocab is 'both'"):
        small([["a", "b"]]).train([["a", "b"]], merge_vocab="both")
    with pytest.raises(FormatError, match="no model directory"):
        Word2Vec.load(tmp_path / "nowhere")
    assert issubclass(CorpusError, ValueError) and issubclass(CorpusError, MumonError)
