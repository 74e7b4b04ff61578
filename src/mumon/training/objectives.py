"""The objectives: for each, everything that the rest of mumon needs to know of it.

Settings, engine, memory, estimates, replicas of a cluster, gradcheck, sweeps and the command line ask the record of an
objective; none of them compares names. A new objective is one kernel file, one equation in `kernels/reference.py`, one
record here, and an option where it has any of its own. A package outside mumon offers its objectives as entry points
of the group `mumon.objectives`: `name = "package.module:RECORD"`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from mumon.corpus.encode import MAX_SENTENCE
from mumon.corpus.subwords import Ngrams
from mumon.errors import OptionError, to_one_line
from mumon.kernels import reference
from mumon.kernels.layout import BAND, PIECE, row_bytes
from mumon.utils.validation import format_value

ENTRY_POINTS = "mumon.objectives"
USUAL_WINDOW = 5  # word2vec's and gensim's

Array = npt.NDArray[np.float64]
Kernel = Callable[..., tuple[float, int]]


class ObjectiveOptions(Protocol):
    """What an objective reads of the settings of a training (`training.settings.Settings`)."""

    @property
    def update(self) -> str: ...
    @property
    def cbow_mean(self) -> bool: ...
    @property
    def positions(self) -> int: ...
    @property
    def subwords(self) -> Ngrams | None: ...
    @property
    def pool_rows(self) -> bool: ...
    @property
    def exact(self) -> bool: ...
    @property
    def window(self) -> int: ...
    @property
    def negative(self) -> int: ...
    @property
    def shared_negatives(self) -> int: ...
    @property
    def batch(self) -> int: ...


@dataclass(frozen=True)
class Window:
    """A window, as the reference equations see it."""

    centre: int
    context: Sequence[int]
    offsets: Sequence[int]  # the place of each context word relative to the centre: -1 is the word before it
    noise: Sequence[Sequence[int]]  # the noise words of each pair of a vector and a target word
    weights: Sequence[float]  # of each noise word
    bags: Sequence[Sequence[int]] = ()  # the source rows of each word, for an objective with bags


# Of source, target, a window and the options; and of the weights that all words share, where an objective has any.
WindowLoss = Callable[..., float]


@dataclass(frozen=True)
class RateRule:
    """A first learning rate that falls with the number of tokens to be trained, between two bounds.

    With few tokens most vectors are far from where they should be, and only large steps bring them there. With many
    tokens they get there anyway, and large steps are noise.

    Parameters
    ----------
    least, most
        The bounds. The lower ones are the rates of the paper and of word2vec, chosen on 10⁹ words and more.
    at_100m
        The rate for 100 M tokens.
    power
        How fast the rate falls with the number of tokens.
    safe_pairs
        Where a row takes the gradients of C windows undivided, rate × C stays below this. Over long lines skip-gram
        trained at 0.6, with norms already growing, and diverged at 0.8, for every window from 5 to 40.
    safe_crowd
        Many noise words, or a word that returns within a batch, multiply a step: rate × crowding
        (`rates.measure_crowding`), × C where nothing divides by it, × negative / 5 stays below this. Walks on rings,
        paths and trees and sessions among few items, with 5 … 60 noise words, had growing norms from about 2
        (skip-gram) and 2.6 on; ordinary text is below.
    shorter_steps
        Whether the same rate gives shorter steps here than in word2vec.c, gensim and fastText, so that a rate
        from their world is too low.
    """

    least: float
    most: float
    at_100m: float
    power: float
    safe_pairs: float = math.inf
    safe_crowd: float = math.inf
    shorter_steps: bool = False

    def at(self, tokens: float) -> float:
        """Return the rate for this number of tokens, epochs included."""
        rate = self.at_100m * float(max(tokens, 1) / 1e8) ** -self.power
        return float(min(max(rate, self.least), self.most))


@dataclass(frozen=True)
class Variant:
    """A form of an objective that has a gradient of its own: a title, and the settings that choose it."""

    title: str
    settings: dict[str, Any]


@dataclass(frozen=True)
class Objective:
    """One objective of training.

    Parameters
    ----------
    name
        As in settings, saved models and on the command line.
    title
        As in tables and messages.
    kernel
        Load a kernel: the exact one (True) or the fast one (False). Kernels are loaded when they are needed, because
        Numba takes a second to import.
    kernel_switches
        The arguments that its kernels take between the rate and the seed.
    window_loss
        The loss of a window by the equations of `kernels/reference.py`.
    pairs
        How many pairs of a vector and a target word a window of C context words has: the exact kernel draws noise words
        for each.
    variants
        The forms that `mumon gradcheck` checks, each with its own finite differences.
    updates
        The values of `update` that it knows; empty if its gradient was never in doubt.
    unused_options
        Options of CBOW and skip-gram that mean nothing to it.
    sharing
        How many noise words are shared by how many targets by default: as good as twice the noise words or half the
        batch, and the fastest such (`docs/speed.md`).
    rate_rule
        Choose the rule for its first learning rate.
    gradients
        How many undivided gradients a token with C contexts brings to its source row and to its target row.
    write_delay
        How many tokens the fast kernel keeps a row's steps before it writes them, beyond the batch, in sentences of a
        given length.
    buffer_bytes
        What its kernels allocate in each thread, for rows of a given number of columns.
    window
        How many words to each side are the context of a word by default.
    target_weight
        The weight λ of the target rows in the vectors that users get by default, source + λ · target.
    weight_rows
        How many rows of weights all words share and learn together, beside the rows that each word has. They begin
        at 1. Kernels take them after the target matrix, and their rate after alpha; `window_loss` takes them last.
    weight_rate
        The rate of the shared weights as a multiple of alpha.
    positional
        The record that takes its place where the option `positions` asks for weights of positions; None if it has no
        use for them.
    with_bags
        The record that takes its place where words are bags of rows (`subwords`); None if it has no use for them.
    has_bags
        Whether words are bags of rows. Kernels take the bags after the target matrix.
    block_tokens
        The most tokens of a block, the unit of work of a thread: some 10 ms of training, or more where a kernel has to
        prepare one.
    source_boost
        By how much source rows learn faster than target rows where bags have this many rows on average.
    """

    name: str
    title: str
    kernel: Callable[[bool], Kernel]
    kernel_switches: Callable[[ObjectiveOptions], tuple[bool, ...]]
    window_loss: WindowLoss
    pairs: Callable[[int], int]
    variants: tuple[Variant, ...]
    updates: tuple[Literal["correct", "faulty"], ...]
    unused_options: tuple[str, ...]
    sharing: tuple[int, int]
    rate_rule: Callable[[ObjectiveOptions], RateRule]
    gradients: Callable[[ObjectiveOptions, float], tuple[float, float]]
    write_delay: Callable[[ObjectiveOptions, float], float]
    buffer_bytes: Callable[[ObjectiveOptions, int], int]
    window: Callable[[ObjectiveOptions], int] = lambda options: USUAL_WINDOW
    target_weight: Callable[[ObjectiveOptions], float] = lambda options: 0.0
    weight_rows: Callable[[ObjectiveOptions], int] = lambda options: 0
    weight_rate: float = 0.0
    positional: Objective | None = None
    with_bags: Objective | None = None
    has_bags: bool = False
    block_tokens: int = 16_384
    source_boost: Callable[[ObjectiveOptions, float], float] = lambda options, rows: 1.0


def exact_buffer_bytes(options: ObjectiveOptions, columns: int) -> int:
    """Return what a kernel allocates that takes one step per window: h, its gradient, noise words, and tables."""
    window = 2 * min(options.window, MAX_SENTENCE)
    return 2 * row_bytes(columns) + 40 * (options.negative + 1) + 20 * window


def score_bytes(options: ObjectiveOptions) -> int:
    """Return the size of the scores of a batch with its noise words."""
    return 4 * options.batch * options.shared_negatives


# ---- CBOW

# Fitted to sweeps of source rows over 1.3 M … 65 M words × 5 epochs (docs/rates.md). Vectors from both sides of the
# model need larger steps; their rate was chosen on 15.7 M words, and falls with the text as the others do. Its upper
# bound was chosen on texts of 0.1 M … 4 M words: 0.9 diverged on one of 0.4 M, and walks diverged at a crowd of 1.5.
CBOW_RATES = {
    "both sides": RateRule(0.075, 0.6, 0.185, 0.3, safe_crowd=1.1, shorter_steps=True),
    "correct": RateRule(0.075, 0.3, 0.13, 0.3, safe_crowd=1.5, shorter_steps=True),
    "faulty": RateRule(0.025, 0.15, 0.07, 0.3, safe_pairs=1.0, safe_crowd=1.5),
    "sum": RateRule(0.025, 0.025, 0.025, 0, safe_pairs=0.4, safe_crowd=1.0),
}


def cbow_division(options: ObjectiveOptions) -> tuple[bool, bool]:
    """Return whether CBOW divides by C on the way in (the mean) and on the way out (its gradient).

    The true gradient has both divisions (mean) or neither (sum). The faulty update has the second one wrong: word2vec.c
    leaves it out for the mean, and gensim puts it in for the sum.
    """
    return options.cbow_mean, options.cbow_mean == (options.update == "correct")


def _is_improved(options: ObjectiveOptions) -> bool:
    """Return whether this is mumon's own CBOW, rather than the paper's algorithm or a peer's that was asked for."""
    return options.update == "correct" and options.cbow_mean and not options.exact


def _choose_cbow_window(options: ObjectiveOptions) -> int:
    return 10 if _is_improved(options) else USUAL_WINDOW


def _choose_cbow_rates(options: ObjectiveOptions) -> RateRule:
    if _is_improved(options):
        return CBOW_RATES["both sides"]
    return CBOW_RATES[options.update if options.cbow_mean else "sum"]


def _load_cbow(exact: bool) -> Kernel:
    from mumon.kernels.cbow import cbow_exact, cbow_fast

    return cbow_exact if exact else cbow_fast


def _cbow_window_loss(source: Array, target: Array, window: Window, options: ObjectiveOptions) -> float:
    noise, mean = window.noise[0], options.cbow_mean
    return reference.cbow_loss(source, target, window.centre, window.context, noise, window.weights, mean)


def _ring_rows(options: ObjectiveOptions) -> int:
    """Return the rows of a ring that holds a batch and its windows: a power of two."""
    return 1 << (2 * min(options.window, MAX_SENTENCE) + options.batch + 1).bit_length()


def cbow_buffer_bytes(options: ObjectiveOptions, columns: int) -> int:
    """Return what a CBOW kernel allocates: for the fast one h, a band of dh, two rings and what scans carry."""
    if options.exact:
        return exact_buffer_bytes(options, columns)
    tables = 128 * (options.batch + min(options.window, MAX_SENTENCE))  # about as many bytes for each token
    rows = options.batch + 2 * _ring_rows(options) + 4
    return rows * row_bytes(columns) + options.batch * row_bytes(BAND) + score_bytes(options) + tables


# ---- CBOW with positions

POSITION_RATE = 0.01  # of the weights, as a multiple of alpha: every window is a step for each of them


def _load_positional_cbow(exact: bool) -> Kernel:
    from mumon.kernels.positions import cbow_positions_exact, cbow_positions_fast

    return cbow_positions_exact if exact else cbow_positions_fast


def count_position_weights(options: ObjectiveOptions) -> int:
    """Return how many groups of places have a weight vector: as many as asked for on each side, if the window has them.

    >>> from mumon.training.settings import Settings
    >>> [count_position_weights(Settings(window=window, positions=4)) for window in (1, 2, 3, 5, 80)]
    [2, 4, 6, 8, 8]
    """
    return 2 * min(options.positions, (options.window - 1).bit_length() + 1)


def list_position_groups(rows: int, window: int) -> list[tuple[str, int, int]]:
    """Return what places each row of weights is for, in the order of the rows.

    Parameters
    ----------
    rows
        How many weights there are, on both sides.
    window
        The most words to each side.

    Returns
    -------
    list of (side, first, last)
        The side is "left" or "right" of the centre, and its words from the first to the last distance are meant.

    >>> list_position_groups(6, 10)
    [('left', 3, 10), ('left', 2, 2), ('left', 1, 1), ('right', 1, 1), ('right', 2, 2), ('right', 3, 10)]
    """
    groups = rows // 2
    distances = [(2 ** (group - 1) + 1 if group else 1, 2**group) for group in range(groups)]
    distances[-1:] = [(distances[-1][0], window)]
    return [("left", *pair) for pair in reversed(distances)] + [("right", *pair) for pair in distances]


def _positional_window_loss(
    source: Array, target: Array, window: Window, options: ObjectiveOptions, weights: Array
) -> float:
    groups = [reference.find_group(offset, len(weights) // 2) for offset in window.offsets]
    return reference.positional_cbow_loss(
        source, target, weights, window.centre, window.context, groups, window.noise[0], window.weights
    )


def _positional_buffer_bytes(options: ObjectiveOptions, columns: int) -> int:
    """Return CBOW's buffers, two copies of the weights, and the sums of groups or what scans need of them."""
    weights, plain = count_position_weights(options), cbow_buffer_bytes(options, columns)
    if options.exact:
        return plain + 3 * weights * row_bytes(columns)
    return plain + 2 * (weights + 1) * row_bytes(columns) + 64 * options.batch * (weights + 2)


POSITIONAL_CBOW = Objective(
    name="cbow",
    title="CBOW with positions",
    kernel=_load_positional_cbow,
    kernel_switches=lambda options: (),
    window_loss=_positional_window_loss,
    pairs=lambda contexts: 1,
    variants=(Variant("CBOW with positions", {"positions": 4}),),
    updates=("correct",),
    unused_options=(),
    sharing=(16, 8),
    rate_rule=lambda options: CBOW_RATES["correct"],
    gradients=lambda options, contexts: (1, 1),
    write_delay=lambda options, sentence: min(2 * options.window, sentence),
    buffer_bytes=_positional_buffer_bytes,
    # Chosen on dev halves (docs/explanation/positions.md).
    window=_choose_cbow_window,
    target_weight=lambda options: 0.5 if _is_improved(options) else 0.0,
    weight_rows=count_position_weights,
    weight_rate=POSITION_RATE,
)


# ---- CBOW with bags


def _load_bags_cbow(exact: bool) -> Kernel:
    from mumon.kernels.bags import cbow_bags_exact, cbow_bags_fast

    return cbow_bags_exact if exact else cbow_bags_fast


def _divide_bags(options: ObjectiveOptions) -> tuple[bool, bool]:
    """Return whether the rows of a bag are averaged, and whether the gradient that each receives is divided."""
    return not options.pool_rows, not options.pool_rows and options.update == "correct"


def _bags_cbow_window_loss(source: Array, target: Array, window: Window, options: ObjectiveOptions) -> float:
    loss = reference.pooled_cbow_loss if options.pool_rows else reference.bags_cbow_loss
    noise, mean = window.noise[0], options.cbow_mean
    return loss(source, target, window.bags, window.centre, window.context, noise, window.weights, mean)


def _boost_source_rows(options: ObjectiveOptions, rows: float) -> float:
    """Let source rows learn faster by the number of rows of a token, where the gradient was divided by it.

    Otherwise a word's vector, the mean of its rows, would move that many times slower than a target row. With `exact`,
    all rows learn alike: plain SGD.
    """
    divided = options.update == "correct" and not options.exact
    return max(rows, 1.0) if divided else 1.0


def piece_bytes(options: ObjectiveOptions, columns: int) -> int:
    """Return the size of the vectors of the words of a piece of text, twice, with what belongs to each of them."""
    tokens = max(PIECE, options.batch) + 2 * min(options.window, MAX_SENTENCE)
    return tokens * (2 * row_bytes(columns) + 40)


def _bags_cbow_buffer_bytes(options: ObjectiveOptions, columns: int) -> int:
    return cbow_buffer_bytes(options, columns) + (0 if options.exact else piece_bytes(options, columns))


BAGS_CBOW = Objective(
    name="cbow",
    title="CBOW with subwords",
    kernel=_load_bags_cbow,
    kernel_switches=lambda options: (*cbow_division(options), *_divide_bags(options), options.pool_rows),
    window_loss=_bags_cbow_window_loss,
    pairs=lambda contexts: 1,
    variants=(
        Variant("CBOW with subwords", {"subwords": Ngrams()}),
        Variant("CBOW with subwords, pooled", {"subwords": Ngrams(), "pool_rows": True}),
    ),
    updates=("correct", "faulty"),
    unused_options=(),
    sharing=(16, 8),
    rate_rule=_choose_cbow_rates,
    gradients=lambda options, contexts: (1 if cbow_division(options)[1] else contexts, 1),
    # As without bags: a word's vector moves within a piece. Only what words owe to each other waits for its end.
    write_delay=lambda options, sentence: min(2 * options.window, sentence),
    buffer_bytes=_bags_cbow_buffer_bytes,
    window=_choose_cbow_window,
    target_weight=lambda options: 0.25 if _is_improved(options) else 0.0,
    has_bags=True,
    block_tokens=65_536,
    source_boost=_boost_source_rows,
)


CBOW = Objective(
    name="cbow",
    title="CBOW",
    kernel=_load_cbow,
    kernel_switches=cbow_division,
    window_loss=_cbow_window_loss,
    pairs=lambda contexts: 1,
    variants=(
        Variant("CBOW", {"cbow_mean": True}),
        Variant("CBOW, sum", {"cbow_mean": False}),
        *POSITIONAL_CBOW.variants,
        *BAGS_CBOW.variants,
    ),
    updates=("correct", "faulty"),
    unused_options=(),
    sharing=(16, 8),
    rate_rule=_choose_cbow_rates,
    gradients=lambda options, contexts: (1 if cbow_division(options)[1] else contexts, 1),
    # A row is read when the first window reaches it and written when the last has left it.
    write_delay=lambda options, sentence: min(2 * options.window, sentence),
    buffer_bytes=cbow_buffer_bytes,
    # Chosen on dev halves, for the mean and the correct update (docs/explanation/both-sides.md): a wide window costs
    # the fast kernel next to nothing. Those who ask for the paper's algorithm or for word2vec.c's get theirs.
    window=_choose_cbow_window,
    target_weight=lambda options: 0.25 if _is_improved(options) else 0.0,
    positional=POSITIONAL_CBOW,
    with_bags=BAGS_CBOW,
)


# ---- skip-gram

SKIPGRAM_RATE = RateRule(0.025, 0.1, 0.03, 0.45, safe_pairs=0.4, safe_crowd=1.0)  # fitted as CBOW's


def _load_skipgram(exact: bool) -> Kernel:
    from mumon.kernels.skipgram import skipgram_exact, skipgram_fast

    return skipgram_exact if exact else skipgram_fast


def _skipgram_window_loss(source: Array, target: Array, window: Window, options: ObjectiveOptions) -> float:
    return reference.skipgram_loss(source, target, window.centre, window.context, window.noise, window.weights)


def _skipgram_buffer_bytes(options: ObjectiveOptions, columns: int) -> int:
    if options.exact:
        return exact_buffer_bytes(options, columns)
    return 2 * options.batch * row_bytes(columns) + 2 * score_bytes(options)


def _load_bags_skipgram(exact: bool) -> Kernel:
    from mumon.kernels.bags import skipgram_bags_exact, skipgram_bags_fast

    return skipgram_bags_exact if exact else skipgram_bags_fast


def _bags_skipgram_window_loss(source: Array, target: Array, window: Window, options: ObjectiveOptions) -> float:
    words = window.bags, window.centre, window.context
    return reference.bags_skipgram_loss(source, target, *words, window.noise, window.weights)


SKIPGRAM = Objective(
    name="sg",
    title="skip-gram",
    kernel=_load_skipgram,
    kernel_switches=lambda options: (),
    window_loss=_skipgram_window_loss,
    pairs=lambda contexts: contexts,
    variants=(Variant("skip-gram", {}),),
    updates=(),
    unused_options=("update", "cbow_mean"),
    sharing=(32, 32),
    rate_rule=lambda options: SKIPGRAM_RATE,
    gradients=lambda options, contexts: (contexts, contexts),
    write_delay=lambda options, sentence: 0,
    buffer_bytes=_skipgram_buffer_bytes,
    # λ stays 0: 0.125 gained a point on sentences of a large text, and lost as much on STS-B of two small ones.
)

BAGS_SKIPGRAM = replace(
    SKIPGRAM,
    title="skip-gram with subwords",
    kernel=_load_bags_skipgram,
    kernel_switches=lambda options: (True, options.update == "correct"),
    window_loss=_bags_skipgram_window_loss,
    variants=(Variant("skip-gram with subwords", {"subwords": Ngrams()}),),
    updates=("correct", "faulty"),
    unused_options=("cbow_mean", "pool_rows"),
    buffer_bytes=lambda options, columns: (
        _skipgram_buffer_bytes(options, columns) + (0 if options.exact else piece_bytes(options, columns))
    ),
    has_bags=True,
    block_tokens=65_536,
    source_boost=_boost_source_rows,
)
SKIPGRAM = replace(SKIPGRAM, variants=(*SKIPGRAM.variants, *BAGS_SKIPGRAM.variants), with_bags=BAGS_SKIPGRAM)


OBJECTIVES = {objective.name: objective for objective in (CBOW, SKIPGRAM)}


def find_objective(name: Any) -> Objective:
    """Return the record of an objective, of mumon's own or of an installed package that offers one.

    Parameters
    ----------
    name
        "cbow", "sg", or the name of an entry point of the group `mumon.objectives`.

    Returns
    -------
    Objective

    >>> find_objective("sg").title
    'skip-gram'
    >>> find_objective("glove")
    Traceback (most recent call last):
    mumon.errors.OptionError: objective is 'glove'; it must be cbow or sg
    """
    found = (OBJECTIVES.get(name) or _load_entry_point(name)) if isinstance(name, str) else None
    if found is None:
        raise OptionError(f"objective is {format_value(name)}; it must be {' or '.join(OBJECTIVES)}")
    return found


def _load_entry_point(name: str) -> Objective | None:
    """Load an objective that another package offers; None if there is none of that name."""
    from importlib.metadata import entry_points

    for entry in entry_points(group=ENTRY_POINTS, name=name):
        try:
            found = entry.load()
        except Exception as error:  # another package's code
            raise OptionError(
                f"objective {name!r} cannot be loaded ({to_one_line(error)}); repair its package"
            ) from None
        if isinstance(found, Objective) and found.name == name:
            OBJECTIVES[name] = found  # entry points take long to look up
            return found
    return None
