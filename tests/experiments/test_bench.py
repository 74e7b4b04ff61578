"""mumon bench: the same work for everyone, timed honestly, in results that can be used."""

from __future__ import annotations

import importlib.util
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
from mumon.corpus import corpus_from_files
from mumon.errors import OptionError
from mumon.estimate.zipf_text import write_zipf_text
from mumon.experiments.bench import systems
from mumon.experiments.bench.comparison import schedule
from mumon.experiments.bench.results import Results
from mumon.experiments.bench.runner import Run, Runner
from mumon.experiments.bench.systems import SYSTEMS, choose_systems, parse_external_system
from mumon.experiments.bench.work import Job, Work, estimate_trained_tokens, prepare_corpus
from tests.conftest import write_mirror

# A trainer of random vectors: what any other program may be.
PROGRAM = """
import random, sys
corpus, output, dim, seed = sys.argv[1:]
words = sorted({word for line in open(corpus) for word in line.split()})
random.seed(seed)
with open(output, "w") as out:
    print(len(words), dim, file=out)
    for word in words:
        print(word, *(f"{random.gauss(0, 1):.4f}" for _ in range(int(dim))), file=out)
"""
SMALL = ["--dim", "20", "--epochs", "2", "--sample", "0.1"]


def peer(name):
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} is not installed")


@pytest.fixture(scope="module")
def home(tmp_path_factory, planted):
    """A folder with a text, tasks that fit it, and a program that trains nothing."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "text.txt").write_text("\n".join(" ".join(sentence) for sentence in planted))
    (folder / "program.py").write_text(PROGRAM)
    (folder / "data").mkdir()
    write_mirror(folder / "data")
    return folder


@pytest.fixture(scope="module")
def external(home):
    return f"random CBOW={sys.executable} {home}/program.py {{corpus}} {{output}} {{dim}} {{seed}}"


@pytest.fixture(scope="module")
def environment(home):
    """For processes of our own: the tasks, and the kernels that are compiled already."""
    from mumon.kernels import jit

    return {**os.environ, "MUMON_DATA": str(home / "data"), "NUMBA_CACHE_DIR": str(jit.cache_directory().parent)}


@pytest.fixture(scope="module")
def results(home, external, environment):
    """A whole comparison from the shell: mumon, gensim if it is there, programs that work and one that does not."""
    who = ["mumon-cbow", *["gensim-cbow"] * bool(importlib.util.find_spec("gensim"))]
    both = [word for given in (external, external.replace("CBOW", "skip-gram")) for word in ("--external", given)]
    broken = "broken=" + sys.executable + " -c 'import sys; sys.exit(\"out of {{luck}}\")' {corpus} {output}"
    command = [sys.executable, "-m", "mumon", "bench", "text.txt", "-o", "out", "--repeats", "2", "--threads", "1"]
    command += [*SMALL, "--systems", ",".join(who), *both, "--external", broken, "--json"]
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_results_hold_every_run_and_say_what_was_done(home, results):
    assert results == json.loads((home / "out/results.json").read_text())
    assert results["format"] == "mumon-bench" and results["complete"]
    assert results["work"] == {"dim": 20, "window": 5, "negative": 5, "epochs": 2, "min_count": 5, "sample": 0.1}
    assert results["corpus"]["names"] == ["text.txt"] and results["corpus"]["tokens"] == 42_000
    for run in results["runs"]:
        if run["failed"] is None:
            assert run["seconds"] > 0 and run["words"] > 100 and run["cpu_seconds"] > 0
            assert run["seed"] == run["repeat"] and set(run["scores"]) == {"ws353", "men", "rw", "syn", "mixed", "mean"}
            assert run["interval"][0] <= run["scores"]["mean"] <= run["interval"][1]
            assert set(run["halves"]) == {"dev", "test"}
    machine = results["machine"]
    assert machine["cpu"] and machine["cores"] >= 1 and machine["numpy"] == np.__version__
    assert str(home) not in json.dumps(results)


def test_runs_are_interleaved(results):
    order = [(run["repeat"], run["system"]) for run in results["runs"] if run["failed"] is None]
    once = [system for repeat, system in order if repeat == 1]
    assert len(once) >= 3 and order == [(repeat, system) for repeat in (1, 2) for system in once]


def test_a_failing_program_is_reported_with_its_last_words_and_the_others_go_on(home, results):
    failed = [run for run in results["runs"] if run["failed"]]
    assert [(run["system"], run["failed"]) for run in failed] == [("broken", "exit code 1: out of {luck}")]
    assert "broken" not in {row["system"] for row in results["summary"]}
    assert "broken (1 threads) failed: exit code 1: out of {luck}" in (home / "out/results.md").read_text()


def test_the_summary_follows_from_the_runs(results):
    rows = {row["system"]: row for row in results["summary"]}
    reference = rows[results["reference"]]
    for name, row in rows.items():
        seconds = [run["seconds"] for run in results["runs"] if run["system"] == name]
        assert (row["fastest"], row["slowest"]) == (min(seconds), max(seconds))
        assert row["seconds"] == pytest.approx(np.median(seconds))
        assert row["relative"] == pytest.approx(reference["seconds"] / row["seconds"])
        assert row["raw_tokens_per_second"] == pytest.approx(42_000 * 2 / row["seconds"])
    assert rows["mumon-cbow"]["scores"]["mixed"] > 50 > rows["random-cbow"]["scores"]["mixed"]


def test_the_report_is_a_markdown_table_with_everyone_in_it(home, results):
    report = (home / "out/results.md").read_text()
    names = [row["name"] for row in results["summary"]]
    assert "| system | seconds | × | raw tokens/s | trained tokens/s | memory | ws353 |" in report
    for name in names:
        line = next(line for line in report.splitlines() if line.startswith(f"| {name} |"))
        assert len(line.split("|")) == 14 and "±" in line
    assert results["machine"]["cpu"] in report


def test_plots_are_drawn(home, results):
    for name in ("training-time.png", "quality.png"):
        assert (home / "out" / name).read_bytes().startswith(b"\x89PNG") and (home / "out" / name).stat().st_size > 9000
    assert "random skip-gram" in (home / "out/training-time.svg").read_text()


def test_nothing_but_results_is_left_behind(home, results):
    kinds = {path.suffix for path in (home / "out").iterdir()}
    assert kinds == {".json", ".md", ".png", ".svg"}


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="this system does not report the memory of a process")
def test_memory_is_the_programs_own(results):
    peaks = {row["system"]: row["peak_bytes"] / 1e6 for row in results["summary"]}
    assert peaks["random-cbow"] < 60 < peaks["mumon-cbow"]


def test_memory_includes_processes_that_the_program_starts(run, tmp_path, home, external):
    hungry = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(200_000_000)'])\n" + PROGRAM
    (tmp_path / "hungry.py").write_text(hungry)
    command = f"{sys.executable} {tmp_path}/hungry.py {{corpus}} {{output}} {{dim}} {{seed}}"
    arguments = ["bench", home / "text.txt", "--external", f"hungry={command}", "--external", external]
    code, out, err = run(
        *arguments, "--systems", "hungry", "--repeats", 1, "--threads", "1,2", "--no-quality", "--json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert [run["threads"] for run in found["runs"]] == [1, 1, 2, 2]
    assert all(row["scaling"] == 1 for row in found["summary"] if row["threads"] == 1)
    assert min(row["peak_bytes"] for row in found["summary"] if row["system"] == "hungry") > 200e6
    report = (tmp_path / "bench-results/results.md").read_text()
    assert "## Seconds by threads" in report and "| system | 1 thread | 2 threads |" in report


def test_only_the_first_sentences_are_taken_and_packed_text_is_unpacked(run, tmp_path, home, external):
    import lzma

    (tmp_path / "text.xz").write_bytes(lzma.compress((home / "text.txt").read_bytes()))
    arguments = ["--sentences", 500, "--repeats", 1, "--threads", 1, "--no-quality", "--quiet", "--min-count", 2]
    code, out, err = run("bench", "text.xz", "--external", external, "--systems", "random-cbow", *arguments)
    assert (code, out, err) == (0, "", "")
    found = json.loads((tmp_path / "bench-results/results.json").read_text())
    assert (found["corpus"]["sentences"], found["corpus"]["tokens"]) == (500, 3500)
    assert found["tasks"] == [] and found["reference"] == "random-cbow"


def test_without_tasks_there_is_speed_alone_and_a_reason(run, monkeypatch, tmp_path, home, external):
    monkeypatch.setenv("MUMON_DATA", str(tmp_path / "nowhere"))
    arguments = ["--external", external, "--systems", "random-cbow", "--repeats", 1, "--threads", 1]
    code, out, err = run("bench", home / "text.txt", *arguments)
    assert code == 0 and "quality is not measured: MUMON_DATA names" in err and "random CBOW" in out


def test_stopping_keeps_what_is_done_and_ends_what_runs(home, environment, tmp_path):
    slow = "import os, sys, time\nif sys.argv[4] == '2':\n    open(f'started-{os.getpid()}', 'w').close()\n"
    slow += "    time.sleep(120)\n" + PROGRAM
    (tmp_path / "slow.py").write_text(slow)
    external = f"slow={sys.executable} {tmp_path}/slow.py {{corpus}} {{output}} {{dim}} {{seed}}"
    command = [sys.executable, "-m", "mumon", "bench", str(home / "text.txt"), "--external", external, "--no-quality"]
    process = subprocess.Popen(
        [*command, "--systems", "slow", "--threads", "1"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(300):
        if started := list(tmp_path.glob("started-*")):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130 and "stopped; 1 run is kept in bench-results" in err
    found = json.loads((tmp_path / "bench-results/results.json").read_text())
    assert len(found["runs"]) == 1 and not found["complete"]
    assert (tmp_path / "bench-results/training-time.png").exists()
    assert not list((tmp_path / "bench-results").glob(".work*"))
    with pytest.raises(ProcessLookupError):
        os.kill(int(started[0].name.split("-")[1]), 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--systems", "mumon-cbow,gensin"], "no system is called gensin; the 21 known ones are mumon-cbow, "),
        (["--external", "x=run {corpus} {output} {vocab?} {size}"], "unknown placeholders {vocab?}, {size}; the known"),
        (["--external", "x=run {corpus}"], "the command of 'x' lacks {output}; say where"),
        (["--external", "x=run {corpus"], "cannot be read (expected '}' before end of string)"),
        (["--external", "run {corpus} {output}"], "is not NAME=COMMAND"),
        (["--external", "mumon CBOW=x {corpus} {output}"], "'mumon-cbow' is the id of two systems"),
        (["--threads", "two"], "--workers is 'two'; write whole numbers"),
        (["--threads", "0"], "give at least 1 of each"),
        (["--reference", "koan"], "the reference 'koan' is not one of the"),
        (["--machine"], "--sampler and --machine are separate benchmarks"),
    ],
)
def test_mistakes_are_refused_in_a_sentence(run, home, arguments, sentence):
    code, _, err = run("bench", home / "text.txt", *arguments)
    assert code == 1 and sentence in err and len(err.strip().splitlines()) == 1


def test_text_that_peers_cannot_read_is_refused(run, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "a b c"}\n')
    code, _, err = run("bench", "a.jsonl")
    assert code == 1 and "a.jsonl is not plain text, and peers read nothing else" in err
    code, _, err = run("bench")
    assert code == 1 and "there is no text to train on" in err


def test_systems_that_are_not_installed_are_left_out_and_named(monkeypatch):
    monkeypatch.setattr(systems.importlib.util, "find_spec", lambda name: None)
    chosen = choose_systems(["mumon-cbow", "gensim-cbow", "fasttext-sg"])
    assert [system.id for system in chosen.systems] == ["mumon-cbow"]
    assert chosen.note() == (
        'left out gensim-cbow, fasttext-sg: gensim, fasttext is not installed; try pip install "mumon[bench]"'
    )
    with pytest.raises(OptionError, match="none of the 1 systems asked for is installed"):
        choose_systems(["gensim-sg"])


def test_every_round_has_every_system_before_the_next_begins():
    chosen = list(SYSTEMS.values())[:3]
    order = [(repeat, threads, system.id) for repeat, threads, system in schedule(chosen, [1, 4], 2)]
    assert order == sorted(order, key=lambda item: item[:2]) and len(set(order)) == 12


def test_a_template_is_split_into_words_before_names_are_filled_in():
    system = parse_external_system("kōan skip-gram=koan --file '{corpus}' -n {negative} {{x}} --out={output}")
    job = Job(Path("/a b/c.txt"), Path("/out.bin"), Work(negative=7), 2, 1)
    assert system.command(job) == ["koan", "--file", "/a b/c.txt", "-n", "7", "{x}", "--out=/out.bin"]
    assert (system.id, system.objective) == ("kōan-skip-gram", "sg")


def test_an_external_program_may_be_another_mumon(tmp_path, home, external):
    """By its name it has mumon's colour, but it need not write mumon's report."""
    corpus = prepare_corpus([str(home / "text.txt")], tmp_path, Work(dim=8))
    system = parse_external_system(f"mumon {external}")
    found, vectors = Runner(tmp_path, corpus, Work(dim=8)).run(system, 1, 1)
    assert system.implementation == "mumon" and found.failed is None and vectors is not None


def test_speeds_by_round_compare_runs_of_the_same_round(tmp_path, home):
    corpus = prepare_corpus([str(home / "text.txt")], tmp_path, Work())
    pair = [SYSTEMS["mumon-cbow"], SYSTEMS["gensim-cbow"]]
    results = Results(Work(), corpus, pair, [2], 3, "gensim-cbow", {})
    times = {"mumon-cbow": (2.0, 4.0, 1.0), "gensim-cbow": (8.0, 12.0)}
    for name, seconds in times.items():
        results.runs += [Run(name, 2, repeat, repeat, each) for repeat, each in enumerate(seconds, 1)]
    assert results.compare_by_round("mumon-cbow", 2) == [4.0, 3.0]


def test_expected_trained_tokens_are_what_mumon_trains(tmp_path):
    text = write_zipf_text(tmp_path / "zipf.txt", 4000, words=3000)
    model = Word2Vec(corpus_file=str(text), vector_size=4, epochs=3, min_count=5, sample=1e-3, workers=1)
    counts = corpus_from_files([text]).counts
    trained = sum(epoch.trained_tokens for epoch in model.history)
    assert trained == pytest.approx(3 * estimate_trained_tokens(counts, 5, 1e-3), rel=0.01)
    assert trained < 0.8 * 3 * counts.sum()


def test_a_timed_run_of_mumon_encodes_its_text_again(tmp_path, home):
    corpus = prepare_corpus([str(home / "text.txt")], tmp_path, Work(dim=8, epochs=1))
    runner = Runner(tmp_path, corpus, Work(dim=8, epochs=1))
    old = tmp_path / "cache/corpora/old"
    old.mkdir(parents=True)
    found, vectors = runner.run(SYSTEMS["mumon-cbow"], 1, 1)
    assert not old.exists() and found.failed is None and len(vectors) == corpus.trained_words


def test_mumons_own_window_is_its_default_and_not_that_of_the_work(tmp_path, home):
    """All systems get the window of the work but this one, which is trained as `Word2Vec()` would."""
    from mumon import Word2Vec
    from mumon.experiments.bench.work import Job

    work = Work(dim=8, epochs=1)
    job = Job(home / "text.txt", tmp_path / "vectors.bin", work, 1, 1)
    options = [json.loads(SYSTEMS[name].command(job)[-1]) for name in ("mumon-cbow", "mumon-cbow-default")]
    windows = [Word2Vec(**{"window": each["window"], **each["options"]}).settings.window for each in options]
    assert windows == [work.window, Word2Vec().settings.window] == [5, 10]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("gensim-sg-iterable", marks=peer("gensim")),
        pytest.param("fasttext-cbow", marks=peer("fasttext")),
        pytest.param("fasttext-sg", marks=peer("fasttext")),
        pytest.param("word2vec-cbow", marks=peer("word2vec")),
        pytest.param("word2vec-sg", marks=peer("word2vec")),
        "mumon-cbow-exact",
        "mumon-cbow-faulty",
        "mumon-cbow-default",
        "mumon-cbow-positions",
        "mumon-sg-exact",
    ],
)
def test_each_system_learns_the_planted_language(tmp_path, home, name):
    from tests.conftest import planted_accuracy

    work = Work(dim=20, epochs=5, sample=0.1)
    runner = Runner(tmp_path, prepare_corpus([str(home / "text.txt")], tmp_path, work), work)
    found, vectors = runner.run(SYSTEMS[name], 2, 1)
    assert found.failed is None, found.failed
    assert vectors.vector_size == 20 and planted_accuracy(vectors) > 0.1
