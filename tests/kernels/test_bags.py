"""Kernels over bags of rows: the gradients of the equations, and the steps of NumPy that composes words and returns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mumon.corpus.subwords import Ngrams
from mumon.kernels import bags as kernels
from mumon.kernels import cbow, reference, skipgram
from mumon.kernels.layout import PADDING, PIECE, count_scratch_rows
from mumon.kernels.numerics import LOSS_BATCHES, LOSS_TARGETS
from mumon.training.gradcheck import finite_differences
from mumon.training.sampling import build_alias_table
from mumon.training.settings import Settings
from tests.kernels.test_kernel_laws import TINY, blocks, drawn
from tests.kernels.test_real_rates import ALPHA, exchange_with_noise, sigmoid, step

VARIANTS = {  # what a training is asked for; the settings say what the kernels do for it
    "cbow": {},
    "cbow, faulty": {"update": "faulty"},
    "cbow, sum": {"cbow_mean": False},
    "cbow, faulty sum": {"cbow_mean": False, "update": "faulty"},
    "pooled": {"pool_rows": True},
    "pooled, faulty": {"pool_rows": True, "update": "faulty"},
    "pooled sum": {"pool_rows": True, "cbow_mean": False},
    "sg": {"objective": "sg"},
    "sg, faulty": {"objective": "sg", "update": "faulty"},
}
SPEEDS = pytest.mark.parametrize("fast", [False, True], ids=["exact", "fast"])


def choose(variant):
    return Settings(subwords=Ngrams(), **VARIANTS[variant])


def run(variant, fast, source, target, bags, columns, alias, rates, sharing, alpha, seed):
    """Run the kernel that a training with these settings runs; `bags` are starts, middles and members."""
    record, options = choose(variant).objective_record, choose(variant)
    more = record.kernel_switches(options)
    numbers = sharing if fast else sharing[:1]
    rows = count_scratch_rows(len(columns[0]), len(target), sharing[-1], find_reach(*columns[1:]))
    scratch = np.full((rows, source.shape[1]), np.nan, source.dtype)
    arrays = source, target, *bags, scratch, *columns, alias, rates
    return record.kernel(not fast)(*arrays, *numbers, source.dtype.type(alpha), *more, np.uint64(seed))


def find_reach(left, right):
    tokens = np.arange(len(left))
    return int(max(np.max(tokens - left, initial=0), np.max(right - tokens - 1, initial=0)))


def lay_out(lists, middles):
    """The arrays of some bags; `middles` says how many rows of each are frequent."""
    starts = np.cumsum([0, *map(len, lists)])
    return starts, starts[:-1] + np.array(middles), np.concatenate(lists).astype(np.int32)


@st.composite
def bags_of(draw, V):
    """Bags of one row and more, with repeated rows, and rows that several words share; all, no or some frequent."""
    R = V + draw(st.integers(0, 6))
    lists = [draw(st.lists(st.integers(0, R - 1), min_size=1, max_size=5)) for _ in range(V)]
    kind = draw(st.sampled_from(["frequent", "rare", "mixed"]))
    if kind == "mixed":
        middles = [draw(st.integers(0, len(bag))) for bag in lists]
    else:
        middles = [len(bag) if kind == "frequent" else 0 for bag in lists]
    return R, lists, middles


@st.composite
def problems(draw):
    V, D, columns, sharing, seed = draw(blocks())
    return D, columns, sharing, seed, *draw(bags_of(V))


def make_model(V, R, D, seed):
    random = np.random.default_rng(seed)
    width = -(-D // PADDING) * PADDING
    source, target = np.zeros((R, width)), np.zeros((V, width))
    source[:, :D], target[:, :D] = random.normal(0, 0.3, (R, D)), random.normal(0, 0.3, (V, D))
    return build_alias_table(random.dirichlet(np.ones(V))), random.uniform(0.5, 2, (2, R)), source, target


def find_contexts(columns):
    ids, left, right = (column.tolist() for column in columns)
    return [[ids[j] for j in range(left[i], right[i]) if j != i] for i in range(len(ids))]


def list_noise(variant, fast, alias, seed, contexts, sharing):
    """The noise words of each token: a list for each of its pairs; and their weights."""
    negative, shared, batch = sharing
    pairs = [len(context) if variant.startswith("sg") else 1 for context in contexts]
    if fast:
        words = drawn(alias, seed, -(-len(contexts) // batch) * shared).reshape(-1, shared)
        return [words[[i // batch] * pairs[i]] for i in range(len(contexts))], [negative / shared] * shared
    words = drawn(alias, seed, sum(pairs) * negative).reshape(-1, negative)
    return np.split(words, np.cumsum(pairs)[:-1]), [1.0] * negative


def take_gradient(variant, source, target, lists, word, context, noise, weights):
    options = choose(variant)
    if options.objective == "sg":
        return reference.bags_skipgram_gradient(
            source, target, lists, word, context, noise, weights, update=options.update
        )
    return reference.bags_cbow_gradient(
        source, target, lists, word, context, noise[0], weights, options.cbow_mean, options.update, options.pool_rows
    )


# ---- the equations


WINDOWS = {"distinct": (0, [1, 2, 3]), "repeated": (0, [1, 2, 1]), "centre repeated": (0, [1, 0]), "one": (3, [2])}
BAGS = [[0, 4, 5], [1], [2, 4, 4, 6], [3, 3]]  # rows repeat in bags and among them
NOISE, WEIGHTS = [2, 0, 1], [1.0, 0.5, 2.0]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("variant", [name for name in VARIANTS if "faulty" not in name])
def test_reference_gradients_with_bags_are_the_derivatives_of_their_losses(variant, window):
    random, options = np.random.default_rng(1), choose(variant)
    source, target = random.normal(0, 0.3, (7, 4)), random.normal(0, 0.3, (4, 4))
    centre, context = WINDOWS[window]

    def loss():
        words = source, target, BAGS, centre, context
        if options.objective == "sg":
            return reference.bags_skipgram_loss(*words, [NOISE] * len(context), WEIGHTS)
        equation = reference.pooled_cbow_loss if options.pool_rows else reference.bags_cbow_loss
        return equation(*words, NOISE, WEIGHTS, options.cbow_mean)

    gradients = take_gradient(variant, source, target, BAGS, centre, context, [NOISE] * len(context), WEIGHTS)
    for gradient, matrix in zip(gradients, (source, target), strict=True):
        assert np.abs(gradient).max() > 0.01
        np.testing.assert_allclose(gradient, finite_differences(loss, matrix), atol=1e-6)


@pytest.mark.parametrize("window", WINDOWS)
def test_the_faulty_update_leaves_out_every_division(window):
    """Where a bag's rows are its own alone, each receives the derivative times its bag's size and the contexts."""
    random = np.random.default_rng(1)
    lists = [[0, 4, 5], [1], [2, 6, 7, 8], [3, 9]]
    source, target = random.normal(0, 0.3, (10, 4)), random.normal(0, 0.3, (4, 4))
    centre, context = WINDOWS[window]
    sizes = np.zeros((10, 1))
    for bag in lists:
        sizes[bag] = len(bag)
    factors = {"cbow": sizes * len(context), "sg": sizes, "pooled": sum(len(lists[word]) for word in context)}
    for variant, factor in factors.items():
        both = [
            take_gradient(name, source, target, lists, centre, context, [NOISE] * len(context), WEIGHTS)
            for name in (variant, f"{variant}, faulty")
        ]
        np.testing.assert_allclose(both[1][0], factor * both[0][0], atol=1e-12)
        np.testing.assert_array_equal(both[1][1], both[0][1])


# ---- the kernels at a tiny rate: the gradients


def assert_gradient(variant, fast, model, bags, lists, columns, sharing, seed, D):
    alias, rates, source, target = model
    new_source, new_target = source.copy(), target.copy()
    run(variant, fast, new_source, new_target, bags, columns, alias, rates, sharing, TINY, seed)
    contexts = find_contexts(columns)
    noise, weights = list_noise(variant, fast, alias, seed, contexts, sharing)
    d_source, d_target = np.zeros_like(source), np.zeros_like(target)
    for word, context, here in zip(columns[0], contexts, noise, strict=True):
        steps = take_gradient(variant, source, target, lists, word, context, here, weights)
        d_source, d_target = d_source + steps[0], d_target + steps[1]
    for old, new, own, expected in zip(
        (source, target), (new_source, new_target), rates, (d_source, d_target), strict=True
    ):
        change = (old - new) / (TINY * own[: len(old), None])
        np.testing.assert_allclose(change, expected, atol=2e-5 * max(1.0, np.abs(expected).max()))
        assert not new[:, D:].any()  # padding stays padding


@SPEEDS
@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=20, deadline=None)
@given(problems())
def test_blocks_of_any_shape_are_updated_by_the_reference_gradient_of_bags(variant, fast, problem):
    D, columns, sharing, seed, R, lists, middles = problem
    model = make_model(len(lists), R, D, seed)
    assert_gradient(variant, fast, model, lay_out(lists, middles), lists, columns, sharing, seed, D)


def make_text(V, lengths, window, seed):
    random = np.random.default_rng(seed)
    ids, left, right = [], [], []
    for length in lengths:
        begin, end = len(ids), len(ids) + length
        for i in range(begin, end):
            reach = random.integers(1, window + 1)
            left.append(max(begin, i - reach))
            right.append(min(end, i + reach + 1))
        ids += random.integers(0, V, length).tolist()
    return [np.array(column, np.int32) for column in (ids, left, right)]


def make_bags(V, R, seed, frequent):
    """Bags of 1 to 6 rows, each with the word's own; a share of all rows is frequent, and comes first in each bag."""
    random = np.random.default_rng(seed)
    is_rare = random.random(R) >= frequent
    lists = [[word, *random.integers(0, R, word % 6).tolist()] for word in range(V)]
    lists = [sorted(bag, key=lambda row: is_rare[row]) for bag in lists]
    return lists, [sum(not is_rare[row] for row in bag) for bag in lists]


LONG = [PIECE + 7, 2, 3 * PIECE // 2, 5]  # sentences that cross the ends of pieces


@pytest.mark.parametrize("frequent", [0, 0.5, 1])
@pytest.mark.parametrize("sharing", [(3, 5, 8), (2, 16, 600)], ids=str)
@pytest.mark.parametrize("variant", ["cbow", "pooled, faulty", "sg"])
def test_texts_of_several_pieces_are_updated_by_the_reference_gradient_of_bags(variant, sharing, frequent):
    V, R, D, seed = 12, 20, 3, 5
    lists, middles = make_bags(V, R, seed, frequent)
    columns = make_text(V, LONG, 4, seed)
    assert len(columns[0]) > 2 * PIECE
    model = make_model(V, R, D, seed)
    assert_gradient(variant, True, model, lay_out(lists, middles), lists, columns, sharing, seed, D)


@SPEEDS
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_loss_with_bags_is_the_reference_loss(variant, fast):
    """At rate 0, of one token in 16 (exact), or of one batch in 64 of each piece (fast)."""
    V, R, D, seed, sharing = 12, 20, 5, 3, (3, 5, 7)
    lists, middles = make_bags(V, R, seed, 0.5)
    columns, options = make_text(V, LONG, 4, seed), choose(variant)
    alias, rates, source, target = make_model(V, R, D, seed)
    loss, counted = run(variant, fast, source, target, lay_out(lists, middles), columns, alias, rates, sharing, 0, seed)
    contexts = find_contexts(columns)
    noise, weights = list_noise(variant, fast, alias, seed, contexts, sharing)
    batches = PIECE // 7
    chosen = [
        i for i in range(len(contexts)) if (i // 7 % batches % LOSS_BATCHES == 0 if fast else i % LOSS_TARGETS == 0)
    ]
    expected = 0.0
    for i in chosen:
        words = source, target, lists, columns[0][i], contexts[i]
        if options.objective == "sg":
            expected += reference.bags_skipgram_loss(*words, noise[i], weights)
        else:
            equation = reference.pooled_cbow_loss if options.pool_rows else reference.bags_cbow_loss
            expected += equation(*words, noise[i][0], weights, options.cbow_mean)
    assert counted == len(chosen)
    assert loss == pytest.approx(expected, rel=1e-6)


# ---- the kernels at a real rate: the same steps in the same order


class Composer:
    """How bags become vectors and take what these have learned, by the settings of a training."""

    def __init__(self, variant, lists, rates):
        average = not choose(variant).pool_rows
        divide_rows = average and choose(variant).update == "correct"
        self.lists, self.rates = lists, rates
        self.shares = [1 / len(bag) if average else 1.0 for bag in lists]
        self.returns = [1 / len(bag) if divide_rows else 1.0 for bag in lists]

    def compose(self, source, word, rows):
        return self.shares[word] * source[rows].sum(axis=0)

    def rate(self, word, rows):
        return self.shares[word] * self.returns[word] * self.rates[0][rows].sum()

    def give(self, source, word, rows, change, rate):
        """Give to some rows their part of the change of a vector that moved at a rate."""
        for row in rows:
            source[row] += self.rates[0][row] * self.returns[word] / rate * change


def simulate_exact(variant, source, target, lists, columns, noise, rates):
    composer, options = Composer(variant, lists, rates), choose(variant)
    divide_in, divide_out = options.cbow_mean, options.cbow_mean == (options.update == "correct")
    for i, (word, context) in enumerate(zip(columns[0], find_contexts(columns), strict=True)):
        if options.objective == "sg":
            for c, words in zip(context, noise[i], strict=True):
                dh = step(composer.compose(source, word, lists[word]), target, c, words, rates)
                for row in lists[word]:
                    source[row] += rates[0][row] * composer.returns[word] * dh
            continue
        C = sum(len(lists[c]) for c in context) if options.pool_rows else len(context)
        h = sum(composer.compose(source, c, lists[c]) for c in context) / (C if divide_in else 1)
        dh = step(h, target, word, noise[i][0], rates)
        for c in context:
            for row in lists[c]:
                source[row] += rates[0][row] * composer.returns[c] * dh / (C if divide_out else 1)


def simulate_fast(variant, source, target, lists, frequent, columns, noise, rates, sharing):
    """Compose rare rows for the text, frequent ones for each piece; train vectors; give rows what these learned."""
    ids, left, right = (column.tolist() for column in columns)
    batch = sharing[-1]
    composer, n, is_cbow = Composer(variant, lists, rates), len(ids), not variant.startswith("sg")
    reach = max(max(i - left[i], right[i] - i - 1) for i in range(n)) if is_cbow else 0
    size = max(PIECE // batch, 1) * batch
    words = list(dict.fromkeys(ids))
    hot = {word: lists[word][: frequent[word]] for word in words}
    rare = {word: lists[word][frequent[word] :] for word in words}
    cold = {word: composer.compose(source, word, rare[word]) for word in words}
    cold_before = {word: vector.copy() for word, vector in cold.items()}
    cold_rates = {word: composer.rate(word, rare[word]) for word in words}
    for begin in range(0, n, size):
        end = min(begin + size, n)
        here = list(dict.fromkeys(ids[max(begin - reach, 0) : min(end + reach, n)]))
        vectors = {word: cold[word] + composer.compose(source, word, hot[word]) for word in here}
        before = {word: vector.copy() for word, vector in vectors.items()}
        speeds = {word: cold_rates[word] + composer.rate(word, hot[word]) for word in here}
        train = train_cbow_piece if is_cbow else train_skipgram_piece
        train(variant, vectors, speeds, target, lists, (ids, left, right), begin, end, reach, noise, rates, sharing)
        for word in here:
            if speeds[word] > 0:
                change = vectors[word] - before[word]
                composer.give(source, word, hot[word], change, speeds[word])
                cold[word] += cold_rates[word] / speeds[word] * change
    for word in words:
        if cold_rates[word] > 0:
            composer.give(source, word, rare[word], cold[word] - cold_before[word], cold_rates[word])


def train_cbow_piece(
    variant, vectors, speeds, target, lists, columns, begin, end, reach, noise, rates, sharing
):  # fmt: skip
    """As `simulate_fast_cbow`: vectors are read when the first window reaches them, updated when the last has left."""
    ids, left, right = columns
    negative, shared, batch = sharing
    options = choose(variant)
    divide_in, divide_out = options.cbow_mean, options.cbow_mean == (options.update == "correct")
    n, columns = len(ids), target.shape[1]
    rows, changes = np.zeros((n, columns)), np.zeros((n, columns))
    seen = settled = max(begin - reach, 0)
    for first in range(begin, end, batch):
        tokens, words = range(first, min(first + batch, end)), noise[first][0]
        upto = max(seen, *(right[i] for i in tokens))
        for j in range(seen, upto):
            rows[j] = vectors[ids[j]]
        seen = upto
        contexts = [[j for j in range(left[i], right[i]) if j != i] for i in tokens]
        counts = [sum(len(lists[ids[j]]) if options.pool_rows else 1 for j in context) for context in contexts]
        h = np.array(
            [rows[context].sum(0) / (C if divide_in else 1) for context, C in zip(contexts, counts, strict=True)]
        )
        others = words[None] != np.array([ids[i] for i in tokens])[:, None]
        dh = exchange_with_noise(
            h, target, words, -ALPHA * negative / shared * others * sigmoid(h @ target[words].T), rates
        )
        for r, i in enumerate(tokens):
            dh[r] += step(h[r], target, ids[i], [], rates)
            changes[contexts[r]] += dh[r] / (counts[r] if divide_out else 1)
        done = seen if tokens[-1] + 1 == end else max(settled, tokens[-1] + 1 - reach)
        for j in range(settled, done):
            vectors[ids[j]] += speeds[ids[j]] * changes[j]
        settled = done


def train_skipgram_piece(
    variant, vectors, speeds, target, lists, columns, begin, end, reach, noise, rates, sharing
):  # fmt: skip
    ids, left, right = columns
    negative, shared, batch = sharing
    for first in range(begin, end, batch):
        tokens, words = range(first, min(first + batch, end)), noise[first][0]
        contexts = [[ids[j] for j in range(left[i], right[i]) if j != i] for i in tokens]
        h = np.array([vectors[ids[i]] for i in tokens])
        weights = negative / shared * np.array([[sum(c != m for c in context) for m in words] for context in contexts])
        dh = exchange_with_noise(h, target, words, -ALPHA * weights * sigmoid(h @ target[words].T), rates)
        for r, i in enumerate(tokens):
            for c in contexts[r]:
                dh[r] += step(h[r], target, c, [], rates)
            vectors[ids[i]] += speeds[ids[i]] * dh[r]


def assert_same_steps(variant, fast, model, lists, middles, columns, sharing, seed):
    alias, rates, source, target = model
    before = source.copy(), target.copy()
    new_source, new_target = source.copy(), target.copy()
    run(variant, fast, new_source, new_target, lay_out(lists, middles), columns, alias, rates, sharing, ALPHA, seed)
    noise, _ = list_noise(variant, fast, alias, seed, find_contexts(columns), sharing)
    with np.errstate(over="ignore", invalid="ignore"):
        if fast:
            simulate_fast(variant, source, target, lists, middles, columns, noise, rates, sharing)
        else:
            simulate_exact(variant, source, target, lists, columns, noise, rates)
    tame = max(np.abs(source).max(), np.abs(target).max()) < 30  # else the run diverges, and rounding grows with it
    if tame:
        np.testing.assert_allclose(new_source, source, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(new_target, target, rtol=1e-4, atol=1e-4)
        for old, new, own in zip(before, (new_source, new_target), rates, strict=True):
            frozen = own[: len(old)] == 0
            assert old[frozen].tobytes() == new[frozen].tobytes()
    return tame


@SPEEDS
@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=20, deadline=None)
@given(problems(), st.sampled_from([0.0, 0.3, 0.8, 1.0]))
def test_steps_at_a_real_rate_with_bags_follow_each_other_as_in_numpy(variant, fast, problem, frozen):
    D, columns, sharing, seed, R, lists, middles = problem
    alias, rates, source, target = make_model(len(lists), R, D, seed)
    rates[np.random.default_rng(seed + 1).random(rates.shape) < frozen] = 0
    if not choose(variant).cbow_mean:
        rates *= 0.1  # sums of many rows diverge
    assert_same_steps(variant, fast, (alias, rates, source, target), lists, middles, columns, sharing, seed)


@pytest.mark.parametrize("frequent, frozen", [(0, 0.4), (0.5, 0), (0.5, 0.4), (1, 0.4)])
@pytest.mark.parametrize("sharing", [(3, 5, 8), (1, 40, 600)], ids=str)
@pytest.mark.parametrize("variant", ["cbow", "cbow, faulty", "pooled", "sg"])
def test_texts_of_several_pieces_take_the_steps_of_numpy(variant, sharing, frequent, frozen):
    """Vectors of words are made once for a piece, and rare rows' parts of them once for the text."""
    V, R, D, seed = 400, 700, 3, 5
    lists, middles = make_bags(V, R, seed, frequent)
    columns = make_text(V, LONG, 3, seed)
    alias, rates, source, target = make_model(V, R, D, seed)
    rates *= 0.3
    rates[:, np.random.default_rng(1).random(R) < frozen] = 0
    model = alias, rates, source.copy(), target.copy()
    assert assert_same_steps(variant, True, model, lists, middles, columns, sharing, seed)
    assert min(np.abs(new - old).max() for new, old in zip(model[2:], (source, target), strict=True)) > 0.03


@pytest.mark.parametrize("rare", [False, True], ids=["frequent", "rare"])
@pytest.mark.parametrize("variant", ["cbow", "cbow, faulty", "cbow, sum", "pooled", "sg"])
@settings(max_examples=20, deadline=None)
@given(blocks())
def test_bags_of_the_own_row_are_no_bags_at_all(variant, rare, block):
    V, D, columns, sharing, seed = block
    alias, rates, source, target = make_model(V, V, D, seed)
    plain = source.copy(), target.copy()
    bags = lay_out([[word] for word in range(V)], [0 if rare else 1] * V)
    loss = run(variant, True, source, target, bags, columns, alias, rates, sharing, ALPHA, seed)
    options = choose(variant)
    more = (options.cbow_mean, options.cbow_mean == (options.update == "correct")) if options.objective != "sg" else ()
    kernel = cbow.cbow_fast if options.objective == "cbow" else skipgram.skipgram_fast
    expected = kernel(*plain, *columns, alias, rates, *sharing, ALPHA, *more, np.uint64(seed))
    if max(np.abs(matrix).max() for matrix in plain) < 1e3:  # else it diverges
        assert loss == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(source, plain[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(target, plain[1], rtol=1e-7, atol=1e-9)


@SPEEDS
@pytest.mark.parametrize("variant", ["cbow", "pooled", "sg"])
def test_float32_training_with_bags_follows_float64_training(variant, fast):
    V, R, D, seed, sharing = 50, 90, 16, 2, (3, 8, 8)
    lists, middles = make_bags(V, R, seed, 0.5)
    columns, bags = make_text(V, [300, 2, 90], 4, seed), lay_out(lists, middles)
    alias, rates, *double = make_model(V, R, D, seed)
    single = [matrix.astype(np.float32) for matrix in double]
    run(variant, fast, *double, bags, columns, alias, rates, sharing, 0.05, seed)
    run(variant, fast, *single, bags, columns, alias, rates.astype(np.float32), sharing, 0.05, seed)
    for one, other in zip(single, double, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_words_are_composed_as_the_means_of_their_rows(data):
    V, D, seed = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 33)), data.draw(st.integers(0, 99))
    R, lists, middles = data.draw(bags_of(V))
    source = make_model(V, R, D, seed)[2].astype(np.float32)
    starts, _, members = lay_out(lists, middles)
    first = data.draw(st.integers(0, V))
    last = data.draw(st.integers(first, V))
    out = np.full((V, D), 7, np.float32)
    kernels.compose_words(source, starts, members, first, last, out)
    np.testing.assert_allclose(
        out[first:last], reference.compose_vectors(source.astype(float), lists)[first:last, :D], rtol=1e-5, atol=1e-6
    )
    assert (np.delete(out, np.s_[first:last], axis=0) == 7).all()
