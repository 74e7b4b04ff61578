"""Named data sets: the mirror, then the cache, then a download that is verified; every failure is one sentence."""

from __future__ import annotations

import functools
import hashlib
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from mumon import cli, datasets
from mumon.datasets import REGISTRY, DataFile, Dataset, fetch, fetch_all
from mumon.errors import DataError, OptionError
from mumon.utils.progress import LineProgress, Progress
from tests.samples import left_over, refused

CONTENT = b"tiger\tcat\t7.35\n" * 20_000  # several chunks
PATH = "similarity/tiny.txt"


class Notes(Progress):
    def __init__(self):
        self.notes, self.seen, self.closed = [], [], False

    def note(self, text):
        self.notes.append(text)

    def update(self, done, **fields):
        self.seen.append(done)

    def close(self):
        self.closed = True


class Server:
    """A real HTTP server on a thread, and what it was asked for."""

    def __init__(self, folder):
        self.folder, self.asked = folder, asked = folder, []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *arguments):
                asked.append(self.path)

            def do_GET(self):
                if self.path == "/broken.txt":
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(CONTENT)))
                    self.end_headers()
                    self.wfile.write(CONTENT[:1000])  # and hangs up
                else:
                    super().do_GET()

        handler = functools.partial(Handler, directory=str(folder))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(autouse=True)
def surroundings(monkeypatch, tmp_path):
    """A cache of the test's own, no mirror, and no proxy between the test and its server."""
    monkeypatch.setenv("MUMON_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MUMON_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(datasets, "_noted", set())


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "tiny.txt").write_bytes(CONTENT)
    server = Server(folder)
    yield server
    server.stop()


@pytest.fixture
def register(monkeypatch):
    """Add a data set to the registry for one test."""

    def add(*files, name="tiny"):
        monkeypatch.setitem(REGISTRY, name, Dataset(name, "A tiny set", files, "CC0", "Nobody, 2026", "https://home"))

    return add


@pytest.fixture
def tiny(server, register):
    register(tiny_file(server.address + "tiny.txt"))
    return server


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    folder = tmp_path / "mirror"
    (folder / "similarity").mkdir(parents=True)
    monkeypatch.setenv("MUMON_DATA", str(folder))
    return folder


@pytest.fixture
def run(monkeypatch, capfd):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["mumon", "data", *arguments])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out = capfd.readouterr()
        return caught.value.code or 0, out.out, out.err

    return call


def tiny_file(url, path=PATH, content=CONTENT):
    return DataFile(path, len(content), hashlib.sha256(content).hexdigest(), url)


def refused_download(*patterns):
    """The download of `tiny` fails with one sentence, says what else to do, and leaves nothing behind."""
    progress = Notes()
    message = refused(
        lambda: fetch("tiny", progress), *patterns, f"MUMON_DATA to a folder that has {PATH}", error=DataError
    )
    assert message[0].islower() and not message.endswith(".")
    assert left_over(datasets._cache_path(REGISTRY["tiny"].files[0]).parent) == []
    assert progress.closed
    return message


def test_a_download_lands_in_the_cache_and_is_not_repeated(tiny, tmp_path):
    progress = Notes()
    path = fetch("tiny", progress)
    assert path == tmp_path / "cache" / "data" / PATH and path.read_bytes() == CONTENT
    assert left_over(path.parent) == ["tiny.txt"]
    assert progress.seen == sorted(progress.seen) and progress.seen[-1] == len(CONTENT)
    tiny.stop()
    assert fetch("tiny") == path and tiny.asked == ["/tiny.txt"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_a_downloaded_file_is_as_readable_as_any_other(tiny, tmp_path):
    (tmp_path / "any").touch()
    assert fetch("tiny").stat().st_mode == (tmp_path / "any").stat().st_mode


def test_a_damaged_file_in_the_cache_is_downloaded_again(tiny):
    path = fetch("tiny")
    path.write_bytes(CONTENT[:-1] + b"?")
    assert fetch("tiny").read_bytes() == CONTENT and tiny.asked == ["/tiny.txt"] * 2


def test_a_download_with_another_checksum_is_refused(tiny):
    (tiny.folder / "tiny.txt").write_bytes(b"?" * len(CONTENT))
    message = refused_download(r"did not answer with tiny \(SHA-256 [0-9a-f]{12}…\)")
    assert tiny.address in message


def test_a_missing_page_is_one_sentence(server, register):
    register(tiny_file(server.address + "nowhere.txt"))
    assert f"from {server.address}nowhere.txt" in refused_download(r"\(HTTP 404 .*\)")


def test_a_server_that_is_down_is_one_sentence(tiny):
    tiny.stop()
    refused_download("could not be downloaded", r"\(.*refused.*\)")


def test_a_transfer_that_breaks_off_is_one_sentence(server, register):
    register(tiny_file(server.address + "broken.txt"))
    refused_download("broken.txt")


def test_a_server_that_never_answers_is_given_up(register, monkeypatch):
    monkeypatch.setattr(datasets, "TIMEOUT", (0.2, 0.2))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        register(tiny_file(f"http://127.0.0.1:{silent.getsockname()[1]}/tiny.txt"))
        refused_download("no answer in time")


def test_a_host_that_does_not_exist_is_one_sentence(register):
    register(tiny_file("http://no-such-host.invalid/tiny.txt"))
    refused_download("no-such-host.invalid")


def test_a_cache_that_cannot_be_written_is_one_sentence(tiny, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    refused(lambda: fetch("tiny"), "could not be downloaded", "set MUMON_DATA", error=DataError)


def test_the_mirror_comes_first(tiny, mirror):
    cached = fetch("tiny")
    (mirror / PATH).write_bytes(CONTENT)
    progress = Notes()
    with warnings.catch_warnings():
        # ours are UserWarnings; requests leaves the socket of a transfer that broke off to the garbage collector
        warnings.simplefilter("error", UserWarning)
        assert fetch("tiny") == fetch("tiny", progress) == mirror / PATH != cached
    assert not progress.notes


def test_a_mirror_without_the_file_does_not_stand_in_the_way(tiny, mirror):
    assert fetch("tiny").read_bytes() == CONTENT
    assert left_over(mirror / "similarity") == []


@pytest.mark.parametrize("own", [b"my own version", b"?" * len(CONTENT)])
def test_a_version_of_ones_own_in_the_mirror_is_used_and_noted_once(tiny, mirror, own):
    (mirror / PATH).write_bytes(own)
    progress = Notes()
    assert fetch("tiny", progress) == fetch("tiny", progress) == mirror / PATH
    assert len(progress.notes) == 1 and str(mirror / PATH) in progress.notes[0]
    with pytest.warns(UserWarning, match="is not the tiny known to mumon"):
        fetch("tiny")
    assert not tiny.asked


def test_a_mirror_that_is_not_there_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("MUMON_DATA", str(tmp_path / "nowhere"))
    refused(lambda: fetch("ws353"), "MUMON_DATA names .*nowhere, which is not a folder", error=DataError)


def test_a_set_without_address_says_what_to_put_where(monkeypatch, tmp_path):
    todo = "enwiki has no public download; put corpus/enwiki.sents.txt.xz in a folder and set MUMON_DATA to it"
    refused(lambda: fetch("enwiki"), todo, REGISTRY["enwiki"].home, error=DataError)
    monkeypatch.setenv("MUMON_DATA", str(tmp_path))
    refused(
        lambda: fetch_all("sst2"), f"train.tsv, .*dev.tsv, .*test.tsv in {re.escape(str(tmp_path))}", error=DataError
    )


def test_several_files_come_in_their_order_from_wherever_they_are(server, register, mirror):
    (server.folder / "b.txt").write_bytes(b"b")
    register(tiny_file(None), tiny_file(server.address + "b.txt", "other/b.txt", b"b"))
    (mirror / PATH).write_bytes(CONTENT)
    assert datasets.where(REGISTRY["tiny"]) == "to download"
    assert [path.read_bytes() for path in fetch_all("tiny")] == [CONTENT, b"b"]
    assert datasets.where(REGISTRY["tiny"]) == "cache"
    refused(lambda: fetch("tiny"), "tiny has 2 files; call fetch_all", error=OptionError)


def test_names_and_aliases():
    assert datasets.find("google") is datasets.find("MIXED") is REGISTRY["mixed"]
    assert datasets.find("msr") is REGISTRY["syn"]
    refused(lambda: fetch("ws354"), "'ws354'; the names are ws353, men, rw, mixed, syn, ", error=OptionError)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_set_has_what_its_users_must_know(name):
    dataset = REGISTRY[name]
    assert dataset.name == name and dataset.title and dataset.licence and dataset.files
    assert re.search(r"\d{4}", dataset.citation) or name == "enwiki"
    assert re.match(r"https?://", dataset.home)
    for file in dataset.files:
        assert re.fullmatch("[0-9a-f]{64}", file.sha256) and file.size > 0
        assert not Path(file.path).is_absolute() and ".." not in file.path
        # an address without a commit would one day answer with other bytes
        assert file.url is None or re.search("/[0-9a-f]{40}/", file.url)


def test_no_two_files_share_a_place():
    paths = [file.path for dataset in REGISTRY.values() for file in dataset.files]
    assert len(set(paths)) == len(paths) == 55


MIRROR = os.environ.get("MUMON_DATA", "")


@pytest.mark.skipif(not MIRROR, reason="MUMON_DATA names no mirror to compare the checksums with")
@pytest.mark.parametrize("name", REGISTRY)
def test_the_checksums_are_those_of_the_mirror(name, monkeypatch):
    monkeypatch.setenv("MUMON_DATA", MIRROR)
    if datasets.where(REGISTRY[name]) != "mirror":
        pytest.skip(f"the mirror has no {name}")
    progress = Notes()
    assert all(path.is_relative_to(MIRROR) for path in fetch_all(name, progress))
    assert not progress.notes


def test_data_list_shows_every_set_and_where_it_is(run, tiny):
    code, out, _ = run("list")
    rows = {row.split()[0]: row for row in out.splitlines()}
    assert code == 0 and rows.keys() == {"name", *REGISTRY}
    assert "to download" in rows["tiny"] and "by hand" in rows["enwiki"] and "CC BY 4.0" in rows["ws353"]
    fetch("tiny")
    assert re.search(r"^tiny .*300 kB +cache +CC0", run("list")[1], re.MULTILINE)


def test_data_list_json_and_one_name_tell_all(run):
    code, out, _ = run("list", "--json")
    listed = {each["name"]: each for each in json.loads(out)}
    assert code == 0 and list(listed) == list(REGISTRY)
    assert listed["men"]["files"][0]["sha256"] == REGISTRY["men"].files[0].sha256
    assert listed["men"]["where"] == "to download" and "Bruni" in listed["men"]["citation"]
    code, out, _ = run("list", "msr")
    dataset = REGISTRY["syn"]
    assert code == 0 and "syn or msr" in out
    assert all(each in out for each in (dataset.citation, dataset.licence, dataset.home, dataset.files[0].url))


def test_data_get_prints_paths(run, tiny, tmp_path):
    path = str(tmp_path / "cache" / "data" / PATH)
    code, out, err = run("get", "tiny")
    assert (code, out) == (0, path + "\n") and "downloaded tiny" in err and "CC0" in err
    assert run("get", "tiny", "TINY", "--json", "--quiet") == (0, json.dumps({"tiny": [path]}) + "\n", "")


def test_data_get_all_skips_what_has_no_address(run, tiny, monkeypatch):
    for name in list(REGISTRY):
        if name not in ("tiny", "enwiki"):
            monkeypatch.delitem(REGISTRY, name)
    code, out, err = run("get", "all")
    assert code == 0 and out.splitlines() == [str(fetch("tiny"))]
    assert "skipped enwiki: it has no public download" in err


def test_data_mistakes_are_one_sentence(run, tiny, monkeypatch):
    assert run("get", "tiny", "nothing")[::2] == (1, run("list", "nothing")[2]) and not tiny.asked
    tiny.stop()
    for arguments in (["get", "tiny"], ["get", "enwiki"]):
        code, out, err = run(*arguments)
        assert code == 1 and not out and err.startswith("mumon: ") and err.count("\n") == 1
    monkeypatch.setenv("MUMON_DATA", "/no/such/folder")
    assert run("list")[::2] == (
        1,
        "mumon: MUMON_DATA names /no/such/folder, which is not a folder; correct it or unset it\n",
    )
    assert run("get")[0] == 2


def test_lines_for_logs_end_with_what_was_downloaded(tiny, capsys):
    fetch("tiny", LineProgress())
    assert re.fullmatch(r"downloaded tiny to \S+ \(licence: CC0\)\n", capsys.readouterr().err)


def test_pooch_is_imported_only_for_a_download():
    code = "import sys, mumon.cli, mumon.datasets; sys.exit('pooch' in sys.modules or 'requests' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
