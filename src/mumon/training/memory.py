"""Whether a training fits into memory and onto the disk, checked before anything is allocated.

Linux hands out memory that it does not have, and kills the process that then uses it.
"""

from __future__ import annotations

import math
import shutil

from mumon.corpus.subwords import Ngrams
from mumon.errors import OutOfMemoryError
from mumon.kernels.layout import row_bytes
from mumon.training.mmap_matrix import MAKE_ROOM, OutOfDiskError, find_matrices_directory
from mumon.training.settings import Settings
from mumon.utils.memory import available_memory, format_bytes
from mumon.utils.progress import Progress

REPORTED_BYTES = 10**9  # less is no surprise on any machine
# A word's part in dictionaries, in noise and rate tables, and in what saving writes at once; measured with short words.
WORD_BYTES = 480
NGRAMS_PER_WORD, ROWS_PER_WORD = 5, 26  # of 80,000 English words; German has as many n-grams and 40 rows
TOKENS_PER_WORD = 5  # of a block, for which a kernel over bags keeps the vectors of its different words, twice
MEMBER_BYTES = 40  # of one row in the bag of a word: as it is kept, and while bags are built and sorted


def check_memory(
    words: int,
    columns: int,
    settings: Settings,
    progress: Progress,
    on_disk: bool = False,
    ngrams: int = 0,
    members: int = 0,
) -> None:
    """Refuse a training that does not fit; report what it takes if that is much.

    Parameters
    ----------
    words, columns
        The size of each matrix, without padding.
    settings
        Of the training.
    progress
        Where to report.
    on_disk
        Whether the matrices are on disk: they then must fit there, and take no memory.
    ngrams, members
        As for `compute_training_bytes`.
    """
    needed, free = compute_training_bytes(words, columns, settings, ngrams, members), available_memory()
    matrices = f"2 matrices of {words:,} × {columns:,}" + (f" and {ngrams:,} rows of n-grams" if ngrams else "")
    size = (2 * words + ngrams) * row_bytes(columns) if on_disk else 0
    needed -= size
    subject = f"the words of {matrices} on disk" if on_disk else matrices
    if free is not None and needed > free:
        raise OutOfMemoryError(
            f"{subject} and their training need {format_bytes(needed)} of memory where {format_bytes(free)} are free; "
            "ask for fewer words (max_final_vocab, --max-vocab) or dimensions"
        )
    if on_disk:
        _check_disk(size, matrices)
        progress.note(f"{matrices} take {format_bytes(size)} of disk in {find_matrices_directory()}")
    if needed >= REPORTED_BYTES:
        progress.note(f"{subject} and their training take {format_bytes(needed)} of memory")


def _check_disk(needed: int, matrices: str) -> None:
    """Refuse matrices that do not fit on the disk, before the first byte is taken."""
    there = find_matrices_directory()
    while not there.exists() and there != there.parent:
        there = there.parent
    free = shutil.disk_usage(there).free
    if needed > free:
        raise OutOfDiskError(
            f"{matrices} need {format_bytes(needed)} of disk where {find_matrices_directory()} has "
            f"{format_bytes(free)} left; {MAKE_ROOM}"
        )


def guess_ngrams(words: int, ngrams: Ngrams) -> tuple[int, int]:
    """Return how many n-grams, and how many rows in all bags, some words are likely to have.

    Parameters
    ----------
    words
        The number of words.
    ngrams
        Their lengths and buckets.

    >>> guess_ngrams(78_287, Ngrams(3, 6, 2_000_000))  # English: 354,585 and 2,002,378
    (355511, 2035462)
    """
    if not ngrams.exist:
        return 0, words
    lengths = (ngrams.max_n - max(ngrams.min_n, 1) + 1) / 4  # of the four from 3 to 6
    filled = -math.expm1(-NGRAMS_PER_WORD * lengths * words / ngrams.bucket)  # several fall into one bucket
    return int(ngrams.bucket * filled), int(words * ROWS_PER_WORD * max(lengths, 1))


def compute_training_bytes(
    words: int, columns: int, settings: Settings, ngrams: int | None = None, members: int | None = None
) -> int:
    """Return the bytes that a model takes while it is trained, beyond its corpus and Python itself.

    Parameters
    ----------
    words, columns
        The size of each matrix, without padding.
    settings
        Of the training.
    ngrams, members
        With subwords, how many n-grams have rows, and how many rows all words have together; by default a guess.
    """
    objective = settings.objective_record
    if settings.subwords is None:
        ngrams = members = 0
    elif ngrams is None or members is None:
        ngrams, members = guess_ngrams(words, settings.subwords)
    shared, buffers = objective.weight_rows(settings), objective.buffer_bytes(settings, columns)
    rows = 2 * words + shared + ngrams
    if objective.has_bags:
        rows += words  # the vectors themselves, beside the rows that they are made of
        if not settings.exact:
            rows += settings.workers * 2 * min(words, objective.block_tokens // TOKENS_PER_WORD)
    return words * WORD_BYTES + rows * row_bytes(columns) + MEMBER_BYTES * members + settings.workers * buffers
