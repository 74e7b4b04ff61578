"""The gradients: finite differences against the reference, the reference against every kernel."""

from __future__ import annotations

import numpy as np
import pytest

from mumon.kernels import cbow, noise, numerics, positions, reference, skipgram
from mumon.kernels.windows import sample_block
from mumon.training.gradcheck import finite_differences
from mumon.training.sampling import build_alias_table

V, D, K_NOISE = 7, 16, 3
WEIGHTS = [1.0, 0.5, 2.0]
# (centre, context): repeated words, the centre in its own context, one context word only.
WINDOWS = {
    "distinct": (0, [1, 2, 3, 4]),
    "repeated": (0, [1, 2, 1, 1]),
    "centre repeated": (0, [1, 0, 2]),
    "two-word sentence": (3, [5]),
}
NOISE = [2, 0, 6]  # word 0 is a target above: it must not be its own negative


def matrices(seed=0, rows=V):
    random = np.random.default_rng(seed)
    return random.normal(0, 0.1, (rows, D)), random.normal(0, 0.1, (rows, D))


@pytest.mark.parametrize("mean", [True, False], ids=["mean", "sum"])
@pytest.mark.parametrize("window", WINDOWS)
def test_reference_cbow_gradient_is_the_derivative_of_its_loss(window, mean):
    source, target = matrices()
    centre, context = WINDOWS[window]

    def loss():
        return reference.cbow_loss(source, target, centre, context, NOISE, WEIGHTS, mean)

    d_source, d_target = reference.cbow_gradient(source, target, centre, context, NOISE, WEIGHTS, mean)
    np.testing.assert_allclose(d_source, finite_differences(loss, source), atol=1e-6)
    np.testing.assert_allclose(d_target, finite_differences(loss, target), atol=1e-6)


@pytest.mark.parametrize("window", WINDOWS)
def test_reference_skipgram_gradient_is_the_derivative_of_its_loss(window):
    source, target = matrices()
    centre, context = WINDOWS[window]
    noise = [NOISE] * len(context)

    def loss():
        return reference.skipgram_loss(source, target, centre, context, noise, WEIGHTS)

    d_source, d_target = reference.skipgram_gradient(source, target, centre, context, noise, WEIGHTS)
    np.testing.assert_allclose(d_source, finite_differences(loss, source), atol=1e-6)
    np.testing.assert_allclose(d_target, finite_differences(loss, target), atol=1e-6)


@pytest.mark.parametrize("distances", [1, 2, 3])
@pytest.mark.parametrize("window", WINDOWS)
def test_reference_gradient_of_cbow_with_positions_is_the_derivative_of_its_loss(window, distances):
    source, target = matrices()
    positions = np.random.default_rng(2).normal(1, 0.5, (2 * distances, D))
    centre, context = WINDOWS[window]
    offsets = [-1, 1, 2, 3][: len(context)]
    groups = [reference.find_group(offset, distances) for offset in offsets]
    window = (centre, context, groups, NOISE, WEIGHTS)

    def loss():
        return reference.positional_cbow_loss(source, target, positions, *window)

    gradients = reference.positional_cbow_gradient(source, target, positions, *window)
    for gradient, matrix in zip(gradients, (source, target, positions), strict=True):
        np.testing.assert_allclose(gradient, finite_differences(loss, matrix), atol=1e-6)


@pytest.mark.parametrize("window", WINDOWS)
def test_the_faulty_update_misses_the_derivative_by_exactly_the_factor_c_on_source_rows(window):
    source, target = matrices()
    centre, context = WINDOWS[window]
    C = len(context)

    def loss():
        return reference.cbow_loss(source, target, centre, context, NOISE, WEIGHTS)

    d_source, d_target = reference.cbow_gradient(source, target, centre, context, NOISE, WEIGHTS, update="faulty")
    np.testing.assert_allclose(d_source, C * finite_differences(loss, source), atol=1e-5)
    np.testing.assert_allclose(d_target, finite_differences(loss, target), atol=1e-6)
    if C > 1:
        with pytest.raises(AssertionError):
            np.testing.assert_allclose(d_source, finite_differences(loss, source), atol=1e-6)


# A block of three sentences: of many tokens, of two, and of fewer tokens than the window; words repeat.
SENTENCES = [[0, 1, 2, 3, 1, 4, 5, 6, 0, 0, 2] * 14, [3, 4], [6, 5, 1]]


def block(window, seed=5):
    """ids, left and right of the sentences with random windows, as sample_block would give them."""
    random = np.random.default_rng(seed)
    ids, left, right = [], [], []
    for sentence in SENTENCES:
        begin, end = len(ids), len(ids) + len(sentence)
        for i in range(begin, end):
            reach = random.integers(1, window + 1)
            left.append(max(begin, i - reach))
            right.append(min(end, i + reach + 1))
        ids += sentence
    return tuple(np.array(column, np.int32) for column in (ids, left, right))


def context_of(i, ids, left, right):
    return [int(ids[j]) for j in range(left[i], right[i]) if j != i]


def draws(alias, seed, count):
    out = np.empty(count, np.int64)
    noise.draw_negatives(alias, seed, out)
    return out.tolist()


def shared_draws(alias, seed, n, shared, batch):
    """The noise words that each of n targets meets in a fast kernel."""
    starts = list(range(0, n, batch))
    words = iter(np.split(np.array(draws(alias, seed, shared * len(starts))), len(starts)))
    noise = {}
    for first, last in zip(starts, [*starts[1:], n], strict=True):
        batch_words = next(words).tolist()
        noise.update(dict.fromkeys(range(first, last), batch_words))
    return noise


ALIAS = build_alias_table(np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1]))
RATES = np.array([[1.0, 0.5, 2.0, 1.5, 0.25, 3.0, 0.75], [0.5, 3.0, 1.5, 1.0, 2.0, 0.25, 0.75]])  # one for every row
SEED = np.uint64(2024)
TINY = 1e-9  # a rate at which an update is the gradient: what changes meanwhile is of second order


def assert_update_is_gradient(run, gradient):
    """The kernel's change at a tiny rate, divided by the row's rate, is minus the summed gradient of the reference."""
    source, target = matrices(1)
    d_source, d_target = gradient(source, target)
    new_source, new_target = source.copy(), target.copy()
    run(new_source, new_target)
    assert np.abs(d_source).max() > 0.1
    for old, new, rates, expected in zip(
        (source, target), (new_source, new_target), RATES, (d_source, d_target), strict=True
    ):
        np.testing.assert_allclose((old - new) / (TINY * rates[:, None]), expected, atol=8e-6 * np.abs(expected).max())


def summed(gradients):
    pairs = list(gradients)
    return sum(source for source, _ in pairs), sum(target for _, target in pairs)


CBOW_VARIANTS = {  # divide_in, divide_out
    ("mean", "correct"): (True, True),
    ("mean", "faulty"): (True, False),
    ("sum", "correct"): (False, False),
    ("sum", "faulty"): (False, True),
}


@pytest.mark.parametrize("window", [1, 3, 40])
@pytest.mark.parametrize("variant", CBOW_VARIANTS, ids="-".join)
def test_cbow_exact_applies_the_reference_gradient(variant, window):
    columns = block(window)
    ids = columns[0]
    noise = np.array(draws(ALIAS, SEED, len(ids) * K_NOISE)).reshape(-1, K_NOISE)
    assert_update_is_gradient(
        lambda s, t: cbow.cbow_exact(s, t, *columns, ALIAS, RATES, K_NOISE, TINY, *CBOW_VARIANTS[variant], SEED),
        lambda s, t: summed(
            reference.cbow_gradient(
                s, t, ids[i], context_of(i, *columns), noise[i], [1.0] * K_NOISE, variant[0] == "mean", variant[1]
            )
            for i in range(len(ids))
        ),
    )


@pytest.mark.parametrize("window", [1, 3, 40])
@pytest.mark.parametrize("shared, batch", [(8, 32), (5, 24), (6, 150)])
@pytest.mark.parametrize("variant", CBOW_VARIANTS, ids="-".join)
def test_cbow_fast_applies_the_reference_gradient(variant, window, shared, batch):
    columns = block(window)
    ids = columns[0]
    noise = shared_draws(ALIAS, SEED, len(ids), shared, batch)
    weights = [K_NOISE / shared] * shared
    division = CBOW_VARIANTS[variant]
    assert_update_is_gradient(
        lambda s, t: cbow.cbow_fast(s, t, *columns, ALIAS, RATES, K_NOISE, shared, batch, TINY, *division, SEED),
        lambda s, t: summed(
            reference.cbow_gradient(
                s, t, ids[i], context_of(i, *columns), noise[i], weights, variant[0] == "mean", variant[1]
            )
            for i in range(len(ids))
        ),
    )


# ---- CBOW with positions

WEIGHT_RATE = 100.0  # weights are near 1, where a tiny step loses its digits
POSITION_KERNELS = {  # shared noise words and batch
    "exact": (),
    "fast": (8, 32),
    "fast, odd sizes": (5, 24),
    "fast, one batch": (6, 160),
    "fast, defaults": (16, 8),
}


def position_weights(distances, seed=4):
    return np.random.default_rng(seed).normal(1, 0.5, (2 * distances, D))


def places_of(i, ids, left, right, distances):
    """The context words of a token and the group of each."""
    offsets = [j - i for j in range(left[i], right[i]) if j != i]
    return [int(ids[i + o]) for o in offsets], [reference.find_group(o, distances) for o in offsets]


def run_positions(sharing, source, target, weights, columns, alpha=TINY, weight_rate=WEIGHT_RATE, rates=RATES):
    kernel = positions.cbow_positions_fast if sharing else positions.cbow_positions_exact
    return kernel(source, target, weights, *columns, ALIAS, rates, K_NOISE, *sharing, alpha, weight_rate, SEED)


def noise_of(sharing, n):
    """The noise words of each of n targets, and their weights."""
    if sharing:
        return shared_draws(ALIAS, SEED, n, *sharing), [K_NOISE / sharing[0]] * sharing[0]
    return np.array(draws(ALIAS, SEED, n * K_NOISE)).reshape(-1, K_NOISE), [1.0] * K_NOISE


@pytest.mark.parametrize("distances", [1, 2, 4, 6])
@pytest.mark.parametrize("window", [1, 3, 40])
@pytest.mark.parametrize("sharing", POSITION_KERNELS.values(), ids=POSITION_KERNELS)
def test_cbow_with_positions_applies_the_reference_gradient(sharing, window, distances):
    """Also where sentences are shorter than the window, and where the window leaves groups empty."""
    columns = block(window)
    n = len(columns[0])
    source, target = matrices(1)
    start = source, target, position_weights(distances)
    drawn, weights = noise_of(sharing, n)
    expected = [0.0] * 3
    for i in range(n):
        context, groups = places_of(i, *columns, distances)
        window = (columns[0][i], context, groups, drawn[i], weights)
        steps = reference.positional_cbow_gradient(*start, *window)
        expected = [total + step for total, step in zip(expected, steps, strict=True)]
    trained = [matrix.copy() for matrix in start]
    run_positions(sharing, *trained, columns)
    rates = (RATES[0][:, None], RATES[1][:, None], WEIGHT_RATE)
    for old, new, rate, gradient in zip(start, trained, rates, expected, strict=True):
        np.testing.assert_allclose((old - new) / (TINY * rate), gradient, atol=8e-6 * np.abs(gradient).max())


@pytest.mark.parametrize("distances", [1, 4])
@pytest.mark.parametrize("sharing", POSITION_KERNELS.values(), ids=POSITION_KERNELS)
def test_equal_weights_of_all_positions_are_plain_cbow(sharing, distances):
    columns, (source, target) = block(6), matrices(1)
    plain = source.copy(), target.copy()
    kernel = cbow.cbow_fast if sharing else cbow.cbow_exact
    loss = kernel(*plain, *columns, ALIAS, RATES, K_NOISE, *sharing, 0.05, True, True, SEED)
    weights = np.ones((2 * distances, D))
    assert run_positions(sharing, source, target, weights, columns, 0.05, 0.0) == pytest.approx(loss, rel=1e-12)
    assert (weights == 1).all()
    np.testing.assert_allclose(source, plain[0], atol=1e-12)
    np.testing.assert_allclose(target, plain[1], atol=1e-12)


@pytest.mark.parametrize("sharing", POSITION_KERNELS.values(), ids=POSITION_KERNELS)
def test_the_loss_with_positions_is_the_reference_loss(sharing):
    """At rate 0, of one target in 16 (exact) or of the first batch (fast)."""
    columns, start = block(3), (*matrices(1), position_weights(3))
    n = len(columns[0])
    sampled = range(min(n, sharing[1])) if sharing else range(0, n, numerics.LOSS_TARGETS)
    drawn, weights = noise_of(sharing, n)
    expected = 0.0
    for i in sampled:
        context, groups = places_of(i, *columns, 3)
        window = (columns[0][i], context, groups, drawn[i], weights)
        expected += reference.positional_cbow_loss(*start, *window)
    loss, counted = run_positions(sharing, *start, columns, 0.0)
    assert counted == len(sampled)
    assert loss == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("sharing", POSITION_KERNELS.values(), ids=POSITION_KERNELS)
def test_rows_at_rate_zero_stay_while_others_and_the_positions_learn(sharing):
    rates = RATES.copy()
    rates[0, :3], rates[1, 3:] = 0, 0
    columns, start = block(6), (*matrices(1), position_weights(3))
    source, target, weights = (matrix.copy() for matrix in start)
    run_positions(sharing, source, target, weights, columns, 0.05, 0.01, rates)
    np.testing.assert_array_equal(source[:3], start[0][:3])
    np.testing.assert_array_equal(target[3:], start[1][3:])
    for old, new in ((start[0][3:], source[3:]), (start[1][:3], target[:3]), (start[2], weights)):
        assert (np.abs(new - old).max(axis=1) > 1e-5).all()


@pytest.mark.parametrize("sharing", POSITION_KERNELS.values(), ids=POSITION_KERNELS)
def test_float32_training_with_positions_follows_float64_training(sharing):
    columns, double = block(6), (*matrices(1), position_weights(3))
    single = tuple(matrix.astype(np.float32) for matrix in double)
    run_positions(sharing, *double, columns, 0.05, 0.01, RATES[1])
    run_positions(sharing, *single, columns, np.float32(0.05), 0.01, RATES[1].astype(np.float32))
    for one, other in zip(single, double, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("window", [1, 3, 40])
def test_skipgram_exact_applies_the_reference_gradient(window):
    columns = block(window)
    ids = columns[0]
    contexts = [context_of(i, *columns) for i in range(len(ids))]
    noise = iter(np.array(draws(ALIAS, SEED, sum(map(len, contexts)) * K_NOISE)).reshape(-1, K_NOISE))
    per_pair = [[next(noise) for _ in context] for context in contexts]
    assert_update_is_gradient(
        lambda s, t: skipgram.skipgram_exact(s, t, *columns, ALIAS, RATES, K_NOISE, TINY, SEED),
        lambda s, t: summed(
            reference.skipgram_gradient(s, t, ids[i], contexts[i], per_pair[i], [1.0] * K_NOISE)
            for i in range(len(ids))
        ),
    )


@pytest.mark.parametrize("window", [1, 3, 40])
@pytest.mark.parametrize("shared, batch", [(8, 32), (5, 24)])
def test_skipgram_fast_applies_the_reference_gradient(window, shared, batch):
    columns = block(window)
    ids = columns[0]
    contexts = [context_of(i, *columns) for i in range(len(ids))]
    noise = shared_draws(ALIAS, SEED, len(ids), shared, batch)
    weights = [K_NOISE / shared] * shared
    assert_update_is_gradient(
        lambda s, t: skipgram.skipgram_fast(s, t, *columns, ALIAS, RATES, K_NOISE, shared, batch, TINY, SEED),
        lambda s, t: summed(
            reference.skipgram_gradient(s, t, ids[i], contexts[i], [noise[i]] * len(contexts[i]), weights)
            for i in range(len(ids))
        ),
    )


@pytest.mark.parametrize("name", ["cbow exact", "cbow fast", "skipgram exact", "skipgram fast"])
@pytest.mark.parametrize("length", [1, 2, 3])
def test_sentences_shorter_than_the_window_apply_the_reference_gradient(name, length):
    """From the corpus on: a sentence of one token has no window and changes nothing."""
    corpus, offsets = np.arange(length, dtype=np.int32), np.array([0, length])
    buffers = [np.empty(length, np.int32) for _ in range(3)]
    keep, lookup = np.full(V, 1 << 32, np.uint64), np.arange(V, dtype=np.int32)
    n = sample_block(corpus, offsets, 0, 1, lookup, keep, 5, False, False, SEED, *buffers)
    columns = [buffer[:n] for buffer in buffers]
    assert n == (0 if length == 1 else length)
    contexts = [context_of(i, *columns) for i in range(n)]
    fast, shared = "fast" in name, 4
    noise = draws(ALIAS, SEED, 100)
    weights = [K_NOISE / shared] * shared if fast else [1.0] * K_NOISE
    groups = iter(np.array(noise[: K_NOISE * 30]).reshape(-1, K_NOISE).tolist())
    source, target = matrices(1)
    new_source, new_target = source.copy(), target.copy()
    d_source, d_target = np.zeros_like(source), np.zeros_like(target)
    sharing = (shared, 8) if fast else ()
    if name.startswith("cbow"):
        kernel = cbow.cbow_fast if fast else cbow.cbow_exact
        kernel(new_source, new_target, *columns, ALIAS, RATES, K_NOISE, *sharing, TINY, True, True, SEED)
        for i in range(n):
            words = noise[:shared] if fast else next(groups)
            step = reference.cbow_gradient(source, target, i, contexts[i], words, weights)
            d_source, d_target = d_source + step[0], d_target + step[1]
    else:
        kernel = skipgram.skipgram_fast if fast else skipgram.skipgram_exact
        kernel(new_source, new_target, *columns, ALIAS, RATES, K_NOISE, *sharing, TINY, SEED)
        for i in range(n):
            words = [noise[:shared] if fast else next(groups) for _ in contexts[i]]
            step = reference.skipgram_gradient(source, target, i, contexts[i], words, weights)
            d_source, d_target = d_source + step[0], d_target + step[1]
    np.testing.assert_allclose((source - new_source) / (TINY * RATES[0][:, None]), d_source, atol=1e-6)
    np.testing.assert_allclose((target - new_target) / (TINY * RATES[1][:, None]), d_target, atol=1e-6)


def test_cbow_exact_follows_the_reference_step_by_step_at_a_real_rate():
    """With enough words that no window meets one twice: a kernel uses at once what it has just updated."""
    rows, steps = 5000, 120
    random = np.random.default_rng(3)
    ids = random.choice(rows, steps, replace=False).astype(np.int32)
    places = np.arange(steps)
    left, right = np.maximum(places - 2, 0).astype(np.int32), np.minimum(places + 3, steps).astype(np.int32)
    alias = build_alias_table(np.full(rows, 1 / rows))
    noise = np.array(draws(alias, SEED, steps * K_NOISE)).reshape(-1, K_NOISE)
    source, target = matrices(1, rows)
    fast_source, fast_target = source.astype(np.float32), target.astype(np.float32)
    cbow.cbow_exact(
        fast_source,
        fast_target,
        ids,
        left,
        right,
        alias,
        np.ones(rows, np.float32),
        K_NOISE,
        np.float32(0.5),
        True,
        True,
        SEED,
    )
    begin = source.copy()
    for i in range(steps):
        context = context_of(i, ids, left, right)
        step = reference.cbow_gradient(source, target, ids[i], context, noise[i], [1.0] * K_NOISE)
        source -= 0.5 * step[0]
        target -= 0.5 * step[1]
    assert np.abs(source - begin).max() > 0.1
    np.testing.assert_allclose(fast_source, source, atol=1e-5)
    np.testing.assert_allclose(fast_target, target, atol=1e-5)


KERNELS = {
    "cbow exact": lambda s, t, *data: cbow.cbow_exact(
        s, t, *data, ALIAS, RATES[1].astype(s.dtype), K_NOISE, s.dtype.type(0.05), True, True, SEED
    ),
    "cbow fast": lambda s, t, *data: cbow.cbow_fast(
        s, t, *data, ALIAS, RATES[1].astype(s.dtype), K_NOISE, 8, 32, s.dtype.type(0.05), True, True, SEED
    ),
    "skipgram exact": lambda s, t, *data: skipgram.skipgram_exact(
        s, t, *data, ALIAS, RATES[1].astype(s.dtype), K_NOISE, s.dtype.type(0.02), SEED
    ),
    "skipgram fast": lambda s, t, *data: skipgram.skipgram_fast(
        s, t, *data, ALIAS, RATES[1].astype(s.dtype), K_NOISE, 8, 32, s.dtype.type(0.02), SEED
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_float32_training_follows_float64_training(name):
    source, target = matrices(1)
    single = source.astype(np.float32), target.astype(np.float32)
    KERNELS[name](*single, *block(3))
    KERNELS[name](source, target, *block(3))
    np.testing.assert_allclose(single[0], source, atol=1e-4)
    np.testing.assert_allclose(single[1], target, atol=1e-4)


@pytest.mark.parametrize("name", KERNELS)
def test_the_loss_is_the_reference_loss_of_the_first_targets(name):
    """At rate 0 the sampled loss of a block of at most one batch is the mean loss of its first target or of all."""
    source, target = matrices(1)
    ids, left, right = (column[-3:] for column in block(3))
    left, right = left - left.min(), right - left.min()
    n = len(ids)
    contexts = [context_of(i, ids, left, right) for i in range(n)]
    zero, fast = 0.0, "fast" in name
    shared, counted = 8, n if fast else 1
    weights = [K_NOISE / shared] * shared if fast else [1.0] * K_NOISE
    noise = draws(ALIAS, SEED, 200)
    if name.startswith("cbow"):
        arguments = (K_NOISE, shared, 32, zero, True, True, SEED) if fast else (K_NOISE, zero, True, True, SEED)
        kernel = cbow.cbow_fast if fast else cbow.cbow_exact
        expected = sum(
            reference.cbow_loss(source, target, ids[i], contexts[i], noise[: len(weights)], weights)
            for i in range(counted)
        )
    else:
        arguments = (K_NOISE, shared, 32, zero, SEED) if fast else (K_NOISE, zero, SEED)
        kernel = skipgram.skipgram_fast if fast else skipgram.skipgram_exact
        per_pair = np.array(noise[: K_NOISE * 60]).reshape(-1, K_NOISE).tolist()
        expected = sum(
            reference.skipgram_loss(
                source, target, ids[i], contexts[i], [noise[:shared]] * 9 if fast else per_pair, weights
            )
            for i in range(counted)
        )
    loss, tokens = kernel(source, target, ids, left, right, ALIAS, RATES, *arguments)
    assert tokens == counted
    assert loss == pytest.approx(expected, rel=1e-6)


def test_sigmoid_is_accurate_and_keeps_nan():
    x = np.linspace(-40, 40, 20_001)
    ours = np.array([numerics.sigmoid(value) for value in x])
    assert np.abs(ours - reference.sigmoid(x)).max() < 2e-7
    assert np.isnan(numerics.sigmoid(np.nan))
    assert np.isnan(numerics.sigmoid(np.float32(np.nan)))
