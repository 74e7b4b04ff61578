"""Kernels of any shape follow the reference, and neighbours are those of brute force, whatever ties or is left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mumon import WordVectors
from mumon.kernels import cbow, positions, reference, skipgram
from mumon.kernels.layout import PADDING
from mumon.kernels.noise import draw_negatives
from mumon.training.sampling import build_alias_table
from mumon.vectors.neighbours import find_largest

TINY = 1e-9  # a rate at which an update is the gradient: what changes meanwhile is of second order


@st.composite
def blocks(draw):
    """Sentences and windows of any length over V words, noise words and batches of any number, rows of any width."""
    V, D = draw(st.sampled_from([1, 2, 3, 7])), draw(st.sampled_from([1, 2, 15, 16, 17, 33]))
    window = draw(st.integers(1, 9))
    ids, left, right = [], [], []
    for length in draw(st.lists(st.sampled_from([2, 3, 5, 20]), min_size=1, max_size=3)):
        begin, end = len(ids), len(ids) + length
        for i in range(begin, end):
            reach = draw(st.integers(1, window))
            left.append(max(begin, i - reach))
            right.append(min(end, i + reach + 1))
        ids += draw(st.lists(st.integers(0, V - 1), min_size=length, max_size=length))
    columns = [np.array(column, np.int32) for column in (ids, left, right)]
    noise = draw(st.integers(1, 6)), draw(st.integers(1, 20)), draw(st.sampled_from([1, 2, 7, 8, 32, 100]))
    return V, D, columns, noise, draw(st.integers(0, 2**64 - 1))


def drawn(alias, seed, count):
    out = np.empty(count, np.int64)
    draw_negatives(alias, np.uint64(seed), out)
    return out


@pytest.mark.parametrize("fast", [False, True], ids=["exact", "fast"])
@pytest.mark.parametrize("update", ["correct", "faulty", None], ids=["cbow", "faulty cbow", "sg"])
@settings(max_examples=40, deadline=None)
@given(blocks())
def test_blocks_of_any_shape_are_updated_by_the_reference_gradient(update, fast, block):
    V, D, columns, (negative, shared, batch), seed = block
    random = np.random.default_rng(seed)
    alias, rates = build_alias_table(random.dirichlet(np.ones(V))), random.uniform(0.5, 2, (2, V))
    if seed % 2:  # both sides learn alike
        rates[0] = rates[1]
    given = rates[1] if seed % 2 else rates
    source, target = (np.zeros((V, -(-D // PADDING) * PADDING)) for _ in range(2))
    source[:, :D], target[:, :D] = random.normal(0, 0.2, (2, V, D))
    new_source, new_target = source.copy(), target.copy()
    sharing = (negative, shared, batch) if fast else (negative,)
    division = () if update is None else (True, update == "correct")
    kernels = (skipgram.skipgram_exact, skipgram.skipgram_fast) if update is None else (cbow.cbow_exact, cbow.cbow_fast)
    kernels[fast](new_source, new_target, *columns, alias, given, *sharing, TINY, *division, np.uint64(seed))

    ids, left, right = (column.tolist() for column in columns)
    contexts = [[ids[j] for j in range(left[i], right[i]) if j != i] for i in range(len(ids))]
    weights = [negative / shared] * shared if fast else [1.0] * negative
    draws = [1 if update else len(context) for context in contexts]  # of fresh noise words, by exact kernels
    batches = -(-len(ids) // batch) if fast else sum(draws)
    noise = drawn(alias, seed, batches * len(weights)).reshape(batches, -1)
    d_source, d_target = np.zeros_like(source), np.zeros_like(target)
    for i, (word, context) in enumerate(zip(ids, contexts, strict=True)):
        here = noise[[i // batch] * draws[i]] if fast else noise[sum(draws[:i]) :][: draws[i]]
        if update is None:
            steps = reference.skipgram_gradient(source, target, word, context, here, weights)
        else:
            steps = reference.cbow_gradient(source, target, word, context, here[0], weights, True, update)
        d_source, d_target = d_source + steps[0], d_target + steps[1]
    for old, new, own, expected in zip(
        (source, target), (new_source, new_target), rates, (d_source, d_target), strict=True
    ):
        tolerance = 1e-5 * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose((old - new) / (TINY * own[:, None]), expected, atol=tolerance)
        assert not new[:, D:].any()  # padding stays padding


@pytest.mark.parametrize("fast", [False, True], ids=["exact", "fast"])
@settings(max_examples=40, deadline=None)
@given(blocks(), st.integers(1, 6))
def test_blocks_of_any_shape_are_updated_by_the_reference_gradient_with_positions(fast, block, distances):
    V, D, columns, (negative, shared, batch), seed = block
    random = np.random.default_rng(seed)
    alias, rates = build_alias_table(random.dirichlet(np.ones(V))), random.uniform(0.5, 2, V)
    start = [np.zeros((rows, -(-D // PADDING) * PADDING)) for rows in (V, V, 2 * distances)]
    for matrix, mean in zip(start, (0, 0, 1), strict=True):
        matrix[:, :D] = random.normal(mean, 0.2, (len(matrix), D))
    trained = [matrix.copy() for matrix in start]
    kernel = positions.cbow_positions_fast if fast else positions.cbow_positions_exact
    sharing = (negative, shared, batch) if fast else (negative,)
    weight_rate = 100.0  # weights are near 1, where a tiny step loses its digits
    kernel(*trained, *columns, alias, rates, *sharing, TINY, weight_rate, np.uint64(seed))

    ids, left, right = (column.tolist() for column in columns)
    weights = [negative / shared] * shared if fast else [1.0] * negative
    together = batch if fast else 1
    noise = drawn(alias, seed, -(-len(ids) // together) * len(weights)).reshape(-1, len(weights))
    expected = [np.zeros_like(matrix) for matrix in start]
    for i, word in enumerate(ids):
        offsets = [j - i for j in range(left[i], right[i]) if j != i]
        context, groups = [ids[i + o] for o in offsets], [reference.find_group(o, distances) for o in offsets]
        steps = reference.positional_cbow_gradient(*start, word, context, groups, noise[i // together], weights)
        expected = [total + step for total, step in zip(expected, steps, strict=True)]
    for old, new, rate, gradient in zip(
        start, trained, (rates[:, None], rates[:, None], weight_rate), expected, strict=True
    ):
        tolerance = 1e-5 * max(1.0, np.abs(gradient).max())
        np.testing.assert_allclose((old - new) / (TINY * rate), gradient, atol=tolerance)
        assert not new[:, D:].any()  # padding stays padding


@settings(max_examples=200, deadline=None)
@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 3), st.integers(1, 40)), elements=st.integers(0, 3)), st.data())
def test_of_equal_scores_the_earlier_come_first_even_where_the_answer_ends(scores, data):
    n = data.draw(st.integers(0, scores.shape[1] + 2))
    np.testing.assert_array_equal(find_largest(scores, n), np.argsort(-scores, axis=1, kind="stable")[:, :n])


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.float32, st.tuples(st.integers(2, 20), st.just(2)), elements=st.integers(-2, 2)), st.data())
def test_parts_of_a_vocabulary_with_ties_copies_and_zeros_are_searched_as_brute_force_does(matrix, data):
    V = len(matrix)
    rows = st.integers(0, V - 1)
    positive, negative = data.draw(st.lists(rows, min_size=1, max_size=3)), data.draw(st.lists(rows, max_size=2))
    start, end = data.draw(st.integers(0, V)), data.draw(st.none() | st.integers(1, V))
    restrict, topn = data.draw(st.none() | st.integers(1, V + 3)), data.draw(st.none() | st.integers(1, V + 3))
    wv = WordVectors([f"w{i}" for i in range(V)], matrix)
    asked = [f"w{i}" for i in positive], [f"w{i}" for i in negative]
    answer = wv.most_similar(*asked, topn=topn, clip_start=start, clip_end=end, restrict_vocab=restrict)

    exact = matrix.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    units = np.divide(exact, lengths, out=np.zeros_like(exact), where=lengths > 0)
    query = units[positive].sum(axis=0) - units[negative].sum(axis=0)
    if 0 < np.linalg.norm(query) < 1e-4:  # the direction of a cancelled sum is rounding
        return
    cosines = units @ (query / max(np.linalg.norm(query), 1e-9))
    places = range(V)[:restrict] if restrict else range(V)[start:end]
    if topn is None:
        np.testing.assert_allclose(answer, cosines[list(places)], atol=1e-5)
        return
    allowed = [i for i in places if i not in positive + negative]
    found = [int(word[1:]) for word, _ in answer]
    assert len(set(found)) == len(found) == min(topn, len(allowed)) and set(found) <= set(allowed)
    best = np.sort(cosines[allowed])[::-1][:topn]
    np.testing.assert_allclose(cosines[found], best, atol=1e-5)
    np.testing.assert_allclose([score for _, score in answer], best, atol=1e-5)
