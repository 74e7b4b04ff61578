"""Weights of positions as a picture: in the report, and of a user's own model."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mumon import Word2Vec
from mumon.errors import OptionError
from mumon.experiments.paper import position_weights, run_paper
from mumon.experiments.position_plot import draw_position_weights, label_positions, save_position_plot


@pytest.fixture
def model(tmp_path, planted):
    path = tmp_path / "places.mumon"
    Word2Vec(planted, vector_size=8, epochs=1, positions=3, window=6, workers=1, progress=False).save(path)
    return path


def test_labels_follow_the_text_from_left_to_right():
    assert label_positions(8, 10) == ["−10…5", "−4…3", "−2", "−1", "+1", "+2", "+3…4", "+5…10"]


def test_the_picture_shows_every_weight_in_the_order_of_the_text():
    from matplotlib.figure import Figure

    weights = np.arange(24.0).reshape(6, 4)
    weights[2] = [9, 11, 10, 8]  # what columns think of their left neighbour decides their order
    figure = Figure()
    draw_position_weights(figure, [(weights, 10)])
    left, right = figure.axes[:2]
    (means,) = (line for line in left.lines if line.get_marker() == "o")
    assert means.get_ydata() == pytest.approx(weights.mean(axis=1))
    shown = right.images[0].get_array()
    assert shown.shape == (6, 4) and sorted(map(tuple, shown.T)) == sorted(map(tuple, weights.T))
    lean = shown[3] - shown[2]
    assert (np.diff(lean) >= 0).all()


@pytest.mark.parametrize(("name", "start"), [("w.png", b"\x89PNG"), ("w.svg", b"<?xml"), ("w.PDF", b"%PDF")])
def test_info_draws_the_weights_of_a_model(run, model, tmp_path, name, start):
    code, out, _ = run("info", model, "--plot", tmp_path / name)
    assert code == 0 and "position weights" in out
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positions": 0}, "has 0 weights of positions to draw; train with --positions 4"),
        ({"positions": 2, "name": "w.doc"}, "has none of the 3 endings of pictures; use .png, .svg, .pdf"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(run, tmp_path, planted, options, message):
    name = options.pop("name", "w.png")
    Word2Vec(planted, vector_size=8, epochs=1, workers=1, progress=False, **options).save(tmp_path / "m.mumon")
    code, _, error = run("info", tmp_path / "m.mumon", "--plot", tmp_path / name)
    assert code == 1 and message in error and error.count("\n") == 1 and not (tmp_path / name).exists()


def test_without_matplotlib_the_extra_is_named(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r"pip install 'mumon\[plot\]'"):
        save_position_plot(str(tmp_path / "w.png"), np.ones((2, 4)), 1)
    assert not (tmp_path / "w.png").exists()


def test_the_report_has_the_weights_that_training_learned(tmp_path):
    report = run_paper(["positions"], output=tmp_path / "report", progress=False)
    section = report.sections["positions"]
    assert [len(table.rows) for table in section.tables] == [10, 14]  # windows of 10 and 40 words
    assert (tmp_path / "report/figures/positions.png").exists()


@pytest.mark.parametrize(
    ("means", "outcome"), [((0.5, 0.9, 1.5, 1.4, 1.0, 0.6), "holds"), ((0.5, 0.9, 1.5, 1.4, 1.6, 0.6), "does not hold")]
)
def test_weights_that_do_not_fall_with_the_distance_are_said_not_to(means, outcome):
    weights = [[mean, mean] for mean in means]
    data = {"sentences": 1, "tokens": 9, "dim": 2, "models": [{"window": 3, "rate": 0.1, "weights": weights}]}
    (verdict,) = position_weights.build_section(data).verdicts
    assert verdict.outcome == outcome and "−1 1.50" in verdict.ours
