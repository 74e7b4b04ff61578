"""Parquet: what is written comes back, and what has other columns or is damaged is refused in one sentence."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mumon.formats import detect, parquet, read_vectors, write_vectors
from tests.samples import COUNTS, VECTORS, WORDS, left_over, refused


def test_the_columns_are_what_they_are_called(tmp_path):
    write_vectors(tmp_path / "v.parquet", WORDS, VECTORS, COUNTS)
    schema = pq.read_schema(tmp_path / "v.parquet")
    assert schema.names == ["word", "count", "vector"]
    assert (schema.field("word").type, schema.field("count").type) == (pa.string(), pa.int64())
    assert schema.field("vector").type == pa.list_(pa.field("element", pa.float32(), nullable=False), 3)
    assert left_over(tmp_path) == ["v.parquet"]


@pytest.mark.parametrize("counts", [COUNTS, None])
def test_what_is_written_comes_back(tmp_path, counts):
    write_vectors(tmp_path / "v.parquet", WORDS, VECTORS, counts)
    assert detect(tmp_path / "v.parquet").name == "parquet"
    loaded = read_vectors(tmp_path / "v.parquet")
    assert loaded.words == WORDS and loaded.vectors.tobytes() == VECTORS.tobytes()
    assert loaded.counts is None if counts is None else loaded.counts.tolist() == COUNTS.tolist()
    assert read_vectors(tmp_path / "v.parquet", limit=3).words == WORDS[:3]


def test_any_size_of_groups_and_batches_gives_the_same_rows(tmp_path, monkeypatch):
    words, vectors = [f"w{i}" for i in range(100)], np.random.default_rng(1).random((100, 5), np.float32)
    monkeypatch.setattr(parquet, "GROUP_NUMBERS", 35)
    write_vectors(tmp_path / "v.parquet", words, vectors)
    assert pq.ParquetFile(tmp_path / "v.parquet").num_row_groups == 15  # of 7 rows
    for batch in (1, 40, 1 << 20):
        monkeypatch.setattr(parquet, "BATCH_NUMBERS", batch)
        loaded = read_vectors(tmp_path / "v.parquet")
        assert loaded.words == words and loaded.vectors.tobytes() == vectors.tobytes()


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 3)])
def test_lists_of_others_are_read(tmp_path, kind):
    columns = {"vector": pa.array(VECTORS.tolist(), kind), "other": pa.array([1, 2, 3, 4])}
    columns |= {"word": pa.array(WORDS, pa.large_string()), "count": pa.array([1, 2, 3, 4], pa.uint16())}
    pq.write_table(pa.table(columns), tmp_path / "v.parquet")
    loaded = read_vectors(tmp_path / "v.parquet")
    assert loaded.words == WORDS and loaded.counts.tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(loaded.vectors, VECTORS)


def table(**changes):
    columns = {"word": pa.array(WORDS), "vector": pa.array(VECTORS.tolist()), "count": pa.array(COUNTS), **changes}
    return pa.table({name: column for name, column in columns.items() if column is not None})


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (table(word=None), "columns vector, count where word and vector"),
        (table(word=pa.array([1, 2, 3, 4])), "column word of .* holds int64"),
        (table(vector=pa.array([1.0, 2, 3, 4])), "column vector of .* holds double"),
        (table(vector=pa.array([["a"]] * 4)), "column vector of"),
        (table(vector=pa.array([[1, 2]] * 4, pa.list_(pa.int8()))), "column vector of"),
        (table(count=pa.array(["a", "b", "c", "d"])), "column count of"),
        (table(vector=pa.array([[1.0], [2.0], [3.0, 4.0], [5.0]])), "row 3 does not have the 1 numbers"),
        (table(vector=pa.array([[1.0], [2.0], None, [5.0]])), "rows 1 to 4 have a vector that is null"),
        (table(vector=pa.array([[1.0], [None], [3.0], [5.0]])), "does not have the 1 numbers"),
        (table(vector=pa.array([[], [1.0], [2.0], [3.0]])), "the first of 0 numbers"),
        (table(vector=pa.array([[1.0], [np.nan], [3.0], [5.0]])), "row 2 holds nan"),
        (table(word=pa.array(["a", None, "b", "c"])), "a word that is null"),
        (table(count=pa.array([1, -2, 3, 4])), "count of 'naïve' is -2"),
        (table(count=pa.array([2**64 - 1] * 4, pa.uint64())), "cannot be read as Parquet"),
        (table().slice(0, 0), "has 0 rows"),
    ],
)
def test_other_tables_are_refused(tmp_path, data, sentence):
    pq.write_table(data, tmp_path / "v.parquet")
    refused(lambda: read_vectors(tmp_path / "v.parquet"), sentence)


@pytest.mark.parametrize("cut", [0, 4, 50, 300, -1, -8])
def test_no_cut_of_a_file_is_read_as_whole(tmp_path, cut):
    write_vectors(tmp_path / "v.parquet", WORDS, VECTORS)
    whole = (tmp_path / "v.parquet").read_bytes()
    (tmp_path / "v.parquet").write_bytes(whole[:cut])
    refused(lambda: read_vectors(tmp_path / "v.parquet"))
    refused(lambda: read_vectors(tmp_path / "v.parquet", "parquet"))


def test_a_word_that_is_called_like_the_format_is_still_text(tmp_path):
    (tmp_path / "v.txt").write_text("PAR1 1 2\nb 3 4\n")
    assert read_vectors(tmp_path / "v.txt").words == ["PAR1", "b"]


def test_a_failure_leaves_the_old_file(tmp_path):
    write_vectors(tmp_path / "v.parquet", WORDS, VECTORS)
    big = np.full((1, 3), 1e6, np.float32)
    refused(lambda: write_vectors(tmp_path / "v.parquet", ["a"], big, dtype="float16"), "beyond the 65504")
    assert read_vectors(tmp_path / "v.parquet").words == WORDS and left_over(tmp_path) == ["v.parquet"]
