"""WordVectors is the whole of gensim's KeyedVectors: every public name, with its arguments and its results."""

from __future__ import annotations

import copy
import inspect
import logging
import pickle
import re
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon.errors import FormatError, MissingWordError, OptionError
from mumon.vectors import storage
from mumon.vectors.keys import RENAMED_ATTRIBUTES
from mumon.vectors.word_vectors import WordVectors
from tests.samples import refused

gensim = pytest.importorskip("gensim.models")

V, D = 60, 8
WORDS = [f"w{i}" for i in range(V)]
REFUSED = {"index2entity", "index2word", "vectors_norm", "vocab"}  # which raise AttributeError in gensim, too


def matrix(seed=0, rows=V):
    vectors = np.random.default_rng(seed).standard_normal((rows, D)).astype(np.float32)
    vectors[::17] = 0
    return vectors


def both(vectors=None, counts=None):
    """The same vectors, ours and gensim's."""
    vectors = matrix() if vectors is None else vectors
    words = [f"w{i}" for i in range(len(vectors))]
    theirs = gensim.KeyedVectors(vectors.shape[1])
    theirs.add_vectors(words, vectors.copy())
    if counts is not None:
        for word, count in zip(words, counts, strict=True):
            theirs.set_vecattr(word, "count", int(count))
    return WordVectors(words, vectors.copy(), counts), theirs


# ---- the surface


def test_every_public_name_of_gensim_is_there():
    ours, theirs = both()
    names = {name for name in dir(gensim.KeyedVectors) if not name.startswith("_")} | set(vars(theirs))
    assert len(names) > 50
    missing = {name for name in names - REFUSED if not hasattr(ours, name)}
    assert missing == set()
    for name in REFUSED:
        with pytest.raises(AttributeError):
            getattr(theirs, name)
        with pytest.raises(AttributeError):
            getattr(ours, name)


def test_parameters_have_gensims_names_order_and_defaults():
    free = {"save", "similarity_unseen_docs", "word_vec", "init_sims", "words_closer_than", "add_lifecycle_event"}
    for name, theirs in inspect.getmembers(gensim.KeyedVectors, callable):
        if name.startswith("_") and name not in ("__getitem__", "__setitem__", "__contains__"):
            continue
        if name in free | {"load"}:
            continue
        mine = list(inspect.signature(getattr(WordVectors, name)).parameters.values())
        others = list(inspect.signature(theirs).parameters.values())
        assert [p.name for p in mine] == [p.name for p in others], name
        assert [p.default for p in mine] == [p.default for p in others], name
    assert next(iter(inspect.signature(WordVectors.load).parameters)) == "fname"


@pytest.mark.parametrize("name", sorted(RENAMED_ATTRIBUTES))
def test_gensim_3_names_say_the_new_one(name):
    wv = both()[0]
    assert not hasattr(wv, name)
    for use in (lambda: getattr(wv, name), lambda: setattr(wv, name, 1)):
        with pytest.raises(AttributeError, match="gensim 3's") as caught:
            use()
        new = re.match(r"\w+", str(caught.value).partition("; use ")[2])[0]
        assert hasattr(wv, new)


def test_an_unknown_name_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match=r"'WordVectors' object has no attribute 'nonsense'"):
        both()[0].nonsense  # noqa: B018


def test_old_names_work_and_warn():
    ours, theirs = both()
    with pytest.warns(DeprecationWarning, match="get_vector"):
        np.testing.assert_array_equal(ours.word_vec("w3"), theirs.get_vector("w3"))
    with pytest.warns(DeprecationWarning):
        np.testing.assert_allclose(ours.word_vec("w3", use_norm=True), theirs.get_vector("w3", norm=True), atol=1e-6)
    with pytest.warns(DeprecationWarning, match="closer_than"):
        assert ours.words_closer_than("w1", "w2") == theirs.closer_than("w1", "w2")
    with pytest.warns(DeprecationWarning, match="fill_norms"):
        ours.init_sims(replace=True)
    assert set(np.round(ours.norms, 5).tolist()) == {0, 1}


# ---- questions


def test_centrality_is_gensims():
    ours, theirs = both()
    words = ["w1", "w5", "absent", "w7", "w9"]
    for use_norm in (True, False):
        mine, other = ours.rank_by_centrality(words, use_norm), theirs.rank_by_centrality(words, use_norm)
        assert [word for _, word in mine] == [word for _, word in other]
        np.testing.assert_allclose([score for score, _ in mine], [score for score, _ in other], atol=1e-6)
    assert ours.doesnt_match(words) == theirs.doesnt_match(words)


def test_relative_similarity_and_the_most_similar_given_are_gensims():
    vectors = np.random.default_rng(3).standard_normal((V, D)).astype(np.float32)  # gensim has nan for rows of zeros
    ours, theirs = both(vectors)
    for topn in (1, 10):
        mine = ours.relative_cosine_similarity("w1", "w2", topn)
        assert mine == pytest.approx(theirs.relative_cosine_similarity("w1", "w2", topn), rel=1e-4)
    others = ["w5", "w9", "w20", "w33"]
    for word in WORDS[:10]:
        assert ours.most_similar_to_given(word, others) == theirs.most_similar_to_given(word, others)
    refused(lambda: ours.relative_cosine_similarity("w1", "w2", 0), "0 neighbours", error=OptionError)
    refused(lambda: ours.most_similar_to_given("w1", []), "0 words", error=OptionError)


def test_normed_vectors_are_gensims_but_for_rows_of_zeros():
    ours, theirs = both()
    there = ours.norms > 0
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(ours.get_normed_vectors()[there], theirs.get_normed_vectors()[there], atol=1e-6)
    assert not ours.get_normed_vectors()[~there].any()
    kept = ours.vectors
    ours.unit_normalize_all()
    assert ours.vectors is kept  # in place, as in gensim, so all who share the matrix see it
    np.testing.assert_allclose(ours.norms, there, atol=1e-6)


def test_a_foreign_indexer_is_asked_as_gensim_asks_it():
    class Indexer:
        def most_similar(self, vector, topn):
            self.vector = vector
            return [("x", float(topn))]

    mine, other = Indexer(), Indexer()
    ours, theirs = both()
    for wv, indexer in ((ours, mine), (theirs, other)):
        assert wv.most_similar(["w1", "w2"], ["w3"], topn=7, indexer=indexer) == [("x", 7.0)]
    np.testing.assert_allclose(mine.vector, other.vector, atol=1e-6)
    refused(lambda: ours.most_similar("w1", restrict_vocab=5, indexer=mine), "restrict_vocab", error=OptionError)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 24), min_size=1, max_size=40), st.lists(st.integers(0, 24), min_size=1, max_size=40))
def test_word_movers_distance_is_gensims(first, second):
    pytest.importorskip("ot")
    vectors = np.random.default_rng(5).standard_normal((25, D)).astype(np.float32)
    ours, theirs = both(vectors)
    documents = [[f"w{i}" for i in rows] for rows in (first, second)]
    for norm in (True, False):
        distance = ours.wmdistance(*documents, norm=norm)
        expected = theirs.wmdistance(*documents, norm=norm)
        # of equal texts gensim says inf or 0, as the case may be
        assert distance == pytest.approx(0.0 if sorted(first) == sorted(second) else expected, abs=1e-6)
        assert distance == pytest.approx(ours.wmdistance(*reversed(documents), norm=norm), abs=1e-6)


def test_word_movers_distance_ignores_unknown_words_and_refuses_strings():
    ours, theirs = both()
    assert ours.wmdistance(["w1", "absent"], ["w2"]) == pytest.approx(theirs.wmdistance(["w1", "absent"], ["w2"]))
    assert ours.wmdistance(["absent"], ["w2"]) == float("inf") == theirs.wmdistance(["absent"], ["w2"])
    assert ours.wmdistance([], ["w2"]) == float("inf")
    refused(lambda: ours.wmdistance("w1 w2", ["w2"]), "list of words", error=OptionError)


# ---- attributes


def test_attributes_are_gensims():
    ours, theirs = both(counts=np.arange(V, 0, -1))
    for wv in (ours, theirs):
        wv.set_vecattr("w3", "weight", 0.5)
        wv.set_vecattr("w4", "language", "en")
        wv.set_vecattr("w5", "count", 99)
        wv.allocate_vecattrs(["sample_int"], [np.uint32])
    for attr in ("weight", "language", "count", "sample_int"):
        assert ours.expandos[attr].dtype == theirs.expandos[attr].dtype
        for word in ("w3", "w4", "w5", 3):
            assert ours.get_vecattr(word, attr) == theirs.get_vecattr(word, attr)
    assert ours.counts is ours.expandos["count"] and ours.counts[5] == 99
    for wv in (ours, theirs):
        with pytest.raises(TypeError):
            wv.set_vecattr("w3", "count", 1.5)
        with pytest.raises(KeyError):
            wv.get_vecattr("w3", "nothing")
    message = refused(lambda: ours.set_vecattr("w3", "count", 2**70), "does not fit", error=OptionError)
    assert "int64" in message


def test_numbers_that_an_attribute_can_hold_are_taken():
    wv = both()[0]
    wv.set_vecattr("w1", "weight", 0.5)
    wv.set_vecattr("w2", "weight", 3)
    wv.set_vecattr("w1", "tags", ["a", "b"])
    assert wv.get_vecattr("w2", "weight") == 3.0 and wv.get_vecattr("w1", "tags") == ["a", "b"]
    assert wv.get_vecattr("w9", "weight") == 0


# ---- changes


words_and_rows = st.lists(
    st.tuples(st.lists(st.integers(0, 30), min_size=1, max_size=6, unique=True), st.booleans(), st.integers(0, 99)),
    max_size=6,
)


@settings(max_examples=80, deadline=None)
@given(words_and_rows, st.integers(0, 12))
def test_adding_is_gensims_whatever_is_added(batches, reserved):
    """But that gensim leaves reserved rows empty for ever, and knows no attributes of added words."""
    ours, theirs = WordVectors(D, reserved), gensim.KeyedVectors(D)
    for rows, replace, seed in batches:
        keys, vectors = [f"w{i}" for i in rows], np.random.default_rng(seed).standard_normal((len(rows), D))
        for wv in (ours, theirs):
            wv.add_vectors(keys, vectors.astype(np.float32), replace=replace)
    count = len(theirs)
    assert list(ours) == theirs.index_to_key and ours.key_to_index == theirs.key_to_index
    assert ours.next_index == count and len(ours) == max(count, reserved) == len(ours.vectors)
    np.testing.assert_array_equal(ours.vectors[:count], theirs.vectors)
    if count > 1:
        mine, other = (wv.most_similar(theirs.index_to_key[0]) for wv in (ours, theirs))
        np.testing.assert_allclose([score for _, score in mine], [score for _, score in other], atol=1e-5)


def test_single_words_fill_what_was_reserved_and_then_grow():
    ours, theirs = WordVectors(D, count=3), gensim.KeyedVectors(D, count=3)
    vectors = matrix(rows=40)
    for i, vector in enumerate(vectors):
        assert ours.add_vector(f"w{i}", vector) == theirs.add_vector(f"w{i}", vector) == i
    np.testing.assert_array_equal(ours.vectors, theirs.vectors)
    assert ours.index_to_key == theirs.index_to_key
    assert ours.add_vector("w5", vectors[0]) == 5  # a word that is there stays as it is
    np.testing.assert_array_equal(ours["w5"], vectors[5])


def test_rows_without_a_word_are_no_answers_and_are_not_saved(tmp_path):
    wv = WordVectors(2, 5)
    assert len(wv) == 5 and list(wv) == [] and wv.next_index == 0
    wv.add_vectors(["a", "b"], [[1, 0], [-1, 0]])
    assert wv.most_similar("a") == [("b", -1.0)] and wv.closer_than("a", "b") == []
    assert len(wv.most_similar("a", topn=None)) == 2 and wv.next_index == 2
    wv.save(tmp_path / "v.txt")
    assert WordVectors.load(tmp_path / "v.txt").index_to_key == ["a", "b"]


def test_a_word_can_be_assigned_and_norms_and_neighbours_follow():
    ours, theirs = both()
    assert ours.norms[3] > 0
    for wv in (ours, theirs):
        wv["w3"] = np.arange(D, dtype=np.float32)
        wv[["new", "w4"]] = np.ones((2, D), np.float32)
        wv.fill_norms(force=True)  # gensim would go on with the old ones
    assert ours.index_to_key == theirs.index_to_key
    np.testing.assert_array_equal(ours.vectors, theirs.vectors)
    fresh, _ = both()
    fresh["w3"] = np.arange(D)
    np.testing.assert_allclose(fresh.norms[3], np.linalg.norm(np.arange(D)), rtol=1e-6)
    assert fresh.most_similar("w3") == WordVectors(WORDS, fresh.vectors.copy()).most_similar("w3")


def test_counts_and_locks_grow_with_the_words():
    wv = both(counts=np.arange(V, 0, -1))[0]
    wv.set_vecattr("w0", "language", "en")
    wv.vectors_lockf = np.zeros(V, np.float32)
    wv.add_vectors(["x", "y", "w1"], np.ones((3, D)), extras={"count": np.array([7, 8, 9])})
    assert wv.counts.tolist()[-2:] == [7, 8] and wv.get_vecattr("w1", "count") == V - 1
    assert wv.get_vecattr("y", "language") == 0 and wv.vectors_lockf.tolist() == [0.0] * V + [1.0, 1.0]
    wv.add_vectors(["w1"], np.ones((1, D)), extras={"count": [9]}, replace=True)
    assert wv.get_vecattr("w1", "count") == 9
    wv["z"] = np.ones(D)
    assert wv.get_vecattr("z", "count") == 0 and len(wv.counts) == len(wv.vectors) == len(wv) == V + 3


def test_attributes_are_not_copied_for_every_word_that_comes():
    wv = WordVectors(WORDS, matrix(), np.arange(V))
    wv.set_vecattr("w1", "language", "en")
    wv.vectors_lockf = np.zeros(V, np.float32)
    held = (lambda: wv.counts, lambda: wv.expandos["language"], lambda: wv.vectors_lockf)
    moves = [0, 0, 0]
    for number in range(1000):
        before = [values().ctypes.data for values in held]
        wv.add_vector(f"x{number}", np.ones(D))
        moves = [count + (values().ctypes.data != at) for count, values, at in zip(moves, held, before, strict=True)]
        assert [len(values()) for values in held] == [len(wv)] * 3
    assert max(moves) < 50
    assert wv.counts.tolist() == [*range(V), *[0] * 1000]
    assert wv.vectors_lockf.tolist() == [0] * V + [1] * 1000
    assert wv.get_vecattr("w1", "language") == "en" and wv.get_vecattr("x999", "language") == 0


def test_spare_room_of_attributes_is_not_shared():
    wv = WordVectors(WORDS, matrix(), np.arange(V))
    wv.add_vector("x", np.ones(D))
    twins = [WordVectors(list(wv), wv.vectors, wv.counts), copy.deepcopy(wv)]
    twins[0].add_vectors(["y"], [np.ones(D)], {"count": [5]})
    wv.add_vectors(["z"], [np.ones(D)], {"count": [7]})
    twins[1].add_vectors(["y"], [np.ones(D)], {"count": [5]})
    assert [other.get_vecattr("y", "count") for other in twins] == [5, 5] and wv.get_vecattr("z", "count") == 7
    for part in (slice(10), slice(5, 15), slice(0, 20, 2)):
        kept = wv.counts[part].tolist()
        wv.expandos["count"] = wv.counts[part]  # of the same room, and lengthened with zeros all the same
        wv.allocate_vecattrs()
        assert wv.counts.tolist() == kept + [0] * (len(wv) - 10)
        wv.add_vector(f"after {part}", np.ones(D))


def test_nothing_changes_where_adding_is_refused():
    wv = both(counts=np.arange(V, 0, -1))[0]
    for keys, rows, extras, sentence in (
        (["x", "x"], np.ones((2, D)), None, "'x' is twice among the 2"),
        (["x", "y"], np.ones((2, D + 1)), None, f"{D} numbers"),
        (["x"], np.ones((1, D)), {"count": [1, 2]}, "one value each"),
        (["x"], np.ones((1, D)), {"count": [1.5]}, "cannot hold float64"),
        ([7], np.ones((1, D)), None, "all as integers"),
        ([True], np.ones((1, D)), None, "bool"),
        ([("a", "b")], np.ones((1, D)), None, "tuple"),
    ):
        with pytest.raises((OptionError, FormatError), match=sentence):
            wv.add_vectors(keys, rows, extras=extras)
        assert wv.index_to_key == WORDS == list(wv.key_to_index) and len(wv.counts) == V
        np.testing.assert_array_equal(wv.vectors, matrix())


def test_lengths_that_were_being_computed_while_rows_changed_are_forgotten(monkeypatch):
    wv = both()[0]
    compute = storage.compute_norms

    def overtaken(vectors):
        lengths = compute(vectors)
        monkeypatch.setattr(storage, "compute_norms", compute)
        other = threading.Thread(target=wv.__setitem__, args=("w1", np.full(D, 9)))
        other.start()
        other.join()
        return lengths

    monkeypatch.setattr(storage, "compute_norms", overtaken)
    wv.fill_norms()
    np.testing.assert_array_equal(wv.norms, compute(wv.vectors))


def test_neighbours_are_found_while_another_thread_adds_and_sorts_words():
    wv, errors = WordVectors(WORDS, matrix(), np.arange(V)), []
    vector, expected = wv["w5"].copy(), dict(wv.most_similar("w5", topn=3))

    def change():
        for number in range(1500):
            wv.add_vector(f"new{number}", -vector)
            if number % 100 == 0:
                wv.sort_by_descending_frequency()

    def ask(done):
        try:
            while not done.is_set():
                cosines = dict(wv.most_similar("w5", topn=3))
                assert cosines == pytest.approx(expected, abs=1e-5)
                wv.most_similar_cosmul("w5", topn=3), wv.nearest(vector[None], 3), wv.get_normed_vectors()
                assert len(wv.distances("w5")) >= V
        except Exception as error:
            errors.append(error)

    interval, done = sys.getswitchinterval(), threading.Event()
    threads = [threading.Thread(target=ask, args=(done,)) for _ in range(2)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        change()
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert errors == []
    np.testing.assert_array_equal(wv.norms, storage.compute_norms(wv.vectors))


def test_copies_do_not_share_what_comes_later():
    wv = both()[0]
    wv["x"] = np.ones(D)
    for other in (copy.deepcopy(wv), pickle.loads(pickle.dumps(wv)), copy.copy(wv)):
        other.index_to_key, other.key_to_index = list(other.index_to_key), dict(other.key_to_index)
        other["y"], wv["z"] = np.full(D, 2), np.full(D, 3)
        assert other["y"].tolist() == [2] * D and wv["z"].tolist() == [3] * D


def test_resizing_is_gensims():
    ours, theirs = both()
    for wv in (ours, theirs):
        wv.index_to_key.extend(["x", "y"])
        wv.key_to_index.update(x=V, y=V + 1)
        wv.resize_vectors(seed=3)
    np.testing.assert_array_equal(ours.vectors, theirs.vectors)


def test_sorting_is_gensims_and_takes_everything_along():
    counts = np.random.default_rng(0).integers(0, 9, V)
    ours, theirs = both(counts=counts)
    ours.vectors_lockf = np.arange(V, dtype=np.float32)
    before = {word: (ours[word].tolist(), ours.vectors_lockf[ours.get_index(word)]) for word in ours}
    assert ours.norms is not None
    ours.sort_by_descending_frequency()
    theirs.sort_by_descending_frequency()
    assert ours.index_to_key == theirs.index_to_key and ours.key_to_index == theirs.key_to_index
    np.testing.assert_array_equal(ours.vectors, theirs.vectors)
    np.testing.assert_array_equal(ours.counts, theirs.expandos["count"])
    assert {word: (ours[word].tolist(), ours.vectors_lockf[ours.get_index(word)]) for word in ours} == before
    np.testing.assert_allclose(ours.norms, np.linalg.norm(ours.vectors, axis=1), rtol=1e-6)
    with pytest.raises(OptionError, match="without counts"):
        both()[0].sort_by_descending_frequency()


def test_vectors_for_some_keys_are_gensims():
    ours, theirs = both(counts=np.arange(V, 0, -1))
    keys = ["w5", "absent", "w2", "w5", "w30"]
    mine, other = ours.vectors_for_all(keys, copy_vecattrs=True), theirs.vectors_for_all(keys, copy_vecattrs=True)
    assert mine.index_to_key == other.index_to_key and isinstance(mine, WordVectors)
    np.testing.assert_array_equal(mine.vectors, other.vectors)
    assert [mine.get_vecattr(word, "count") for word in mine] == [other.get_vecattr(word, "count") for word in mine]
    assert ours.vectors_for_all(keys).counts is None  # gensim makes some up
    numbers = ours.vectors_for_all([3, 4, 999])
    assert numbers.index_to_key == theirs.vectors_for_all([3, 4, 999]).index_to_key == [3, 4]
    assert len(ours.vectors_for_all([3, "w1"], allow_inference=False)) == 1


def test_matrix_and_words_may_be_assigned_as_in_gensim():
    wv = WordVectors(3)
    assert wv.vector_size == 3 and len(wv) == 0
    wv.index_to_key, wv.key_to_index = ["a", "b"], {"a": 0, "b": 1}
    wv.vectors = np.array([[1, 0, 0], [3, 0, 4]], np.float64)
    assert wv.vectors.dtype == np.float32 and wv.norms.tolist() == [1, 5]
    wv.vectors = np.array([[2, 0, 0], [3, 0, 4]], np.float32)
    assert wv.norms.tolist() == [2, 5]
    wv.vectors[0] = 0
    wv.norms = None
    assert wv.norms.tolist() == [0, 5]
    refused(lambda: setattr(wv, "vectors", np.ones(3)), "matrix")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: WordVectors(0), "vector_size is 0"),
        (lambda: WordVectors(3, -1), "count -1"),
        (lambda: WordVectors(3, dtype=np.int8), "int8"),
        (lambda: WordVectors(vector_size=3, mapfile_path="x"), "mapfile_path"),
    ],
)
def test_impossible_sizes_are_refused(make, sentence):
    refused(make, sentence, error=OptionError)


def test_any_float_becomes_float32():
    for dtype in (np.float16, np.float64):
        wv = WordVectors(2, 0, dtype)
        wv.add_vectors(["a"], np.array([[0.1, 0.2]], dtype))
        assert wv.vectors.dtype == np.float32
        np.testing.assert_array_equal(wv["a"], np.array([0.1, 0.2], dtype).astype(np.float32))


def test_a_read_only_matrix_is_copied_before_it_is_changed():
    frozen = np.ones((2, 3), np.float32)
    frozen.setflags(write=False)
    wv = WordVectors(["a", "b"], frozen)
    wv["a"] = np.zeros(3)
    assert wv["a"].tolist() == [0, 0, 0] and frozen.all()


# ---- integer keys


def test_integers_are_keys_where_there_are_such_and_rows_elsewhere():
    vectors = np.array([[2, 1], [2, 2], [-1, 1]], np.float32)
    ours, theirs = WordVectors([10, 7, 3], vectors), gensim.KeyedVectors(2)
    theirs.add_vectors([10, 7, 3], vectors)
    assert ours.integer_keys and not both()[0].integer_keys
    for key in (7, np.int64(7), 10, 0, 1, np.int32(2), 3):
        np.testing.assert_array_equal(ours[key], theirs[key])
        assert ours.get_index(key) == theirs.get_index(key) and (key in ours) == (key in theirs)
        mine, other = ours.most_similar(key), theirs.most_similar(key)
        assert [k for k, _ in mine] == [k for k, _ in other]
        assert all(type(k) is int for k, _ in mine)
    assert 99 not in ours and "7" not in ours
    assert ours.doesnt_match([10, 7, 3]) == theirs.doesnt_match([10, 7, 3]) == 3
    assert ours.closer_than(10, 3) == [7] and ours.wmdistance([10], [10, 7]) > 0
    with pytest.raises(MissingWordError, match="'7' is neither one of the 3 keys nor a row; the keys are integers"):
        ours["7"]


def test_numpy_integers_become_keys_like_any():
    wv = WordVectors(np.array([5, 9]), np.eye(2))
    wv.add_vector(np.int32(11), [1, 1])
    assert wv.index_to_key == [5, 9, 11] and all(type(key) is int for key in wv.index_to_key)


@pytest.mark.parametrize("keys", [["a", 1], [1, "a"], [True, False], [1.5, 2.5], [None, "a"]])
def test_keys_of_two_kinds_are_refused(keys):
    refused(lambda: WordVectors(keys, np.eye(2)), "give all of them as strings")


def test_integer_keys_are_saved_as_decimals(tmp_path):
    wv = WordVectors([10, 7, -3], matrix(rows=3) + 1)
    for name in ("v.txt", "v.bin", "v.glove"):
        wv.save(tmp_path / name)
        assert WordVectors.load(tmp_path / name).index_to_key == ["10", "7", "-3"]


# ---- misses


def test_many_misses_are_cheap_and_their_message_waits():
    wv = WordVectors(["king", "queen"], np.eye(2))
    with pytest.raises(KeyError) as caught:
        wv["kingg"]
    wv.key_to_index["kinggg"] = 0  # only now does it look for what was meant
    assert "did you mean 'king'?" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, MissingWordError) and str(again) == str(caught.value)


# ---- files


@pytest.mark.parametrize("binary", [False, True])
def test_what_either_writes_the_other_reads(tmp_path, binary):
    counts = np.random.default_rng(1).integers(1, 9, V)
    ours, theirs = both(matrix() + 1, counts)
    options = {"fvocab": tmp_path / "vocab", "binary": binary, "prefix": "en/"}
    for name, wv in (("ours", ours), ("theirs", theirs)):
        wv.save_word2vec_format(str(tmp_path / name), **options)
        lines = (tmp_path / "vocab").read_text().splitlines()
        assert lines[0].startswith("en/w") and lines[0].endswith(" 8") and len(lines) == V
    for name in ("ours", "theirs"):
        mine = WordVectors.load_word2vec_format(tmp_path / name, tmp_path / "vocab", binary, limit=20)
        other = gensim.KeyedVectors.load_word2vec_format(
            str(tmp_path / name), str(tmp_path / "vocab"), binary, limit=20
        )
        assert mine.index_to_key == other.index_to_key and len(mine) == 20
        np.testing.assert_array_equal(mine.vectors, other.vectors)
        np.testing.assert_array_equal(mine.counts, other.expandos["count"])
        assert (np.diff(mine.counts) <= 0).all()


@pytest.mark.parametrize("binary", [False, True])
def test_rows_are_appended_and_headers_say_what_one_wants(tmp_path, binary):
    ours, theirs = both(matrix() + 1)
    for name, wv in (("ours", ours), ("theirs", theirs)):
        path = str(tmp_path / name)
        wv.save_word2vec_format(path, binary=binary, total_vec=2 * V)
        wv.save_word2vec_format(path, binary=binary, write_header=False, prefix="x", append=True)
        back = WordVectors.load_word2vec_format(path, binary=binary)
        assert back.index_to_key == WORDS + ["x" + word for word in WORDS]
        np.testing.assert_array_equal(back.vectors, np.concatenate([ours.vectors] * 2))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["ours", "theirs"]


def test_text_without_a_header_is_read_and_written(tmp_path):
    ours, theirs = both(matrix() + 1)
    ours.save_word2vec_format(tmp_path / "ours", write_header=False)
    theirs.save_word2vec_format(str(tmp_path / "theirs"), write_header=False)
    for name in ("ours", "theirs"):
        mine = WordVectors.load_word2vec_format(tmp_path / name, no_header=True)
        other = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / name), no_header=True)
        assert mine.index_to_key == other.index_to_key
        np.testing.assert_array_equal(mine.vectors, other.vectors)
    refused(
        lambda: WordVectors.load_word2vec_format(tmp_path / "ours", binary=True, no_header=True),
        "no_header",
        error=OptionError,
    )


@pytest.mark.parametrize("binary", [False, True])
def test_other_encodings_are_read(tmp_path, binary):
    words, vectors = ["käse", "größe", "tea"], matrix(rows=3) + 1
    rows = [
        word.encode("latin-1") + b" " + (row.tobytes() if binary else " ".join(map(str, row)).encode() + b"\n")
        for word, row in zip(words, vectors, strict=True)
    ]
    (tmp_path / "v").write_bytes(f"3 {D}\n".encode() + b"".join(rows))
    read = WordVectors.load_word2vec_format
    wv = read(tmp_path / "v", binary=binary, encoding="latin-1")
    assert wv.index_to_key == words
    np.testing.assert_array_equal(wv.vectors, vectors)
    assert read(tmp_path / "v", binary=binary, unicode_errors="ignore").index_to_key == ["kse", "gre", "tea"]
    assert read(tmp_path / "v", binary=binary).index_to_key[2] == "tea"  # replaced, where gensim stops
    refused(lambda: read(tmp_path / "v", binary=binary, encoding="ascii"), "no ascii", "unicode_errors")
    refused(lambda: read(tmp_path / "v", encoding="klingon"), "klingon", error=OptionError)
    (tmp_path / "cut").write_bytes((tmp_path / "v").read_bytes()[:-9])
    message = refused(lambda: read(tmp_path / "cut", binary=binary, encoding="latin-1"), "cut")
    assert "mumon-" not in message


def test_words_that_are_not_utf8_are_warned_of(tmp_path, caplog):
    (tmp_path / "v").write_bytes("1 1\nkäse 0.5\n".encode("latin-1"))
    with caplog.at_level(logging.WARNING):
        assert WordVectors.load_word2vec_format(tmp_path / "v").index_to_key == ["k\ufffdse"]
    assert "1 words hold bytes that are not UTF-8" in caplog.text


def test_numbers_are_rounded_to_the_type_that_was_asked_for(tmp_path):
    ours, _ = both()
    ours.save_word2vec_format(tmp_path / "v")
    half = WordVectors.load_word2vec_format(tmp_path / "v", datatype=np.float16)
    assert half.vectors.dtype == np.float32
    np.testing.assert_array_equal(half.vectors, matrix().astype(np.float16).astype(np.float32))
    refused(lambda: WordVectors.load_word2vec_format(tmp_path / "v", datatype=np.int8), "int8", error=OptionError)


def test_a_vocabulary_file_needs_counts(tmp_path, caplog):
    ours, theirs = both()
    for wv in (ours, theirs):
        with pytest.raises(ValueError, match="'count'"):
            wv.save_word2vec_format(str(tmp_path / "v"), fvocab=str(tmp_path / "vocab"))
    assert list(tmp_path.iterdir()) == []
    ours.save_word2vec_format(tmp_path / "v")
    (tmp_path / "vocab").write_text("w1 5\n")
    with caplog.at_level(logging.WARNING):
        wv = WordVectors.load_word2vec_format(tmp_path / "v", tmp_path / "vocab")
    assert wv.get_vecattr("w1", "count") == 5 and wv.counts.sum() == 5
    assert f"no count of {V - 1} words" in caplog.text


@pytest.mark.parametrize("binary", [False, True])
def test_vectors_of_words_in_common_are_taken_over_and_locked(tmp_path, binary):
    ours, theirs = both()
    other = WordVectors(["w5", "new", "w2"], np.arange(3 * D, dtype=np.float32).reshape(3, D))
    other.save_word2vec_format(tmp_path / "v", binary=binary)
    assert ours.vectors_lockf.tolist() == [1.0]
    kept = ours.vectors
    ours.intersect_word2vec_format(tmp_path / "v", lockf=0.25, binary=binary)
    theirs.vectors_lockf = np.ones(V, np.float32)  # without which gensim fails
    if not binary:  # gensim's binary branch calls a function that NumPy no longer has
        theirs.intersect_word2vec_format(str(tmp_path / "v"), lockf=0.25)
        np.testing.assert_array_equal(ours.vectors, theirs.vectors)
        np.testing.assert_array_equal(ours.vectors_lockf, theirs.vectors_lockf)
    assert ours.vectors is kept and ours["w2"].tolist() == other["w2"].tolist() and len(ours) == V
    assert np.flatnonzero(ours.vectors_lockf != 1).tolist() == [2, 5]
    np.testing.assert_allclose(ours.norms, np.linalg.norm(ours.vectors, axis=1), rtol=1e-6)
    with pytest.raises(FormatError, match=f"{D} numbers and these have 3"):
        WordVectors(["w5"], np.ones((1, 3))).intersect_word2vec_format(tmp_path / "v", binary=binary)


def test_integers_in_a_file_are_integer_keys_in_common(tmp_path):
    WordVectors(["7", "x"], np.ones((2, 2))).save_word2vec_format(tmp_path / "v")
    wv = WordVectors([10, 7], np.zeros((2, 2)))
    wv.intersect_word2vec_format(tmp_path / "v")
    assert wv[7].tolist() == [1, 1] and wv[10].tolist() == [0, 0]


@pytest.mark.parametrize("name", ["vectors.kv", "word2vec.wordvectors", "word2vec.model"])
def test_gensims_file_names_save_and_load(tmp_path, name):
    ours = both(counts=np.arange(V, 0, -1))[0]
    ours.save(str(tmp_path / name))
    back = WordVectors.load(str(tmp_path / name), mmap="r")
    assert back.index_to_key == WORDS and back.counts.tolist() == ours.counts.tolist()


def test_saving_says_what_is_left_out(tmp_path, caplog):
    wv = both(counts=np.arange(V))[0]
    wv.vectors_lockf = np.ones(V, np.float32)
    with caplog.at_level(logging.WARNING):
        wv.save(tmp_path / "whole.kv")
    assert caplog.messages == []
    wv.set_vecattr("w1", "language", "en")
    wv.set_vecattr("w1", "rank", 3)
    wv.vectors_lockf[2] = 0
    with caplog.at_level(logging.WARNING):
        wv.save(tmp_path / "parts.kv")
    (message,) = caplog.messages
    assert "parts.kv: left out the attribute 'language', the attribute 'rank', vectors_lockf: files" in message
    np.testing.assert_array_equal(WordVectors.load(tmp_path / "parts.kv").counts, wv.counts)


def test_what_makes_no_sense_is_refused_in_one_sentence(tmp_path):
    ours, _ = both()
    refused(lambda: ours.save(tmp_path / "v", pickle_protocol=4), "never a pickle", error=OptionError)
    with (tmp_path / "open").open("wb") as file:
        refused(lambda: ours.save(file), "name of a file", error=OptionError)
    with pytest.raises(NotImplementedError):
        ours.similarity_unseen_docs()
    assert ours.mapfile_path is None


# ---- evaluation


def test_scores_are_logged(caplog):
    with caplog.at_level(logging.INFO):
        WordVectors.log_accuracy({"section": "capitals", "correct": [1, 2], "incorrect": [3]})
        WordVectors.log_evaluate_word_pairs((0.5, 0), (0.25, 0), 12.5, "pairs.tsv")
        both()[0].add_lifecycle_event("made", msg="by a test")
    assert "capitals: 66.7% (2/3)" in caplog.text and "Pearson 0.5000, Spearman 0.2500, 12.5%" in caplog.text
    assert "by a test" in caplog.text
