"""scikit-learn: the vectoriser is a transformer like any other, and pools as the paper says."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from tests.samples import refused

pytest.importorskip("sklearn")
import joblib
import pandas as pd
import polars as pl
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from mumon import FastText, Word2Vec, WordVectors
from mumon.errors import CorpusError, OptionError
from mumon.sklearn import Word2VecVectorizer

SMALL = {"vector_size": 12, "min_count": 1, "epochs": 5, "workers": 1, "random_state": 0}


def make_documents(count=240, seed=0):
    """Documents of four topics, whose words the documents share by and large with few others of their topic.

    SIF removes one direction, which for two topics would be what tells them apart.
    """
    random = np.random.default_rng(seed)
    labels = random.integers(4, size=count)
    documents = []
    for label in labels:
        topic = [f"{('sport', 'money', 'music', 'food')[label]}{i}" for i in random.integers(40, size=4)]
        words = [*topic, *(f"common{i}" for i in random.zipf(1.5, 6) % 30)]
        random.shuffle(words)
        documents.append(" ".join(words).capitalize() + ".")
    return documents, labels


DOCUMENTS, LABELS = make_documents()


@pytest.fixture(scope="module")
def fitted():
    return Word2VecVectorizer(**SMALL).fit(DOCUMENTS)


# ---- scikit-learn's own checks

NUMBERS = "feeds a table of numbers, which is not a list of documents"
NUMERIC_CHECKS = """
    fit_score_takes_y estimators_overwrite_params dont_overwrite_parameters estimators_fit_returns_self
    readonly_memmap_input n_features_in_after_fitting positive_only_tag_during_fit estimators_dtypes complex_data
    dtype_object estimators_empty_data_messages pipeline_consistency estimators_nan_inf estimator_sparse_tag
    estimator_sparse_array estimator_sparse_matrix estimators_pickle f_contiguous_array_estimator
    transformer_data_not_an_array transformer_general methods_sample_order_invariance methods_subset_invariance
    fit2d_1sample fit2d_1feature dict_unchanged fit_idempotent fit_check_is_fitted n_features_in fit2d_predict1d
"""


class SaysTables(Word2VecVectorizer):
    """The vectoriser itself, with the tag without which scikit-learn makes one check only."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


def as_words(table):
    return [[f"column{j}:{value:.0f}" for j, value in enumerate(row)] for row in table]


class OfTables(SaysTables):
    """Rows of numbers as documents of words, so that the checks which feed numbers reach the vectoriser, too."""

    def fit(self, X, y=None):
        return super().fit(as_words(validate_data(self, X)))

    def fit_transform(self, X, y=None):
        return super().fit_transform(as_words(validate_data(self, X)))

    def transform(self, X):
        check_is_fitted(self)
        return super().transform(as_words(validate_data(self, X, reset=False)))


def expected_failures(estimator):
    if isinstance(estimator, OfTables):
        return {"check_fit2d_1feature": "documents of one word each have no window to train on, and are refused so"}
    return {f"check_{name}": NUMBERS for name in NUMERIC_CHECKS.split()}


@parametrize_with_checks(
    [SaysTables(**SMALL), OfTables(**SMALL), OfTables(**SMALL, pooling="sif", norm="l2")],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# ---- what it is for


@pytest.mark.parametrize("pooling", ["mean", "sif"])
def test_a_pipeline_tells_topics_apart(pooling):
    vectorizer = Word2VecVectorizer(**{**SMALL, "epochs": 40}, sample=0, pooling=pooling)
    pipeline = make_pipeline(vectorizer, StandardScaler(), LogisticRegression())
    assert cross_val_score(pipeline, DOCUMENTS, LABELS, cv=3).mean() > 0.85


def test_a_search_goes_over_pooling_and_size_in_other_processes(monkeypatch, kernels):
    monkeypatch.setenv("NUMBA_CACHE_DIR", kernels["NUMBA_CACHE_DIR"])
    pipeline = make_pipeline(Word2VecVectorizer(**SMALL), LogisticRegression())
    grid = {"word2vecvectorizer__pooling": ["mean", "sif"], "word2vecvectorizer__vector_size": [4, 16]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2, error_score="raise").fit(DOCUMENTS[:80], LABELS[:80])
    assert len(search.cv_results_["params"]) == 4
    best = search.best_params_["word2vecvectorizer__vector_size"]
    assert search.best_estimator_[0].transform(DOCUMENTS[:3]).shape == (3, best)


def test_a_column_of_a_table_is_transformed_however_it_is_named():
    table = pd.DataFrame({"text": DOCUMENTS, "length": [len(text) for text in DOCUMENTS]})
    for column in ("text", ["text"]):
        both = ColumnTransformer([("words", Word2VecVectorizer(**SMALL), column)], remainder="passthrough")
        rows = both.fit_transform(table)
        assert rows.shape == (len(table), SMALL["vector_size"] + 1)
        assert both.get_feature_names_out()[:2].tolist() == ["words__word2vec0", "words__word2vec1"]
        np.testing.assert_allclose(rows[:, :-1], Word2VecVectorizer(**SMALL).fit_transform(DOCUMENTS))


@pytest.mark.parametrize(("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_the_output_may_be_a_table_with_named_columns(library, kind):
    vectorizer = Word2VecVectorizer(**SMALL).set_output(transform=library)
    for table in (vectorizer.fit_transform(DOCUMENTS[:20]), vectorizer.transform(DOCUMENTS[:20])):
        assert isinstance(table, kind)
        assert list(table.columns) == [f"word2vec{i}" for i in range(12)]
    assert list(vectorizer.get_feature_names_out()) == list(table.columns)


# ---- pooling


def naive(documents, wv, counts, a=None, component=None):
    """Arora, Liang and Ma's algorithm 1, word by word."""
    total = sum(counts.values())
    rows = []
    for words in documents:
        known = [word for word in words if word in wv]
        row = np.zeros(wv.vector_size)
        for word in known:
            row += (1 if a is None else a / (a + counts[word] / total)) * wv[word].astype(np.float64) / len(known)
        rows.append(row)
    rows = np.array(rows)
    if a is None:
        return rows, None
    if component is None:
        component = np.linalg.svd(rows, full_matrices=False)[2][0]
    return rows - np.array([component * (component @ row) for row in rows]), component


def test_the_mean_is_that_of_the_known_words(fitted):
    new = [*DOCUMENTS[:30], "sport1 nowhere money2", "nowhere", ""]
    split = CountVectorizer().build_analyzer()
    counts = dict.fromkeys(fitted.wv_.index_to_key, 1)
    expected, _ = naive([split(text) for text in new], fitted.wv_, counts)
    np.testing.assert_allclose(fitted.transform(new), expected, atol=1e-6)
    assert not fitted.transform(new)[-2:].any()


@pytest.mark.parametrize("a", [1e-3, 0.1])
def test_sif_is_the_papers_algorithm(a):
    vectorizer = Word2VecVectorizer(**SMALL, pooling="sif", sif_a=a)
    found = vectorizer.fit_transform(DOCUMENTS)
    split = CountVectorizer().build_analyzer()
    wv = vectorizer.wv_
    counts = {word: wv.get_vecattr(word, "count") for word in wv.index_to_key}
    assert counts["common1"] == sum(split(text).count("common1") for text in DOCUMENTS)
    expected, component = naive([split(text) for text in DOCUMENTS], wv, counts, a)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    new, _ = make_documents(20, seed=1)  # the direction is that of the documents of fit
    expected, _ = naive([split(text) for text in new], wv, counts, a, component)
    np.testing.assert_allclose(vectorizer.transform([*new, "nowhere"]), [*expected, np.zeros(12)], atol=1e-6)
    plain = Word2VecVectorizer(**SMALL, pooling="sif", sif_a=a, remove_component=False).fit(DOCUMENTS)
    assert plain.component_ is None and not np.allclose(plain.transform(DOCUMENTS), found)


def test_rows_of_length_one_but_for_those_of_nothing():
    rows = Word2VecVectorizer(**SMALL, norm="l2").fit(DOCUMENTS).transform([*DOCUMENTS, "nowhere"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1] * len(DOCUMENTS) + [0], atol=1e-6)


def test_given_vectors_are_used_and_nothing_is_trained(fitted, tmp_path):
    fitted.model_.save(tmp_path / "m.mumon")
    expected = fitted.transform(DOCUMENTS)
    for vectors in (fitted.wv_, fitted.model_, tmp_path / "m.mumon", str(tmp_path / "m.mumon")):
        vectorizer = Word2VecVectorizer(vectors=vectors).fit(DOCUMENTS[:3])
        np.testing.assert_array_equal(vectorizer.transform(DOCUMENTS), expected)
        assert not hasattr(vectorizer, "model_") and vectorizer.n_features_out_ == 12
    again = Word2VecVectorizer(**SMALL).fit(DOCUMENTS)
    assert not hasattr(again.set_params(vectors=fitted.wv_).fit(DOCUMENTS), "model_")


def test_without_counts_the_documents_of_fit_are_counted(fitted):
    bare = WordVectors(fitted.wv_.index_to_key, fitted.wv_.vectors)
    by_documents = Word2VecVectorizer(vectors=bare, pooling="sif").fit_transform(DOCUMENTS)
    by_counts = Word2VecVectorizer(vectors=fitted.wv_, pooling="sif").fit_transform(DOCUMENTS)
    np.testing.assert_allclose(by_documents, by_counts, atol=1e-6)


# ---- documents in, in whatever shape


def test_strings_are_split_as_by_countvectorizer():
    texts = ["Don't PANIC, said I: 42 naïve Äpfel!", "a b cc"]
    splitting = {"tokenizer": str.split, "token_pattern": None}
    for options in ({}, {"lowercase": False}, {"token_pattern": r"(?u)\b(\w)\w*"}, splitting):
        counter = CountVectorizer(**options).fit(texts)
        vectorizer = Word2VecVectorizer(**SMALL, **options).fit(texts)
        assert set(vectorizer.wv_.index_to_key) == set(counter.vocabulary_)


def test_documents_come_as_strings_lists_columns_or_once(fitted):
    split = CountVectorizer().build_analyzer()
    expected = fitted.transform(DOCUMENTS)
    column = pd.Series(DOCUMENTS)
    for given in (
        iter(DOCUMENTS), (split(text) for text in DOCUMENTS), column, column.map(split), column.to_frame(),
        pl.Series(DOCUMENTS), pl.DataFrame({"text": DOCUMENTS}), np.array(DOCUMENTS), np.array(DOCUMENTS)[:, None],
        [text.encode() for text in DOCUMENTS], pl.Series(list(map(split, DOCUMENTS))),
    ):  # fmt: skip
        np.testing.assert_array_equal(fitted.transform(given), expected)
    once = Word2VecVectorizer(**SMALL)
    np.testing.assert_array_equal(once.fit_transform(text for text in DOCUMENTS), expected)
    np.testing.assert_array_equal(Word2VecVectorizer(**SMALL).fit(iter(DOCUMENTS)).transform(DOCUMENTS), expected)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("a string", "a single string"),
        (["a", None], "document 1 is a NoneType"),
        (pd.Series(["a", np.nan]), "document 1 is a float"),
        ([["a", 3]], "document 0 holds 3"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), r"shape \(1, 2\)"),
        (3, "a int is not a list"),
    ],
    ids=str,
)
def test_input_that_is_not_a_list_of_documents_is_refused_in_a_sentence(fitted, given, said):
    refused(lambda: fitted.transform(given), said, error=CorpusError)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pooling": "max"}, "max"),
        ({"norm": "l1"}, "l1"),
        ({"sif_a": 0, "pooling": "sif"}, "sif_a is 0"),
        ({"token_pattern": "("}, "token_pattern"),
        ({"token_pattern": "(a)(b)"}, "2 groups"),
        ({"vectors": 3}, "vectors is a int"),
        ({"window": 0}, "window is 0"),
    ],
    ids=str,
)
def test_an_impossible_option_is_reported_when_it_is_used(options, said):
    vectorizer = Word2VecVectorizer(**{**SMALL, **options})  # scikit-learn wants constructors to say nothing
    refused(lambda: vectorizer.fit(DOCUMENTS), said, error=OptionError)


def test_nothing_is_transformed_before_it_is_fitted():
    for call in (lambda v: v.transform(DOCUMENTS), lambda v: v.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            call(Word2VecVectorizer())


# ---- copies and seeds


def test_a_fitted_estimator_survives_copies_and_files(fitted, tmp_path):
    expected = fitted.transform(DOCUMENTS)
    joblib.dump(fitted, tmp_path / "v.joblib")
    copies = [copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "v.joblib")]
    for other in [*copies, joblib.load(tmp_path / "v.joblib", mmap_mode="r")]:
        np.testing.assert_array_equal(other.transform(DOCUMENTS), expected)
        assert other.model_.wv.most_similar("sport1") == fitted.model_.wv.most_similar("sport1")
    with pytest.raises(NotFittedError):
        clone(fitted).transform(DOCUMENTS)
    assert clone(fitted).get_params() == fitted.get_params()


def test_the_seed_is_the_random_state(fitted):
    split = CountVectorizer().build_analyzer()
    options = {name: value for name, value in SMALL.items() if name != "random_state"}
    model = Word2Vec([split(text) for text in DOCUMENTS], seed=0, progress=False, **options)
    np.testing.assert_array_equal(fitted.wv_.vectors, model.wv.vectors)

    def rows(state):
        return Word2VecVectorizer(**options, random_state=state).fit_transform(DOCUMENTS[:30])

    np.testing.assert_array_equal(rows(np.random.RandomState(5)), rows(np.random.RandomState(5)))
    assert not np.allclose(rows(None), rows(None))


def test_the_tags_say_text_and_whether_it_can_be_repeated():
    tags = Word2VecVectorizer(workers=1).__sklearn_tags__()
    assert tags.input_tags.string and not tags.input_tags.two_d_array and tags.requires_fit
    assert not tags.non_deterministic and Word2VecVectorizer(workers=2).__sklearn_tags__().non_deterministic


def test_without_scikit_learn_a_sentence_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None; import mumon.sklearn"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith("mumon.errors.OptionError: mumon.sklearn needs scikit-learn")


@pytest.mark.parametrize("pooling", ["mean", "sif"])
def test_with_ngrams_words_that_are_not_in_the_text_have_vectors(pooling):
    options = {**SMALL, "min_n": 3, "max_n": 4, "pooling": pooling, "remove_component": False}
    vectorizer = Word2VecVectorizer(**options).fit(DOCUMENTS)
    wv = vectorizer.wv_
    assert isinstance(vectorizer.model_, FastText) and (vectorizer.model_.min_n, vectorizer.model_.max_n) == (3, 4)
    assert not wv.has_index_for("sporting") and wv["sporting"].any()
    given = Word2VecVectorizer(vectors=wv, pooling=pooling, remove_component=False).fit(DOCUMENTS)
    documents = [["sporting", "sport1", "sporting", ""], ["musical"], [""], ["sport1", "common1"]]
    # As in the class's equation: a / (a + p) with p = 0 for a word that the text does not have.
    shares = dict(zip(wv.index_to_key, wv.counts / wv.counts.sum(), strict=True))
    weigh = (lambda word: 1e-3 / (1e-3 + shares.get(word, 0))) if pooling == "sif" else (lambda word: 1)
    expected = [
        np.mean([weigh(word) * wv[word] for word in document if word] or [np.zeros(12)], axis=0)
        for document in documents
    ]
    for each in (vectorizer, given):
        np.testing.assert_allclose(each.transform(documents), expected, rtol=1e-4, atol=1e-6)
    assert Word2VecVectorizer(**SMALL).fit(DOCUMENTS).transform([["sporting"]]).any() == 0
