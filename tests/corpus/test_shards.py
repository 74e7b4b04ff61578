"""Shards: however a file is cut, its shards are the whole, and reading one needs nothing but the shard."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon.corpus import TextOptions, sources
from mumon.corpus import shards as shards_module
from mumon.corpus.encode import CorpusWriter
from mumon.corpus.shards import Shard, find_shards, read_shard
from mumon.corpus.text import prepare
from mumon.corpus.word_table import ByteTable
from mumon.errors import CorpusError, OptionError

PLAIN = TextOptions()
LINES = st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\0", b"\n")), max_size=12)  # a NUL is not text
CUTS = st.lists(st.floats(0, 1), max_size=6)


def nothing(_):
    pass


def data_of(shard, options=PLAIN):
    return b"".join(piece.data for piece in read_shard(shard, options, nothing))


def cut_at(path, fractions):
    """Shards of a file at any bytes, the same ones twice included."""
    size = path.stat().st_size
    bounds = [0, *sorted(round(part * size) for part in fractions), None]
    return [Shard(str(path), *ends) for ends in pairwise(bounds)]


def encoded(shards, options):
    """What the encoder makes of the pieces of these shards, one after the other, and of the characters in them."""
    table, replaced = ByteTable(), 0
    with tempfile.TemporaryDirectory() as folder:
        writer = CorpusWriter(Path(folder))
        for shard in shards:
            for piece in read_shard(shard, options, nothing):
                text, bad = prepare(piece, options)
                writer.append(0, *table.encode(text))
                replaced += bad
        writer.finish([table])
        files = [Path(folder, name).read_bytes() for name in ("ids.i32", "offsets.i64", "words.arrow")]
    return *files, writer.tokens, writer.sentences, replaced


def naive(content, shard):
    """The lines that begin within a shard, by looking at every line of the file."""
    at, kept = 0, b""
    for line in content.split(b"\n"):
        if shard.begin <= at and (shard.end is None or at < shard.end):
            kept += content[at : at + len(line) + 1].removeprefix(b"\xef\xbb\xbf" if at == 0 else b"")
        at += len(line) + 1
    return kept


@settings(max_examples=200, deadline=None)
@given(LINES, CUTS, st.sampled_from([b"\n", b"\r\n"]), st.sampled_from([b"", b"\xef\xbb\xbf"]), st.integers(3, 9))
def test_the_lines_of_all_shards_are_those_of_the_file_each_once_in_order(
    tmp_path_factory, lines, cuts, end, mark, at_once
):
    path = tmp_path_factory.mktemp("cut") / "a.txt"
    content = mark + b"a" + end.join(lines)  # the letter: a file that begins like UTF-16 is refused
    path.write_bytes(content)
    advances = []
    shards = cut_at(path, cuts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "PIECE_BYTES", at_once)  # so that even these small files come in pieces
        patch.setattr(shards_module, "PIECE_BYTES", at_once)
        texts = [b"".join(piece.data for piece in read_shard(shard, PLAIN, advances.append)) for shard in shards]
    assert texts == [naive(content, shard) for shard in shards]
    assert b"".join(texts) == content.removeprefix(mark)
    assert sum(advances) == len(content)  # so that a bar ends where it should


@settings(max_examples=50, deadline=None)
@given(LINES, CUTS, st.booleans())
def test_shards_encode_to_the_tokens_and_sentences_of_the_file(tmp_path_factory, lines, cuts, lowercase):
    path, options = tmp_path_factory.mktemp("cut") / "a.txt", TextOptions(lowercase=lowercase)
    path.write_bytes(b"the A\n" + b"\n".join(lines))
    assert encoded(cut_at(path, cuts), options) == encoded([Shard(str(path))], options)


TEXTS = st.lists(st.none() | st.text(st.sampled_from("ab .!?\n\u2028É\ud800"), max_size=12), min_size=1, max_size=9)


@settings(max_examples=50, deadline=None)
@given(TEXTS, CUTS, st.booleans())
def test_json_lines_are_cut_between_records_even_if_they_hold_running_text(tmp_path_factory, texts, cuts, tokenize):
    path, options = tmp_path_factory.mktemp("cut") / "a.jsonl", TextOptions(tokenize=tokenize)
    path.write_text("\n".join(json.dumps({"text": text}) for text in ["the cat", *texts]))
    assert encoded(cut_at(path, cuts), options) == encoded([Shard(str(path))], options)


@settings(max_examples=50, deadline=None)
@given(TEXTS, CUTS, st.integers(1, 4), st.booleans(), st.booleans())
def test_parquet_is_cut_between_row_groups(tmp_path_factory, texts, cuts, rows, tokenize, dictionary):
    path, options = tmp_path_factory.mktemp("cut") / "a.parquet", TextOptions(tokenize=tokenize)
    clean = ["the cat", *(text and text.replace("\ud800", "") for text in texts)]
    table = pa.table({"number": list(range(len(clean))), "text": clean})
    pq.write_table(table, path, row_group_size=rows, use_dictionary=dictionary)
    advances = []
    shards = cut_at(path, cuts)
    assert encoded(shards, options) == encoded([Shard(str(path))], options)
    for shard in shards:
        list(read_shard(shard, options, advances.append))
    assert sum(advances) == path.stat().st_size


def test_files_that_can_be_cut_are_and_their_parts_are_of_one_size(tmp_path):
    for name in ("a.txt", "b.jsonl"):
        (tmp_path / name).write_text('{"text": "one two"}\n' * 50)
    pq.write_table(pa.table({"text": [f"word{i} " * 50 for i in range(100)]}), tmp_path / "c.parquet", 10)
    shards = find_shards([tmp_path], size=300)
    assert [Path(shard.name).name for shard in shards if not shard.begin] == ["a.txt", "b.jsonl", "c.parquet"]
    lengths = {shard.end - shard.begin for shard in shards if shard.end and not shard.name.endswith(".parquet")}
    assert max(lengths) <= 300 and max(lengths) - min(lengths) <= 1
    groups = [shard for shard in shards if shard.name.endswith(".parquet")]
    assert len(groups) > 3 and all(len(data_of(shard)) >= 10 * 6 * 50 for shard in groups)  # none is empty
    assert b"".join(map(data_of, groups)) == data_of(Shard(groups[0].name))
    assert find_shards([tmp_path / "a.txt"]) == [Shard(str(tmp_path / "a.txt"))]


def test_what_cannot_be_cut_is_one_shard(tmp_path):
    text = b"one two. three\n" * 100
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text, 0))
    (tmp_path / "b.txt").write_bytes(text)
    packed, running = find_shards([tmp_path], TextOptions(tokenize=True), size=100)
    assert (packed, running) == (Shard(str(tmp_path / "a.txt.gz")), Shard(str(tmp_path / "b.txt")))
    assert data_of(packed) == text
    with pytest.raises(CorpusError, match="from byte 10 to 20; cut it with find_shards"):
        data_of(Shard(packed.name, 10, 20))
    with pytest.raises(CorpusError, match="from byte 10 to 20; cut it with find_shards"):
        data_of(Shard(running.name, 10, 20), TextOptions(tokenize=True))


def test_another_process_in_another_folder_reads_the_same(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("".join(f"line {i}\n" for i in range(100)))
    monkeypatch.chdir(tmp_path)
    shard = find_shards(["a.txt"], size=300)[1]
    code = """
import pickle, sys
from mumon.corpus.shards import read_shard
shard, options = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(b"".join(piece.data for piece in read_shard(shard, options, lambda _: None)))
"""
    sent = pickle.dumps((shard, PLAIN))
    run = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True, cwd="/")
    assert run.stdout == data_of(shard) != b""


def test_standard_input_and_pipes_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(CorpusError, match=r"^a cluster cannot read standard input; name files"):
        find_shards(["-"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorpusError, match=r"^a cluster cannot read the pipe .*pipe; name files"):
        find_shards([tmp_path / "pipe"])
    with pytest.raises(OptionError, match="size"):
        find_shards([tmp_path], size=0)


def test_a_file_that_shrank_since_it_was_cut_is_noticed(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one two\n" * 100)
    last = find_shards([path], size=300)[-1]
    path.write_text("one two\n")
    with pytest.raises(CorpusError, match="has 8 bytes, fewer than when it was cut at 533; start again"):
        data_of(last)


def test_a_bad_record_of_a_shard_is_found_by_its_byte_and_line(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a b"}\n' * 4 + "{\n")
    shard = Shard(str(path), 30, None)
    with pytest.raises(CorpusError, match=r"a.jsonl \(lines counted from byte 32\) line 3 is not valid JSON"):
        encoded([shard], PLAIN)
