"""The first learning rate of a training: the rule of the objective, made safe for the text at hand.

The fast kernels add up the steps of a word over a batch before any of them is seen. Where few words make up most of
a text, or of a part of it, the sum of such steps would run away, so the rate is lowered there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.corpus.subwords import Bags
from mumon.kernels.layout import PIECE
from mumon.training.sampling import CERTAIN, compute_bag_rates, compute_keep_chances, compute_row_rates
from mumon.training.settings import Settings

# The steps that a fast kernel adds up before any is seen must not add up to more than this many times a gradient:
# uniform, Zipfian and steeper texts over 3 … 1,000 words diverged from 2.6 on, counted over 128 targets.
SAFE_STEPS, SUMMED_TARGETS = 1.5, 128
USUAL_NEGATIVE = 5
SAFE_COUPLING = 1.5
LOW_RATE_FACTOR = 4  # a given rate that is this many times below the rule's deserves a warning


def choose_alpha(
    settings: Settings,
    tokens: int,
    corpus: EncodedCorpus,
    counts: npt.NDArray[np.int64],
    lookup: npt.NDArray[np.int32],
    bags: Bags | None = None,
) -> float:
    """Choose the first learning rate for a corpus.

    Parameters
    ----------
    settings
        Of the training.
    tokens
        To be trained, epochs included.
    corpus
        The text: how crowded it is with repeated words is measured on pieces of it.
    counts, lookup
        The count of each row, and the row of each word of the corpus (-1 for none).
    bags
        The source rows of each word, where it has several.

    Returns
    -------
    float
    """
    words = (counts, settings.sample, settings.row_exponent)
    pieces = (lookup[piece] for piece in corpus.pieces(settings.batch))
    crowd = 1.0 if settings.exact else measure_crowding(pieces, *words)
    alpha = compute_default_alpha(settings, tokens, find_heaviest_share(*words), corpus.usual_length, crowd)
    if bags is None or settings.exact:
        return alpha
    contexts = count_usual_contexts(settings, corpus.usual_length)
    summed = settings.objective_record.gradients(settings, contexts)[0] * max(settings.negative / USUAL_NEGATIVE, 1.0)
    steps = measure_coupling(bags, counts, settings) * summed
    return min(alpha, SAFE_COUPLING / steps) if steps else alpha


def compute_default_alpha(
    settings: Settings, tokens: int, heaviest_share: float = 0.0, sentence: float = math.inf, crowding: float = 1.0
) -> float:
    """Return the rate to start from when the user names none.

    Parameters
    ----------
    settings
        Of the training; its objective brings the rule.
    tokens
        To be trained, epochs included.
    heaviest_share
        The largest share of the trained tokens that one word has (`find_heaviest_share`).
    sentence
        The usual length of a sentence. Windows end with their sentence, so a wider one is no wider than that.
    crowding
        How often words return within a few tokens (`measure_crowding`).

    Returns
    -------
    float

    >>> [round(compute_default_alpha(Settings(), tokens), 3) for tokens in (10**6, 10**8, 10**9, 10**10)]
    [0.6, 0.185, 0.093, 0.075]
    >>> round(compute_default_alpha(Settings(), 10**6, heaviest_share=0.5), 3)
    0.023
    """
    objective = settings.objective_record
    rule = objective.rate_rule(settings)
    rate = rule.at(tokens)
    if settings.exact:
        return rate
    contexts = count_usual_contexts(settings, sentence)
    summed = objective.gradients(settings, contexts)[0]  # gradients that one window or centre adds to a source row
    noise = max(settings.negative / USUAL_NEGATIVE, 1.0)
    rate = min(rate, rule.safe_pairs / contexts, rule.safe_crowd / (crowding * summed * noise))
    if not heaviest_share:
        return rate
    delay = settings.batch + objective.write_delay(settings, sentence)
    steps = max(SUMMED_TARGETS, delay) * heaviest_share * summed
    return min(rate, SAFE_STEPS / steps)


def count_usual_contexts(settings: Settings, sentence: float) -> float:
    """Return C, the number of contexts of a token, on average; the arguments are those of `compute_default_alpha`."""
    return min(settings.window + 1 if settings.shrink_windows else 2 * settings.window, max(sentence - 1, 1))


def measure_coupling(bags: Bags, counts: npt.NDArray[np.int64], settings: Settings) -> float:
    """Return how many gradients of other words a word's vector receives at once, through the rows that they share.

    The fast kernels exchange rows once for a piece of the text. Where most words share most of their n-grams, as item1
    … item999 do, the steps of all tokens of a piece add up in each of them before any is seen.

    Parameters
    ----------
    bags
        The source rows of each word.
    counts
        How often each word occurs.
    settings
        Of the training.

    Returns
    -------
    float
        The mean over all tokens, as a multiple of alpha times a gradient.
    """
    kept = counts * (compute_keep_chances(counts, settings.sample) / CERTAIN)
    if not kept.any():
        return 1.0
    shares, sizes, rows = kept / kept.sum(), bags.sizes, int(bags.members.max()) + 1
    boost = partial(settings.objective_record.source_boost, settings)
    rates = compute_bag_rates(counts, rows, bags, settings.row_exponent, boost)
    out = np.repeat(PIECE * shares / (sizes if settings.update == "correct" else 1), sizes)
    received = np.bincount(bags.members, out, minlength=rows)
    others = rates[bags.members] * np.maximum(received[bags.members] - out, 0)  # a word's own steps are seen at once
    return float((shares * np.add.reduceat(others, bags.starts[:-1]) / sizes).sum())


def advise_on_low_rate(settings: Settings, alpha: float, tokens: int, sentence: float) -> str | None:
    """Return advice if a rate is too low for an objective whose steps are shorter than gensim's; None if it is not.

    Parameters
    ----------
    settings, tokens, sentence
        As for `compute_default_alpha`.
    alpha
        The rate that the user gave.
    """
    if not settings.objective_record.rate_rule(settings).shorter_steps:
        return None
    usual = compute_default_alpha(settings, tokens, sentence=sentence)
    if LOW_RATE_FACTOR * alpha > usual:
        return None
    return f"alpha={alpha:g} is low for the correct update, which {usual:.2g} suits here; leave it out"


def measure_crowding(
    pieces: Iterable[npt.NDArray[np.int32]], counts: npt.NDArray[np.int64], sample: float, exponent: float
) -> float:
    """Return how often a token's word occurs among the same few tokens, itself included, in the most crowded pieces.

    `pieces` are rows of consecutive tokens, -1 for words that have none. Repetitions count by the chance that they
    survive subsampling and by their row rates; of the means of the pieces it is the one that 95 % do not exceed. A walk
    that turns back and a session among few items repeat words that are rare in the whole text.

    >>> walk, text = np.array([4, 5, 4, 5], np.int32), np.array([4, 5, 6, 7], np.int32)
    >>> [measure_crowding([piece], np.full(100, 50), sample=0, exponent=0) for piece in (walk, text)]
    [2.0, 1.0]
    """
    keep, rates = compute_keep_chances(counts, sample) / CERTAIN, compute_row_rates(counts, exponent)
    means = [1.0]
    for piece in pieces:
        known = piece[piece >= 0]
        if len(set(known.tolist())) == len(known):  # no word returns: most pieces of a text
            means += [1.0] * bool(keep[known].any())
            continue
        words, times = np.unique(known, return_counts=True)
        tokens = times * keep[words]
        if tokens.any():
            means.append(1 + float((tokens * (times - 1) * keep[words] * rates[words]).sum() / tokens.sum()))
    return float(np.quantile(means[1:] or means, 0.95))


def find_heaviest_share(counts: npt.NDArray[np.int64], sample: float, exponent: float) -> float:
    """Return the largest share that any word has of all trained tokens, after subsampling, times its row rate.

    >>> round(find_heaviest_share(np.array([600, 300, 100]), sample=0, exponent=0), 2)
    0.6
    """
    kept = counts * (compute_keep_chances(counts, sample) / CERTAIN)
    return float((kept * compute_row_rates(counts, exponent)).max() / kept.sum()) if kept.any() else 0.0
