"""Scores are gensim's where gensim has them, folds are fixed, intervals are honest, words are found as promised."""

from __future__ import annotations

import gzip
import itertools
import json
import lzma
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from mumon import Word2Vec, WordVectors
from mumon.errors import FormatError, OptionError
from mumon.evaluation import GERMAN, SUITE, Task, evaluate, is_task, load_tasks, read_task, solve
from mumon.evaluation.bootstrap import Outcome, compute_interval, compute_spearman
from mumon.evaluation.word_lookup import WordFinder
from tests.samples import refused

RANDOM = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(300)]
WV = WordVectors(WORDS, RANDOM.standard_normal((300, 12)).astype(np.float32))


def similarity_task(n=80, name="pairs", seed=1):
    random = np.random.default_rng(seed)
    pairs = tuple((WORDS[a], WORDS[b]) for a, b in random.integers(300, size=(n, 2)))
    return Task(name, "similarity", pairs, ("",) * n, random.random(n))


def analogy_task(n=60, name="questions", seed=1):
    random = np.random.default_rng(seed)
    questions = [tuple(WORDS[i] for i in random.choice(300, 4, replace=False)) for _ in range(n)]
    for i in range(0, n, 2):  # every other question has the answer that it will be given
        a, b, c, _ = questions[i]
        questions[i] = (a, b, c, WV.most_similar([b, c], [a], topn=1)[0][0])
    return Task(name, "analogy", tuple(questions), ("odd", "even") * (n // 2))


# ---- the same scores as gensim


def mirror():
    folder = os.environ.get("MUMON_DATA", "")
    return Path(folder) if folder and Path(folder, "analogy").is_dir() else None


def sample_files(folder, wv):
    """A similarity and an analogy file over the words of some vectors, a few of them unknown or in upper case."""
    random = np.random.default_rng(3)
    words = [word.title() if i % 7 == 0 else word for i, word in enumerate(wv.index_to_key)] + ["nowhere"] * 5
    pairs, questions = folder / "pairs.tsv", folder / "questions.txt"
    chosen = [random.choice(words, 2) for _ in range(400)]
    chosen = [(a, b) for a, b in chosen if a.lower() != b.lower()]  # gensim's w · w is 1, or nearly so
    lines = [f"{a}\t{b}\t{random.random():.3f}\n" for a, b in chosen]
    pairs.write_text("# a comment\nword\tword\tscore\n" + "".join(lines))
    rows = [" ".join(words[i] for i in random.integers(len(words), size=4)) for _ in range(150)]
    for a, b, c in random.integers(len(wv), size=(150, 3)):
        best = wv.most_similar([int(b), int(c)], [int(a)], topn=1)[0][0]
        rows.append(" ".join([wv.index_to_key[a], wv.index_to_key[b], wv.index_to_key[c], best]))
    questions.write_text(": first\n" + "\n".join(rows[:200]) + "\n: second\n" + "\n".join(rows[200:]) + "\n")
    return pairs, questions


def assert_same_correlations(got, expected):
    for i in range(2):
        assert got[i].statistic == pytest.approx(expected[i].statistic, abs=1e-6)
        assert got[i].pvalue == pytest.approx(expected[i].pvalue, abs=1e-4)
    assert got[2] == pytest.approx(expected[2])


def assert_as_gensim(wv, pairs, questions, tmp_path):
    gensim = pytest.importorskip("gensim.models")
    wv.save_word2vec_format(tmp_path / "v.bin", binary=True)
    theirs = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    for file in pairs:
        for dummy in (False, True):
            expected = theirs.evaluate_word_pairs(str(file), dummy4unknown=dummy)
            got = wv.evaluate_word_pairs(file, dummy4unknown=dummy)
            assert_same_correlations(got, expected)
        score = evaluate(wv, [read_task(file, name="pairs")], resamples=0).score("model", "pairs").score
        assert score / 100 == pytest.approx(theirs.evaluate_word_pairs(str(file))[1][0], abs=1e-6)
    for file in questions:
        for dummy in (False, True):
            expected = theirs.evaluate_word_analogies(str(file), dummy4unknown=dummy)
            assert wv.evaluate_word_analogies(file, dummy4unknown=dummy) == expected
        score = evaluate(wv, [read_task(file, name="q")], resamples=0).score("model", "q").score
        assert score / 100 == pytest.approx(theirs.evaluate_word_analogies(str(file))[0], abs=1e-12)


def test_a_trained_models_scores_are_gensims(planted, tmp_path):
    wv = Word2Vec(planted, vector_size=24, epochs=3, workers=1, min_count=1).wv
    pairs, questions = sample_files(tmp_path, wv)
    assert_as_gensim(wv, [pairs], [questions], tmp_path)


@pytest.mark.skipif(mirror() is None, reason="MUMON_DATA does not name a folder with the data sets")
def test_gloves_scores_are_gensims(tmp_path):
    data = mirror()
    text = lzma.decompress((data / "vectors/glove.6B.100d.top50k.txt.xz").read_bytes())
    (tmp_path / "glove.txt").write_bytes(text)
    wv = WordVectors.load(tmp_path / "glove.txt")
    google = (data / "analogy/questions-words.txt").read_text().splitlines()
    some = [line for i, line in enumerate(google) if line.startswith(":") or i % 20 == 0]  # gensim is slow
    msr = (data / "analogy/msr.txt").read_text().splitlines()[::20]
    (tmp_path / "google.txt").write_text("\n".join(some))
    (tmp_path / "msr.txt").write_text(": msr\n" + "\n".join(msr))
    assert_as_gensim(
        wv, sorted(data.glob("similarity/*.txt")), [tmp_path / "google.txt", tmp_path / "msr.txt"], tmp_path
    )


def test_sections_that_are_empty_or_come_twice_compressed_files_and_options_are_as_in_gensim(tmp_path):
    gensim = pytest.importorskip("gensim.models")
    WV.save_word2vec_format(tmp_path / "v.bin", binary=True)
    theirs = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    lines = [" ".join(words) for words in analogy_task().items]
    text = "\n".join([": a", *lines[:9], ": b", ": a", "no question", *lines[9:]])
    with gzip.open(tmp_path / "q.txt.gz", "wt") as file:
        file.write(text)
    for options in ({}, {"restrict_vocab": 150}):
        expected = theirs.evaluate_word_analogies(str(tmp_path / "q.txt.gz"), **options)
        assert WV.evaluate_word_analogies(tmp_path / "q.txt.gz", **options) == expected
    task = similarity_task()
    pairs = [f"{a}x{b}x{score}" for (a, b), score in zip(task.items, task.gold, strict=True)]
    (tmp_path / "p.txt").write_text("\n".join([*pairs, "éxw1x3"]), encoding="latin-1")
    options = {"delimiter": "x", "encoding": "latin-1", "restrict_vocab": 200}
    expected = theirs.evaluate_word_pairs(str(tmp_path / "p.txt"), **options)
    assert_same_correlations(WV.evaluate_word_pairs(tmp_path / "p.txt", **options), expected)
    refused(
        lambda: WV.evaluate_word_analogies(tmp_path / "q.txt.gz", similarity_function="x"), "'x'", error=OptionError
    )


def test_words_that_differ_in_case_only_are_one_word_as_in_gensim(tmp_path):
    words = [w for i in range(60) for w in (f"w{i}", f"W{i}")]
    wv = WordVectors(words, np.random.default_rng(5).standard_normal((120, 4)).astype(np.float32))
    pairs, questions = sample_files(tmp_path, wv)
    gensim = pytest.importorskip("gensim.models")
    wv.save_word2vec_format(tmp_path / "v.bin", binary=True)
    theirs = gensim.KeyedVectors.load_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    for fold in (True, False):
        assert wv.evaluate_word_analogies(questions, case_insensitive=fold) == theirs.evaluate_word_analogies(
            str(questions), case_insensitive=fold
        )
        expected = theirs.evaluate_word_pairs(str(pairs), case_insensitive=fold)
        assert_same_correlations(wv.evaluate_word_pairs(pairs, case_insensitive=fold), expected)


# ---- analogies, fast and naive


@pytest.mark.parametrize("limit", [None, 100])
@pytest.mark.parametrize("method", ["add", "mul"])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_fast_solver_answers_as_one_question_at_a_time(method, limit, workers, monkeypatch):
    monkeypatch.setattr("mumon.vectors.analogies.BLOCK_ROWS", 32)
    questions = np.random.default_rng(2).integers(100, size=(200, 3))
    ask = WV.most_similar if method == "add" else WV.most_similar_cosmul
    expected = [
        ask([WORDS[b], WORDS[c]], [WORDS[a]], topn=1, restrict_vocab=limit)[0][0] for a, b, c in questions.tolist()
    ]
    answers = solve(WV, questions, method, limit=limit, workers=workers)
    assert [WORDS[i] for i in answers] == expected


def test_a_question_without_any_word_left_has_no_answer():
    wv = WordVectors(["a", "b", "c"], np.eye(3, dtype=np.float32))
    assert solve(wv, [(0, 1, 2)]).tolist() == [-1]
    assert solve(wv, np.empty((0, 3), np.int64)).tolist() == []
    refused(lambda: solve(wv, [(0, 1, 2)], "divide"), "divide", "add or mul", error=OptionError)


def test_rows_of_zeros_have_a_cosine_of_0_and_rows_of_nan_are_no_answer():
    vectors = np.array([[1, 0], [1, 1], [0, 1], [0, 0], [0.1, 2], [np.nan, 1]], np.float32)
    wv = WordVectors(list("abczen"), vectors)
    assert solve(wv, [(0, 1, 2)]).tolist() == [4]
    assert solve(WordVectors(list("abcz"), vectors[:4]), [(0, 1, 2)]).tolist() == [3]


# ---- folds


def test_folds_are_halves_and_do_not_depend_on_the_order_of_the_file():
    task = similarity_task(81)
    order = np.random.default_rng(9).permutation(81)
    shuffled = Task("other", "similarity", tuple(task.items[i] for i in order), ("",) * 81, task.gold[order])
    dev, test = task.fold("dev"), task.fold("test")
    assert dev.sum() == 40 and test.sum() == 41 and not np.any(dev & test)
    assert np.array_equal(shuffled.fold("dev"), dev[order])
    assert not np.array_equal(task.fold("dev", seed=1), dev)


def test_folds_are_the_same_in_every_release():
    task = Task("t", "analogy", tuple((str(i), "b", "c", "d") for i in range(8)), ("",) * 8)
    assert task.fold("dev").astype(int).tolist() == [1, 1, 0, 1, 0, 1, 0, 0]


def test_dev_and_test_scores_are_those_of_their_items():
    task = similarity_task()
    report = evaluate(WV, [task], resamples=0)
    for fold in ("dev", "test", "all"):
        items = [pair for pair, used in zip(task.items, task.fold(fold), strict=True) if used]
        expected = spearmanr(task.gold[task.fold(fold)], [WV.similarity(*pair) for pair in items])[0]
        assert report.score("model", "pairs", fold).score == pytest.approx(100 * expected, abs=1e-4)


# ---- missing words and case


def test_missing_words_are_skipped_or_count_as_zero():
    task = analogy_task(40)
    items = (*task.items[:30], *((*words[:3], "unknown") for words in task.items[30:]))
    report = evaluate(WV, [Task("t", "analogy", items, task.sections)], resamples=0)
    skip, zero = (report.score("model", "t", missing=m) for m in ("skip", "zero"))
    assert (skip.covered, skip.n, skip.coverage) == (30, 40, 0.75)
    assert zero.score == pytest.approx(skip.score * 30 / 40)
    pairs = similarity_task(20)
    broken = Task("p", "similarity", (("unknown", "w1"), *pairs.items[1:]), ("",) * 20, pairs.gold)
    report = evaluate(WV, [broken], resamples=0)
    cosines = [0.0, *(WV.similarity(*pair) for pair in pairs.items[1:])]
    expected = 100 * spearmanr(pairs.gold, cosines)[0]
    assert report.score("model", "p", missing="zero").score == pytest.approx(expected, abs=1e-4)


def test_a_word_is_looked_for_as_it_is_then_in_lower_case_then_with_the_other_apostrophe():
    wv = WordVectors(["Paris", "paris", "rome", "king’s"], np.eye(4, dtype=np.float32))
    finder = WordFinder(wv)
    assert [finder.find(word) for word in ("Paris", "Rome", "King's", "Oslo")] == [
        (0, "as is"),
        (2, "lower case"),
        (3, "other apostrophe"),
        (-1, "missing"),
    ]
    assert WordFinder(wv, limit=2).find("Rome") == (-1, "missing")
    task = Task("t", "similarity", (("Paris", "Rome"), ("Oslo", "Rome")), ("", ""), np.array([1.0, 2.0]))
    assert evaluate(wv, [task], resamples=0).found["model"]["t"] == {"as is": 1, "lower case": 1, "missing": 1}


def test_possessives_of_msr_are_a_section_of_their_own(tmp_path, monkeypatch):
    (tmp_path / "analogy").mkdir()
    (tmp_path / "analogy/msr.txt").write_text("good\tbetter\tbad\tworse\ncity\tcity's\tboy\tboy's\n")
    monkeypatch.setenv("MUMON_DATA", str(tmp_path))
    with pytest.warns(UserWarning, match="not the syn known"):
        (task,) = load_tasks(["msr"])
    assert task.sections == ("inflection", "possessive")
    (tmp_path / "syn.txt").write_text(": one\ngood better bad worse\n: two\ncity cities boy boys\n")
    assert read_task(tmp_path / "syn.txt").sections == ("one", "two")  # a file of one's own keeps its sections


# ---- intervals and comparisons


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=3, max_size=12))
def test_weighted_ranks_are_the_ranks_of_the_repeated_sample(rows):
    x, y, times = (np.array(column, float) for column in zip(*rows, strict=True))
    repeated = np.repeat(np.arange(len(x)), times.astype(int))
    if len(repeated) < 2 or np.ptp(x[repeated]) == 0 or np.ptp(y[repeated]) == 0:
        return
    expected = spearmanr(x[repeated], y[repeated])[0]
    assert compute_spearman(x, y, times[None])[0] == pytest.approx(expected, abs=1e-9)


def test_intervals_cover_the_truth_about_95_times_in_100():
    random, truth, hits = np.random.default_rng(4), 0.3, 0
    for trial in range(200):
        right = (random.random(400) < truth).astype(float)
        low, high = compute_interval(Outcome(right, np.ones(400, bool)).resample(300, trial)[0])
        hits += low <= 100 * truth <= high
    assert 180 <= hits <= 198


def test_a_better_model_is_called_better_and_a_copy_is_not():
    rough = WordVectors(WORDS, WV.vectors + RANDOM.standard_normal((300, 12)).astype(np.float32))
    task = similarity_task(200)
    gold = np.array([WV.similarity(*pair) for pair in task.items])
    task = Task("pairs", "similarity", task.items, task.sections, gold)
    report = evaluate({"rough": rough, "good": WV, "copy": WordVectors(WORDS, WV.vectors)}, [task])
    verdicts = {b: report.compare("rough", b)[-1] for b in ("good", "copy")}
    assert verdicts["good"].verdict == "better" and verdicts["good"].low > 0 and verdicts["good"].better > 0.99
    same = report.compare("good", "copy")[0]
    assert same.verdict == "no clear difference" and (same.difference, same.better) == (0, 0.5)
    assert report.compare("good", "rough")[0].verdict == "worse"


def test_models_are_compared_on_the_items_that_both_have_the_words_of():
    questions = analogy_task(60)
    unknown = Task("questions", "analogy", (*questions.items, *[("w1", "w2", "w3", "w299")] * 20), ("",) * 80)
    part = WordVectors(WORDS[:290], WV.vectors[:290])
    report = evaluate({"whole": WV, "part": part}, [similarity_task(200), unknown], restrict_vocab=None)
    for task, comparison in zip(("pairs", "questions"), report.compare("whole", "part"), strict=False):
        both = report.outcomes["whole", task].found & report.outcomes["part", task].found
        scores = [report.outcomes[model, task].select(both).score() for model in ("whole", "part")]
        assert comparison.difference == pytest.approx(scores[1] - scores[0])
        assert comparison.low <= comparison.difference <= comparison.high and comparison.high - comparison.low < 20
        assert comparison.n == both.sum() < len(both)
    same = report.compare("whole", "part")[0]
    assert (same.low, same.high) == (0, 0) and report.score("part", "pairs").score != report.score(
        "whole", "pairs"
    ).score
    assert report.compare("whole", "part", missing="zero")[1].n == 80


def test_questions_before_the_first_section_belong_to_the_whole_only():
    right, wrong = analogy_task().items[::2], analogy_task().items[1::2]
    task = Task("q", "analogy", (*right, *wrong), ("",) * 30 + ("wrong",) * 30)
    report = evaluate(WV, [task])
    score, mean = report.score("model", "q"), report.score("model", "mean")
    assert (score.score, score.low, score.high) == (mean.score, mean.low, mean.high) and score.low < 50 < score.high
    assert [s.section for s in report.scores if s.fold == "all" and s.missing == "skip"] == ["", "wrong"]


def test_tasks_that_a_report_could_not_tell_apart_are_refused():
    refused(
        lambda: evaluate(WV, [similarity_task(), similarity_task()]), "'pairs' is the name of two", error=OptionError
    )
    refused(lambda: evaluate(WV, [similarity_task(name="mean")]), "'mean'", "rename", error=OptionError)
    refused(lambda: evaluate(WV, [Task("none", "analogy", (), ())]), "0 items", error=OptionError)


def test_a_model_a_single_task_and_a_path_will_do(planted, tmp_path):
    model = Word2Vec(planted[:300], vector_size=8, min_count=1, epochs=1, workers=1)
    (tmp_path / "p.csv").write_text("country1,capital1,9\ncountry2,capital1,3\ntopic1.1,topic1.2,5\n")
    report = evaluate({"a": model, "b": model.wv}, str(tmp_path / "p.csv"), resamples=0)
    assert report.score("a", "p").score == report.score("b", "p").score


def test_a_report_is_the_same_every_time_and_its_mean_is_that_of_its_tasks():
    tasks = [similarity_task(), analogy_task()]
    first, again = (evaluate(WV, tasks, workers=w) for w in (1, 2))
    assert first.to_json() == again.to_json()
    for fold in ("dev", "test", "all"):
        parts = [first.score("model", task.name, fold).score for task in tasks]
        assert first.mean("model", fold) == pytest.approx(np.mean(parts))
    mean = first.score("model", "mean")
    assert mean.low < mean.score < mean.high
    json.dumps(first.to_json(), allow_nan=False)


def test_a_task_without_any_known_word_is_left_out_of_the_mean():
    empty = Task("empty", "similarity", (("x", "y"), ("y", "z")), ("", ""), np.array([1.0, 2.0]))
    report = evaluate(WV, [similarity_task(), empty], resamples=10)
    assert report.averaged == ["pairs"] and np.isnan(report.score("model", "empty").score)
    assert report.mean("model") == report.score("model", "pairs").score


# ---- files


@pytest.mark.parametrize(
    ("text", "kind", "items"),
    [
        ("cup\tmug\t9\nsun\tmoon\t5.5\n", "similarity", (("cup", "mug"), ("sun", "moon"))),
        ("cup mug 9\nsun moon 5.5\n", "similarity", (("cup", "mug"), ("sun", "moon"))),
        ("Word 1,Word 2,Human (mean)\ncup,mug,9\nsun,moon,5\n", "similarity", (("cup", "mug"), ("sun", "moon"))),
        ("cup;mug;9\nsun;moon;5\n", "similarity", (("cup", "mug"), ("sun", "moon"))),
        ("w1\tw2\tmean\tr1\tr2\ncup\tmug\t9\t8\t10\n", "similarity", (("cup", "mug"),)),
        ("\ufeff# note\n\ncup\tmug\t9\r\nsun\tmoon\t5\r\n", "similarity", (("cup", "mug"), ("sun", "moon"))),
        ('"new york",city,9\nsun,moon,5\n', "similarity", (("new york", "city"), ("sun", "moon"))),
        (": one\na b c d\n: two\ne f g h\n", "analogy", (("a", "b", "c", "d"), ("e", "f", "g", "h"))),
        ("a\tb\tc\td\n", "analogy", (("a", "b", "c", "d"),)),
        ("word1,word2,word3,answer\nx,y,z,w\n", "analogy", (("x", "y", "z", "w"),)),
        ("a,b,c,d\nx,y,z,w\n", "analogy", (("x", "y", "z", "w"),)),
        ("x b c d \t\ne f g h\n", "analogy", (("x", "b", "c", "d"), ("e", "f", "g", "h"))),
        ('cup\t"\t9\t\nsun\tmoon\t5\t\n', "similarity", (("cup", '"'), ("sun", "moon"))),
    ],
)
def test_task_files_are_read_with_or_without_header_and_with_any_delimiter(text, kind, items, tmp_path):
    (tmp_path / "task.txt").write_bytes(text.encode())
    task = read_task(tmp_path / "task.txt")
    assert (task.name, task.kind, task.items) == ("task", kind, items)


def test_sections_are_kept_and_googles_have_two_halves(tmp_path):
    names = ("capital-common-countries", "capital-world", "currency", "city-in-state", "family", "gram1-adverb")
    (tmp_path / "g.txt").write_text("".join(f": {name}\na b c d\n" for name in names))
    groups = read_task(tmp_path / "g.txt").groups()
    assert list(groups)[-2:] == ["semantic", "syntactic"] and groups["semantic"].sum() == 5
    report = evaluate(WV, [analogy_task()], resamples=0)
    halves = [report.score("model", "questions", section=s).score for s in ("odd", "even")]
    assert halves[0] == 100 and report.score("model", "questions").score == pytest.approx(np.mean(halves))


GERMAN_ANALOGIES = (
    "# Koeper (2015)\na1\ta2\tb1\tb2\n# capital-world\nAthen\tGriechenland\tBagdad\tIrak\n\n#family\n"
    "Junge\tMädchen\tBruder\tSchwester\nJunge\tMädchen\tGroßvater\tGroßmutter\n"
)


def test_comments_below_the_header_of_the_german_analogies_are_sections(tmp_path):
    (tmp_path / "de.tsv").write_text(GERMAN_ANALOGIES, encoding="utf-8")
    task = read_task(tmp_path / "de.tsv")
    assert (task.kind, task.sections) == ("analogy", ("capital-world", "family", "family"))
    assert task.items[2] == ("Junge", "Mädchen", "Großvater", "Großmutter")


@pytest.mark.parametrize(
    "text",
    [
        "# note\na b c x\n# one\ne f g h\n",
        "word1\tword2\tword3\tword4\n# one\na\tb\tc\tx\n# two\ne\tf\tg\th\n",
        "a1 a2 b1 b2\n# one\na b c x\n# two\ne f g h\n",
        ": \n# one\na\tb\tc\tx\n# two\ne\tf\tg\th\n",
    ],
)
def test_comments_of_other_files_stay_comments(text, tmp_path):
    (tmp_path / "q.txt").write_text(text)
    task = read_task(tmp_path / "q.txt")
    assert (task.items, task.sections) == ((("a", "b", "c", "x"), ("e", "f", "g", "h")), ("", ""))


def test_pairs_may_have_comments_a_header_and_parts_of_speech(tmp_path):
    text = "# Gurevych\n# IRR .69\nword1\tword2\tsimilarity\tpos1\tpos2\n"
    text += "Absage\tablehnen\t3.5\tn\tv\nAffe\tMakake\t4\tn\tn\n"
    (tmp_path / "gur.tsv").write_text(text)
    task = read_task(tmp_path / "gur.tsv")
    assert task.items == (("Absage", "ablehnen"), ("Affe", "Makake")) and task.gold.tolist() == [3.5, 4]


def test_semantic_questions_alone_have_no_syntactic_half(tmp_path):
    names = ("capital-common-countries", "capital-world", "currency", "city-in-state", "family")
    (tmp_path / "g.txt").write_text("".join(f": {name}\na b c d\n" for name in names))
    assert list(read_task(tmp_path / "g.txt").groups()) == list(names)


def test_german_tasks_have_names_and_come_from_the_mirror(tmp_path, monkeypatch):
    (tmp_path / "analogy/de").mkdir(parents=True)
    (tmp_path / "analogy/de/de-semantic-google.tsv").write_text(GERMAN_ANALOGIES, encoding="utf-8")
    monkeypatch.setenv("MUMON_DATA", str(tmp_path))
    for name in ("de-semantic", "DE-semantic-google"):
        with pytest.warns(UserWarning, match="not the de-semantic known"):
            (task,) = load_tasks([name])
        assert (task.name, len(task)) == ("de-semantic", 3)


@pytest.mark.skipif(
    mirror() is None or not (mirror() / "analogy/de").is_dir(), reason="MUMON_DATA names no folder with the German sets"
)
def test_the_german_sets_are_read_whole():
    tasks = {task.name: task for task in load_tasks(GERMAN)}
    sizes = {name: len(task) for name, task in tasks.items()}
    assert sizes == dict(zip(GERMAN, (350, 222, 280, 130, 9683, 8869), strict=True))
    assert {name: len(task.groups()) for name, task in tasks.items() if task.kind == "analogy"} == {
        "de-syntactic": 8,
        "de-semantic": 5,
    }
    words = {word for task in tasks.values() for item in task.items for word in item}
    lower = WordVectors(sorted({word.lower() for word in words}), np.ones((len({w.lower() for w in words}), 2)))
    assert min(WordFinder(lower).find_rows(words)) >= 0  # Fünf is found as fünf, Ägypten as ägypten
    assert not any("#" in word or "\t" in word or word in ("a1", "word1") for word in words)


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(st.text("abcäöüßÄÖÜ", min_size=1, max_size=6), min_size=4, max_size=12),
    delimiter=st.sampled_from(["\t", ",", ";", " "]),
    header=st.booleans(),
)
def test_files_of_words_are_tasks_and_files_of_vectors_are_not(words, delimiter, header, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    lines = [delimiter.join(["word1", "word2", "score"])] * header
    lines += [delimiter.join([a, b, "2.5"]) for a, b in itertools.pairwise(words)]
    (folder / "pairs").write_text("# note\n" + "\n".join(lines), encoding="utf-8")
    (folder / "four").write_text(": one\n" + "\n".join(" ".join(words[:4]) for _ in range(3)), encoding="utf-8")
    assert is_task(folder / "pairs") and is_task(folder / "four")
    wv = WordVectors(list(dict.fromkeys(words)), np.ones((len(set(words)), 3), np.float32))
    for name in ("v.txt", "v.glove", "v.bin", "v.mumon", "v.npz"):
        wv.save(folder / name)
        assert not is_task(folder / name)
    (folder / "text").write_text("\n".join(" ".join(words[:n]) for n in (1, 4, 3)), encoding="utf-8")
    assert not is_task(folder / "text") and not is_task(folder / "nowhere")


def test_a_name_is_a_task_unless_there_is_such_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert is_task("de-gur350") and is_task("WS353") and is_task("google") and not is_task("stsb")
    (tmp_path / "rw").mkdir()
    assert not is_task("rw") and is_task("men")


@pytest.mark.parametrize(
    ("text", "patterns"),
    [
        ("", ["0 lines"]),
        ("a b c d\na b c d\na b c\n", ["4 columns in its first line and 3 in 'a b c'"]),
        ("a b\na b 5\n", ["2 columns in its first line and 3"]),
        ("a,b,5\na,,5\n", ["3 columns in its first line and 2"]),
        ("a\tb\tmany\nc\td\t5\ne\tf\t?\n", ["e f", "not a number"]),
        ("only\nwords\n", ["1 column ", "--categories"]),
        ("cat animal\nrose plant\n", ["2 columns", "--categories"]),
        (b"caf\xe9 tea 5\n", ["not UTF-8", "byte 3"]),
    ],
)
def test_a_damaged_task_file_is_refused_in_one_sentence(text, patterns, tmp_path):
    (tmp_path / "bad.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(lambda: read_task(tmp_path / "bad.txt"), "bad.txt", *patterns)


# ---- categories and outliers


def test_clear_clusters_are_pure_and_shuffled_ones_are_not(tmp_path):
    centres = np.repeat(np.eye(3, 8), 10, axis=0)
    words = [f"{kind}{i}" for kind in "abc" for i in range(10)]
    wv = WordVectors(words, (centres + 0.05 * RANDOM.standard_normal((30, 8))).astype(np.float32))
    (tmp_path / "c.txt").write_text("\n".join(f"{word}\t{word[0]}" for word in words) + "\nunknown\ta\n")
    task = read_task(tmp_path / "c.txt", kind="categories")
    (tmp_path / "headed.txt").write_text("word\tcategory\n" + (tmp_path / "c.txt").read_text())
    assert read_task(tmp_path / "headed.txt", kind="categories").items == task.items
    score = evaluate(wv, [task]).score("model", "c")
    assert score.score == 100 and (score.covered, score.n) == (30, 31)
    mixed = WordVectors(words, wv.vectors[np.random.default_rng(1).permutation(30)])
    assert evaluate(mixed, [task]).score("model", "c").score < 70


def test_the_word_that_does_not_belong_is_found(tmp_path):
    wv = WordVectors(
        ["cat", "dog", "cow", "car", "pig"], np.array([[9, 1], [8, 1], [7, 2], [1, 9], [2, 8]], np.float32)
    )
    (tmp_path / "o.txt").write_text(": animals\ncat\ndog\ncow\n\ncar\npig\nunknown\n: more\ncar\npig\n\ncat\n")
    task = read_task(tmp_path / "o.txt", kind="outliers")
    assert task.items[0] == ("cat", "dog", "cow", "car") and len(task) == 4
    report = evaluate(wv, [task])
    assert report.score("model", "o").score == 100 and report.score("model", "o").covered == 3
    assert report.score("model", "o", section="position").score == 100
    odd = Task("odd", "outliers", (("cat", "car", "pig", "dog"),), ("",))
    assert evaluate(wv, [odd]).score("model", "odd").score == 0
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "animals.txt").write_text("cat\ndog\ncow\n\ncar\n")
    assert read_task(tmp_path / "topics", kind="outliers").sections == ("animals",)
    (tmp_path / "blank.txt").write_text(": animals\ncat\ndog\n  \ncar\n: cars\ncar\npig\n\ncat\n")
    assert len(read_task(tmp_path / "blank.txt", kind="outliers")) == 2
    (tmp_path / "none.txt").write_text("cat\ndog\n")
    refused(lambda: read_task(tmp_path / "none.txt", kind="outliers"), "0 outliers", error=FormatError)


def test_the_suite_has_the_papers_names():
    assert SUITE == ("ws353", "men", "rw", "syn", "mixed")
    assert not set(SUITE) & set(GERMAN)
