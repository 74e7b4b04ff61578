"""Many at once: processes that share a cache or a model folder, threads of a user's own pool, forks and spawns."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from mumon import Word2Vec, WordVectors
from mumon.corpus import corpus_from_files

SENTENCES = [[f"w{(7 * i + j * j) % 40}" for j in range(12)] for i in range(300)]


def trained(seed=1, workers=1, **options):
    """A digest of all that training gives."""
    defaults = {"vector_size": 16, "min_count": 1, "epochs": 2, "sample": 0}
    model = Word2Vec(SENTENCES, seed=seed, workers=workers, **{**defaults, **options})
    digest = hashlib.sha256(model.wv.vectors.tobytes() + model.syn1neg.tobytes())
    return digest.hexdigest(), model.wv.most_similar("w1", topn=3)


@pytest.fixture
def cached_kernels(kernels, monkeypatch):
    """Spawned processes find the kernels that are compiled already."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", kernels["NUMBA_CACHE_DIR"])


ENCODE = """
import pathlib, sys, time
from mumon.corpus import corpus_from_files
import mumon.kernels.tokens

print("ready", flush=True)
sys.stdin.readline()
corpus = corpus_from_files([sys.argv[1]], workers=2)
words = corpus.words.to_pylist()
print(corpus.tokens, corpus.sentences, len(words), words[corpus.ids[-1]].decode(), int(corpus.ids[:].sum()))
"""


def test_processes_that_encode_the_same_text_at_once_share_one_encoding(tmp_path, kernels):
    lines = [" ".join(f"w{(i * j) % 5003}" for j in range(20)) for i in range(60_000)]
    (tmp_path / "text").write_text("\n".join([*lines, "the last"]))
    env = {**kernels, "MUMON_CACHE": str(tmp_path / "cache")}
    pipe = subprocess.PIPE
    children = [
        subprocess.Popen([sys.executable, "-c", ENCODE, tmp_path / "text"], env=env, stdin=pipe, stdout=pipe, text=True)
        for _ in range(3)
    ]
    for child in children:
        assert child.stdout.readline() == "ready\n"
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = {child.communicate(timeout=120)[0] for child in children}
    assert len(answers) == 1 and answers.pop().split()[:4] == ["1200002", "60001", "5005", "last"]
    (entry,) = (tmp_path / "cache" / "corpora").iterdir()
    assert not entry.name.startswith(".")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUMON_CACHE", env["MUMON_CACHE"])
        assert corpus_from_files([tmp_path / "text"]).reused


def test_an_encoding_that_another_process_fills_is_left_alone(tmp_path, kernels, monkeypatch):
    """One child encodes a text that never ends while others come, encode and clear up."""
    env = {**kernels, "MUMON_CACHE": str(tmp_path / "cache")}
    monkeypatch.setenv("MUMON_CACHE", env["MUMON_CACHE"])
    command = [sys.executable, "-m", "mumon", "vocab", "-", "--quiet", "--min-count", "1"]
    child = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdin.write(b"one two\n")
    child.stdin.flush()
    while not list(tmp_path.glob("cache/corpora/.encoding-*/ids.i32")):
        time.sleep(0.01)
    for name in "ab":
        (tmp_path / name).write_text(f"{name} text")
        assert corpus_from_files([tmp_path / name]).tokens == 2
    assert child.communicate(b"two\n", timeout=60)[0].split() == [b"two", b"2", b"one", b"1"]
    assert len(list((tmp_path / "cache" / "corpora").iterdir())) == 2


SAVE = """
import sys
from mumon import Word2Vec
models = [Word2Vec.load(name) for name in sys.argv[2:]]
print("ready", flush=True)
for turn in range(10**9):
    models[turn % 2].save(sys.argv[1])
"""


def test_a_model_that_is_replaced_over_and_over_is_always_read_whole(tmp_path, kernels):
    """Versions differ in words, vectors, sizes and seeds; every load must be one or the other in all of them."""
    versions = {}
    for seed, size in ((1, 40), (2, 24)):
        sentences = [[f"v{seed}-{(i + j) % (30 * seed)}" for j in range(8)] for i in range(60)]
        model = Word2Vec(sentences, vector_size=size, seed=seed, min_count=1, epochs=1, workers=1)
        model.save(tmp_path / f"{seed}.mumon")
        versions[seed] = (model.wv.index_to_key, model.wv.vectors.copy(), model.syn1neg.copy())
    shared = tmp_path / "shared.mumon"
    Word2Vec.load(tmp_path / "1.mumon").save(shared)
    command = [sys.executable, "-c", SAVE, shared, tmp_path / "1.mumon", tmp_path / "2.mumon"]
    child = subprocess.Popen(command, env=kernels, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        seen, deadline = set(), time.monotonic() + 3
        while time.monotonic() < deadline or (len(seen) < 2 and time.monotonic() < deadline + 60):
            model = Word2Vec.load(shared)
            words, vectors, output = versions[model.settings.seed]
            seen.add(model.settings.seed)
            assert model.wv.index_to_key == words
            np.testing.assert_array_equal(model.wv.vectors, vectors)
            np.testing.assert_array_equal(model.syn1neg, output)
            wv = WordVectors.load(shared)
            words, vectors, _ = versions[1 if wv.index_to_key[0].startswith("v1") else 2]
            assert wv.index_to_key == words
            np.testing.assert_array_equal(wv.vectors, vectors)
        assert child.poll() is None and seen == {1, 2}
    finally:
        child.kill()
        child.wait()


KINDS = [{}, {"sg": 1}, {"exact": True}, {"sg": 1, "exact": True}]


def test_threads_of_a_users_pool_train_and_ask_as_if_alone():
    cases = [{"seed": seed, **kind} for seed in (1, 2) for kind in KINDS]
    alone = [trained(**case) for case in cases]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda case: trained(**case), cases))
        assert together == alone
    wv = Word2Vec(SENTENCES, vector_size=16, min_count=1, epochs=2, workers=1).wv
    wanted = [wv.most_similar(word, topn=5) for word in wv.index_to_key]
    fresh = WordVectors(wv.index_to_key, wv.vectors)  # whose norms nobody has asked for yet
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda word: fresh.most_similar(word, topn=5), wv.index_to_key)) == wanted


def test_threads_encode_the_same_text_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "cache"))
    (tmp_path / "text").write_text("the cat saw the dog\n" * 9_000)
    barrier = threading.Barrier(4)

    def encode(_):
        barrier.wait()
        return corpus_from_files([tmp_path / "text"], workers=2).ids[:].tolist()

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(encode, range(4))
    assert others == [first] * 3 and len(list((tmp_path / "cache" / "corpora").iterdir())) == 1


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_training_inside_a_process_pool_gives_the_same_bytes(method, cached_kernels):
    """Also for a fork of a process that has trained with threads before, whose locks and threads the child lacks."""
    alone = trained()
    trained(workers=3)
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        futures = [pool.submit(trained, seed, workers) for seed, workers in ((1, 1), (2, 1), (1, 2))]
        answers = [future.result(timeout=120) for future in futures]
        assert trained(workers=2) and trained() == alone  # the parent, too, after the fork
    assert answers[0] == alone and answers[1] != alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_child_forked_while_threads_train_can_train_and_the_parent_goes_on():
    """os.fork at any moment: other threads hold whatever locks they hold."""
    alone = trained()
    stop = threading.Event()
    errors = []

    def keep_training():
        while not stop.is_set():
            try:
                assert trained() == alone
            except BaseException as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=keep_training) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            reader, writer = os.pipe()
            child = os.fork()
            if not child:
                try:
                    os.write(writer, json.dumps(trained()).encode())
                finally:
                    os._exit(0)
            os.close(writer)
            with os.fdopen(reader, "rb") as answer:
                assert json.loads(answer.read()) == json.loads(json.dumps(alone))
            os.waitpid(child, 0)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors


def test_a_corpus_that_was_read_before_a_fork_is_read_in_both(tmp_path):
    (tmp_path / "text").write_text("\n".join(map(" ".join, SENTENCES)))
    corpus = corpus_from_files([tmp_path / "text"], reuse=False)
    options = {"min_count": 1, "vector_size": 8, "epochs": 1, "workers": 1, "sample": 0}
    alone = Word2Vec(corpus, **options).wv.vectors.tobytes()
    child = os.fork()
    if not child:
        os._exit(0 if Word2Vec(corpus, **options).wv.vectors.tobytes() == alone else 1)
    assert Word2Vec(corpus, **options).wv.vectors.tobytes() == alone
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
