"""The two limits of a machine: how fast it multiplies and how fast it moves memory. `mumon bench --machine`."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mumon.training.sampling import (
    CERTAIN,
    build_alias_table,
    compute_keep_chances,
    compute_noise_distribution,
    compute_row_rates,
)
from mumon.training.settings import Settings
from mumon.training.weights import allocate_matrix, fill_initial_rows

LARGE_SIDE = 2048  # side of the large matrices: big enough for the peak speed, small enough for a second
DIMENSIONS, WIDTH = 300, 304  # dimensions, and floats of a padded row
WORDS, TOKENS, WINDOW, NEGATIVE = 80_000, 12_000, 5, 5  # of the text that the kernels train on: as large as a block
MATRIX_BYTES = 100_000_000
RATE = np.float32(0.01)
SECONDS_EACH = 0.5  # of each measurement at least

Action = Callable[[], float]  # does some work and returns how much


def measure_machine(
    seconds: float = SECONDS_EACH, matrix_bytes: int = MATRIX_BYTES, large: int = LARGE_SIDE
) -> dict[str, Any]:
    """Measure GFLOP/s of products and GB/s of memory, on one thread and on all.

    Parameters
    ----------
    seconds
        How long each measurement takes at least.
    matrix_bytes
        The size of the matrices that are copied and read at random.
    large
        The side of the large square matrices that are multiplied.

    Returns
    -------
    dict
        The numbers of threads, the work per token, and a row per measurement; ready for JSON.
    """
    from mumon.utils.threads import available_cores

    threads = sorted({1, available_cores()})
    rows = [
        (
            "product of large matrices (np.dot)",
            "GFLOP/s",
            [_measure_large_products(count, seconds, large) for count in threads],
        ),
        ("the three products of a batch", "GFLOP/s", _measure_on_threads(_prepare_small_products, threads, seconds)),
        (
            "the CBOW kernel, its products only counted",
            "GFLOP/s",
            _measure_on_threads(_prepare_cbow(), threads, seconds),
        ),
        (
            "copying, read + written",
            "GB/s",
            _measure_on_threads(lambda: _prepare_copies(matrix_bytes), threads, seconds),
        ),
        (
            "rows at random, read + written",
            "GB/s",
            _measure_on_threads(lambda: _prepare_random_rows(matrix_bytes), threads, seconds),
        ),
    ]
    return {
        "threads": threads,
        "per_token": count_per_token(),
        "rows": [{"name": name, "unit": unit, "values": values} for name, unit, values in rows],
    }


def _measure_on_threads(prepare: Callable[[], Action], threads: list[int], seconds: float) -> list[float]:
    return [_measure_rate([prepare() for _ in range(count)], seconds) for count in threads]


def _measure_rate(actions: list[Action], seconds: float) -> float:
    """Measure work per nanosecond (10⁹ per second) of several actions at the same time, each on its own thread."""
    from mumon.utils.threads import use_one_blas_thread

    def repeat(action: Action) -> float:
        done = 0.0
        while time.perf_counter() < until:
            done += action()
        return done

    with use_one_blas_thread(), ThreadPoolExecutor(len(actions)) as pool:
        until = 0.0
        list(pool.map(lambda action: action(), actions))  # so that everything is compiled, loaded and paged in
        started = time.perf_counter()
        until = started + seconds
        total = sum(pool.map(repeat, actions))
        return total / (time.perf_counter() - started) / 1e9


def _measure_large_products(threads: int, seconds: float, side: int) -> float:
    """Measure NumPy's BLAS with a number of its own threads."""
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


def count_per_token(dim_floats: int = WIDTH) -> dict[str, float]:
    """Count the least work of the fast CBOW kernel for a trained token: arithmetic of products, bytes of rows.

    A token reads and writes its source row, its target row, and its share of the batch's noise rows.

    >>> count_per_token()["flops"] == 3 * 2 * Settings().shared_negatives * 304
    True
    """
    settings = Settings()
    rows = 2 + settings.shared_negatives / settings.batch
    return {"flops": 6.0 * settings.shared_negatives * dim_floats, "bytes": 2 * rows * 4 * dim_floats}


def _prepare_small_products() -> Action:
    from mumon.kernels.roofline import small_products

    settings, random = Settings(), np.random.default_rng(1)
    h, dh, target = (allocate_matrix(rows, DIMENSIONS) for rows in (settings.batch, settings.batch, 1000))
    h[:], target[:] = random.random(h.shape, np.float32), random.random(target.shape, np.float32)
    scores = np.empty((settings.batch, settings.shared_negatives), np.float32)
    words = random.permutation(1000)[: settings.shared_negatives].astype(np.int32)
    rates, times = np.zeros(1000, np.float32), 500

    def work() -> float:
        small_products(scores, h, dh, target, words, rates, times)
        return count_per_token()["flops"] * settings.batch * times

    return work


def _prepare_cbow() -> Callable[[], Action]:
    """Prepare threads that train the same two matrices on their own blocks, as in real training."""
    from mumon.kernels.cbow import cbow_fast

    settings = Settings()
    source, target = allocate_matrix(WORDS, DIMENSIONS), allocate_matrix(WORDS, DIMENSIONS)
    fill_initial_rows(source, DIMENSIONS, np.arange(WORDS), 1)
    counts = np.array(1e7 / np.arange(1, WORDS + 1), np.int64)
    expected = counts * (compute_keep_chances(counts, settings.sample) / CERTAIN)
    alias = build_alias_table(compute_noise_distribution(counts, settings.ns_exponent))
    rates, places = compute_row_rates(counts, settings.row_exponent), np.arange(TOKENS)
    starts = itertools.count(1)

    def prepare() -> Action:
        random = np.random.default_rng(next(starts))
        ids = random.choice(WORDS, TOKENS, p=expected / expected.sum()).astype(np.int32)
        reach = random.integers(1, WINDOW + 1, TOKENS)
        left = np.maximum(places - reach, 0).astype(np.int32)
        right = np.minimum(places + reach + 1, TOKENS).astype(np.int32)
        sizes = (NEGATIVE, settings.shared_negatives, settings.batch)

        def work() -> float:
            seed = np.uint64(random.integers(1 << 32))
            cbow_fast(source, target, ids, left, right, alias, rates, *sizes, RATE, True, True, seed)
            return count_per_token()["flops"] * TOKENS

        return work

    return prepare


def _prepare_copies(matrix_bytes: int) -> Action:
    from mumon.kernels.roofline import copy

    source, target = np.ones(matrix_bytes // 4, np.float32), np.zeros(matrix_bytes // 4, np.float32)

    def work() -> float:
        copy(source, target)
        return 2.0 * source.nbytes

    return work


def _prepare_random_rows(matrix_bytes: int) -> Action:
    from mumon.kernels.roofline import add_to_rows

    matrix = np.ones((max(matrix_bytes // (4 * WIDTH), 1), WIDTH), np.float32)
    order = np.random.default_rng(1).permutation(len(matrix))

    def work() -> float:
        add_to_rows(matrix, order, np.float32(1))
        return 2.0 * matrix.nbytes

    return work
