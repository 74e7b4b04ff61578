"""mumon bench --sampler and --machine: what samplers really draw, and what a machine can do."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mumon.experiments.bench.roofline import measure_machine
from mumon.experiments.bench.samplers import (
    AliasSampler,
    SearchSampler,
    TableSampler,
    compute_zipf_probabilities,
    measure_distortion,
)

WORDS = 5000


def test_the_alias_table_is_exact_to_one_part_in_2_to_the_32_per_bin():
    wanted = compute_zipf_probabilities(WORDS)
    sampler = AliasSampler(wanted)
    bins = 1 + np.bincount(sampler.table[:, 1], minlength=WORDS)  # those that hold a share of the word
    assert np.all(np.abs(sampler.compute_probabilities(WORDS) - wanted) <= bins * 2.0**-32)
    assert measure_distortion(sampler.compute_probabilities(WORDS), wanted).distance < 1e-6


def test_a_search_in_the_cumulative_distribution_is_exact_to_rounding():
    wanted = compute_zipf_probabilities(WORDS)
    assert measure_distortion(SearchSampler(wanted).compute_probabilities(WORDS), wanted).largest_error < 1e-9


def test_word2vecs_table_distorts_rare_words():
    wanted = compute_zipf_probabilities(WORDS)
    found = measure_distortion(TableSampler(wanted, 100_000).compute_probabilities(WORDS), wanted)
    alias = measure_distortion(AliasSampler(wanted).compute_probabilities(WORDS), wanted)
    assert found.largest_error > 0.1 > 1000 * alias.largest_error
    assert found.never_drawn == 0 and found.distance > 1e-3


def test_words_at_the_end_of_too_small_a_table_are_never_drawn():
    wanted = compute_zipf_probabilities(WORDS)
    found = measure_distortion(TableSampler(wanted, 4000).compute_probabilities(WORDS), wanted)
    assert found.never_drawn > 1000 and found.largest_error >= 1


def test_word2vecs_table_is_built_as_word2vec_builds_it():
    wanted = compute_zipf_probabilities(50)
    table, word, upto = [], 0, wanted[0]
    for entry in range(700):  # InitUnigramTable, line by line
        table.append(word)
        if entry / 700 > upto:
            word += 1
            upto += wanted[word] if word < 50 else 0.0
        word = min(word, 49)
    assert TableSampler(wanted, 700).table.tolist() == table


@pytest.mark.parametrize("make", [AliasSampler, SearchSampler, lambda wanted: TableSampler(wanted, 1_000_000)])
def test_draws_have_the_implied_probabilities(make):
    wanted, draws = compute_zipf_probabilities(20), 400_000
    sampler = make(wanted)
    out = np.empty(draws, np.int32)
    sampler.draw(out)
    expected = draws * sampler.compute_probabilities(20)
    assert np.all(np.abs(np.bincount(out, minlength=20) - expected) < 6 * np.sqrt(expected))


def test_samplers_are_measured_from_the_shell(run, tmp_path):
    code, out, err = run("bench", "--sampler", "--draws", 1000, "--vocab", "1e3", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found == json.loads((tmp_path / "bench-results/sampler.json").read_text())
    assert [row["words"] for row in found["rows"]] == [1000] * 3
    sizes = {row["sampler"]: row["bytes"] for row in found["rows"]}
    assert sizes == {"alias table": 8000, "np.searchsorted": 8000, "word2vec.c's table": 400_000_000}
    assert (tmp_path / "bench-results/sampler.png").stat().st_size > 9000
    code, _, err = run("bench", "--sampler", "--vocab", "many")
    assert code == 1 and "--vocab is 'many'; write numbers" in err


def test_the_limits_of_a_machine_are_positive_and_have_units():
    limits = measure_machine(seconds=0.01, matrix_bytes=1_000_000, large=64)
    assert limits["threads"][0] == 1 and [row["unit"] for row in limits["rows"]] == ["GFLOP/s"] * 3 + ["GB/s"] * 2
    assert all(value > 0 for row in limits["rows"] for value in row["values"])
