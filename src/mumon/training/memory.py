"""How much memory this process may still take, and whether what it is about to allocate fits into that.

Linux hands out memory that it does not have and kills who then uses it, without a word. So the matrices are measured
before they are made.
"""

from __future__ import annotations

import shutil

from mumon.errors import OutOfMemoryError
from mumon.kernels.layout import row_bytes
from mumon.training.mmap_matrix import ELSEWHERE, OutOfDiskError, home
from mumon.training.settings import Settings
from mumon.utils.memory import available_memory, format_bytes
from mumon.utils.progress import Progress

WORTH_A_LINE = 10**9  # bytes; less is no surprise on any machine
# A word's part in dictionaries, in noise and rate tables, and in what saving writes at once; measured with short words.
WORD_BYTES = 480


def check_memory(words: int, columns: int, settings: Settings, progress: Progress, on_disk: bool = False) -> None:
    """Say what training so many vectors will take if that is much; refuse it if there is less.

    Matrices on disk take none of the memory, and must fit on the disk instead.
    """
    needed, free = training_bytes(words, columns, settings), available_memory()
    about = f"2 matrices of {words:,} × {columns:,}"
    size = 2 * words * row_bytes(columns) if on_disk else 0
    needed -= size
    subject = f"the words of {about} on disk" if on_disk else about
    if free is not None and needed > free:
        raise OutOfMemoryError(
            f"{subject} and their training need {format_bytes(needed)} of memory where {format_bytes(free)} are free; "
            "ask for fewer words (max_final_vocab, --max-vocab) or dimensions"
        )
    if on_disk:
        _check_disk(size, about)
        progress.note(f"{about} take {format_bytes(size)} of disk in {home()}")
    if needed >= WORTH_A_LINE:
        progress.note(f"{subject} and their training take {format_bytes(needed)} of memory")


def _check_disk(needed: int, about: str) -> None:
    """Before the first byte is taken: others on this disk should not find it full even for a moment."""
    there = home()
    while not there.exists() and there != there.parent:
        there = there.parent
    free = shutil.disk_usage(there).free
    if needed > free:
        raise OutOfDiskError(
            f"{about} need {format_bytes(needed)} of disk where {home()} has {format_bytes(free)} left; {ELSEWHERE}"
        )


def training_bytes(words: int, columns: int, settings: Settings) -> int:
    """What a model of so many words takes while it is trained, beyond its corpus and Python itself."""
    return words * (2 * row_bytes(columns) + WORD_BYTES) + settings.workers * settings.record.buffer_bytes(
        settings, columns
    )
