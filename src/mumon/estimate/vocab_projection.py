"""The words of a sample, spread over as many rows as the model of the whole text will have.

How long a token takes depends on how many rows are in the processor's caches. So the calibration has the real number of
rows and uses each as often as training will: a word of the sample gets the row above which the same share of all tokens
lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus

SURE_COUNT = 10  # occurrences in the sample from which on a word's share of the text is known well enough


@dataclass(frozen=True)
class VocabProjection:
    """Counts of as many words as there are rows, and the row of each word of the sample (-1 for none)."""

    counts: npt.NDArray[np.int64]
    lookup: npt.NDArray[np.int32]

    def count_hot_rows(self, share: float) -> int:
        """Count the most frequent words that together make up this share of the text."""
        total = np.cumsum(np.sort(self.counts)[::-1])
        return int(np.searchsorted(total, share * total[-1])) + 1


def project_vocab(sample: EncodedCorpus, tokens: int, words: int, last: float) -> VocabProjection:
    """Spread the words of a sample over the rows of the model of a longer text.

    Parameters
    ----------
    sample
        The part of the text that was read.
    tokens
        The length of the whole text.
    words
        The number of rows.
    last
        How often the rarest word with a row occurs in the whole text.

    Returns
    -------
    VocabProjection
        The counts of all rows, and the row of each word of the sample.

    Examples
    --------
    >>> from mumon.corpus import corpus_from_sentences
    >>> projection = project_vocab(corpus_from_sentences([["a"] * 60 + ["b"] * 30 + ["c"] * 10]), 1000, words=6, last=5)
    >>> projection.counts.tolist()
    [600, 300, 100, 29, 11, 5]
    >>> projection.lookup.tolist()
    [0, 1, 2]
    """
    grown = tokens / sample.tokens
    known = max(1, min(int(np.count_nonzero(sample.counts >= SURE_COUNT)), words))
    counts = np.empty(words, np.float64)
    counts[:known] = np.maximum(sample.counts[:known] * grown, 1)
    if known < words:  # the rarer ones lie on a straight line between logarithms, as Zipf's law has it
        end = min(max(last, 1.0), counts[known - 1])
        power = np.log(end / counts[known - 1]) / np.log(words / known)
        counts[known:] = counts[known - 1] * (np.arange(known + 1, words + 1) / known) ** power
    above = (np.cumsum(sample.counts) - sample.counts / 2) / sample.tokens
    lookup = np.searchsorted(np.cumsum(counts) / tokens, above).astype(np.int32)
    lookup[lookup == words] = -1
    return VocabProjection(np.maximum(np.rint(counts), 1).astype(np.int64), lookup)
