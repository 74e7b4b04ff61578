"""A few sentences about cats and dogs, models of them, and callbacks that do something at a certain time."""

from __future__ import annotations

from mumon import Word2Vec

SENTENCES = [["the", "cat", "sat", "down"], ["the", "dog", "sat", "up"], ["a", "cat", "saw", "a", "dog"]] * 20
SMALL = {"vector_size": 8, "min_count": 1, "sample": 0, "workers": 1, "epochs": 2}


class EnoughError(Exception):
    """What a callback raises to end a training."""


def small(sentences=SENTENCES, **options):
    """A model that trains in no time."""
    return Word2Vec(sentences, **{**SMALL, **options})


class At:
    """Does something at the end of an epoch, when the history has some length."""

    def __init__(self, length, act):
        self.length, self.act = length, act

    def on_epoch_end(self, model):
        if len(model.history) == self.length:
            self.act(model)


def once(act):
    """Does something at the end of the first epoch."""
    return At(1, act)
