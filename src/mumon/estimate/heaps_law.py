"""How many distinct words a text has if only a part of it was read."""

from __future__ import annotations

import math

import numpy as np

from mumon.corpus import EncodedCorpus

LEAST_TOKENS = 1000  # of a sample; a quarter of fewer says too little


class VocabGrowth:
    """The number of words as a function of the tokens read, measured on a quarter, a half and all of a sample.

    A text twice as long has 2^s times as many words that occur at least m times. The slope s depends on how rare words
    with m occurrences are, so for each doubling beyond the sample s is taken at half the m of the one before, but not
    below 2: many words that occur once are misspellings.

    Parameters
    ----------
    sample
        The part that was read.

    Examples
    --------
    >>> from mumon.corpus import corpus_from_sentences
    >>> text = [[f"{first}-{second}" for second in range(50)] for first in range(40)]  # every word is new
    >>> round(VocabGrowth(corpus_from_sentences(text)).count_words(8000, min_count=1))
    8000
    """

    def __init__(self, sample: EncodedCorpus) -> None:
        self.tokens, self._counts = sample.tokens, sample.counts
        types = len(sample.counts)
        parts = [sample.tokens // 4, sample.tokens // 2] if sample.tokens >= LEAST_TOKENS else []
        self._parts = [(part, np.bincount(sample.read(0, part), minlength=types)) for part in parts]

    def count_words(self, tokens: float, min_count: int) -> float:
        """Estimate how many words occur at least `min_count` times in a longer text of this kind.

        Parameters
        ----------
        tokens
            The length of the text.
        min_count
            The least number of occurrences.
        """
        least = max(min_count, 1)
        found = float(np.count_nonzero(self._counts >= least))
        doublings = math.log2(max(tokens, 1) / self.tokens)
        step = 0
        while doublings > 0 and found:
            at = max(round(least / 2**step), min(least, 2))
            found *= 2 ** (min(doublings, 1.0) * self._measure_slope(at))
            doublings, step = doublings - 1, step + 1
        return found

    def _measure_slope(self, least: int) -> float:
        """Return the power by which the number of words with `least` occurrences grows with the text."""
        now = np.count_nonzero(self._counts >= least)
        for part, counts in self._parts:
            before = np.count_nonzero(counts >= least)
            if before:
                return float(np.clip(math.log(now / before) / math.log(self.tokens / part), 0.0, 1.0))
        return 0.5  # the rule of thumb of Heaps' law: the sample is too small to measure it
