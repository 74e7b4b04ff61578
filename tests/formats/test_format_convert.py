"""`mumon convert`: every format to every other, by blocks, whole or not at all."""

from __future__ import annotations

import errno
import gzip
import itertools
import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from mumon.errors import OptionError
from mumon.formats import FORMATS, base, fasttext, npy, npz, parquet, read_vectors, text_rows, word2vec, write_vectors
from mumon.formats.conversion import convert
from mumon.utils import atomic, compression
from mumon.utils.progress import Progress
from tests.samples import COUNTS, VECTORS, WORDS, left_over, refused

NAMES = {
    "mumon": "v.mumon", "word2vec-text": "v.txt", "word2vec-bin": "v.bin", "glove": "v.glove", "npz": "v.npz",
    "npy": "v.npy", "parquet": "v.parquet", "projector": "v.tsv", "fasttext-bin": "v.fasttext",
}  # fmt: skip
WITH_COUNTS = {"mumon", "npz", "parquet", "projector", "fasttext-bin"}


def test_every_format_that_is_written_is_tried_here():
    assert set(NAMES) == set(FORMATS)


@pytest.mark.parametrize(("source", "target"), list(itertools.product(NAMES, NAMES)))
def test_every_format_becomes_every_other(tmp_path, source, target):
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
    write_vectors(tmp_path / "in" / NAMES[source], WORDS, VECTORS, COUNTS)
    done = convert(tmp_path / "in" / NAMES[source], tmp_path / "out" / NAMES[target])
    assert (done.format, done.rows, done.dim) == (target, 4, 3)
    loaded = read_vectors(tmp_path / "out" / NAMES[target])
    assert loaded.words == WORDS and loaded.vectors.tobytes() == VECTORS.tobytes()
    if target == "fasttext-bin" and source not in WITH_COUNTS:  # which has no other way to say that they are unknown
        assert loaded.counts.tolist() == [1] * 4
        return
    assert (loaded.counts is not None) == ({source, target} <= WITH_COUNTS)
    assert loaded.counts is None or loaded.counts.tolist() == COUNTS.tolist()


@pytest.mark.parametrize("target", NAMES)
def test_rows_on_their_way_are_written_as_those_in_memory(tmp_path, target):
    """One implementation: the bytes are the same, but for room that a header was left."""
    for name in ("memory", "stream"):
        (tmp_path / name).mkdir()
    write_vectors(tmp_path / "v.bin", WORDS, VECTORS)
    write_vectors(tmp_path / "memory" / NAMES[target], WORDS, VECTORS)
    convert(tmp_path / "v.bin", tmp_path / "stream" / NAMES[target])
    contents = [
        {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in (tmp_path / name).rglob("*.*")
         if path.is_file()}
        for name in ("memory", "stream")
    ]  # fmt: skip
    assert contents[0] == contents[1]


@pytest.mark.parametrize("target", [name for name in NAMES if name != "glove"])
def test_a_source_that_does_not_say_how_many_rows_it_has_is_counted(tmp_path, target):
    (tmp_path / "v.gz").write_bytes(gzip.compress(b"a 1 2\nb 3 4\na 5 6\n"))  # GloVe, packed, a word twice
    (tmp_path / "out").mkdir()
    assert convert(tmp_path / "v.gz", tmp_path / "out" / NAMES[target]).rows == 2
    loaded = read_vectors(tmp_path / "out" / NAMES[target])
    assert loaded.words == ["a", "b"] and loaded.vectors.tolist() == [[1, 2], [3, 4]]


def test_gensim_reads_a_header_that_was_filled_in_later(tmp_path):
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    (tmp_path / "v.glove").write_text("a 1 2\nb 3 4\n")
    for name in ("v.txt", "v.bin"):
        convert(tmp_path / "v.glove", tmp_path / name)
        theirs = keyed.load_word2vec_format(str(tmp_path / name), binary=name == "v.bin")
        assert theirs.index_to_key == ["a", "b"] and theirs.vectors.tolist() == [[1, 2], [3, 4]]


def peak_of(path, target):
    tracemalloc.start()
    try:
        convert(path, target)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("source", "target"),
    sorted({*(("word2vec-bin", name) for name in NAMES), *((name, "word2vec-bin") for name in NAMES)}),
)
def test_a_conversion_takes_the_memory_of_a_block_not_of_the_matrix(tmp_path, monkeypatch, source, target):
    for module, name, size in (
        (word2vec, "CHUNK_BYTES", 1 << 16), (npz, "BLOCK_BYTES", 1 << 16), (npy, "BLOCK_BYTES", 1 << 16),
        (parquet, "BATCH_NUMBERS", 1 << 14), (parquet, "GROUP_NUMBERS", 1 << 14), (base, "BLOCK_NUMBERS", 1 << 14),
        (text_rows, "BLOCK_BYTES", 1 << 16), (atomic, "BUFFER_BYTES", 1 << 14), (compression, "BUFFER_BYTES", 1 << 14),
        (fasttext, "ROWS_AT_ONCE", 32), (fasttext, "CHUNK_BYTES", 1 << 14),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, size)
    vectors = np.random.default_rng(0).random((1200, 512), np.float32)
    peaks = []
    for rows in (150, 150, 1200):  # the first for what is imported
        (folder := tmp_path / f"{len(peaks)}").mkdir()
        write_vectors(folder / NAMES[source], [f"w{i}" for i in range(rows)], vectors[:rows])
        (folder / "out").mkdir()
        peaks.append(peak_of(folder / NAMES[source], folder / "out" / NAMES[target]))
    np.testing.assert_array_equal(read_vectors(folder / "out" / NAMES[target]).vectors, vectors)
    assert peaks[2] - peaks[1] < 0.25 * vectors[150:].nbytes  # the words have to be kept, to notice repeats


# ---- the command


def test_the_command_says_what_it_wrote(run):
    write_vectors("v.txt", WORDS, VECTORS)
    assert run("convert", "v.txt", "v.parquet", "--limit", "2")[:2] == (0, "wrote v.parquet: 2 words × 3\n")
    code, out, _ = run("convert", "v.txt", "v.npz", "--dtype", "float16", "--json")
    assert code == 0
    expected = {"path": "v.npz", "format": "npz", "words": 4, "vector_size": 3, "dtype": "float16"}
    assert json.loads(out) == expected
    assert run("convert", "v.txt", "v.glove", "--quiet")[:2] == (0, "")


def test_koans_text_is_gloves(run):
    Path("embeddings.txt").write_text("___UNK___ 0.100000 -0.200000\nthe 0.300000 0.400000\n")
    assert run("convert", "embeddings.txt", "v.bin", "--from-format", "koan")[0] == 0
    assert run("convert", "v.bin", "again.txt", "--to-format", "koan")[0] == 0
    assert Path("again.txt").read_text().splitlines() == [
        "___UNK___ 0.100000001 -0.200000003",
        "the 0.300000012 0.400000006",
    ]
    assert read_vectors("again.txt").words == ["___UNK___", "the"]


def test_fasttexts_text_is_word2vecs(run):
    Path("wiki.vec").write_text("2 2\n</s> 0.1 0.2 \nnaïve 0.3 0.4 \n", "utf-8")  # with its blanks at the end
    assert run("convert", "wiki.vec", "v.npz", "--from-format", "fasttext-vec")[0] == 0
    assert read_vectors("v.npz").words == ["</s>", "naïve"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["v.txt", "v.txt"], "would be overwritten"),
        (["v.txt", "v.pickle"], "'.pickle' names no format"),
        (["v.txt", "v.bin", "--dtype", "int8"], "word2vec-bin holds float32, not int8"),
        (["v.txt", "v.npy", "--dtype", "int8"], "npy holds float32 or float16, not int8"),
        (["v.txt", "v.parquet", "--dtype", "float64"], "'float64' is not one of the 3"),
        (["none.txt", "v.bin"], "nothing at none.txt"),
        (["v.txt", "notes.parquet"], "exists and holds no vectors"),
        (["v.txt", "notes.npy"], "exists without notes.npy"),
        (["v.txt", "v.parquet.gz"], "compress it afterwards"),
    ],
)
def test_a_mistake_costs_a_sentence_and_no_file(run, arguments, sentence):
    write_vectors("v.txt", WORDS, VECTORS)
    Path("notes.parquet").write_text("my notes\n")
    Path("notes.words.txt").write_text("my words\n")
    code, _, err = run("convert", *arguments)
    assert code == 1 and sentence in err and err.count("\n") == 1
    assert left_over(Path()) == ["notes.parquet", "notes.words.txt", "v.txt"]
    assert Path("notes.parquet").read_text() == "my notes\n"


@pytest.mark.parametrize("target", NAMES)
def test_a_source_that_is_damaged_at_its_end_leaves_nothing_or_the_old(tmp_path, target):
    (tmp_path / "v.txt").write_bytes(b"3 2\na 1 2\nb 3 4\nc 5 x\n")
    (tmp_path / "out").mkdir()
    out = tmp_path / "out" / NAMES[target]
    refused(lambda: convert(tmp_path / "v.txt", out), "row 3 at byte 16 has 'x'")
    assert left_over(tmp_path / "out") == []
    write_vectors(out, WORDS, VECTORS)
    before = left_over(tmp_path / "out")
    refused(lambda: convert(tmp_path / "v.txt", out), "row 3 at byte 16")
    assert read_vectors(out).words == WORDS and left_over(tmp_path / "out") == before


@pytest.mark.parametrize("target", NAMES)
def test_a_full_disk_is_not_taken_for_a_damaged_source(tmp_path, target):
    """The errors of reading are told as such; those of writing stay what they are."""
    write_vectors(tmp_path / "v.bin", WORDS, VECTORS)

    class Full(Progress):
        def update(self, done, **fields):
            raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "out").mkdir()
    with pytest.raises(OSError, match="No space left"):
        convert(tmp_path / "v.bin", tmp_path / "out" / NAMES[target], progress=Full())
    assert left_over(tmp_path / "out") == []


def test_progress_goes_from_nothing_to_all(tmp_path, monkeypatch):
    monkeypatch.setattr(text_rows, "BLOCK_BYTES", 64)

    class Heard(Progress):
        def start(self, stage, total, unit):
            self.total, self.unit, self.seen = total, unit, []

        def update(self, done, **fields):
            self.seen.append(done)

    words = [f"w{i}" for i in range(50)]
    write_vectors(tmp_path / "v.txt", words, np.ones((50, 3), np.float32))
    for name, unit in (("v.txt", "bytes"), ("v.parquet", "rows")):
        heard = Heard()
        convert(tmp_path / name, tmp_path / f"{name}.bin", progress=heard)
        assert heard.unit == unit and heard.seen == sorted(heard.seen) and heard.seen[-1] == heard.total > 0
        convert(tmp_path / "v.txt", tmp_path / "v.parquet")


def test_a_limit_below_one_is_refused(tmp_path):
    write_vectors(tmp_path / "v.txt", WORDS, VECTORS)
    refused(lambda: convert(tmp_path / "v.txt", tmp_path / "v.bin", limit=0), "limit is 0", error=OptionError)
