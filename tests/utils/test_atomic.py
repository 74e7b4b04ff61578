"""Writing: a file or a model directory appears whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from mumon.errors import OptionError
from mumon.formats import write_vectors
from mumon.formats.directory import load_model, save_model
from mumon.utils import atomic
from mumon.utils.atomic import atomic_directory, atomic_file
from mumon.utils.file_lock import lock_file
from tests.samples import COUNTS, VECTORS, WORDS, files_of, left_over, refused


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failed_file_leaves_the_old_one_and_nothing_else(tmp_path, error):
    target = tmp_path / "v.txt"
    for old in (None, b"old"):
        if old:
            target.write_bytes(old)
        with pytest.raises(error), atomic_file(target) as file:
            file.write(b"half")
            assert [n.startswith(".") and n.endswith(".tmp") for n in left_over(tmp_path) if n != "v.txt"] == [True]
            raise error
        assert left_over(tmp_path) == (["v.txt"] if old else [])
    assert target.read_bytes() == b"old"


def test_a_rename_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    (tmp_path / "v").write_bytes(b"old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk")))
    with pytest.raises(OSError, match="disk"), atomic_file(tmp_path / "v") as file:
        file.write(b"new")
    assert left_over(tmp_path) == ["v"] and (tmp_path / "v").read_bytes() == b"old"


def test_a_file_keeps_its_permissions_and_a_link_stays_a_link(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    with atomic_file(link) as file:
        file.write(b"new")
    assert link.is_symlink() and real.read_bytes() == b"new" and real.stat().st_mode & 0o777 == 0o640
    (tmp_path / "plain").write_bytes(b"")
    with atomic_file(tmp_path / "fresh"):
        pass
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("exists", [False, True])
def test_a_failed_directory_leaves_the_old_one_and_nothing_else(tmp_path, monkeypatch, exists):
    target = tmp_path / "m.mumon"
    if exists:
        save_model(target, WORDS, COUNTS, VECTORS)
    before = files_of(target) if exists else None
    with pytest.raises(KeyboardInterrupt), atomic_directory(target) as folder:
        (folder / "config.json").write_text("{")
        raise KeyboardInterrupt
    assert left_over(tmp_path) == (["m.mumon"] if exists else [])

    def fail_for_the_new(path, to, rename=Path.rename):
        if Path(to) == target and (path / "new").exists():
            raise OSError("disk")
        return rename(path, to)

    monkeypatch.setattr(Path, "rename", fail_for_the_new)
    monkeypatch.setattr(atomic, "_exchange", lambda a, b: False)  # as where the system cannot
    with pytest.raises(OSError, match="disk"), atomic_directory(target) as folder:
        (folder / "new").touch()
    assert left_over(tmp_path) == (["m.mumon"] if exists else [])
    assert not exists or files_of(target) == before


def test_a_model_or_an_empty_directory_is_replaced(tmp_path):
    target = tmp_path / "m"
    target.mkdir()
    save_model(target, WORDS, COUNTS, VECTORS, output=VECTORS)
    save_model(target, ["x"], None, np.ones((1, 1), np.float32))
    assert load_model(target).words == ["x"] and load_model(target).output is None
    assert left_over(tmp_path) == ["m"]


@pytest.mark.parametrize("config", [None, "{}", "[]", "not json", '{"format": "other"}'])
def test_a_users_directory_is_never_replaced(tmp_path, config):
    target = tmp_path / "thesis"
    target.mkdir()
    (target / "chapter.txt").write_text("years of work")
    if config is not None:
        (target / "config.json").write_text(config)
    before = files_of(target)
    refused(lambda: save_model(target, WORDS, COUNTS, VECTORS), "not a mumon model", error=OptionError)
    refused(lambda: save_model(target / "chapter.txt", WORDS, COUNTS, VECTORS), "is a file", error=OptionError)
    refused(lambda: write_vectors(target, WORDS, VECTORS, format="glove"), "is a directory", error=OptionError)
    assert files_of(target) == before and left_over(tmp_path) == ["thesis"]


def test_a_directory_that_appears_meanwhile_is_not_replaced(tmp_path):
    with pytest.raises(OptionError, match="not a mumon model"), atomic_directory(tmp_path / "m"):
        (tmp_path / "m").mkdir()
        (tmp_path / "m" / "mine").touch()
    assert left_over(tmp_path) == ["m"] and left_over(tmp_path / "m") == ["mine"]


def test_a_device_or_pipe_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.bin")
    refused(lambda: write_vectors(tmp_path / "pipe.bin", WORDS, VECTORS), "device or pipe", error=OptionError)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two directories")
def test_a_model_is_replaced_in_one_step(tmp_path, monkeypatch):
    target = tmp_path / "m.mumon"
    save_model(target, WORDS, COUNTS, VECTORS)
    seen = []
    monkeypatch.setattr(Path, "rename", lambda *paths: seen.append(paths))
    save_model(target, WORDS[::-1], COUNTS, VECTORS)
    assert not seen and load_model(target).words == WORDS[::-1] and left_over(tmp_path) == ["m.mumon"]


def test_what_a_killed_process_left_half_written_goes_with_the_next_save_but_nothing_else_does(tmp_path):
    dead, alive = (tmp_path / f".m.mumon.{digit * 12}.tmp" for digit in "ab")
    aside, mine = tmp_path / f".m.mumon.{'d' * 12}.old", tmp_path / ".m.mumon.notes.tmp"
    for folder in (dead, alive, aside):
        folder.mkdir()
    mine.write_text("mine")
    with lock_file(alive):
        save_model(tmp_path / "m.mumon", WORDS, COUNTS, VECTORS)
        assert left_over(tmp_path) == sorted([alive.name, aside.name, mine.name, "m.mumon"])  # the only old model stays
        save_model(tmp_path / "m.mumon", WORDS, COUNTS, VECTORS)
    assert left_over(tmp_path) == sorted([alive.name, mine.name, "m.mumon"])
    write_vectors(tmp_path / "v.bin", WORDS, VECTORS)
    (tmp_path / f".v.bin.{'a' * 12}.tmp").write_bytes(b"half")
    write_vectors(tmp_path / "v.bin", WORDS, VECTORS)
    assert not list(tmp_path.glob(".v.bin*"))
