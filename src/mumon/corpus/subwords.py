"""fastText's character n-grams: which rows the parts of a word have, and the vector that is their mean.

A word is written <word>; its n-grams are all runs of minn to maxn characters of that, except a single < or >. An
n-gram's row is its FNV-1a hash, modulo the number of rows. fastText treats bytes as signed when it hashes them, so
bytes of 128 and more flip the upper 24 bits as well; all its published vectors depend on that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mumon.utils.validation import check_integer

FNV_START, FNV_PRIME = np.uint32(2166136261), np.uint32(16777619)
END_OF_SENTENCE = b"</s>"  # has its own row and no n-grams
BATCH_BYTES = 1 << 16  # of the words that are cut into n-grams in one step
BATCH_NUMBERS = 1 << 22  # of the rows that are added up in one step

Ids = NDArray[np.int64]
Rows = NDArray[np.int32]
Floats = NDArray[np.float32]

MOST_CHARACTERS = 64  # in an n-gram; with more, a hostile file could keep a reader busy for hours
MOST_BUCKETS = 1 << 31


@dataclass(frozen=True)
class Ngrams:
    """Which character n-grams words have: their least and greatest length, and how many buckets they are hashed into.

    With no buckets, or a greatest length below the least, there are none.

    >>> ngrams = Ngrams(3, 3, bucket=5)
    >>> [ids.tolist() for ids in ngrams.find([b"ab", b"kin"])]  # <ab ab> and <ki kin in>
    [[3, 1, 0, 2, 1], [0, 0, 1, 1, 1]]
    >>> Ngrams(3, 2, bucket=5).find([b"ab"])[0].tolist()
    []
    """

    min_n: int = 3
    max_n: int = 6
    bucket: int = 2_000_000

    def __post_init__(self) -> None:
        object.__setattr__(self, "min_n", check_integer("min_n", self.min_n, least=0, most=MOST_CHARACTERS))
        object.__setattr__(self, "max_n", check_integer("max_n", self.max_n, least=0, most=MOST_CHARACTERS))
        object.__setattr__(self, "bucket", check_integer("bucket", self.bucket, least=0, most=MOST_BUCKETS - 1))

    @property
    def exist(self) -> bool:
        """Whether any word has any."""
        return self.bucket > 0 and max(self.min_n, 1) <= self.max_n

    def find(self, words: Sequence[bytes]) -> tuple[Ids, Ids]:
        """Find the n-grams of words.

        Parameters
        ----------
        words
            UTF-8, without < and >.

        Returns
        -------
        tuple of ndarray
            The bucket of each n-gram, and the index of the word that it belongs to, in ascending order.
        """
        parts = [np.stack([ids, owners + first]) for first, _, ids, owners in self._find_in_parts(words)]
        ids, owners = np.concatenate([np.empty((2, 0), np.int64), *parts], axis=1)
        return ids, owners

    def _find_in_parts(self, words: Sequence[bytes]) -> Iterator[tuple[int, int, Ids, Ids]]:
        """Yield the first of some words and their end, the buckets of their n-grams, and the owners from the first."""
        batch: list[bytes] = []
        first, size = 0, 0
        for number, word in enumerate(words):
            batch.append(b"<" + word + b">" if word != END_OF_SENTENCE else b"")
            size += len(word) + 2
            if size >= BATCH_BYTES or number + 1 == len(words):
                ids, owners = self._find_in_batch(batch)
                yield first, number + 1, ids, owners
                first, size, batch = number + 1, 0, []

    def find_buckets(self, words: Sequence[bytes]) -> Rows:
        """Return the buckets that the n-grams of some words fall into, in the order in which they are met.

        Rows in this order are the fastest to train: those that only a few words have lie beside each other.

        Parameters
        ----------
        words
            UTF-8, without < and >.
        """
        seen, found = np.zeros(self.bucket, bool), [np.zeros(0, np.int64)]
        for _, _, ids, _ in self._find_in_parts(words):
            new = ids[~seen[ids]]
            found.append(new[np.sort(np.unique(new, return_index=True)[1])])
            seen[new] = True
        return np.concatenate(found).astype(np.int32)

    def build_bags(self, words: Sequence[bytes], kept: Rows) -> Bags:
        """Build the bag of each word: its own row, then the rows of its n-grams.

        Parameters
        ----------
        words
            UTF-8, without < and >. Word i has row i.
        kept
            The buckets that have rows, in their order, after the rows of the words; all that these words need.

        Returns
        -------
        Bags
        """
        starts, parts, index = np.zeros(len(words) + 1, np.int64), [np.zeros(0, np.int32)], BucketIndex(kept)
        for first, last, ids, owners in self._find_in_parts(words):
            counts = np.bincount(owners, minlength=last - first) + 1
            ends = np.cumsum(counts)
            starts[first + 1 : last + 1] = starts[first] + ends
            members = np.empty(int(ends[-1]), np.int32)
            own = ends - counts
            members[own] = np.arange(first, last)
            members[np.arange(len(ids)) + owners + 1] = index.find(ids) + len(words)
            parts.append(members)
        return Bags(starts, np.concatenate(parts))

    def has_any(self, word: str) -> bool:
        """Return whether a word has an n-gram, without computing any."""
        shortest = max(self.min_n, 2 if self.max_n > 1 else 3)  # of <word>: a single < or > is not an n-gram
        return self.exist and len(word) + 2 >= shortest and word != END_OF_SENTENCE.decode()

    def _find_in_batch(self, words: list[bytes]) -> tuple[Ids, Ids]:
        """Find n-grams at all characters at once: every step adds one character to the n-gram that begins at each."""
        text = np.frombuffer(b"".join(words), np.uint8)
        none = np.empty(0, np.int64)
        if not len(text) or not self.exist:
            return none, none
        begin = np.flatnonzero(text & 0xC0 != 0x80)  # of characters: the other bytes continue one
        length = np.diff(begin, append=len(text))
        owner = np.repeat(np.arange(len(words)), [len(word) for word in words])[begin]
        signed = text.view(np.int8).astype(np.int32).view(np.uint32)
        at = np.arange(len(begin))  # the characters that still have an n-gram of this length
        hashes = np.full(len(begin), FNV_START)
        edge = np.ones(len(begin) + 1, bool)  # of words
        edge[1:-1] = owner[1:] != owner[:-1]
        found = [np.empty((2, 0), np.int64)]
        for size in range(1, self.max_n + 1):
            inside = at + size <= len(begin)
            at = at[inside]
            at = at[owner[at + size - 1] == owner[at]]
            if not len(at):
                break
            _hash_next_character(hashes, at, begin[at + size - 1], length[at + size - 1], signed)
            if size >= self.min_n:
                counted = at if size > 1 else at[~(edge[:-1] | edge[1:])[at]]
                found.append(np.stack([(hashes[counted] % np.uint32(self.bucket)).astype(np.int64), owner[counted]]))
        ids, owners = np.concatenate(found, axis=1)
        order = np.argsort(owners, kind="stable")
        return ids[order], owners[order]


class BucketIndex:
    """Finds the rows of buckets of which not all have one.

    Parameters
    ----------
    kept
        The bucket of each row.
    """

    def __init__(self, kept: Rows) -> None:
        self._rows = np.argsort(kept, kind="stable")
        self._sorted = kept[self._rows]

    def find(self, buckets: Ids | Rows) -> Ids:
        """Return the row of each bucket, -1 for those that have none.

        Parameters
        ----------
        buckets
            In any order.
        """
        if not len(self._sorted):
            return np.full(len(buckets), -1)
        places = np.minimum(np.searchsorted(self._sorted, buckets), len(self._sorted) - 1)
        return np.where(self._sorted[places] == buckets, self._rows[places], -1)


@dataclass(frozen=True)
class Bags:
    """The source rows that the vector of each word is made of: those of word w are members[starts[w]:starts[w + 1]]."""

    starts: Ids
    members: Rows

    def sort_by_frequency(self, counts: Ids, rows: int, least: float) -> tuple[Ids, Bags]:
        """Put the frequent rows of each bag first.

        Parameters
        ----------
        counts
            How often each word occurs.
        rows
            How many rows there are.
        least
            The share of all tokens from which on a row is frequent.

        Returns
        -------
        tuple of ndarray and Bags
            Where the rare rows of each word begin, and the same bags in the new order.
        """
        is_rare = self.count_rows(counts, rows) < least * max(counts.sum(dtype=np.float64), 1.0)
        rare = is_rare[self.members]
        owners = np.repeat(np.arange(len(self.sizes)), self.sizes)
        order = np.argsort(2 * owners + rare, kind="stable")
        middles = self.starts[1:] - np.bincount(owners, rare, minlength=len(self.sizes)).astype(np.int64)
        return middles, Bags(self.starts, self.members[order])

    @property
    def sizes(self) -> Ids:
        """How many rows each word has."""
        return np.diff(self.starts)

    def count_rows(self, counts: Ids, rows: int) -> Ids:
        """Return how often each row occurs in a text.

        Parameters
        ----------
        counts
            How often each word occurs.
        rows
            How many rows there are.
        """
        weights = np.repeat(counts.astype(np.float64), self.sizes)
        return np.bincount(self.members, weights, minlength=rows).astype(np.int64)


@dataclass(frozen=True)
class Subwords:
    """The rows of n-grams, and what they are rows of.

    Parameters
    ----------
    rows
        A matrix with a row for each bucket, or only for the buckets in `kept`.
    minn, maxn
        The least and greatest length of an n-gram in characters.
    kept
        The bucket of each row; the others, which no word of the training had, are zeros. None if all buckets have a
        row, in their order.
    bucket
        The number of buckets; by default as many as there are rows.

    >>> subwords = Subwords(np.eye(5, dtype=np.float32), minn=3, maxn=3)
    >>> subwords.compute_vector("ab").tolist()
    [0.0, 0.5, 0.0, 0.5, 0.0]
    >>> kept = Subwords(np.eye(5, dtype=np.float32)[[1, 3]], 3, 3, np.array([1, 3], np.int32), 5)
    >>> kept.compute_vector("ab").tolist(), kept.compute_vector("kin").tolist()
    ([0.0, 0.5, 0.0, 0.5, 0.0], [0.0, 0.3333333432674408, 0.0, 0.0, 0.0])
    """

    rows: Floats
    minn: int
    maxn: int
    kept: Rows | None = None
    bucket: int | None = None

    @property
    def ngrams(self) -> Ngrams:
        """Which n-grams words have."""
        return Ngrams(self.minn, self.maxn, len(self.rows) if self.bucket is None else self.bucket)

    def find_ngrams(self, words: Sequence[bytes]) -> tuple[Ids, Ids]:
        """Find the n-grams of words, as `Ngrams.find` does."""
        return self.ngrams.find(words)

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
        buckets, owners = self.find_ngrams(words)
        sums = np.zeros((len(words), self.rows.shape[1]), np.float32)
        if own is not None:
            sums += own
        step = max(1, BATCH_NUMBERS // self.rows.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):  # rows of a damaged file: the caller checks the result
            counts = np.bincount(owners, minlength=len(words)).astype(np.int64) + (own is not None)
            ids, owners = self._find_rows(buckets, owners)
            for start in range(0, len(ids), step):
                part = owners[start : start + step]
                firsts = np.flatnonzero(np.diff(part, prepend=-1))
                sums[part[firsts]] += np.add.reduceat(self.rows[ids[start : start + step]], firsts, axis=0)
            sums /= np.maximum(counts, 1).astype(np.float32)[:, None]
        return sums, counts

    def _find_rows(self, buckets: Ids, owners: Ids) -> tuple[Ids, Ids]:
        """Return the rows of buckets, and the owners, without those buckets that have no row."""
        if self.kept is None:
            return buckets, owners
        rows = self._index.find(buckets)
        there = rows >= 0
        return rows[there], owners[there]

    @cached_property
    def _index(self) -> BucketIndex:
        assert self.kept is not None
        return BucketIndex(self.kept)

    def find_own_rows(self, words: Sequence[bytes], vectors: Floats) -> Floats:
        """Return the own rows with which the vectors of words are the means of all their rows.

        Parameters
        ----------
        words
            UTF-8, without < and >.
        vectors
            The vectors of these words.
        """
        means, counts = self.average_rows(words)
        sizes = counts[:, None].astype(np.float64)
        return np.asarray((sizes + 1) * vectors - sizes * means, np.float32)

    def expand_rows(self, start: int = 0, end: int | None = None) -> Floats:
        """Return a row for each of some buckets, by default all: zeros for those that have none.

        Parameters
        ----------
        start, end
            The first bucket, and the one after the last.
        """
        if self.kept is None:
            return self.rows[start:end]
        buckets = np.arange(*slice(start, end).indices(self.ngrams.bucket))
        expanded, rows = np.zeros((len(buckets), self.rows.shape[1]), np.float32), self._index.find(buckets)
        expanded[rows >= 0] = self.rows[rows[rows >= 0]]
        return expanded

    def has_ngrams(self, word: str) -> bool:
        """Return whether a word has an n-gram, and so a vector, without computing any."""
        return self.ngrams.has_any(word)

    def compute_vector(self, word: str) -> Floats | None:
        """Return the vector of a word without its own row, or None if it has no n-grams."""
        means, counts = self.average_rows([encode_word(word)])
        return means[0] if counts[0] else None


def encode_word(word: str) -> bytes:
    """Return a word as UTF-8, whatever characters a file had."""
    return word.encode("utf-8", "surrogatepass")


def _hash_next_character(
    hashes: NDArray[np.uint32], at: Ids, begin: Ids, length: Ids, signed: NDArray[np.uint32]
) -> None:
    """Add one more character, byte by byte, to the hash at each of the places `at`."""
    for byte in range(int(length.max())):
        if byte:  # most characters are a single byte; only the others continue
            more = length > byte
            at, begin, length = at[more], begin[more], length[more]
        hashes[at] = (hashes[at] ^ signed[begin + byte]) * FNV_PRIME
