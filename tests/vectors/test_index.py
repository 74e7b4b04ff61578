"""An index finds nearly all of the true neighbours, scores them exactly, and belongs to its vectors."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from mumon.errors import FormatError, OptionError
from mumon.utils.progress import Progress
from mumon.vectors import ann_index as ann
from mumon.vectors.ann_index import Index
from mumon.vectors.word_vectors import WordVectors
from tests.samples import left_over, refused

pytest.importorskip("usearch")

V, D = 1500, 24
WORDS = [f"w{i}" for i in range(V)]


def random_vectors():
    return np.random.default_rng(0).standard_normal((V, D)).astype(np.float32)


def clustered_vectors():
    random = np.random.default_rng(1)
    centres = 5 * random.standard_normal((30, D))
    return (centres[random.integers(30, size=V)] + random.standard_normal((V, D))).astype(np.float32)


@pytest.fixture(scope="module")
def wv():
    return WordVectors(WORDS, clustered_vectors())


@pytest.fixture(scope="module")
def index(wv):
    return wv.index()


@pytest.mark.parametrize("vectors", [random_vectors, clustered_vectors])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i8"])
def test_nearly_all_true_neighbours_are_found(vectors, dtype):
    wv = WordVectors(WORDS, vectors())
    index = wv.index(dtype=dtype)
    recall = index.recall(sample=300)
    queries = wv.get_normed_vectors()[:100]
    itself = [[row] for row in range(100)]
    exact, found = wv.nearest(queries, 10, itself)[0], index.nearest(queries, 10, itself)[0]
    naive = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(exact.tolist(), found.tolist(), strict=True)])
    assert recall > 0.95 and naive > 0.95 and index.dtype == dtype


def test_a_higher_expansion_search_finds_more():
    wv = WordVectors(WORDS, random_vectors())
    index = wv.index(connectivity=4, expansion_add=8, expansion_search=2)
    little = index.recall(sample=200)
    index.expansion_search = 400
    assert little < index.recall(sample=200) and index.expansion_search == 400


def test_scores_are_those_of_the_exact_search(wv, index):
    for dtype in ("f32", "i8"):
        found = wv.index(dtype=dtype).most_similar(["w3", "w5"], negative=["w7"], topn=5)
        scores = wv.most_similar(["w3", "w5"], ["w7"], topn=None)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        for word, score in found:
            assert score == pytest.approx(scores[wv.get_index(word)], abs=1e-6)


def test_the_words_asked_about_are_no_answers(wv, index):
    asked = [f"w{i}" for i in range(20)]
    for found in (index.most_similar(asked, topn=30), wv.most_similar(asked, topn=30, indexer=index)):
        assert len(found) == 30 and not set(asked) & {word for word, _ in found}
    assert wv.most_similar("w9", indexer=index) == index.most_similar("w9") == index.most_similar([("w9", 2.0)])
    assert wv.most_similar("w9", topn=0, indexer=index) == []


def test_gensim_can_use_an_index(wv, index):
    theirs = pytest.importorskip("gensim.models").KeyedVectors(D)
    theirs.add_vectors(WORDS, wv.vectors)
    found = theirs.most_similar("w9", topn=5, indexer=index)
    assert found[0][0] == "w9" and found[1:] == index.most_similar("w9", topn=4)


def test_one_query_or_many_get_the_same_answers(wv, index, monkeypatch):
    queries = wv.get_normed_vectors()[:50]
    many, _ = index.nearest(queries, 5)
    monkeypatch.setattr(ann, "QUERY_BATCH", 1)
    one, _ = index.nearest(queries, 5)
    np.testing.assert_array_equal(many, one)


def test_rows_of_zeros_are_no_neighbours_and_missing_answers_are_marked():
    wv = WordVectors(["a", "zero", "b", "c"], np.array([[1, 0], [0, 0], [1, 1], [-1, 0]], np.float32))
    index = wv.index()
    assert len(index) == 3
    assert [word for word, _ in index.most_similar("a", topn=9)] == ["b", "c"]
    rows, scores = index.nearest(np.eye(2), topn=4, exclude=[[0], []])
    assert rows.tolist() == [[2, 3, -1, -1], [2, 0, 3, -1]] and scores[0, 2] == -np.inf
    assert index.recall() == 1.0
    assert WordVectors(["a"], np.zeros((1, 2))).index().most_similar("a") == []


def test_an_index_loads_for_the_same_vectors_only(tmp_path, wv, index):
    path = tmp_path / "wv.index"
    index.save(path)
    assert left_over(tmp_path) == ["wv.index"]
    back = Index.load(path, WordVectors(WORDS, wv.vectors.copy()))
    assert back.most_similar("w9") == index.most_similar("w9") and len(back) == V
    changed = wv.vectors.copy()
    changed[17, 3] += 1
    refused(lambda: Index.load(path, WordVectors(WORDS, changed)), "not these 1500")
    refused(lambda: Index.load(path, WordVectors(["x", *WORDS[1:]], wv.vectors)), "not these 1500")
    refused(lambda: Index.load(path, WordVectors(WORDS[:10], wv.vectors[:10])), "1500 vectors, .* these 10")


def test_damaged_files_are_refused(tmp_path, wv, index):
    path = tmp_path / "wv.index"
    index.save(path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    header = json.dumps({"format": "mumon index", "version": 99}).encode()
    for damaged, sentence in (
        (b"", "no index"),
        (whole[:middle], "damaged"),
        (whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :], "damaged"),
        (b"[" * 4000, "no index"),
        (header + b"\n", "no index"),
        (np.random.default_rng(0).bytes(5000), "no index"),
    ):
        path.write_bytes(damaged)
        refused(lambda: Index.load(path, wv), sentence)
    refused(lambda: Index.load(tmp_path / "absent", wv), "nothing at")


def test_an_outdated_index_says_so():
    wv, other = (WordVectors(["a", "b"], np.eye(2)) for _ in range(2))
    index = wv.index()
    refused(lambda: other.most_similar("a", indexer=index), "other vectors", error=OptionError)
    wv["c"] = np.ones(2)
    refused(lambda: index.most_similar("a"), "2 of 3 vectors", error=OptionError)
    assert wv.index().most_similar("a")[0][0] == "c"


def test_building_shows_progress(monkeypatch):
    class Heard(Progress):
        def __init__(self):
            self.done = []

        def start(self, stage, total, unit):
            self.total = total

        def update(self, done, **fields):
            self.done.append(done)

    monkeypatch.setattr(ann, "BUILD_ROWS", 100)
    heard = Heard()
    WordVectors(WORDS[:250], random_vectors()[:250]).index(progress=heard)
    assert heard.total == 250 and heard.done == [100, 200, 250]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"dtype": "f64"}, "f32, f16, i8"), ({"connectivity": 1}, "connectivity is 1"), ({"expansion_add": 2.5}, "2.5")],
)
def test_impossible_options_are_refused(options, sentence):
    refused(lambda: WordVectors(["a"], np.ones((1, 2))).index(**options), sentence, error=OptionError)


def test_impossible_questions_are_refused(wv, index):
    refused(lambda: index.most_similar("w1", "w2"), "negative=", error=OptionError)
    refused(lambda: index.nearest(np.ones((1, 3))), f"rows of {D} numbers", error=OptionError)
    refused(lambda: index.recall(sample=0), "sample is 0", error=OptionError)
    broken = WordVectors(["a", "b"], np.array([[1, 2], [np.nan, 1]], np.float32))
    refused(broken.index, "'b' holds nan", error=FormatError)


@pytest.mark.parametrize("method", ["most_similar", "nearest", "recall"])
def test_a_topn_that_is_no_whole_number_is_refused(wv, index, method):
    arguments = {"most_similar": ["w1"], "nearest": [wv.vectors[:1]], "recall": [10]}[method]
    for topn in (3.5, "x", None):
        refused(lambda topn=topn: getattr(index, method)(*arguments, topn), "topn is .* where a whole number is needed",
                error=OptionError)  # fmt: skip


def test_without_usearch_one_sentence_names_the_extra(monkeypatch, wv):
    monkeypatch.setitem(sys.modules, "usearch", None)
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    refused(wv.index, r"pip install 'mumon\[index\]'", error=OptionError)


def test_integer_keys_are_found_through_an_index(tmp_path):
    wv = WordVectors([10, 7, 3], np.array([[2, 1], [2, 2], [-1, 1]], np.float32))
    wv.index().save(tmp_path / "i")
    assert Index.load(tmp_path / "i", wv).most_similar(7, topn=1)[0][0] == 10
