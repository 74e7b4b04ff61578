"""CBOW with positions: which options it takes, and how the weights that all words share are trained."""

from __future__ import annotations

import numpy as np
import pytest

from mumon.corpus import corpus_from_sentences
from mumon.corpus.vocabulary import Vocabulary
from mumon.errors import OptionError
from mumon.kernels.layout import row_bytes
from mumon.training import memory
from mumon.training.memory import compute_training_bytes
from mumon.training.objectives import CBOW, POSITIONAL_CBOW, SKIPGRAM
from mumon.training.schedule import Schedule
from mumon.training.settings import Settings
from mumon.training.thread_runner import ThreadRunner
from mumon.training.trainer import Trainer
from mumon.training.weights import allocate_matrix, fill_initial_rows
from mumon.utils.progress import Progress

D = 16


def test_positions_choose_another_record_of_the_same_objective():
    assert Settings().objective_record is CBOW and Settings(objective="sg").objective_record is SKIPGRAM
    settings = Settings(positions=3)
    assert settings.objective == "cbow" and settings.objective_record is POSITIONAL_CBOW
    assert (settings.shared_negatives, settings.batch) == (Settings().shared_negatives, Settings().batch)


@pytest.mark.parametrize("window, weights", [(1, 2), (2, 4), (3, 6), (4, 6), (5, 8), (8, 8), (9, 10), (1000, 10)])
def test_no_side_has_more_groups_of_distances_than_its_window_has_use_for(window, weights):
    settings = Settings(window=window, positions=5)
    assert settings.objective_record.weight_rows(settings) == weights


@pytest.mark.parametrize(
    "options, reason",
    [
        ({"objective": "sg"}, "skip-gram has no weights"),
        ({"cbow_mean": False}, r"the sum of context vectors \(cbow_mean=0\) has no weights"),
        ({"update": "faulty"}, "update='faulty' has no gradient for weights"),
    ],
)
def test_positions_are_refused_where_nothing_has_a_gradient_for_them(options, reason):
    with pytest.raises(OptionError, match=f"positions is 4 and {reason} of positions; choose 0, or train CBOW"):
        Settings(positions=4, **options)
    with pytest.raises(OptionError, match="positions is -1; it must be a whole number of at least 0"):
        Settings(positions=-1)


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
def test_weights_and_their_copies_in_every_thread_count_as_memory(exact):
    columns, words = 10**6, 3
    plain, one, many = (
        compute_training_bytes(words, columns, Settings(exact=exact, **options))
        for options in ({}, {"positions": 2}, {"positions": 2, "workers": 8})
    )
    rows, buffers = words * (2 * row_bytes(columns) + memory.WORD_BYTES), 4 * row_bytes(columns)
    assert many - one == 7 * (one - rows - buffers)
    assert one - plain >= (1 + 2) * buffers


# ---- training


def telling_neighbours(sentences=4000, seed=1):
    """Sentences in which a word tells the next one for certain (a2 b2, then a7 b7 …) and others nothing at all."""
    random = np.random.default_rng(seed)
    return [[f"{letter}{n}" for n in random.integers(0, 20, 4) for letter in "ab"] for _ in range(sentences)]


def train(sentences, weights=None, epochs=1, **options):
    """Train with threads; return what was trained and the last epoch's loss."""
    corpus = corpus_from_sentences(sentences)
    vocabulary = Vocabulary.from_corpus(corpus, min_count=1)
    source, target = allocate_matrix(len(vocabulary), D), allocate_matrix(len(vocabulary), D)
    fill_initial_rows(source, D, np.arange(len(vocabulary)), 1)
    settings = Settings(sample=0, **options)
    lookup = vocabulary.lookup(corpus)
    runner = ThreadRunner(corpus, lookup, vocabulary.counts, source, target, settings, weights=weights)
    done = Trainer(runner, Progress()).run(epochs, Schedule(0.2, 0.01, epochs))
    return source, target, runner.engine.weights, done[-1].loss


@pytest.mark.parametrize("exact", [False, True], ids=["fast", "exact"])
def test_places_that_tell_more_of_a_word_weigh_more_and_the_loss_falls(exact):
    sentences = telling_neighbours(1500 if exact else 4000)
    *_, weights, loss = train(sentences, positions=3, window=4, epochs=4, exact=exact)
    *_, none, plain = train(sentences, window=4, epochs=4, exact=exact)
    assert none.size == 0 and weights.shape == (6, D)
    left, right = weights[:3], weights[3:]
    strength = [np.abs(row).mean() for row in (left[2], left[1], left[0], right[0], right[1], right[2])]
    assert min(strength[0], strength[3]) > 1.2 * max(strength[1], strength[2], strength[4], strength[5])
    assert loss < 0.95 * plain


def test_one_thread_gives_identical_bytes_and_several_learn_the_same_weights():
    sentences = telling_neighbours()
    first, second, parallel = (train(sentences, positions=2, window=4, workers=workers) for workers in (1, 1, 2))
    for one, other in zip(first[:3], second[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(parallel[2].mean(axis=1), first[2].mean(axis=1), atol=0.1)


def test_weights_are_trained_in_place_from_what_they_are():
    given = np.full((4, D), 0.5, np.float32)
    *_, trained, _ = train(telling_neighbours(500), given, positions=2, window=4)
    assert trained is given and (given != 0.5).all()
    *_, fresh, _ = train(telling_neighbours(500), positions=2, window=4)
    assert np.abs(fresh - 1).max() < np.abs(fresh - 0.5).max() and not np.array_equal(fresh, given)
