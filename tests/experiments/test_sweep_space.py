"""The space of a sweep: lists, ranges, grids and random draws."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mumon.cli.sweep import PYTHON_NAMES
from mumon.corpus.subwords import Ngrams
from mumon.errors import OptionError
from mumon.experiments.sweep import DEFAULT_RATES, Range
from mumon.experiments.sweep.space import FIXABLE, SWEEPABLE, ZERO_ONE_SWITCHES, list_configurations, parse_values
from mumon.training.model_options import MODEL_OPTIONS
from mumon.training.settings import Settings
from tests.samples import refused


def test_no_configuration_is_trained_twice_under_two_names():
    """Skip-gram has no update, and only fast kernels share noise words."""
    cells = list_configurations({"sg": [0, 1], "update": ["correct", "faulty"], "alpha": [0.1]})
    assert [(cell["sg"], cell["update"]) for cell in cells] == [(0, "correct"), (0, "faulty"), (1, "correct")]
    cells = list_configurations({"objective": ["cbow", "sg"], "update": ["correct", "faulty"]})
    assert [tuple(cell.values()) for cell in cells] == [("cbow", "correct"), ("cbow", "faulty"), ("sg", "correct")]
    assert len(list_configurations({"exact": [False, True], "batch": [16, 32]})) == 3


def test_random_draws_are_distinct_the_same_for_a_seed_and_continue():
    space = {"alpha": Range(0.01, 0.5), "window": Range(2, 4), "update": ["correct", "faulty"]}
    ten = list_configurations(space, "random", 10, seed=3)
    assert (
        ten == list_configurations(space, "random", 10, seed=3) == list_configurations(space, "random", 20, seed=3)[:10]
    )
    assert ten != list_configurations(space, "random", 10, seed=4)
    every = list_configurations({"window": Range(2, 4), "sg": [0, 1]}, "random", 6, seed=1)
    assert len({tuple(item.values()) for item in every}) == 6
    refused(
        lambda: list_configurations({"window": Range(2, 4), "sg": [0, 1]}, "random", 7),
        "only 6 .* not 7",
        error=OptionError,
    )
    rates = [item["alpha"] for item in list_configurations({"alpha": Range(0.01, 1.0)}, "random", 400)]
    assert min(rates) >= 0.01 and max(rates) <= 1 and 0.4 < np.mean(np.array(rates) < 0.1) < 0.6  # by magnitude
    windows = {item["window"] for item in list_configurations({"window": Range(2, 9)}, "random", 8)}
    assert windows == set(range(2, 10))


@pytest.mark.parametrize(
    ("name", "written", "values"),
    [
        ("alpha", "0.05", [0.05]),
        ("alpha", "0.05, 1e-1,1", [0.05, 0.1, 1.0]),
        ("alpha", "0.01..0.5", Range(0.01, 0.5)),
        ("window", "2..10", Range(2, 10)),
        ("ns_exponent", "-0.5..1", Range(-0.5, 1.0)),
        ("objective", "cbow,sg", ["cbow", "sg"]),
        ("update", "correct,faulty", ["correct", "faulty"]),
        ("sample", "0,1e-4", [0.0, 1e-4]),
    ],
)
def test_lists_and_ranges_are_read(name, written, values):
    assert parse_values(name, written) == values


@pytest.mark.parametrize(
    ("name", "written", "message"),
    [
        ("alpha", "0.05,,0.1", "rate has '' where a number belongs"),
        ("alpha", "fast", "rate has 'fast'"),
        ("window", "2.5", "window has '2.5' where a whole number belongs"),
        ("window", "10..2", "from a lower to a higher"),
        ("window", "0..2", "window is 0"),
        ("alpha", "0..1", "begins above 0"),
        ("alpha", "0.1..", "rate has ''"),
        ("alpha", "0.1,0.2..0.3", "rate has '0.1,0.2'"),
        ("alpha", "0.1..0.2..0.3", "two ends"),
        ("objective", "0..1", "objective is '0..1'"),
        ("objective", "glove", "it must be cbow or sg"),
    ],
)
def test_what_is_neither_list_nor_range_is_refused(name, written, message):
    refused(lambda: parse_values(name, written), message, error=OptionError)


def test_positions_are_tried_only_where_they_are_weighed():
    space = {"objective": ["cbow", "sg"], "update": ["correct", "faulty"], "positions": [4, 0]}
    assert [tuple(cell.values()) for cell in list_configurations(space)] == [
        ("cbow", "correct", 4),
        ("cbow", "correct", 0),
        ("cbow", "faulty", 0),
        ("sg", "correct", 0),
    ]


@pytest.mark.parametrize("positions", [[4, 0], Range(0, 4)], ids=str)
def test_random_draws_have_positions_only_where_they_are_weighed(positions):
    space = {"objective": ["cbow", "sg"], "update": ["correct", "faulty"], "positions": positions}
    drawn = list_configurations(space, "random", draws=5, seed=2)
    assert any(cell["positions"] for cell in drawn) and any(cell["objective"] == "sg" for cell in drawn)
    for cell in drawn:
        Settings(**cell)  # refuses others


def test_a_sweep_knows_every_option_of_training():
    settings = {field.name for field in dataclasses.fields(Settings)} - {"seed", "workers", "subwords"}
    ngrams = {field.name for field in dataclasses.fields(Ngrams)}  # what `subwords` consists of
    assert set(SWEEPABLE) == settings | ngrams | set(MODEL_OPTIONS) | {"vector_size", "sg"}
    assert set(FIXABLE) - set(SWEEPABLE) == {"tokenize", "lowercase", "text_field", "workers"}
    assert set(PYTHON_NAMES.values()) <= set(SWEEPABLE) and set(ZERO_ONE_SWITCHES) < set(SWEEPABLE)
    assert DEFAULT_RATES == (0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.45)
