"""What mumon raises when the user can do something about it.

Every message is one sentence with the number that matters and the next step. The command line prints it and exits
with 1; from Python each class is also the built-in a reader would expect to catch.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from itertools import islice

# What the system says where nothing more can be written.
DISK_FULL_ERRNOS = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def to_one_line(error: object, most: int = 200) -> str:
    """What a library says of an error, made to fit into a sentence."""
    text = "".join(char if char.isprintable() else " " for char in str(error))
    return " ".join(text.split())[:most] or type(error).__name__


def list_names(names: Iterable[str]) -> str:
    """The first names of many, which come from a file and may be anything."""
    return ", ".join(repr(name[:40])[1:-1] for name in islice(names, 8)) or "none"


class MumonError(Exception):
    """Base of every error a user's input can cause."""


class OptionError(MumonError, ValueError):
    """An option or argument has an impossible value."""


class CorpusError(MumonError, ValueError):
    """The training text is missing, unreadable or holds nothing to learn from."""


class FormatError(MumonError, ValueError):
    """A model, vectors or vocabulary file is not what it claims to be."""


class DataError(MumonError, OSError):
    """A public data set is neither here nor to be had."""


class TrainingError(MumonError, ArithmeticError):
    """Training produced values that are not finite."""


class PeerError(MumonError, RuntimeError):
    """Another program, called to be compared with, ended without a result."""


class OutOfMemoryError(MumonError, MemoryError):
    """What was asked for does not fit into the memory that is free."""


class MissingWordError(MumonError, KeyError):
    """A word is not in the vocabulary."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""
