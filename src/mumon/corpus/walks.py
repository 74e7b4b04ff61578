"""Random walks on a graph: the sentences of DeepWalk (Perozzi et al., 2014) and node2vec (Grover, Leskovec, 2016)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mumon.errors import OptionError
from mumon.utils.progress import Progress, choose_progress
from mumon.utils.threads import available_cores
from mumon.utils.validation import check_float, check_integer

if TYPE_CHECKING:
    from scipy import sparse

STEPS_AT_ONCE = 1 << 18  # of a thread between two updates of the progress bar
MAX_BIAS = 1000.0  # of p and q: a step is drawn again until it is accepted, on average up to this many times


def random_walks(
    graph: sparse.sparray | sparse.spmatrix | NDArray[np.integer[Any]] | list[tuple[int, int]],
    walks_per_node: int = 10,
    length: int = 80,
    *,
    p: float = 1.0,
    q: float = 1.0,
    directed: bool = False,
    seed: int = 1,
    workers: int | None = None,
    progress: bool | Progress | None = None,
) -> list[NDArray[np.integer[Any]]]:
    """Walk over a graph, starting `walks_per_node` times at every node.

    A step follows an edge in proportion to its weight, so that nodes of an undirected graph are visited in proportion
    to the sum of their weights. Walks end early at nodes without outgoing edges. The same seed gives the same walks,
    whatever the number of threads.

    Parameters
    ----------
    graph
        A square matrix of scipy.sparse, whose entry [a, b] is the weight of the edge from node a to node b; or edges,
        as an array of two columns or a list of pairs of integers, which are then the nodes of the walks. An edge that
        is listed twice counts twice.
    walks_per_node, length
        How many walks start at each node, in as many passes over all nodes in random order, and how many nodes a walk
        has, including its start.
    p, q
        node2vec's return and in-out parameters: the edge back to the previous node weighs 1/p times as much, an edge to
        a node that is not a neighbour of the previous one 1/q times. 1 and 1 are DeepWalk.
    directed
        Whether listed edges lead only from the first node to the second. A matrix has both directions or one.
    seed
        The seed of the random numbers.
    workers
        The number of threads; by default one for each core.
    progress
        True for a bar, False for nothing, or a reporter; by default a bar if there is a terminal.

    Returns
    -------
    list of ndarray
        The nodes of each walk.

    Examples
    --------
    >>> walks = random_walks([(1, 2), (2, 3), (7, 8)], walks_per_node=2, length=4)
    >>> len(walks), {len(walk) for walk in walks}
    (10, {4})
    >>> sorted(walk.tolist() for walk in walks if 7 in walk)
    [[7, 8, 7, 8], [7, 8, 7, 8], [8, 7, 8, 7], [8, 7, 8, 7]]
    """
    from mumon.kernels.walks import build_row_aliases, walk

    walks_per_node, length = check_integer("walks_per_node", walks_per_node), check_integer("length", length)
    seed, workers = check_integer("seed", seed, least=0), check_integer("workers", workers or available_cores())
    back, away = 1 / _check_bias("p", p), 1 / _check_bias("q", q)
    matrix, names = _build_from_edges(graph, directed) if _is_edge_list(graph) else (_check_matrix(graph), None)
    nodes = matrix.shape[0]
    starts, neighbours = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    alike = bool((matrix.data == matrix.data[:1]).all())
    aliases = np.empty((0, 2), np.uint32) if alike else build_row_aliases(starts, matrix.data.astype(np.float64))
    orders = np.random.default_rng([seed, 1])
    first = np.concatenate([orders.permutation(nodes).astype(np.int32) for _ in range(walks_per_node)])
    stream = np.random.SeedSequence([seed, 2]).generate_state(1, np.uint64)[0]
    steps = np.empty((len(first), length), np.int32)
    numbers = np.arange(len(first))
    portions = [slice(i, i + STEPS_AT_ONCE // length + 1) for i in range(0, len(first), STEPS_AT_ONCE // length + 1)]

    def fill(part: slice) -> int:
        walk(starts, neighbours, aliases, first[part], numbers[part], stream, back, away, steps[part])
        return len(steps[part])

    with choose_progress(progress) as shown, ThreadPoolExecutor(workers, "mumon-walk") as pool:
        shown.start("walking", len(first), "walks")
        done = 0
        for count in pool.map(fill, portions):
            done += count
            shown.update(done)
        shown.finish(f"{len(first):,} walks over {nodes:,} nodes and {matrix.nnz:,} edges")
    lengths = (steps >= 0).sum(axis=1)
    found: NDArray[Any] = steps if names is None else names[steps]
    return [row[:count] for row, count in zip(found, lengths.tolist(), strict=True)]


def _check_bias(name: str, value: float) -> float:
    number = check_float(name, value, above=0)
    if not 1 / MAX_BIAS <= number <= MAX_BIAS:
        raise OptionError(f"{name} is {number:g}; it must be a number from {1 / MAX_BIAS:g} to {MAX_BIAS:g}")
    return number


def _is_edge_list(graph: Any) -> bool:
    """Return whether these are edges rather than a sparse matrix."""
    from scipy import sparse

    return not sparse.issparse(graph)


def _build_from_edges(edges: Any, directed: bool) -> tuple[Any, NDArray[Any]]:
    """Build the matrix of listed edges, over the nodes that occur in them; return it and those nodes' own numbers."""
    from scipy import sparse

    pairs = np.asarray(edges)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise OptionError(
            f"edges of shape {pairs.shape} and type {pairs.dtype} were given; give pairs of integers or a sparse matrix"
        )
    names, places = np.unique(pairs, return_inverse=True)
    a, b = places.reshape(pairs.shape).T
    if not directed:  # an edge from a node to itself is not doubled
        a, b = np.concatenate([a, b[a != b]]), np.concatenate([b, a[a != b]])
    shape = (len(names), len(names))
    return _check_matrix(sparse.coo_array((np.ones(len(a)), (a, b)), shape)), names


def _check_matrix(graph: Any) -> Any:
    """Check a graph and return a copy in compressed rows, sorted, without edges of weight 0."""
    matrix = graph.tocsr(copy=True)
    if matrix.shape[0] != matrix.shape[1] or not matrix.nnz:
        raise OptionError(f"a graph of shape {matrix.shape} with {matrix.nnz:,} edges was given; give a square one")
    if matrix.data.dtype.kind not in "biuf" or not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise OptionError(f"of the {matrix.nnz:,} weights some are not finite numbers of at least 0; correct them")
    if matrix.shape[0] >= 1 << 31:
        raise OptionError(f"the graph has {matrix.shape[0]:,} nodes; at most {(1 << 31) - 1:,} can be walked over")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix
