"""Whole text files, unpacked if they are packed."""

from __future__ import annotations

import io
from pathlib import Path

from mumon.errors import FormatError, to_one_line
from mumon.utils.compression import DAMAGE_ERRORS, ExpansionError, decompress


def read_lines(path: Path, encoding: str = "utf-8-sig") -> list[str]:
    """The lines of a text file, unpacked if it is packed."""
    return read_text(path, encoding).splitlines()


def read_text(path: Path, encoding: str = "utf-8-sig") -> str:
    """A text file, unpacked if it is packed."""
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
