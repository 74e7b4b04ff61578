"""WordVectors answers as gensim's KeyedVectors does, and as brute force does where gensim has no answer."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import mumon.vectors.neighbours
from mumon.errors import FormatError, MissingWordError, OptionError
from mumon.vectors import lookup
from mumon.vectors.word_vectors import WordVectors
from tests.samples import refused

V, D = 500, 20
WORDS = [f"w{i}" for i in range(V)]


@pytest.fixture(scope="module")
def matrix():
    return np.random.default_rng(0).standard_normal((V, D)).astype(np.float32)


@pytest.fixture(scope="module")
def ours(matrix):
    return WordVectors(WORDS, matrix, np.arange(V, 0, -1))


@pytest.fixture(scope="module")
def theirs(matrix):
    keyed = pytest.importorskip("gensim.models").KeyedVectors(D)
    keyed.add_vectors(WORDS, matrix.copy())
    return keyed


def assert_same_ranking(mine, other):
    assert [word for word, _ in mine] == [word for word, _ in other]
    np.testing.assert_allclose([s for _, s in mine], [s for _, s in other], atol=2e-6)


# ---- as gensim


VECTOR = np.linspace(-1, 1, D).astype(np.float32)


@pytest.mark.parametrize(
    "arguments",
    [
        {"positive": "w3"},
        {"positive": ["w3"], "topn": 1},
        {"positive": ["w3", "w5"], "negative": ["w7"]},
        {"positive": "w3", "negative": "w4", "topn": 25},
        {"negative": ["w9"]},
        {"positive": [("w3", 2.5), "w4"], "negative": [("w5", -0.5)]},
        {"positive": [VECTOR, "w1"]},
        {"positive": VECTOR},
        {"positive": [(VECTOR, 0.3), ("w2", 0.7)]},
        {"positive": [3, "w4"], "negative": [np.int64(5)]},
        {"positive": np.stack([VECTOR, VECTOR**2])},
        {"positive": "w3", "restrict_vocab": 50},
        {"positive": "w30", "clip_start": 100, "clip_end": 200},
        {"positive": "w150", "clip_start": 100, "clip_end": 200, "topn": 99},
        {"positive": "w3", "topn": V + 10},
        {"positive": "w3", "topn": 0},
    ],
)
def test_most_similar_is_gensims(ours, theirs, arguments):
    assert_same_ranking(ours.most_similar(**arguments), theirs.most_similar(**arguments))


@pytest.mark.parametrize("clip", [{}, {"restrict_vocab": 40}, {"clip_start": 3, "clip_end": 17}])
def test_topn_none_gives_all_similarities(ours, theirs, clip):
    mine = ours.most_similar("w3", topn=None, **clip)
    np.testing.assert_allclose(mine, theirs.most_similar("w3", topn=None, **clip), atol=2e-6)


@pytest.mark.parametrize(
    "arguments",
    [{"positive": "w3"}, {"positive": ["w3", "w5"], "negative": ["w7"]}, {"positive": [VECTOR], "negative": "w1"}],
)
def test_cosmul_is_gensims(ours, theirs, arguments):
    mine, other = ours.most_similar_cosmul(**arguments), theirs.most_similar_cosmul(**arguments)
    assert [word for word, _ in mine] == [word for word, _ in other]
    np.testing.assert_allclose([s for _, s in mine], [s for _, s in other], rtol=1e-4)
    np.testing.assert_allclose(
        ours.most_similar_cosmul(**arguments, topn=None), theirs.most_similar_cosmul(**arguments, topn=None), rtol=1e-3
    )


def test_pairs_and_sets_are_gensims(ours, theirs):
    assert ours.similarity("w1", "w2") == pytest.approx(float(theirs.similarity("w1", "w2")), abs=1e-6)
    assert ours.distance("w1", "w2") == pytest.approx(float(theirs.distance("w1", "w2")), abs=1e-6)
    sets = ["w1", "w2", "absent"], ["w3", "w4", "w5"]
    assert ours.n_similarity(*sets) == pytest.approx(float(theirs.n_similarity(*sets)), abs=1e-6)
    for start in range(0, 40, 4):
        words = [f"w{i}" for i in range(start, start + 4)] + ["absent"]
        assert ours.doesnt_match(words) == theirs.doesnt_match(words)


def test_distances_and_ranks_are_gensims(ours, theirs):
    np.testing.assert_allclose(ours.distances("w1"), theirs.distances("w1"), atol=2e-6)
    np.testing.assert_allclose(ours.distances(VECTOR), theirs.distances(VECTOR), atol=2e-6)
    np.testing.assert_allclose(ours.distances("w1", ["w4", "w2"]), theirs.distances("w1", ["w4", "w2"]), atol=2e-6)
    for other in ("w2", "w77", "w400"):
        assert ours.rank("w1", other) == theirs.rank("w1", other)
        assert ours.closer_than("w1", other) == theirs.closer_than("w1", other)


def test_cosine_similarities_are_gensims(ours, theirs, matrix):
    mine = WordVectors.cosine_similarities(VECTOR, matrix)
    np.testing.assert_allclose(mine, theirs.cosine_similarities(VECTOR, matrix), atol=1e-6)


@pytest.mark.parametrize("pre", [True, False])
@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize("weights", [None, [1.0, -2.0, 0.5, 3.0]])
def test_mean_vector_is_gensims(ours, theirs, pre, post, weights):
    keys = ["w1", 2, "absent", VECTOR]
    arguments = {"weights": weights, "pre_normalize": pre, "post_normalize": post}
    np.testing.assert_allclose(
        ours.get_mean_vector(keys, **arguments), theirs.get_mean_vector(keys, **arguments), atol=2e-6
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 11) | st.sampled_from(["w3", "w0", "missing", "a vector"]), min_size=1, max_size=9),
    st.booleans(), st.booleans(), st.integers(1, 5), st.sampled_from([0, 3]), st.integers(0, 99),
)  # fmt: skip
def test_a_mean_is_the_sum_one_by_one(items, pre, post, block, few, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((12, 5)).astype(np.float32)
    vectors[[0, 7]] = 0
    wv, given = WordVectors([f"w{i}" for i in range(12)], vectors), rng.standard_normal(5).astype(np.float32)
    keys = [given if item == "a vector" else item for item in items]
    weights = rng.standard_normal(len(keys))
    total, size = np.zeros(5), 0.0
    for key, weight in zip(keys, weights, strict=True):
        if isinstance(key, np.ndarray) or key in wv:
            total += weight * (key if isinstance(key, np.ndarray) else wv.get_vector(key, norm=pre))
            size += abs(weight)
    expected = total / size if size else total
    expected = expected / np.linalg.norm(expected) if post and expected.any() else expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup, "SUM_BLOCK_ROWS", block)
        patch.setattr(lookup, "MAX_SINGLE_ROWS", few)
        np.testing.assert_allclose(wv.get_mean_vector(keys, weights, pre, post), expected, atol=2e-6)
    if "missing" in items:
        with pytest.raises(MissingWordError, match="'missing' is not among the 12 words"):
            wv.get_mean_vector(keys, ignore_missing=False)


def test_a_mean_of_many_words_is_one_product(monkeypatch):
    wv = WordVectors([f"w{i}" for i in range(50)], np.eye(50, dtype=np.float32))
    monkeypatch.setattr(WordVectors, "get_vector", lambda *_, **__: pytest.fail("a vector was taken by itself"))
    np.testing.assert_allclose(wv.get_mean_vector([f"w{i}" for i in range(50)]), np.full(50, 0.02), rtol=1e-6)


def test_lookup_is_gensims(ours, theirs):
    for key in ("w4", 4, ["w4", "w1"], [4, 1]):
        np.testing.assert_array_equal(ours[key], theirs[key])
    np.testing.assert_allclose(ours.get_vector("w4", norm=True), theirs.get_vector("w4", norm=True), atol=1e-7)
    np.testing.assert_allclose(ours.norms, np.linalg.norm(theirs.vectors, axis=1), rtol=1e-6)
    assert ours.index_to_key == theirs.index_to_key and ours.key_to_index == theirs.key_to_index
    assert ours.vector_size == theirs.vector_size and len(ours) == len(theirs)
    for key in ("w4", "absent", 4, V, -1):
        assert (key in ours) == (key in theirs)
    assert ours.get_index("absent", default=7) == 7
    assert ours.get_vecattr("w4", "count") == V - 4


# ---- as brute force


numbers = st.floats(-8, 8, width=32).map(lambda x: np.float32(round(x, 2)))


@settings(max_examples=150, deadline=None)
@given(
    hnp.arrays(np.float32, st.tuples(st.integers(1, 30), st.integers(1, 5)), elements=numbers),
    st.integers(1, 40),
    st.data(),
)
def test_most_similar_is_brute_force(matrix, topn, data):
    rows = st.integers(0, len(matrix) - 1)
    positive, negative = data.draw(st.lists(rows, min_size=1, max_size=3)), data.draw(st.lists(rows, max_size=2))
    wv = WordVectors([f"w{i}" for i in range(len(matrix))], matrix)
    answer = wv.most_similar([f"w{i}" for i in positive], [f"w{i}" for i in negative], topn=topn)

    exact = matrix.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    units = np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0)
    query = units[positive].sum(axis=0) - units[negative].sum(axis=0)
    length = np.linalg.norm(query)
    if length < 1e-4:  # the direction of a cancelled sum is rounding
        return
    cosines = units @ (query / length)
    allowed = [i for i in range(len(matrix)) if i not in positive + negative]
    best = sorted((cosines[i] for i in allowed), reverse=True)[:topn]
    found = [int(word[1:]) for word, _ in answer]
    assert len(set(found)) == len(found) == len(best) and set(found) <= set(allowed)
    np.testing.assert_allclose([score for _, score in answer], best, atol=2e-3 if length < 0.1 else 1e-5)
    np.testing.assert_allclose(cosines[found], best, atol=2e-3 if length < 0.1 else 1e-5)


@pytest.mark.parametrize("block_scores", [1, 64, 1 << 22])
@pytest.mark.parametrize("batch", [2, 512])
def test_nearest_does_not_depend_on_the_blocks(ours, matrix, monkeypatch, block_scores, batch):
    monkeypatch.setattr(mumon.vectors.neighbours, "BLOCK_SCORES", block_scores)
    monkeypatch.setattr(mumon.vectors.neighbours, "QUERY_BATCH", batch)
    queries = matrix[:7]
    exclude = [[i, (i * 50 + 3) % V] for i in range(7)]
    indices, scores = ours.nearest(queries, topn=6, exclude=exclude, clip_start=1, clip_end=480)
    cosines = queries @ matrix.T / np.linalg.norm(matrix, axis=1)
    for q in range(7):
        allowed = [i for i in range(1, 480) if i not in exclude[q]]
        expected = sorted(allowed, key=lambda i: -cosines[q, i])[:6]
        assert indices[q].tolist() == expected
        np.testing.assert_allclose(scores[q], cosines[q, expected], atol=1e-5)


def test_nearest_marks_missing_answers():
    wv = WordVectors(["a", "b"], np.eye(2, dtype=np.float32))
    indices, scores = wv.nearest(np.ones((1, 2)), topn=2, exclude=[[0]])
    assert indices.tolist() == [[1, -1]] and scores[0, 1] == -np.inf


def test_zero_vectors_score_zero():
    wv = WordVectors(["a", "zero", "minus"], np.array([[1, 0], [0, 0], [-1, 0]], np.float32))
    assert wv.most_similar("a") == [("zero", 0.0), ("minus", -1.0)]
    assert wv.similarity("a", "zero") == 0 and wv.distances("a").tolist() == [0, 1, 2]
    assert wv.most_similar("zero", topn=1)[0][1] == 0
    assert wv.most_similar_cosmul("a")[0][0] == "zero"


# ---- sharing with the trainer


def test_a_padded_matrix_is_shared_not_copied():
    padded = np.random.default_rng(1).standard_normal((6, 32)).astype(np.float32)
    wv = WordVectors(list("abcdef"), padded[:, :10])
    assert np.shares_memory(wv.vectors, padded)
    compact = WordVectors(list("abcdef"), padded[:, :10].copy())
    assert_same_ranking(wv.most_similar("a", "b"), compact.most_similar("a", "b"))


def test_iterating_gives_the_words():
    assert list(WordVectors(["a", "b"], np.eye(2, dtype=np.float32))) == ["a", "b"]


def test_norms_follow_the_vectors_only_when_told():
    vectors = np.ones((2, 4), np.float32)
    wv = WordVectors(["a", "b"], vectors)
    assert wv.norms.tolist() == [2, 2]
    vectors *= 2
    wv.fill_norms()
    assert wv.norms.tolist() == [2, 2]
    wv.fill_norms(force=True)
    assert wv.norms.tolist() == [4, 4]


def test_vectors_handed_out_cannot_be_changed():
    vectors = np.ones((2, 4), np.float32)
    wv = WordVectors(["a", "b"], vectors)
    with pytest.raises(ValueError, match="read-only"):
        wv["a"][0] = 5
    vectors[0, 0] = 5  # the owner still can
    assert wv["a"][0] == 5


# ---- mistakes


def test_a_missing_word_says_how_many_there_are_and_what_is_close():
    wv = WordVectors(["king", "queen"], np.eye(2, dtype=np.float32))
    with pytest.raises(KeyError) as caught:
        wv["King"]
    assert str(caught.value) == "'King' is not among the 2 words of the vocabulary; did you mean 'king'?"
    with pytest.raises(MissingWordError, match="did you mean 'queen'"):
        wv.most_similar("queeen")
    with pytest.raises(MissingWordError, match="check the spelling"):
        wv.similarity("king", "xylophone")
    with pytest.raises(MissingWordError, match="row 2 is outside the 2 words"):
        wv[2]
    with pytest.raises(MissingWordError):
        wv.get_mean_vector(["nope"], ignore_missing=False)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda wv: wv.most_similar(), "0 words"),
        (lambda wv: wv.most_similar(np.ones(3)), r"shape \(3,\).* 2 numbers"),
        (lambda wv: wv.most_similar([1.5]), "1.5 is no word"),
        (lambda wv: wv.most_similar_cosmul(negative="a"), "0 positive"),
        (lambda wv: wv.get_mean_vector(["a"], weights=[1, 2]), "1 words .* one weight each"),
        (lambda wv: wv.n_similarity([], ["a"]), "0 words"),
        (lambda wv: wv.doesnt_match(["x", "y"]), "0 of the 2 words"),
        (lambda wv: wv.get_vecattr("a", "count"), "without counts"),
    ],
)
def test_impossible_questions_get_one_sentence(call, sentence):
    with pytest.raises(OptionError, match=sentence) as caught:
        call(WordVectors(["a", "b"], np.eye(2, dtype=np.float32)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("topn", [3.5, "x", [2]])
@pytest.mark.parametrize(
    "call",
    [
        lambda wv, topn: wv.most_similar("w1", topn=topn),
        lambda wv, topn: wv.most_similar_cosmul("w1", topn=topn),
        lambda wv, topn: wv.similar_by_key("w1", topn),
        lambda wv, topn: wv.similar_by_word("w1", topn),
        lambda wv, topn: wv.similar_by_vector(wv["w1"], topn),
        lambda wv, topn: wv.relative_cosine_similarity("w1", "w2", topn),
        lambda wv, topn: wv.nearest(wv[["w1"]], topn),
    ],
)
def test_a_topn_that_is_no_whole_number_is_refused(ours, call, topn):
    refused(lambda: call(ours, topn), re.escape(f"topn is {topn!r} where a whole number is needed"), error=OptionError)
    assert call(ours, np.int64(3)) is not None


def test_words_vectors_and_counts_must_agree():
    with pytest.raises(FormatError, match="'b' is in rows 2 and 3"):
        WordVectors(["a", "b", "b"], np.zeros((3, 2), np.float32))
    with pytest.raises(FormatError, match="2 words"):
        WordVectors(["a", "b"], np.zeros((3, 2), np.float32))
    with pytest.raises(FormatError, match="counts of shape"):
        WordVectors(["a", "b"], np.zeros((2, 2), np.float32), np.zeros(3, np.int64))


# ---- disk and imports


def test_save_and_load_by_extension_and_by_gensims_names(tmp_path, ours):
    for name in ("v.mumon", "v.txt", "v.bin", "v.glove"):
        ours.save(tmp_path / name)
        back = WordVectors.load(tmp_path / name)
        assert back.index_to_key == WORDS
        np.testing.assert_array_equal(back.vectors, ours.vectors)
    assert WordVectors.load(tmp_path / "v.mumon").get_vecattr("w0", "count") == V
    for binary in (False, True):
        ours.save_word2vec_format(tmp_path / "odd.name", binary=binary)
        back = WordVectors.load_word2vec_format(tmp_path / "odd.name", binary=binary, limit=3)
        assert back.index_to_key == WORDS[:3]


def test_importing_costs_only_numpy():
    heavy = {"numba", "pyarrow", "safetensors", "scipy"}
    code = f"import sys, mumon.vectors.word_vectors, mumon.formats; print(sorted({heavy} & sys.modules.keys()))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_looking_up_neighbours_loads_nothing_heavy(tmp_path, ours):
    ours.save(tmp_path / "m.mumon")
    heavy = {"numba", "pyarrow", "scipy", "mumon.corpus", "mumon.kernels"}
    code = (
        "import atexit, sys; from mumon import cli\n"
        f"atexit.register(lambda: print(sorted({heavy} & sys.modules.keys())))\n"
        f"sys.argv = ['mumon', 'similar', {str(tmp_path / 'm.mumon')!r}, {ours.index_to_key[0]!r}]\n"
        "cli.main()"
    )
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == 11 and lines[-1] == "[]"


def test_examples_in_the_docstrings_run():
    result = doctest.testmod(mumon.vectors.word_vectors)
    assert result.attempted > 3 and result.failed == 0
