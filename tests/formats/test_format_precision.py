"""float16 and int8: how far a number may move, where they can be written, and what they leave out."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mumon import Word2Vec
from mumon.errors import FormatError, OptionError
from mumon.formats import FORMATS, read_vectors, write_vectors
from mumon.formats.directory import is_trainable, load_model, save_model
from tests.samples import COUNTS, VECTORS, WORDS, left_over, refused, small

NAMES = {"mumon": "v.mumon", "npz": "v.npz", "npy": "v.npy", "parquet": "v.parquet"}
float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
matrices = hnp.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 5)), elements=float32)


def through(name, vectors, dtype):
    words = [f"w{row}" for row in range(len(vectors))]
    with tempfile.TemporaryDirectory() as folder:
        write_vectors(Path(folder) / name, words, vectors, dtype=dtype)
        loaded = read_vectors(Path(folder) / name)
        assert loaded.words == words and loaded.vectors.dtype == np.float32
        return np.array(loaded.vectors, np.float64)


@pytest.mark.parametrize("format", ["mumon", "npz", "parquet"])
@settings(max_examples=60, deadline=None)
@given(matrices)
def test_int8_moves_no_number_by_more_than_a_254th_of_the_largest_in_its_row(format, vectors):
    moved = np.abs(through(NAMES[format], vectors, "int8") - vectors)
    largest = np.abs(vectors.astype(np.float64)).max(axis=1, keepdims=True)
    assert (moved <= largest / 254 * (1 + 1e-5) + 127 * 1.5e-45).all()  # below the least float32 there are no scales


@pytest.mark.parametrize("format", NAMES)
@settings(max_examples=40, deadline=None)
@given(matrices)
def test_float16_rounds_or_refuses(format, vectors):
    with np.errstate(over="ignore"):
        expected = vectors.astype(np.float16)
    if np.isfinite(expected).all():
        np.testing.assert_array_equal(through(NAMES[format], vectors, "float16"), expected.astype(np.float64))
    else:
        with pytest.raises(FormatError, match="beyond the 65504 of float16"):
            through(NAMES[format], vectors, "float16")


@pytest.mark.parametrize(("name", "dtype", "share"), [
    ("v.mumon/model.safetensors", "int8", 0.27), ("v.mumon/model.safetensors", "float16", 0.52),
    ("v.npz", "int8", 0.3), ("v.npz", "float16", 0.55), ("v.npy", "float16", 0.52),
    ("v.parquet", "int8", 0.35), ("v.parquet", "float16", 0.55),
])  # fmt: skip
def test_fewer_bytes_are_written(tmp_path, name, dtype, share):
    words, vectors = [f"w{i}" for i in range(2000)], np.random.default_rng(0).standard_normal((2000, 300))
    write_vectors(tmp_path / name.split("/")[0], words, vectors, dtype=dtype)
    assert (tmp_path / name).stat().st_size < share * 4 * vectors.size


@pytest.mark.parametrize("format", sorted(set(FORMATS) - {"fasttext-bin"}))
def test_a_format_that_cannot_hold_such_numbers_says_so(tmp_path, format):
    for dtype, sentence in (("float16", "not float16"), ("int8", "not int8"), ("f4", "'f4' is not one of the 3")):
        if dtype not in FORMATS[format].dtypes:
            with pytest.raises(OptionError, match=sentence):
                write_vectors(tmp_path / "v", WORDS, VECTORS, format=format, dtype=dtype)
    assert left_over(tmp_path) == []


@pytest.fixture
def trained(tmp_path):
    small([["the", "of", "naïve"]] * 30, lowercase=True, unk="<unk>", epochs=2).save(tmp_path / "m.mumon")
    return tmp_path / "m.mumon"


def test_a_trained_model_keeps_all_of_its_training_as_float32_only(run, trained):
    assert run("convert", trained, "copy.mumon")[0] == 0
    assert is_trainable("copy.mumon") and load_model("copy.mumon").output is not None
    assert len(Word2Vec.load("copy.mumon").history) == 2
    for dtype in ("float16", "int8"):
        assert run("convert", trained, f"{dtype}.mumon", "--dtype", dtype)[0] == 0
        model = load_model(f"{dtype}.mumon")
        assert not is_trainable(f"{dtype}.mumon") and model.output is None and not model.history
        assert json.loads(Path(f"{dtype}.mumon/config.json").read_text())["embedding_dtype"] == dtype
        np.testing.assert_allclose(model.vectors, load_model(trained).vectors, rtol=0.01, atol=0.01)
        assert model.counts.tolist() == load_model(trained).counts.tolist()


def test_how_text_becomes_words_survives_every_conversion_between_folders(run, trained):
    source = trained
    for step, options in enumerate((["--dtype", "int8"], ["--limit", "3"], [], ["--dtype", "float16"])):
        assert run("convert", source, f"{step}.mumon", *options)[0] == 0
        source = f"{step}.mumon"
        tokenizer = json.loads(Path(source, "tokenizer.json").read_text())
        assert tokenizer["normalizer"] == {"type": "Lowercase"} and tokenizer["model"]["unk_token"] == "<unk>"


def test_int8_without_its_scales_is_refused(tmp_path):
    from safetensors.numpy import load_file, save_file

    write_vectors(tmp_path / "m", WORDS, VECTORS, COUNTS, dtype="int8")
    tensors = load_file(tmp_path / "m" / "model.safetensors")
    save_file({"embeddings": tensors["embeddings"]}, tmp_path / "m" / "model.safetensors")
    refused(lambda: load_model(tmp_path / "m"), "no tensor 'weights' for its 5 rows")
    save_file({**tensors, "weights": tensors["weights"][:4]}, tmp_path / "m" / "model.safetensors")
    refused(lambda: load_model(tmp_path / "m"), r"weights is F32 \(4,\) where F32 \(5,\)")
    save_file({**tensors, "weights": np.full(5, np.inf, np.float32)}, tmp_path / "m" / "model.safetensors")
    refused(lambda: load_model(tmp_path / "m"), "row 1 of embeddings holds nan or inf")
    np.savez(tmp_path / "v.npz", words=np.array(WORDS), vectors=VECTORS.astype(np.int8))
    refused(lambda: read_vectors(tmp_path / "v.npz"), "vectors is int8")


def test_the_bytes_of_a_whole_model_are_what_they_were(tmp_path):
    """The header has no more room than it needs where the number of rows is known ahead."""
    save_model(tmp_path / "m", WORDS, COUNTS, VECTORS, VECTORS)
    data = (tmp_path / "m" / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    assert size % 8 == 0 and len(data[8 : 8 + size].rstrip(b" ")) > size - 8
    assert len(data) == 8 + size + 4 * 3 * (5 + 4)
