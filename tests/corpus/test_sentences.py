"""Corpora under gensim's names: its token lists, and the promise that files can be encoded instead of iterated over."""

from __future__ import annotations

import bz2
import gzip
import io
import itertools
import lzma
import os

import pytest
from gensim.models import word2vec as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon.corpus import corpus_from_files, corpus_from_sentences
from mumon.corpus import sentences as ours
from mumon.corpus.sources import PIECE_BYTES
from mumon.errors import CorpusError, OptionError
from tests.samples import refused

TEXT = "the cat saw the dog\n\n  der Hund  sah\tdie Kätzchen \u2003 x\u00a0y\n\x1cnaïve 🙂 a\u2028b\x85c\r\nthe end"
PACKED = {"txt": bytes, "txt.gz": gzip.compress, "txt.bz2": bz2.compress, "txt.xz": lzma.compress}


def decoded(corpus):
    words = [word.decode() for word in corpus.words.to_pylist()]
    return [[words[i] for i in corpus.ids[a:b]] for a, b in itertools.pairwise(corpus.offsets.tolist())]


def assert_encodes_the_same(corpus):
    """Encoding the files of a corpus gives what iterating over it gives: sentences, words, counts."""
    by_files, by_lists = corpus_from_files(corpus.files, reuse=False), corpus_from_sentences(corpus)
    assert decoded(by_files) == list(corpus)
    assert by_files.words.to_pylist() == by_lists.words.to_pylist()
    assert by_files.counts.tolist() == by_lists.counts.tolist()


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("options", [{}, {"max_sentence_length": 2}, {"limit": 3}, {"limit": 0}], ids=str)
def test_lines_are_gensims_packed_or_not(tmp_path, suffix, options):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(PACKED[suffix](TEXT.encode()))
    sentences = ours.LineSentence(str(path), **options)
    assert list(sentences) == list(sentences) == list(theirs.LineSentence(str(path), **options))
    assert sentences.files == (None if options else [str(path)])
    if not options:
        assert_encodes_the_same(sentences)


@settings(max_examples=80, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")))
def test_any_text_is_split_as_gensim_and_the_encoder_split_it(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes(text.encode())
    sentences = ours.LineSentence(path)
    assert list(sentences) == list(theirs.LineSentence(str(path)))
    if text.split():
        assert_encodes_the_same(sentences)


@pytest.mark.parametrize("words", [9_999, 10_000, 10_001, 25_000])
def test_long_lines_are_cut_where_gensim_and_the_encoder_cut_them(tmp_path, words):
    path = tmp_path / "a.txt"
    path.write_text("short\n" + " ".join(f"word{i % 977}" for i in range(words)) + "\nx y\n")
    assert list(ours.LineSentence(path)) == list(theirs.LineSentence(str(path)))
    assert_encodes_the_same(ours.LineSentence(path))


def test_a_line_longer_than_what_is_read_at_once_loses_nothing(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(" ".join(f"word{i}" for i in range(PIECE_BYTES // 4)) + "\nthe end")
    for length in (10_000, 7):
        assert list(ours.LineSentence(path, length)) == list(theirs.LineSentence(str(path), length))


def test_an_open_file_is_read_from_its_start_every_time():
    for source in (io.BytesIO(TEXT.encode()), io.StringIO(TEXT)):
        sentences = ours.LineSentence(source, limit=3)
        assert list(sentences) == list(sentences) == list(theirs.LineSentence(source, limit=3))
        assert sentences.files is None
    refused(lambda: list(ours.LineSentence(iter(["a b"]))), "neither a path nor a file", error=CorpusError)


def test_bytes_that_are_no_text_are_repaired_as_in_training(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfna\xefve cat\nb\xc3 \xa0 dog\xe2\x80\nend\xff")
    assert list(ours.LineSentence(path)) == [["na�ve", "cat"], ["b�", "�", "dog�"], ["end�"]]
    assert_encodes_the_same(ours.LineSentence(path))


def test_all_files_of_a_folder_come_by_name(tmp_path):
    for name, suffix in (("b", "txt.gz"), ("a", "txt"), (".c", "txt.bz2")):
        (tmp_path / f"{name}.{suffix}").write_bytes(PACKED[suffix](f"{name} {TEXT}".encode()))
    for options in ({}, {"limit": 1}, {"max_sentence_length": 3}):
        sentences, original = (module.PathLineSentences(str(tmp_path), **options) for module in (ours, theirs))
        assert sentences.input_files == original.input_files
        assert list(sentences) == list(sentences) == list(original)
        assert (sentences.files is None) == bool(options)
    assert_encodes_the_same(ours.PathLineSentences(tmp_path))
    one = tmp_path / "a.txt"
    assert list(ours.PathLineSentences(one)) == list(theirs.PathLineSentences(str(one)))
    (tmp_path / "folder").mkdir()  # which gensim would try to read
    assert list(ours.PathLineSentences(tmp_path)) == list(
        itertools.chain(*map(ours.LineSentence, original.input_files))
    )
    refused(lambda: ours.PathLineSentences(tmp_path / "none"), "neither a file nor a folder", error=CorpusError)


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize(("words", "length"), [(3, 10_000), (30_001, 10_000), (30_000, 1_000), (9_999, 10_000)])
def test_a_text_without_sentences_is_cut_where_gensim_cuts_it(tmp_path, suffix, words, length):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(PACKED[suffix](" ".join(f"word{i}" for i in range(words)).encode()))
    sentences = ours.Text8Corpus(path, length)
    assert list(sentences) == list(sentences) == list(theirs.Text8Corpus(str(path), length))
    assert sentences.files == ([str(path)] if length == 10_000 else None)
    if length == 10_000:
        assert_encodes_the_same(sentences)


@pytest.mark.parametrize(
    ("text", "one_line"),
    [
        ("a b", True),
        (" a b\n", True),
        ("a b\n \n", True),
        ("a b\nc", False),
        ("a\n\n" + " " * 3_000_000 + "c", False),
    ],
    ids=[1, 2, 3, 4, 5],
)
def test_a_text_of_several_lines_is_not_encoded_as_one(tmp_path, text, one_line):
    path = tmp_path / "a.txt"
    path.write_text(text)
    sentences = ours.Text8Corpus(path)
    assert (sentences.files is not None) == one_line
    assert list(sentences) == [text.split()]
    if one_line:
        assert_encodes_the_same(sentences)


def test_a_text_without_blanks_is_cut_all_the_same(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n".join(f"word{i}" for i in range(25)))  # of which gensim makes one sentence
    assert list(map(len, ours.Text8Corpus(path, 10))) == [10, 10, 5]


def test_the_brown_corpus_is_read_as_gensim_reads_it(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "ca02").write_text("\tThe/at Jury/nn-tl said/vbd ,/, it/pps 's/ odd/x/y\n\n./. ''/''\n")
    (tmp_path / "ca01").write_text("A/at Second/od-hl File/nn\n")
    sentences = ours.BrownCorpus(str(tmp_path))
    assert list(sentences) == list(sentences) == sorted(theirs.BrownCorpus(str(tmp_path)))
    assert list(sentences)[1] == ["the/at", "jury/nn", "said/vb", "it/pp"]
    assert sentences.files is None
    refused(lambda: list(ours.BrownCorpus(tmp_path / "none")), "is not a folder", error=CorpusError)


def test_what_the_encoder_would_read_otherwise_has_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "a b"}\n')
    (tmp_path / "-").write_text("not standard input")
    (tmp_path / "a.txt").write_text("a b")
    assert list(ours.LineSentence("a.jsonl")) == list(theirs.LineSentence("a.jsonl")) == [['{"text":', '"a', 'b"}']]
    assert list(ours.LineSentence("-")) == [["not", "standard", "input"]]
    for name in ("a.jsonl", "-", "*.txt", "none.txt", os.curdir):
        assert ours.LineSentence(name).files is None
    refused(lambda: list(ours.LineSentence("none.txt")), "none.txt cannot be read", error=CorpusError)


@pytest.mark.parametrize("options", [{"max_sentence_length": 0}, {"limit": -1}, {"limit": 1.5}], ids=str)
def test_an_impossible_number_is_refused(tmp_path, options):
    refused(lambda: ours.LineSentence("a.txt", **options), next(iter(options)), error=OptionError)
