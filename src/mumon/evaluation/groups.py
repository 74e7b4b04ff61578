"""Two more questions: do words of a category cluster together, and which word does not belong?"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from mumon.evaluation.tasks import Task
from mumon.evaluation.word_lookup import Finder
from mumon.vectors.neighbours import Floats, scale_to_unit

RESTARTS = 10  # k-means finds different clusters from different starts; the tightest is kept


def purity(task: Task, finder: Finder, seed: int = 0) -> tuple[float, int]:
    """How pure k-means clusters of the words are, × 100, with as many clusters as categories; and of how many words.

    Purity is the share of words that are in the most frequent category of their cluster.
    """
    from scipy.cluster.vq import kmeans2

    rows = [(finder.find(words[0])[0], section) for words, section in zip(task.items, task.sections, strict=True)]
    known = [(row, section) for row, section in rows if row >= 0]
    categories, labels = np.unique([section for _, section in known], return_inverse=True)
    if len(categories) < 2:
        return float("nan"), len(known)
    points = np.array([scale_to_unit(finder.wv.vectors[row]) for row, _ in known], np.float64)
    best, clusters = np.inf, labels
    for start in range(RESTARTS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a cluster may stay empty: another start will do better
            centres, found = kmeans2(points, len(categories), minit="++", seed=np.random.default_rng([seed, start]))
        spread = float(((points - centres[found]) ** 2).sum())
        if spread < best:
            best, clusters = spread, found
    table = np.zeros((len(categories), len(categories)), int)
    np.add.at(table, (clusters, labels), 1)
    return 100 * float(table.max(axis=1).sum()) / len(known), len(known)


def outlier_positions(task: Task, finder: Finder) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """For each item, the place of the outlier from 0 (looks most at home) to 1 (least), and whether it was found.

    The word with the lowest mean cosine to the others is the one whose absence leaves the rest most compact, which is
    Camacho-Collados and Navigli's criterion. An item needs its outlier and two of the words that belong together.
    """
    places, found = np.zeros(len(task)), np.zeros(len(task), bool)
    for i, words in enumerate(task.items):
        rows = [row for row in finder.rows(words[:-1]) if row >= 0]
        stranger = finder.find(words[-1])[0]
        found[i] = stranger >= 0 and len(rows) >= 2
        if found[i]:
            units: Floats = np.array([scale_to_unit(finder.wv.vectors[row]) for row in [*rows, stranger]])
            belonging = (units @ units.T).sum(axis=1)
            places[i] = np.mean(belonging[:-1] > belonging[-1])
    return places, found
