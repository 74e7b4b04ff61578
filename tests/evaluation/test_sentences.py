"""Similarity of sentences: pooled words against a slow twin, the three layouts of files, and the real data sets."""

from __future__ import annotations

import os
import re

import numpy as np
import pytest
from scipy.stats import spearmanr

from mumon import WordVectors, datasets
from mumon.errors import DataError, FormatError, OptionError
from mumon.evaluation import SENTENCE_SUITE, SentenceTask, load_sentence_tasks, read_sentence_task, score_sentences
from mumon.evaluation.sentences import METHODS, SIF_WEIGHT, answer_pairs, split_words

WORDS = [f"w{i}" for i in range(40)]
MIRROR = os.environ.get("MUMON_DATA", "")


@pytest.fixture
def vectors():
    random = np.random.default_rng(1)
    counts = (10_000 / np.arange(1, len(WORDS) + 1)).astype(int)
    return WordVectors(WORDS, random.normal(0.5, 1, size=(len(WORDS), 6)).astype(np.float32), counts)


@pytest.fixture
def task():
    random = np.random.default_rng(2)

    def sentence():
        return " ".join(random.choice([*WORDS, "unknown", "W3", "W4,"], size=random.integers(1, 9)))

    pairs = tuple((sentence(), sentence()) for _ in range(200))
    return SentenceTask("generated", (*pairs, ("nothing known", "w1 w2")), random.random(201))


def slow_cosines(wv, task, method):
    """Word after word, sentence after sentence, and the SVD of all sentences."""
    share = wv.counts / wv.counts.sum()
    weights = np.ones(len(wv)) if method == "mean" else SIF_WEIGHT / (SIF_WEIGHT + share)
    rows = []
    for sentence in [a for a, _ in task.pairs] + [b for _, b in task.pairs]:
        known = [wv.key_to_index[word.lower()] for word in re.findall(r"\w+", sentence) if word.lower() in wv]
        vector = sum((weights[i] * wv.vectors[i].astype(float) for i in known), np.zeros(wv.vector_size))
        rows.append(vector / max(len(known), 1))
    rows = np.array(rows)
    if method == "sif":
        common = np.linalg.svd(rows, full_matrices=False)[2][0]
        unknown = ~rows.any(axis=1)
        rows = rows - np.outer(rows @ common, common)
        rows[unknown] = 0
    a, b = np.split(rows, 2)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return (a * b).sum(axis=1) / np.where(lengths > 0, lengths, 1)


@pytest.mark.parametrize("method", METHODS)
def test_the_cosines_are_those_of_a_slow_twin(vectors, task, method):
    expected, outcome = slow_cosines(vectors, task, method), answer_pairs(vectors, task, method)
    assert outcome.values == pytest.approx(expected, abs=2e-6)
    score = score_sentences(vectors, [task], [method])[0]
    assert score.score == pytest.approx(100 * spearmanr(expected, task.gold)[0], abs=1e-6)
    assert score.low < score.score < score.high and (score.task, score.method) == ("generated", method)


def test_a_sentence_without_known_words_is_similar_to_nothing_and_not_covered(vectors, task):
    outcome = answer_pairs(vectors, task, "sif")
    assert outcome.values[-1] == 0 and not outcome.found[-1]
    score = score_sentences(vectors, [task], ["mean"], resamples=0)[0]
    assert score.n == 201 and 150 < score.covered < 201
    assert np.isnan(score.low) and score.to_json()["low"] is None


def test_pairs_that_people_scored_by_the_cosine_correlate_perfectly(vectors, task):
    gold = answer_pairs(vectors, task).values
    assert score_sentences(vectors, [SentenceTask("own", task.pairs, gold)], ["mean"])[0].score == pytest.approx(100)


def test_sif_needs_counts_and_methods_have_names(vectors, task):
    bare = WordVectors(WORDS, vectors.vectors)
    assert score_sentences(bare, [task], ["mean"], resamples=0)[0].covered > 150
    with pytest.raises(OptionError, match="the 40 words came without counts, which SIF needs; use the method mean"):
        score_sentences(bare, [task])
    with pytest.raises(OptionError, match="the method is 'max'; it must be one of the 2: mean, sif"):
        score_sentences(vectors, [task], ["max"])


def test_the_interval_is_of_the_pairs_and_repeatable(vectors, task):
    first, again = (score_sentences(vectors, [task], ["mean"], seed=3)[0] for _ in range(2))
    assert first == again
    few = SentenceTask(task.name, task.pairs[:40], task.gold[:40])
    short = score_sentences(vectors, [few], ["mean"])[0]
    assert short.high - short.low > first.high - first.low


def test_words_are_letters_and_digits():
    assert split_words("A man's café, 10 years—later!") == ["A", "man", "s", "café", "10", "years", "later"]


# --- files


def test_three_layouts_are_read(tmp_path):
    (tmp_path / "b.csv").write_text('"A man, a plan.",A canal.,2.5\n"He said ""no"".",No.,4\n')
    (tmp_path / "y.tsv").write_text('1.5\t"A cat.\tA "dog".\n\tunscored\tpair\n3\tx\ty\textra\n')
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
    (tmp_path / "SICK.txt").write_bytes((header + "7\tKids play\tBoys play\t4.5\tNEUTRAL\r\n").encode())
    assert read_sentence_task(tmp_path / "b.csv").pairs == (("A man, a plan.", "A canal."), ('He said "no".', "No."))
    tsv = read_sentence_task(tmp_path / "y.tsv", name="mine")
    assert tsv.name == "mine" and tsv.pairs == (('"A cat.', 'A "dog".'), ("x", "y")) and tsv.gold.tolist() == [1.5, 3]
    sick = read_sentence_task(tmp_path / "SICK.txt")
    assert (sick.name, sick.pairs, sick.gold.tolist()) == ("SICK", (("Kids play", "Boys play"),), [4.5])
    assert load_sentence_tasks([tmp_path / "b.csv"])[0].gold.tolist() == [2.5, 4]


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.tsv", "high\tx\ty\n", "gives pair 1 the score 'high', which is not a number"),
        ("a.tsv", "1\tx\ty\n2\tx\n", "has 2 columns in line 2, but needs 3"),
        ("a.tsv", "\tx\ty\n", "holds 0 pairs with a score"),
        ("a.tsv", "", "holds 0 pairs with a score"),
        ("a.tsv", "nan\tx\ty\n", "gives 1 pairs a score that is not finite"),
        ("a.csv", "x,y\n", "has 2 columns in line 1, but needs 3"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_sentence(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_sentence_task(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_a_name_that_is_no_task_lists_those_that_are():
    with pytest.raises(OptionError, match="'sts17' is neither a file nor one of the 11 tasks stsb-train, stsb-dev"):
        load_sentence_tasks(["sts17"])


def test_named_tasks_come_from_the_mirror_and_the_files_of_a_year_are_one_task(tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_DATA", str(tmp_path))
    for file in datasets.find("sts13").files:
        (tmp_path / file.path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file.path).write_text(f"{len(file.path)}\tA.\tB.\n")
    with pytest.warns(UserWarning, match="is not the sts13 known to mumon"):
        task = load_sentence_tasks(["STS13"])[0]
    assert task.name == "sts13" and task.gold.tolist() == [len(file.path) for file in datasets.find("sts13").files]


def test_what_is_nowhere_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path))
    monkeypatch.delenv("MUMON_DATA", raising=False)

    def refuse(*_):
        raise DataError("sick could not be downloaded")

    monkeypatch.setattr(datasets, "_download", refuse)
    with pytest.raises(DataError, match="sick could not be downloaded"):
        load_sentence_tasks(["sick"])


PAIRS = {
    "stsb-train": 5749, "stsb-dev": 1500, "stsb-test": 1379, "sick-train": 4500, "sick-trial": 500, "sick": 4927,
    "sts12": 2358, "sts13": 1500, "sts14": 3750, "sts15": 3000, "sts16": 1186,
}  # fmt: skip


@pytest.mark.parametrize("name, pairs", PAIRS.items())
def test_the_real_data_sets_have_all_their_pairs(name, pairs, monkeypatch):
    dataset = datasets.find(name.split("-")[0])
    if not MIRROR or datasets.where(dataset) != "mirror":
        pytest.skip(f"MUMON_DATA names no mirror that has {dataset.name}")
    task = load_sentence_tasks([name])[0]
    assert len(task) == len(task.gold) == pairs
    assert 0 <= task.gold.min() < task.gold.max() <= 5
    assert all(first.strip() and second.strip() for first, second in task.pairs)


def test_the_suite_is_of_known_tasks():
    assert set(SENTENCE_SUITE) <= set(PAIRS)
