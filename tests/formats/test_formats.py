"""What is written comes back, what is damaged is refused in one sentence, and nothing half-written is left."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mumon.errors import FormatError, OptionError
from mumon.formats import FORMATS, blocks, detect, read_vectors, text_rows, word2vec, write_vectors
from tests.samples import COUNTS, NAMES, VECTORS, WORDS, left_over, refused

# ---- round trips

float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
spaced = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=8)
solid = st.text(st.characters(codec="utf-8", exclude_characters="\n "), max_size=8)
anything = st.text(max_size=8)


@st.composite
def models(draw, words):
    vocabulary = draw(st.lists(words, min_size=1, max_size=6, unique=True))
    shape = len(vocabulary), draw(st.integers(1, 5))
    return vocabulary, draw(hnp.arrays(np.float32, shape, elements=float32))


def comes_back(format, model):
    words, vectors = model
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAMES[format]
        write_vectors(path, words, vectors)
        loaded = read_vectors(path, format)
        assert left_over(Path(folder)) == [path.name]
    assert loaded.words == words
    assert loaded.vectors.dtype == np.float32
    assert loaded.vectors.tobytes() == vectors.tobytes()


@settings(max_examples=60, deadline=None)
@given(models(anything))
def test_any_word_and_number_comes_back_from_the_model_directory(model):
    comes_back("mumon", model)


@settings(max_examples=100, deadline=None)
@given(models(solid))
def test_any_word_without_spaces_comes_back_from_binary(model):
    comes_back("word2vec-bin", model)


@pytest.mark.parametrize("format", ["word2vec-text", "glove"])
@settings(max_examples=100, deadline=None)
@given(models(spaced))
def test_words_with_spaces_come_back_from_text(format, model):
    try:
        comes_back(format, model)
    except FormatError as error:  # only where numbers could not be told from words, and before anything is written
        assert "in a number" in str(error) and any(text_rows.count_trailing_numbers(word.encode()) for word in model[0])


@pytest.mark.parametrize("format", NAMES)
def test_the_file_tells_its_format_and_keeps_its_rows(tmp_path, format):
    path = tmp_path / NAMES[format]
    write_vectors(path, WORDS, VECTORS, COUNTS)
    assert detect(path).name == format
    loaded = read_vectors(path)
    assert loaded.words == WORDS
    np.testing.assert_array_equal(loaded.vectors, VECTORS)
    if format == "mumon":
        assert loaded.counts.tolist() == COUNTS.tolist()
    few = read_vectors(path, limit=2)
    assert few.words == WORDS[:2] and few.vectors.shape == (2, 3)
    assert read_vectors(path, limit=99).words == WORDS


@pytest.mark.parametrize("format", ["word2vec-text", "word2vec-bin", "glove"])
def test_content_decides_whatever_the_name(tmp_path, format):
    write_vectors(tmp_path / "v.dat", WORDS, VECTORS, format=format)
    assert detect(tmp_path / "v.dat").name == format


@pytest.mark.parametrize("format", NAMES)
def test_rows_may_be_a_view_of_a_padded_matrix(tmp_path, format):
    padded = np.full((4, 16), np.nan, np.float32)
    padded[:, :3] = VECTORS
    write_vectors(tmp_path / NAMES[format], WORDS, padded[:, :3])
    np.testing.assert_array_equal(read_vectors(tmp_path / NAMES[format]).vectors, VECTORS)


def _zstd_stream(data):
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(data)
    return sink.getvalue().to_pybytes()


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": _zstd_stream}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("format", ["word2vec-text", "word2vec-bin", "glove"])
def test_packed_files_are_read_as_they_are(tmp_path, monkeypatch, suffix, format):
    monkeypatch.setattr(blocks, "FIRST_NUMBERS", 4)  # so that the matrix has to grow
    plain = tmp_path / NAMES[format]
    write_vectors(plain, WORDS, VECTORS)
    for name in (NAMES[format] + suffix, "no-extension"):
        packed = tmp_path / name
        packed.write_bytes(PACKERS[suffix](plain.read_bytes()))
        loaded = read_vectors(packed)
        assert loaded.words == WORDS
        np.testing.assert_array_equal(loaded.vectors, VECTORS)


@pytest.mark.parametrize("suffix", PACKERS)
def test_a_cut_packed_file_is_refused(tmp_path, suffix):
    words = [f"w{i}" for i in range(3000)]
    write_vectors(tmp_path / "v.txt", words, np.random.default_rng(0).random((3000, 10), np.float32))
    packed = PACKERS[suffix]((tmp_path / "v.txt").read_bytes())
    (tmp_path / "cut").write_bytes(packed[: len(packed) // 2])
    refused(lambda: read_vectors(tmp_path / "cut", "word2vec-text"), "cut")


def test_several_xz_streams_are_one_file_with_or_without_padding(tmp_path):
    write_vectors(tmp_path / "v.txt", WORDS, VECTORS)
    data = (tmp_path / "v.txt").read_bytes()
    for padding in (b"", b"\0" * 8, b"\0" * (3 << 20)):
        parts = [lzma.compress(data[:20]), padding, lzma.compress(b""), lzma.compress(data[20:]), padding]
        (tmp_path / "v.xz").write_bytes(b"".join(parts))
        assert read_vectors(tmp_path / "v.xz").words == WORDS


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 22])
def test_blocks_of_any_size_give_the_same_rows_and_places(tmp_path, monkeypatch, block):
    monkeypatch.setattr(text_rows, "BLOCK_BYTES", block)
    monkeypatch.setattr(word2vec, "CHUNK_BYTES", block)
    for format in ("word2vec-text", "word2vec-bin", "glove"):
        path = tmp_path / NAMES[format]
        write_vectors(path, WORDS, VECTORS)
        np.testing.assert_array_equal(read_vectors(path).vectors, VECTORS)
    path = tmp_path / "bad.txt"
    path.write_bytes(b"3 2\r\na 1 2 \r\nb 3 4\r\nc 5 x\r\n\n\n")
    refused(lambda: read_vectors(path), "row 3 at byte 20 has 'x'")
    path.write_bytes(b"2 2\na 1 2\n\n\nb 3 4\n")
    refused(lambda: read_vectors(path), "row 2 at byte 10 has 0 numbers")


@pytest.mark.parametrize(
    "text", [b"2 2\r\na 1 2 \r\nb c 3 4\r\n\r\n", b"2 2\na\t1\t2\nb c\t3\t4", b"2 2\na  1  2\nb c  3  4\n"]
)
def test_text_of_other_tools_is_read(tmp_path, text):
    (tmp_path / "v.txt").write_bytes(text)
    loaded = read_vectors(tmp_path / "v.txt")
    assert loaded.words == ["a", "b c"] and loaded.vectors.tolist() == [[1, 2], [3, 4]]


def test_glove_finds_the_dimension_though_words_end_in_numbers(tmp_path):
    (tmp_path / "g.txt").write_bytes(b"windows 95 0.5 1\n7 1 2\n. . . 3 4\nb\xff 5 6\n")
    loaded = read_vectors(tmp_path / "g.txt")
    assert loaded.words == ["windows 95", "7", ". . .", "b\ufffd"] and loaded.vectors.shape == (4, 2)


def test_both_dialects_of_binary_are_read(tmp_path):
    rows = [(b"a", (1.0, 2.0)), (b"b", (3.0, 4.0))]
    for end in (b"", b"\n"):
        body = b"".join(word + b" " + struct.pack("<2f", *numbers) + end for word, numbers in rows)
        (tmp_path / "v.bin").write_bytes(b"2 2\n" + body)
        loaded = read_vectors(tmp_path / "v.bin")
        assert loaded.words == ["a", "b"] and loaded.vectors.tolist() == [[1, 2], [3, 4]]


def test_binary_whose_first_float_begins_like_a_line_of_text_is_still_binary(tmp_path):
    numbers = struct.unpack(
        "<2f", b"6\n\x80?" + struct.pack("<f", 2)
    )  # a row of text with one number, up to the newline
    (tmp_path / "v.bin").write_bytes(b"1 2\na " + struct.pack("<2f", *numbers) + b"\n")
    assert detect(tmp_path / "v.bin").name == "word2vec-bin"
    assert read_vectors(tmp_path / "v.bin").vectors.tolist() == [list(numbers)]


@pytest.mark.parametrize("binary", [False, True])
def test_gensim_reads_ours_and_we_read_gensims(tmp_path, binary):
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    format = "word2vec-bin" if binary else "word2vec-text"
    write_vectors(tmp_path / "ours", WORDS, VECTORS, format=format)
    theirs = keyed.load_word2vec_format(str(tmp_path / "ours"), binary=binary)
    assert theirs.index_to_key == WORDS
    np.testing.assert_array_equal(theirs.vectors, VECTORS)
    theirs.save_word2vec_format(str(tmp_path / "theirs"), binary=binary)
    back = read_vectors(tmp_path / "theirs")
    assert back.words == WORDS and detect(tmp_path / "theirs").name == format
    np.testing.assert_array_equal(back.vectors, VECTORS)


# ---- damaged files


def row(word, *numbers):
    return word + b" " + struct.pack(f"<{len(numbers)}f", *numbers) + b"\n"


@pytest.mark.parametrize(
    ("format", "data", "sentences"),
    [
        ("word2vec-text", b"", ["0 bytes"]),
        ("word2vec-text", b"hello world\na 1\n", ["two numbers"]),
        ("word2vec-text", b"1000000000 300\na 1 2 3\n", ["23 bytes", "1000000000 rows of 300", "601000000014"]),
        ("word2vec-text", b"-1 3\na 1 2 3\n", ["-1 rows"]),
        ("word2vec-text", b"1 0\na\n", ["of 0 numbers"]),
        ("word2vec-text", b"2 3\na 1 2 3\nb 1.00000 2.0\n", ["row 2 at byte 12 has 2 numbers where 3", "truncated"]),
        ("word2vec-text", b"3 2\na 1.00 2.00\nb 3.00 4.00\n", ["ends after 2 of the 3 rows"]),
        ("word2vec-text", b"1 2\na 1 2\nb 3 4\n", ["continues at byte 10 after the 1 rows"]),
        ("word2vec-text", b"2 2\na 1 2\nb 3 four\n", ["row 2 at byte 10 has 'four'"]),
        ("word2vec-text", b"2 2\na 1 2\nb 3 4_0\n", ["row 2 at byte 10 has '4_0'"]),
        ("word2vec-text", b"2 2\na 1 2\nb nan 4\n", ["row 2 at byte 10 has number 1 not finite"]),
        ("word2vec-text", b"2 2\na 1 2\nb 3 1e39\n", ["number 2 not finite"]),
        ("word2vec-text", b"2 2\na 1 2 3\nb 3 4 5\n", ["more numbers than the 2"]),
        ("word2vec-bin", b"", ["0 bytes"]),
        ("word2vec-bin", b"1000000000 300\na ", ["17 bytes", "1000000000 rows of 300", "1201000000014"]),
        ("word2vec-bin", b"0 3\n", ["0 rows"]),
        (
            "word2vec-bin",
            b"2 2\n" + row(b"a", 1, 2) + b"longer " + b"1234567",
            ["row 2 at byte 15 has 1 numbers where 2"],
        ),
        ("word2vec-bin", b"1 2\n" + row(b"a", 1, 2) + row(b"b", 1, 2), ["continues at byte 15 after the 1 rows"]),
        ("word2vec-bin", b"2 2\n" + row(b"a", 1, 2) + row(b"b", 1, np.inf), ["row 2 at byte 15 holds nan or inf"]),
        ("word2vec-bin", b"1 2\n" + b"x" * 200_000, ["row 1 at byte 4 has no space in 65536 bytes"]),
        ("glove", b"", ["0 bytes"]),
        ("glove", b"\n\n", ["0 bytes"]),
        ("glove", b"some prose, no numbers\n", ["row 1 at byte 0 has 0 numbers"]),
        ("glove", b"a 1 2\nb 3 4\nc 5\n", ["row 3 at byte 12 has 1 numbers where 2"]),
        ("glove", b"a 1 2\nb 3 4\nc inf 6\n", ["row 3 at byte 12 has number 1 not finite"]),
    ],
)
def test_a_damaged_file_is_refused_by_row_and_byte(tmp_path, format, data, sentences):
    (tmp_path / "bad").write_bytes(data)
    message = refused(lambda: read_vectors(tmp_path / "bad", format), *sentences)
    assert str(tmp_path / "bad") in message
    if data:  # a header cannot make a packed file allocate either
        (tmp_path / "packed").write_bytes(gzip.compress(data))
        refused(lambda: read_vectors(tmp_path / "packed", format))


@pytest.mark.parametrize("format", ["word2vec-text", "word2vec-bin"])
@pytest.mark.parametrize("cut", range(0, 60, 3))
def test_no_cut_of_a_file_is_read_as_whole(tmp_path, format, cut):
    path = tmp_path / NAMES[format]
    write_vectors(path, WORDS, VECTORS)
    whole = path.read_bytes()
    path.write_bytes(whole[: min(cut, len(whole) - 13)])
    refused(lambda: read_vectors(path))
    refused(lambda: read_vectors(path, format))


def test_an_exact_fit_is_accepted(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"2 2\n 1 2\na 3 4")  # the smallest rows there are, no last newline
    assert read_vectors(tmp_path / "v.txt").words == ["", "a"]


def test_a_missing_file_and_a_bad_limit_are_refused(tmp_path):
    refused(lambda: read_vectors(tmp_path / "none.txt"), "nothing at")
    refused(lambda: read_vectors(tmp_path, "glove"), "is a directory")
    refused(lambda: read_vectors(tmp_path / "none.txt", limit=0), "limit is 0", error=OptionError)
    refused(lambda: read_vectors(tmp_path, "pickle"), "mumon, word2vec-text", error=OptionError)


# ---- what cannot be written


@pytest.mark.parametrize(
    ("format", "words", "sentence"),
    [
        ("word2vec-bin", ["a", "new york"], r"'new york' \(word 2\) holds a space.*save as mumon"),
        ("word2vec-bin", ["a", "b\nc"], "save as mumon"),
        ("word2vec-bin", ["a", "b" * 70_000], "65536 bytes"),
        ("word2vec-text", ["a", "b\nc"], r"'b\\nc' \(word 2\) holds a line break"),
        ("glove", ["a", "b\rc"], "holds a line break"),
        ("word2vec-text", ["formula 1", "windows 95"], "each of the 2 words ends in a number"),
        ("glove", ["formula 1", "windows 95"], "end in a number"),
        *((format, ["a", "a"], "'a' is both word 1 and word 2") for format in NAMES),
        *((format, ["a", "\ud800"], "UTF-8") for format in NAMES),
        *((format, ["a"], r"1 words and a matrix of 2 x 2") for format in NAMES),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_the_old_file_stays(tmp_path, format, words, sentence):
    path = tmp_path / NAMES[format]
    write_vectors(path, ["old"], np.ones((1, 2), np.float32))
    refused(lambda: write_vectors(path, words, np.eye(2, dtype=np.float32)), sentence)
    assert read_vectors(path).words == ["old"] and left_over(tmp_path) == [path.name]


@pytest.mark.parametrize("format", NAMES)
def test_non_finite_and_empty_are_not_written(tmp_path, format):
    path = tmp_path / NAMES[format]
    refused(lambda: write_vectors(path, ["a", "b"], np.array([[1], [np.nan]], np.float32)), r"'b' \(word 2\)")
    refused(lambda: write_vectors(path, [], np.empty((0, 3), np.float32)), "0 words")
    assert left_over(tmp_path) == []


def test_the_extension_must_name_a_format(tmp_path):
    for name in ("v.pkl", "v.txt.gz"):
        refused(lambda name=name: write_vectors(tmp_path / name, WORDS, VECTORS), error=OptionError)
    message = refused(lambda: write_vectors(tmp_path / "v.pkl", WORDS, VECTORS), error=OptionError)
    assert all(name in message for name, entry in FORMATS.items() if entry.write)
    refused(lambda: write_vectors(tmp_path / "v.gz", WORDS, VECTORS, format="glove"), "compress", error=OptionError)
    refused(lambda: write_vectors(tmp_path / "no" / "v.txt", WORDS, VECTORS), "does not exist", error=OptionError)
    refused(lambda: write_vectors(tmp_path / "no" / "v", WORDS, VECTORS), "does not exist", error=OptionError)
    assert left_over(tmp_path) == []


@pytest.mark.parametrize(
    "name, data",
    [
        ("v.txt", b"3 2\na 1 2\nb 3 4\na 5 6\n"),
        ("v.bin", b"3 2\n" + row(b"a", 1, 2) + row(b"b", 3, 4) + row(b"a", 5, 6)),
        ("v.glove", b"ab\xff 1 2\nb 3 4\nab\xfe 5 6\n"),
    ],
)
def test_of_rows_that_repeat_a_word_the_first_counts_and_a_warning_says_so(tmp_path, caplog, name, data):
    (tmp_path / name).write_bytes(data)
    loaded = read_vectors(tmp_path / name)
    assert len(loaded.words) == 2 and loaded.vectors.tolist() == [[1, 2], [3, 4]]
    assert "left out 1 rows that repeat a word" in caplog.text


@pytest.mark.parametrize("name", ["word2vec-text", "glove"])
def test_a_row_that_no_reader_would_take_back_is_not_written(tmp_path, name):
    path = tmp_path / NAMES[name]
    refused(lambda: write_vectors(path, ["a", "b" * 3_000_000], np.eye(2, dtype=np.float32)), "3,000,000 letters")
    refused(lambda: write_vectors(path, ["a"], np.ones((1, 300_000), np.float32)), "300,000 numbers")
    assert not path.exists()
