"""`mumon eval`: models and vectors files side by side, as a table, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from mumon import Word2Vec, WordVectors
from tests.conftest import write_mirror
from tests.formats.test_format_fasttext import model as pack_fasttext


@pytest.fixture(scope="module")
def models(tmp_path_factory, planted):
    """A folder with a good and a poor model of the planted language."""
    home = tmp_path_factory.mktemp("models")
    Word2Vec(planted, vector_size=24, min_count=1, sample=0, epochs=12, workers=1).save(home / "good.mumon")
    words = WordVectors.load(home / "good.mumon").index_to_key
    noise = np.random.default_rng(0).standard_normal((len(words), 24)).astype(np.float32)
    WordVectors(words, noise).save(home / "poor.txt")
    return home


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A mirror with the paper's five tasks, small, and files of a user's own."""
    write_mirror(tmp_path)
    (tmp_path / "own").mkdir()
    (tmp_path / "own/topics.csv").write_text("\n".join(f"topic{i}.{j},{i}" for i in range(8) for j in range(4)))
    (tmp_path / "own/odd.txt").write_text("topic1.0\ntopic1.1\ntopic1.2\n\ntopic2.1\ncapital5\n")
    monkeypatch.setenv("MUMON_DATA", str(tmp_path))
    return tmp_path


def whole(report):
    """The scores on all items, missing words skipped."""
    return [score for score in report["scores"] if (score["fold"], score["missing"]) == ("all", "skip")]


def test_one_model_gets_a_table_with_folds_intervals_coverage_and_neighbours(run, models, data):
    code, out, err = run("eval", models / "good.mumon", "--resamples", 100)
    assert code == 0, err
    assert "evaluating" not in err or "Traceback" not in err
    for expected in (
        "ws353",
        "mixed",
        "mean",
        "dev",
        "test",
        "95 % interval",
        "60 of 61",
        "lower case",
        "nearest words",
    ):
        assert expected in out
    assert "is not the ws353 known to mumon" in err  # the mirror holds another version


def test_two_models_stand_side_by_side_and_are_compared(run, models, data):
    code, out, _ = run("eval", models / "poor.txt", models / "good.mumon", "--tasks", "syn,mixed", "-q")
    assert code == 0
    assert "dev / test" in out and "is good.mumon better than poor.txt on the items that both" in out
    assert [line.split()[-1] for line in out.splitlines() if line.strip().startswith("mean") and "better" in line] == [
        "better"
    ]


def test_json_and_csv_hold_the_same_scores(run, models, data):
    arguments = ["eval", models / "good.mumon", models / "poor.txt", "--resamples", 50, "-q"]
    report = json.loads(run(*arguments, "--json")[1])
    rows = list(csv.DictReader(io.StringIO(run(*arguments, "--csv")[1])))
    assert len(rows) == len(report["scores"])
    for row, score in zip(rows, report["scores"], strict=True):
        assert (row["model"], row["task"], row["fold"]) == (score["model"], score["task"], score["fold"])
        assert row["score"] == ("" if score["score"] is None else str(score["score"]))
    mean = {
        s["model"]: s["score"]
        for s in report["scores"]
        if (s["task"], s["fold"], s["missing"]) == ("mean", "all", "skip")
    }
    assert mean["good.mumon"] > mean["poor.txt"] + 20
    assert report["comparisons"][-1]["verdict"] == "worse"
    assert report["settings"]["seed"] == 0 and report["neighbours"]["good.mumon"]


def test_own_files_categories_and_outliers_are_scored(run, models, data):
    own = data / "own"
    code, out, err = run(
        "eval", models / "good.mumon", "--tasks", data / "analogy/msr.txt", "--categories", own / "topics.csv",
        "--outliers", own / "odd.txt", "--words", "capital3,nowhere", "--missing", "zero", "--method", "mul", "-q",
        "--json",
    )  # fmt: skip
    assert code == 0, err
    report = json.loads(out)
    scores = {
        (s["task"], s["section"]): s["score"] for s in report["scores"] if s["fold"] == "all" and s["missing"] == "skip"
    }
    assert scores["topics", ""] > 90 and scores["odd", ""] == 100 and scores["msr", ""] > 70
    nearest = report["neighbours"]["good.mumon"]
    assert len(nearest["capital3"]) == 6 and nearest["nowhere"] == []


def test_tasks_may_follow_the_models_by_name_and_as_files(run, models, data):
    (data / "similarity/de").mkdir()
    pairs = "".join(f"Country{i}\tCapital{i * 3 % 16}\t{i % 5}\tn\tn\n" for i in range(16))
    text = "# Gurevych (2005)\nword1\tword2\tsimilarity\tpos1\tpos2\n" + pairs
    (data / "similarity/de/de-gur350.tsv").write_text(text)
    (data / "own/gur.tsv").write_text(text)
    rows = [f"country{i}\tcapital{i}\tcountry{i + 1}\tcapital{i + 1}\n" for i in range(15)]
    questions = "# Koeper\na1\ta2\tb1\tb2\n# first\n" + "".join(rows[:7]) + "# second\n" + "".join(rows[7:])
    (data / "own/questions.tsv").write_text(questions)
    own = data / "own"
    arguments = [models / "good.mumon", models / "poor.txt", "de-gur350", own / "gur.tsv", own / "questions.tsv"]
    code, out, err = run("eval", *arguments, "--tasks", "syn", "--json", "-q")
    assert code == 0, err
    report = json.loads(out)
    assert report["models"] == ["good.mumon", "poor.txt"]
    assert report["tasks"] == ["de-gur350", "gur", "questions", "syn"]
    scores = {(s["model"], s["task"], s["section"]): s for s in whole(report)}
    named, file = (scores["good.mumon", name, ""] for name in ("de-gur350", "gur"))
    assert named["score"] == file["score"] and named["covered"] == named["known"] == 16
    assert [scores["good.mumon", "questions", name]["n"] for name in ("first", "second")] == [7, 8]
    assert not report["composing"]


def test_vectors_with_subwords_are_scored_on_all_items_and_on_known_words(run, data):
    words = [f"country{i}" for i in range(12)] + [f"capital{i}" for i in range(12)]
    numbers = np.random.default_rng(0).standard_normal((24 + 500, 6)).astype("<f4").tobytes()
    packed = pack_fasttext([word.encode() for word in words], dim=6, bucket=500, minn=3, maxn=5, numbers=numbers)
    (data / "sub.bin").write_bytes(packed)
    WordVectors(words, WordVectors.load(data / "sub.bin").vectors).save(data / "plain.txt")
    arguments = ["eval", data / "sub.bin", data / "plain.txt", "rw", "mixed", "-q", "--resamples", 50]
    report = json.loads(run(*arguments, "--json")[1])
    assert report["composing"] == ["sub.bin"]
    scores = {
        (s["model"], s["task"], s["missing"]): s for s in report["scores"] if (s["fold"], s["section"]) == ("all", "")
    }
    for task in ("rw", "mixed", "mean"):
        every, known, plain = (
            scores[key] for key in (("sub.bin", task, "skip"), ("sub.bin", task, "known"), ("plain.txt", task, "skip"))
        )
        assert every["covered"] == every["n"] > every["known"] == known["known"] == plain["covered"] > 0
        assert known["score"] == pytest.approx(plain["score"], abs=1e-6)
    assert {row["missing"] for row in report["comparisons"]} == {"skip"}
    out = run(*arguments)[1]
    assert "known words only" in out and "for others sub.bin composes" in out and "composed" in out
    known = scores["sub.bin", "rw", "known"]
    assert f"{known['score']:.1f}" in out and f"{known['known']} of 61" in out
    out = run(*arguments, "--missing", "known")[1]
    assert "on the items whose words have rows in both" in out and "known words only" not in out
    plain = run("eval", data / "plain.txt", "rw", "-q")[1]
    assert "known" not in plain and "covered" in plain
    assert run("eval", data / "plain.txt", "rw", "-q", "--missing", "known")[0] == 0


def test_own_categories_alone_need_no_data_sets(run, models, data, monkeypatch):
    monkeypatch.setenv("MUMON_DATA", str(data / "own"))  # has none of the five tasks
    code, out, err = run("eval", models / "good.mumon", "--categories", data / "own/topics.csv", "-q")
    assert code == 0 and "topics" in out and "ws353" not in out and not err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.mumon", "--tasks", "words.txt"], "2 columns where word, word, score or four words belong"),
        (["good.mumon", "--tasks", "ws354"], "neither a file nor one of the 11 tasks"),
        (["good.mumon", "good.mumon"], "some twice"),
        (["ws353", "men"], "2 tasks and 0 models were given"),
        (["nowhere"], "nothing at nowhere"),
        (["good.mumon", "--outliers", "good.mumon/vocab.json"], "0 outliers"),
        (["good.mumon", "--tasks", "good.mumon/model.safetensors"], "not UTF-8"),
    ],
)
def test_a_mistake_is_one_sentence(run, models, data, monkeypatch, arguments, message):
    (models / "words.txt").write_text("cat 5\ndog 3\n")
    monkeypatch.chdir(models)
    code, out, err = run("eval", *arguments)
    assert code == 1 and message in err and "Traceback" not in err and not out
    assert err.splitlines()[-1].startswith("mumon: ")


def test_offline_without_a_mirror_one_sentence_says_what_to_do(run, models, monkeypatch, tmp_path):
    monkeypatch.delenv("MUMON_DATA", raising=False)
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "empty"))
    for proxy in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(proxy, "http://127.0.0.1:9")  # nothing listens there: as good as no network
    code, out, err = run("eval", models / "good.mumon", "--tasks", "ws353")
    assert code == 1 and not out
    complaint = err.splitlines()[-1]
    assert complaint.startswith("mumon: ws353 could not be downloaded") and "MUMON_DATA" in complaint
