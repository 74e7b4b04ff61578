"""Bad input: every corpus and option that is wrong ends in one sentence and changes nothing; odd ones just work.

What needs a child with limits of its own (full disks, permissions, little memory, signals) is in test_bad_machine.py.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import socket
import threading

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mumon import Word2Vec, WordVectors
from mumon.corpus import encode
from tests.corpus.test_corpus import COMPRESSIONS, zstd

SMALL = ["--dim", "4", "--epochs", "1", "--threads", "1", "--quiet"]
TEXT = b"the cat saw the dog\nthe dog saw the cat\n" * 20
WORDS = {"the", "cat", "saw", "dog"}


def snapshot(folder):
    """Everything in a folder: hidden files too, with their content."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def earlier(tmp_path):
    """A folder with a text and with earlier results, all of which a failing command must leave as they are."""
    (tmp_path / "good.txt").write_bytes(TEXT)
    model = Word2Vec([["old", "model"]] * 9, vector_size=4, min_count=1, epochs=1, workers=1)
    model.save(tmp_path / "m.mumon")
    model.wv.save(tmp_path / "v.bin")
    model.wv.save(tmp_path / "v.txt")
    model.vocabulary.save(tmp_path / "words.txt")
    return tmp_path


def assert_refused(outcome, code, *patterns):
    """One sentence that begins with the program's name and holds the patterns, or typer's box for wrong usage."""
    actual, out, err = outcome
    assert actual == code and not out and "Traceback" not in err, outcome
    for pattern in patterns:
        assert str(pattern) in err, err
    if code == 1:
        assert err.startswith("mumon: ") and err.count("\n") == 1 and not err.endswith(".\n"), err


def write(path, data):
    path.write_bytes(data)
    return path


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]


def noise(size):
    """Bytes that no compression makes much smaller."""
    return np.random.default_rng(0).bytes(size).hex().encode() + b"\n" + TEXT


def parquet(path, change):
    pq.write_table(pa.table({"text": noise(40_000).decode().split("\n")}), path, compression="zstd")
    return write(path, change(path.read_bytes()))


def a_folder(folder, **files):
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def looping_links(folder):
    folder.mkdir()
    (folder / "a").symlink_to(folder / "b")
    (folder / "b").symlink_to(folder / "a")
    return folder


REFUSED = {
    "empty": (lambda d: write(d / "c", b""), "0 words"),
    "a million empty lines": (lambda d: write(d / "c", b"\n" * 10**6), "0 words"),
    "only blanks": (lambda d: write(d / "c", " \t\r\n\u3000\u2028".encode()), "0 words"),
    "only a byte order mark": (lambda d: write(d / "c", b"\xef\xbb\xbf"), "0 words"),
    "one word": (lambda d: write(d / "c", b"word"), "none of the 1 tokens could be trained"),
    "one token per line": (lambda d: write(d / "c", b"one\ntwo\n" * 9), "none of the 18 tokens could be trained"),
    "NULs": (lambda d: write(d / "c", b"word \0 word"), "NUL at byte 5"),
    "utf-16": (lambda d: write(d / "c", TEXT.decode().encode("utf-16")), "iconv"),
    "gz cut": (lambda d: write(d / "c", gzip.compress(noise(9999))[:-20]), "damaged or cut short"),
    "gz cut in its header": (lambda d: write(d / "c", gzip.compress(TEXT)[:5]), "damaged or cut short"),
    "gz damaged": (lambda d: write(d / "c", flipped(gzip.compress(noise(9999)), 3000)), "damaged or cut short"),
    "gz and garbage": (lambda d: write(d / "c", gzip.compress(TEXT) + b"garbage"), "damaged or cut short"),
    "bz2 cut": (lambda d: write(d / "c", bz2.compress(noise(9999))[:-20]), "damaged or cut short"),
    "bz2 damaged": (lambda d: write(d / "c", flipped(bz2.compress(noise(9999)), 3000)), "damaged or cut short"),
    "xz cut": (lambda d: write(d / "c", lzma.compress(noise(9999))[:-20]), "damaged or cut short"),
    "xz damaged": (lambda d: write(d / "c", flipped(lzma.compress(noise(9999)), 3000)), "damaged or cut short"),
    "zst cut": (lambda d: write(d / "c", zstd(noise(9999))[:-20]), "damaged or cut short"),
    "zst cut early": (lambda d: write(d / "c", zstd(noise(9999))[:12]), "damaged or cut short"),
    "zst damaged": (lambda d: write(d / "c", flipped(zstd(noise(9999)), 20)), "damaged or cut short"),
    "parquet cut": (lambda d: parquet(d / "c", lambda data: data[:-200]), "damaged or cut short"),
    "parquet damaged": (lambda d: parquet(d / "c", lambda data: data[:4] + bytes(99) + data[103:]), "damaged"),
    "one bad file of a folder": (lambda d: a_folder(d / "c", a=TEXT, b=gzip.compress(TEXT)[:-9]), "c/b is damaged"),
    "a folder of nothing": (lambda d: a_folder(d / "c"), "no file to read"),
    "a link to nowhere": (lambda d: looping_links(d / "c"), "cannot be read"),
    "a device": (lambda d: "/dev/zero", "/dev/zero has a NUL at byte 0"),
    "a name of 10,000 letters": (lambda d: "x" * 10_000, "there is no file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_corpus_ends_in_one_sentence_and_changes_nothing(run, earlier, case):
    make, message = REFUSED[case]
    corpus = make(earlier)
    before = snapshot(earlier)
    assert_refused(run("train", corpus, "-o", "m.mumon", *SMALL, "--min-count", 1), 1, message)
    assert snapshot(earlier) == before


def test_only_rare_words_and_only_punctuation_leave_nothing(run, earlier):
    before = snapshot(earlier)
    assert_refused(run("train", "good.txt", "-o", "m.mumon", *SMALL, "--min-count", 81), 1, "occurs 80 times", 81)
    assert_refused(
        run("train", write(earlier / "c", b". , ; !\n\n"), "-o", "v.bin", *SMALL, "--tokenize"), 1, "0 words"
    )
    (earlier / "c").unlink()
    assert snapshot(earlier) == before


def pipe(path, data=TEXT):
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=[data], daemon=True).start()
    return path


def with_pipes(folder):
    a_folder(folder, a=TEXT)
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket"))
    (folder / "back").symlink_to(folder)
    return folder


def mixed(folder):
    a_folder(folder, **{f"{name}.x": pack(TEXT) for name, pack in COMPRESSIONS.items()})
    (folder / "deep").mkdir()
    (folder / "deep" / "lines.jsonl").write_bytes(b'{"text": "json saw the dog"}\n' * 5)
    pq.write_table(pa.table({"text": ["parquet saw the dog"] * 5}), folder / "deep" / "p")
    return folder


LONG = "x" * 10_000_000
FINE = {
    "byte order mark": (lambda d: write(d / "c", b"\xef\xbb\xbf" + TEXT), WORDS),
    "windows line ends": (lambda d: write(d / "c", TEXT.replace(b"\n", b"\r\n")), WORDS),
    "old macintosh line ends": (lambda d: write(d / "c", TEXT.replace(b"\n", b"\r")), WORDS),
    "invalid utf-8": (lambda d: write(d / "c", TEXT.replace(b"cat", b"c\xe4t")), {"the", "c\ufffdt", "saw", "dog"}),
    "a late NUL": (lambda d: write(d / "c", TEXT * 20 + b"the d\0g\n" * 5), WORDS | {"d\0g"}),
    "two gz in one": (lambda d: write(d / "c", gzip.compress(TEXT) + gzip.compress(b"A B\n")), WORDS | {"A", "B"}),
    "two zst in one": (lambda d: write(d / "c", zstd(TEXT) + zstd(b"A B\n")), WORDS | {"A", "B"}),
    "gz padded with zeros": (lambda d: write(d / "c", gzip.compress(TEXT) + bytes(512)), WORDS),
    "mixed compressions": (lambda d: mixed(d / "c"), WORDS | {"json", "parquet"}),
    "a pipe": (lambda d: pipe(d / "c"), WORDS),
    "a folder with a pipe, a socket and a loop": (lambda d: with_pipes(d / "c"), WORDS),
    "a word of 10 MB": (lambda d: write(d / "c", LONG.encode() + b" a b\n"), {LONG, "a", "b"}),
    "a name that is not utf-8": (lambda d: write(d / os.fsdecode(b"c\xff"), TEXT), WORDS),
}  # fmt: skip


@pytest.mark.parametrize("case", FINE)
def test_an_odd_corpus_trains_with_the_right_words(run, tmp_path, case):
    make, words = FINE[case]
    outcome = run("train", make(tmp_path), "-o", "out.mumon", *SMALL, "--min-count", 1, "--sample", 0)
    assert outcome == (0, "", "")
    loaded = WordVectors.load("out.mumon")
    assert set(loaded.index_to_key) == words and np.isfinite(loaded.vectors).all()


def test_a_line_of_100_mb_trains(run, tmp_path):
    words = [f"{i:02d}" + "abcdefg " * 6 + f"{i:02d}" for i in range(100)]  # 7 words each, 92 of them distinct
    (tmp_path / "c").write_bytes((" ".join(words) + " ").encode() * (100_000_000 // 5300 + 1))
    assert (tmp_path / "c").stat().st_size > 10**8
    assert run("train", "c", "-o", "out.bin", *SMALL, "--sample", 1e-9) == (0, "", "")
    assert len(WordVectors.load("out.bin")) == 201


CHANGES = {
    "cut": (lambda path: os.truncate(path, 6_000_000), 1, "c was cut to 6,000,000 of 18,000,000 bytes"),
    "longer": (lambda path: path.open("ab").write(b"new word\n" * 9), 0, "changed while it was read"),
    "replaced": (lambda path: write(path.with_name("n"), TEXT).rename(path), 0, "changed while it was read"),
    "gone": (lambda path: path.unlink(), 0, "changed while it was read"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_text_that_changes_while_it_is_read_is_never_remembered(run, earlier, monkeypatch, case):
    change, code, message = CHANGES[case]
    monkeypatch.setenv("MUMON_CACHE", str(earlier / "cache"))
    text = write(earlier / "c", b"one two three 456\n" * 1_000_000)
    changed = threading.Event()

    def prepare(piece, options, prepare=encode.prepare):
        if not changed.is_set():
            changed.set()
            change(text)
        return prepare(piece, options)

    monkeypatch.setattr(encode, "prepare", prepare)
    model = snapshot(earlier / "m.mumon")
    outcome = run("train", "c", "-o", "m.mumon", *SMALL[:-1], "--sample", 1e-9)
    assert outcome[0] == code and message in outcome[2] and "Traceback" not in outcome[2]
    assert (snapshot(earlier / "m.mumon") == model) == (code == 1)
    assert not list((earlier / "cache" / "corpora").iterdir())


def test_a_file_that_vanishes_before_its_turn_is_named(run, earlier, monkeypatch):
    write(earlier / "a", TEXT * 10_000), write(earlier / "b", TEXT)

    def prepare(piece, options, prepare=encode.prepare):
        (earlier / "b").unlink(missing_ok=True)
        return prepare(piece, options)

    monkeypatch.setattr(encode, "prepare", prepare)
    assert_refused(run("train", "a", "b", "-o", "m.mumon", *SMALL), 1, "b cannot be read (No such file or directory)")


def test_a_corpus_that_grew_after_encoding_is_read_again(run, earlier):
    assert run("train", "good.txt", "-o", "out", *SMALL)[0] == 0
    with (earlier / "good.txt").open("ab") as file:
        file.write(b"bird bird bird bird bird\n")
    assert run("train", "good.txt", "-o", "out", *SMALL)[0] == 0
    assert set(WordVectors.load("out").index_to_key) == WORDS | {"bird"}


HUGE, MORE, MOST = 10**9, 10**18, 10**30
ABSURD = [
    *((option, value, 2) for option in ("--dim", "--window", "--negative", "--batch", "--shared-negatives", "--epochs",
      "--total-epochs", "--threads", "--max-vocab") for value in (0, -1, 1.5, "nan")),
    *((option, -1, 2) for option in ("--min-count", "--seed", "--rate-exponent")),
    *((option, "many", 2) for option in ("--lr", "--sample", "--dim")),
    *((option, value, 1) for option in ("--batch", "--shared-negatives", "--negative", "--epochs", "--total-epochs",
      "--dim", "--threads") for value in (HUGE, MORE, MOST)),
    *((option, MOST, 1) for option in ("--window", "--max-vocab", "--min-count", "--seed")),
    *(("--min-count", value, 1) for value in (HUGE, MORE)),
    *((option, value, 1) for option in ("--lr", "--min-lr", "--sample", "--ns-exponent")
      for value in ("nan", "inf", "1e999")),
    ("--rate-exponent", "nan", 2), ("--rate-exponent", "inf", 1),
    *((option, -1, 1) for option in ("--lr", "--min-lr", "--sample")),
    *((option, 1e300, 1) for option in ("--lr", "--min-lr", "--ns-exponent", "--rate-exponent")),
    ("--ns-exponent", "-inf", 1), ("--ns-exponent", -1e300, 1), ("--lr", 0, 1), ("--threads", 10**6, 1),
]  # fmt: skip


@pytest.mark.parametrize("option, value, code", ABSURD)
def test_an_absurd_option_is_refused_by_its_value_and_changes_nothing(run, earlier, option, value, code):
    before = snapshot(earlier)
    shown = "inf" if value == "1e999" else f"{value:,}" if option == "--dim" and value in (HUGE, MORE) else value
    assert_refused(
        run("train", "good.txt", "-o", "m.mumon", *SMALL, option, value), code, option if code == 2 else shown
    )
    assert snapshot(earlier) == before


EXTREME = [
    *(("--window", value) for value in (HUGE, MORE)),
    *(("--max-vocab", value) for value in (HUGE, MORE)),
    *(("--sample", value) for value in (1e300, 1e-300, 5e-324)),
    *(("--ns-exponent", value) for value in (100, -100)),
    *((option, 4096) for option in ("--batch", "--shared-negatives")),
    ("--rate-exponent", 10), ("--lr", 1e-30), ("--min-lr", 1e30), ("--threads", 1024), ("--seed", MORE),
]  # fmt: skip


@pytest.mark.parametrize("kind", [[], ["--exact"], ["--objective", "sg"], ["--objective", "sg", "--exact"]], ids=str)
def test_extreme_options_that_are_accepted_train(run, earlier, kind):
    for option, value in EXTREME:
        outcome = run("train", "good.txt", "-o", "out.mumon", *SMALL, "--sample", 0, *kind, option, value)
        assert outcome == (0, "", ""), (option, value)
        assert np.isfinite(WordVectors.load("out.mumon").vectors).all()
    assert_refused(run("train", "good.txt", "-o", "m.mumon", *SMALL, "--lr", 1e30, *kind), 1, "lower alpha")
