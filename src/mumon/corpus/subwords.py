"""fastText's character n-grams: which rows the parts of a word have, and the vector that is their mean.

A word is written <word>; its n-grams are all runs of minn to maxn characters of that, except a single < or >. An
n-gram's row is its FNV-1a hash, modulo the number of rows. fastText treats bytes as signed when it hashes them, so
bytes of 128 and more flip the upper 24 bits as well; all its published vectors depend on that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FNV_START, FNV_PRIME = np.uint32(2166136261), np.uint32(16777619)
END_OF_SENTENCE = b"</s>"  # has its own row and no n-grams
BATCH_BYTES = 1 << 16  # of the words that are cut into n-grams in one step
BATCH_NUMBERS = 1 << 22  # of the rows that are added up in one step

Ids = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Subwords:
    """The rows of n-grams, a (B, D) matrix, and the least and greatest length of an n-gram in characters.

    >>> subwords = Subwords(np.eye(5, dtype=np.float32), minn=3, maxn=3)
    >>> [ids.tolist() for ids in subwords.find_ngrams([b"ab", b"kin"])]  # <ab ab> and <ki kin in>
    [[3, 1, 0, 2, 1], [0, 0, 1, 1, 1]]
    >>> subwords.compute_vector("ab").tolist()
    [0.0, 0.5, 0.0, 0.5, 0.0]
    """

    rows: Floats
    minn: int
    maxn: int

    def find_ngrams(self, words: Sequence[bytes]) -> tuple[Ids, Ids]:
        """Find the n-grams of words.

        Parameters
        ----------
        words
            UTF-8, without < and >.

        Returns
        -------
        tuple of ndarray
            The row of each n-gram, and the index of the word that it belongs to, in ascending order.
        """
        found = [np.empty((2, 0), np.int64)]
        batch: list[bytes] = []
        first, size = 0, 0
        for number, word in enumerate(words):
            batch.append(b"<" + word + b">" if word != END_OF_SENTENCE else b"")
            size += len(word) + 2
            if size >= BATCH_BYTES or number + 1 == len(words):
                found.append(self._find_in_batch(batch) + np.array([[0], [first]]))
                first, size, batch = number + 1, 0, []
        ids, owners = np.concatenate(found, axis=1)
        return ids, owners

    def _find_in_batch(self, words: list[bytes]) -> Ids:
        """Find n-grams at all characters at once: every step adds one character to the n-gram that begins at each."""
        text = np.frombuffer(b"".join(words), np.uint8)
        if not len(text) or not len(self.rows):
            return np.empty((2, 0), np.int64)
        begin = np.flatnonzero(text & 0xC0 != 0x80)  # of characters: the other bytes continue one
        length = np.diff(begin, append=len(text))
        owner = np.repeat(np.arange(len(words)), [len(word) for word in words])[begin]
        signed = text.view(np.int8).astype(np.int32).view(np.uint32)
        at = np.arange(len(begin))  # the characters that still have an n-gram of this length
        hashes = np.full(len(begin), FNV_START)
        edge = np.ones(len(begin) + 1, bool)  # of words
        edge[1:-1] = owner[1:] != owner[:-1]
        found: list[Ids] = []
        for size in range(1, self.maxn + 1):
            inside = at + size <= len(begin)
            at = at[inside]
            at = at[owner[at + size - 1] == owner[at]]
            if not len(at):
                break
            _hash_next_character(hashes, at, begin[at + size - 1], length[at + size - 1], signed)
            if size >= self.minn:
                counted = at if size > 1 else at[~(edge[:-1] | edge[1:])[at]]
                found.append(np.stack([(hashes[counted] % np.uint32(len(self.rows))).astype(np.int64), owner[counted]]))
        ids = np.concatenate(found, axis=1) if found else np.empty((2, 0), np.int64)
        return ids[:, np.argsort(ids[1], kind="stable")]

    def average_rows(self, words: Sequence[bytes], own: Floats | None = None) -> tuple[Floats, Ids]:
        """Average the rows of each word's n-grams, with its own row if it has one.

        Parameters
        ----------
        words
            UTF-8, without < and >.
        own
            The words' own rows.

        Returns
        -------
        tuple of ndarray
            The means, and how many rows each is the mean of; 0 rows give a vector of zeros.
        """
        ids, owners = self.find_ngrams(words)
        sums = np.zeros((len(words), self.rows.shape[1]), np.float32)
        if own is not None:
            sums += own
        step = max(1, BATCH_NUMBERS // self.rows.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # rows of a damaged file: the caller checks the result
            for start in range(0, len(ids), step):
                part = owners[start : start + step]
                firsts = np.flatnonzero(np.diff(part, prepend=-1))
                sums[part[firsts]] += np.add.reduceat(self.rows[ids[start : start + step]], firsts, axis=0)
            counts = np.bincount(owners, minlength=len(words)).astype(np.int64) + (own is not None)
            sums /= np.maximum(counts, 1).astype(np.float32)[:, None]
        return sums, counts

    def has_ngrams(self, word: str) -> bool:
        """Return whether a word has an n-gram, and so a vector, without computing any."""
        shortest = max(self.minn, 2 if self.maxn > 1 else 3)  # of <word>: a single < or > is not an n-gram
        return (
            len(self.rows) > 0
            and max(self.minn, 1) <= self.maxn
            and len(word) + 2 >= shortest
            and word != END_OF_SENTENCE.decode()
        )

    def compute_vector(self, word: str) -> Floats | None:
        """Return the vector of a word without its own row, or None if it has no n-grams."""
        means, counts = self.average_rows([word.encode("utf-8", "surrogatepass")])
        return means[0] if counts[0] else None


def _hash_next_character(
    hashes: NDArray[np.uint32], at: Ids, begin: Ids, length: Ids, signed: NDArray[np.uint32]
) -> None:
    """Add one more character, byte by byte, to the hash at each of the places `at`."""
    for byte in range(int(length.max())):
        if byte:  # most characters are a single byte; only the others continue
            more = length > byte
            at, begin, length = at[more], begin[more], length[more]
        hashes[at] = (hashes[at] ^ signed[begin + byte]) * FNV_PRIME
