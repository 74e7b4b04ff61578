"""The paper's equations in NumPy float64, slow and obvious. Every kernel is tested against them.

`source` holds the vectors v, `target` the vectors v'. A window is a centre word o, its C context words and noise words
n_i with weights λ_i (1 for plain negative sampling; k/K for K shared ones):

    L = -log σ(v'_o · h) - Σ_i λ_i log σ(-v'_{n_i} · h)        noise words equal to o are left out

with h = (1/C) Σ_j v_{w_j} for CBOW (or the plain sum, `mean=False`), and h = v_o with L summed over the context words
as targets for skip-gram. CBOW with positions (Mnih and Kavukcuoglu 2013; Mikolov et al. 2018) weighs every column of a
context vector by where the word stands, with a learned vector d_g for each group g of places:

    h = (1/C) Σ_j d_g(j) ⊙ v_{w_j}

With bags, words have several source rows each, such as a row of their own and those of their character n-grams
(Bojanowski et al. 2017). Their mean u takes the place of v in the equations of CBOW and skip-gram:

    u_w = (1/n_w) Σ_{r in bag of w} v_r

or CBOW averages all rows of all contexts alike, as fastText does (`pooled`): h = Σ_j Σ_r v_r / Σ_j n_{w_j}.

All functions take the same arguments:

    source, target     the matrices of v and v', one row for each word
    h, word            a vector, and the word to predict from it
    centre, context    the word o and its C context words
    noise, weights     the noise words n_i and their weights λ_i; skip-gram has noise words for each context word
    mean               whether h is the mean of the context vectors or their sum
    positions, groups  the vectors d, one row for each group of places, and the group of each context word
    bags               the source rows of each word; a row may occur several times
    pooled             whether CBOW averages rows rather than words
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def sigmoid(x: Array | float) -> Array | float:
    """Return σ(x) = 1 / (1 + e^-x)."""
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def pair_loss(h: Array, target: Array, word: int, noise: Sequence[int], weights: Sequence[float]) -> float:
    """Return the loss of predicting `word` from h, against noise words with weights."""
    words, weight = np.asarray(noise, np.int64), np.where(np.asarray(noise) == word, 0.0, weights)
    return float(-np.log(sigmoid(target[word] @ h)) - weight @ np.log(sigmoid(-target[words] @ h)))


def pair_gradient(
    h: Array, target: Array, word: int, noise: Sequence[int], weights: Sequence[float], d_target: Array
) -> Array:
    """Return ∂L/∂h of `pair_loss`, and add ∂L/∂v' to d_target."""
    error = sigmoid(target[word] @ h) - 1
    d_h = error * target[word]
    d_target[word] += error * h
    for n, weight in zip(noise, weights, strict=True):
        if n != word:
            error = weight * sigmoid(target[n] @ h)
            d_h = d_h + error * target[n]
            d_target[n] += error * h
    return np.asarray(d_h)


def cbow_loss(
    source: Array,
    target: Array,
    centre: int,
    context: Sequence[int],
    noise: Sequence[int],
    weights: Sequence[float],
    mean: bool = True,
) -> float:
    """Return L of one CBOW window."""
    h = source[list(context)].sum(axis=0) / (len(context) if mean else 1)
    return pair_loss(h, target, centre, noise, weights)


def cbow_gradient(
    source: Array,
    target: Array,
    centre: int,
    context: Sequence[int],
    noise: Sequence[int],
    weights: Sequence[float],
    mean: bool = True,
    update: str = "correct",
) -> tuple[Array, Array]:
    """Return (∂L/∂v, ∂L/∂v') of one CBOW window; a context word that occurs twice receives its share twice.

    update="faulty" is what word2vec.c, gensim and fastText apply in place of ∂L/∂v: C times it for the mean. For the
    sum, gensim divides by C where nothing should be divided.
    """
    d_source, d_target = np.zeros_like(source), np.zeros_like(target)
    C = len(context)
    h = source[list(context)].sum(axis=0) / (C if mean else 1)
    d_h = pair_gradient(h, target, centre, noise, weights, d_target)
    divide = mean if update == "correct" else not mean
    for word in context:
        d_source[word] += d_h / (C if divide else 1)
    return d_source, d_target


def find_group(offset: int, distances: int) -> int:
    """Return the row of d for a place relative to the centre.

    Parameters
    ----------
    offset
        The place: -1 is the word before the centre, 1 the word after it.
    distances
        How many groups of distances each side has: 1, 2, 3-4, 5-8 …, and the last takes all that are left. Rows are in
        the order of the text, so that the two in the middle are the neighbours of the centre.

    >>> [find_group(offset, 3) for offset in (-9, -3, -2, -1, 1, 2, 3, 9)]
    [0, 0, 1, 2, 3, 4, 5, 5]
    """
    group = min((abs(offset) - 1).bit_length(), distances - 1)
    return distances + group if offset > 0 else distances - 1 - group


def positional_cbow_loss(
    source: Array,
    target: Array,
    positions: Array,
    centre: int,
    context: Sequence[int],
    groups: Sequence[int],
    noise: Sequence[int],
    weights: Sequence[float],
) -> float:
    """Return L of one window of CBOW with positions."""
    h = (positions[list(groups)] * source[list(context)]).sum(axis=0) / len(context)
    return pair_loss(h, target, centre, noise, weights)


def positional_cbow_gradient(
    source: Array,
    target: Array,
    positions: Array,
    centre: int,
    context: Sequence[int],
    groups: Sequence[int],
    noise: Sequence[int],
    weights: Sequence[float],
) -> tuple[Array, Array, Array]:
    """Return (∂L/∂v, ∂L/∂v', ∂L/∂d) of one window of CBOW with positions."""
    d_source, d_target, d_positions = np.zeros_like(source), np.zeros_like(target), np.zeros_like(positions)
    C = len(context)
    h = (positions[list(groups)] * source[list(context)]).sum(axis=0) / C
    d_h = pair_gradient(h, target, centre, noise, weights, d_target)
    for word, group in zip(context, groups, strict=True):
        d_source[word] += positions[group] * d_h / C
        d_positions[group] += source[word] * d_h / C
    return d_source, d_target, d_positions


def skipgram_loss(
    source: Array,
    target: Array,
    centre: int,
    context: Sequence[int],
    noise: Sequence[Sequence[int]],
    weights: Sequence[float],
) -> float:
    """Return L of one skip-gram window: the centre predicts each context word, the j-th against noise[j]."""
    return sum(pair_loss(source[centre], target, word, noise[j], weights) for j, word in enumerate(context))


def skipgram_gradient(
    source: Array,
    target: Array,
    centre: int,
    context: Sequence[int],
    noise: Sequence[Sequence[int]],
    weights: Sequence[float],
) -> tuple[Array, Array]:
    """Return (∂L/∂v, ∂L/∂v') of one skip-gram window."""
    d_source, d_target = np.zeros_like(source), np.zeros_like(target)
    for j, word in enumerate(context):
        d_source[centre] += pair_gradient(source[centre], target, word, noise[j], weights, d_target)
    return d_source, d_target


def compose_vectors(source: Array, bags: Sequence[Sequence[int]]) -> Array:
    """Return u, the mean of the rows of each bag."""
    return np.stack([source[list(bag)].mean(axis=0) for bag in bags])


def return_to_rows(d_vectors: Array, source: Array, bags: Sequence[Sequence[int]], update: str = "correct") -> Array:
    """Return ∂L/∂v from ∂L/∂u: each row of a bag receives its share; update="faulty" gives all of it, as fastText."""
    d_source = np.zeros_like(source)
    for d_u, bag in zip(d_vectors, bags, strict=True):
        for row in bag:
            d_source[row] += d_u / (len(bag) if update == "correct" else 1)
    return d_source


def pooled_cbow_loss(
    source: Array,
    target: Array,
    bags: Sequence[Sequence[int]],
    centre: int,
    context: Sequence[int],
    noise: Sequence[int],
    weights: Sequence[float],
    mean: bool = True,
) -> float:
    """Return L of one CBOW window over all rows of its context words."""
    rows = [row for word in context for row in bags[word]]
    return cbow_loss(source, target, centre, rows, noise, weights, mean)


def bags_cbow_loss(
    source: Array,
    target: Array,
    bags: Sequence[Sequence[int]],
    centre: int,
    context: Sequence[int],
    noise: Sequence[int],
    weights: Sequence[float],
    mean: bool = True,
) -> float:
    """Return L of one CBOW window with bags."""
    return cbow_loss(compose_vectors(source, bags), target, centre, context, noise, weights, mean)


def bags_cbow_gradient(
    source: Array,
    target: Array,
    bags: Sequence[Sequence[int]],
    centre: int,
    context: Sequence[int],
    noise: Sequence[int],
    weights: Sequence[float],
    mean: bool = True,
    update: str = "correct",
    pooled: bool = False,
) -> tuple[Array, Array]:
    """Return (∂L/∂v, ∂L/∂v') of one CBOW window with bags; update="faulty" leaves out every division, as fastText."""
    if pooled:
        rows = [row for word in context for row in bags[word]]
        return cbow_gradient(source, target, centre, rows, noise, weights, mean, update)
    composed = compose_vectors(source, bags)
    d_vectors, d_target = cbow_gradient(composed, target, centre, context, noise, weights, mean, update)
    return return_to_rows(d_vectors, source, bags, update), d_target


def bags_skipgram_loss(
    source: Array,
    target: Array,
    bags: Sequence[Sequence[int]],
    centre: int,
    context: Sequence[int],
    noise: Sequence[Sequence[int]],
    weights: Sequence[float],
) -> float:
    """Return L of one skip-gram window with bags."""
    return skipgram_loss(compose_vectors(source, bags), target, centre, context, noise, weights)


def bags_skipgram_gradient(
    source: Array,
    target: Array,
    bags: Sequence[Sequence[int]],
    centre: int,
    context: Sequence[int],
    noise: Sequence[Sequence[int]],
    weights: Sequence[float],
    update: str = "correct",
) -> tuple[Array, Array]:
    """Return (∂L/∂v, ∂L/∂v') of one skip-gram window with bags; update="faulty" divides nothing, as fastText."""
    composed = compose_vectors(source, bags)
    d_vectors, d_target = skipgram_gradient(composed, target, centre, context, noise, weights)
    return return_to_rows(d_vectors, source, bags, update), d_target
