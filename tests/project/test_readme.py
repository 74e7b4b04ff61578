"""The README is true: every command and code block runs as printed, and its numbers are those of committed results."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path
from statistics import fmean, median

import pytest

from tests.documents import SKIPPED, find_blocks, run_line, write_files

README = Path(__file__).parents[2] / "README.md"
BLOCKS = find_blocks(README.read_text())
HAS_TORCH = importlib.util.find_spec("torch") is not None
COMMANDS = [
    line
    for block in BLOCKS
    if block.kind == "sh"
    for line in block.lines()
    if not line.startswith(SKIPPED) and (HAS_TORCH or "--extrinsic" not in line)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, planted):
    """Small versions of the files that the README mentions."""
    home = tmp_path_factory.mktemp("readme")
    write_files(home, planted)
    return home


def test_the_python_blocks_run_one_after_the_other(folder, monkeypatch):
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    for block in BLOCKS:
        if block.kind == "python":
            exec(compile("\n" * block.line + block.text, str(README), "exec"), names)
    assert len(names["model"].wv) > 2


def test_the_shell_commands_run_one_after_the_other(folder, kernels, monkeypatch):
    assert len(COMMANDS) > 6
    shutil.rmtree(folder / "king.mumon", ignore_errors=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MUMON_DATA", str(folder / "data"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", kernels["NUMBA_CACHE_DIR"])  # so that started processes find compiled kernels
    for command in COMMANDS:
        code, reason = run_line(command)
        assert code == 0, f"{command}: exit code {code}: {reason}"


def test_it_fits_on_250_lines():
    assert len(README.read_text().splitlines()) <= 250


def test_the_demo_trains_on_the_documentation_of_this_python(capfd, monkeypatch, tmp_path):
    from mumon import WordVectors, cli

    monkeypatch.setattr(sys, "argv", ["mumon", "demo", "--epochs", "2", "-o", str(tmp_path / "docs.mumon")])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    out = capfd.readouterr().out
    assert not caught.value.code
    assert "Loss per word" in out and "nearest neighbours" in out
    assert len(WordVectors.load(tmp_path / "docs.mumon")) > 3000


REPORT = README.parent / "docs" / "paper-report"


def read_report(name):
    """Return the data of a section of the committed report."""
    return json.loads((REPORT / "data" / f"{name}.json").read_text())["data"]


def read_table(text, head):
    """Return the rows of the table whose header starts with `head`, header included, without stars."""
    lines = (head + text.split(head)[1]).split("\n\n")[0].splitlines()
    return [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines if not line.startswith("|---")]


def read_record(name):
    """Return what a committed run of mumon bench measured."""
    return json.loads((README.parent / f"benchmarks/results/{name}/results.json").read_text())


PEERS = {
    "gensim": ("gensim-cbow", "mumon-cbow"),
    "skip-gram": ("gensim-sg", "mumon-sg"),
    "kōan": ("kōan-cbow", "mumon-cbow"),
    "fastText": ("fasttext-cbow-its-own-binary", "mumon-cbow"),
    "word2vec.c": ("word2vec-cbow", "mumon-cbow"),
}


def read_bench(name="peers-700k", peers=tuple(PEERS)):
    """Return the systems of a run of mumon bench, by name, and how many times as long peers took in each round."""
    record = read_record(name)
    assert record["complete"] and record["repeats"] == 3
    seconds = {}
    for run in record["runs"]:
        seconds.setdefault(run["system"], []).append(run["seconds"])
    pairs = [(peer, *PEERS[peer]) for peer in peers]
    ratios = {peer: [a / b for a, b in zip(seconds[x], seconds[y], strict=True)] for peer, x, y in pairs}
    return {row["name"]: row for row in record["summary"]}, ratios


def read_ratios_with_avx512():
    return read_bench("peers-avx512-700k", ("gensim", "skip-gram"))[1]


def find_decimals(text):
    """Return the numbers with a decimal point in a text."""
    return set(re.findall(r"(?<![\w.])\d+\.\d+(?!\.?\w)", text))


@pytest.mark.parametrize("name", ["README.md", "docs/findings.md"])
def test_every_number_of_the_results_is_in_the_committed_report(name):
    text = (README.parent / name).read_text()
    results = text.split("## Results")[1].split("## How fast")[0] if name == "README.md" else text
    known = find_decimals(re.sub(r'src="[^"]*"', "", (REPORT / "index.html").read_text()))
    summary, ratios = read_bench()  # a later run, of which tests below check more
    known |= {f"{score:.1f}" for row in summary.values() for score in (*row["scores"].values(), *row["interval"])}
    subwords = read_record("subwords-700k")["summary"]
    known |= {f"{row['scores']['mean']:.1f}" for row in subwords}
    for rounds in (*ratios.values(), *read_ratios_with_avx512().values()):
        known |= {f"{ratio:.1f}" for ratio in (*rounds, median(rounds))}
    assert len(find_decimals(results)) > 40
    assert find_decimals(results) <= known, sorted(find_decimals(results) - known)


def test_table_1_is_that_of_the_committed_report():
    data = read_report("table1")
    rows = {row["system"]: row for row in data["rows"]}
    head, *table = read_table(README.read_text(), "| | rate | ws353")
    assert head[2:] == [*data["tasks"], "mean"]
    assert [name for name, *_ in table] == list(rows)
    for name, rate, *scores, mean in table:
        found = rows[name]
        assert float(rate) == found["rate"]
        assert scores == [f"{found['test'][task]:.1f}" for task in data["tasks"]]
        assert mean == f"{found['mean']['value']:.1f} ± {(found['mean']['high'] - found['mean']['low']) / 2:.1f}"


def test_the_table_of_results_is_that_of_the_committed_run():
    names = {
        "fastText CBOW, no subwords": "fastText CBOW, its own binary",
        "mumon CBOW, window 5": "mumon CBOW",
        "mumon CBOW**, its default window 10": "mumon CBOW, its own window",
    }
    summary, _ = read_bench()
    table = README.read_text().split("## Results")[1].split("![")[0]
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 8
    for name, *scores, mean, seconds, memory in rows[2:]:
        found = summary[names.get(name, name)]
        assert scores == [f"{found['scores'][task]:.1f}" for task in rows[0][1:6]]
        assert mean == f"{found['scores']['mean']:.1f} [{found['interval'][0]:.1f} … {found['interval'][1]:.1f}]"
        assert (seconds, memory) == (f"{found['seconds']:.0f}", f"{found['peak_bytes'] / 1e6:.0f} MB")


def test_the_factors_of_speed_are_those_of_the_committed_run():
    _, ratios = read_bench()
    factors = {name: f"{median(rounds):.1f}" for name, rounds in ratios.items()}
    first, second, third = (f"{ratio:.1f}" for ratio in ratios["gensim"])
    assert (
        f"CBOW is {factors['gensim']} times as fast as gensim's ({first}, {second} and {third} in the three rounds), "
        f"{factors['kōan']} times as fast as kōan, {factors['fastText']} times as fast as fastText and "
        f"{factors['word2vec.c']} times as fast as word2vec.c; skip-gram is {factors['skip-gram']} times as fast"
    ) in " ".join(README.read_text().split())
    cbow, skipgram = ([f"{ratio:.1f}" for ratio in rounds] for rounds in read_ratios_with_avx512().values())
    assert (
        f"CBOW was {cbow[0]}, {cbow[1]} and {cbow[2]} times as fast as gensim's, and skip-gram {skipgram[0]}, "
        f"{skipgram[1]} and {skipgram[2]} times"
    ) in " ".join(README.read_text().split())


def test_the_times_of_the_report_are_those_of_the_committed_run():
    folder = README.parent / "benchmarks/results/wikipedia-700k"
    summary = {row["name"]: row for row in json.loads((folder / "results.json").read_text())["summary"]}
    seconds = {row["name"]: row["seconds"] for row in read_report("times")["given"]["rows"]}
    assert seconds == {name: row["seconds"] for name, row in summary.items()}


def test_the_table_of_real_tasks_is_that_of_the_committed_run():
    results = json.loads((README.parent / "benchmarks/results/extrinsic.json").read_text())
    scores = {(row["model"], row["task"]): row for row in results["scores"]}
    reported = {(row["model"], row["task"]): row["score"] for row in read_report("extrinsic")["scores"]}
    assert reported == {pair: row["score"] for pair, row in scores.items()}
    table = (README.parent / "docs/extrinsic.md").read_text().split("| | SST-2 |")[1].split("\n\n")[0]
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    assert [name for name, *_ in rows[1:]] == [
        "random", "glove", "gensim skip-gram", "gensim CBOW", "mumon skip-gram", "mumon CBOW, faulty", "mumon CBOW"
    ]  # fmt: skip
    for name, *cells in rows[1:]:
        found = [scores[name, task] for task in results["tasks"]]
        assert cells == [f"{row['score']:.1f} ± {(row['high'] - row['low']) / 2:.1f}" for row in found]
    assert len(results["settings"]["seeds"]) >= 2 and results["tasks"][-1] == "ner-tuned"


def test_the_default_in_real_tasks_is_that_of_the_committed_run():
    results = json.loads((README.parent / "benchmarks/results/defaults.json").read_text())["networks"]
    page = (README.parent / "docs/extrinsic.md").read_text()
    found = [row[1:] for row in read_table(page, "| | SST-2 | NER |\n")[1:]]
    scores = {(row["model"], row["task"]): row for row in results["scores"]}
    gaps = {(row["a"], row["b"], row["task"]): row for row in results["comparisons"]}
    assert results["tasks"] == ["sst2", "ner"] and len(results["settings"]["seeds"]) >= 3

    def half(row):
        return f"{(row['high'] - row['low']) / 2:.1f}"

    expected = [
        [f"{scores[model, task]['score']:.1f} ± {half(scores[model, task])}" for task in results["tasks"]]
        for model in ("former CBOW", "CBOW", "former skip-gram")
    ]
    expected += [
        [f"{gaps[a, 'CBOW', task]['difference']:+.1f} ± {half(gaps[a, 'CBOW', task])}" for task in results["tasks"]]
        for a in ("former CBOW", "former skip-gram")
    ]
    assert found == [[cell.replace("-", "−") for cell in row] for row in expected]


def test_the_table_of_other_data_is_that_of_the_committed_run():
    results = json.loads((README.parent / "benchmarks/results/defaults.json").read_text())["results"]
    page = (README.parent / "docs/explanation/both-sides.md").read_text()
    found = [row[2:] for row in read_table(page, "| | | before | now |")[1:]]
    expected = []
    for record in results.values():
        for metric, gap in record["comparisons"]["CBOW less former CBOW"].items():
            systems = ("former CBOW", "CBOW", "former skip-gram")
            before, now, skipgram = (fmean(seed[metric] for seed in record["scores"][name]) for name in systems)
            difference = f"{gap['difference']:+.1f} ± {gap['half']:.1f}".replace("-", "−")
            expected.append([f"{before:.1f}", f"{now:.1f}", difference, f"{skipgram:.1f}"])
    assert sorted(found) == sorted(expected)


def test_the_figures_of_subwords_are_those_of_the_committed_run():
    found = {row["name"]: row for row in read_record("subwords-700k")["summary"]}
    head, *table = read_table((README.parent / "docs/subwords.md").read_text(), "| | seconds | memory | ws353")
    assert len(table) == len(found)
    for name, seconds, memory, *scores, mean in table:
        row = found[name]
        assert (seconds, memory) == (f"{row['seconds']:.0f}", f"{row['peak_bytes'] / 1e6:,.0f} MB")
        assert scores == [f"{row['scores'][task]:.1f}" for task in head[3:-1]]
        assert mean == f"{row['scores']['mean']:.1f} [{row['interval'][0]:.1f} … {row['interval'][1]:.1f}]"
    names = ("mumon CBOW, subwords", "fastText CBOW, subwords", "gensim CBOW, subwords")
    said = " ".join(README.read_text().split())
    for name in names:
        assert (
            f"{found[name]['seconds']:.0f}" in said.split("With n-grams of characters")[1].split("docs/subwords")[0]
        ), name
