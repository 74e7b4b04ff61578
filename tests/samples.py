"""Small vectors and checks that the tests of files share."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mumon import Word2Vec
from mumon.errors import FormatError

WORDS = ["the", "naïve", "🙂", "of"]
VECTORS = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
COUNTS = np.array([9, 7, 3, 0], np.int64)
NAMES = {"mumon": "v.mumon", "word2vec-text": "v.txt", "word2vec-bin": "v.bin", "glove": "v.glove"}


def refused(call, *patterns, error=FormatError):
    with pytest.raises(error) as caught:
        call()
    message = str(caught.value)
    for pattern in patterns:
        assert re.search(pattern, message), message
    assert "\n" not in message
    return message


def left_over(path):
    return sorted(entry.name for entry in path.iterdir())


def files_of(path):
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


def small(sentences, **options):
    """A model of little text, trained at once and the same every time."""
    defaults = {"vector_size": 24, "min_count": 1, "sample": 0, "epochs": 12, "workers": 1, "progress": False}
    return Word2Vec(sentences, **{**defaults, **options})
