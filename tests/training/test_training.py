"""Training: everything learns, repeats itself, goes on, and stops when it should."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from mumon import Vocabulary, Word2Vec, WordVectors
from mumon.errors import CorpusError, FormatError, MumonError, OptionError, TrainingError
from mumon.training import engine
from mumon.training.backend import ThreadBackend
from mumon.training.thread_runner import ThreadRunner
from mumon.utils.progress import LineProgress
from tests.conftest import planted_accuracy
from tests.samples import small

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
} | {f"cbow-positions-{name}": {"positions": 3, "exact": name == "exact"} for name in ("exact", "fast")}


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_every_combination_learns_the_planted_analogies(planted, combination):
    model = small(planted, **COMBINATIONS[combination])
    untrained = small(None, **COMBINATIONS[combination])
    untrained.build_vocab(planted)
    assert planted_accuracy(untrained.wv) < 0.1
    assert planted_accuracy(model.wv) > 0.7
    losses = [epoch.loss for epoch in model.history]
    assert losses[-1] < 0.95 * losses[0]
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


def test_a_schedule_can_be_walked_in_parts_along_the_same_rates(planted, tmp_path):
    options = {"target_weight": 0}  # other weights lose a last bit of the source rows between two trainings
    whole = small(planted[:500], epochs=4, **options)
    part = small(planted[:500], epochs=1, total_epochs=4, **options)
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
    sentences = [["capital1", "and", "country1"]] * 10
    model = small(sentences, vocab=tmp_path / "v.txt", epochs=1)
    assert model.wv.index_to_key == ["capital1", "country1", "elsewhere"]
    assert model.history[0].trained_tokens == 20
    model = small(sentences, vocab=tmp_path / "v.txt", epochs=1, unk="<unk>")
    assert model.wv.index_to_key == ["<unk>", "capital1", "country1", "elsewhere"]
    assert model.wv.get_vecattr("<unk>", "count") == 10


def test_saving_and_loading_keeps_everything(planted, tmp_path):
    model = small(planted[:300], epochs=2, sg=1, lowercase=True, unk="<unk>", window=3)
    model.save(tmp_path / "m")
    loaded = Word2Vec.load(tmp_path / "m")
    assert (loaded.settings, loaded.text, loaded.history) == (model.settings, model.text, model.history)
    assert (loaded.alpha, loaded.epochs, loaded.min_count) == (model.alpha, model.epochs, model.min_count)
    assert loaded.vocabulary.words == model.vocabulary.words and loaded.vocabulary.unk == "<unk>"
    np.testing.assert_array_equal(loaded.vocabulary.counts, model.vocabulary.counts)
    np.testing.assert_array_equal(loaded.wv.vectors, model.wv.vectors)
    np.testing.assert_array_equal(loaded.syn1neg, model.syn1neg)


def test_a_text_that_holds_nothing_to_train_is_an_error_and_too_much_subsampling_is_not(tmp_path):
    with pytest.raises(CorpusError, match="none of the 30 tokens could be trained: no sentence has two words"):
        small([["a"], ["b"], ["c"]] * 10)
    model = small([["a", "b"]], epochs=1, sample=1e-9)
    assert model.history[0].trained_tokens == 0 and np.isnan(model.history[0].loss)
    model.save(tmp_path / "m")
    assert np.isnan(Word2Vec.load(tmp_path / "m").history[0].loss)


def test_values_that_are_not_finite_stop_training_with_advice(planted):
    with pytest.raises(TrainingError, match=r"stopped being finite in epoch 1 .*; start from a lower alpha"):
        small(planted[:500], alpha=1e30, cbow_mean=0)


def test_shuffling_changes_the_order_and_still_learns(planted):
    assert planted_accuracy(small(planted, shuffle=True).wv) > 0.7


def test_shared_and_fresh_negatives_cost_the_same_loss(planted):
    """The fast kernels minimise the loss of the exact ones: their per-token losses are on one scale."""
    for options in ({"window": 5, "alpha": 0.2}, {"sg": 1}):
        exact, fast = (small(planted, exact=e, epochs=6, **options).history[-1].loss for e in (True, False))
        assert fast == pytest.approx(exact, rel=0.05)


# One change of each setting that must reach the kernels: the result has to differ from that of the defaults.
CHANGES = {
    "objective": {"sg": 1},
    "update": {"update": "faulty"},
    "cbow_mean": {"cbow_mean": 0},
    "exact": {"exact": True},
    "window": {"window": 2},
    "shrink_windows": {"shrink_windows": False},
    "negative": {"negative": 6},
    "shared_negatives": {"shared_negatives": 31},
    "batch": {"batch": 31},
    "ns_exponent": {"ns_exponent": 0.5},
    "rate_exponent": {"rate_exponent": 0.2},
    "sample": {"sample": 0.01},
    "shuffle": {"shuffle": True},
    "seed": {"seed": 2},
    "alpha": {"alpha": 0.07},
    "min_alpha": {"min_alpha": 0.01},
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_setting_changes_what_is_trained(planted, change):
    common = {"epochs": 1, "alpha": 0.075, "rate_exponent": 0.25}  # named, since their defaults depend on the others
    base, changed = small(planted[:300], **common), small(planted[:300], **{**common, **CHANGES[change]})
    assert not np.allclose(base.wv.vectors, changed.wv.vectors, atol=1e-7)


def kernel_calls(monkeypatch, sentences, **options):
    """What the trainer hands to its kernel, block by block, in place of training."""
    calls = []

    def spy(source, target, ids, left, right, alias, rates, alpha, seed):
        calls.append({"ids": ids.copy(), "alias": alias, "alpha": float(alpha), "seed": int(seed)})
        return 1.0, 1

    monkeypatch.setattr(engine, "load_kernel", lambda settings: ("spy", spy))
    monkeypatch.setattr(ThreadBackend, "load_kernels", lambda backend, state: None)  # its block has no tokens
    small(sentences, **options)
    return calls


def test_every_block_has_its_own_draws_and_a_falling_rate(planted, monkeypatch):
    calls = kernel_calls(monkeypatch, planted, epochs=2, alpha=0.2, min_alpha=0.1)
    assert len(calls) == 2 * 42  # 42,000 tokens in blocks of 1,024
    assert len({call["seed"] for call in calls}) == len(calls)
    rates = [call["alpha"] for call in calls]
    assert rates[0] == pytest.approx(0.2) and rates[42] == pytest.approx(0.15)
    assert (np.diff(rates) < 0).all() and rates[-1] > 0.1
    assert sum(len(call["ids"]) for call in calls) == 2 * 42_000


def test_shuffling_also_visits_the_blocks_in_another_order_every_epoch(planted, monkeypatch):
    calls = kernel_calls(monkeypatch, planted, epochs=2, shuffle=True)
    first, second = calls[:42], calls[42:]
    sizes = [[len(call["ids"]) for call in epoch] for epoch in (first, second)]
    assert sorted(sizes[0]) == sorted(sizes[1])
    words = [{tuple(np.sort(call["ids"])) for call in epoch} for epoch in (first, second)]
    assert words[0] == words[1]  # the same blocks
    assert [tuple(np.sort(c["ids"])) for c in first] != [tuple(np.sort(c["ids"])) for c in second]


def test_an_interrupted_run_leaves_a_model_that_answers_correctly(planted, monkeypatch):
    model = small(planted[:300], epochs=2)
    model.wv.most_similar("capital1")
    inner = ThreadRunner.run_epoch

    def interrupted(*arguments):
        inner(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadRunner, "run_epoch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.train(planted[:300], epochs=9)
    np.testing.assert_allclose(model.wv.norms, np.linalg.norm(model.wv.vectors, axis=1), rtol=1e-5)


def test_a_schedule_of_its_own_is_gone_on_with(planted):
    model = small(planted[:100], epochs=1)
    model.train(planted[:100], epochs=1, total_epochs=4, start_alpha=0.2, end_alpha=0.0)
    model.train(planted[:100], epochs=1)
    assert [epoch.alpha for epoch in model.history[1:]] == pytest.approx([0.15, 0.1])


def test_the_first_train_after_build_vocab_does_the_epochs_of_the_model(planted):
    model = small(None, epochs=1, total_epochs=3)
    model.build_vocab(planted[:50])
    assert len(model.train(planted[:50])) == 1
    assert len(model.train(planted[:50])) == 2


def test_gensims_two_step_recipe_runs_unchanged(planted):
    model = small(None, epochs=2)
    model.build_vocab(planted[:50])
    model.train(planted[:50], total_examples=model.corpus_count, epochs=model.epochs)
    assert (model.corpus_count, model.corpus_total_words, len(model.history)) == (50, 350, 2)
    model.build_vocab([["a", "new", "word"]], update=True)
    assert "new" in model.wv and "topic1.1" in model.wv
    assert repr(model) == f"Word2Vec<vocab={len(model.wv)}, vector_size=24, alpha={model.alpha}>"


def test_running_text_without_full_stops_is_remarked_on(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("no full stop in these lines\n" * 500)
    small(str(tmp_path / "a.txt"), tokenize=True, epochs=1, progress=LineProgress(sys.stdout))
    assert "sentences have 3,000 words on average" in capsys.readouterr().out


def test_a_list_that_grew_after_build_vocab_is_read_again():
    sentences = [["a", "b"]] * 10
    model = small(None, epochs=1)
    model.build_vocab(sentences)
    sentences += [["b", "a"]] * 10
    assert model.train(sentences)[0].tokens == 40


def test_a_generator_given_to_build_vocab_is_kept_for_train():
    sentences = (["a", "b"] for _ in range(10))
    model = small(None, epochs=1)
    model.build_vocab(sentences)
    assert model.train(sentences)[0].tokens == 20


def test_numpy_numbers_are_as_good_as_pythons(planted, tmp_path):
    model = small(planted[:50], window=np.int64(3), alpha=np.float32(0.05), epochs=np.int32(1), min_count=np.int64(1))
    model.save(tmp_path / "m")
    assert Word2Vec.load(tmp_path / "m").settings.window == 3


def test_a_model_of_an_older_mumon_without_a_newer_setting_loads(planted, tmp_path):
    import json

    small(planted[:50], epochs=1).save(tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    del config["training"]["shuffle"]
    config["training"]["corpus_file"] = "/etc/passwd"  # and what is none of its settings is not obeyed
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    model = Word2Vec.load(tmp_path / "m")
    assert model.settings.shuffle is False and len(model.history) == 1


def test_merging_counts_every_occurrence_of_old_words():
    model = small([["a", "b", "c"]] * 3, epochs=1, min_count=2)
    model.build_vocab([["a", "x"], ["x", "x"]], merge_vocab="union")
    assert {word: model.wv.get_vecattr(word, "count") for word in "abcx"} == {"a": 4, "b": 3, "c": 3, "x": 3}


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
    ({"alpha": "0.1"}, "alpha is '0.1'"),
    ({"sample": None}, "sample is None"),
    ({"min_count": "5"}, "min_count is '5'"),
    ({"epochs": 5, "total_epochs": 3}, "epochs is 5 but the rate schedule has 3 of 3 left"),
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
    with pytest.raises(CorpusError, match="token lists"):
        small("the cat sat on the mat. " * 100)
    with pytest.raises(CorpusError, match="is empty"):
        small("")
    with pytest.raises(OptionError, match="vector_size comes with the vectors"):
        Word2Vec.from_vectors(WordVectors(["a"], np.ones((1, 3))), vector_size=3)
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
