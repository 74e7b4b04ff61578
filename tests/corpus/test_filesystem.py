"""Corpora at URLs: what holds for local files holds there, and whatever goes wrong is a sentence."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import lzma
import os
import sys
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from mumon import Word2Vec
from mumon.corpus import TextOptions, cache, corpus_from_files
from mumon.corpus.filesystem import hide_secrets, read_file_info, to_local_path
from mumon.corpus.shards import Shard, find_shards, read_shard
from mumon.corpus.sources import count_bytes, find_files, read_pieces
from mumon.errors import CorpusError, OptionError
from mumon.models.word2vec import LineSentence
from mumon.utils.progress import Progress

fsspec = pytest.importorskip("fsspec")
TEXT = "the cat saw the dog\n\n  der Hund  sah\tdie Katze \nno-newline at the end"
SENTENCES = [line.split() for line in TEXT.split("\n") if line.strip()]
NUMBER = itertools.count()


@pytest.fixture
def memory():
    """A filesystem in this process's memory, and a folder of its own on it."""
    return Memory()


class Memory:
    """Files at memory:// URLs; fsspec has one such filesystem per process."""

    def __init__(self):
        self.files, self.root = fsspec.filesystem("memory"), f"memory://test{next(NUMBER)}"

    def write(self, name, data):
        self.files.pipe_file(f"{self.root}/{name}", data)
        return f"{self.root}/{name}"


def decoded(corpus):
    words = [word.decode() for word in corpus.words.to_pylist()]
    return [[words[i] for i in corpus.ids[a:b]] for a, b in itertools.pairwise(corpus.offsets.tolist())]


def read(*names, reuse=False, **options):
    return corpus_from_files(list(names), TextOptions(**options), reuse=reuse)


def zstd(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def parquet(texts):
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"number": range(len(texts)), "text": texts}), sink, row_group_size=1)
    return sink.getvalue().to_pybytes()


LINES = "\n".join(json.dumps({"text": line}) for line in TEXT.split("\n")).encode()
FORMS = {
    "a.txt": TEXT.encode(),
    "a.txt.gz": gzip.compress(TEXT.encode()),
    "a.bz2": bz2.compress(TEXT.encode()),
    "a.xz": lzma.compress(TEXT.encode()),
    "a.zst": zstd(TEXT.encode()),
    "a.jsonl": LINES,
    "a.jsonl.gz": gzip.compress(LINES),
    "a.parquet": parquet(TEXT.split("\n")),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_format_reads_the_same_from_a_url(memory, tmp_path, name):
    (tmp_path / name).write_bytes(FORMS[name])
    url = memory.write(name, FORMS[name])
    assert decoded(read(url)) == decoded(read(f"file://{tmp_path / name}")) == SENTENCES
    advances = []
    list(read_pieces(url, TextOptions(), advances.append))
    assert sum(advances) == count_bytes([url]) == len(FORMS[name])  # what a bar is made of


def test_a_model_is_trained_from_a_url_to_the_same_bytes(memory, planted, tmp_path, run):
    text = "\n".join(" ".join(sentence) for sentence in planted[:500]).encode()
    (tmp_path / "a.txt").write_bytes(text)
    url = memory.write("a.txt.gz", gzip.compress(text))
    options = {"vector_size": 8, "min_count": 1, "workers": 1, "epochs": 1}
    here, there = Word2Vec(str(tmp_path / "a.txt"), **options), Word2Vec(corpus_file=url, **options)
    assert (here.wv.vectors == there.wv.vectors).all()
    assert list(LineSentence(url)) == planted[:500]
    code, _, error = run("train", url, "-o", "m.mumon", "--dim", 8, "--quiet")
    assert (code, error) == (0, "") and (tmp_path / "m.mumon" / "model.safetensors").exists()
    code, _, error = run("train", f"{memory.root}/nix.txt", "-o", "n.mumon")
    assert code == 1 and "there is no file memory://" in error and not (tmp_path / "n.mumon").exists()


NAMES = st.sampled_from(["a", "b1", ".h", "c.txt", "d.mumon", "e"])
TREES = st.sets(st.lists(NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8)
PATTERNS = ["", "a", "*", "*/*", "**", "**/*.txt", "a/**", "[ab]*", "b?", "*/c.txt", "**/a/*", ".h", "nix", "nix/*"]


def names_below(folder, pattern):
    """What is found below a folder, or that nothing is, or a model."""
    try:
        found = find_files([f"{folder}/{pattern}" if pattern else folder])
    except CorpusError as error:
        return "model" if "is a model" in str(error) else "none"
    return [name.partition(folder.rpartition("/")[2])[2] for name in found]


@settings(max_examples=150, deadline=None)
@given(TREES, st.sampled_from(PATTERNS), st.booleans())
@example({"a/b1", "a/c.txt", "e"}, "**", False)
@example({"a/b1", "a/c.txt"}, "a", True)
@example({"a/b1", "a/c.txt", "b1/c.txt"}, "*/*", True)
def test_folders_and_globs_name_the_files_that_they_would_here(tmp_path_factory, tree, pattern, model):
    folder, memory = tmp_path_factory.mktemp("tree"), Memory()
    tree = {path for path in tree if not any(other.startswith(f"{path}/") for other in tree)}
    assume(pattern != "a/**" or "a" not in tree)  # Python's glob takes a file for an empty folder
    if pattern.endswith("**"):  # Python's glob finds folders by it, too, and one of hidden files would be refused
        tree = {path for path in tree if ".h" not in path and ".mumon" not in path} or {"e"}
    for path in [*tree, *(["a/model.safetensors"] if model and "a" not in tree and "**" not in pattern else [])]:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("text")
        memory.write(path, b"text")
    assert names_below(memory.root, pattern) == names_below(str(folder), pattern)


def test_an_encoding_is_kept_until_the_remote_file_changes(memory):
    url = memory.write("a.txt", b"one two")
    assert not read(url, reuse=True).reused
    assert read(url, reuse=True).reused
    memory.write("a.txt", b"six ten")  # as long as before
    assert decoded(read(url, reuse=True)) == [["six", "ten"]]


def test_encodings_of_remote_files_go_when_others_replace_them_or_they_are_unused(memory, tmp_path, monkeypatch):
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path))

    def kept():
        return {path.name for path in (tmp_path / "corpora").iterdir() if not path.name.startswith(".")}

    url, other = memory.write("a.txt", b"one two"), memory.write("b.txt", b"three")
    old = read(url, reuse=True).fingerprint
    memory.files.rm(memory.root, recursive=True)  # servers are not asked just to make room
    memory.write("b.txt", b"three")
    unused = read(other, reuse=True).fingerprint
    assert kept() == {old, unused}
    memory.write("a.txt", b"one two three")
    new = read(url, reuse=True).fingerprint
    assert kept() == {unused, new}
    long_ago = time.time() - 86400 * (cache.UNUSED_DAYS + 1)
    os.utime(tmp_path / "corpora" / new / cache.INFO_FILE, (long_ago, long_ago))
    assert read(url, reuse=True).reused  # which makes it young again
    os.utime(tmp_path / "corpora" / unused / cache.INFO_FILE, (long_ago, long_ago))
    last = read(memory.write("c.txt", b"four"), reuse=True).fingerprint
    assert kept() == {new, last}


def test_a_file_that_changes_while_it_is_read_is_encoded_just_once(memory):
    url = memory.write("a.txt", b"one two")

    class Meanwhile(Progress):
        def finish(self, summary, **fields):
            memory.write("a.txt", b"six ten")

    corpus = corpus_from_files([url], progress=Meanwhile())
    assert any("changed while it was read" in note for note in corpus.notes())
    assert decoded(read(url, reuse=True)) == [["six", "ten"]]


class Untold(fsspec.AbstractFileSystem):
    """Files of one text, of which only the size is known."""

    protocol = "untold"

    def info(self, path, **options):
        return {"name": path, "size": len(TEXT), "type": "file"}

    def _open(self, path, mode="rb", **options):
        return pa.BufferReader(TEXT.encode())


class Broken(Untold):
    """A filesystem whose connection breaks, or that asks who is there."""

    protocol = "broken"

    def _open(self, path, mode="rb", **options):
        raise (PermissionError if "secret" in path else ConnectionResetError)("it says\nthis, token=abc&x")


def test_files_without_identity_are_encoded_for_one_run_and_say_so():
    fsspec.register_implementation("untold", Untold, clobber=True)
    corpus = read("untold://a.txt", reuse=True)
    assert decoded(corpus) == SENTENCES and any("for this run only" in note for note in corpus.notes())
    assert not read("untold://a.txt", reuse=True).reused


def test_shards_of_a_remote_file_are_its_lines(memory):
    url = memory.write("a.txt", b"".join(b"line %d\n" % i for i in range(100)))
    shards = find_shards([memory.root], size=300)
    assert len(shards) > 2 and {shard.name for shard in shards} == {url}
    pieces = [piece.data for shard in shards for piece in read_shard(shard, TextOptions(), lambda _: None)]
    assert b"".join(pieces) == memory.files.cat(url)
    groups = find_shards([memory.write("b.parquet", parquet([f"word{i} " * 99 for i in range(20)]))], size=1000)
    assert len(groups) > 2
    pieces = [piece.data for shard in groups for piece in read_shard(shard, TextOptions(), lambda _: None)]
    assert b"".join(pieces) == b"".join(b"word%d " % i * 99 + b"\n\n" for i in range(20))
    packed = memory.write("c.gz", FORMS["a.txt.gz"])
    assert find_shards([packed], size=10) == [Shard(packed)]


@pytest.mark.parametrize(
    ("url", "kind", "sentence"),
    [
        ("nix://a.txt", CorpusError, "^nix:// is a filesystem that neither mumon nor fsspec knows; use file, s3"),
        ("memory://nix/a.txt", CorpusError, "^there is no file memory://nix/a.txt; check the address$"),
        ("memory://nix/*.txt", CorpusError, r"^there is no file memory://nix/\*.txt; check the address$"),
        (
            "broken://a",
            CorpusError,
            r"^broken://a cannot be read \(it says this, token=abc&x\); check the address, the",
        ),
        ("broken://secret", CorpusError, r"^broken://secret cannot be read .* credentials are set and may read it$"),
        ("file://a.txt", CorpusError, "^file://a.txt does not name a file of this machine; write file:///, with three"),
        ("file:///nix/a.txt", CorpusError, "^there is no file /nix/a.txt; check the path"),
        (
            "needy://a.txt",
            OptionError,
            r"^needy:// needs a package .*\(it needs a thing\); pip install thing_of_needs$",
        ),
        ("s3://b/a.txt?nix=1", CorpusError, "^s3://b/ cannot be read .*nix"),
        ("s3:/b/a.txt", CorpusError, "if it is a URL, pass it as a string: a Path loses one of its slashes$"),
    ],
)
def test_what_goes_wrong_is_one_sentence(url, kind, sentence, monkeypatch):
    from fsspec.registry import known_implementations

    fsspec.register_implementation("broken", Broken, clobber=True)
    needs = {"class": "thing_of_needs.Files", "err": "it needs a thing"}
    monkeypatch.setitem(known_implementations, "needy", needs)
    with pytest.raises(kind, match=sentence) as caught:
        read(url)
    assert "\n" not in str(caught.value)


def test_without_fsspec_the_extra_is_named_and_s3_does_not_need_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(
        OptionError, match=r"^hf:// needs fsspec, which is not installed; pip install 'mumon\[remote\]'$"
    ):
        find_files(["hf://datasets/a/b.txt"])
    with pytest.raises(CorpusError, match=r"^s3://b/ cannot be read"):  # by pyarrow, which knows no such option
        find_files(["s3://b/a.txt?nix=1"])


def test_secrets_in_urls_are_neither_shown_nor_kept(memory, tmp_path, monkeypatch):
    assert (
        hide_secrets("see https://me:pass@host/a?X-Amz-Signature=abc&b=1")
        == "see https://…@host/a?X-Amz-Signature=…&b=1"
    )
    about = read_file_info([memory.write("a.txt", b"one")])[0]
    one, other = (cache._make_remote_stamp(f"s3://me:{word}@b/a.txt", about) for word in ("abc", "xyz"))
    assert one != other and "abc" not in str(one)
    with pytest.raises(CorpusError) as caught:
        find_files(["s3://me:hidden@b/a.txt?secret_key=hidden&nix=1"])
    assert "hidden" not in str(caught.value)


def test_file_urls_are_paths():
    assert to_local_path("file:///a%20b/c?.txt") == "/a b/c?.txt"
    assert to_local_path("file://localhost/a") == "/a"
    assert to_local_path("s3://bucket/a%20b") == "s3://bucket/a%20b"


class Sequential(SimpleHTTPRequestHandler):
    """A web server that, as Python's own does, sends whole files only."""

    def log_message(self, *arguments):
        pass


def test_a_web_server_that_sends_only_whole_files_is_read_in_one_go(tmp_path):
    pytest.importorskip("aiohttp")
    text = b"the cat saw the dog\n" * 400_000  # more than fsspec asks for at once
    (tmp_path / "a.txt").write_bytes(text)
    (tmp_path / "b.parquet").write_bytes(FORMS["a.parquet"])
    server = ThreadingHTTPServer(("localhost", 0), partial(Sequential, directory=str(tmp_path)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"http://localhost:{server.server_port}"
        assert b"".join(piece.data for piece in read_pieces(f"{url}/a.txt", TextOptions(), lambda _: None)) == text
        assert find_shards([f"{url}/a.txt"], size=1000) == [Shard(f"{url}/a.txt")]
        with pytest.raises(CorpusError, match="cannot come through a pipe"):
            read(f"{url}/b.parquet")
        with pytest.raises(CorpusError, match="there is no file"):
            read(f"{url}/nix.txt")
    finally:
        server.shutdown()
