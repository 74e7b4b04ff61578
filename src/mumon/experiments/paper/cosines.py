"""The cosine between the faulty update and the gradient: its closed form, and that of windows of a trained model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.errors import CorpusError
from mumon.experiments.paper.experiment_context import Part
from mumon.kernels.reference import sigmoid
from mumon.training.sampling import SAMPLE, compute_keep_chances, compute_noise_distribution, derive_seed
from mumon.word2vec import Word2Vec

Array = npt.NDArray[np.float64]
ATTEMPTS_PER_WINDOW = 20  # places in the text at which windows are looked for
Window = tuple[int, list[int]]  # a centre and its context words
Noisy = tuple[int, list[int], list[int]]  # and its noise words


def cosine(C: Any, k: Any) -> Any:
    """Return the cosine between the faulty and the correct step of a window whose rows have gradients of one norm.

    Parameters
    ----------
    C
        Number of context words, or an array of them.
    k
        Number of noise words, or an array of them.

    Returns
    -------
    float or array
        (C² + k + 1) / √((C³ + k + 1)(C + k + 1)).

    Examples
    --------
    >>> round(float(cosine(5, 5)), 2), round(float(cosine(9, 20)), 2)
    (0.82, 0.68)
    """
    C, k = np.asarray(C, np.float64), np.asarray(k, np.float64)
    return (C**2 + k + 1) / np.sqrt((C**3 + k + 1) * (C + k + 1))


def find_least_cosine(most: int) -> tuple[float, int, int]:
    """Return the smallest cosine for C and k up to `most`, and its C and k.

    >>> find_least_cosine(20)[1:]
    (9, 20)
    """
    values = cosine(np.arange(1, most + 1)[:, None], np.arange(1, most + 1)[None])
    C, k = np.unravel_index(int(values.argmin()), values.shape)
    return float(values.min()), int(C) + 1, int(k) + 1


def draw_windows(model: Word2Vec, part: Part, count: int, seed: int) -> list[Window]:
    """Draw windows as training sees them, from all over the corpus.

    Parameters
    ----------
    model, part
        The model and the text it was trained on.
    count
        Number of windows.
    seed
        Models with the same vocabulary get the same windows for the same seed.

    Returns
    -------
    list of Window
        A centre and its context words each.

    Raises
    ------
    CorpusError
        If the text has too few windows.
    """
    from mumon.kernels.windows import sample_block

    assert model.vocabulary is not None
    settings, random = model.settings, np.random.default_rng(seed)
    lookup, keep = model.vocabulary.lookup(part.corpus), compute_keep_chances(model.vocabulary.counts, settings.sample)
    windows: list[Window] = []
    for attempt in range(ATTEMPTS_PER_WINDOW * count):
        first = int(random.integers(max(1, part.sentences - 20)))
        starts = np.array(part.corpus.offsets[first : first + 21])
        ids, left, right = (np.empty(int(starts[-1] - starts[0]), np.int32) for _ in range(3))
        n = sample_block(
            part.corpus.read(int(starts[0]), int(starts[-1])), starts - starts[0], 0, len(starts) - 1, lookup, keep,
            settings.window, settings.shrink_windows, False, derive_seed(seed, 0, attempt, SAMPLE), ids, left, right,
        )  # fmt: skip
        for i in random.permutation(int(n))[:10]:
            windows.append((int(ids[i]), [int(ids[j]) for j in range(left[i], right[i]) if j != i]))
        if len(windows) >= count:
            return windows[:count]
    raise CorpusError(
        f"{len(windows)} of {count} windows could be drawn: too few sentences have two words; give more text"
    )


def add_noise_words(model: Word2Vec, windows: list[Window], k: int, seed: int) -> list[Noisy]:
    """Draw k noise words for each window; those that equal the centre are left out."""
    assert model.vocabulary is not None
    noise = compute_noise_distribution(model.vocabulary.counts, model.settings.ns_exponent)
    drawn = np.random.default_rng([seed, k]).choice(len(noise), size=(len(windows), k), p=noise)
    return [
        (centre, context, [int(word) for word in words if word != centre])
        for (centre, context), words in zip(windows, drawn, strict=True)
    ]


def measure_batch_cosines(model: Word2Vec, windows: list[Noisy], batch: int) -> Array:
    """Return the cosine between the two updates for each batch, summed over its windows."""
    source, target = model.wv.vectors, model.syn1neg
    return np.array(
        [
            measure_update_cosine(source, target, windows[first : first + batch])
            for first in range(0, len(windows) - batch + 1, batch)
        ]
    )


def measure_update_cosine(source: Any, target: Any, windows: list[Noisy]) -> float:
    """Return the cosine between the faulty update and the gradient of some windows, over all rows of both matrices.

    Both have the same target rows. In the source rows the faulty update is C times the correct step of each window.

    Parameters
    ----------
    source, target
        The matrices.
    windows
        Centre, context words and noise words each.

    Returns
    -------
    float
        The cosine.
    """
    correct: dict[int, Array] = {}
    faulty: dict[int, Array] = {}
    targets: dict[int, Array] = {}
    for centre, context, noise in windows:
        C = len(context)
        h = np.asarray(source[context], np.float64).sum(axis=0) / C
        words = [centre, *noise]
        rows = np.asarray(target[words], np.float64)
        error = np.asarray(sigmoid(rows @ h)) - np.eye(1, len(words))[0]
        d_h = error @ rows
        for word, weight in zip(words, error, strict=True):
            targets[word] = targets.get(word, 0.0) + weight * h
        for word in context:
            correct[word] = correct.get(word, 0.0) + d_h / C
            faulty[word] = faulty.get(word, 0.0) + d_h
    common = sum(float(row @ row) for row in targets.values())
    dot = common + sum(float(correct[word] @ faulty[word]) for word in correct)
    lengths = [common + sum(float(row @ row) for row in side.values()) for side in (correct, faulty)]
    return dot / float(np.sqrt(lengths[0] * lengths[1]))
