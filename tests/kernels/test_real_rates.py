"""Kernels at rates of real training, against NumPy that takes the same steps in the same order.

At a tiny rate every order gives the same gradient. Here words return within windows, batches and noise words, so that
it matters which rows a step has changed before the next one reads them.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from mumon.kernels import cbow, positions, skipgram
from mumon.training.sampling import build_alias_table
from tests.kernels.test_kernel_laws import blocks, drawn

ALPHA = 0.3


def sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


def make_model(V, D, seed):
    random = np.random.default_rng(seed)
    source, target = random.normal(0, 0.5, (2, V, -(-D // 16) * 16))
    return build_alias_table(random.dirichlet(np.ones(V))), random.uniform(0.5, 2, (2, V)), source, target


def step(h, target, word, noise, rates):
    """One logistic unit after another; return the gradient of h."""
    dh = np.zeros_like(h)
    for other, label in [(word, 1), *((n, 0) for n in noise if n != word)]:
        gradient = ALPHA * (label - sigmoid(h @ target[other]))
        dh += gradient * target[other]
        target[other] += rates[1][other] * gradient * h
    return dh


def simulate_exact(source, target, ids, left, right, noise, rates, is_cbow):
    noise = iter(noise)
    for i, word in enumerate(ids):
        context = [ids[j] for j in range(left[i], right[i]) if j != i]
        if is_cbow:
            dh = step(np.mean([source[c] for c in context], 0), target, word, next(noise), rates)
            for c in context:
                source[c] += rates[0][c] * dh / len(context)
        else:
            for c in context:
                source[word] += rates[0][word] * step(source[word].copy(), target, c, next(noise), rates)


def exchange_with_noise(h, target, words, gradients, rates):
    """Collect the gradients of h from the noise rows as they are, then update these."""
    dh = gradients @ target[words]
    np.add.at(target, words, rates[1][words, None] * (gradients.T @ h))
    return dh


def simulate_fast_cbow(source, target, ids, left, right, noise, rates, weight, batch):
    """Source rows are read when the first window reaches them, and updated when the last has left them."""
    n, reach = len(ids), max(max(i - left[i], right[i] - i - 1) for i in range(len(ids)))
    rows, changes, seen, settled = np.zeros((n, source.shape[1])), np.zeros((n, source.shape[1])), 0, 0
    for first, words in zip(range(0, n, batch), noise, strict=True):
        tokens = range(first, min(first + batch, n))
        upto = max(seen, *(right[i] for i in tokens))
        rows[seen:upto], seen = source[ids[seen:upto]], upto
        contexts = [[j for j in range(left[i], right[i]) if j != i] for i in tokens]
        h = np.array([rows[context].mean(0) for context in contexts])
        others = words[None] != np.array(ids)[tokens, None]
        dh = exchange_with_noise(h, target, words, -ALPHA * weight * others * sigmoid(h @ target[words].T), rates)
        for r, i in enumerate(tokens):
            dh[r] += step(h[r], target, ids[i], [], rates)
            changes[contexts[r]] += dh[r] / len(contexts[r])
        done = n if tokens[-1] + 1 == n else max(settled, tokens[-1] + 1 - reach)
        for j in range(settled, done):
            source[ids[j]] += rates[0][ids[j]] * changes[j]
        settled = done


def simulate_fast_skipgram(source, target, ids, left, right, noise, rates, weight, batch):
    for first, words in zip(range(0, len(ids), batch), noise, strict=True):
        tokens = range(first, min(first + batch, len(ids)))
        contexts = [[ids[j] for j in range(left[i], right[i]) if j != i] for i in tokens]
        h = source[np.array(ids)[tokens]]
        weights = weight * np.array([[sum(c != n for c in context) for n in words] for context in contexts])
        dh = exchange_with_noise(h, target, words, -ALPHA * weights * sigmoid(h @ target[words].T), rates)
        for r, i in enumerate(tokens):
            for c in contexts[r]:
                dh[r] += step(h[r], target, c, [], rates)
            source[ids[i]] += rates[0][ids[i]] * dh[r]


@pytest.mark.parametrize("fast", [False, True], ids=["exact", "fast"])
@pytest.mark.parametrize("objective", ["cbow", "positions", "sg"])
@settings(max_examples=40, deadline=None)
@given(blocks())
def test_steps_at_a_real_rate_follow_each_other_as_in_numpy(objective, fast, block):
    V, D, columns, (negative, shared, batch), seed = block
    alias, rates, source, target = make_model(V, D, seed)
    new_source, new_target = source.copy(), target.copy()
    ids, left, right = columns
    sharing = (negative, shared, batch) if fast else (negative,)
    if objective == "positions":  # with weights of 1 that do not learn: plain CBOW
        kernel = positions.cbow_positions_fast if fast else positions.cbow_positions_exact
        weights = np.ones((2 * (1 + seed % 3), source.shape[1]))
        kernel(new_source, new_target, weights, *columns, alias, rates, *sharing, ALPHA, 0.0, np.uint64(seed))
    elif objective == "cbow":
        kernel = cbow.cbow_fast if fast else cbow.cbow_exact
        kernel(new_source, new_target, *columns, alias, rates, *sharing, ALPHA, True, True, np.uint64(seed))
    else:
        kernel = skipgram.skipgram_fast if fast else skipgram.skipgram_exact
        kernel(new_source, new_target, *columns, alias, rates, *sharing, ALPHA, np.uint64(seed))

    pairs = len(ids) if objective != "sg" else int(np.sum(right - left - 1))
    times = -(-len(ids) // batch) if fast else pairs
    noise = drawn(alias, seed, times * (shared if fast else negative)).reshape(times, -1)
    if not fast:
        simulate_exact(source, target, ids, left, right, noise, rates, objective != "sg")
    else:
        simulate = simulate_fast_skipgram if objective == "sg" else simulate_fast_cbow
        simulate(source, target, ids, left, right, noise, rates, negative / shared, batch)
    if max(np.abs(source).max(), np.abs(target).max()) < 1e3:  # else the run diverges, and rounding grows with it
        np.testing.assert_allclose(new_source, source, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(new_target, target, rtol=1e-4, atol=1e-4)


def test_running_sums_begin_again_before_they_lose_digits():
    """A word near the end, once a target and never noise, learns h: a difference of sums of about 500,000."""
    n, V, D = 50_000, 50, 16
    random = np.random.default_rng(1)
    ids = random.integers(0, V - 1, n).astype(np.int32)
    ids[n - 10] = V - 1
    left, right = (np.clip(np.arange(n) + k, 0, n).astype(np.int32) for k in (-2, 3))
    chances = np.append(np.full(V - 1, 1 / (V - 1)), 0)
    start = random.normal(10, 1, (V, D))
    learned = []
    for dtype in (np.float32, np.float64):
        source, target = start.astype(dtype), np.zeros((V, D), dtype)
        sharing = (5, 16, 8, dtype(1e-9), True, True, np.uint64(1))
        cbow.cbow_fast(source, target, ids, left, right, build_alias_table(chances), np.ones(V, dtype), *sharing)
        learned.append(target[V - 1].astype(np.float64))
    np.testing.assert_allclose(learned[0], learned[1], rtol=5e-5)
