"""What mumon raises when the user can do something about it.

Every message is one sentence with the number that matters and the next step. The command line prints it and exits
with 1; in Python each class is also the built-in exception that a reader would expect to catch.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from itertools import islice

# What the system reports when nothing more can be written: a full disk, a limit on file sizes, a quota.
DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def to_one_line(error: object, most: int = 200) -> str:
    """Shorten what a library says about an error so that it fits into a sentence.

    Parameters
    ----------
    error
        An exception, or anything else whose `str` is to be shown.
    most
        The number of characters to keep.

    Returns
    -------
    str
        Printable text without line breaks; the name of the type if the error says nothing.
    """
    text = "".join(char if char.isprintable() else " " for char in str(error))
    return " ".join(text.split())[:most] or type(error).__name__


def list_names(names: Iterable[str]) -> str:
    """Join the first eight names, shortened and escaped: they come from a file and may be anything."""
    return ", ".join(repr(name[:40])[1:-1] for name in islice(names, 8)) or "none"


class MumonError(Exception):
    """The base of every error that a user's input can cause."""


class OptionError(MumonError, ValueError):
    """An option or argument has an impossible value."""


class CorpusError(MumonError, ValueError):
    """The training text is missing, cannot be read, or contains nothing to learn from."""


class FormatError(MumonError, ValueError):
    """A file of a model, of vectors or of a vocabulary is not what its name or header says."""


class UnsupportedError(FormatError, NotImplementedError):
    """A file is whole, and holds something that mumon does not do."""


class DataError(MumonError, OSError):
    """A public data set is not on this machine and cannot be downloaded."""


class TrainingError(MumonError, ArithmeticError):
    """Training produced values that are not finite."""


class PeerError(MumonError, RuntimeError):
    """Another program, run for comparison, ended without a result."""


class OutOfMemoryError(MumonError, MemoryError):
    """What was asked for does not fit into the free memory."""


class MissingWordError(MumonError, KeyError):
    """A word is not in the vocabulary."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""
