"""Explicit vector code against NumPy: the rows and products that the fast kernels are made of."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon.kernels import products
from mumon.kernels import row_ops as rows
from mumon.kernels.jit import kernel
from mumon.training.weights import allocate_matrix

V = 40


@kernel
def score(scores, n, h, target, words, source, ids, ahead):
    products.score_noise(scores, n, h, target, words, source, ids, ahead)


@kernel
def exchange(dh, h, n, scores, target, words, rates, next_words, ids, ahead):
    products.exchange_gradients(dh, h, n, scores, target, words, rates, next_words, ids, ahead)


@kernel
def row_operations(a, b, out):
    rows.copy_row(out, 0, b, 1)
    rows.add_row(out, 0, 0.5, a, 2)
    rows.exchange(out, 1, out, 2, 0.25, 2.0, a, 0)
    return rows.dot(a, 1, b, 2)


sizes = st.fixed_dictionaries(
    {"n": st.integers(1, 40), "shared": st.integers(1, 40), "registers": st.integers(1, 8), "seed": st.integers(0, 99)}
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=60, deadline=None)
@given(size=sizes)
def test_products_in_place_are_matrix_products(dtype, size):
    """Any number of targets and noise words, repeated words among them, of any padded width."""
    n, shared, D = size["n"], size["shared"], 16 * size["registers"]
    random = np.random.default_rng(size["seed"])
    target, h = random.normal(size=(V, D)).astype(dtype), random.normal(size=(n + 2, D)).astype(dtype)
    words, ids = random.integers(0, V, shared).astype(np.int32), random.integers(0, V, 50).astype(np.int32)
    rates = random.random(V).astype(dtype)
    scores = np.full((n + 2, shared), 7, dtype)
    score(scores, n, h, target, words, target, ids, 45)
    tolerance = {"rtol": 1e-3, "atol": 1e-3 * D} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(scores[:n], h[:n] @ target[words].T, **tolerance)
    assert (scores[n:] == 7).all()  # rows beyond the batch are not written

    dh = np.full((n + 2, D), 7, dtype)
    expected_dh, expected = scores[:n] @ target[words], target.astype(np.float64)
    np.add.at(expected, words, rates[words, None] * (scores[:n].T.astype(np.float64) @ h[:n]))
    exchange(dh, h, n, scores, target, words, rates, words, ids, 45)
    np.testing.assert_allclose(dh[:n], expected_dh, **tolerance)
    assert (dh[n:] == 7).all()
    np.testing.assert_allclose(target, expected, **tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("D", [1, 3, 16, 17, 64, 79, 304])
def test_row_operations_are_those_of_numpy_at_any_width(dtype, D):
    random = np.random.default_rng(D)
    a, b, out = (random.normal(size=(3, D)).astype(dtype) for _ in range(3))
    expected = out.copy()
    expected[0] = b[1] + 0.5 * a[2]
    expected[1], expected[2] = out[1] + 2 * a[0], out[2] + 0.25 * out[1]
    product = row_operations(a, b, out)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    assert product == pytest.approx(np.dot(a[1], b[2]), rel=1e-4, abs=1e-4)


def test_a_nan_in_a_noise_row_is_seen():
    target, h = allocate_matrix(4, 32), allocate_matrix(8, 32)
    h[:], target[:] = 1, 1
    target[2, 5] = np.nan
    words, scores = np.array([0, 1, 2, 3], np.int32), np.zeros((8, 4), np.float32)
    score(scores, 8, h, target, words, target, words, 0)
    assert np.isnan(scores[:, 2]).all() and np.isfinite(scores[:, [0, 1, 3]]).all()


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="names x86 instructions")
@pytest.mark.parametrize("features", ["+avx2,+avx,+fma,+sse4.2", "+sse2"])
def test_machines_with_other_registers_compute_the_same(features):
    """Tiles are cut to the registers of the machine: AVX2 and SSE code gives the products of NumPy too."""
    off = ",-avx512f,-avx512vl,-avx512bw,-avx512dq,-avx512cd,-evex512"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", __file__, "-k", "products_in_place", "-p", "no:cacheprovider"],
        env={**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features + off, "NUMBA_CACHE_DIR": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
