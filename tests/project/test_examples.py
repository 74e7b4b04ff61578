"""The examples run as printed and what they print is true; integers work as tokens."""

from __future__ import annotations

import ast
import csv
import itertools
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mumon import Word2Vec, WordVectors
from mumon.corpus.walks import random_walks

EXAMPLES = Path(__file__).parents[2] / "examples"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(autouse=True)
def import_from_examples(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))


def is_picture(path):
    """Return whether a file is a picture of a readable size with more than one colour."""
    data = path.read_bytes()
    width, height = struct.unpack(">II", data[16:24])
    return data.startswith(PNG) and width > 600 and height > 300 and len(data) > 20_000


def test_item2vec_guesses_the_next_item_far_better_than_popularity_and_not_worse_than_its_peers(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    import item2vec

    rates = item2vec.main(["--small", "--out", str(tmp_path / "items.png")])
    assert rates["mumon"] > 2 * rates["popularity"]
    assert rates["mumon"] > 0.85 * rates["going together"]
    assert rates["mumon"] > rates.get("gensim", 0) - 0.03
    assert is_picture(tmp_path / "items.png")
    printed = capsys.readouterr().out
    assert "480 items" in printed and printed.count("Near ") == 3
    alike = 0
    for line in printed.splitlines():
        if line.startswith("Near "):  # the category of the item and those of its four neighbours
            first, *others = (part.split(")")[0] for part in line.split("(")[1:])
            alike += others.count(first)
    assert alike >= 6  # of 12, where chance has 1.5: two threads do not train the same twice


def test_item2vec_reads_sessions_of_ones_own_whatever_the_order_of_lines_and_the_names_of_columns(tmp_path):
    import item2vec

    rows = [("s2", "pear", 30), ("s1", "apple", 12), ("s2", "fig", 20), ("s1", "fig", 11), ("s3", "fig", 1)]
    with (tmp_path / "clicks.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("visit", "what", "when"), *rows])
    sessions, categories = item2vec.read_sessions(tmp_path / "clicks.csv", "visit", "what", "when", "category")
    assert [session.tolist() for session in sessions] == [["fig", "apple"], ["fig", "pear"]]  # s3 has one item
    assert categories == {"pear": "", "apple": "", "fig": ""}


def test_item2vec_runs_on_a_file_without_categories(tmp_path):
    pytest.importorskip("matplotlib")
    import item2vec
    from simulate_sessions import simulate

    simulate(tmp_path / "sessions.csv", sessions=800, per_kind=20)
    lines = [line.rpartition(",")[0].replace('"', "") for line in (tmp_path / "sessions.csv").read_text().splitlines()]
    (tmp_path / "clicks.csv").write_text("\n".join(lines) + "\n")
    rates = item2vec.main(["--small", "--sessions", str(tmp_path / "clicks.csv"), "--out", str(tmp_path / "items.png")])
    assert rates["mumon"] > 1.5 * rates["popularity"]


@pytest.mark.parametrize("name", ["item2vec", "deepwalk"])
def test_an_example_that_cannot_draw_says_so_in_one_sentence_before_it_works(name, tmp_path):
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "__init__.py").write_text("raise ImportError('No module named matplotlib')\n")
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    call = [sys.executable, str(EXAMPLES / f"{name}.py"), "--small", "--out", str(tmp_path / "map.png")]
    printed = subprocess.run(call, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (printed.returncode, printed.stdout) == (1, "")
    assert len(printed.stderr.splitlines()) == 1 and printed.stderr.endswith("pip install 'mumon[plot]'\n")


def test_simulated_sessions_are_what_they_are_said_to_be(tmp_path):
    from simulate_sessions import KINDS, simulate

    simulate(tmp_path / "a.csv", sessions=2000, per_kind=50)
    simulate(tmp_path / "b.csv", sessions=2000, per_kind=50)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    times = [int(row["timestamp"]) for row in rows]
    assert times == sorted(times)
    sessions: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        sessions.setdefault(row["session_id"], []).append((row["item_id"], row["category"]))
    assert all(len({item for item, _ in session}) == len(session) for session in sessions.values())
    steps = [(KINDS.index(a), KINDS.index(b)) for s in sessions.values() for (_, a), (_, b) in itertools.pairwise(s)]
    moves = np.bincount([(b - a) % len(KINDS) for a, b in steps], minlength=len(KINDS)) / len(steps)
    assert moves[0] > 0.6 and moves[1] > 0.15 and moves[2:].max() < 0.04
    counts = np.sort(np.unique([row["item_id"] for row in rows], return_counts=True)[1])[::-1]
    assert counts[:40].sum() > 0.2 * counts.sum()  # a tenth of the items has more than a fifth of the views


def test_deepwalk_puts_modules_of_a_package_together(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    import deepwalk

    shares = deepwalk.main(["--small", "--out", str(tmp_path / "modules.png")])
    assert shares["mumon"] > 5 * shares["at random"]
    assert shares["mumon"] > shares["own imports"] + 0.1
    assert shares["mumon"] > shares.get("gensim", 0) - 0.05
    assert is_picture(tmp_path / "modules.png")
    printed = capsys.readouterr().out
    near = next(line for line in printed.splitlines() if "near json:" in line)
    assert "json.encoder" in near or "json.decoder" in near


def test_imports_are_read_in_all_their_forms(tmp_path):
    import deepwalk

    relative = "from . import sibling\nfrom .. import uncle\nfrom ..other import thing\n"
    source = f"import a, b.c as d\n{relative}def f():\n    from x import y, z\n"
    path = tmp_path / "module.py"
    path.write_text(source)
    known = {"a", "b.c", "top.here.sibling", "top.uncle", "top.other", "x", "x.z", "top.here.module", "unused"}
    expected = {"a", "b.c", "top.here.sibling", "top.uncle", "top.other", "x", "x.z"}
    assert deepwalk.find_imports("top.here.module", path, known) == expected
    package = tmp_path / "__init__.py"
    package.write_text("from . import sibling\nfrom .module import x\n")
    assert deepwalk.find_imports("top.here", package, known) == {"top.here.sibling", "top.here.module"}
    path.write_text("this is no Python\n")
    assert deepwalk.find_imports("top.here.module", path, known) == set()


def test_examples_are_short_and_every_function_says_what_it_does():
    paths = sorted(EXAMPLES.glob("*.py"))
    assert len(paths) >= 4
    for path in paths:
        text = path.read_text()
        assert len(text.splitlines()) <= 150, path.name
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert ast.get_docstring(node), f"{path.name}: {node.name}"


@pytest.fixture(scope="module")
def circles():
    """Two circles of ten nodes, numbered far apart, and a model of walks around them."""
    edges = [(first + step, first + (step + 1) % 10) for first in (10, 10**12) for step in range(10)]
    walks = random_walks(edges, walks_per_node=40, length=20, seed=1)
    return Word2Vec(walks, sg=1, window=3, vector_size=16, min_count=1, sample=0, workers=1, progress=False)


def test_integers_stay_integers(circles, tmp_path):
    assert all(type(key) is int for key in circles.wv.index_to_key)
    assert len(circles.wv) == 20 and 10**12 in circles.wv and 10**12 + 10 not in circles.wv
    assert {key for key, _ in circles.wv.most_similar(10, topn=2)} <= {11, 12, 18, 19}
    assert all(key < 20 for key, _ in circles.wv.most_similar(15, topn=4))
    assert all(key >= 10**12 for key, _ in circles.wv.most_similar(np.int64(10**12), topn=4))
    circles.save(tmp_path / "circles.mumon")
    again = Word2Vec.load(tmp_path / "circles.mumon")
    assert again.wv.index_to_key == circles.wv.index_to_key
    assert np.array_equal(again.wv[10**12 + 3], circles.wv[10**12 + 3])


def test_integers_in_lists_arrays_and_matrices_are_the_same_tokens():
    rows = np.random.default_rng(0).integers(30, size=(400, 12))
    inputs = [rows.tolist(), list(rows.astype(np.int32)), rows, list(map(tuple, rows.astype(np.uint8)))]
    models = [Word2Vec(each, min_count=1, vector_size=8, workers=1, epochs=2, progress=False) for each in inputs]
    for model in models[1:]:
        assert model.wv.index_to_key == models[0].wv.index_to_key
        assert np.array_equal(model.wv.vectors, models[0].wv.vectors)


def test_integers_train_as_their_names_do():
    rows = np.random.default_rng(0).integers(30, size=(400, 12))
    options = {"min_count": 1, "vector_size": 8, "workers": 1, "epochs": 2, "progress": False}
    numbers = Word2Vec(rows, **options)
    names = Word2Vec([[str(item) for item in row] for row in rows], **options)
    assert [str(key) for key in numbers.wv.index_to_key] == names.wv.index_to_key
    assert np.array_equal(numbers.wv.vectors, names.wv.vectors)


def test_a_file_of_vectors_of_integers_is_read_by_others(circles, tmp_path):
    circles.wv.save_word2vec_format(tmp_path / "circles.txt")
    again = WordVectors.load_word2vec_format(tmp_path / "circles.txt")
    assert again.index_to_key == [str(key) for key in circles.wv.index_to_key]
    assert np.allclose(again.vectors, circles.wv.vectors, atol=1e-6)
