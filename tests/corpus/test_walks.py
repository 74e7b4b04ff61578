"""Random walks follow edges, by the chances of DeepWalk and node2vec, and the same way for the same seed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats

from mumon.corpus.walks import random_walks
from mumon.errors import OptionError
from tests.samples import refused

SURPRISING = 1e-4  # a p-value below this is no accident; seeds are fixed, so the verdict does not change
# Node 3 is a neighbour of all others; weights differ by a factor of ten; node 5 hangs on node 3 alone.
WEIGHTED = np.array(
    [
        [0, 2, 0, 1, 0, 0],
        [2, 0, 5, 1, 0, 0],
        [0, 5, 0, 1, 3, 0],
        [1, 1, 1, 0, 10, 4],
        [0, 0, 3, 10, 0, 0],
        [0, 0, 0, 4, 0, 0],
    ],
    float,
)
edge_lists = st.lists(st.tuples(st.integers(-5, 20), st.integers(-5, 20)), min_size=1, max_size=40)


def plain_chances(weights, node, before=None, p=1.0, q=1.0):
    """Grover and Leskovec's transition probabilities from a node, written as they are in the paper."""
    chances = np.zeros(len(weights))
    for following in range(len(weights)):
        if before is None or (weights[before, following] > 0 and following != before):
            factor = 1.0
        else:
            factor = 1 / p if following == before else 1 / q
        chances[following] = factor * weights[node, following]
    return chances / chances.sum()


def surprise(counts, chances):
    """The p-value of counts under expected chances; what cannot happen must not have happened."""
    possible = chances > 0
    assert not counts[~possible].any()
    return stats.chisquare(counts[possible], counts.sum() * chances[possible] / chances[possible].sum()).pvalue


@settings(max_examples=60, deadline=None)
@given(edge_lists, st.booleans(), st.sampled_from([(1, 1), (0.25, 4), (4, 0.5)]), st.integers(0, 5))
def test_every_step_follows_an_edge_and_ends_only_where_there_is_none(edges, directed, bias, seed):
    p, q = bias
    walks = random_walks(edges, 2, 9, p=p, q=q, directed=directed, seed=seed)
    steps = set(edges) | (set() if directed else {(b, a) for a, b in edges})
    left = {a for a, _ in steps}
    starts = [int(walk[0]) for walk in walks]
    assert sorted(starts) == sorted(2 * list({node for edge in edges for node in edge}))
    for walk in (walk.tolist() for walk in walks):
        assert set(itertools.pairwise(walk)) <= steps
        assert len(walk) == 9 or walk[-1] not in left


@settings(max_examples=20, deadline=None)
@given(edge_lists, st.integers(0, 5), st.sampled_from([1, 3]))
def test_the_same_seed_gives_the_same_walks_whatever_the_number_of_threads(edges, seed, workers):
    one = random_walks(edges, 3, 12, seed=seed, workers=1)
    many = random_walks(edges, 3, 12, seed=seed, workers=workers)
    assert [walk.tolist() for walk in one] == [walk.tolist() for walk in many]


def test_threads_that_share_the_work_give_the_walks_of_one():
    edges = np.random.default_rng(0).integers(3000, size=(9000, 2))  # more steps than a thread takes at once
    one, many = (random_walks(edges, 5, 80, seed=2, workers=workers) for workers in (1, 4))
    assert all(np.array_equal(a, b) for a, b in zip(one, many, strict=True))
    other = random_walks(edges, 5, 80, seed=3)
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(("p", "q"), [(1, 1), (0.25, 1), (4, 1), (1, 0.25), (1, 4), (0.5, 2), (3, 0.2), (3, 3)])
@pytest.mark.parametrize("kind", ["weighted", "unweighted"])
def test_steps_have_the_chances_of_node2vec(p, q, kind):
    weights = WEIGHTED if kind == "weighted" else (WEIGHTED > 0).astype(float)
    walks = np.array(random_walks(sparse.csr_array(weights), 2000, 6, p=p, q=q, seed=4))
    counts = np.zeros((6, 6, 6), int)
    for place in range(4):
        np.add.at(counts, tuple(walks[:, place : place + 3].T), 1)
    firsts = np.zeros((6, 6), int)
    np.add.at(firsts, tuple(walks[:, :2].T), 1)
    values = [surprise(firsts[node], plain_chances(weights, node)) for node in range(5)]
    for before, node in zip(*np.nonzero(weights), strict=True):
        chances = plain_chances(weights, node, before, p, q)
        if (chances > 0).sum() > 1:
            values.append(surprise(counts[before, node], chances))
    assert min(values) > SURPRISING


def test_nodes_are_visited_in_proportion_to_their_degree():
    edges = np.random.default_rng(1).zipf(1.5, size=(400, 2)) % 60  # some nodes have many edges, most have few
    edges = np.concatenate([edges, [[node, (node + 1) % 60] for node in range(60)]])  # in one piece
    walks = np.array(random_walks(edges, 400, 201, seed=1))
    degrees = np.bincount(edges[edges[:, 0] != edges[:, 1]].ravel(), minlength=60)
    degrees += np.bincount(edges[edges[:, 0] == edges[:, 1], 0], minlength=60)
    assert degrees.max() > 20 * degrees.min()
    assert surprise(np.bincount(walks[:, 200], minlength=60), degrees / degrees.sum()) > SURPRISING


def test_walks_start_at_every_node_in_another_order_each_time():
    walks = random_walks([(a, a + 1) for a in range(50)], 3, 2, seed=1)
    passes = np.array(walks)[:, 0].reshape(3, 51)
    assert (np.sort(passes, axis=1) == np.arange(51)).all()
    assert len({tuple(order) for order in passes.tolist()}) == 3


def test_a_matrix_of_any_kind_is_the_same_graph_and_is_left_as_it_was():
    matrix = sparse.csr_matrix(WEIGHTED)
    matrix.data[0] = 0.0  # an edge that is written down and is none
    before = matrix.copy()
    expected = [walk.tolist() for walk in random_walks(matrix, 2, 10)]
    assert (before != matrix).nnz == 0 and before.nnz == matrix.nnz
    for kind in (sparse.coo_array, sparse.csc_matrix, sparse.lil_array):
        assert [walk.tolist() for walk in random_walks(kind(matrix), 2, 10)] == expected
    assert all((a, b) != (0, 1) for walk in expected for a, b in itertools.pairwise(walk))


def test_a_node_without_edges_is_a_walk_of_its_own():
    walks = random_walks(sparse.csr_array(([1.0], ([0], [1])), (3, 3)), 1, 5)
    assert sorted(walk.tolist() for walk in walks) == [[0, 1], [1], [2]]


def test_numbers_of_any_size_are_kept():
    large = 10**15
    walks = random_walks([(large, -1), (-1, 3)], 1, 3)
    assert {int(node) for walk in walks for node in walk} == {large, -1, 3}


@pytest.mark.parametrize(
    ("graph", "options", "said"),
    [
        ([(1, 2, 3)], {}, r"shape \(1, 3\).*pairs of integers"),
        ([("a", "b")], {}, "pairs of integers"),
        ([(0.5, 1.0)], {}, "pairs of integers"),
        (sparse.csr_array((3, 4)), {}, r"shape \(3, 4\).*square"),
        (sparse.csr_array((3, 3)), {}, "with 0 edges"),
        (sparse.csr_array(np.array([[0, -1], [1, 0]])), {}, "of the 2 weights"),
        (sparse.csr_array(np.array([[0, np.nan], [1, 0]])), {}, "of the 2 weights"),
        ([(1, 2)], {"p": 0}, "p is 0"),
        ([(1, 2)], {"q": 1e6}, "q is 1e"),
        ([(1, 2)], {"length": 0}, "length is 0"),
        ([(1, 2)], {"walks_per_node": 1.5}, "walks_per_node is 1.5"),
        ([(1, 2)], {"seed": -1}, "seed is -1"),
    ],
)
def test_what_is_no_graph_is_refused_in_a_sentence(graph, options, said):
    refused(lambda: random_walks(graph, **options), said, error=OptionError)
