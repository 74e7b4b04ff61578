"""`mumon paper`: the small report from end to end, what may go wrong, and what is committed."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mumon import cli
from mumon.errors import MumonError, OptionError
from mumon.experiments.paper import (
    angle,
    cosines,
    curves,
    estimate,
    generated,
    items,
    norms,
    render_paper,
    run_paper,
    sides,
)
from mumon.experiments.paper.experiment_context import ExperimentContext
from mumon.experiments.paper.results import Section, Verdict
from mumon.experiments.paper.run import list_origins, render_sections
from mumon.experiments.paper.scales import SCALES, find_scale
from tests.conftest import write_mirror

pytestmark = pytest.mark.timeout(900)  # the first test makes the whole small report
ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "docs" / "paper-report"
EXTRINSIC = ROOT / "benchmarks" / "results" / "extrinsic.json"
BENCH = ROOT / "benchmarks" / "results" / "wikipedia-700k" / "results.json"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The whole small report, once for all tests."""
    home = tmp_path_factory.mktemp("paper") / "report"
    return run_paper(["all"], output=home, extrinsic=EXTRINSIC, bench=BENCH, progress=False)


def test_the_small_report_has_every_item_of_the_paper(small):
    assert list(small.sections) == [name for name in items() if name != "c4"]
    for section in small.sections.values():
        assert section.verdicts and section.tables and section.asks
        for verdict in section.verdicts:
            assert verdict.claim and verdict.paper and verdict.ours
            assert verdict.outcome in ("holds", "does not hold", "undecided", "not judged")


def test_every_table_is_csv_and_every_figure_svg_and_png(small):
    home = small.page.parent
    for name, section in small.sections.items():
        assert json.loads((home / "data" / f"{name}.json").read_text())["about"]["scale"] == "small"
        for table in section.tables:
            with (home / "tables" / f"{table.name}.csv").open(newline="") as file:
                rows = list(csv.reader(file))
            assert len(rows) == 1 + len(table.rows) and rows[0] == list(table.columns)
        for figure in section.figures:
            assert (home / "figures" / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (home / "figures" / f"{figure.name}.svg").read_text()


def test_the_page_says_every_claim_and_asks_nothing_of_a_network(small):
    page = small.page.read_text()
    from markupsafe import escape

    for section in small.sections.values():
        for verdict in section.verdicts:
            assert str(escape(verdict.claim)) in page and str(escape(verdict.ours)) in page
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    for link in re.findall(r'href="(?!#|data:)([^"]+)"', page):
        assert (small.page.parent / link).exists(), link


def test_what_was_measured_is_not_measured_again(small, monkeypatch):
    def never(*_, **__):
        raise AssertionError("trained again")

    monkeypatch.setattr(ExperimentContext, "_train_and_score", never)
    monkeypatch.setattr(sides, "_train_and_score", never)
    monkeypatch.setattr(angle, "_measure_cosines", never)
    monkeypatch.setattr(curves, "_measure_losses", never)
    again = run_paper(
        ["table1", "norms", "angle", "curves", "sizes", "sentences", "growth"], output=small.page.parent, progress=False
    )
    assert list(again.sections) == list(small.sections)  # the others are as they were
    assert again.sections["table1"].verdicts == small.sections["table1"].verdicts


def test_a_stopped_report_resumes(tmp_path, monkeypatch):
    trained = []
    honest = ExperimentContext._train_and_score

    def counted(context, system, part, seed, options):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(options["window"])
        return honest(context, system, part, seed, options)

    monkeypatch.setattr(ExperimentContext, "_train_and_score", counted)
    with pytest.raises(KeyboardInterrupt):
        run_paper(["norms"], output=tmp_path / "report", progress=False)
    trained.append(None)  # no more interruptions
    run_paper(["norms"], output=tmp_path / "report", progress=False)
    assert trained == [2, 5, 10, None, 20, 40, *([2, 5, 10, 20, 40] * 2), 2, 40, 2, 40]


def test_the_sections_follow_from_the_data_alone(small):
    sections, measured, metadata = render_sections(small.page.parent)
    assert {name: section.verdicts for name, section in sections.items()} == {
        name: section.verdicts for name, section in small.sections.items()
    }
    assert metadata["scale"] == "small"
    assert all(text.startswith("put together 2") for text in measured.values())


def test_a_corpus_of_ones_own_and_a_second_one_are_used(tmp_path, planted, monkeypatch):
    (tmp_path / "data").mkdir()
    write_mirror(tmp_path / "data")
    monkeypatch.setenv("MUMON_DATA", str(tmp_path / "data"))
    text = tmp_path / "own.txt"
    text.write_text("\n".join(" ".join(sentence) for sentence in planted))
    report = run_paper(["c4", "norms"], corpus=text, c4=text, output=tmp_path / "report", progress=False)
    assert list(report.sections) == ["norms", "c4"]
    data = json.loads((tmp_path / "report/data/c4.json").read_text())["data"]
    assert data["tasks"] == ["ws353", "men", "rw", "syn", "mixed"]
    assert data["options"]["vector_size"] == find_scale("small").c4_dim


def test_the_networks_of_tables_2_and_3_are_trained_if_asked_for_by_name(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from tests.samples import KINDS, write_extrinsic_mirror

    write_extrinsic_mirror(tmp_path / "data")
    monkeypatch.setenv("MUMON_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(
        "mumon.experiments.paper.run._prepare_text", lambda *_: ([str(text)], generated.make_questions())
    )
    text = tmp_path / "kinds.txt"
    text.write_text("\n".join(" ".join(f"{kind}{number}" for number in range(40)) for kind in KINDS * 20))
    report = run_paper(["extrinsic"], output=tmp_path / "report", progress=False)
    table = next(table for table in report.sections["extrinsic"].tables if table.name == "table3")
    assert (table.rows[0][0], table.rows[-1][0]) == ("random", "mumon CBOW")
    assert len(report.sections["extrinsic"].verdicts) == 5


# --- what a user may get wrong


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"names": ["table9"]}, "no experiment is called table9; the 17 known ones are table1"),
        ({"scale": "huge"}, "the scale is 'huge'; it must be one of the 3"),
        ({"scale": "medium", "names": ["norms"]}, "the scale medium needs a corpus of millions of sentences"),
        ({"extrinsic": "nowhere.json"}, "nowhere.json is not a file; the results of"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path, arguments, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        run_paper(**{"names": ["gradcheck"], "output": tmp_path / "report", "progress": False, **arguments})


def test_a_folder_with_anything_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(OptionError, match="has 1 entries and is no report"):
        run_paper(["gradcheck"], output=tmp_path, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_report_of_another_scale_is_left_alone(tmp_path):
    (tmp_path / "data").mkdir()
    record = {"format": "mumon-paper", "version": 2, "about": {"scale": "full", "corpus": "wiki.txt"}}
    (tmp_path / "data/norms.json").write_text(json.dumps(record))
    with pytest.raises(OptionError, match="holds a report of the scale full and this is small"):
        run_paper(["gradcheck"], output=tmp_path, progress=False)


def test_a_report_of_another_version_is_left_alone(tmp_path):
    (tmp_path / "data").mkdir()
    record = {"format": "mumon-paper", "about": {"scale": "small", "corpus": "a made-up language"}}
    (tmp_path / "data/norms.json").write_text(json.dumps(record))
    with pytest.raises(OptionError, match="holds a report of version 1 and this is version 2"):
        run_paper(["gradcheck"], output=tmp_path, progress=False)


def test_a_report_on_another_text_is_left_alone(tmp_path):
    run_paper(["gradcheck"], output=tmp_path / "report", progress=False)
    (tmp_path / "own.txt").write_text("some other text\n")
    with pytest.raises(OptionError, match=r"of the text a made-up language and this is own.txt \(0.0 MB\)"):
        run_paper(["norms"], corpus=tmp_path / "own.txt", output=tmp_path / "report", progress=False)


def test_a_folder_whose_data_are_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/norms.json").write_text("{}")
    with pytest.raises(OptionError, match=r"has 1 entries, and norms\.json in it is no report"):
        run_paper(["gradcheck"], output=tmp_path, progress=False)


def test_an_experiment_that_fails_does_not_cost_the_others(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    write_mirror(tmp_path / "data")
    monkeypatch.setenv("MUMON_DATA", str(tmp_path / "data"))
    (tmp_path / "tiny.txt").write_text("the king and the queen rule the land\n" * 40)
    report = run_paper(
        ["table1", "curves", "sizes", "angle", "gradcheck"],
        corpus=tmp_path / "tiny.txt",
        output=tmp_path / "report",
        progress=False,
    )
    assert set(report.failed) == {"table1", "curves", "sizes"}
    assert "too few for curves" in report.failed["curves"]
    assert list(report.sections) == ["angle", "gradcheck"]
    with pytest.raises(MumonError, match="none of the 1 experiments could be made"):
        run_paper(["curves"], corpus=tmp_path / "tiny.txt", output=tmp_path / "other", progress=False)


@pytest.mark.parametrize("text", ["{", "[1]", "{}", '{"settings": 1, "models": 2}'])
@pytest.mark.parametrize("option", ["extrinsic", "bench"])
def test_files_that_hold_no_results_are_refused(tmp_path, option, text):
    (tmp_path / "earlier.json").write_text(text)
    with pytest.raises(MumonError, match=r"earlier.json is (not|no) ") as caught:
        run_paper(["gradcheck"], output=tmp_path / "report", progress=False, **{option: tmp_path / "earlier.json"})
    assert "\n" not in str(caught.value)


def run(capfd, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["mumon", "paper", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return caught.value.code or 0, *capfd.readouterr()


def test_the_command_shows_every_verdict_and_the_path_of_the_report(tmp_path, capfd, monkeypatch):
    code, out, err = run(capfd, monkeypatch, "gradcheck", "-o", str(tmp_path / "report"))
    assert code == 0, err
    assert "holds  A finite-difference check" in out
    assert "index.html" in out
    code, out, _ = run(capfd, monkeypatch, "gradcheck", "-o", str(tmp_path / "report"), "--json", "-q")
    assert [verdict["outcome"] for verdict in json.loads(out)["verdicts"]] == ["holds"]
    code, _, err = run(capfd, monkeypatch, "gradchek")
    assert (code, err.count("\n")) == (1, 1)


def test_no_place_of_this_machine_is_in_the_report(tmp_path, capfd, monkeypatch):
    run(capfd, monkeypatch, "gradcheck", "-o", str(tmp_path / "report"), "-q")
    for path in (tmp_path / "report").rglob("*.*"):
        assert str(tmp_path) not in path.read_text(errors="replace"), path


def test_the_full_scale_is_estimated_before_anything_is_trained(capfd, monkeypatch):
    monkeypatch.setattr(estimate, "_measure_speed", lambda *_: 1e6)
    code, _, err = run(capfd, monkeypatch, "--scale", "full", "--estimate", "-q")
    assert code == 0
    assert "English Wikipedia" in err and "C4" in err
    assert re.search(r"together about [\d.]+ days of training and [\d.]+ GB of memory", err)
    assert re.search(r"extrinsic +15 trainings", err)
    code, _, err = run(capfd, monkeypatch, "gradcheck", "--estimate", "-q")
    assert (code, err) == (0, "0 trainings: these take seconds\n")
    code, _, err = run(capfd, monkeypatch, "norms", "--scale", "full")
    assert (code, err.count("\n")) == (1, 1) and "needs a corpus of millions of sentences" in err


# --- what is written again, and from what


def test_pages_are_written_again_from_the_data_alone(small, tmp_path):
    home = tmp_path / "report"
    shutil.copytree(small.page.parent / "data", home / "data")
    again = render_paper(home)
    assert again.page.read_text() == small.page.read_text()
    for kind in ("tables", "figures"):
        for path in (small.page.parent / kind).iterdir():
            assert (home / kind / path.name).read_bytes() == path.read_bytes()


def test_a_page_of_several_runs_names_the_commit_of_each(small, tmp_path):
    home = tmp_path / "report"
    (home / "data").mkdir(parents=True)
    for name in ("gradcheck", "norms"):
        shutil.copy(small.page.parent / "data" / f"{name}.json", home / "data")
    record = json.loads((home / "data/norms.json").read_text())
    record["about"]["machine"] |= {"commit": "0ld5t0n", "date": "2021-01-01 00:00 UTC"}
    (home / "data/norms.json").write_text(json.dumps(record))
    page = render_paper(home).page.read_text()
    assert "The sections were put together by 2 runs" in page
    assert "2021-01-01 00:00 UTC, commit 0ld5t0n: norms (" in page
    assert list_origins(home)[0]["names"] == ["norms"]


def test_a_report_is_rendered_on_the_command_line_and_measures_nothing(small, tmp_path, capfd, monkeypatch):
    shutil.copytree(small.page.parent / "data", tmp_path / "report" / "data")
    monkeypatch.setattr("mumon.experiments.paper.run.ExperimentContext", None)
    code, out, err = run(capfd, monkeypatch, "--render", "-o", str(tmp_path / "report"))
    assert code == 0 and "index.html" in out, err
    code, _, err = run(capfd, monkeypatch, "norms", "--render", "--more", "x.txt", "-o", str(tmp_path / "report"))
    assert code == 1 and "--render measures nothing" in err and "leave out --more and NAMES" in err
    code, _, err = run(capfd, monkeypatch, "--render", "-o", str(tmp_path / "nowhere"))
    assert code == 1 and "holds 0 experiments of a report" in err


def test_another_bench_takes_the_place_of_the_one_in_a_report(small, tmp_path):
    home = tmp_path / "report"
    shutil.copytree(small.page.parent / "data", home / "data")
    bench = json.loads(BENCH.read_text())
    for row in bench["summary"]:
        row["scores"]["mean"] = 12.3
    (tmp_path / "results.json").write_text(json.dumps(bench))
    sections = render_paper(home, tmp_path / "results.json").sections
    (table,) = (table for table in sections["times"].tables if table.name == "times-bench")
    assert all(str(row[-3]).startswith("12.3 [") for row in table.rows)
    (home / "data/times.json").unlink()
    with pytest.raises(OptionError, match="has 0 training times"):
        render_paper(home, BENCH)


# --- a real browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
)


def screenshot(page, folder, size="1100,2400"):
    """The page as a picture, and what the browser's console said."""
    picture = folder / "page.png"
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--window-size={size}"]
    done = subprocess.run(
        [*command, f"--screenshot={picture}", page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    return picture, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
@pytest.mark.parametrize("size", ["1100,2400", "400,2400"], ids=["desktop", "phone"])
@pytest.mark.parametrize("which", ["small", "committed"])
def test_a_real_browser_shows_the_report_without_complaint(which, size, small, tmp_path):
    from matplotlib.image import imread

    page = small.page if which == "small" else COMMITTED / "index.html"
    picture, complaints = screenshot(page, tmp_path, size)
    assert complaints == []
    pixels = imread(picture)[..., :3]
    assert pixels.shape[:2] == tuple(int(side) for side in reversed(size.split(",")))
    inked = (pixels.min(axis=2) < 0.9).any(axis=1).mean()
    assert inked > 0.3  # of the lines of the picture: it is not blank


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_a_page_with_a_mistake_would_be_noticed(tmp_path):
    (tmp_path / "page.html").write_text("<script>nonsense()</script>")
    _, complaints = screenshot(tmp_path / "page.html", tmp_path)
    assert complaints


# --- what is committed


def test_the_committed_report_is_the_medium_one_and_follows_from_its_data():
    sections, _, metadata = render_sections(COMMITTED)
    assert metadata["scale"] == "medium"
    assert list(sections) == [name for name in items() if name in sections]
    assert set(items()) - set(sections) <= {"c4", "growth"}
    page = (COMMITTED / "index.html").read_text()
    from markupsafe import escape

    for section in sections.values():
        for verdict in section.verdicts:
            assert str(escape(verdict.claim)) in page and str(escape(verdict.ours)) in page, verdict
        for table in section.tables:
            with (COMMITTED / "tables" / f"{table.name}.csv").open(newline="") as file:
                assert list(csv.reader(file)) == [list(table.columns), *([_cell(c) for c in row] for row in table.rows)]
    size = sum(path.stat().st_size for path in COMMITTED.rglob("*") if path.is_file())
    assert size < 5e6


def _cell(cell):
    return "" if cell is None else str(cell)


def test_the_committed_norms_and_angles_are_the_papers_within_the_stated_tolerance():
    sections, _, _ = render_sections(COMMITTED)
    outcomes = {verdict.claim: verdict.outcome for name in ("norms", "angle") for verdict in sections[name].verdicts}
    for claim in (
        "With the faulty update, source norms grow",
        "With the correct update they do not grow",
        "The target",
    ):
        assert next(outcome for full, outcome in outcomes.items() if full.startswith(claim)) == "holds"
    data = json.loads((COMMITTED / "data/norms.json").read_text())["data"]
    assert data["sentences"] == 1_000_000
    for update, paper in norms.SOURCE_NORMS.items():
        for (source, _), expected in zip(data["norms"][update], paper, strict=True):
            assert source == pytest.approx(expected, rel=norms.TOLERANCE)
    assert cosines.cosine(5, 5) == pytest.approx(0.82, abs=0.005)
    assert cosines.find_least_cosine(20) == pytest.approx((0.68, 9, 20), abs=0.005)
    assert cosines.find_least_cosine(angle.HEAT_MAP_LIMIT)[0] == pytest.approx(0.303, abs=0.0005)


def test_verdicts_are_decided_by_intervals():
    from mumon.experiments.paper.intervals import Estimate
    from mumon.experiments.paper.results import judge_at_least

    assert judge_at_least(Estimate(1, 0.5, 1.5)) == "holds"
    assert judge_at_least(Estimate(-1, -1.5, -0.5)) == "does not hold"
    assert judge_at_least(Estimate(0.1, -0.5, 0.7)) == "undecided"
    assert isinstance(Section("t", "a", [Verdict("c", "p", "o", "holds")]), Section)
    assert list(SCALES) == ["small", "medium", "full"]
