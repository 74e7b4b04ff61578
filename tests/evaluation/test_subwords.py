"""Vectors with subwords: scores over all items and over known words, each as a slow twin or plain vectors give them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from mumon import WordVectors
from mumon.corpus.subwords import Subwords
from mumon.evaluation import SentenceTask, Task, evaluate, score_sentences
from mumon.evaluation.bootstrap import Outcome
from mumon.evaluation.sentences import METHODS, answer_pairs
from mumon.evaluation.word_lookup import WordFinder
from mumon.vectors.fasttext_vectors import FastTextVectors

WORDS = [f"word{i}" for i in range(60)]
FOLDS = ("dev", "test", "all")


def make_vectors(known, words=WORDS, seed=0, capitals=False):
    """Vectors with rows for the first `known` words, and n-grams for the others."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((len(words), 12)).astype(np.float32)[:known]
    subwords = Subwords(random.standard_normal((500, 12)).astype(np.float32), 3, 5)
    counts = np.arange(1000, 1000 - known, -1)
    listed = [word.title() for word in words[:known]] if capitals else words[:known]
    return FastTextVectors(listed, rows, counts, subwords)


def without_subwords(wv):
    return WordVectors(wv.index_to_key, wv.vectors, wv.counts)


def make_tasks(n=80, seed=1):
    random = np.random.default_rng(seed)
    pairs = tuple((WORDS[a], WORDS[b].title()) for a, b in random.integers(60, size=(n, 2)))
    questions = [tuple(WORDS[i] for i in random.choice(60, 4, replace=False)) for _ in range(n)]
    sections = tuple(f"section{i % 2}" for i in range(n))
    return [
        Task("pairs", "similarity", pairs, ("",) * n, random.random(n)),
        Task("questions", "analogy", tuple(questions), sections),
        Task("topics", "categories", tuple((word,) for word in WORDS), tuple(f"{i % 3}" for i in range(60))),
    ]


def make_answerable(task, wv):
    """Give every other question the answer that the vectors give."""
    items = []
    for i, (a, b, c, d) in enumerate(task.items):
        items.append((a, b, c, wv.most_similar([b, c], [a], topn=1)[0][0] if i % 2 else d))
    return Task(task.name, task.kind, tuple(items), task.sections)


def is_known(wv, words):
    return all(wv.has_index_for(word.lower()) for word in words)


@settings(max_examples=20, deadline=None)
@given(known=st.integers(8, 60), limit=st.sampled_from([None, 7, 30]), seed=st.integers(0, 5))
def test_scores_of_known_words_are_those_of_the_same_rows_without_subwords(known, limit, seed):
    wv, tasks = make_vectors(known, seed=seed), make_tasks(seed=seed)
    options = {"resamples": 20, "restrict_vocab": limit, "workers": 1}
    report, plain = (evaluate(each, tasks, **options) for each in (wv, without_subwords(wv)))
    for expected in plain.scores:
        if expected.missing == "skip":
            key = (expected.task, expected.fold, expected.section)
            score = report.score("model", *key, missing="known")
            np.testing.assert_equal(
                (score.score, score.low, score.high, score.known, score.n),
                (expected.score, expected.low, expected.high, expected.covered, expected.n),
            )
            assert score.known <= score.covered == score.n  # every word is long enough for an n-gram


@pytest.mark.parametrize("method", ["add", "mul"])
def test_scores_over_all_items_are_those_of_one_word_after_the_other(method):
    wv = make_vectors(35)
    pairs, questions, _ = make_tasks()
    questions = make_answerable(questions, wv)
    report = evaluate(wv, [pairs, questions], resamples=0, method=method)
    cosines = [wv.similarity(a, b.lower()) for a, b in pairs.items]
    ask = wv.most_similar if method == "add" else wv.most_similar_cosmul
    right = np.array([ask([b, c], [a], topn=1)[0][0] == d for a, b, c, d in questions.items])
    known = {task.name: np.array([is_known(wv, words) for words in task.items], bool) for task in (pairs, questions)}
    assert 5 < known["questions"].sum() < 20 < known["pairs"].sum() < 60 and right.sum() > 20
    for fold in FOLDS:
        for missing in ("skip", "zero", "known"):
            only = missing == "known"
            items = pairs.fold(fold) & (known["pairs"] if only else True)
            expected = spearmanr(pairs.gold[items], np.array(cosines)[items])[0]
            score = report.score("model", "pairs", fold, missing=missing)
            assert score.score == pytest.approx(100 * expected, abs=1e-3)
            items = questions.fold(fold) & (known["questions"] if only else True)
            score = report.score("model", "questions", fold, missing=missing)
            assert score.score == pytest.approx(100 * right[items].mean())
            assert (score.coverage, score.known) == (1, (known["questions"] & questions.fold(fold)).sum())
            assert score.known_coverage == score.known / score.n


def test_an_answer_without_a_row_is_never_given():
    wv = make_vectors(30)
    task = Task("q", "analogy", tuple((*WORDS[i : i + 3], WORDS[59 - i]) for i in range(20)), ("",) * 20)
    score = evaluate(wv, [task], resamples=0).score("model", "q")
    assert (score.score, score.covered, score.known) == (0, 20, 0)


def test_outliers_are_known_if_all_their_words_are():
    wv = make_vectors(20)
    groups = [
        ("word1", "word2", "word3", "word4"),
        ("word1", "word2", "word3", "word40"),
        ("word1", "word2", "ab", "x"),
    ]
    task = Task("odd", "outliers", tuple(groups), ("",) * 3)
    assert "ab" in wv and "x" in wv  # <x> is an n-gram
    report = evaluate(wv, [task], resamples=0)
    units = [[wv.get_vector(word, norm=True) for word in words] for words in groups]
    outer = [np.argmin(np.sum(np.array(each) @ np.array(each).T, axis=1)) == 3 for each in units]
    skip, known = (report.score("model", "odd", missing=missing) for missing in ("skip", "known"))
    assert (skip.score, skip.covered, skip.known) == (pytest.approx(100 * np.mean(outer)), 3, 1)
    assert known.score == 100 * outer[0]


def test_a_word_too_short_for_an_ngram_is_missing():
    wv = make_vectors(20)
    wv.subwords = Subwords(wv.subwords.rows, 4, 5)
    assert WordFinder(wv).find("x") == (-1, "missing") and WordFinder(wv).find("xy") == (-1, "composed")
    items = (("word1", "x"), ("word1", "xy"), ("word1", "word2"))
    report = evaluate(wv, [Task("t", "similarity", items, ("",) * 3, np.arange(3.0))], resamples=0)
    score = report.score("model", "t")
    assert (score.known, score.covered, score.n) == (1, 2, 3)
    assert report.found["model"]["t"] == {"as is": 2, "composed": 1, "missing": 1}


def test_rarer_words_than_the_limit_keep_their_rows_but_are_not_known():
    wv = make_vectors(40)
    pairs = make_tasks()[0]
    report = evaluate(wv, [pairs], resamples=0, restrict_vocab=25)
    whole = evaluate(wv, [pairs], resamples=0)
    assert report.score("model", "pairs").score == whole.score("model", "pairs").score
    some = [all(wv.get_index(word.lower(), 99) < 25 for word in words) for words in pairs.items]
    assert report.score("model", "pairs").known == sum(some) < whole.score("model", "pairs").known


# ---- capital letters


def test_a_word_is_composed_in_the_case_of_the_vocabulary():
    for capitals in (False, True):
        wv = make_vectors(30, capitals=capitals)
        finder = WordFinder(wv)
        assert finder.is_lower_case != capitals
        (place,) = finder.find_places(["Fünfzig"])
        form = "Fünfzig" if capitals else "fünfzig"
        assert np.array_equal(finder.take_vectors([place])[0], wv.get_vector(form))
    assert finder.find("Word3") == (3, "as is")


def test_a_capital_or_two_do_not_make_a_vocabulary_of_capitals():
    words = [f"wort{i}" for i in range(300)]
    for extra, lower in ((["</s>", "İ"], True), ([f"Name{i}" for i in range(100)], False)):
        wv = WordVectors([*words, *extra], np.ones((len(words) + len(extra), 2), np.float32))
        assert WordFinder(wv).is_lower_case == lower


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(categories=["Lu", "Ll"], max_codepoint=0x17F), min_size=1, max_size=8))
def test_german_words_with_capitals_have_the_vector_of_their_lower_case(word):
    wv = make_vectors(5, words=["fünf", "größe", "öl", "straße", "über"])
    finder = WordFinder(wv)
    upper, lower = finder.find_places([word, word.lower()])
    assert upper == lower and (upper >= 0) == (word.lower() in wv)
    assert [finder.find(form) for form in ("Fünf", "Größe", "Öl")] == [(i, "lower case") for i in range(3)]


# ---- comparisons and reports


def test_models_are_compared_on_what_both_have_and_on_what_both_know():
    small, large, plain = make_vectors(25), make_vectors(40, seed=3), without_subwords(make_vectors(45, seed=4))
    pairs, questions, _ = make_tasks(120)
    report = evaluate({"small": small, "large": large, "plain": plain}, [pairs, questions], resamples=50)
    known = {
        (name, task.name): np.array([is_known(wv, words) for words in task.items], bool)
        for name, wv in (("small", small), ("large", large), ("plain", plain))
        for task in (pairs, questions)
    }
    for a, b in (("small", "large"), ("small", "plain"), ("plain", "large")):
        for missing in ("skip", "known", "zero"):
            rows = report.compare(a, b, missing=missing)
            for task, row in zip(("pairs", "questions"), rows, strict=False):
                asked = np.ones(120, bool)
                for name in (a, b):
                    if missing == "known" or (missing == "skip" and name == "plain"):
                        asked = asked & known[name, task]
                scores = [report.outcomes[name, task].select(asked).score(skip_missing=False) for name in (a, b)]
                assert row.n == asked.sum()
                assert row.difference == pytest.approx(scores[1] - scores[0], nan_ok=True)
            assert rows[-1].task == "mean"


def test_a_report_names_the_models_that_compose_and_only_they_have_scores_of_known_words():
    wv, tasks = make_vectors(35), make_tasks()
    report = evaluate({"subwords": wv, "plain": without_subwords(wv)}, tasks, resamples=20)
    assert report.composing == ["subwords"]
    written = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert written["composing"] == ["subwords"]
    assert {s["model"] for s in written["scores"] if s["missing"] == "known"} == {"subwords"}
    assert all(s["known"] <= s["covered"] <= s["n"] for s in written["scores"])
    assert all(s["known"] == s["covered"] for s in written["scores"] if s["model"] == "plain")
    for fold in FOLDS:
        mean = report.score("subwords", "mean", fold, missing="known")
        expected = report.score("plain", "mean", fold)
        assert (mean.score, mean.low, mean.high) == (expected.score, expected.low, expected.high)
        assert report.score("plain", "mean", fold, missing="known").score == expected.score
        assert report.score("plain", "pairs", fold, missing="known").score == report.score("plain", "pairs", fold).score
    assert report.mean("subwords", missing="known") != report.mean("subwords")


def test_vectors_of_a_fasttext_class_without_ngrams_are_plain():
    wv = make_vectors(35)
    wv.subwords = None
    tasks = make_tasks()
    got, expected = (evaluate(each, tasks, resamples=20).to_json() for each in (wv, without_subwords(wv)))
    assert got == expected and got["composing"] == []


def test_neighbours_of_a_word_without_a_row_are_those_of_its_composed_vector():
    wv = make_vectors(30)
    nearest = evaluate(wv, make_tasks()[:1], resamples=0, probes=["Word55", "word3"]).neighbours["model"]
    assert nearest["Word55"] == [word for word, _ in wv.most_similar("word55", topn=6)]
    assert nearest["word3"] == [word for word, _ in wv.most_similar("word3", topn=6)]


def test_an_outcome_restricted_to_known_items_is_that_of_the_others_not_found():
    random = np.random.default_rng(0)
    values, known, gold = random.random(50), random.random(50) < 0.5, random.random(50)
    for scores in (None, gold):
        restricted = Outcome(values, np.ones(50, bool), scores, known).restrict_to_known()
        expected = Outcome(np.where(known, values, 0), known, scores)
        assert restricted.score() == expected.score()
        for got, wanted in zip(restricted.resample(20, 1), expected.resample(20, 1), strict=True):
            assert np.array_equal(got, wanted)


# ---- sentences


@pytest.mark.parametrize("method", METHODS)
def test_words_of_sentences_without_a_row_are_composed(method):
    wv, random = make_vectors(30), np.random.default_rng(2)
    sentences = [" ".join(random.choice([*WORDS, "Word3", "Word50"], size=6)) for _ in range(80)]
    task = SentenceTask("s", tuple(zip(sentences[:40], sentences[40:], strict=True)), random.random(40))
    words = [word.lower() for sentence in sentences for word in sentence.split()]
    listed = list(dict.fromkeys([*wv.index_to_key, *words]))
    counts = np.array([wv.get_vecattr(word, "count") if wv.has_index_for(word) else 0 for word in listed])
    every = WordVectors(listed, np.array([wv.get_vector(word) for word in listed]), counts)
    outcome, expected = (answer_pairs(each, task, method) for each in (wv, every))
    np.testing.assert_allclose(outcome.values, expected.values, atol=1e-5)
    assert outcome.found.all()


def test_sentences_without_any_vector_are_not_covered():
    wv = without_subwords(make_vectors(30))
    task = SentenceTask("s", (("nothing here", "or there"), ("no", "none")), np.array([1.0, 2.0]))
    assert [score.covered for score in score_sentences(wv, [task], resamples=0)] == [0, 0]
