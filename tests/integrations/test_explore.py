"""`mumon explore` as a server: what it answers, whom it refuses, and how it starts and ends."""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.samples import refused, small

pytest.importorskip("starlette")
pytest.importorskip("httpx")
from starlette.testclient import TestClient

from mumon import WordVectors
from mumon.errors import OptionError
from mumon.integrations.explore import projection, serve
from mumon.integrations.explore.app import build_application
from mumon.integrations.explore.maps import Maps
from mumon.integrations.explore.models import Model, open_models
from mumon.integrations.explore.questions import read_question

HOSTILE = "<img src=x onerror=alert(1)>"
WORDS = ["king", "queen", "man", "woman", "e-mail", "-", "New York", "مرحبا", "東京", HOSTILE, "a,b", '"', "Queens"]
RANDOM = np.random.default_rng(3)
VECTORS = RANDOM.standard_normal((len(WORDS), 6)).astype(np.float32)
COUNTS = np.arange(len(WORDS), 0, -1) * 10


def client(*models, words=100, base="http://127.0.0.1:8765", **options):
    return TestClient(build_application(models, Maps(models, words), **options), base_url=base)


def model(words=WORDS, vectors=VECTORS, counts=COUNTS, name="m"):
    return Model(name, WordVectors(words, vectors, counts))


@pytest.fixture
def page():
    return client(model())


@pytest.fixture(scope="module")
def trained(planted, tmp_path_factory):
    """A model folder with a history, and another of the same name."""
    folder = tmp_path_factory.mktemp("explore")
    paths = [folder / "a" / "m.mumon", folder / "b" / "m.mumon"]
    for path, seed in zip(paths, (1, 2), strict=True):
        path.parent.mkdir()
        small(planted[:600], epochs=3, seed=seed).save(path)
    return [str(path) for path in paths]


# --- projection


def naive_pca(vectors):
    """Centre, normalise, decompose: as the textbook says it."""
    units = np.array([row / np.linalg.norm(row) if row.any() else row for row in vectors.astype(np.float64)])
    centred = units - units.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2] * [[1 if axis[np.abs(axis).argmax()] > 0 else -1] for axis in axes[:2]]
    return centred @ axes.T, (sizes[:2] ** 2).sum() / (sizes**2).sum()


@pytest.mark.parametrize("shape", [(40, 5), (9000, 12), (3, 8), (6, 2)])
def test_pca_is_what_a_singular_value_decomposition_gives(shape):
    scales = np.linspace(3, 1, shape[1])
    vectors = (np.random.default_rng(shape[0]).standard_normal(shape) * scales).astype(np.float32)
    vectors[1] = 0
    plane = projection.fit_pca(vectors)
    points, share = naive_pca(vectors)
    np.testing.assert_allclose(plane.place(vectors), points, atol=2e-5)
    assert plane.share == pytest.approx(share, abs=1e-6)


@pytest.mark.parametrize("vectors", [np.ones((4, 1)), np.zeros((3, 4)), np.ones((1, 3))], ids=["flat", "zero", "one"])
def test_vectors_without_a_plane_still_have_places(vectors):
    made = Maps([model([f"w{i}" for i in range(len(vectors))], vectors, None)], 10).get("pca", 0)
    assert np.isfinite(made.points).all() and made.place_on_grid(made.points).shape == (len(vectors), 2)


def test_the_second_model_is_turned_like_the_first():
    turn, _ = np.linalg.qr(RANDOM.standard_normal((6, 6)))
    first, second = model(), model(vectors=(VECTORS @ turn).astype(np.float32), name="turned")
    maps = Maps([first, second], 100)
    np.testing.assert_allclose(maps.get("pca", 1).points, maps.get("pca", 0).points, atol=1e-5)


def test_umap_keeps_groups_together():
    pytest.importorskip("umap")
    centres = np.eye(4, 10, dtype=np.float32) * 4
    vectors = np.repeat(centres, 15, axis=0) + RANDOM.standard_normal((60, 10)).astype(np.float32) * 0.3
    points = projection.fit_umap(vectors)
    middles = points.reshape(4, 15, 2).mean(axis=1)
    nearest = ((points[:, None] - middles) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == np.repeat(range(4), 15)).all()


def test_without_umap_a_sentence_names_the_extra(monkeypatch):
    monkeypatch.setattr(projection.importlib.util, "find_spec", lambda name: None)
    refused(projection.require_umap, r"pip install 'mumon\[umap\]'", error=OptionError)
    assert Maps([model()], 5).kinds == ["pca"]


# --- what is typed


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("king", "+king"),
        ("  king ", "+king"),
        ("king - man + woman", "+king -man +woman"),
        ("king -man +woman", "+king -man +woman"),
        ("king-man+woman", "+king -man +woman"),
        ("king − man", "+king -man"),
        ("king, queen woman", "+king +queen +woman"),
        ("-man king", "-man +king"),
        ("e-mail", "+e-mail"),
        ("-", "+-"),
        ("New York", "+New York"),
        ('"New York" - king', "+New York -king"),
        ("a,b", "+a,b"),
        ("kind-man", "+kind-man"),
        (HOSTILE, f"+{HOSTILE}"),
    ],
)
def test_what_is_typed_is_understood(typed, understood):
    asked = read_question(typed, WORDS.__contains__)
    assert " ".join(sign + word for sign, word in asked.terms) == understood


@pytest.mark.parametrize("typed", ["", "  ", ",", "- man", " + ", "x " * 101])
def test_what_asks_for_nothing_is_refused_in_a_sentence(typed):
    refused(lambda: read_question(typed, {"man", "x"}.__contains__), r"\d", error=OptionError)


@given(st.text(max_size=30))
def test_any_text_is_understood_or_refused(text):
    try:
        asked = read_question(text, WORDS.__contains__)
    except OptionError:
        return
    assert asked.words("+") and all(asked.words())
    assert read_question(text, lambda word: True).words() == [text]


# --- answers


def test_neighbours_are_those_of_the_vectors(page):
    answer = page.get("/api/neighbours", params={"q": "king - man + woman", "topn": 4}).json()
    expected = WordVectors(WORDS, VECTORS).most_similar(["king", "woman"], ["man"], topn=4)
    assert [item["word"] for item in answer["neighbours"]] == [word for word, _ in expected]
    assert [item["score"] for item in answer["neighbours"]] == pytest.approx([score for _, score in expected], abs=1e-6)
    assert answer["terms"][0] == {"sign": "+", "word": "king", "rank": 1, "count": 130}
    assert "cosine" not in answer


def test_two_words_come_with_their_cosine(page):
    cosine = WordVectors(WORDS, VECTORS).similarity("king", "queen")
    assert page.get("/api/neighbours?q=king,queen").json()["cosine"] == pytest.approx(cosine, abs=1e-6)
    assert page.get("/api/similarity?a=king&b=queen").json()["cosine"] == pytest.approx(cosine, abs=1e-6)


@pytest.mark.parametrize("mul", [0, 1])
def test_analogies_are_those_of_the_vectors(page, mul):
    wv = WordVectors(WORDS, VECTORS)
    expected = (wv.most_similar_cosmul if mul else wv.most_similar)(["king", "woman"], ["man"], topn=5)
    answer = page.get("/api/analogy", params={"a": "man", "b": "king", "c": "woman", "mul": mul}).json()["answers"]
    assert [item["word"] for item in answer] == [word for word, _ in expected]


@pytest.mark.parametrize("word", WORDS)
def test_every_word_can_be_looked_up_whatever_it_looks_like(page, word):
    answer = page.get("/api/neighbours", params={"q": word}).json()
    assert [term["word"] for term in answer["terms"]] == [word]
    assert len(answer["neighbours"]) == 10


def test_a_missing_word_is_named_with_the_one_that_was_meant(page):
    answer = page.get("/api/neighbours", params={"q": "quean - king"})
    assert answer.status_code == 404
    assert answer.json()["word"] == "quean" and answer.json()["suggestion"] == "queen"
    assert "'quean' is not among the 13 words of the vocabulary" in answer.json()["error"]
    answer = page.get("/api/analogy?a=king&b=xyzzy&c=man").json()
    assert answer["word"] == "xyzzy" and answer["suggestion"] is None
    assert "check the spelling" in answer["error"]


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("neighbours?q=", "0 words"),
        ("neighbours?q=king&topn=0", "from 1 to 200"),
        ("neighbours?q=king&topn=99999999999999", "from 1 to 200"),
        ("neighbours?q=king&topn=²", "from 1 to 200"),
        ("neighbours?q=king&model=1", "from 0 to 0"),
        (f"neighbours?q={'x' * 5000}", "5000 characters"),
        ("analogy?a=king&b=&c=man", "the second of the 3 words"),
        ("map?projection=tsne", "is not one of the"),
    ],
)
def test_a_wrong_question_is_answered_by_a_sentence(page, path, pattern):
    answer = page.get(f"/api/{path}")
    assert answer.status_code == 400 and re.search(pattern, answer.json()["error"])


def test_completion_is_by_frequency_and_takes_either_case(page):
    words = page.get("/api/suggest?prefix=QU").json()["words"]
    assert [item["word"] for item in words] == ["queen", "Queens"]
    assert page.get("/api/suggest?prefix=").json()["words"] == []
    assert page.get("/api/suggest", params={"prefix": "東"}).json()["words"][0]["word"] == "東京"


@given(st.lists(st.text(max_size=4), unique=True, min_size=1), st.text(max_size=3), st.integers(1, 5))
def test_completion_finds_what_looking_at_every_word_finds(words, prefix, most):
    some = model(words, np.ones((len(words), 2)), np.array([len(word) for word in words]))
    ranked = sorted(range(len(words)), key=lambda row: -len(words[row]))
    naive = [row for row in ranked if words[row].casefold().startswith(prefix.casefold())]
    assert some.complete(prefix, most) == naive[:most]


def decoded(text):
    return np.frombuffer(base64.b64decode(text), "<u2").astype(int)


def test_the_map_is_the_projection_and_small():
    words = [f"word{i}" for i in range(2000)]
    vectors = RANDOM.standard_normal((2000, 8)).astype(np.float32) * np.linspace(3, 1, 8).astype(np.float32)
    some = model(words, vectors, None)
    answer = client(some, words=1500).get("/api/map?projection=pca")
    sent = answer.json()
    assert answer.headers["content-encoding"] == "gzip"
    assert sent["words"] == words[:1500] and sent["counts"] is None
    points, share = naive_pca(vectors[:1500])
    grid = np.stack([decoded(sent["x"]), decoded(sent["y"])], axis=1)
    side = (points.max(axis=0) - points.min(axis=0)).max()
    expected = (points - (points.max(axis=0) + points.min(axis=0)) / 2) / side * 65535 + 65535 / 2
    assert np.abs(grid - expected).max() < 20
    assert sent["share"] == pytest.approx(share, abs=1e-4)


def test_words_beyond_the_map_have_a_place_on_its_plane():
    some = model()
    page = client(some, words=5)
    everywhere = page.get("/api/places", params={"word": ["king", "東京", "xyzzy"]}).json()["places"]
    sent = page.get("/api/map").json()
    assert everywhere[0] == [decoded(sent["x"])[0], decoded(sent["y"])[0]]
    assert len(everywhere[1]) == 2 and everywhere[2] is None
    made = Maps([some], 5).get("pca", 0)
    assert everywhere[1] == made.place_on_grid(made.plane.place(VECTORS[[8]]))[0].tolist()


def test_words_are_ranked_by_their_counts_not_by_their_rows():
    page = client(model(counts=COUNTS[::-1]), words=3)
    assert page.get("/api/map").json()["words"] == WORDS[:-4:-1]


def test_umap_is_promised_until_it_is_there():
    pytest.importorskip("umap")
    page = client(model([f"w{i}" for i in range(30)], RANDOM.standard_normal((30, 5)), None))
    first = page.get("/api/map?projection=umap")
    assert first.status_code == 202 and first.json()["working"] >= 0
    for thread in filter(lambda one: one.name == "umap", threading.enumerate()):
        thread.join()
    answer = page.get("/api/map?projection=umap")
    assert answer.status_code == 200 and len(decoded(answer.json()["x"])) == 30
    assert page.get("/api/places?projection=umap&word=w3").json()["places"] != [None]


def test_keys_that_are_numbers_are_words_on_the_page():
    wv = WordVectors([70, 3, 12], VECTORS[:3])
    if not hasattr(wv, "integer_keys"):
        wv.integer_keys = True
    assert wv.integer_keys
    page = client(Model("items", wv))
    answer = page.get("/api/neighbours?q=3").json()
    assert {item["word"] for item in answer["neighbours"]} == {"70", "12"}
    assert page.get("/api/suggest?prefix=7").json()["words"][0]["word"] == "70"
    assert page.get("/api/map").json()["words"] == ["70", "3", "12"]
    missing = page.get("/api/neighbours?q=1")
    assert missing.status_code == 404 and "'1' is not among the 3" in missing.json()["error"]


# --- models


def test_settings_and_history_come_from_the_model_folder(trained):
    models = open_models(trained)
    about = client(*models).get("/api/about").json()
    first = about["models"][0]
    assert [one["name"] for one in about["models"]] == ["a/m.mumon", "b/m.mumon"]
    assert [epoch["epoch"] for epoch in first["history"]] == [1, 2, 3]
    assert all(epoch["loss"] > 0 and epoch["rate"] > 0 and epoch["speed"] > 0 for epoch in first["history"])
    settings = dict(first["settings"])
    assert settings["objective"] == "cbow" and settings["seed"] == "1" and settings["schedule_total"] == "3"
    assert first["words"] == len(models[0].words) and first["dimensions"] == 24
    assert len(first["examples"]) > 0 and set(first["examples"]) <= set(models[0].words)


def test_the_first_rate_is_shown_only_where_the_schedule_is_that_of_the_whole_history(planted, tmp_path):
    once = small(planted[:300], epochs=2, alpha=0.2)
    once.save(tmp_path / "once.mumon")
    once.train(planted[:300], epochs=2, start_alpha=0.1)
    once.save(tmp_path / "twice.mumon")
    opened = open_models([str(tmp_path / "once.mumon"), str(tmp_path / "twice.mumon")])
    assert [len(one.history) for one in opened] == [2, 4]
    about = client(*opened).get("/api/about").json()["models"]
    assert [one["first_rate"] for one in about] == [0.2, None]
    assert client(model()).get("/api/about").json()["models"][0]["first_rate"] is None


def test_two_models_answer_each_for_itself(trained):
    page = client(*open_models(trained))
    answers = [page.get(f"/api/neighbours?q=country1&model={index}").json()["neighbours"] for index in (0, 1)]
    for path, answer in zip(trained, answers, strict=True):
        expected = WordVectors.load(path).most_similar("country1")
        assert [item["word"] for item in answer] == [word for word, _ in expected]
    assert answers[0] != answers[1]


def test_a_limit_is_kept_and_vectors_without_training_are_shown(trained, tmp_path):
    WordVectors.load(trained[0]).save(tmp_path / "v.txt")
    about = client(*open_models([str(tmp_path / "v.txt"), trained[0]], limit=20)).get("/api/about").json()["models"]
    assert [one["words"] for one in about] == [20, 20]
    assert about[0]["history"] == [] and about[0]["settings"] == []


# --- whom it answers


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "evil.example:8765"])
def test_a_page_elsewhere_cannot_make_its_name_lead_here(page, host):
    for path in ("/", "/api/about", "/static/explore.js"):
        answer = page.get(path, headers={"host": host})
        assert answer.status_code == 400 and "models" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:9000", "localhost"])
def test_this_machine_and_the_end_of_a_tunnel_are_answered(page, host):
    assert page.get("/api/about", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/api/about", "/api/neighbours?q=xyzzy", "/static/explore.js", "/nothing"])
def test_every_answer_forbids_what_is_not_its_own(page, path):
    answer = page.get(path, headers={"origin": "http://evil.example"})
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/api/about", "/static/explore.js"])
def test_nothing_but_reading_is_allowed(page, method, path):
    assert page.request(method, path).status_code == 405


def test_no_file_outside_the_page_is_served(page):
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..%2fapp.py"):
        assert page.get(path).status_code == 404


def test_the_page_names_no_other_address(page):
    for path in ("/", "/static/explore.js", "/static/explore.css"):
        text = page.get(path).text.replace("http://www.w3.org/2000/svg", "")  # the name of a format, not asked for
        assert "//" not in re.sub(r"(^|\s)//.*", "", text), path
        assert "innerHTML" not in text and "insertAdjacentHTML" not in text


# --- the program


def start(*arguments):
    command = [sys.executable, "-m", "mumon", "explore", *map(str, arguments), "--no-open"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def address(process):
    line = process.stdout.readline()
    return re.match(r"http://[^ ]+", line)[0] if line else pytest.fail(process.stderr.read())


def test_the_program_answers_and_ctrl_c_ends_it_quietly(trained):
    process = start(trained[0], "--port", 0)
    url = address(process)
    with urllib.request.urlopen(f"{url}api/about") as answer:
        assert json.load(answer)["models"][0]["name"] == "m.mumon"
    with urllib.request.urlopen(url) as answer:
        assert b"<title>mumon explore</title>" in answer.read()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert [line for line in err.splitlines() if not line.startswith("reading ")] == []


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal of its own")
def test_after_ctrl_c_at_a_terminal_the_prompt_has_a_line_of_its_own(trained):
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "mumon", "explore", trained[0], "--port", "0", "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    urllib.request.urlopen(address(process)).close()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    seen = b""
    with contextlib.suppress(OSError):  # how Linux signals the end
        while part := os.read(ours, 4096):
            seen += part
    os.close(ours)
    assert process.returncode == 0 and seen.endswith(b"\r\n\r\n")


def test_where_the_usual_port_is_taken_a_note_says_so_and_another_one_is_used(trained):
    with socket.socket() as other:
        if os.name == "posix":  # ended connections do not block the port
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # taken by someone else: just as well
            other.bind(("127.0.0.1", serve.DEFAULT_PORT))
            other.listen()
        process = start(trained[0])
        url = address(process)
        assert f":{serve.DEFAULT_PORT}/" not in url
        assert urllib.request.urlopen(url).status == 200
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert f"port {serve.DEFAULT_PORT} is taken; using {url.split(':')[-1].strip('/')}" in err
    assert process.returncode == 143


def test_a_port_that_was_asked_for_and_is_taken_is_refused_with_a_way_on(trained):
    with serve.listen("127.0.0.1", 0) as other:
        taken = other.getsockname()[1]
        process = start(trained[0], "--port", taken)
        with process:
            line = process.stdout.readline()
            if line:  # it serves, though it should not
                process.terminate()
            err = process.stderr.read()
    sentence = f"mumon: port {taken} is taken; choose another --port, or leave it out for one that is free"
    assert (line, err.splitlines(), process.returncode) == ("", [sentence], 1)


def test_everyone_may_call_only_where_that_was_asked_for_and_warned_of(trained):
    process = start(trained[0], "--port", 0, "--host", "0.0.0.0")
    request = urllib.request.Request(f"{address(process)}api/about", headers={"Host": "somewhere.example"})
    assert urllib.request.urlopen(request).status == 200
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert "warning: there is no password" in err and process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["nowhere.mumon"], r"nowhere\.mumon"),
        (["MODEL", "--host", "no.such.host.invalid"], "is not an address of this machine"),
        (["MODEL", "--host", "192.0.2.1"], "cannot be listened at"),
    ],
)
def test_a_wrong_start_ends_in_a_sentence(run, trained, arguments, pattern):
    code, out, err = run("explore", *[trained[0] if one == "MODEL" else one for one in arguments], "--no-open")
    assert code == 1 and re.search(pattern, err) and "Traceback" not in err and out == ""


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        (["uvicorn"], "uvicorn is not installed"),
        (["starlette"], "starlette is not installed"),
        (["starlette", "uvicorn"], "neither is installed"),
    ],
)
def test_libraries_that_are_missing_are_named_with_the_command_that_installs_them(run, monkeypatch, missing, sentence):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in missing else find(name, *rest))
    code, out, err = run("explore", "king.mumon", "--no-open")
    assert (code, out) == (1, "")
    assert err == f"mumon: mumon explore needs starlette and uvicorn, and {sentence}; pip install 'mumon[explore]'\n"


def test_the_address_of_a_listener_can_be_typed():
    with serve.listen("127.0.0.1", 0) as one, serve.listen("0.0.0.0", 0) as everywhere:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", serve.find_address(one))
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", serve.find_address(everywhere))
