"""A machine that gives less than asked: full disks, missing permissions, little memory, signals.

Each is met by a child process with a limit of its own, and ends in one sentence, a code and nothing half-written.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import mumon
from mumon import WordVectors
from mumon.kernels import jit
from tests.cli.test_bad_input import SMALL, TEXT, WORDS, assert_refused, earlier, snapshot  # noqa: F401

CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24
OUTPUTS = ["new.mumon", "m.mumon", "v.bin", "v.txt", "new.glove"]


def unprivileged():
    """Permissions do not stop root, unless it gives these two capabilities up for good."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "capabilities cannot be dropped")


def limited(kind, size):
    return lambda: resource.setrlimit(kind, (size, size))


# Several commands in one process: starting one takes a second.
SESSION = """
import contextlib, io, json, sys
from mumon import cli

for arguments in json.loads(sys.argv[1]):
    out, err, sys.argv = io.StringIO(), io.StringIO(), ["mumon", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


@pytest.fixture
def session(kernels, earlier):  # noqa: F811
    """Run commands in a child, which `before` limits first; gives (exit code, standard output and error) of each."""

    def call(*commands, before=None, **env):
        arguments = json.dumps([list(map(str, command)) for command in commands])
        env = {**kernels, "MUMON_CACHE": str(earlier.parent / f"{earlier.name}-cache"), **env}
        child = [sys.executable, "-c", SESSION, arguments]
        done = subprocess.run(child, env=env, cwd=earlier, capture_output=True, text=True, preexec_fn=before)
        assert done.returncode == 0, done.stderr
        return [tuple(json.loads(line)) for line in done.stdout.splitlines()]

    return call


@pytest.fixture
def small_disk(tmp_path_factory):
    """A file system of 300 kB."""
    place = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def long_text(earlier):  # noqa: F811
    """A text of 400,000 words, of which 500 are distinct: 1.6 MB once encoded."""
    random = np.random.default_rng(0)
    lines = (" ".join(f"w{i}" for i in row) for row in random.integers(500, size=(20_000, 20)))
    (earlier / "long.txt").write_text("\n".join(lines))
    return "long.txt"


def test_a_full_disk_ends_encoding_in_one_sentence_that_names_the_place(session, earlier, small_disk, long_text):  # noqa: F811
    before = snapshot(earlier)
    trains = [["train", long_text, "-o", output, *SMALL] for output in OUTPUTS[:2]]
    for outcome in session(*trains, MUMON_CACHE=str(small_disk)):
        assert_refused(outcome, 1, f"does not fit into {small_disk}", "No space left on device", "MUMON_CACHE")
    cache = earlier.parent / "limited"
    command = ["vocab", long_text, "-o", "words.txt"]
    (outcome,) = session(command, before=limited(resource.RLIMIT_FSIZE, 100_000), MUMON_CACHE=str(cache))
    assert_refused(outcome, 1, f"does not fit into {cache}", "File too large")
    assert snapshot(earlier) == before
    assert not list((small_disk / "corpora").iterdir()) and not list((cache / "corpora").iterdir())


def test_a_full_disk_ends_saving_in_one_sentence_and_keeps_what_was_there(session, earlier, small_disk):  # noqa: F811
    for name in ("v.bin", "v.txt", "words.txt"):
        shutil.copy(earlier / name, small_disk / name)
    shutil.copytree(earlier / "m.mumon", small_disk / "m.mumon")
    (earlier / "short.txt").write_text("\n".join(f"word{i} word{i + 1}" for i in range(0, 500, 2)))
    (earlier / "many.txt").write_text("\n".join(f"word{i} word{i + 1}" for i in range(0, 40_000, 2)))
    before = snapshot(small_disk), snapshot(earlier)
    large = ["--dim", "400", "--epochs", "1", "--threads", "1", "--quiet", "--min-count", "1"]
    trains = [["train", "short.txt", "-o", small_disk / name, *large] for name in OUTPUTS]
    words = ["vocab", "many.txt", "-o", small_disk / "words.txt", "-q", "--min-count", 1]
    for outcome, command in zip(session(*trains, words), [*trains, words], strict=True):
        assert_refused(outcome, 1, f"{command[3]}: No space left on device; free some space")
    trains = [["train", "short.txt", "-o", name, *large] for name in OUTPUTS]
    for outcome, name in zip(session(*trains, before=limited(resource.RLIMIT_FSIZE, 200_000)), OUTPUTS, strict=True):
        assert_refused(outcome, 1, f"{earlier / name}: File too large")
    assert (snapshot(small_disk), snapshot(earlier)) == before


def test_a_full_disk_keeps_the_old_vocabulary_beside_the_new_model(session, earlier, small_disk):  # noqa: F811
    (earlier / "many.txt").write_text("\n".join(f"word{i} word{i + 1}" for i in range(0, 40_000, 2)))
    shutil.copy(earlier / "words.txt", small_disk)
    options = ["--min-count", 1, "--save-vocab", small_disk / "words.txt"]
    (outcome,) = session(["train", "many.txt", "-o", "out.bin", *SMALL, *options])
    assert_refused(outcome, 1, f"{small_disk / 'words.txt'}: No space left on device")
    assert snapshot(small_disk) == {small_disk / "words.txt": (earlier / "words.txt").read_bytes()}


def test_devices_are_no_outputs_and_a_full_device_is_told(session, kernels, earlier):  # noqa: F811
    outputs = (["-o", "/dev/full"], ["-o", "m.mumon", "--save-vocab", "/dev/full"])
    for outcome in session(*(["train", "good.txt", *options, *SMALL] for options in outputs)):
        assert_refused(outcome, 1, "/dev/full is a")
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "mumon", "vocab", "good.txt", "--quiet"]
        done = subprocess.run(command, env=kernels, cwd=earlier, stdout=full, stderr=subprocess.PIPE, text=True)
    assert_refused((done.returncode, "", done.stderr), 1, "No space left on device")


def test_standard_input_may_be_closed(kernels, earlier):  # noqa: F811
    command = f"exec {sys.executable} -m mumon train - -o m.mumon -q <&-"
    done = subprocess.run(command, shell=True, env=kernels, cwd=earlier, capture_output=True, text=True)
    assert_refused((done.returncode, done.stdout, done.stderr), 1, "standard input is closed")


def test_what_may_not_be_read_or_written_is_named_and_nothing_is_passed_over(session, earlier):  # noqa: F811
    try:
        subprocess.run(["true"], preexec_fn=unprivileged, check=True)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("root without the right to give up rights")
    for name in ("file.txt", "folder/a.txt", "folder/b.txt", "deep/sub/c.txt", "locked/m"):
        (earlier / name).parent.mkdir(parents=True, exist_ok=True)
        (earlier / name).write_bytes(TEXT)
    before = snapshot(earlier)
    closed = ["file.txt", "folder/b.txt", "deep/sub"]
    for name in closed:
        (earlier / name).chmod(0)
    (earlier / "locked").chmod(0o555)
    try:
        corpora = {"file.txt": "file.txt", "folder": "folder/b.txt", "deep": "deep/sub", "deep/sub/c.txt": "deep/sub"}
        outputs = ("locked/new.mumon", "locked/new.bin", "locked/new.txt", "m.mumon --save-vocab locked/v")
        outcomes = session(
            *(["train", corpus, "-o", "m.mumon", *SMALL] for corpus in corpora),
            *(["train", "good.txt", *SMALL, "-o", *output.split()] for output in outputs),
            before=unprivileged,
        )
        for outcome, named in zip(outcomes, corpora.values(), strict=False):
            assert_refused(outcome, 1, named, "cannot be read (Permission denied)")
        for outcome in outcomes[len(corpora) :]:
            assert_refused(outcome, 1, "locked", "does not let you write")
    finally:
        for name in (*closed, "locked"):
            (earlier / name).chmod(0o755)
    assert snapshot(earlier) == before


def test_a_read_only_installation_home_and_cache_only_cost_time(earlier):  # noqa: F811
    """Kernels are compiled in memory, the text is encoded to a temporary folder, and one note says so."""
    package, home, temporary = earlier / "lib" / "mumon", earlier / "home", earlier / "tmp"
    shutil.copytree(Path(mumon.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
    home.mkdir(), temporary.mkdir()
    for path in (home, package.parent, *package.parent.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    kept = ("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env |= {
        "PYTHONPATH": str(package.parent),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "MPLCONFIGDIR": str(temporary),
    }
    command = [sys.executable, "-m", "mumon", "train", "good.txt", "-o", "out.mumon", *SMALL[:-1], "--exact"]
    before = snapshot(package), snapshot(home)
    done = subprocess.run(command, env=env, cwd=earlier, capture_output=True, text=True, preexec_fn=unprivileged)
    assert done.returncode == 0, done.stderr
    notes = [line for line in done.stderr.splitlines() if "cannot be written" in line]
    assert len(notes) == 1 and str(home) in notes[0] and "encoded for this run only" in notes[0]
    assert set(WordVectors.load(earlier / "out.mumon").index_to_key) == WORDS
    assert (snapshot(package), snapshot(home)) == before and not list(temporary.iterdir())
    package.parent.chmod(0o755)
    for path in package.parent.rglob("*"):
        path.chmod(0o755)


def test_little_memory_is_refused_with_both_numbers_before_anything_is_allocated(session, earlier, long_text):  # noqa: F811
    before = snapshot(earlier)
    trains = [["train", long_text, "-o", "m.mumon", *SMALL, "--dim", dim] for dim in (2_000_000, 10**9)]
    small, huge = session(*trains, before=limited(resource.RLIMIT_AS, 8 << 30))
    assert_refused(
        small, 1, "2 matrices of 500 × 2,000,000 and their training need 8", "GB of memory where", "are free"
    )
    assert_refused(huge, 1, "2 matrices of 500 × 1,000,000,000", "fewer words (max_final_vocab, --max-vocab)")
    assert snapshot(earlier) == before


def test_a_limit_on_threads_is_told_and_those_that_run_are_stopped(run, earlier, monkeypatch):  # noqa: F811
    def start(thread, start=threading.Thread.start):
        if thread.name == "mumon-2":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    (earlier / "c").write_bytes(TEXT * 100)
    outcome = run("train", "c", "-o", "m.mumon", *SMALL, "--threads", 4, "--epochs", 10**6)
    assert_refused(outcome, 1, "the system started 2 of 4 threads and no more")
    assert not any(thread.name.startswith("mumon-") for thread in threading.enumerate())


STOPPED = "mumon: stopped; nothing was changed\n"
ENDS = {signal.SIGINT: (130, STOPPED), signal.SIGTERM: (143, STOPPED), signal.SIGKILL: (-9, "")}


def test_interrupted_encodings_are_never_used_and_their_remains_are_removed(session, kernels, earlier):  # noqa: F811
    """One child for each signal, all with the same cache, and with a text that does not end."""
    cache = earlier.parent / f"{earlier.name}-cache"
    before = snapshot(earlier)
    command = [sys.executable, "-m", "mumon", "train", "-", *SMALL, "-o"]
    env, pipe = {**kernels, "MUMON_CACHE": str(cache)}, subprocess.PIPE
    children = [
        subprocess.Popen([*command, f"{number}.bin"], env=env, cwd=earlier, stdin=pipe, stderr=pipe) for number in ENDS
    ]
    for child in children:
        child.stdin.write(TEXT * 10_000)
        child.stdin.flush()
    deadline = time.monotonic() + 60
    while sum(path.stat().st_size > 0 for path in cache.glob("corpora/.encoding-*/ids.i32")) < len(children):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    for child, number in zip(children, ENDS, strict=True):
        child.send_signal(number)
    for child, number in zip(children, ENDS, strict=True):
        err = child.stderr.read().decode()
        assert (child.wait(timeout=60), err) == ENDS[number]
    (left,) = (cache / "corpora").iterdir()  # of the one that was killed
    assert left.name.startswith(".encoding-")
    kept_for_resuming = earlier / f"{signal.SIGKILL}.bin.checkpoints"
    assert {path: data for path, data in snapshot(earlier).items() if path != kept_for_resuming} == before
    (outcome,) = session(["vocab", "good.txt", "--quiet"])
    assert outcome[0] == 0 and "the 80" in outcome[1]
    (entry,) = (cache / "corpora").iterdir()
    assert not entry.name.startswith(".") and not left.exists()


def test_a_damaged_compiled_kernel_is_compiled_again(tmp_path, monkeypatch):
    """A power cut may leave files of zeros."""
    monkeypatch.setattr(jit, "cache_directory", lambda: tmp_path)
    jit._is_writable.cache_clear()

    def double(x):
        return 2 * x

    try:
        assert jit.kernel(double)(21) == 42
        for pattern in ("*.nbc", "*.nbi"):
            (kept,) = tmp_path.rglob(pattern)
            kept.write_bytes(bytes(kept.stat().st_size))
            again = jit.kernel(double)
            assert again(21) == 42 and not again.stats.cache_hits
            assert jit.kernel(double)(21) == 42
    finally:
        jit._is_writable.cache_clear()


def test_a_full_disk_costs_only_the_kept_kernel(tmp_path, monkeypatch, small_disk):
    monkeypatch.setattr(jit, "cache_directory", lambda: small_disk)
    jit._is_writable.cache_clear()
    (small_disk / "filler").write_bytes(bytes(280_000))

    def triple(x):
        return 3 * x + np.ones(4).sum()

    try:
        assert jit.kernel(triple)(1) == 7
    finally:
        jit._is_writable.cache_clear()
