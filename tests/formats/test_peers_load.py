"""What is written here opens in the programs it is meant for: the real ones are run."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from mumon.formats import read_vectors, write_vectors
from mumon.formats.directory import save_model
from tests.samples import COUNTS, VECTORS, WORDS

DTYPES = ("float32", "float16", "int8")


def unit(vector):
    return vector / np.linalg.norm(vector)


# ---- the model folder


@pytest.fixture
def sentence_transformer(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    library = pytest.importorskip("sentence_transformers")
    return lambda path: library.SentenceTransformer(str(path), device="cpu")


@pytest.mark.parametrize("dtype", DTYPES)
def test_sentence_transformers_gives_the_mean_of_the_words(tmp_path, sentence_transformer, dtype):
    write_vectors(tmp_path / "m.mumon", WORDS, VECTORS, COUNTS, dtype=dtype)
    rows = read_vectors(tmp_path / "m.mumon").vectors
    found = sentence_transformer(tmp_path / "m.mumon").encode(["the naïve 🙂", "of", "the unheard-of"])
    np.testing.assert_allclose(found[:2], [rows[:3].mean(axis=0), rows[3]], atol=1e-3 if dtype == "float16" else 1e-6)
    np.testing.assert_allclose(unit(found[2]), unit(rows[0]), atol=1e-3)  # unknown words are zeros, and count


def test_sentence_transformers_loads_a_whole_trained_model(tmp_path, sentence_transformer):
    settings = {"lowercase": True, "tokenize": True, "window": 5}
    save_model(tmp_path / "m.mumon", WORDS, COUNTS, VECTORS, VECTORS, settings, [{"epoch": 1}])
    found = sentence_transformer(tmp_path / "m.mumon").encode("(The) NAÏVE!")
    np.testing.assert_allclose(found, VECTORS[:2].mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_model2vec_gives_the_mean_of_the_known_words(tmp_path, dtype):
    library = pytest.importorskip("model2vec")
    write_vectors(tmp_path / "m.mumon", WORDS, VECTORS, COUNTS, dtype=dtype)
    rows = read_vectors(tmp_path / "m.mumon").vectors
    model = library.StaticModel.from_pretrained(tmp_path / "m.mumon")
    assert model.embedding_dtype == dtype  # as small in memory as on disk
    np.testing.assert_allclose(
        model.encode("the naïve 🙂 unheard-of"), rows[:3].mean(axis=0), atol=1e-3 if dtype == "float16" else 1e-6
    )


# ---- spaCy


def test_spacy_init_vectors_takes_word2vec_text(tmp_path):
    spacy = pytest.importorskip("spacy")
    words = [*WORDS, "new york"]
    vectors = np.vstack([VECTORS, VECTORS[:1] / 3])
    write_vectors(tmp_path / "king.txt", words, vectors)
    command = [
        sys.executable,
        "-m",
        "spacy",
        "init",
        "vectors",
        "en",
        str(tmp_path / "king.txt"),
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONUTF8": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    nlp = spacy.load(tmp_path / "out")
    assert nlp.vocab.vectors.shape == vectors.shape
    for word, vector in zip(words, vectors, strict=True):
        np.testing.assert_array_equal(nlp.vocab.get_vector(word), vector)
    assert nlp("the naïve")[1].vector.tolist() == VECTORS[1].tolist()


# ---- tables


@pytest.mark.parametrize("dtype", DTYPES)
def test_duckdb_finds_the_nearest_words(tmp_path, dtype):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "v.parquet"
    write_vectors(path, WORDS, VECTORS, COUNTS, dtype=dtype)
    query = f"""
        SELECT w.word, w.count, array_cosine_similarity(w.vector::FLOAT[3], q.vector::FLOAT[3]) AS cosine
        FROM '{path}' w, '{path}' q WHERE q.word = 'the' ORDER BY cosine DESC"""
    found = duckdb.sql(query).fetchall()
    cosines = [float(unit(VECTORS[0]) @ unit(row)) for row in VECTORS]
    order = np.argsort(cosines)[::-1]
    assert [row[:2] for row in found] == [(WORDS[i], COUNTS[i]) for i in order]
    np.testing.assert_allclose([row[2] for row in found], np.array(cosines)[order], atol=0.02)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pandas_and_polars_open_parquet(tmp_path, dtype):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    write_vectors(tmp_path / "v.parquet", WORDS, VECTORS, COUNTS, dtype=dtype)
    expected = read_vectors(tmp_path / "v.parquet").vectors
    for frame in (pandas.read_parquet(tmp_path / "v.parquet"), polars.read_parquet(tmp_path / "v.parquet")):
        assert list(frame["word"]) == WORDS and list(frame["count"]) == COUNTS.tolist()
        rows = np.array([list(row) for row in frame["vector"]], np.float32)
        scale = np.array(frame["scale"], np.float32)[:, None] if dtype == "int8" else 1
        np.testing.assert_array_equal(rows * scale, expected)


@pytest.mark.parametrize("kind", ["FLOAT[3]", "FLOAT[]", "DOUBLE[]"])
def test_a_table_that_duckdb_wrote_is_read(tmp_path, kind):
    duckdb = pytest.importorskip("duckdb")
    rows = ", ".join(f"('{word}', {row.tolist()}::{kind})" for word, row in zip(WORDS, VECTORS, strict=True))
    duckdb.sql(f"COPY (SELECT * FROM (VALUES {rows}) t(word, vector)) TO '{tmp_path / 'v.parquet'}' (FORMAT parquet)")
    loaded = read_vectors(tmp_path / "v.parquet")
    assert loaded.words == WORDS
    np.testing.assert_array_equal(loaded.vectors, VECTORS)
