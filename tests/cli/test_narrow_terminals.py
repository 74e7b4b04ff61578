"""No command breaks or cuts a path, a command to type or a number, however narrow the terminal is."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

from mumon import WordVectors
from tests.conftest import write_mirror

WIDTHS = (20, 40, 80, 200)
TRAIN = ["--dim", 8, "--min-count", 1, "--epochs", 1, "--threads", 1]


@pytest.fixture(scope="module")
def home(tmp_path_factory, planted):
    """A folder with a very long name, in which there is a corpus and a model."""
    folder = tmp_path_factory.mktemp("long") / ("a folder with blanks [and] :brackets: " + "x" * 60) / ("y" * 90)
    folder.mkdir(parents=True)
    (folder / "corpus.txt").write_text("\n".join(map(" ".join, planted[:1500])))
    words = sorted({word for sentence in planted for word in sentence})
    random = np.random.default_rng(0)
    for name in ("one.bin", "two.bin"):
        WordVectors(words, random.standard_normal((len(words), 12)).astype(np.float32)).save(folder / name)
    return folder


@pytest.fixture
def show(run, home, monkeypatch, tmp_path):
    """Run a command as on a terminal of some width; gives its lines."""
    write_mirror(tmp_path)
    monkeypatch.setenv("MUMON_DATA", str(tmp_path))
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes standard output for a terminal then
    monkeypatch.setenv("TERM", "xterm")
    # A bar puts a proxy in place of standard output, which numba's colours would keep until the process ends.
    monkeypatch.setattr("rich.live.Live._enable_redirect_io", lambda bar: None)

    def call(width, *arguments, code=0):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        ended, out, err = run(*arguments)
        assert ended == code, out + err
        shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out + err)
        return [line.rstrip() for line in shown.split("\n")]

    return call


def has_line(lines, *parts):
    return any(all(str(part) in line for part in parts) for line in lines)


@pytest.mark.parametrize("width", WIDTHS)
def test_training_names_what_it_saved_and_the_next_command(width, show, home):
    lines = show(width, "train", home / "corpus.txt", "-o", home / "m", *TRAIN)
    assert has_line(lines, f"saved {home / 'm'}: 104 words × 8; try: mumon similar '{home / 'm'}' WORD")
    assert has_line(lines, "✓ trained 1 epoch in ", ", loss ")
    assert not has_line(lines, "training", "…\r")  # a bar leaves out what there is no room for


@pytest.mark.parametrize("width", WIDTHS)
def test_an_error_is_one_line(width, show, home):
    lines = show(width, "similar", home / "nowhere.mumon", "king", code=1)
    assert len(lines) == 2 and str(home / "nowhere.mumon") in lines[0]
    lines = show(width, "info", home / "one.bin", home / "two.bin", code=2)
    assert len(lines) == 2 and str(home / "two.bin") in lines[0] and "--help" in lines[0]


@pytest.mark.parametrize("width", WIDTHS)
def test_similar_info_vocab_and_convert(width, show, home):
    assert has_line(show(width, "info", home / "one.bin"), "path", home / "one.bin")
    assert len(show(width, "similar", home / "one.bin", "topic1.1")) == 11
    assert has_line(show(width, "vocab", home / "corpus.txt", "-o", home / "v"), f"wrote {home / 'v'}: 104 words")
    assert has_line(
        show(width, "convert", home / "one.bin", home / "one.txt"), f"wrote {home / 'one.txt'}: 104 words × 12"
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_phrases(width, show, home):
    lines = show(width, "phrases", home / "corpus.txt", "-o", home / "p.json", "--apply", home / "joined.txt")
    assert has_line(lines, f"wrote {home / 'p.json'}: ") and has_line(lines, f"wrote {home / 'joined.txt'}: ")


@pytest.mark.parametrize("width", WIDTHS)
def test_every_row_of_an_evaluation_is_whole(width, show, home):
    lines = show(width, "eval", home / "one.bin", home / "two.bin", "--resamples", 20, "--tasks", "ws353,syn")
    assert has_line(lines, "is two.bin better than one.bin on the items that both have the words of?")
    table = [line for line in lines if re.search(r"\bws353 +one.bin ", line)]
    assert len(table) == 1 and re.search(r"60 of 61$", table[0])
    assert has_line(lines, "task", "model", "dev", "test", "covered")


@pytest.mark.parametrize("width", WIDTHS)
def test_every_check_of_the_gradient_is_one_row(width, show):
    lines = show(width, "gradcheck", "--dim", 4)
    assert sum(bool(re.search(r"\d\.\de-\d+ +\d\.\de[-+]\d+ +(yes|no, × [\d.]+)$", line)) for line in lines) >= 5


@pytest.mark.parametrize("width", WIDTHS[:1])
def test_the_paper_names_its_report(width, show, home):
    lines = show(width, "paper", "gradcheck", "-o", home / "report")
    assert has_line(lines, f"The report is {home / 'report' / 'index.html'} (")


@pytest.mark.parametrize("width", WIDTHS[:1])
def test_a_sweep_names_its_files_and_the_command_to_repeat_it(width, show, home):
    lines = show(
        width, "sweep", home / "corpus.txt", "-o", home / "sweep", "--lr", "0.05,0.1", "--tasks", "ws353", *TRAIN
    )
    result = json.loads((home / "sweep" / "result.json").read_text())
    assert has_line(lines, f"to train the winner again: {result['command']}")
    assert has_line(lines, f"the best model: {home / 'sweep'}")
    assert has_line(lines, "rate", "ws353", "mean", "loss")


@pytest.mark.parametrize("width", WIDTHS[:1])
def test_a_benchmark_of_samplers_names_its_folder(width, show, home):
    lines = show(width, "bench", "--sampler", "--draws", 1000, "--vocab", "100,1000", "-o", home / "bench")
    assert has_line(lines, f"everything, with a plot: {home / 'bench'}")
    assert has_line(lines, "sampler", "words", "build, s", "ns/draw", "memory")


@pytest.mark.parametrize("width", WIDTHS)
def test_data_sets_have_their_name_size_and_place_on_one_line(width, show):
    lines = show(width, "data", "list")
    assert all(re.search(r"\d (MB|kB)", line) for line in lines if re.match(r"(ws353|men|rw)\b", line))
    assert has_line(lines, "name", "what", "files", "size", "where", "licence")
