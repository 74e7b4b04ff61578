"""Matrices on disk: the same model to the byte, in files that nobody sees, and hardly any memory."""

from __future__ import annotations

import copy
import mmap
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from mumon import Checkpoints, Word2Vec, WordVectors
from mumon.errors import MumonError, OptionError, OutOfMemoryError
from mumon.kernels.layout import CACHE_LINE
from mumon.models.callbacks import CallbackAny2Vec
from mumon.training import memory
from mumon.training.memory import check_memory
from mumon.training.mmap_matrix import OutOfDiskError, find_matrices_directory, map_zeros
from mumon.training.settings import Settings
from mumon.utils.progress import Progress
from tests.samples import COUNTS, VECTORS, WORDS, files_of, refused, small

SENTENCES = [[f"w{i * j % 60}" for i in range(1, 12)] for j in range(300)]
OTHERS = [[f"w{i * j % 90}" for i in range(1, 12)] for j in range(200)]
linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are looked for in /proc")


def rows_of(model):
    return model._state.source.tobytes(), model._state.target.tobytes()


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(getattr(array, "obj", array), mmap.mmap)


def saved(model, path):
    model.save(path)
    return {name: data for name, data in files_of(path).items() if name != "history.json"}  # clock times


def nameless():
    """The sizes reserved in files that are open and have no name in the folder of matrices."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if str(entry.readlink()).startswith(str(find_matrices_directory())):
                found.append(512 * entry.stat().st_blocks)
        except FileNotFoundError:  # that of the listing itself
            continue
    return found


class Notes(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@contextmanager
def largest_file(size):
    """A disk that is full beyond so many bytes of a file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# ---- the same model


@pytest.mark.parametrize("options", [{}, {"sg": 1}, {"exact": True}, {"unk": "<unk>", "min_count": 9, "shuffle": True}])
def test_one_thread_trains_saves_and_goes_on_to_the_same_bytes_as_in_memory(options, tmp_path):
    files, further = [], []
    for place in ("memory", "disk"):
        model = small(SENTENCES, epochs=2, matrices=place, **options)
        assert is_mapped(model._state.source) == is_mapped(model._state.target) == (place == "disk")
        files.append(saved(model, tmp_path / place))
        model = Word2Vec.load(tmp_path / place, matrices=place, progress=False)
        model.train(OTHERS, epochs=1, merge_vocab="union")
        assert is_mapped(model._state.source) == (place == "disk") and len(model.wv) > 60 - 60 * ("unk" in options)
        further.append(rows_of(model))
    assert files[0] == files[1] and further[0] == further[1]


def test_kernels_see_the_arrays_that_they_were_compiled_for():
    from mumon.kernels.cbow import cbow_fast

    small(SENTENCES, epochs=1)
    compiled = len(cbow_fast.signatures)
    model = small(SENTENCES, epochs=1, matrices="disk", vector_size=5)
    assert len(cbow_fast.signatures) == compiled
    assert type(model._state.source) is np.ndarray and type(model.wv.vectors) is np.ndarray
    assert model._state.source.ctypes.data % CACHE_LINE == 0 and model._state.source.strides[0] % CACHE_LINE == 0


class Breaks(CallbackAny2Vec):
    def on_epoch_end(self, model):
        raise KeyError("a mistake of the user's")


@pytest.mark.parametrize("first, second", [("disk", "disk"), ("memory", "disk"), ("disk", "memory")])
def test_a_run_that_broke_off_goes_on_wherever_its_matrices_are(first, second, tmp_path):
    whole = small(SENTENCES, epochs=3)
    with pytest.raises(KeyError):
        small(SENTENCES, epochs=3, matrices=first, checkpoints=tmp_path / "kept", callbacks=[Breaks()])
    kept = Checkpoints(tmp_path / "kept", resume=True)
    model = small(SENTENCES, epochs=3, matrices=second, checkpoints=kept)
    assert rows_of(model) == rows_of(whole) and is_mapped(model._state.source) == (second == "disk")


class Halves(CallbackAny2Vec):
    """Gives the model another matrix, and asks it questions."""

    def on_epoch_end(self, model):
        model.wv.vectors = model.wv.vectors * np.float32(0.5)
        assert model.wv.most_similar("w1")


def test_callbacks_and_a_fresh_start_change_the_rows_where_they_lie():
    both = [small(SENTENCES, epochs=2, matrices=place, callbacks=[Halves()]) for place in ("memory", "disk")]
    assert rows_of(both[0]) == rows_of(both[1]) and is_mapped(both[1]._state.source) and is_mapped(both[1].wv.vectors)
    for model in both:
        model.init_weights()
        model.syn1neg = np.ones_like(model.syn1neg)
    assert rows_of(both[0]) == rows_of(both[1]) and is_mapped(both[1]._state.target)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_files_of_its_own_and_trains_on_to_the_same_bytes(copied):
    model = small(SENTENCES, epochs=1, matrices="disk")
    before = rows_of(model)
    other = copied(model)
    assert rows_of(other) == before and is_mapped(other._state.source) and other.wv.vectors.base is not None
    other.train(SENTENCES, epochs=1)
    assert rows_of(model) == before
    model.train(SENTENCES, epochs=1)
    assert rows_of(model) == rows_of(other) and model.wv.most_similar("w1") == other.wv.most_similar("w1")


def test_vectors_of_any_file_are_the_start_of_a_model_on_disk(tmp_path):
    start = WordVectors(WORDS, VECTORS, COUNTS)
    text = [*WORDS, "new"]
    for name in ("v.txt", "v.bin", "v.npz", "v.mumon"):
        start.save(tmp_path / name)
        options = {"min_count": 1, "workers": 1, "epochs": 1, "sample": 0, "progress": False}
        both = [Word2Vec.from_vectors(tmp_path / name, matrices=place, **options) for place in ("memory", "disk")]
        assert [model.wv.index_to_key for model in both] == [WORDS] * 2
        for model in both:
            model.train([text] * 30, merge_vocab="union")
        assert rows_of(both[0]) == rows_of(both[1]) and is_mapped(both[1]._state.source)
    WordVectors([30, 10, 20], VECTORS[:3]).save(tmp_path / "items.mumon")
    model = Word2Vec.from_vectors(tmp_path / "items.mumon", matrices="disk", workers=1)
    assert model.wv.index_to_key == [30, 10, 20] and is_mapped(model.wv.vectors)


def test_only_two_places_are_known(tmp_path):
    small(SENTENCES, epochs=1).save(tmp_path / "m")
    message = "matrices is 'tape'; it must be memory or disk"
    refused(lambda: Word2Vec.load(tmp_path / "m", matrices="tape"), message, error=OptionError)
    refused(lambda: Word2Vec.from_vectors(tmp_path / "m", matrices="tape"), message, error=OptionError)


# ---- the files


@linux
def test_room_is_reserved_at_once_and_given_back_with_the_last_user(cache):
    model = small(SENTENCES, epochs=1, matrices="disk", vector_size=100)
    sizes = nameless()
    assert len(sizes) == 2 and all(size >= model._state.source.nbytes for size in sizes)
    assert not list(find_matrices_directory().iterdir())
    wv = model.wv
    del model
    assert len(nameless()) == 1 and wv.most_similar("w1")  # the vectors outlive the model, and its output matrix
    del wv
    assert not nameless()


@linux
@pytest.mark.parametrize("promise", [True, False])
def test_zeros_take_their_room_where_the_system_cannot_promise_it_too(promise, cache, monkeypatch):
    if not promise:
        monkeypatch.delattr(os, "posix_fallocate")
    zeros = map_zeros(3_000_001)
    assert nameless()[0] >= 3_000_001 and len(zeros) == 3_000_001 and not zeros.any()
    zeros[-1] = 7  # it can be written to the last byte
    with largest_file(2_000_000):
        message = refused(lambda: map_zeros(3_000_001), "3,000,001 bytes do not fit into", error=OutOfDiskError)
    assert str(find_matrices_directory()) in message and "MUMON_CACHE" in message and len(nameless()) == 1


def test_a_disk_that_is_too_full_is_a_sentence_and_leaves_the_model_as_it_was(tmp_path, cache):
    model = small(SENTENCES, epochs=1, matrices="disk")
    before = rows_of(model)
    WordVectors([f"w{i}" for i in range(999)], np.ones((999, 24), np.float32)).save(tmp_path / "v.txt")
    with largest_file(9_000):
        refused(lambda: model.build_vocab(OTHERS, merge_vocab="union"), "bytes do not fit", error=MumonError)
        refused(lambda: Word2Vec.from_vectors(tmp_path / "v.txt", matrices="disk"), "do not fit", error=OutOfDiskError)
    assert rows_of(model) == before and len(model.wv) == 60
    model.train(OTHERS, epochs=1, merge_vocab="union")
    assert len(model.wv) == 90


def test_a_cache_that_cannot_hold_them_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "file"))
    message = refused(lambda: Word2Vec.from_vectors(WordVectors(WORDS, VECTORS), matrices="disk"), error=OutOfDiskError)
    folder = find_matrices_directory()
    assert message == f"no matrix can be kept in {folder} (Not a directory); name another place with MUMON_CACHE"


@linux
def test_a_killed_process_leaves_no_file(cache, kernels):
    program = """
import os, signal
from mumon import Word2Vec
model = Word2Vec(vector_size=300, matrices="disk", workers=1)
model.build_vocab_from_freq({f"w{i}": 9 for i in range(999)})
os.kill(os.getpid(), signal.SIGKILL)
"""
    run = subprocess.run([sys.executable, "-c", program], env={**kernels, "MUMON_CACHE": str(cache)})
    assert run.returncode == -signal.SIGKILL
    assert find_matrices_directory().is_dir() and not list(find_matrices_directory().iterdir())


# ---- memory


def test_memory_is_asked_for_the_words_and_the_disk_for_the_matrices(monkeypatch, cache):
    monkeypatch.setattr(memory, "available_memory", lambda: 100_000_000)
    notes = Notes()
    with pytest.raises(OutOfMemoryError):
        check_memory(100_000, 300, Settings(workers=1), notes)
    check_memory(100_000, 300, Settings(workers=1), notes, on_disk=True)
    assert notes.notes == [f"2 matrices of 100,000 × 300 take 243 MB of disk in {find_matrices_directory()}"]
    with pytest.raises(OutOfMemoryError) as caught:
        check_memory(300_000, 300, Settings(workers=1), notes, on_disk=True)
    about = "the words of 2 matrices of 300,000 × 300 on disk and their training"
    assert str(caught.value).startswith(f"{about} need 144 MB of memory where 100 MB are free; ask for fewer words")


def test_more_than_the_disk_has_is_refused_with_both_numbers_before_anything_is_taken(monkeypatch, cache):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    message = refused(lambda: check_memory(10**11, 1000, Settings(), Progress(), on_disk=True), error=OutOfDiskError)
    start = f"2 matrices of 100,000,000,000 × 1,000 need 806,400.0 GB of disk where {find_matrices_directory()} has "
    assert message.startswith(start) and message.endswith(
        "B left; make room there, or name another place with MUMON_CACHE"
    )
    assert not cache.exists()


@linux
def test_too_few_addresses_are_a_sentence():
    program = """
import resource
from mumon.training.mmap_matrix import map_zeros
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    map_zeros(2 << 30)
except MemoryError as error:
    print(error)
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out == (
        "a file of 2,147,483,648 bytes does not fit among the addresses that this process may use; raise ulimit -v\n"
    )


WORKED = """
import copy, pathlib, sys
from mumon import Word2Vec
from mumon.corpus import corpus_from_sentences

def private():
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

place, folder, words, columns = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
text = [[f"w{j:06d}" for j in range(i, i + 20)] for i in range(0, words, 20)]
options = dict(min_count=1, epochs=1, workers=1, sample=0, matrices=place, progress=False)
corpus = corpus_from_sentences(text)
Word2Vec(text[:9], vector_size=columns, **options).save(folder / "small")  # whatever is loaded on first use
print(private(), flush=True)
model = Word2Vec(corpus, vector_size=columns, checkpoints=folder / "kept", **options)
assert model.wv.most_similar("w000001")
model.save(folder / "m")
model = copy.deepcopy(model)
model = Word2Vec.load(folder / "m", matrices=place)
model.train([["new", "w000001", "w000002"]] * 9, epochs=1, merge_vocab="union")
"""


@linux
@pytest.mark.parametrize("place", ["disk", "memory"])
def test_training_saving_copying_and_loading_take_a_fraction_of_a_matrix(place, tmp_path, kernels):
    words, columns = 40_000, 496
    matrix = words * columns * 4
    command = [sys.executable, "-c", WORKED, place, str(tmp_path), str(words), str(columns)]
    with subprocess.Popen(command, env=kernels, stdout=subprocess.PIPE, text=True) as process:
        before, peak = int(process.stdout.readline()), 0
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:  # from outside, where nobody holds the watcher up
            private = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("RssAnon")]
            peak = max(peak, *(1024 * int(size) for size in private), 0)
            time.sleep(0.002)
    assert process.returncode == 0
    if place == "disk":
        assert peak - before < 0.75 * matrix
    else:
        assert peak - before > 2 * matrix  # so this would have been seen
