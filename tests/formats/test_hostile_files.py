"""No file makes a reader run code, fill the memory, hang or fail in any way but with one sentence."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "fuzz"
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limits are Linux's")
sys.path.insert(0, str(FUZZ))

from mumon.errors import FormatError  # noqa: E402
from mumon.kernels import jit  # noqa: E402
from tests.hostile import HOSTILE, READ  # noqa: E402

KEPT = sorted(path for path in (FUZZ / "seeds").glob("*/*") if path.is_file())


def environment():
    """As the fuzzer has it, with the kernels where they always are: the tests have moved the cache."""
    kept = str(jit.cache_directory().parent)
    return {**os.environ, "NUMBA_CACHE_DIR": kept, "MALLOC_MMAP_THRESHOLD_": "131072", "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def reading():
    """A process under the fuzzer's limits that says what a file did to its reader."""

    def start():
        command, pipe = [sys.executable, str(FUZZ / "replay.py")], subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment())

    process = start()

    def read(target, path):
        nonlocal process
        if process.poll() is not None:  # it died of the file before
            process = start()
        process.stdin.write(f"{target} {path}\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline() or '{"problem": "the process died"}')

    yield read
    process.stdin.close()
    process.wait()


@pytest.mark.parametrize(("target", "what", "make"), HOSTILE, ids=[f"{case[0]}: {case[1]}" for case in HOSTILE])
def test_a_hostile_file_costs_a_sentence_and_nothing_else(reading, tmp_path, target, what, make):
    (tmp_path / "file").write_bytes(make())
    answer = reading(target, tmp_path / "file")
    assert answer["problem"] is None
    assert bool(answer["refusal"]) == (what not in READ), answer["refusal"]


@pytest.mark.parametrize("path", KEPT, ids=[f"{path.parent.name}: {path.name}" for path in KEPT])
def test_what_the_fuzzer_found_stays_mended(reading, path):
    assert reading(path.parent.name, path)["problem"] is None


def planted(tmp_path, monkeypatch, read):
    """What the harness says of a reader that was broken on purpose."""
    execution, targets = pytest.importorskip("execution"), pytest.importorskip("targets")
    monkeypatch.setattr(execution, "HANG_SECONDS", 0.2)
    monkeypatch.setitem(targets.TARGETS, "planted", targets.Target(read, [b"seed"]))
    before = signal.signal(signal.SIGALRM, execution.on_alarm)
    try:
        return execution.Executor("planted", tmp_path).find_problem(b"data")
    finally:
        signal.signal(signal.SIGALRM, before)


def out_of_memory(folder, data):
    raise MemoryError


def wordy(folder, data):
    raise FormatError("first line\nsecond line")


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (lambda folder, data: None, None),
        (lambda folder, data: int(data), "crash ValueError"),
        (out_of_memory, "over-allocation MemoryError"),
        (wordy, "crash AssertionError"),
        (lambda folder, data: time.sleep(9), "hang Hang"),
        (lambda folder, data: Path("/etc/passwd").read_bytes(), "crash AssertionError"),
        (lambda folder, data: pickle.loads(pickle.dumps(Path)), "crash AssertionError"),
    ],
)
def test_the_harness_notices_every_kind_of_problem(tmp_path, monkeypatch, read, name):
    problem = planted(tmp_path, monkeypatch, read)
    assert problem is None if name is None else problem[0].startswith(name)


def test_a_short_run_of_the_fuzzer_finds_nothing_and_writes_its_ledger(tmp_path):
    ledger, names = tmp_path / "ledger.json", ["word2vec-bin", "model-config.json"]
    command = [sys.executable, str(FUZZ / "run.py"), "--executions", "3000", "--engine", "mutations", "--jobs", "2"]
    command += ["--target", ",".join(names), "--ledger", str(ledger), "--found", str(tmp_path / "found")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stdout + done.stderr
    book = json.loads(ledger.read_text())
    assert book["findings"] == 0 and book["executions"] >= 3000 and list(book["targets"]) == names
    assert not (tmp_path / "found").exists()
