"""Locks: what a living process works on is left alone, what a dead one left behind is removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from mumon.utils import file_lock
from mumon.utils.file_lock import is_abandoned, lock_file, remove_abandoned

HOLD = (
    "import sys, time; from mumon.utils.file_lock import lock_file; lock = lock_file(sys.argv[1]); "
    "print('held', flush=True); "
)
pytestmark = pytest.mark.skipif(file_lock.fcntl is None, reason="nothing can be locked here, ages decide")


@pytest.fixture(params=["folder", "file"])
def made(request, tmp_path):
    path = tmp_path / "made"
    if request.param == "folder":
        path.mkdir()
        (path / "half").write_text("half")
    else:
        path.write_text("half")
    return path


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_a_lock_lasts_exactly_as_long_as_its_process(made, end):
    code = HOLD + ("time.sleep(60)" if end else "sys.stdin.read()")
    process = subprocess.Popen([sys.executable, "-c", code, made], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    assert not is_abandoned(made) and not remove_abandoned(made) and made.exists()
    if end:
        process.send_signal(end)
    process.communicate(timeout=30)
    assert is_abandoned(made) and made.exists()
    assert remove_abandoned(made) and not made.exists()


def test_a_lock_is_held_within_one_process_survives_a_rename_and_can_be_released_twice(made):
    with lock_file(made) as lock, lock_file(made):
        moved = made.rename(made.with_name("moved"))
        assert not is_abandoned(moved)
    lock.release()
    assert is_abandoned(moved) and not is_abandoned(made) and not remove_abandoned(made)


def test_what_was_removed_before_it_could_be_locked_is_made_again(made):
    assert remove_abandoned(made)
    with pytest.raises(FileNotFoundError):
        lock_file(made)


def test_a_forked_child_does_not_prolong_a_released_lock(made):
    lock = lock_file(made)
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        lock.release()
        assert is_abandoned(made)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_where_nothing_can_be_locked_age_decides(made, monkeypatch):
    def refuse(*_):
        raise OSError("no locks here")

    monkeypatch.setattr(file_lock.fcntl, "flock", refuse)
    with lock_file(made):
        assert not is_abandoned(made)
    assert not remove_abandoned(made)
    os.utime(made, (0, 0))
    assert is_abandoned(made) and remove_abandoned(made)


def test_a_link_is_not_followed(made, tmp_path):
    (tmp_path / "link").symlink_to(made)
    assert not remove_abandoned(tmp_path / "link") and made.exists()
