"""The projector's two files: tabs and a header where TensorBoard wants them, and both or none."""

from __future__ import annotations

import pytest

from mumon.formats import detect, read_vectors, write_vectors
from tests.samples import COUNTS, VECTORS, WORDS, left_over, refused


def test_with_counts_the_metadata_has_a_header(tmp_path):
    write_vectors(tmp_path / "v.tsv", WORDS, VECTORS, COUNTS)
    assert left_over(tmp_path) == ["v.metadata.tsv", "v.tsv"]
    lines = (tmp_path / "v.metadata.tsv").read_text("utf-8").splitlines()
    assert lines == ["word\tcount", "the\t9", "naïve\t7", "🙂\t3", "of\t0"]
    rows = [list(map(float, line.split("\t"))) for line in (tmp_path / "v.tsv").read_text().splitlines()]
    assert len(rows) == 4 and all(len(row) == 3 for row in rows)


def test_a_single_column_has_no_header_as_the_projector_wants_it(tmp_path):
    write_vectors(tmp_path / "v.tsv", WORDS, VECTORS)
    assert (tmp_path / "v.metadata.tsv").read_text("utf-8").splitlines() == WORDS


@pytest.mark.parametrize("counts", [COUNTS, None])
@pytest.mark.parametrize("columns", [3, 1])
def test_what_is_written_comes_back(tmp_path, counts, columns):
    write_vectors(tmp_path / "v.tsv", WORDS, VECTORS[:, :columns], counts)
    assert detect(tmp_path / "v.tsv").name == "projector"
    loaded = read_vectors(tmp_path / "v.tsv")
    assert loaded.words == WORDS and loaded.vectors.tobytes() == VECTORS[:, :columns].tobytes()
    assert loaded.counts is None if counts is None else loaded.counts.tolist() == COUNTS.tolist()
    assert read_vectors(tmp_path / "v.tsv", limit=2).words == WORDS[:2]


def test_content_decides_whatever_the_name(tmp_path):
    write_vectors(tmp_path / "v.dat", WORDS, VECTORS, format="projector")
    assert detect(tmp_path / "v.dat").name == "projector"
    (tmp_path / "v.metadata.tsv").unlink()
    assert detect(tmp_path / "v.dat").name == "glove"  # a number as the word, and tabs


@pytest.mark.parametrize(("vectors", "metadata"), [("vectors.tsv", "metadata.tsv"), ("x_tensor.tsv", "x_metadata.tsv")])
def test_the_names_of_other_tools_are_found(tmp_path, vectors, metadata):
    (tmp_path / vectors).write_text("1.0\t2.0\r\n3.0\t4.0\r\n")
    (tmp_path / metadata).write_text("id\tword\n1\ta\n2\tb\n")
    loaded = read_vectors(tmp_path / vectors)
    assert loaded.words == ["a", "b"] and loaded.vectors.tolist() == [[1, 2], [3, 4]] and loaded.counts is None


@pytest.mark.parametrize(
    ("vectors", "metadata", "sentence"),
    [
        ("", "a\n", "0 bytes"),
        ("1\t2\n", "", "ends after 0 lines"),
        ("1\t2\n3\t4\n", "a\n", "ends after 1 lines"),
        ("1\t2\n3\t4\n", "a\nb\nc\n", "continues at line 3"),
        ("1\t2\n3\n", "a\nb\n", "row 2 at byte 4 has 1 numbers where 2"),
        ("1\t2\n3\t4\t5\n", "a\nb\n", "row 2 at byte 4 has 3 numbers where 2"),
        ("1\t2\n3\n4\t5\t6\n", "a\nb\nc\n", "row 2 at byte 4 has 1 numbers"),  # as many numbers as there should be
        ("1\t2\n3\tx\n", "a\nb\n", "row 2 at byte 4 has 'x'"),
        ("1\t2\n3\tinf\n", "a\nb\n", "row 2 at byte 4 has number 2 not finite"),
        ("1\t2\n", "word\tcount\na\tmany\n", "have a count that is no number"),
        ("1\t2\n", "word\tcount\na\t" + "9" * 30 + "\n", r"a count of 2\^63"),
        ("1\t2\n", "word\tcount\na\t-3\n", "count of 'a' is -3"),
        ("1\t2\n", "word\tcount\na\n", "not 2 columns everywhere"),
        ("1\t2\n", "count\tnumber\n1\t2\n", "columns count, number and none called word"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(tmp_path, vectors, metadata, sentence):
    (tmp_path / "v.tsv").write_text(vectors)
    (tmp_path / "v.metadata.tsv").write_text(metadata)
    refused(lambda: read_vectors(tmp_path / "v.tsv"), sentence)


def test_the_words_must_be_there(tmp_path):
    (tmp_path / "v.tsv").write_text("1\t2\n")
    refused(lambda: read_vectors(tmp_path / "v.tsv"), "no v.metadata.tsv beside it")


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "a\rb"])
def test_a_word_that_would_break_the_table_is_refused(tmp_path, word):
    refused(lambda: write_vectors(tmp_path / "v.tsv", ["x", word], VECTORS[:2]), r"\(word 2\) holds a")
    assert left_over(tmp_path) == []
