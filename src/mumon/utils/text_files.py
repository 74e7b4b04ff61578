"""Text files that fit into memory, compressed or not."""

from __future__ import annotations

import io
from pathlib import Path

from mumon.errors import FormatError, to_one_line
from mumon.utils.compression import DAMAGE_ERRORS, ExpansionError, decompress


def read_lines(path: Path, encoding: str = "utf-8-sig") -> list[str]:
    """Read the lines of a text file, decompressing it if need be."""
    return read_text(path, encoding).splitlines()


def read_text(path: Path, encoding: str = "utf-8-sig") -> str:
    """Read a text file, decompressing it if need be.

    Parameters
    ----------
    path
        A plain file or one that `mumon.utils.compression` knows.
    encoding
        By default UTF-8, with or without a byte order mark.

    Returns
    -------
    str
        The text with its line ends as they are.

    Raises
    ------
    FormatError
        If the file cannot be read, is damaged or has another encoding.
    """
    try:
        with path.open("rb") as raw:
            return io.TextIOWrapper(decompress(raw), encoding=encoding, newline="").read()
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{path} is not {error.encoding.upper()} text (byte {error.start}); convert it first"
        ) from None
    except ExpansionError as error:
        raise FormatError(f"{path} {error}") from None
    except (OSError, *DAMAGE_ERRORS) as error:
        raise FormatError(
            f"{path} cannot be read ({to_one_line(error)}); it may be damaged, so fetch it again"
        ) from None
