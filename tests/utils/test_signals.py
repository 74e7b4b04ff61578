"""Signals to the real program: it ends its block, keeps its state and says how to go on; killed, it loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mumon import Word2Vec
from mumon.cli import train_run
from mumon.formats.checkpoint import read_checkpoint
from mumon.training.checkpoints import Checkpoints
from mumon.utils.signals import REPEAT_SECONDS, Interrupted, hold_signals, raise_on_signals
from tests.samples import files_of, left_over

OPTIONS = ["--dim", "24", "--min-count", "1", "--sample", "0", "--threads", "1", "--log-json"]
NAMES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


@pytest.fixture
def corpus(tmp_path, planted):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(map(" ".join, planted)))
    return path


def start(corpus, *options):
    command = [sys.executable, "-m", "mumon", "train", str(corpus), "-o", str(corpus.parent / "m"), *OPTIONS, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(process, event):
    for line in process.stdout:
        if json.loads(line)["event"] == event and "training" in line:
            return
    pytest.fail(process.stderr.read())


@pytest.mark.parametrize("signum", NAMES)
def test_a_signal_ends_in_a_checkpoint_a_sentence_and_its_exit_code(corpus, signum):
    process = start(corpus, "--epochs", "99999")
    wait_for(process, "progress")
    process.send_signal(signum)
    _, err = process.communicate(timeout=30)
    assert process.returncode == NAMES[signum]
    assert err.startswith("mumon: stopped at ") and "; resume with the same command and --resume" in err
    assert left_over(corpus.parent) == ["corpus.txt", "m.checkpoints"]
    assert len(read_checkpoint(Checkpoints(f"{corpus.parent}/m.checkpoints").find()[0])[0].words) == 104


def test_a_second_signal_ends_a_program_that_is_busy_with_the_first(tmp_path):
    code = """
import signal, sys, time
from mumon.utils.signals import raise_on_signals, hold_signals
with raise_on_signals(), hold_signals() as held:
    print("ready", flush=True)
    while held.signum is None:
        time.sleep(0.01)
    print("held", flush=True)
    time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "held\n"
    process.send_signal(signal.SIGTERM)  # so soon after, it is the same wish: `timeout` sends two
    time.sleep(REPEAT_SECONDS + 0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=10)
    assert process.returncode == -signal.SIGTERM and not err


def test_sigterm_in_a_script_of_the_users_leaves_a_checkpoint_and_the_ordinary_death(corpus):
    code = """
import sys
from mumon import Word2Vec
from mumon.utils.progress import JsonProgress
Word2Vec(sys.argv[1], min_count=1, epochs=99999, checkpoints=sys.argv[2], progress=JsonProgress(sys.stdout))
"""
    command = [sys.executable, "-c", code, str(corpus), str(corpus.parent / "kept")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(process, "progress")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM and not err
    assert len(Checkpoints(corpus.parent / "kept").find()) == 1


def test_a_closed_terminal_costs_nothing(corpus):
    """Its bar can no longer be drawn when the signal comes, nor the sentence be printed."""
    import pty

    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "mumon", "train", str(corpus), "-o", str(corpus.parent / "m"), "--epochs", "99999"]
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True)
    os.close(terminal)
    shown = b""
    while b"tokens/s" not in shown:
        shown += os.read(main, 65536)
    os.close(main)
    process.send_signal(signal.SIGHUP)
    assert process.wait(30) == 129
    assert len(Checkpoints(corpus.parent / "m.checkpoints").find()) == 1


def test_ctrl_c_while_the_program_loads_is_no_traceback():
    process = subprocess.Popen([sys.executable, "-X", "importtime", "-m", "mumon", "--help"], stdout=-1, stderr=-1)
    for line in process.stderr:
        if b"mumon.__main__" in line or b"typer" in line or b"click" in line:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode in (-signal.SIGINT, 0) and b"Traceback" not in err


def test_a_signal_whose_exception_was_lost_is_not_forgotten():
    """As in a callback of C code, where Python only prints what was raised."""
    with raise_on_signals():
        with contextlib.suppress(Interrupted):
            signal.raise_signal(signal.SIGTERM)
        with hold_signals() as held:
            assert held.signum == signal.SIGTERM


def test_a_killed_run_is_not_kept_alive_by_a_child_it_forked(corpus, tmp_path):
    code = """
import os, sys, time
from mumon.training.checkpoints import Checkpoints
with Checkpoints(sys.argv[1]).hold():
    if os.fork() == 0:
        print("held", flush=True)
    time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "kept")], stdout=-1, start_new_session=True)
    assert process.stdout.readline() == b"held\n"
    process.kill()
    process.wait()
    with Checkpoints(tmp_path / "kept").hold():
        pass
    os.killpg(process.pid, signal.SIGKILL)


def test_a_slash_after_the_name_of_the_model_changes_nothing(run, corpus):
    for name in ("m/", "./m"):
        assert run("train", corpus, "-o", name, "--dim", 4, "--epochs", 1, "-q")[0] == 0
        assert left_over(corpus.parent) == ["corpus.txt", "m"]
    assert run("train", "*", "-o", "y", "--dim", 4, "--epochs", 1, "-q")[0] == 0  # which m and y.checkpoints match


def test_before_training_a_signal_leaves_nothing(corpus):
    fifo = corpus.parent / "endless"
    os.mkfifo(fifo)
    process = start(fifo)
    with fifo.open("wb"):
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (143, "mumon: stopped; nothing was changed\n")
    assert left_over(corpus.parent) == ["corpus.txt", "endless"]


def test_a_signal_while_the_model_is_saved_waits_for_it(run, corpus, monkeypatch):
    def save(model, output, save=train_run._save):
        signal.raise_signal(signal.SIGTERM)
        save(model, output)

    monkeypatch.setattr(train_run, "_save", save)
    code, _, err = run("train", corpus, "-o", "m", "--dim", 8, "--epochs", 1, "-q")
    assert (code, err) == (143, "mumon: stopped when m was already trained; it is saved\n")
    assert left_over(corpus.parent) == ["corpus.txt", "m"] and len(Word2Vec.load("m").wv) == 104


def test_a_short_soak_finds_nothing_and_keeps_its_books(corpus):
    program, ledger = Path(__file__).parents[2] / "soak" / "run.py", corpus.parent / "ledger.json"
    options = "--dim 8 --epochs 60 --threads 1 --min-count 1"
    command = [sys.executable, program, corpus, "--minutes", "0.1", "--ledger", ledger, "--options", options]
    command += ["--tolerance", "0.1"]  # undisturbed runs of this small text with two threads differ by 0.04
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(ledger.read_text())
    assert found["problems"] == [] and found["lost checkpoints"] == found["corrupt checkpoints"] == 0


def test_killed_again_and_again_it_ends_in_the_same_bytes(corpus, kernels, monkeypatch):
    """Kills fall anywhere, also into the writing of checkpoints, which takes nearly all the time here."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", kernels["NUMBA_CACHE_DIR"])  # compiling would take longer than a run lives
    random, folder = np.random.default_rng(7), corpus.parent / "m.checkpoints"
    epochs, places = "1500", set()  # more than five runs can train, also on a fast machine
    for _ in range(5):
        process = start(corpus, "--epochs", epochs, "--checkpoint-every", "0.05s", "--resume")
        wait_for(process, "start")
        time.sleep(random.uniform(0, 1.0))
        process.kill()
        process.communicate()
        for path in Checkpoints(folder).find():
            read_checkpoint(path)
            places.add(path.name)
    assert len(places) > 2
    process = start(corpus, "--epochs", epochs, "--resume")
    process.communicate()
    assert process.returncode == 0 and left_over(corpus.parent) == ["corpus.txt", "m"]
    options = {"vector_size": 24, "min_count": 1, "sample": 0, "workers": 1, "epochs": int(epochs)}
    Word2Vec(corpus_file=[corpus], **options).save(corpus.parent / "whole")
    whole, resumed = files_of(corpus.parent / "whole"), files_of(corpus.parent / "m")
    del whole["history.json"], resumed["history.json"]
    assert whole == resumed
