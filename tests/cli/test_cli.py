"""The shell: every command does its work, and every mistake ends in one sentence and the promised exit code."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mumon import Word2Vec, WordVectors
from mumon.corpus.vocabulary import Vocabulary
from mumon.training.rates import compute_default_alpha
from tests.conftest import planted_accuracy

TRAIN = ["--dim", "24", "--min-count", "1", "--sample", "0", "--threads", "1"]


@pytest.fixture
def corpus(tmp_path, planted):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(map(" ".join, planted)))
    return path


def test_train_similar_analogy_info_convert_work_from_end_to_end(run, corpus, tmp_path):
    code, _, err = run("train", corpus, "-o", "m.mumon", *TRAIN, "--epochs", 12)
    assert code == 0 and "saved m.mumon: 104 words × 24" in err and "loss" in err
    assert planted_accuracy(WordVectors.load("m.mumon")) > 0.7
    code, out, _ = run("similar", "m.mumon", "topic3.1", "-n", 3)
    assert code == 0 and len(out.splitlines()) == 3
    code, out, _ = run("analogy", "m.mumon", "country3", "capital3", "country5", "--json")
    assert json.loads(out)["neighbours"][0]["word"] == "capital5"
    code, out, _ = run("analogy", "m.mumon", "country3", "capital3", "country5", "--mul", "-n", 1)
    assert out.split()[1] == "capital5"
    code, out, _ = run("info", "m.mumon", "--json")
    about = json.loads(out)
    assert (about["words"], about["training"]["update"], len(about["history"])) == (104, "correct", 12)
    assert "tokens/s" in run("info", "m.mumon")[1]
    for name in ("v.bin", "v.txt", "v.glove", "again.mumon"):
        assert run("convert", "m.mumon", name)[0] == 0
        np.testing.assert_array_equal(WordVectors.load(name).vectors, WordVectors.load("m.mumon").vectors)
        assert run("info", name)[0] == 0


def test_train_writes_vectors_alone_when_the_extension_asks_for_them(run, corpus):
    assert run("train", corpus, "-o", "v.bin", *TRAIN, "--epochs", 1, "--quiet")[0] == 0
    assert WordVectors.load("v.bin").vectors.shape == (104, 24)


def test_every_training_option_reaches_the_trainer(run, corpus):
    code, _, err = run(
        "train", corpus, "-o", "m", *TRAIN, "--objective", "sg", "--update", "faulty", "--exact", "--cbow-sum",
        "--window", 3, "--fixed-window", "--negative", 4, "--shared-negatives", 7, "--batch", 9, "--ns-exponent", 0.5,
        "--rate-exponent", 0.1, "--target-weight", 0.7,
        "--epochs", 1, "--total-epochs", 2, "--lr", 0.03, "--min-lr", 0.001, "--max-vocab", 50, "--unk", "<unk>",
        "--lowercase", "--tokenize", "--shuffle", "--seed", 9, "--save-vocab", "v.txt",
    )  # fmt: skip
    assert code == 0, err
    model = Word2Vec.load("m")
    s = model.settings
    assert (s.objective, s.update, s.exact, s.cbow_mean, s.window, s.shrink_windows) == (
        "sg", "faulty", True, False, 3, False,
    )  # fmt: skip
    assert (s.rate_exponent, s.target_weight) == (0.1, 0.7)
    assert (s.negative, s.shared_negatives, s.batch, s.ns_exponent, model.alpha, model.min_alpha) == (
        4,
        7,
        9,
        0.5,
        0.03,
        0.001,
    )
    assert (s.shuffle, s.seed, s.sample) == (True, 9, 0)
    assert (model.text.tokenize, model.text.lowercase) == (True, True)
    assert (model._run.schedule.done, model._run.schedule.total) == (1, 2)
    assert len(model.wv) == 51 and "<unk>" in model.wv
    assert Vocabulary.load("v.txt").words == model.wv.index_to_key


def test_training_continues_a_model_and_starts_from_vectors(run, corpus, tmp_path):
    assert run("train", corpus, "-o", "m", *TRAIN, "--epochs", 1, "--total-epochs", 3, "-q")[0] == 0
    (tmp_path / "more.txt").write_text("capital1 newcomer topic1.1\n" * 30)
    assert run("train", "more.txt", "--from", "m", "-o", "m2", "--epochs", 2, "--seed", 4, "-q")[0] == 0
    model = Word2Vec.load("m2")
    assert [epoch.epoch for epoch in model.history] == [1, 2, 3]
    assert len(model.wv) == 105 and model.settings.seed == 4
    assert run("train", "more.txt", "--from", "m", "-o", "m3", "--merge-vocab", "old", "-q")[0] == 0
    assert len(WordVectors.load("m3")) == 104
    assert run("convert", "m", "v.txt")[0] == 0
    assert run("train", "more.txt", "--from", "v.txt", "-o", "m4", "--min-count", 1, "-q")[0] == 0
    assert len(WordVectors.load("m4")) == 105


def test_vocab_counts_and_train_uses_its_file(run, corpus):
    code, out, _ = run("vocab", corpus, "--max-vocab", 3)
    assert code == 0 and len(out.splitlines()) == 3
    assert run("vocab", corpus, "--min-count", 1000, "-o", "v.txt")[0] == 0
    assert run("train", corpus, "--vocab", "v.txt", "-o", "m", "--epochs", 1, "--dim", 8, "-q")[0] == 0
    assert WordVectors.load("m").index_to_key == Vocabulary.load("v.txt").words


def test_more_training_takes_new_options(run, corpus):
    assert run("train", corpus, "-o", "m", *TRAIN, "--epochs", 1, "-q")[0] == 0
    assert (
        run("train", corpus, "--from", "m", "-o", "s", "--objective", "sg", "--unk", "<u>", "--epochs", 2, "-q")[0] == 0
    )
    model = Word2Vec.load("s")
    assert (model.settings.objective, model.unk, model.epochs) == ("sg", "<u>", 2)
    assert (model.settings.shared_negatives, model.settings.batch) == (32, 32)  # skip-gram's own
    assert model.alpha == compute_default_alpha(model.settings, 42_000 * 3) < 0.11  # another objective, another rate
    assert "<u>" in model.wv and model.history[1].alpha == pytest.approx((model.alpha + 0.0001) / 2)


@pytest.mark.parametrize("flags", [["--exact"], ["--update", "faulty"], ["--cbow-sum"], ["--objective", "sg"]], ids=str)
def test_another_algorithm_has_its_own_window_unless_one_was_given(run, corpus, flags):
    assert run("train", corpus, "-o", "own", *TRAIN, "--epochs", 1, "-q")[0] == 0
    assert run("train", corpus, "-o", "given", *TRAIN, "--epochs", 1, "--window", 7, "-q")[0] == 0
    for name in ("own", "given"):
        assert run("train", corpus, "--from", name, "-o", f"{name}2", *flags, "--epochs", 1, "-q")[0] == 0
    own, given = Word2Vec.load("own2"), Word2Vec.load("given2")
    assert (own.window, given.window) == (5, 7)
    assert own.alpha != Word2Vec.load("own").alpha


def test_another_objective_does_not_continue_the_schedule_of_the_first(run, corpus):
    assert run("train", corpus, "-o", "m", *TRAIN, "--epochs", 1, "--total-epochs", 4, "-q")[0] == 0
    assert run("train", corpus, "--from", "m", "-o", "s", "--objective", "sg", "--epochs", 2, "-q")[0] == 0
    schedule = Word2Vec.load("s")._run.schedule
    assert (schedule.done, schedule.total) == (2, 2)
    assert schedule.alpha < Word2Vec.load("m")._run.schedule.alpha


def test_info_shows_what_it_can_of_odd_settings_and_names_a_damaged_history(run, corpus, tmp_path):
    assert run("train", corpus, "-o", "m", *TRAIN, "--epochs", 1, "-q")[0] == 0
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["training"]["schedule"] = [1, 2]
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    assert "1 2" in run("info", "m")[1]
    (tmp_path / "m" / "history.json").write_text('{"epochs": [{"epoch": 1}]}')
    code, _, err = run("info", "m")
    assert code == 1 and err.startswith("mumon: an epoch of the history is damaged")


def test_converting_a_model_to_a_model_keeps_all_of_it(run, corpus):
    assert run("train", corpus, "-o", "m", *TRAIN, "--epochs", 1, "-q")[0] == 0
    assert run("convert", "m", "copy.mumon")[0] == 0
    np.testing.assert_array_equal(Word2Vec.load("copy.mumon").syn1neg, Word2Vec.load("m").syn1neg)


def on_a_terminal(columns, *arguments):
    """What a command shows on a pseudo-terminal, without its colours; `script` is not everywhere, the pty module is."""
    import pty

    main, terminal = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    command = [sys.executable, "-m", "mumon", *map(str, arguments)]
    process = subprocess.Popen(command, stderr=terminal, stdout=terminal, env=env)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # a pseudo-terminal ends with an error once its other end is closed
        while part := os.read(main, 65536):
            shown += part
    os.close(main)
    return process.wait(), re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode())


@pytest.mark.parametrize(
    ("columns", "bar"),
    [
        (120, r"training .*\d+% epoch \d+/60 .*tokens/s +rate 0\.\d+ +loss \d\.\d+ +(\d+:\d\d|--:--)"),
        (60, r"training .*\d+% +loss \d\.\d+ +(\d+:\d\d|--:--)"),  # what there is no room for is left out
    ],
)
def test_a_terminal_shows_a_bar_with_percent_speed_rate_loss_and_time_left(corpus, tmp_path, columns, bar):
    code, text = on_a_terminal(columns, "train", corpus, "-o", tmp_path / "m[bold]x", *TRAIN, "--epochs", 60)
    assert code == 0 and re.search(bar, text)
    assert "✓ trained 60 epochs" in text and f"saved {tmp_path / 'm[bold]x'}: " in text


def test_a_terminal_without_the_letters_shows_something(run, tmp_path):
    (tmp_path / "v.txt").write_text("2 2\nкот 1 2\nпёс 2 1\n")
    env = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    command = [sys.executable, "-m", "mumon", "similar", "v.txt", "кот"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0 and b"???" in done.stdout


def test_log_json_is_json_on_every_line(run, corpus):
    code, out, err = run("train", corpus, "-o", "m", *TRAIN, "--epochs", 1, "--log-json")
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and not err
    assert [event["stage"] for event in events if event["event"] == "finish"] == ["reading", "training"]


def test_log_json_has_null_where_nothing_was_trained(run, tmp_path):
    (tmp_path / "tiny.txt").write_text("a b\n")
    options = ["--dim", 4, "--min-count", 1, "--epochs", 1, "--sample", 1e-9, "--log-json"]
    code, out, _ = run("train", "tiny.txt", "-o", "m", *options)
    events = [json.loads(line, parse_constant=pytest.fail) for line in out.splitlines()]
    assert code == 0 and [event["loss"] for event in events if "loss" in event] == [None]


def test_earlier_results_may_be_replaced(run, corpus):
    for _ in range(2):
        assert run("train", corpus, "-o", "v.txt", "--save-vocab", "words.txt", *TRAIN, "--epochs", 1, "-q")[0] == 0
        assert run("train", corpus, "-o", "m", "--vector-size", 8, "--alpha", 0.05, "--threads", 1, "-q")[0] == 0
        assert run("vocab", corpus, "-o", "words.txt", "-q")[0] == 0
        assert run("train", corpus, "-o", "m", "--save-vocab", "words.txt", *TRAIN, "--epochs", 1, "-q")[0] == 0
        assert run("convert", "m", "v.txt")[0] == 0


def test_help_names_the_defaults(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run("train", "--help")
    assert code == 0
    for default in ("(default: 100)", "(default: by tokens × epochs)", "(default: union)", "(default: 5)"):
        assert default in out


@pytest.mark.parametrize("command", [["train"], ["sweep"], ["eval"], ["paper"], ["data", "list"], []], ids=str)
def test_help_shows_no_type_of_a_flag_and_arguments_in_capitals(run, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = run(*command, "--help")
    assert code == 0 and "--help" in out and "bool" not in out
    assert not re.search(r"[\[{][a-z]+[\]}]", out.partition("─")[0])


@pytest.mark.parametrize("name", ["--workers", "--threads"])
def test_workers_are_threads(run, corpus, name):
    assert run("train", corpus, "-o", "m", "--dim", 4, "--epochs", 1, name, 2, "-q")[0] == 0
    assert Word2Vec.load("m").settings.workers == 2
    assert run("vocab", corpus, name, 1)[0] == 0


def test_quiet_prints_nothing(run, corpus):
    assert run("train", corpus, "-o", "m", *TRAIN, "--epochs", 1, "--quiet") == (0, "", "")


MISTAKES = {
    "missing corpus": (["train", "corpus.tx", "-o", "m"], 1, "did you mean"),
    "empty corpus": (["train", "empty.txt", "-o", "m"], 1, "0 words"),
    "folder without text": (["train", "folder", "-o", "m"], 1, "no file to read"),
    "min_count too high": (["train", "corpus.txt", "-o", "m", "--min-count", "99999"], 1, "lower it"),
    "dim 0": (["train", "corpus.txt", "-o", "m", "--dim", "0"], 2, "--dim"),
    "lr 0": (["train", "corpus.txt", "-o", "m", "--lr", "0"], 1, "alpha is 0.0"),
    "lr nan": (["train", "corpus.txt", "-o", "m", "--lr", "nan"], 1, "alpha is nan"),
    "no output": (["train", "corpus.txt"], 2, "output"),
    "unknown option": (["train", "corpus.txt", "-o", "m", "--colour"], 2, "--colour"),
    "unknown format": (["train", "corpus.txt", "-o", "m.xyz"], 1, "'.xyz' names no format"),
    "no such folder": (["train", "corpus.txt", "-o", "no/m"], 1, "does not exist"),
    "output is the corpus": (["train", "corpus.txt", "-o", "corpus.txt"], 1, "would be overwritten"),
    "vocabulary is the corpus": (["vocab", "corpus.txt", "-o", "corpus.txt"], 1, "would be overwritten"),
    "output twice": (["train", "corpus.txt", "-o", "m", "--save-vocab", "m"], 1, "would be overwritten"),
    "conversion onto itself": (["convert", "v.txt", "v.txt"], 1, "would be overwritten"),
    "empty path": (["train", "", "-o", "m"], 1, "is empty"),
    "too many dimensions": (["train", "corpus.txt", "-o", "m", "--dim", "100000000000"], 1, "GB of memory where"),
    "output is a user's file": (["train", "corpus.txt", "-o", "notes.txt"], 1, "exists and holds no vectors"),
    "vocabulary is a user's file": (["vocab", "corpus.txt", "-o", "notes.txt"], 1, "exists and is no vocabulary"),
    "conversion over a user's file": (["convert", "v.txt", "notes.txt"], 1, "exists and holds no vectors"),
    "a model as corpus": (["train", "full", "-o", "m"], 1, "is a model, not text"),
    "output is a user's folder": (["train", "corpus.txt", "-o", "full"], 1, "not a mumon model"),
    "merge without from": (["train", "corpus.txt", "-o", "m", "--merge-vocab", "new"], 1, "--from"),
    "missing model": (["similar", "nowhere", "word"], 1, "nothing at nowhere"),
    "not a model": (["similar", "full", "word"], 1, "not a whole mumon model"),
    "missing word": (["similar", "v.txt", "gatto"], 1, "'gatto' is not among the 2 words"),
    "truncated vectors": (["convert", "cut.bin", "w.txt"], 1, "cut.bin"),
    "lying vectors": (["convert", "lie.bin", "w.txt"], 1, "lie.bin"),
    "empty vectors": (["info", "empty.txt"], 1, "empty"),
    "unknown target": (["convert", "v.txt", "w.xyz"], 1, "names no format"),
    "bad vocabulary": (["train", "corpus.txt", "-o", "m", "--vocab", "corpus.txt"], 1, "line 1 is not a word"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_one_sentence_an_exit_code_and_nothing_left_behind(run, corpus, tmp_path, case):
    (tmp_path / "empty.txt").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "model.safetensors").write_text("precious data")
    (tmp_path / "notes.txt").write_text("precious notes\non two lines\n")
    (tmp_path / "v.txt").write_text("2 3\ncat 1 2 3\ndog 4 5 6\n")
    (tmp_path / "lie.bin").write_bytes(b"900000000 300\ncat " + bytes(40))
    (tmp_path / "cut.bin").write_bytes(b"2 3\ncat " + bytes(12) + b"dog " + bytes(7))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    arguments, expected, message = MISTAKES[case]
    code, out, err = run(*arguments)
    assert code == expected
    assert message in err and "Traceback" not in err
    if code == 1:
        complaint = err.splitlines()[-1]
        assert complaint.startswith("mumon: ") and not out
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_help_and_import_are_quick():
    """The best of several tries, against limits with room for a busy machine; numba must not be loaded at all."""

    def best(code):
        times = []
        for _ in range(5):
            started = time.perf_counter()
            subprocess.run([sys.executable, *code], check=True, capture_output=True)
            times.append(time.perf_counter() - started)
        return min(times)

    bare = best(["-c", "pass"])
    assert best(["-c", "import mumon"]) - bare < 0.3
    assert best(["-m", "mumon", "--help"]) < 0.75 + bare
    code = "import sys, mumon, mumon.cli; mumon.__version__; print('numba' in sys.modules, 'numpy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.split() == ["False", "False"]


def test_completion_is_offered_and_knows_the_commands(run):
    assert "--install-completion" in run("--help")[1]
    env = {**os.environ, "_MUMON_COMPLETE": "complete_bash", "COMP_WORDS": "mumon tr", "COMP_CWORD": "1"}
    program = Path(sys.executable).with_name("mumon")
    done = subprocess.run([program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["train"]


def test_version(run):
    from mumon import __version__

    assert run("--version")[1].strip() == f"mumon {__version__}"
