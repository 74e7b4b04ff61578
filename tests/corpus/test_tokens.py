"""The tokeniser: for any bytes, the kernels return what a few lines of plain Python return."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon.corpus.text import Piece, TextOptions, prepare
from mumon.corpus.word_table import ByteTable, rank_tables
from mumon.kernels.bytewise import is_utf8

BLANK = re.compile(
    rb"[\t-\r\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)
# Every blank, bytes that look like one up to their last, bytes that are no UTF-8, letters of one to four bytes.
BLANKS = [chr(code).encode() for code in range(sys.maxunicode + 1) if chr(code).isspace()]
ALMOST = [
    b"\xe2\x80\x8b",
    b"\xe2\x81\xa0",
    b"\xc2\x84",
    b"\xe1\x9a\x81",
    b"\xe3\x80\x81",
    b"\xe2\x80",
    b"\xc2",
    b"\xe1",
]
LETTERS = [b"a", b"b", b"\0", b"\x08", b"\x0e", b"\x1b", b"!", b"\x7f", b"\x80", b"\xff", "é".encode(), "語".encode()]
BYTES = st.lists(st.sampled_from([*BLANKS, b" ", b"\n", *ALMOST, *LETTERS, "🙂".encode()]), max_size=60).map(b"".join)
WORDS = st.lists(st.sampled_from([b"a", b"b", "é".encode(), "語".encode(), b"\0"]), min_size=1, max_size=40)
TEXTS = st.lists(st.tuples(WORDS.map(b"".join), st.sampled_from([b" ", b" ", b"\n", b"  ", b"\r\n"]))).map(
    lambda pairs: b"".join(itertools.chain(*pairs))
)


def split_naively(text):
    """Return the words of `text`, and the number of words before each newline."""
    words, ends = [], []
    for line in text.split(b"\n"):
        words += [word for word in BLANK.split(line) if word]
        ends.append(len(words))
    return words, ends[:-1]


def split_fast(text, table=None):
    table = table or ByteTable()
    ids, ends = table.encode(text)
    types = table.to_arrow().to_pylist()
    return [types[i] for i in ids], ends.tolist()


def test_the_blanks_are_pythons():
    assert all(BLANK.fullmatch(blank) for blank in BLANKS)
    for blank in BLANKS:
        assert split_fast(b"one" + blank + b"two")[0] == [b"one", b"two"]


@settings(max_examples=400, deadline=None)
@given(BYTES | TEXTS | st.binary(max_size=80))
def test_any_bytes_are_split_as_plain_python_splits_them(text):
    assert split_fast(text) == split_naively(text)


@settings(max_examples=100, deadline=None)
@given(st.lists(BYTES | TEXTS, max_size=5))
def test_a_table_that_grows_counts_and_numbers_by_first_sight(texts):
    table, expected = ByteTable(places=2), []
    for text in texts:
        assert split_fast(text, table) == split_naively(text)
        expected += split_naively(text)[0]
    assert table.to_arrow().to_pylist() == list(dict.fromkeys(expected))
    assert dict(zip(table.to_arrow().to_pylist(), table.read_counts().tolist(), strict=True)) == Counter(expected)


@pytest.mark.parametrize("length", range(1, 42))
def test_words_of_every_length_are_found_anywhere(length):
    word, other = b"x" * length, b"x" * (length - 1) + b"y"
    for before, after in itertools.product(range(9), (b"", b" ", b"\n", b" z")):
        text = b" " * before + word + b" " + other + b" " + word + after
        assert split_fast(text) == split_naively(text)


def test_many_words_and_words_longer_than_everything_before_find_room():
    words = [b"%d" % i for i in range(100_000)] + [b"long" * 300_000, b"n" * 17]
    table = ByteTable()
    assert split_fast(b" ".join(words), table)[0] == words
    assert split_fast(b"\n".join(reversed(words)), table)[0] == words[::-1]
    assert table.read_counts().tolist() == [2] * len(words)


def test_words_with_the_same_hash_stay_apart():
    from mumon.kernels.tokens import hash_long

    same = [b"aaaaaaaabbbbbbbbcccccccc", b"bbbbbbbbaaaaaaaacccccccc"]
    codes = {int(hash_long(np.frombuffer(word, np.uint8), 0, len(word))) for word in same}
    assert len(codes) == 1
    assert split_fast(b" ".join(same * 3))[0] == same * 3
    # a word of 16 bytes may look like the hash and the length of a longer one, but for the space it begins with
    forged = codes.pop().to_bytes(8, "little") + len(same[0]).to_bytes(8, "little")
    assert split_fast(same[0] + b" " + forged) == split_naively(same[0] + b" " + forged)


def test_tables_merge_by_count_then_bytes():
    tables = [ByteTable(), ByteTable(), ByteTable()]
    texts = [b"b b a verylongwordofmorethan16bytes", b"", b"c b\0 a verylongwordofmorethan16bytes a"]
    ids = [table.encode(text)[0] for table, text in zip(tables, texts, strict=True)]
    words, counts, ranks = rank_tables(tables)
    assert words.to_pylist() == [b"a", b"b", b"verylongwordofmorethan16bytes", b"b\0", b"c"]
    assert counts.tolist() == [3, 2, 2, 1, 1]
    for text, types, rank in zip(texts, ids, ranks, strict=True):
        assert [words[int(i)].as_py() for i in rank[types]] == text.split()


def test_the_tokeniser_is_compiled_once():
    from mumon.kernels.tokens import encode_text

    rank_tables([ByteTable(), ByteTable()])
    split_fast(b"one two")
    assert len(encode_text.signatures) == 1


EDGES = (0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
CONTINUED = [bytes(rest) for length in range(4) for rest in itertools.product(EDGES, repeat=length)]


def decodes(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_utf8_is_what_python_can_decode():
    for lead, rest in itertools.product(range(0x7F, 0x100), CONTINUED):
        data = bytes([lead]) + rest
        assert is_utf8(np.frombuffer(data, np.uint8)) == decodes(data), data


@settings(max_examples=300, deadline=None)
@given(BYTES | TEXTS | st.binary(max_size=40) | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_text_is_repaired_as_python_decodes_it(data):
    assert is_utf8(np.frombuffer(data, np.uint8)) == decodes(data)
    text, replaced = prepare(Piece(data, "here"), TextOptions())
    assert text == data.decode("utf-8", "replace").encode()
    assert (replaced > 0) == (not decodes(data))


def test_the_kernels_are_plain_python_too():
    code = """
import sys, numpy as np
from tests.corpus.test_tokens import ByteTable, decodes, is_utf8, split_fast, split_naively
np.seterr(over="ignore")  # NumPy warns when a 64-bit mixer wraps around
long = b"one two\\nthree  verylongwordofmorethan16bytes x"
for text in (long, "déjà vu 🙂\xa0x\\r\\n".encode(), b"1234567\\xe9 89"):
    assert split_fast(text, ByteTable(places=2)) == split_naively(text)
    assert is_utf8(np.frombuffer(text, np.uint8)) == decodes(text)
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


def test_counting_is_many_times_faster_than_plain_python():
    random = np.random.default_rng(0)
    lines = (" ".join(f"word{i}" for i in line) for line in random.zipf(1.2, (20_000, 20)) % 50_000)
    text = "\n".join(lines).encode()

    def seconds(count):
        best = []
        for _ in range(3):
            start = time.perf_counter()
            count()
            best.append(time.perf_counter() - start)
        return min(best)

    split_fast(text)  # compiled now, if never before
    # far below what it can do, so that a busy machine does not matter, but more than loops in Python could
    assert 3 * seconds(lambda: ByteTable().encode(text)) < seconds(lambda: Counter(text.split()))
