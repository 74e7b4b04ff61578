"""The transport problem: the kernel's cost is that of POT, and of assigning every single unit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from mumon.kernels.transport import find_least_cost

AMOUNTS = st.lists(st.integers(1, 6), min_size=1, max_size=9)


def balance(supply, demand):
    """Scale two lists so that both have the same sum."""
    supply, demand = np.array(supply, np.int64), np.array(demand, np.int64)
    return supply * demand.sum(), demand * supply.sum()


def solve(supply, demand, costs):
    return find_least_cost(supply.copy(), demand.copy(), costs)


def assign(supply, demand, costs):
    """Assign every unit on its own: slow and obvious."""
    single = np.repeat(np.repeat(costs, supply, axis=0), demand, axis=1)
    return single[linear_sum_assignment(single)].sum()


@settings(max_examples=200, deadline=None)
@given(AMOUNTS, AMOUNTS, st.integers(0, 1000), st.sampled_from([0, 1, 2, 5, 1000]))
def test_the_cost_is_that_of_assigning_each_unit(supply, demand, seed, kinds):
    """With few kinds of cost, down to one, most solutions cost the same, and a careless simplex goes in circles."""
    random = np.random.default_rng(seed)
    costs = random.integers(0, kinds + 1, (len(supply), len(demand))) / 7
    supply, demand = balance(supply, demand)
    assert solve(supply, demand, costs) == pytest.approx(assign(supply, demand, costs), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("n, m", [(1, 1), (1, 40), (40, 1), (23, 23), (30, 31), (60, 90), (150, 151)])
def test_the_cost_is_that_of_pot(n, m):
    emd2 = pytest.importorskip("ot").emd2
    random = np.random.default_rng(n * m)
    for supply, demand in (
        (np.ones(n), np.ones(m)),
        (random.integers(1, 50, n), random.integers(1, 50, m)),
        (1 + random.zipf(1.5, n) % 10_000, 1 + random.zipf(1.5, m) % 10_000),
    ):
        points, others = random.standard_normal((n, 1, 10)), random.standard_normal((m, 10))
        for costs in (
            np.linalg.norm(points - others, axis=2),
            random.random((n, m)),
            np.round(random.random((n, m)), 1),
        ):
            whole_supply, whole_demand = balance(supply, demand)
            total = whole_supply.sum()
            expected = emd2(whole_supply / total, whole_demand / total, costs, numItermax=10**7)
            assert solve(whole_supply, whole_demand, costs) / total == pytest.approx(expected, abs=1e-9)


def test_amounts_may_be_large():
    costs = np.array([[0.0, 1.0], [1.0, 0.0]])
    large = 10**16
    assert solve(np.array([large, 1]), np.array([1, large]), costs) == pytest.approx(large - 1)


def test_the_kernel_is_plain_python_too():
    code = """
import numpy as np
from tests.kernels.test_transport import assign, balance, solve
supply, demand = balance([3, 1, 4, 1], [2, 7, 1])
costs = np.random.default_rng(0).random((4, 3))
assert abs(solve(supply, demand, costs) - assign(supply, demand, costs)) < 1e-9
"""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
