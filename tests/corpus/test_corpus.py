"""Reading: every container and compression, every odd byte, nothing lost, encoded once."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import lzma
import os
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon import Word2Vec
from mumon.corpus import TextOptions, corpus_from_files, corpus_from_sentences, encode
from mumon.corpus.running_text import split_sentences
from mumon.errors import CorpusError

TEXT = "the cat saw the dog\n\n  der Hund  sah\tdie Katze \nno-newline at the end"
TEXT_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
SENTENCES = [line.split() for line in TEXT.split("\n") if line.strip()]


def decoded(corpus):
    """The sentences of an encoded corpus as lists of words."""
    words = [word.decode() for word in corpus.words.to_pylist()]
    bounds = corpus.offsets.tolist()
    return [[words[i] for i in corpus.ids[a:b]] for a, b in itertools.pairwise(bounds)]


def read(*paths, workers=2, reuse=False, **options):
    return corpus_from_files(list(paths), TextOptions(**options), workers=workers, reuse=reuse)


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


COMPRESSIONS = {"txt": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zstd}


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_every_compression_reads_the_same_whatever_the_file_is_called(tmp_path, suffix):
    for name in (f"a.{suffix}", "misnamed.dat"):
        (tmp_path / name).write_bytes(COMPRESSIONS[suffix](TEXT.encode()))
        assert decoded(read(tmp_path / name)) == SENTENCES


def test_folders_globs_and_lists_name_every_file_in_a_fixed_order(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "b.txt").write_text("three four")
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "deep" / "c.txt.gz").write_bytes(gzip.compress(b"five six"))
    (tmp_path / ".hidden").write_text("not me")
    everything = [["one", "two"], ["three", "four"], ["five", "six"]]
    assert decoded(read(tmp_path)) == everything
    assert decoded(read(tmp_path / "*.txt")) == everything[:2]
    assert decoded(read(tmp_path / "**" / "*.gz")) == everything[2:]
    assert decoded(read(tmp_path / "deep", tmp_path / "a.txt")) == [everything[2], everything[0]]


def test_a_loop_of_links_does_not_trap_the_reader(tmp_path):
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert decoded(read(tmp_path)) == [["one", "two"]]


def test_standard_input_is_read(tmp_path):
    code = "from mumon import corpus_from_files; c = corpus_from_files(['-']); print(c.tokens, c.sentences)"
    run = subprocess.run([sys.executable, "-c", code], input=TEXT.encode(), capture_output=True, check=True)
    assert run.stdout.split() == [b"14", b"3"]


def test_words_are_ranked_by_count_then_bytes_whatever_the_threads(tmp_path):
    random = np.random.default_rng(0)
    lines = [" ".join(f"w{i}" for i in random.zipf(1.3, 12) % 5000) for _ in range(60_000)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    one, four = read(tmp_path / "a.txt", workers=1), read(tmp_path / "a.txt", workers=4)
    assert one.counts.tolist() == sorted(one.counts.tolist(), reverse=True)
    expected = sorted(zip(-one.counts, one.words.to_pylist(), strict=True))
    assert [word for _, word in expected] == one.words.to_pylist()
    np.testing.assert_array_equal(one.ids, four.ids)
    np.testing.assert_array_equal(one.offsets, four.offsets)
    assert [line.split() for line in lines] == decoded(one)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text(TEXT_CHARACTERS, min_size=1), max_size=6), max_size=8))
def test_encoding_files_splits_as_python_does_and_loses_nothing(tmp_path_factory, sentences):
    text = "\n".join(" ".join(sentence) for sentence in sentences)
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_bytes(text.encode())
    expected = [line.split() for line in text.removeprefix("\ufeff").split("\n") if line.split()]
    if expected:
        assert decoded(read(path)) == expected
    else:
        with pytest.raises(CorpusError, match="0 words"):
            read(path)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), min_size=1))
def test_encoding_token_lists_keeps_any_token_even_with_blanks(sentences):
    assert decoded(corpus_from_sentences(sentences)) == sentences


def test_tokens_that_only_their_repair_makes_equal_are_one_word():
    corpus = corpus_from_sentences([["\ud800", "a", "\ufffd"], ["\udfff", "a"]])
    repaired = "\ufffd" * 3  # as Python repairs each of its three bytes
    assert decoded(corpus) == [[repaired, "a", "\ufffd"], [repaired, "a"]]
    assert corpus.words.to_pylist() == [b"a", repaired.encode(), "\ufffd".encode()]
    assert corpus.counts.tolist() == [2, 2, 1] and corpus.replaced == 2


def test_a_one_shot_iterator_of_any_sequences_is_read():
    corpus = corpus_from_sentences(iter([("1", "2"), np.array(["2", "3"])]))
    assert decoded(corpus) == [["1", "2"], ["2", "3"]]


def test_long_sentences_and_words_are_cut_into_blocks_without_losing_a_token(tmp_path, monkeypatch):
    words = [f"w{i % 977}" for i in range(400_000)]
    words[7] = "long" * 700_000
    (tmp_path / "one-line.txt").write_text(" ".join(words))
    corpus = read(tmp_path / "one-line.txt")
    assert [word for sentence in decoded(corpus) for word in sentence] == words
    assert np.diff(corpus.offsets).max() == encode.MAX_SENTENCE
    assert corpus.sentences == 40
    assert decoded(corpus_from_sentences([words[8:25_000]]))[2] == words[20_008:25_000]


@pytest.mark.parametrize("size", [1, 7, 8, 64])
def test_words_at_the_cut_between_pieces_stay_whole(tmp_path, monkeypatch, size):
    from mumon.corpus import sources

    sentences = [["a", "longer-than-a-piece" * 9, "é"], ["b"] * 90, ["語\u200b語", "a"]]
    (tmp_path / "a.txt").write_text("\n\n".join("\u3000 ".join(sentence) for sentence in sentences))
    monkeypatch.setattr(sources, "PIECE_BYTES", size)
    assert decoded(read(tmp_path / "a.txt", workers=3)) == sentences


def test_bytes_that_are_not_utf8_are_replaced_counted_and_reported(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good \xff\xfebad caf\xc3\xa9\nlatin\xe9 \xef\xbf\xbd\n")
    corpus = read(tmp_path / "a.txt")
    assert corpus.replaced == 3
    assert decoded(corpus) == [["good", "\ufffd\ufffdbad", "café"], ["latin\ufffd", "\ufffd"]]


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfone two\r\nthree\r\n", b"one two\x00\nthree".replace(b"\x00", b" ")])
def test_byte_order_marks_and_windows_line_ends_are_not_words(tmp_path, data):
    (tmp_path / "a.txt").write_bytes(data)
    assert decoded(read(tmp_path / "a.txt")) == [["one", "two"], ["three"]]


def test_json_lines_and_parquet_read_their_text_field(tmp_path):
    texts = ["one two\nthree", None, "four \ud800"]
    (tmp_path / "a.jsonl.gz").write_bytes(
        gzip.compress("\n".join(json.dumps({"id": 1, "body": text}) for text in texts).encode())
    )
    corpus = read(tmp_path / "a.jsonl.gz", text_field="body")
    assert decoded(corpus)[:2] == [["one", "two"], ["three"]]
    assert corpus.replaced > 0
    pq.write_table(pa.table({"body": ["one two\nthree", None, "four"]}), tmp_path / "a.parquet")
    assert decoded(read(tmp_path / "a.parquet", text_field="body")) == [["one", "two"], ["three"], ["four"]]


def test_a_named_text_field_makes_json_lines_of_standard_input_and_of_any_file(tmp_path):
    record = b'{"body": "one caf\xff two"}\n'
    for name in ("a.JSONL", "a.dat"):
        (tmp_path / name).write_bytes(record)
        corpus = read(tmp_path / name, text_field="body")
        assert decoded(corpus) == [["one", "caf\ufffd", "two"]] and corpus.replaced == 1
    code = "from mumon import *; print(corpus_from_files(['-'], TextOptions(text_field='body')).tokens)"
    run = subprocess.run([sys.executable, "-c", code], input=record, capture_output=True, check=True)
    assert run.stdout.split() == [b"3"]


def test_parquet_strings_may_be_invalid_dictionaries_or_very_long(tmp_path):
    invalid = pa.array([b"caf\xff one"]).cast(pa.large_binary()).view(pa.large_string())
    pq.write_table(pa.table({"text": invalid}), tmp_path / "a.parquet")
    corpus = read(tmp_path / "a.parquet")
    assert decoded(corpus) == [["caf\ufffd", "one"]] and corpus.replaced == 1
    pq.write_table(pa.table({"text": pa.array(["one two", "one"]).dictionary_encode()}), tmp_path / "b.parquet")
    assert decoded(read(tmp_path / "b.parquet")) == [["one", "two"], ["one"]]
    words = [f"w{i % 5000}" for i in range(600_000)]
    pq.write_table(pa.table({"text": [" ".join(words)] * 3}), tmp_path / "c.parquet")
    assert [word for sentence in decoded(read(tmp_path / "c.parquet")) for word in sentence] == words * 3


def test_the_encoding_of_a_link_is_not_taken_for_that_of_its_file(tmp_path):
    (tmp_path / "real.data").write_text('{"text": "one two"}')
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "real.data")
    assert decoded(read(tmp_path / "link.jsonl", reuse=True)) == [["one", "two"]]
    assert decoded(read(tmp_path / "real.data", reuse=True)) == [['{"text":', '"one', 'two"}']]


def test_a_model_given_as_text_is_told_apart(tmp_path):
    (tmp_path / "model.safetensors").touch()
    with pytest.raises(CorpusError, match="is a model, not text; to continue its training, name it with --from"):
        read(tmp_path)


def test_model_folders_below_a_folder_are_not_text(tmp_path):
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "old.mumon").mkdir()
    (tmp_path / "old.mumon" / "config.json").write_text("{}")
    assert decoded(read(tmp_path)) == [["one", "two"]]


def test_words_of_scripts_with_combining_marks_stay_whole(tmp_path):
    text = "हिन्दी भाषा। naïve café\n\nمی‌خواهم"
    (tmp_path / "a.txt").write_text(text)
    expected = [["हिन्दी", "भाषा"], ["naïve", "café"], ["می‌خواهم"]]
    assert decoded(read(tmp_path / "a.txt", tokenize=True)) == expected


def test_a_paragraph_break_at_the_cut_between_pieces_is_kept():
    assert split_sentences("\n\nNext one").startswith("\n")


def test_running_text_becomes_sentences_of_words(tmp_path):
    text = (
        "It's 3 p.m. in São Paulo. Dr. O'Neil said: “Don't\nworry!” Well—worry, e.g. about rock-solid code.\n\n"
        "A title without a stop\n\n東京は大きい。はい。"
    )
    (tmp_path / "a.txt").write_text(text)
    sentences = decoded(read(tmp_path / "a.txt", tokenize=True, lowercase=True))
    assert [" ".join(sentence) for sentence in sentences] == [
        "it's 3 p m in são paulo",
        "dr",
        "o'neil said don't worry",
        "well worry e g about rock-solid code",
        "a title without a stop",
        "東京は大きい",
        "はい",
    ]
    assert sum(map(len, sentences)) == len(split_sentences(text).split())


def test_a_sentence_of_running_text_survives_the_cut_between_pieces(tmp_path, monkeypatch):
    from mumon.corpus import sources

    text = "\n".join(f"Sentence {i} goes on\nover two lines and ends here." for i in range(200))
    (tmp_path / "a.txt").write_text(text)
    whole = decoded(read(tmp_path / "a.txt", tokenize=True))
    monkeypatch.setattr(sources, "PIECE_BYTES", 64)
    assert decoded(read(tmp_path / "a.txt", tokenize=True)) == whole
    assert len(whole) == 200


def test_every_file_ends_its_last_sentence(tmp_path):
    for name in "ab":
        (tmp_path / name).write_text(f"no stop at the end of {name}")
    assert [sentence[-1] for sentence in decoded(read(tmp_path, tokenize=True))] == ["a", "b"]
    assert [sentence[-1] for sentence in decoded(read(tmp_path))] == ["a", "b"]


def test_the_encoding_is_reused_until_the_file_or_the_options_change(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("One two\n")
    assert not read(path, reuse=True).reused
    assert read(path, reuse=True).reused
    assert not read(path, reuse=True, lowercase=True).reused
    path.write_text("One two three\n")
    again = read(path, reuse=True)
    assert not again.reused and again.tokens == 3


def test_a_damaged_encoding_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("one two three")
    read(tmp_path / "a.txt", reuse=True)
    for name in ("ids.i32", "words.arrow", "corpus.json"):
        (damaged,) = (tmp_path / "cache").rglob(name)
        damaged.write_bytes(damaged.read_bytes()[:5])
        assert decoded(read(tmp_path / "a.txt", reuse=True)) == [["one", "two", "three"]]


def test_encodings_of_changed_and_vanished_files_are_deleted(tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "cache"))
    for name in ("kept", "changed", "gone"):
        (tmp_path / name).write_text(f"{name} text")
        read(tmp_path / name, reuse=True)
    (tmp_path / "changed").write_text("changed text again")
    (tmp_path / "gone").unlink()
    read(tmp_path / "changed", reuse=True)
    assert len(list((tmp_path / "cache" / "corpora").iterdir())) == 2
    assert read(tmp_path / "kept", reuse=True).reused


def test_an_unwritable_cache_only_costs_the_reuse(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("one two")
    (tmp_path / "not-a-folder").write_text("")
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "not-a-folder"))
    assert read(tmp_path / "a.txt", reuse=True).tokens == 2


def write(path, data):
    path.write_bytes(data)
    return path


BAD_CORPORA = {
    "missing file": (lambda d: d / "nowhere.txt", "no file"),
    "missing folder": (lambda d: d / "no" / "where.txt", "not even the folder"),
    "empty file": (lambda d: write(d / "e.txt", b""), "0 words"),
    "blank file": (lambda d: write(d / "e.txt", b" \n\t\n"), "0 words"),
    "empty folder": (lambda d: d, "no file to read"),
    "truncated gz": (lambda d: write(d / "a.gz", gzip.compress(b"one two " * 9999)[:-20]), "damaged or cut short"),
    "truncated xz": (lambda d: write(d / "a.xz", lzma.compress(b"one two " * 9999)[:-20]), "damaged or cut short"),
    "truncated bz2": (lambda d: write(d / "a.bz2", bz2.compress(b"one two " * 9999)[:-20]), "damaged or cut short"),
    "truncated zst": (lambda d: write(d / "a.zst", zstd(b"one two " * 9999)[:-3]), "damaged or cut short"),
    "binary file": (lambda d: write(d / "a.bin", b"word \x00\x01"), "NUL at byte 5"),
    "json array": (lambda d: write(d / "a.jsonl", b'["one"]'), "line 1 is a JSON list; each must be an object"),
    "json number": (lambda d: write(d / "a.jsonl", b'{"text": 1}'), "holds a int, not text"),
    "utf-16": (lambda d: write(d / "a.txt", "one two".encode("utf-16")), "iconv"),
    "broken json": (lambda d: write(d / "a.jsonl", b'{"text": "one"}\n{"text": '), "line 2 is not valid JSON"),
    "json without field": (lambda d: write(d / "a.jsonl", b'{"body": "one"}'), "--text-field"),
    "broken parquet": (lambda d: write(d / "a.parquet", b"PAR1 nonsense"), "Parquet"),
}


@pytest.mark.parametrize("case", BAD_CORPORA)
def test_a_bad_corpus_is_refused_in_one_sentence_and_leaves_nothing_behind(tmp_path, monkeypatch, case):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "cache"))
    make, message = BAD_CORPORA[case]
    with pytest.raises(CorpusError, match=message) as caught:
        read(make(folder), reuse=True)
    assert "\n" not in str(caught.value)
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and "kernels" not in str(path)]
    assert not left


@pytest.mark.parametrize(
    "sentences, message",
    [
        (["a string"], "is a string, not a list of tokens"),
        ("oops", "is a string, not a list of tokens"),
        ([["fine"], 7], "sentence 1 is not a list"),
        ([["fine", ["nested"]]], "sentence 0 is not a list of words"),
        ([["fine", 1.5]], "is a float, not a string"),
        ([["fine", 7]], r"token 7 is a int, not a string; give all of them as strings \(str\(\)\), or all as integers"),
        ([[3, "three"]], r"some tokens are integers, like 3, and others not, like 'three'; give all"),
        ([[3, 3.5]], r"some tokens are integers, like 3, and others not, like 3.5"),
        ([[True, False]], r"token True is a bool, not a string"),
    ],
)
def test_what_is_not_a_token_list_is_refused_in_one_sentence(sentences, message):
    with pytest.raises(CorpusError, match=message):
        corpus_from_sentences(sentences)


def test_training_goes_on_when_another_process_clears_the_encoding_away(tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("the cat saw the dog\n" * 50)
    corpus = corpus_from_files([tmp_path / "a.txt"])
    whole = corpus.ids[10:20].tolist()
    shutil.rmtree(tmp_path / "cache" / "corpora")
    assert corpus.read(10, 20).tolist() == whole
    assert len(Word2Vec(corpus, min_count=1, vector_size=4, sample=0, workers=1, progress=False).wv) == 4


def test_an_encoding_that_was_cut_short_is_an_error_and_not_garbage(tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("the cat saw the dog\n" * 50)
    corpus = corpus_from_files([tmp_path / "a.txt"])
    os.truncate(next((tmp_path / "cache").rglob("ids.i32")), 40)
    with pytest.raises(CorpusError, match="ends before token 20 of 250"):
        corpus.read(0, 20)
