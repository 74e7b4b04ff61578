"""Generated text that takes as long to read and train as real text: sentences of words by Zipf's law."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

SENTENCE_WORDS = 22  # as in an encyclopaedia, on average
BLOCK_SENTENCES = 10_000  # that are drawn at a time


def write_zipf_text(path: str | os.PathLike[str], sentences: int, words: int = 50_000, seed: int = 1) -> Path:
    """Write sentences in which word r occurs about 1/r times as often as the first.

    Parameters
    ----------
    path
        The file to write.
    sentences
        The number of lines.
    words
        The number of distinct words, at most.
    seed
        Equal seeds write equal texts.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> path = write_zipf_text(Path(tempfile.mkdtemp()) / "text.txt", sentences=3, words=10)
    >>> len(path.read_text().splitlines())
    3
    """
    random = np.random.default_rng(seed)
    cumulative = np.cumsum(1 / np.arange(1, words + 1))
    names = np.array([f"w{word}" for word in range(words)])
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        for first in range(0, sentences, BLOCK_SENTENCES):
            lengths = 2 + random.poisson(SENTENCE_WORDS - 2, min(BLOCK_SENTENCES, sentences - first))
            drawn = np.searchsorted(cumulative, random.random(lengths.sum()) * cumulative[-1], side="right")
            ends = np.cumsum(lengths)
            file.writelines(" ".join(part) + "\n" for part in np.split(names[drawn], ends[:-1]))
    return Path(path)
