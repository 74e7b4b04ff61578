"""The two limits of a machine: how fast it multiplies, and how fast it moves memory. `mumon bench --machine`."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

LARGE = 2048  # side of the large matrices: big enough for the peak, small enough for a second
BATCH, SHARED, WIDTH = 32, 32, 304  # the products of the fast kernels for 300 dimensions
MATRIX_BYTES = 100_000_000
SECONDS = 0.5  # of each measurement, at least

Action = Callable[[], float]  # does some work and says how much


def measure(seconds: float = SECONDS, matrix_bytes: int = MATRIX_BYTES, large: int = LARGE) -> dict[str, Any]:
    """GFLOP/s of products and GB/s of memory, on one thread and on all."""
    from mumon.threads import available_cores

    threads = sorted({1, available_cores()})
    rows = [
        (
            "product of large matrices (np.dot)",
            "GFLOP/s",
            [_large_products(count, seconds, large) for count in threads],
        ),
        (f"products {BATCH} × {WIDTH} × {SHARED} in a kernel", "GFLOP/s", _each(_small_products, threads, seconds)),
        ("copying, read + written", "GB/s", _each(lambda: _copies(matrix_bytes), threads, seconds)),
        ("rows at random, read + written", "GB/s", _each(lambda: _random_rows(matrix_bytes), threads, seconds)),
    ]
    return {"threads": threads, "rows": [{"name": name, "unit": unit, "values": values} for name, unit, values in rows]}


def _each(prepare: Callable[[], Action], threads: list[int], seconds: float) -> list[float]:
    return [_rate([prepare() for _ in range(count)], seconds) for count in threads]


def _rate(actions: list[Action], seconds: float) -> float:
    """Work per nanosecond (10⁹ per second) of so many actions at the same time, each on a thread of its own."""
    from mumon.threads import one_blas_thread

    def repeat(action: Action) -> float:
        done = 0.0
        while time.perf_counter() < until:
            done += action()
        return done

    with one_blas_thread(), ThreadPoolExecutor(len(actions)) as pool:
        until = 0.0
        list(pool.map(lambda action: action(), actions))  # compiled, loaded, paged in
        started = time.perf_counter()
        until = started + seconds
        total = sum(pool.map(repeat, actions))
        return total / (time.perf_counter() - started) / 1e9


def _large_products(threads: int, seconds: float, side: int) -> float:
    """NumPy's own BLAS with so many threads of its own."""
    from threadpoolctl import threadpool_limits

    a = np.random.default_rng(1).random((side, side), np.float32)
    out = np.empty_like(a)
    with threadpool_limits(threads, user_api="blas"):
        np.dot(a, a, out)
        started, times = time.perf_counter(), 0
        while time.perf_counter() < started + seconds:
            np.dot(a, a, out)
            times += 1
        return 2 * side**3 * times / (time.perf_counter() - started) / 1e9


def _small_products() -> Action:
    from mumon.kernels.roofline import small_products

    random = np.random.default_rng(1)
    a, b = random.random((BATCH, WIDTH), np.float32), random.random((SHARED, WIDTH), np.float32)
    out, times = np.empty((BATCH, SHARED), np.float32), 2000

    def work() -> float:
        small_products(a, b, out, times)
        return 2.0 * BATCH * WIDTH * SHARED * times

    return work


def _copies(matrix_bytes: int) -> Action:
    from mumon.kernels.roofline import copy

    source, target = np.ones(matrix_bytes // 4, np.float32), np.zeros(matrix_bytes // 4, np.float32)

    def work() -> float:
        copy(source, target)
        return 2.0 * source.nbytes

    return work


def _random_rows(matrix_bytes: int) -> Action:
    from mumon.kernels.roofline import add_to_rows

    matrix = np.ones((max(matrix_bytes // (4 * WIDTH), 1), WIDTH), np.float32)
    order = np.random.default_rng(1).permutation(len(matrix))

    def work() -> float:
        add_to_rows(matrix, order, np.float32(1))
        return 2.0 * matrix.nbytes

    return work
