"""Memory: what training takes is told before it is taken, and refused where it does not fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mumon import Word2Vec
from mumon.errors import MumonError, OutOfMemoryError
from mumon.training import memory
from mumon.training.memory import check_memory, compute_training_bytes
from mumon.training.sampling import INITIAL, derive_seed
from mumon.training.settings import Settings
from mumon.training.weights import allocate_matrix, fill_initial_rows, move_rows
from mumon.utils.progress import Progress

MB = 1 << 20
linux = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits are read from /proc")


class Notes(Progress):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


def test_nothing_is_refused_where_the_free_memory_is_unknown(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    check_memory(10**12, 10**6, Settings(), Progress())  # nothing to compare it with


def test_much_memory_is_told_and_too_much_is_refused_with_both_numbers(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 22_900_000_000)
    notes = Notes()
    check_memory(78_287, 300, Settings(), notes)
    assert not notes.notes
    check_memory(3_000_000, 300, Settings(), notes)
    assert notes.notes == ["2 matrices of 3,000,000 × 300 and their training take 8.7 GB of memory"]
    with pytest.raises(OutOfMemoryError) as caught:
        check_memory(20_000_000, 300, Settings(), notes)
    assert isinstance(caught.value, MumonError) and isinstance(caught.value, MemoryError)
    assert str(caught.value) == (
        "2 matrices of 20,000,000 × 300 and their training need 58.2 GB of memory where 22.9 GB are free; "
        "ask for fewer words (max_final_vocab, --max-vocab) or dimensions"
    )


@pytest.mark.parametrize("options", [{}, {"objective": "sg"}, {"exact": True}])
def test_the_buffers_of_threads_count_for_few_words_of_many_dimensions(options):
    one, many = (compute_training_bytes(3, 10**6, Settings(workers=workers, **options)) for workers in (1, 8))
    assert one > 3 * 8_000_000 and many - one == 7 * (one - 3 * (8_000_000 + memory.WORD_BYTES))


def test_a_refused_merge_leaves_the_model_as_it_was(monkeypatch):
    model = Word2Vec([["a", "b"]] * 9, min_count=1, vector_size=8, epochs=1, workers=1, sample=0)
    before = model.wv.vectors.copy()
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.raises(OutOfMemoryError):
        model.build_vocab([["c", "d"]] * 9, merge_vocab="union")
    assert model.wv.index_to_key == ["a", "b"]
    np.testing.assert_array_equal(model.wv.vectors, before)


MEASURE = """
import pathlib, sys
from mumon import Word2Vec
from mumon.training.memory import compute_training_bytes

def peak():
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

V, D = 120_000, 100
sentences = [[f"w{j:07d}" for j in range(i, i + 20)] for i in range(0, V, 20)]
options = dict(min_count=1, vector_size=D, epochs=1, workers=2, sample=0)
from mumon.corpus import corpus_from_sentences
corpus = corpus_from_sentences(sentences)
Word2Vec(sentences[:9], **options).save(sys.argv[1])  # whatever is loaded on first use
pathlib.Path("/proc/self/clear_refs").write_text("5")
before = peak()
model = Word2Vec(corpus, **options)
model.save(sys.argv[1])
print(compute_training_bytes(V, D, model.settings), peak() - before)
"""


@linux
def test_the_estimate_is_what_a_run_takes(tmp_path, kernels):
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "m")]
    out = subprocess.run(command, env=kernels, capture_output=True, text=True, check=True).stdout
    estimate, taken = map(int, out.split())
    assert 0.75 * estimate < taken < 1.1 * estimate


def test_the_parts_in_which_rows_are_filled_change_nothing(monkeypatch):
    from mumon.training import weights as matrices

    def filled():
        matrix, copy = allocate_matrix(9, 5), allocate_matrix(4, 5)
        fill_initial_rows(matrix, 5, np.array([0, 2, 3, 8]), seed=7)
        move_rows(matrix, copy, np.array([8, -1, 2, 3]))
        return matrix, copy

    whole = filled()
    monkeypatch.setattr(matrices, "_parts", lambda matrix: [slice(i, i + 1) for i in range(len(matrix))])
    for one, other in zip(whole, filled(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(whole[1], whole[0][[8, 1, 2, 3]])


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (7, 3), (9001, 33), (4097, 301), (3, 1_400_001)])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_first_values_are_one_stream_of_numbers_for_any_number_of_threads(rows, columns, workers):
    stream = np.random.Generator(np.random.PCG64(int(derive_seed(7, 0, 0, INITIAL))))
    numbers = (stream.random((rows, columns), np.float32) - np.float32(0.5)) / np.float32(columns)
    for chosen in (np.arange(rows), np.arange(0, rows, 3)):
        matrix, visited = allocate_matrix(rows, columns), []
        fill_initial_rows(matrix, columns, chosen, 7, visited.append, workers)
        expected = np.zeros_like(numbers)
        expected[chosen] = numbers[chosen]
        np.testing.assert_array_equal(matrix[:, :columns], expected)
        assert sum(visited) == rows
