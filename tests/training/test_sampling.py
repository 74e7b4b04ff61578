"""Draws: the noise distribution, subsampling and random windows are what they claim to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mumon.kernels.noise import draw_negatives
from mumon.kernels.windows import sample_block
from mumon.training.sampling import (
    CERTAIN,
    build_alias_table,
    compute_keep_chances,
    compute_noise_distribution,
    derive_block_seed,
    derive_seed,
)


def shares(table):
    """The exact distribution that a table draws from."""
    V = len(table)
    own = table[:, 0].astype(np.float64) / CERTAIN
    total = own / V
    np.add.at(total, table[:, 1], (1 - own) / V)
    return total


@pytest.mark.parametrize("V", [1, 2, 3, 1000, 200_000])
@pytest.mark.parametrize("exponent", [0.75, 0.0, 1.0, -0.5])
def test_the_alias_table_holds_the_distribution_exactly_rare_words_included(V, exponent):
    counts = (10**9 / np.arange(1, V + 1) ** 1.1).astype(np.int64) + 1
    wanted = compute_noise_distribution(counts, exponent)
    assert wanted.sum() == pytest.approx(1)
    np.testing.assert_allclose(shares(build_alias_table(wanted)), wanted, rtol=1e-3 if V > 1000 else 1e-6)


def test_a_million_draws_pass_the_chi_square_test_rare_words_undistorted():
    counts = (10**7 / np.arange(1, 2001) ** 1.2).astype(np.int64) + 1
    wanted = compute_noise_distribution(counts, 0.75)
    out = np.empty(1_000_000, np.int64)
    draw_negatives(build_alias_table(wanted), np.uint64(7), out)
    seen = np.bincount(out, minlength=2000)
    assert stats.chisquare(seen, 1e6 * wanted).pvalue > 1e-3
    rare = slice(1000, 2000)
    assert stats.chisquare(seen[rare], seen[rare].sum() * wanted[rare] / wanted[rare].sum()).pvalue > 1e-3


def test_streams_are_pure_functions_of_where_they_are_used():
    seeds = {int(derive_seed(s, e, b, p)) for s in range(3) for e in range(3) for b in range(3) for p in range(3)}
    assert len(seeds) == 81
    assert derive_seed(1, 2, 3, 0) == derive_seed(1, 2, 3, 0)


@given(
    st.integers(0, (1 << 130) - 1),
    st.integers(0, 1 << 34),
    st.one_of(st.integers(0, 5000), st.integers((1 << 31) - 5, (1 << 31) + 5), st.integers(0, 1 << 40)),
    st.integers(0, 3),
)
def test_seeds_that_are_derived_together_are_those_derived_one_by_one(seed, epoch, block, purpose):
    found = derive_block_seed(seed, epoch, block, purpose)
    assert found == derive_seed(seed, epoch, block, purpose) and type(found) is np.uint64


def blocks(sentences, keep=None, window=5, shrink=True, shuffle=False, seed=1, lookup=None):
    corpus = np.concatenate(sentences).astype(np.int32)
    offsets = np.cumsum([0, *map(len, sentences)])
    V = corpus.max() + 1
    keep = np.full(V, CERTAIN, np.uint64) if keep is None else keep
    lookup = np.arange(V, dtype=np.int32) if lookup is None else lookup
    buffers = [np.empty(len(corpus), np.int32) for _ in range(3)]
    n = sample_block(
        corpus, offsets, 0, len(sentences), lookup, keep, window, shrink, shuffle, np.uint64(seed), *buffers
    )
    return [buffer[:n] for buffer in buffers]


def test_subsampling_keeps_each_word_with_its_promised_chance():
    counts = np.array([900_000, 90_000, 10_000])
    keep = compute_keep_chances(counts, 1e-2)
    f = counts / counts.sum()
    expected = np.minimum(np.sqrt(1e-2 / f) + 1e-2 / f, 1)
    np.testing.assert_allclose(keep / CERTAIN, expected, rtol=1e-6)
    ids, *_ = blocks([np.repeat([0, 1, 2], 100_000)], keep)
    seen = np.bincount(ids, minlength=3) / 100_000
    np.testing.assert_allclose(seen, expected, atol=0.006)
    assert (compute_keep_chances(counts, 0) == CERTAIN).all()


def test_windows_are_uniform_and_stop_at_sentence_ends():
    sentences = [np.arange(50), np.arange(3), np.arange(1), np.arange(2)]
    reaches = []
    for seed in range(300):
        ids, left, right = blocks(sentences, window=4, seed=seed)
        assert len(ids) == 55  # the one-word sentence has no context
        assert (left[50:53] >= 50).all() and (right[50:53] <= 53).all() and (left[53:] == 53).all()
        inner = np.arange(4, 46)
        assert (inner - left[4:46] == right[4:46] - 1 - inner).all()
        reaches.append(inner - left[4:46])
    seen = np.bincount(np.concatenate(reaches), minlength=5)
    assert seen[0] == 0 and stats.chisquare(seen[1:]).pvalue > 1e-3


def test_fixed_windows_do_not_shrink():
    _, left, right = blocks([np.arange(20)], window=3, shrink=False)
    assert (right - left)[3:-3].tolist() == [7] * 14


def test_words_outside_the_vocabulary_are_passed_over_and_the_window_closes_up():
    ids, left, right = blocks([[0, 1, 2, 1, 0]], lookup=np.array([0, -1, 1], np.int32), shrink=False, window=1)
    assert ids.tolist() == [0, 1, 0]
    assert (left.tolist(), right.tolist()) == ([0, 0, 1], [2, 3, 3])


def test_shuffling_visits_every_sentence_once_in_another_order():
    sentences = [[i, i + 100] for i in range(100)]
    ids, *_ = blocks(sentences, shuffle=True)
    firsts = ids[::2].tolist()
    assert sorted(firsts) == list(range(100)) and firsts != list(range(100))
