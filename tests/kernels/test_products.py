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
from mumon.kernels.row_ops import Band, Carry, Each, Row, Scalar
from mumon.training.weights import allocate_matrix

V = 40


BANDS = (16, 48, 1024)  # widths of bands


@kernel
def score(scores, n, h, target, words, source, ahead):
    products.score_noise(scores, n, h, target, words, source, ahead)


@kernel
def collect(dh, place, n, scores, target, words, begin, end, ahead):
    products.collect_noise(dh, place, n, scores, target, words, begin, end, ahead)


@kernel
def update(target, words, rates, scores, h, n, begin, end, ahead):
    products.update_noise(target, words, rates, scores, h, n, begin, end, ahead)


@rows.scan_operation
def blend(total: Carry, a: Row, b: Band, c: Each, d: Row, x: Scalar, y: Scalar) -> tuple[Carry, Row, Band, Each]:
    """Use every kind of operand, and replace all that can be replaced."""
    return total + x * a, a + y * d, b + c, c + x * total


@kernel
def scan(carried, a, b, c, d, a_rows, b_rows, d_rows, numbers, slot, steps, begin, end):
    places = np.zeros((steps, 3 * (slot + 1)), np.int64)
    for r in range(steps):
        places[r, 3 * slot] = rows.locate(a, a_rows[r])
        places[r, 3 * slot + 1] = rows.locate(b, b_rows[r])
        places[r, 3 * slot + 2] = rows.locate(d, d_rows[r])
    blend(carried, 1, a, b, c, d, places, numbers, slot, steps, begin, end)


@rows.row_operation
def double_both(row: Row, other: Row, scale: Scalar, h: Row) -> tuple[Row, Row]:
    """Replace two rows, each by its former value and others."""
    return row + h + h, other + scale * row


@kernel
def row_operations(a, b, out):
    rows.copy_row(out, 0, b, 1)
    rows.add_row(out, 0, 0.5, a, 2)
    double_both(out, 1, out, 2, 0.25, a, 0)
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
    score(scores, n, h, target, words, target, ids)
    tolerance = {"rtol": 1e-3, "atol": 1e-3 * D} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(scores[:n], h[:n] @ target[words].T, **tolerance)
    assert (scores[n:] == 7).all()  # rows beyond the batch are not written

    expected_dh, expected = scores[:n] @ target[words], target.astype(np.float64)
    np.add.at(expected, words, rates[words, None] * (scores[:n].T.astype(np.float64) @ h[:n]))
    for width in BANDS:
        collected, changed = np.empty((n, D), dtype), target.copy()
        for begin in range(0, D, width):
            end = min(begin + width, D)
            dh = np.full((n + 2, end - begin + 16), 7, dtype)
            collect(dh, 16, n, scores, target, words, begin, end, words)
            collected[:, begin:end] = dh[:n, 16:]
            assert (dh[n:] == 7).all() and (dh[:, :16] == 7).all()
            update(changed, words, rates, scores, h, n, begin, end, ids)
        np.testing.assert_allclose(collected, expected_dh, **tolerance)
        np.testing.assert_allclose(changed, expected, **tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=40, deadline=None)
@given(registers=st.integers(1, 8), steps=st.integers(0, 9), slot=st.integers(0, 2), seed=st.integers(0, 99))
def test_scans_are_those_of_numpy_one_row_after_another(dtype, registers, steps, slot, seed):
    """Rows of several steps may be the same: each step sees what the one before has left."""
    D, random = 16 * registers, np.random.default_rng(seed)
    begin = 16 * int(random.integers(registers))
    end = begin + 16 * int(random.integers(1, registers - begin // 16 + 1))
    carried, a, c, d = (random.normal(size=(count, D)).astype(dtype) for count in (2, 3, 10, 2))
    b = random.normal(size=(4, end - begin)).astype(dtype)
    a_rows, b_rows, d_rows = (random.integers(0, count, steps) for count in (3, 4, 2))
    numbers = random.normal(size=(steps, 2 * (slot + 1))).astype(dtype)
    given = [carried, a, b, c]
    found, wanted = [matrix.copy() for matrix in given], [matrix.astype(np.float64) for matrix in given]
    for r in range(steps):
        total, own, each = wanted[0][1, begin:end], wanted[1][a_rows[r], begin:end], wanted[3][r, begin:end]
        band, (x, y) = wanted[2][b_rows[r]], numbers[r, 2 * slot :]
        new = total + x * own, own + y * d[d_rows[r], begin:end], band + each, each + x * total
        total[:], own[:], band[:], each[:] = new
    scan(*found, d, a_rows, b_rows, d_rows, numbers, slot, steps, begin, end)
    for result, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-3 if dtype == np.float32 else 1e-9, atol=1e-4)


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
    score(scores, 8, h, target, words, target, words)
    assert np.isnan(scores[:, 2]).all() and np.isfinite(scores[:, [0, 1, 3]]).all()


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="names x86 instructions")
@pytest.mark.parametrize("features", ["+avx2,+avx,+fma,+sse4.2", "+sse2"])
def test_machines_with_other_registers_compute_the_same(features):
    """Tiles are cut to the registers of the machine: AVX2 and SSE code gives the products of NumPy too."""
    off = ",-avx512f,-avx512vl,-avx512bw,-avx512dq,-avx512cd,-evex512"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", __file__, "-k", "products_in_place or scans", "-p", "no:cacheprovider"],
        env={**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": features + off, "NUMBA_CACHE_DIR": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("registers", [(64, 32), (16, 32)], ids=["like AVX-512", "like ARM"])
def test_tiles_of_other_machines_compute_the_same(registers, tmp_path):
    """Every shape of tile, wherever the test runs: LLVM cuts wide vectors to what the machine has."""
    script = (
        "import sys; from mumon.kernels import simd; "
        f"simd.REGISTER_BYTES, simd.REGISTER_COUNT = {registers}; "
        "import pytest; sys.exit(pytest.main(['-q', sys.argv[1], '-k', 'products_in_place or scans', "
        "'-p', 'no:cacheprovider']))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, __file__],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
