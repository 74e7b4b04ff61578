"""`mumon train --estimate`: its figures agree with the training itself; nothing is trained, and no file is left."""

from __future__ import annotations

import bz2
import json

import numpy as np
import pytest

from mumon import Word2Vec, WordVectors
from mumon.corpus import corpus_from_sentences
from mumon.estimate import estimator, sample, throughput
from mumon.estimate.heaps_law import VocabGrowth
from mumon.estimate.vocab_projection import project_vocab
from mumon.training.settings import Settings
from mumon.utils import paths
from tests.samples import left_over

SMALL = ["--dim", "24", "--min-count", "2", "--threads", "2", "--epochs", "2"]
RUNS = {
    "cbow": ([], "m.mumon"),
    "skip-gram": (["--objective", "sg", "--window", "3"], "m.mumon"),
    "exact, limited": (["--exact", "--max-vocab", "50"], "m.mumon"),
    "an unknown word": (["--unk", "<unk>"], "m.mumon"),
    "vectors alone": ([], "v.bin"),
}


@pytest.fixture
def corpus(tmp_path, planted):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(map(" ".join, planted[:1500])))
    return path


@pytest.fixture(autouse=True)
def own_corpora(tmp_path_factory, monkeypatch, kernels):
    """Give each test an empty cache; the compiled kernels stay."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", kernels["NUMBA_CACHE_DIR"])
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def trials():
    return {}


@pytest.fixture
def one_trial(trials, monkeypatch):
    """Make the trial run, which starts a process, once for all tests that do not look at its figures."""
    run_trial = estimator.run_trial

    def once(corpus, columns, settings, encoded, folder):
        if "first" not in trials:
            trials["first"] = run_trial(corpus, columns, settings, encoded, folder)
        return trials["first"]

    monkeypatch.setattr(estimator, "run_trial", once)


def size(path):
    return sum(file.stat().st_size for file in path.rglob("*")) if path.is_dir() else path.stat().st_size


def estimated(run, *arguments):
    code, out, err = run("train", *arguments, "--estimate", "--json", "-q")
    assert (code, err) == (0, "")
    return json.loads(out)


@pytest.mark.parametrize("name", RUNS)
def test_the_estimate_of_a_small_text_is_what_its_training_takes(one_trial, run, corpus, tmp_path, name):
    more, output = RUNS[name]
    found = estimated(run, corpus, "-o", output, *SMALL, *more)
    assert left_over(tmp_path) == ["corpus.txt"]
    corpora = paths.cache_directory() / "corpora"
    assert not corpora.exists() or left_over(corpora) == []
    assert run("train", corpus, "-o", output, *SMALL, *more, "-q")[0] == 0
    words = len(WordVectors.load(output))
    assert found["exact"] and found["words"] == words
    tokens = len(corpus.read_text().split())
    assert (found["tokens"], found["sentences"]) == (tokens, 1500)
    disk = found["disk_bytes"]
    assert disk["model"] == pytest.approx(size(tmp_path / output), abs=900)  # of settings and history
    (encoding,) = corpora.iterdir()
    assert disk["encoded text"] == pytest.approx(size(encoding), abs=1500)  # Arrow's frame
    assert disk["checkpoints"] == disk["matrices"] == 0
    again = estimated(run, corpus, "-o", "other.mumon", *SMALL, *more)
    assert again["exact"] and again["disk_bytes"]["encoded text"] == again["seconds"]["reading"] == 0
    assert (again["tokens"], again["words"]) == (tokens, words)


def test_the_parts_add_up_and_memory_covers_the_matrices(run, corpus):
    found = estimated(run, corpus, "-o", "m", "--dim", 1000, "--min-count", 1)
    seconds = found["seconds"]
    assert seconds.pop("total") == pytest.approx(sum(seconds.values())) and min(seconds.values()) >= 0
    memory = found["memory_bytes"]
    assert memory["matrices"] == 2 * found["words"] * 4 * 1008  # rows are whole cache lines
    assert memory["peak"] > memory["Python"] + memory["matrices"] > 50e6
    assert found["seconds"]["training"] == pytest.approx(5 * found["tokens"] / found["tokens_per_second"])


def test_without_a_corpus_the_numbers_of_the_options_are_used(one_trial, run, tmp_path, monkeypatch):
    monkeypatch.setattr(throughput, "MOST_BYTES", 1 << 22)  # so that the matrices do not fit, and are extrapolated
    monkeypatch.setattr(throughput, "SECONDS", 0.3)
    found = estimated(run, "--tokens", "2G", "--words", "1.5M", "--dim", 64, "--epochs", 1, "--threads", 1)
    assert (found["tokens"], found["words"], found["exact"], found["sampled"]) == (2 * 10**9, 1_500_000, False, None)
    assert len(found["measured_with_words"]) == 3 and max(found["measured_with_words"]) == 8192
    assert any("extrapolated" in note for note in found["notes"])
    assert found["memory_bytes"]["matrices"] == 2 * 1_500_000 * 256
    assert found["disk_bytes"]["encoded text"] > 4 * 2 * 10**9
    assert left_over(tmp_path) == []


def test_numbers_of_the_options_replace_those_of_the_text(one_trial, run, corpus):
    plain = estimated(run, corpus, *SMALL)
    found = estimated(run, corpus, *SMALL, "--tokens", "1M", "--words", "5k")
    assert (found["tokens"], found["words"]) == (10**6, 5000) and not found["exact"]
    assert found["sentences"] == pytest.approx(plain["sentences"] * 10**6 / plain["tokens"], abs=1)
    nodes = estimated(run, corpus, *SMALL, "--ray", "auto", "--nodes", 4)
    assert nodes["nodes"] == 4 and any("network is not counted" in note for note in nodes["notes"])


def test_matrices_on_disk_are_counted_there(one_trial, run, corpus):
    found = estimated(run, corpus, "-o", "m", *SMALL, "--matrices", "disk")
    rows = 2 * found["words"] * 4 * 32
    assert found["disk_bytes"]["matrices"] == rows
    assert 0 < found["memory_bytes"]["matrices"] < rows


def test_words_of_another_model_count_along(one_trial, run, corpus, tmp_path):
    assert run("train", corpus, "-o", "m", *SMALL, "-q")[0] == 0
    (tmp_path / "more.txt").write_text("capital1 newcomer topic1.1\n" * 30)
    old = len(WordVectors.load("m"))
    found = {
        merge: estimated(run, "more.txt", "--from", "m", "--merge-vocab", merge) for merge in ("union", "old", "new")
    }
    assert [found[merge]["words"] for merge in ("union", "old", "new")] == [old + 1, old, 3]
    assert found["union"]["vector_size"] == 24


def test_what_does_not_fit_is_a_sentence_with_the_number_and_the_next_step(one_trial, run, corpus, monkeypatch):
    monkeypatch.setattr(estimator, "available_memory", lambda: 10_000_000)
    monkeypatch.setattr(estimator.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})())
    code, out, _ = run("train", corpus, "-o", "m", *SMALL, "--estimate")
    text = " ".join(out.split())
    assert code == 0
    assert "of memory where 10 MB are free: keep the matrices on disk (--matrices disk)" in text
    assert "of disk where" in text and "MUMON_CACHE" in text
    assert sum(line.endswith(".") for line in out.splitlines()) >= 2  # a line each: a path in it must not be broken


def test_a_sample_of_a_long_text_shows_its_length(tmp_path, monkeypatch):
    """Plain text is read in places all over it, compressed text from its beginning; the time is over at once."""
    monkeypatch.setattr(sample, "SHARD_BYTES", 1 << 20)
    monkeypatch.setattr(sample, "SECONDS", 0.0001)
    random = np.random.default_rng(1)
    words = np.array([f"w{word:05d}" for word in range(20_000)])
    drawn = words[np.minimum(random.zipf(1.3, 1_200_000) - 1, 19_999)].reshape(-1, 20)
    text = "\n".join(map(" ".join, drawn.tolist()))
    (tmp_path / "long.txt").write_text(text)
    (tmp_path / "long.txt.bz2").write_bytes(bz2.compress(text.encode(), 1))
    for name, within in (("long.txt", 0.02), ("long.txt.bz2", 0.1)):
        model = Word2Vec(progress=False, workers=2)
        found = sample.read_sample([str(tmp_path / name)], model.text, 2, sample.Progress())
        assert 0 < found.share < 0.9, name
        assert found.corpus.tokens / found.share == pytest.approx(1_200_000, rel=within), name


def test_a_vocabulary_grows_as_a_longer_text_has_it():
    random = np.random.default_rng(2)
    text = (random.zipf(1.5, 800_000)).astype(str).reshape(-1, 20).tolist()
    whole, part = corpus_from_sentences(text), corpus_from_sentences(text[:5000])
    for least in (1, 5, 20):
        true = np.count_nonzero(whole.counts >= least)
        assert VocabGrowth(part).count_words(whole.tokens, least) == pytest.approx(true, rel=0.1), least
    assert VocabGrowth(whole).count_words(whole.tokens, 5) == np.count_nonzero(whole.counts >= 5)


def test_a_sample_uses_rows_as_often_as_the_text_would():
    random = np.random.default_rng(3)
    text = (random.zipf(1.5, 400_000)).astype(str).reshape(-1, 20).tolist()
    whole, part = corpus_from_sentences(text), corpus_from_sentences(text[:4000])
    words = int(np.count_nonzero(whole.counts >= 5))
    projection = project_vocab(part, whole.tokens, words, 5)
    assert len(projection.counts) == words and np.all(np.diff(projection.counts) <= 0) and projection.counts[-1] == 5
    for first in (1, 10, 100, words):  # the share of tokens whose row is among the first
        rows = projection.lookup[part.ids]
        share = np.mean((rows >= 0) & (rows < first))
        assert share == pytest.approx(whole.counts[:first].sum() / whole.tokens, abs=0.03), first
    assert projection.count_hot_rows(0.5) < 10


def test_the_speed_of_training_is_measured_by_training(monkeypatch):
    monkeypatch.setattr(throughput, "SECONDS", 0.2)
    corpus = corpus_from_sentences([["a", "b", "c", "d"]] * 2000)
    projection = project_vocab(corpus, corpus.tokens, 4, 1)
    speed = throughput.measure_speed(corpus, lambda _: projection, 4, 16, Settings(sample=0), 1e9, sample.Progress())
    assert speed.rows == (4,) and 1e3 < speed.tokens_per_second < 1e9 and 0 < speed.cpu_share <= 1


MISTAKES = {
    "no text, no numbers": (["--estimate"], 1, "--tokens and --words"),
    "tokens without an estimate": (["corpus.txt", "-o", "m", "--tokens", "5M"], 1, "add --estimate"),
    "JSON without an estimate": (["corpus.txt", "-o", "m", "--json"], 1, "add --estimate"),
    "no number": (["--estimate", "--tokens", "many", "--words", "5"], 1, "--tokens is 'many'"),
    "no words at all": (["--estimate", "--tokens", "5", "--words", "0"], 1, "--words is '0'"),
    "standard input": (["-", "--estimate"], 1, "only once"),
    "a missing corpus": (["corpus.tx", "--estimate"], 1, "did you mean"),
    "nodes without a cluster": (["corpus.txt", "-o", "m", "--nodes", "2"], 1, "--workers 2"),
    "workers that may be nodes": (["corpus.txt", "-o", "m", "--ray", "auto", "--workers", "2"], 1, "write --nodes 2"),
    "nodes as they were once named": (
        ["corpus.txt", "-o", "m", "--ray", "auto", "--workers", "2", "--threads", "4"],
        1,
        "write --nodes 2",
    ),
    "two numbers of threads": (["corpus.txt", "-o", "m", "--workers", "2", "--threads", "4"], 1, "the same option"),
    "nodes of an estimate": (["corpus.txt", "--estimate", "--ray", "auto"], 1, "--nodes 8"),
    "exchanges without a cluster": (["corpus.txt", "-o", "m", "--sync-every", "2M"], 1, "--ray"),
    "no number of exchanges": (
        ["corpus.txt", "-o", "m", "--ray", "auto", "--sync-every", "x"],
        1,
        "--sync-every is 'x'",
    ),
    "no corpus": (["-o", "m"], 2, "CORPUS"),
    "matrices elsewhere": (["corpus.txt", "-o", "m", "--matrices", "tape"], 2, "--matrices"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_sentence_and_nothing_is_left(run, corpus, tmp_path, case):
    arguments, expected, message = MISTAKES[case]
    code, out, err = run("train", *arguments)
    assert code == expected and message in err and "Traceback" not in err and not out
    assert left_over(tmp_path) == ["corpus.txt"]


def test_the_options_of_a_cluster_reach_the_model(run, corpus, monkeypatch):
    """URLs reach it unchanged: as a path they would lose one of their slashes."""
    from mumon import word2vec as model
    from mumon.distributed import Cluster

    seen = []

    class RecordingModel(Word2Vec):
        def train(self, sentences=None, corpus_file=None, **_):
            seen.append((self.backend, corpus_file))
            raise model.OptionError("enough")

    assert run("train", corpus, "-o", "old", *SMALL, "-q")[0] == 0
    monkeypatch.setattr("mumon.fasttext.Word2Vec", RecordingModel)
    url, arguments = "s3://bucket/text.txt", ["--ray", "local", "--nodes", 3, "--sync-every", "1.5M", "--threads", 2]
    expected = Cluster("local", nodes=3, workers=2, sync_every=1_500_000)
    for more in ([], ["--from", "old"]):
        assert run("train", url, "-o", "m", *arguments, *more)[0] == 1
    assert seen == [(expected, [url])] * 2


def test_an_estimate_reads_well_at_eighty_columns(one_trial, run, corpus):
    code, out, _ = run("train", corpus, "-o", "m", *SMALL, "--estimate", "-q")
    table = [line for line in out.splitlines() if not line.endswith(".")]  # sentences are broken by the terminal
    assert code == 0 and max(map(len, table)) <= 80
    for part in ("time", "reading", "training", "memory", "matrices", "disk", "model", "exact: all of it was read"):
        assert part in out
