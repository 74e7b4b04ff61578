"""Kernels are loaded while the text is read: early enough, all of them, and without changing anything else."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from mumon import Word2Vec
from mumon.corpus import corpus_from_files
from mumon.errors import CorpusError
from mumon.training.backend import ThreadBackend
from mumon.utils.progress import Progress


class Reading(Progress):
    """Waits, before reading ends, until the loading has begun."""

    def __init__(self, begun):
        self.begun, self.overlapped = begun, None

    def finish(self, summary, **fields):
        if summary.startswith("read "):
            self.overlapped = self.begun.wait(30)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("the cat saw the dog\nthe dog saw the cat\n" * 50)
    return path


@pytest.fixture
def begun(monkeypatch):
    """An event that is set when the kernels begin to be loaded."""
    event, load = threading.Event(), ThreadBackend.load_kernels

    def watched(backend, state):
        event.set()
        load(backend, state)

    monkeypatch.setattr(ThreadBackend, "load_kernels", watched)
    return event


def test_the_kernels_are_loaded_while_the_text_is_encoded(text, begun):
    progress = Reading(begun)
    Word2Vec(corpus_file=text, vector_size=8, min_count=1, epochs=1, workers=1, progress=progress)
    assert progress.overlapped is True


def test_they_are_loaded_for_a_text_that_an_earlier_run_encoded(text, begun):
    corpus_from_files([text])
    Word2Vec(corpus_file=text, vector_size=8, min_count=1, epochs=1, workers=1)
    assert begun.wait(30)


def test_they_are_not_loaded_if_there_is_no_text(tmp_path, begun):
    with pytest.raises(CorpusError):
        Word2Vec(corpus_file=tmp_path / "nothing.txt", min_count=1)
    assert not begun.is_set()


def test_a_failure_to_load_is_left_to_training(text, monkeypatch):
    def fail(backend, state):
        raise MemoryError

    monkeypatch.setattr(ThreadBackend, "load_kernels", fail)
    model = Word2Vec(corpus_file=text, vector_size=8, min_count=1, epochs=1, workers=1)
    assert len(model.history) == 1


def test_no_more_threads_are_no_reason_to_fail(text, monkeypatch):
    start = threading.Thread.start

    def refuse(thread):
        if thread.name.startswith("mumon-load"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert Word2Vec(corpus_file=text, vector_size=8, min_count=1, epochs=1, workers=1).history


# Loads the kernels of some options, trains with them, and prints the kernels that training had to add.
ALL_LOADED = """
import sys, numpy as np
from mumon import Word2Vec
from mumon.training.backend import ThreadBackend
from mumon.kernels import cbow, noise, positions, skipgram, windows
def signatures():
    kernels = [f for m in (cbow, noise, positions, skipgram, windows) for f in vars(m).values()]
    return {(f.__name__, s) for f in kernels if hasattr(f, "_cache") for s in f.signatures}
model = Word2Vec(vector_size=24, min_count=1, epochs=1, workers=1, **eval(sys.argv[2]))
if eval(sys.argv[3]):
    model.build_vocab(corpus_file=sys.argv[1])
    model.wv.vectors_lockf = np.full(len(model.wv), 0.5, np.float32)
ThreadBackend().load_kernels(model._state)
before = signatures()
ThreadBackend.load_kernels = lambda backend, state: None
model.train(corpus_file=sys.argv[1], merge_vocab=None if eval(sys.argv[3]) else "new")
print(len(before), sorted(name for name, _ in signatures() - before))
"""


@pytest.mark.parametrize(
    ("options", "locked"),
    [({}, False), ({"exact": True}, False), ({"sg": 1}, False), ({"positions": 4}, False), ({}, True)],
    ids=["cbow", "exact", "skip-gram", "positions", "locked"],
)
def test_what_is_loaded_is_all_that_training_calls(text, kernels, options, locked):
    """Another version of a kernel, for arrays of another kind, would be loaded or compiled again by training."""
    command = [sys.executable, "-c", ALL_LOADED, str(text), repr(options), repr(locked)]
    done = subprocess.run(command, env=kernels, capture_output=True, text=True, check=True)
    count, _, added = done.stdout.strip().partition(" ")
    assert int(count) >= 3 and added == "[]"
