"""NumPy's files: np.load opens what is written, what np.savez writes is read, and no header is believed."""

from __future__ import annotations

import gzip
import io
import os
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon.errors import OptionError
from mumon.formats import arrays, detect, read_vectors, write_vectors
from tests.samples import COUNTS, VECTORS, WORDS, left_over, refused


def npz(path, **changes):
    values = {"words": np.array(WORDS), "vectors": VECTORS, "counts": COUNTS, **changes}
    np.savez(path, **{name: value for name, value in values.items() if value is not None})


def npy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_np_load_opens_an_npz_without_pickle(tmp_path):
    write_vectors(tmp_path / "v.npz", WORDS, VECTORS, COUNTS)
    with np.load(tmp_path / "v.npz", allow_pickle=False) as archive:
        assert sorted(archive) == ["counts", "vectors", "words"]
        assert archive["words"].tolist() == WORDS and archive["counts"].tolist() == COUNTS.tolist()
        np.testing.assert_array_equal(archive["vectors"], VECTORS)
        assert archive["vectors"].dtype == np.float32


def test_np_load_opens_an_npy_and_its_words_are_lines(tmp_path):
    write_vectors(tmp_path / "v.npy", WORDS, VECTORS)
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy", allow_pickle=False), VECTORS)
    assert (tmp_path / "v.words.txt").read_text("utf-8").split("\n") == [*WORDS, ""]
    assert left_over(tmp_path) == ["v.npy", "v.words.txt"]


@pytest.mark.parametrize("name", ["v.npz", "v.npy"])
def test_what_is_written_comes_back(tmp_path, name):
    write_vectors(tmp_path / name, WORDS, VECTORS, COUNTS)
    assert detect(tmp_path / name).name == name[2:]
    loaded = read_vectors(tmp_path / name)
    assert loaded.words == WORDS and loaded.vectors.tobytes() == VECTORS.tobytes()
    assert loaded.counts is None if name == "v.npy" else loaded.counts.tolist() == COUNTS.tolist()
    assert read_vectors(tmp_path / name, limit=2).words == WORDS[:2]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=8), min_size=1, max_size=6, unique=True))
def test_any_word_comes_back_from_npz_or_is_refused(words):
    with tempfile.TemporaryDirectory() as folder:
        path, vectors = Path(folder) / "v.npz", np.arange(len(words), dtype=np.float32)[:, None]
        if any(word.endswith("\0") for word in words):
            refused(lambda: write_vectors(path, words, vectors), "ends in a NUL")
            return
        write_vectors(path, words, vectors)
        assert read_vectors(path).words == words


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f8", "<f2"])
def test_npz_of_others_is_read(tmp_path, save, kind):
    save(tmp_path / "v.npz", words=np.array(WORDS, ">U9"), vectors=VECTORS.astype(kind), counts=COUNTS.astype(np.uint8))
    loaded = read_vectors(tmp_path / "v.npz")
    assert loaded.words == WORDS and loaded.counts.tolist() == COUNTS.tolist()
    np.testing.assert_array_equal(loaded.vectors, VECTORS.astype(kind).astype(np.float32))


def test_npy_of_others_is_read_with_words_beside_it(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS.astype(np.float64))
    refused(lambda: read_vectors(tmp_path / "v.npy"), "no v.words.txt beside it")
    (tmp_path / "v.words.txt").write_bytes("\r\n".join(WORDS).encode())
    assert read_vectors(tmp_path / "v.npy").words == WORDS


def test_the_same_vectors_give_the_same_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        write_vectors(tmp_path / name, WORDS, VECTORS, COUNTS)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("block", [1, 13, 100])
def test_blocks_of_any_size_give_the_same_rows(tmp_path, monkeypatch, block):
    from mumon.formats import npy
    from mumon.formats import npz as npz_module

    for module in (npy, npz_module):
        monkeypatch.setattr(module, "BLOCK_BYTES", block)
    for name in ("v.npz", "v.npy"):
        write_vectors(tmp_path / name, WORDS, VECTORS, COUNTS)
        loaded = read_vectors(tmp_path / name)
        assert loaded.words == WORDS and loaded.vectors.tobytes() == VECTORS.tobytes()


# ---- damage


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"words": None}, "archive of vectors.npy, counts.npy without the arrays words"),
        ({"words": np.array(WORDS, object)}, "holds Python objects, which only pickle"),
        ({"words": np.array(WORDS[:3])}, r"words is <U5 \(3,\) where \(4,\)"),
        ({"words": np.arange(4)}, r"words is int64 \(4,\)"),
        ({"vectors": VECTORS[0]}, "not a matrix of floats"),
        ({"vectors": VECTORS.astype(np.int8)}, "not a matrix of floats"),
        ({"vectors": np.asfortranarray(VECTORS)}, "is stored by columns"),
        ({"vectors": np.where(np.equal(VECTORS, VECTORS[2, 1]), np.nan, VECTORS)}, "row 3 holds nan"),
        ({"vectors": VECTORS.astype(np.float64) * 1e300}, "holds nan or inf"),
        ({"vectors": VECTORS[:0], "words": np.array(WORDS)[:0], "counts": None}, "0 rows of 3"),
        ({"vectors": VECTORS[:, :0]}, "4 rows of 0"),
        ({"counts": -COUNTS}, "count of 'the' is -9, below 0"),
        ({"counts": np.full(4, 2**62)}, r"add up to 2\^63"),
        ({"counts": np.full(4, 2**64 - 1, np.uint64)}, "below 0"),
        ({"counts": COUNTS.astype(np.float32)}, "counts is float32"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(tmp_path, changes, sentence):
    npz(tmp_path / "v.npz", **changes)
    refused(lambda: read_vectors(tmp_path / "v.npz"), sentence)


def test_a_word_twice_counts_once(tmp_path, caplog):
    npz(tmp_path / "v.npz", words=np.array(["a", "b", "a", "c"]))
    loaded = read_vectors(tmp_path / "v.npz")
    assert loaded.words == ["a", "b", "c"] and loaded.counts.tolist() == [9, 7, 0]
    assert "left out 1 rows" in caplog.text


def test_impossible_characters_are_refused(tmp_path):
    words = np.array(WORDS)
    words.view(np.uint32)[1] = 0xD800
    npz(tmp_path / "v.npz", words=words)
    refused(lambda: read_vectors(tmp_path / "v.npz"), "word 1 has an impossible character")


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 300), }",
        "{'descr': '<U999999999', 'fortran_order': False, 'shape': (4,), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4, 3), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3, 2), }",
        "__import__('os').system('true')",
        "(" * 5000,
    ],
)
def test_a_header_that_lies_costs_a_sentence(tmp_path, header):
    text = header.encode() + b"\n"
    data = b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + VECTORS.tobytes()
    (tmp_path / "v.npy").write_bytes(data)
    (tmp_path / "v.words.txt").write_text("\n".join(WORDS))
    refused(lambda: read_vectors(tmp_path / "v.npy"))
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive:
        archive.writestr("words.npy", npy_bytes(np.array(WORDS)))
        archive.writestr("vectors.npy", data)
    refused(lambda: read_vectors(tmp_path / "v.npz"))


@pytest.mark.parametrize("cut", range(0, 900, 50))
def test_no_cut_of_an_npz_is_read_as_whole(tmp_path, cut):
    write_vectors(tmp_path / "v.npz", WORDS, VECTORS, COUNTS)
    whole = (tmp_path / "v.npz").read_bytes()
    assert len(whole) > 900
    (tmp_path / "v.npz").write_bytes(whole[:cut])
    refused(lambda: read_vectors(tmp_path / "v.npz", "npz"))


def test_a_flipped_bit_is_noticed(tmp_path):
    write_vectors(tmp_path / "v.npz", WORDS, VECTORS, COUNTS)
    data = bytearray((tmp_path / "v.npz").read_bytes())
    data[data.find(VECTORS.tobytes()) + 2] ^= 1
    (tmp_path / "v.npz").write_bytes(data)
    refused(lambda: read_vectors(tmp_path / "v.npz"), "CRC")


def test_a_zip_of_something_else_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
        archive.writestr("glove.6B.50d.txt", "the 1 2\n")
    refused(lambda: read_vectors(tmp_path / "glove.zip"), "archive of glove.6B.50d.txt without.*unpack it")


def test_an_npz_that_is_packed_once_more_is_refused(tmp_path):
    write_vectors(tmp_path / "v.npz", WORDS, VECTORS)
    (tmp_path / "v.npz.gz").write_bytes(gzip.compress((tmp_path / "v.npz").read_bytes()))
    refused(lambda: read_vectors(tmp_path / "v.npz.gz"), "packed once more; unpack it")


def test_a_packed_matrix_is_read_as_it_is(tmp_path):
    write_vectors(tmp_path / "v.npy", WORDS, VECTORS)
    (tmp_path / "w.npy").write_bytes(gzip.compress((tmp_path / "v.npy").read_bytes()))
    (tmp_path / "w.words.txt").write_bytes((tmp_path / "v.words.txt").read_bytes())
    assert read_vectors(tmp_path / "w.npy").vectors.tobytes() == VECTORS.tobytes()


def test_a_bomb_of_zeros_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "v.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("words.npy", npy_bytes(np.array(["a", "b"])))
        archive.writestr("vectors.npy", npy_bytes(np.zeros((2, 4_000_000), np.float32)))
    refused(lambda: read_vectors(tmp_path / "v.npz"), "unpacks to more than 200 times")


# ---- two files


@pytest.mark.parametrize("lines", [["a"], ["a", "b", "c"]])
def test_two_files_that_do_not_belong_together_are_refused(tmp_path, lines):
    write_vectors(tmp_path / "v.npy", ["a", "b"], VECTORS[:2])
    (tmp_path / "v.words.txt").write_text("\n".join(lines) + "\n")
    refused(lambda: read_vectors(tmp_path / "v.npy"), "keep the 2 files together")


def test_an_unrelated_file_is_not_overwritten_by_the_second_file(tmp_path):
    (tmp_path / "v.words.txt").write_text("my notes")
    refused(lambda: write_vectors(tmp_path / "v.npy", WORDS, VECTORS), "exists without v.npy", error=OptionError)
    assert (tmp_path / "v.words.txt").read_text() == "my notes" and left_over(tmp_path) == ["v.words.txt"]


def test_a_failure_leaves_both_old_files(tmp_path):
    write_vectors(tmp_path / "v.npy", WORDS, VECTORS)
    refused(lambda: write_vectors(tmp_path / "v.npy", ["a", "b\nc"], VECTORS[:2]), "line break")
    assert read_vectors(tmp_path / "v.npy").words == WORDS and left_over(tmp_path) == ["v.npy", "v.words.txt"]


def test_between_the_two_renames_there_is_no_matrix_with_the_wrong_words(tmp_path, monkeypatch):
    write_vectors(tmp_path / "v.npy", ["old1", "old2"], VECTORS[:2])
    seen, replace = [], Path.replace

    def watched(self, target):
        replace(self, target)
        seen.append(read_vectors(tmp_path / "v.npy").words if (tmp_path / "v.npy").exists() else None)

    monkeypatch.setattr(Path, "replace", watched)
    write_vectors(tmp_path / "v.npy", ["new1", "new2"], VECTORS[2:])
    assert seen == [None, ["new1", "new2"]]


@pytest.mark.skipif(os.name == "nt", reason="a matter of POSIX")
def test_the_mode_of_an_old_file_stays(tmp_path):
    write_vectors(tmp_path / "v.npy", WORDS, VECTORS)
    (tmp_path / "v.npy").chmod(0o640)
    write_vectors(tmp_path / "v.npy", WORDS, VECTORS)
    assert (tmp_path / "v.npy").stat().st_mode & 0o777 == 0o640


def test_headers_are_those_of_numpy():
    for array in (VECTORS, COUNTS, np.array(WORDS), VECTORS.astype(np.float16)):
        ours = arrays.format_header(array.dtype, array.shape)
        assert np.load(io.BytesIO(ours + array.tobytes()), allow_pickle=False).tolist() == array.tolist()
        layout = arrays.read_layout(io.BytesIO(npy_bytes(array)), "x")
        assert (layout.dtype, layout.shape) == (array.dtype, array.shape)
        assert layout.offset + layout.nbytes == len(npy_bytes(array))
