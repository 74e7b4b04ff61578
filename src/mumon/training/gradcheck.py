"""The finite-difference check that would have found the mistake: is what training applies the gradient of its loss?

A small problem is made of random matrices and a few windows of C context words each. The loss of all its windows is
differentiated numerically, weight by weight. Then each kernel takes one tiny step from the same start, with the same
noise words, and what it changed is compared with those derivatives. This is the kernels' own step, in float64 and
before the rates of rows (`rate_exponent`), which multiply it row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.kernels.layout import PADDING, count_scratch_rows
from mumon.training.objectives import OBJECTIVES, Window, find_objective
from mumon.training.sampling import build_alias_table
from mumon.training.settings import Settings
from mumon.utils.validation import check_integer

Array = npt.NDArray[np.float64]
WORDS, SENTENCES, SHARED_ROWS = 12, 2, 5
STEP, TINY = 1e-5, 1e-9  # of a finite difference, and of a kernel's step, whose second order then vanishes
WEIGHT_RATE = 100.0  # of shared weights, as a multiple of that step: they are near 1, where smaller steps lose digits
MOST_WEIGHTS = 64
TOLERANCE = 1e-5  # relative to the largest derivative
MOST_DIMENSIONS, MOST_CONTEXTS, MOST_NEGATIVES = 16, 20, 32  # the derivatives are many, and each takes the whole loss


@dataclass(frozen=True)
class Check:
    """One kernel against finite differences.

    Attributes
    ----------
    objective, update, kernel
        Which kernel; `update` is "" for an objective that has only one, `kernel` is "exact" or "fast".
    source_error, target_error
        The largest deviations of its step from the gradient, relative to the largest derivative.
    weights_error
        The same of the weights that all words share; 0 for an objective that has none.
    factor
        By how much its source steps are longer than the gradient's, in the least-squares sense.
    """

    objective: str
    update: str
    kernel: str
    source_error: float
    target_error: float
    factor: float
    weights_error: float = 0.0

    @property
    def passes(self) -> bool:
        """Whether the step is the gradient."""
        return max(self.source_error, self.target_error, self.weights_error) <= TOLERANCE

    def to_json(self) -> dict[str, Any]:
        """Return the fields and the result."""
        return {**asdict(self), "passes": self.passes}


@dataclass(frozen=True)
class Problem:
    """Random matrices, and sentences of C + 1 words in which every word is a centre and all others its context."""

    source: Array  # a row for each word, and more, of which bags are made
    target: Array
    weights: Array  # that all words share: more rows than any objective has
    ids: npt.NDArray[np.int32]
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    alias: Any
    negative: int
    seed: np.uint64
    bags: list[list[int]]  # the source rows of each word, for an objective that has bags

    def parameters(self, settings: Settings) -> list[Array]:
        """Return what the settings train: the two matrices, and the shared weights if there are any."""
        objective = settings.objective_record
        source = self.source if objective.has_bags else self.source[: len(self.bags)]
        rows = objective.weight_rows(settings)
        return [source, self.target, *([self.weights[:rows]] if rows else [])]

    def contexts(self) -> list[list[int]]:
        """Return the places of the context words of every centre, relative to it."""
        places = zip(range(len(self.ids)), self.left, self.right, strict=True)
        return [[j - i for j in range(left, right) if j != i] for i, left, right in places]

    def draws(self, count: int) -> list[int]:
        """Return the first noise words that a kernel draws."""
        from mumon.kernels.noise import draw_negatives

        out = np.empty(count, np.int64)
        draw_negatives(self.alias, self.seed, out)
        return [int(word) for word in out]


def check_gradients(
    contexts: int = 5, negative: int = 5, dim: int = 8, seed: int = 1, objectives: Iterable[str] = tuple(OBJECTIVES)
) -> Iterator[Check]:
    """Check every objective, update and kernel, one after the other.

    Parameters
    ----------
    contexts
        The number C of context words of each window.
    negative
        Noise words per target.
    dim
        Columns of the matrices.
    seed
        Of the matrices and the windows.
    objectives
        Names of the objectives to check; by default all of mumon's own.

    Yields
    ------
    Check

    >>> checks = list(check_gradients())
    >>> sorted({(check.objective, check.update) for check in checks if not check.passes})
    [('CBOW', 'faulty'), ('CBOW with subwords', 'faulty'), ('CBOW with subwords, pooled', 'faulty'), \
('CBOW, sum', 'faulty'), ('skip-gram with subwords', 'faulty')]
    >>> {round(check.factor, 4) for check in checks if (check.objective, check.update) == ('CBOW', 'faulty')}
    {5.0}
    """
    for name, value, most in (
        ("contexts", contexts, MOST_CONTEXTS),
        ("negative", negative, MOST_NEGATIVES),
        ("dim", dim, MOST_DIMENSIONS),
    ):
        check_integer(name, value, least=1, most=most)
    problem = _make_problem(contexts, negative, dim, seed)
    for objective in map(find_objective, objectives):
        for variant in objective.variants:
            for exact in (True, False):
                settings = Settings(objective.name, exact=exact, negative=negative, **variant.settings)
                loss, parameters = _make_loss(problem, settings), problem.parameters(settings)
                expected = [finite_differences(loss, parameter) for parameter in parameters]
                for update in settings.objective_record.updates or (None,):  # the options may choose another record
                    step = _take_step(problem, settings if update is None else replace(settings, update=update))
                    yield _compare(variant.title, update or "", "exact" if exact else "fast", step, expected)


def finite_differences(loss: Callable[[], float], matrix: Array) -> Array:
    """Return ∂loss/∂matrix by central differences; `loss` reads the matrix, which is unchanged afterwards."""
    gradient = np.zeros_like(matrix)
    for place in np.ndindex(matrix.shape):
        saved = matrix[place]
        matrix[place] = saved + STEP
        above = loss()
        matrix[place] = saved - STEP
        gradient[place] = (above - loss()) / (2 * STEP)
        matrix[place] = saved
    return gradient


def _make_problem(contexts: int, negative: int, dim: int, seed: int) -> Problem:
    random = np.random.default_rng(seed)
    length = contexts + 1
    ids = np.concatenate([random.permutation(max(WORDS, length))[:length] for _ in range(SENTENCES)])
    starts = np.arange(SENTENCES * length) // length * length
    words = max(WORDS, length)
    source, target = (random.normal(0, 0.3, (rows, dim)) for rows in (words + SHARED_ROWS, words))
    # A word's own row, and some that it shares with others; one of them twice, as an n-gram may occur.
    bags = [[w, *random.integers(words, words + SHARED_ROWS, w % 4).tolist(), *[words] * (w % 3)] for w in range(words)]
    weights = random.normal(1, 0.3, (MOST_WEIGHTS, dim))
    chances = np.full(words, 1 / words)
    centres, left, right = (np.asarray(column, np.int32) for column in (ids, starts, starts + length))
    alias = build_alias_table(chances)
    return Problem(source, target, weights, centres, left, right, alias, negative, np.uint64(seed + 1), bags)


def _make_loss(problem: Problem, settings: Settings) -> Callable[[], float]:
    """Return the loss of all windows as a function of the matrices, with the noise words that the kernel draws."""
    contexts, k = problem.contexts(), problem.negative
    objective, shared, batch = settings.objective_record, settings.shared_negatives, settings.batch
    if settings.exact:  # fresh ones for each pair of a vector and a word
        weights = [1.0] * k
        pairs = [objective.pairs(len(context)) for context in contexts]
        drawn = iter(np.array(problem.draws(k * sum(pairs))).reshape(-1, k).tolist())
        noise = [[next(drawn) for _ in range(count)] for count in pairs]
    else:
        weights = [k / shared] * shared
        sets = np.array(problem.draws(shared * -(-len(contexts) // batch))).reshape(-1, shared).tolist()
        noise = [[sets[i // batch]] * len(context) for i, context in enumerate(contexts)]
    windows = [
        Window(
            int(problem.ids[i]),
            [int(problem.ids[i + offset]) for offset in offsets],
            offsets,
            noise[i],
            weights,
            problem.bags,
        )
        for i, offsets in enumerate(contexts)
    ]
    source, target, *shared_weights = problem.parameters(settings)
    return lambda: sum(objective.window_loss(source, target, window, settings, *shared_weights) for window in windows)


def _take_step(problem: Problem, settings: Settings) -> list[Array]:
    """Return what the kernel takes from each matrix, per unit of its rate."""
    from mumon.training.engine import load_kernel

    parameters, dim = problem.parameters(settings), problem.source.shape[1]
    # Kernels read whole cache lines.
    matrices = [np.zeros((len(parameter), -(-dim // PADDING) * PADDING)) for parameter in parameters]
    for matrix, parameter in zip(matrices, parameters, strict=True):
        matrix[:, :dim] = parameter
    _, kernel = load_kernel(settings)
    columns = (problem.ids, problem.left, problem.right)
    source, target, *weights = matrices
    weight_rate = [WEIGHT_RATE] * len(weights)
    bags: tuple[Any, ...] = ()
    rates = np.ones(len(source))
    if settings.objective_record.has_bags:
        starts = np.cumsum([0, *map(len, problem.bags)])
        middles = (starts[:-1] + starts[1:]) // 2  # half of the rows are frequent
        room = count_scratch_rows(len(problem.ids), len(target), settings.batch, len(problem.ids))
        scratch = np.zeros((room, source.shape[1]))
        bags = starts, middles, np.concatenate(problem.bags).astype(np.int32), scratch
        rates = np.ones((2, len(source)))
    kernel(source, target, *columns, problem.alias, rates, TINY, problem.seed, *weights, *weight_rate, bags=bags)
    return [
        (before - after[:, :dim]) / (TINY * rate)
        for before, after, rate in zip(parameters, matrices, (1, 1, *weight_rate), strict=True)
    ]


def _compare(objective: str, update: str, kernel: str, step: list[Array], expected: list[Array]) -> Check:
    source, target, *weights = (
        float(np.abs(taken - wanted).max() / np.abs(wanted).max()) for taken, wanted in zip(step, expected, strict=True)
    )
    factor = float((step[0] * expected[0]).sum() / (expected[0] ** 2).sum())
    return Check(objective, update, kernel, source, target, factor, *weights)
