"""`mumon paper`: the small report from end to end, and the parts it is made of."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import write_mirror

from mumon import Word2Vec, cli
from mumon.errors import MumonError, OptionError, PeerError, TrainingError
from mumon.evaluation.bootstrap import Outcome
from mumon.kernels import reference
from mumon.paper import angle, cosines, curves, estimate, generated, intervals, intrinsic, items, norms, run_paper
from mumon.paper.cache import Cache
from mumon.paper.lab import Lab
from mumon.paper.results import Section, Verdict
from mumon.paper.run import rendered
from mumon.paper.runs import Trained
from mumon.paper.scales import SCALES, scale_of
from mumon.paper.sweeps import MOST, bracket
from mumon.progress import Progress

pytestmark = pytest.mark.timeout(900)  # the first test makes the whole small report
ROOT = Path(__file__).parent.parent
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

    monkeypatch.setattr(Lab, "_trained", never)
    monkeypatch.setattr(angle, "_measured", never)
    monkeypatch.setattr(curves, "_losses", never)
    again = run_paper(["table1", "norms", "angle", "curves", "sizes"], output=small.page.parent, progress=False)
    assert list(again.sections) == list(small.sections)  # the others are as they were
    assert again.sections["table1"].verdicts == small.sections["table1"].verdicts


def test_a_stopped_report_goes_on_where_it_was(tmp_path, monkeypatch):
    trained = []
    honest = Lab._trained

    def counted(lab, system, part, seed, options):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(options["window"])
        return honest(lab, system, part, seed, options)

    monkeypatch.setattr(Lab, "_trained", counted)
    with pytest.raises(KeyboardInterrupt):
        run_paper(["norms"], output=tmp_path / "report", progress=False)
    trained.append(None)  # no more interruptions
    run_paper(["norms"], output=tmp_path / "report", progress=False)
    assert trained == [2, 5, 10, None, 20, 40, *([2, 5, 10, 20, 40] * 2), 2, 40, 2, 40]


def test_the_sections_follow_from_the_data_alone(small):
    sections, measured, about = rendered(small.page.parent)
    assert {name: section.verdicts for name, section in sections.items()} == {
        name: section.verdicts for name, section in small.sections.items()
    }
    assert about["scale"] == "small"
    assert all(told.startswith("put together 2") for told in measured.values())


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
    assert data["options"]["vector_size"] == scale_of("small").c4_dim


def test_the_networks_of_tables_2_and_3_are_trained_if_asked_for_by_name(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from samples import KINDS, write_extrinsic_mirror

    write_extrinsic_mirror(tmp_path / "data")
    monkeypatch.setenv("MUMON_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("mumon.paper.run._text", lambda *_: ([str(text)], generated.questions()))
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
        ({"names": ["table9"]}, "no experiment is called table9; the 12 known ones are table1"),
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
def test_results_that_are_none_are_refused(tmp_path, option, text):
    (tmp_path / "given.json").write_text(text)
    with pytest.raises(MumonError, match=r"given.json is (not|no) ") as caught:
        run_paper(["gradcheck"], output=tmp_path / "report", progress=False, **{option: tmp_path / "given.json"})
    assert "\n" not in str(caught.value)


def run(capfd, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["mumon", "paper", *arguments])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return caught.value.code or 0, *capfd.readouterr()


def test_the_command_tells_every_verdict_and_where_the_report_is(tmp_path, capfd, monkeypatch):
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
    monkeypatch.setattr(estimate, "_speed", lambda *_: 1e6)
    code, _, err = run(capfd, monkeypatch, "--scale", "full", "--estimate", "-q")
    assert code == 0
    assert "English Wikipedia" in err and "C4" in err
    assert re.search(r"together about [\d.]+ days of training and [\d.]+ GB of memory", err)
    assert re.search(r"extrinsic +15 trainings", err)
    code, _, err = run(capfd, monkeypatch, "gradcheck", "--estimate", "-q")
    assert (code, err) == (0, "0 trainings: these take seconds\n")
    code, _, err = run(capfd, monkeypatch, "norms", "--scale", "full")
    assert (code, err.count("\n")) == (1, 1) and "needs a corpus of millions of sentences" in err


# --- the parts


def test_a_sweep_goes_on_until_the_best_rate_is_not_at_an_edge():
    def train(rate):
        return Trained({"scores": {"task": {"dev": -abs(np.log2(rate / 1.6)), "test": 0.0}}}, {})

    swept = bracket(0.1, train)
    assert swept.rate == 1.6 and swept.inside
    assert sorted(swept.runs) == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2]
    for centre, rates in ((1.6, [0.8, 1.6, 3.2]), (6.4, [0.8, 1.6, 3.2, 6.4, 12.8])):
        swept = bracket(centre, train)
        assert swept.rate == 1.6 and swept.inside and sorted(swept.runs) == rates


def test_a_sweep_ends_even_if_the_best_rate_runs_away_or_nothing_can_be_trained():
    endless = bracket(1.0, lambda rate: Trained({"scores": {"task": {"dev": rate, "test": 0.0}}}, {}))
    assert len(endless.runs) == MOST and not endless.inside
    with pytest.raises(TrainingError, match="none of 3 rates around 1 gave vectors with a score: it diverged"):
        bracket(1.0, lambda rate: Trained({"scores": {}, "failed": "it diverged"}, {}))


def test_the_run_that_won_a_sweep_is_not_counted(tmp_path):
    """It was chosen for being good on items whose word pairs occur in both halves."""
    lab, asked = fake_lab(tmp_path), []
    swept = bracket(0.1, lambda rate: Trained({"scores": {"task": {"dev": -abs(rate - 0.1), "test": 0.0}}}, {}))

    def train(system, part, seed, **options):
        asked.append((seed, options))
        return Trained({"failed": "it diverged" if seed == 3 else None}, {})

    lab.train = train
    assert len(intrinsic.seeded(lab, "SG", None, swept, negative=7)) == lab.scale.seeds - 1
    assert asked == [(seed, {"alpha": 0.1, "negative": 7}) for seed in range(2, lab.scale.seeds + 2)]


def test_a_peer_that_crashed_is_asked_again_and_is_no_result(tmp_path, monkeypatch):
    pytest.importorskip("gensim")
    text = generated.write_text(tmp_path / "text.txt", sentences=200)
    lab = Lab(scale_of("small"), [str(text)], generated.questions(), tmp_path / "cache", 1, Progress())
    part = lab.part(None)
    with monkeypatch.context() as patch:
        patch.setattr("mumon.paper.runs.sys.executable", shutil.which("false"))
        with pytest.raises(PeerError, match="gensim ended with exit code 1: it wrote nothing"):
            lab.train("gensim CBOW", part, alpha=0.025)
    assert lab.train("gensim CBOW", part, alpha=0.025).failed is None


def test_a_record_is_found_by_its_inputs_and_a_damaged_one_is_measured_again(tmp_path):
    cache = Cache(tmp_path)
    cache.put("run", {"seed": 1}, {"score": 3}, {"values": np.arange(3)})
    assert cache.find("run", {"seed": 1}) == {"score": 3}
    assert cache.arrays("run", {"seed": 1})["values"].tolist() == [0, 1, 2]
    assert cache.find("run", {"seed": 2}) is None
    assert cache.record("run", {"seed": 1}, dict) == {"score": 3}
    next(tmp_path.glob("*.json")).write_text('{"result": ')
    arrays = next(tmp_path.glob("*.npz"))
    arrays.write_bytes(arrays.read_bytes()[:40])
    assert cache.arrays("run", {"seed": 1}) is None
    assert cache.record("run", {"seed": 1}, lambda: {"score": 4}) == {"score": 4}


def fake_lab(tmp_path):
    return Lab(scale_of("small"), [], generated.questions(), tmp_path, 1, Progress())


def answers(lab, chance, seed):
    random = np.random.default_rng(seed)
    outcomes = {}
    for task in lab.tasks:
        right = random.random(len(task)) < chance
        values = right.astype(float) if task.gold is None else np.where(right, task.gold, random.random(len(task)))
        outcomes[task.name] = Outcome(values, np.ones(len(task), bool), task.gold)
    return Trained({}, outcomes)


def test_a_difference_has_an_interval_over_items_and_seeds(tmp_path):
    lab = fake_lab(tmp_path)
    bad, good = ([answers(lab, chance, seed) for seed in (1, 2)] for chance in (0.3, 0.7))
    better = intervals.differences(lab, bad, good)
    assert set(better) == {"similarity", "analogies", "mean"}
    assert all(gap.low > 0 for gap in better.values())
    same = intervals.difference(lab, good, good)
    assert (same.value, same.low, same.high) == (0, 0, 0)
    other = intervals.difference(lab, good, [answers(lab, 0.7, seed) for seed in (3, 4)])
    assert other.low < 0 < other.high
    assert intervals.score(lab, good).value == pytest.approx(
        np.mean([intervals.score(lab, [one]).value for one in good])
    )


def test_what_a_model_is_better_at_in_all_tasks_is_not_averaged_away(tmp_path):
    """Three models whose level differs by 10 points in both tasks, with hardly any noise between items."""
    lab = fake_lab(tmp_path)
    runs = []
    for shift in (0.4, 0.5, 0.6):
        values = {task.name: np.arange(len(task)) / len(task) < shift for task in lab.tasks}
        tasks = {name: Outcome(right.astype(float), np.ones(len(right), bool)) for name, right in values.items()}
        runs.append(Trained({}, tasks))
    spread = intervals.score(lab, runs, fold="all").half
    assert 8 < spread < 16  # 1.96 × 10 / √3 = 11.3; drawn anew for each task it would be 8.0 at most


def test_a_change_of_a_difference_is_taken_on_the_same_items(tmp_path):
    lab = fake_lab(tmp_path)
    low, high = ([answers(lab, chance, seed) for seed in (1, 2)] for chance in (0.3, 0.7))
    same = intervals.change(lab, low, high, low, high)
    assert (same.value, same.low, same.high) == pytest.approx((0, 0, 0), abs=1e-9)
    assert intervals.change(lab, low, low, low, high).low > 0


def test_a_failed_run_is_named_and_not_compared(tmp_path):
    lab = fake_lab(tmp_path)
    with pytest.raises(TrainingError, match="1 of the runs to compare failed, it diverged"):
        intervals.score(lab, [answers(lab, 0.5, 1), Trained({"failed": "it diverged", "scores": {}}, {})])


def test_the_measured_angle_is_that_of_the_references_gradients():
    random = np.random.default_rng(0)
    source, target = random.normal(size=(2, 9, 4))
    windows = [(0, [1, 2, 2], [3, 4]), (5, [0, 1], [6, 6, 7]), (8, [2], [1])]
    both = []
    for update in ("correct", "faulty"):
        parts = [
            reference.cbow_gradient(source, target, o, context, noise, [1.0] * len(noise), update=update)
            for o, context, noise in windows
        ]
        both.append(np.concatenate([sum(each).ravel() for each in zip(*parts, strict=True)]))
    expected = both[0] @ both[1] / np.linalg.norm(both[0]) / np.linalg.norm(both[1])
    assert cosines.update_cosine(source, target, windows) == pytest.approx(expected, abs=1e-12)


def test_rows_of_equal_norm_have_the_closed_form_of_the_paper():
    C, k = 6, 4
    rows = np.eye(C + k + 1)
    correct, faulty = rows.copy(), rows.copy()
    faulty[:C] *= C
    cosine = (correct * faulty).sum() / np.linalg.norm(correct) / np.linalg.norm(faulty)
    # The correct source steps are 1/C of a row of norm C each: the paper's norm is that of ∂L/∂v_c.
    assert cosines.cosine(C, k) == pytest.approx((C * C + k + 1) / np.sqrt((C**3 + k + 1) * (C + k + 1)))
    assert cosines.cosine(C, k) == pytest.approx(cosine)


def test_the_curve_has_the_loss_that_training_reports(tmp_path):
    text = generated.write_text(tmp_path / "text.txt", sentences=400)
    lab = Lab(scale_of("small"), [str(text)], [], tmp_path / "cache", 1, Progress())
    part = lab.part(None)
    losses = curves._losses(lab, part, "correct", 0.05)["losses"]
    model = Word2Vec(part.corpus, alpha=0.05, exact=True, workers=1, progress=False, **lab.options(epochs=1))
    assert len(losses) == part.tokens // lab.scale.curve_batch
    assert np.mean(losses) == pytest.approx(model.history[0].loss, rel=0.02)  # the last, partial batch is left out
    assert losses[-1] < losses[0]


def test_curves_go_on_until_the_best_rate_is_inside_and_say_what_diverged(tmp_path, monkeypatch):
    """Losses that end lowest at a rate of 0.3 (correct), and diverge from 0.2 on (faulty)."""
    text = generated.write_text(tmp_path / "text.txt", sentences=1000)
    lab, trained = Lab(scale_of("small"), [str(text)], [], tmp_path / "cache", 1, Progress()), []

    def losses(lab, part, update, rate):
        trained.append((update, rate))
        if update == "faulty" and rate > 0.15:
            raise TrainingError("it diverged")
        return {"losses": [2 + 1 / (n + 1) + abs(np.log(rate / 0.3)) * (n > 3) for n in range(9)]}

    monkeypatch.setattr(curves, "_losses", losses)
    data = curves.measure(lab)
    assert data["best"] == {"correct": 0.3, "faulty": 0.1}
    assert data["diverged"] == [["faulty", 0.2]]
    assert [end // lab.scale.curve_batch for end in data["ends"]] == [1, 3, 5, 7, 9]  # to the very end of the text
    assert ("correct", 0.6) in trained
    section = curves.section(data)
    assert "At 0.2 the faulty update diverged." in section.notes
    curves.measure(lab)
    assert len(trained) == len(set(trained))  # what diverged is kept, too


def test_a_norm_that_diverges_fails_its_experiment_and_leaves_no_data(tmp_path, monkeypatch):
    failed = {"failed": "it diverged", "norms": [None, None], "scores": {}}
    monkeypatch.setattr(Lab, "_trained", lambda *_: (failed, {}))
    report = run_paper(["norms", "gradcheck"], output=tmp_path / "report", progress=False)
    assert report.failed == {"norms": "the correct update at rate 0.075 and width 2 failed: it diverged"}
    assert list(rendered(tmp_path / "report")[0]) == ["gradcheck"]


def angle_rows(cosines):
    """What the angle's last epoch gave, by update and k."""
    return [
        {"update": update, "k": k, "batch": batch, "mean": mean, "error": 0.01}
        for (update, k), mean in cosines.items()
        for batch in (1, 100)
    ]


@pytest.mark.parametrize(
    "correct, faulty, outcome",
    [(0.7, 0.7, "holds"), (0.9, 0.9, "does not hold"), (0.9, 0.7, "undecided"), (0.8, 0.8, "undecided")],
)
def test_more_noise_words_are_judged_for_both_updates(correct, faulty, outcome):
    rows = angle_rows({("correct", 5): 0.8, ("faulty", 5): 0.8, ("correct", 20): correct, ("faulty", 20): faulty})
    data = {"forms": angle.PAPER, "closed": {"5": 0.8, "20": 0.7}}
    assert angle._verdicts(data, rows)[-1].outcome == outcome


def test_one_task_that_is_clearly_behind_decides_for_all_of_glue():
    from mumon.paper import extrinsic

    data = extrinsic.extrinsic_of(EXTRINSIC)
    pair = ("mumon skip-gram", "mumon CBOW")
    for row in data["comparisons"]:
        if {row["a"], row["b"]} == set(pair) and row["task"] == "sst2":
            row |= {"a": pair[0], "b": pair[1], "difference": -3.0, "low": -4.0, "high": -2.0}
    verdict = next(v for v in extrinsic.section(data).verdicts if v.claim.startswith("On GLUE"))
    assert verdict.outcome == "does not hold"


def test_every_question_about_the_made_up_language_can_be_answered(tmp_path):
    words = set(generated.write_text(tmp_path / "text.txt").read_text().split())
    tasks = generated.questions()
    assert {word for task in tasks for item in task.items for word in item} <= words
    assert len(set(generated.stems())) == generated.TOPICS * generated.STEMS_PER_TOPIC


def test_an_estimate_grows_with_the_text_and_the_vectors():
    scale = scale_of("small")
    text = estimate.Corpus("text", 10_000, 200_000, 5_000)
    larger = estimate.Corpus("text", 20_000, 400_000, 10_000)
    speeds = {}

    def speed(system, dim, window, threads):
        return speeds.setdefault((system, dim, window), 1e6)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "_speed", speed)
        one, two = (estimate.estimate(scale, each, larger, 2, set(items())) for each in (text, larger))
    hours = [{need.item: need.hours for need in needs} for needs in (one, two)]
    assert hours[1]["curves"] == pytest.approx(2 * hours[0]["curves"])  # all of the text
    assert {"table1", "times", "norms", "curves", "angle", "negatives", "rates", "sizes", "c4"} == set(hours[0])
    assert two[0].memory > one[0].memory
    assert max(one, key=lambda need: need.memory).item == "c4"


def test_the_estimate_counts_the_trainings_that_are_made(tmp_path, monkeypatch):
    """Of sweeps whose best rate is the one they start from; runs that experiments share count once."""
    made, kept = {}, {}

    def train(lab, system, part, seed=1, **options):
        key = (system, part.sentences, seed, *sorted(options.items()))
        made.setdefault(key, lab.label)
        if key not in kept:
            near = -abs(np.log(options["alpha"] / lab.default_rate(system, part)))
            scores = {task: {"dev": near, "test": near} for task in lab.task_names}
            outcomes = answers(lab, 0.5, seed).outcomes
            kept[key] = Trained({"scores": scores, "norms": [1.0, 1.0], "failed": None}, outcomes)
        return kept[key]

    monkeypatch.setattr(Lab, "train", train)
    monkeypatch.setattr(Lab, "available", lambda *_: True)
    names = ("table1", "norms", "negatives", "rates", "sizes")
    run_paper(names, output=tmp_path / "report", progress=False)
    scale, text = scale_of("small"), estimate.MADE_UP
    expected = [item for item, *_ in estimate._trainings(scale, text, None, 1) if item in names]
    found = list(made.values())
    assert expected.count("rates") - found.count("rates") in (0, 1)  # one of the shared rates is in a sweep by chance
    for name in set(names) - {"rates"}:
        assert expected.count(name) == found.count(name), name


def test_the_estimated_speed_is_measured_on_this_machine():
    assert 1e3 < estimate._speed("CBOW correct", 16, 5, 1) < 1e9


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
    sections, _, about = rendered(COMMITTED)
    assert about["scale"] == "medium"
    assert list(sections) == [name for name in items() if name != "c4"]
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
    sections, _, _ = rendered(COMMITTED)
    outcomes = {verdict.claim: verdict.outcome for name in ("norms", "angle") for verdict in sections[name].verdicts}
    for claim in (
        "With the faulty update, source norms grow",
        "With the correct update they do not grow",
        "The target",
    ):
        assert next(outcome for told, outcome in outcomes.items() if told.startswith(claim)) == "holds"
    data = json.loads((COMMITTED / "data/norms.json").read_text())["data"]
    assert data["sentences"] == 1_000_000
    for update, paper in norms.PAPER.items():
        for (source, _), expected in zip(data["norms"][update], paper, strict=True):
            assert source == pytest.approx(expected, rel=norms.TOLERANCE)
    assert cosines.cosine(5, 5) == pytest.approx(0.82, abs=0.005)
    assert cosines.least(20) == pytest.approx((0.68, 9, 20), abs=0.005)
    assert cosines.least(angle.MOST)[0] == pytest.approx(0.303, abs=0.0005)


def test_verdicts_are_decided_by_intervals():
    from mumon.paper.intervals import Estimate
    from mumon.paper.results import at_least

    assert at_least(Estimate(1, 0.5, 1.5)) == "holds"
    assert at_least(Estimate(-1, -1.5, -0.5)) == "does not hold"
    assert at_least(Estimate(0.1, -0.5, 0.7)) == "undecided"
    assert isinstance(Section("t", "a", [Verdict("c", "p", "o", "holds")]), Section)
    assert list(SCALES) == ["small", "medium", "full"]
