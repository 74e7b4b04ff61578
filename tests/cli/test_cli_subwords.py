"""The shell and models with n-grams: train, resume, continue, ask about words that were never seen, estimate."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from mumon import FastText, WordVectors
from mumon.fasttext import load_trained
from mumon.formats import detect
from mumon.formats.directory import load_model
from mumon.vectors.fasttext_vectors import FastTextVectors
from tests.formats.test_format_fasttext import naive_rows
from tests.samples import files_of

TRAIN = ["--dim", 8, "--min-count", 1, "--sample", 0, "--threads", 1, "--epochs", 2, "--quiet"]
NGRAMS = ["--subwords", "3-6", "--buckets", "50k"]


@pytest.fixture
def corpus(tmp_path, planted):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(map(" ".join, planted[:1500])))
    return path


@pytest.fixture
def trained(run, corpus):
    assert run("train", corpus, "-o", "m.mumon", *TRAIN, *NGRAMS)[0] == 0
    return corpus


def test_options_of_subwords_reach_the_trainer(run, trained, corpus):
    model = load_trained("m.mumon")
    assert type(model) is FastText and (model.min_n, model.max_n, model.bucket) == (3, 6, 50_000)
    assert not model.settings.pool_rows and len(model.history) == 2
    options = {"vector_size": 8, "min_count": 1, "sample": 0, "workers": 1, "epochs": 2, "bucket": 50_000}
    same = FastText(corpus_file=corpus, **options, progress=False)
    np.testing.assert_array_equal(model.wv.vectors, same.wv.vectors)
    assert run("train", corpus, "-o", "p.mumon", *TRAIN, "--subwords", 4, "--pool-rows", "--objective", "cbow")[0] == 0
    pooled = load_trained("p.mumon")
    assert (pooled.min_n, pooled.max_n, pooled.bucket, pooled.settings.pool_rows) == (4, 4, 2_000_000, True)


def test_unknown_words_have_neighbours(run, trained):
    code, out, _ = run("similar", "m.mumon", "countryside", "-n", 3, "--json")
    found = [entry["word"] for entry in json.loads(out)["neighbours"]]
    assert code == 0 and found == [word for word, _ in WordVectors.load("m.mumon").most_similar("countryside", topn=3)]
    assert run("similar", "m.mumon", "topic3.1", "-n", 3)[0] == 0


def test_info_says_what_ngrams_there_are(run, trained):
    code, out, _ = run("info", "m.mumon", "--json")
    about = json.loads(out)
    assert code == 0 and about["training"]["subwords"] == {"min_n": 3, "max_n": 6, "bucket": 50_000}
    code, out, _ = run("info", "m.mumon")
    assert code == 0 and "50000" in out.replace(",", "")


def test_the_extension_bin_is_fasttexts_for_a_model_with_ngrams(run, trained, corpus):
    assert run("convert", "m.mumon", "m.bin")[0] == 0
    assert run("train", corpus, "-o", "direct.bin", *TRAIN, *NGRAMS)[0] == 0
    model = load_trained("m.mumon")
    for name in ("m.bin", "direct.bin"):
        assert detect(name).name == "fasttext-bin" and run("info", name)[0] == 0
        wv = WordVectors.load(name)
        np.testing.assert_allclose(wv.vectors, model.wv.vectors, atol=1e-5)
        np.testing.assert_allclose(wv["countryside"], model.wv["countryside"], atol=1e-5)
    assert run("similar", "m.bin", "countryside", "-n", 1)[1] == run("similar", "m.mumon", "countryside", "-n", 1)[1]


@pytest.mark.parametrize("dtype", ["int8", "float16"])
def test_smaller_folders_still_know_any_word(run, trained, dtype):
    assert run("convert", "m.mumon", "small.mumon", "--dtype", dtype)[0] == 0
    small, model = WordVectors.load("small.mumon"), WordVectors.load("m.mumon")
    assert isinstance(small, FastTextVectors)
    np.testing.assert_allclose(small["countryside"], model["countryside"], atol=0.02)
    assert run("similar", "small.mumon", "countryside", "-n", 1)[0] == 0


@pytest.fixture
def more(tmp_path):
    path = tmp_path / "more.txt"
    path.write_text("countryside capital1 topic1.1\n" * 200)
    return path


def test_training_continues_from_a_model_with_ngrams(run, trained, more):
    before = load_trained("m.mumon")
    assert run("train", more, "-o", "n.mumon", "--from", "m.mumon", "--epochs", 1, "--quiet", "--threads", 1)[0] == 0
    model = load_trained("n.mumon")
    assert type(model) is FastText and model.bucket == 50_000 and len(model.history) == 3
    assert model.wv.has_index_for("countryside") and len(model.wv) == len(before.wv) + 1
    row, old = model.wv.get_index("country5"), before.wv.get_index("country5")
    assert np.isfinite(model.wv.vectors).all()
    np.testing.assert_array_equal(model.wv.vectors_vocab[row], before.wv.vectors_vocab[old])  # it is not in the text
    code, _, err = run("train", more, "-o", "o.mumon", "--from", "m.mumon", "--subwords", "3-6")
    assert code != 0 and "leave out --subwords" in err and len(err.strip().splitlines()) == 1


def test_training_continues_from_a_bin_with_its_ngrams(run, trained, more):
    assert run("convert", "m.mumon", "m.bin")[0] == 0
    saved = FastText.from_facebook("m.bin", progress=False)
    assert run("train", more, "-o", "n.mumon", "--from", "m.bin", "--epochs", 1, "--quiet", "--threads", 1)[0] == 0
    model = load_trained("n.mumon")
    assert type(model) is FastText and (model.min_n, model.max_n, model.bucket) == (3, 6, 50_000)
    assert model.wv.has_index_for("countryside")
    row, old = model.wv.get_index("country5"), saved.wv.get_index("country5")
    np.testing.assert_array_equal(model.wv.vectors_vocab[row], saved.wv.vectors_vocab[old])
    code = run("train", more, "-o", "s.mumon", "--from", "m.bin", "--objective", "sg", "--epochs", 1, "--quiet")[0]
    assert code == 0 and load_trained("s.mumon").sg == 1


def test_ngrams_are_added_to_vectors_that_had_none(run, trained, more):
    assert run("convert", "m.mumon", "v.txt")[0] == 0
    options = ["--epochs", 1, "--quiet", "--threads", 1, *NGRAMS]
    assert run("train", more, "-o", "n.mumon", "--from", "v.txt", *options)[0] == 0
    model, start = load_trained("n.mumon"), WordVectors.load("v.txt")
    assert type(model) is FastText and model.wv.has_index_for("countryside")
    size = 1 + len(naive_rows(b"country5", 3, 6, 50_000))  # the own row makes up for n-grams of zeros
    own = model.wv.vectors_vocab[model.wv.get_index("country5")]
    np.testing.assert_allclose(own / size, start["country5"], atol=1e-5)


@pytest.mark.xfail(reason="CBOW with n-grams at a high rate differs in the last digits from run to run", strict=False)
def test_an_interrupted_run_resumes_to_the_same_bytes(run, tmp_path, planted, kernels):
    corpus = tmp_path / "long.txt"
    corpus.write_text("\n".join(map(" ".join, planted)))
    options = [*map(str, TRAIN[:-3]), "--epochs", "40", *NGRAMS]
    command = [sys.executable, "-m", "mumon", "train", str(corpus), "-o", "m.mumon", *options, "--checkpoint-every"]
    process = subprocess.Popen([*command, "20k", "--log-json"], env=kernels, cwd=tmp_path, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    folder = tmp_path / "m.mumon.checkpoints"
    while process.poll() is None and not (folder.exists() and any(folder.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) != 0 and any(folder.iterdir()), "it was not stopped in time"
    code, _, err = run("train", corpus, "-o", "m.mumon", *options, "--resume", "--quiet")
    assert code == 0, err
    assert run("train", corpus, "-o", "whole.mumon", *options, "--quiet")[0] == 0
    resumed, whole = files_of(tmp_path / "m.mumon"), files_of(tmp_path / "whole.mumon")
    assert {**resumed, "history.json": b""} == {**whole, "history.json": b""} and not folder.exists()


def test_an_estimate_knows_of_the_rows_of_ngrams(run, trained, corpus):
    plain, ngrams = (
        json.loads(run("train", corpus, "--estimate", "--json", *TRAIN, *more)[1]) for more in ([], NGRAMS)
    )
    model = load_trained("m.mumon")
    rows = (len(model.wv.subwords.rows) + len(model.wv)) * 64  # the vectors themselves are a third matrix
    assert ngrams["words"] == plain["words"] == len(model.wv) and ngrams["tokens_per_second"] > 0
    assert ngrams["memory_bytes"]["peak"] > plain["memory_bytes"]["peak"] + rows / 2


@pytest.mark.parametrize(
    "options, message",
    [
        (["--buckets", "50k"], "add --subwords 3-6"),
        (["--pool-rows"], "add --subwords 3-6"),
        (["--subwords", "abc"], "--subwords is 'abc'"),
        (["--subwords", "3-6-9"], "--subwords is '3-6-9'"),
        (["--subwords", "3-999"], "max_n is 999"),
        (["--subwords", "3-6", "--buckets", "many"], "--buckets"),
        (["--subwords", "3-6", "--buckets", "-5"], "bucket"),
        (["--subwords", "3-6", "--positions", "4"], "positions is 4"),
    ],
    ids=" ".join,
)
def test_mistakes_end_in_one_sentence(run, corpus, options, message):
    code, out, err = run("train", corpus, "-o", "m.mumon", *options)
    assert code != 0 and message in err and not out
    assert "Traceback" not in err


def test_a_folder_of_the_command_line_is_loaded_as_the_class_that_trained_it(run, trained, corpus):
    assert run("train", corpus, "-o", "plain.mumon", *TRAIN)[0] == 0
    assert type(load_trained("plain.mumon")).__name__ == "Word2Vec" and type(load_trained("m.mumon")) is FastText
    assert load_model("plain.mumon").subwords is None
