"""Detect the format of a file from its first bytes, and from its extension where bytes are ambiguous."""

from __future__ import annotations

import re
from pathlib import Path

from mumon.errors import FormatError
from mumon.formats.base import HEADER, MAX_HEADER_BYTES, as_format_errors, open_stream

SNIFF_BYTES = 1 << 16
SNIFF_NUMBERS = 1 << 16  # of a row that are looked at; the rest of a longer row is not
COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".zst"}
TEXT_SUFFIXES = {".txt", ".vec", ".w2v"}
# UTF-8 text begins with none of these except the first: a word may be PAR1, so Parquet must end with it as well.
MAGIC = {b"PAR1": "parquet", b"PK\3\4": "npz", b"\x93NUMPY": "npy", b"\xba\x16\x4f\x2f": "fasttext-bin"}
NUMBER_ROW = re.compile(rb"[-+.eE\d]+(?:\t[-+.eE\d]+)+\t?\r?\n?")  # a row between tabs, or the part of it that was read


def detect_format_name(source: Path) -> str:
    """Return the name of the format of a file or folder that exists."""
    if source.is_dir():
        return "mumon"
    with open_stream(source) as stream, as_format_errors(source):
        first = stream.file.readline(MAX_HEADER_BYTES)
        if not first:
            raise FormatError(f"{source} is empty (0 bytes of vectors); write or download it again")
        refuse_pickle(first, source)
        for magic, name in MAGIC.items():
            if first.startswith(magic) and (name != "parquet" or _ends_with(source, magic)):
                return name
        suffix = _get_uncompressed_suffix(source)
        header = HEADER.fullmatch(first)
        if suffix == ".tsv" or (header is None and NUMBER_ROW.fullmatch(first) and _has_metadata(source)):
            return "projector"
        if header is None or suffix == ".glove":
            return "glove"
        dim = min(max(int(header[2]), 0), SNIFF_NUMBERS)
        sample = stream.file.read(SNIFF_BYTES + 32 * dim)
    if suffix == ".bin" and _may_be_binary(sample, dim):  # four bytes of a float may well be "0.25"
        return "word2vec-bin"
    return "word2vec-text" if _looks_like_text(sample, dim, suffix) else "word2vec-bin"


def refuse_pickle(first: bytes, source: Path) -> None:
    """Refuse a pickle, and say what to do with a file that gensim saved; no UTF-8 begins like a pickle."""
    if first[:1] == b"\x80":
        raise FormatError(
            f"{source} is a pickle, perhaps gensim's, which would run what is in it (its first byte is 0x80); let "
            "gensim write it by wv.save_word2vec_format and load that"
        )


def _ends_with(path: Path, magic: bytes) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        file.seek(-min(len(magic), path.stat().st_size), 2)
        return file.read() == magic


def _has_metadata(path: Path) -> bool:
    """Say whether a file of words is beside it: without, the first number of each row may be the word."""
    from mumon.formats.projector import find_metadata

    try:
        find_metadata(path)
    except FormatError:
        return False
    return True


def _looks_like_text(sample: bytes, dim: int, suffix: str) -> bool:
    row, ended, _ = sample.partition(b"\n")
    if not ended and len(sample) >= SNIFF_BYTES and suffix in TEXT_SUFFIXES:
        return True  # a very long first word: as many bytes of floats would contain a newline
    fields = row.rstrip(b" \r").rsplit(b" ", dim)[1:]
    if not ended:
        fields = fields[:-1]  # the sample may have ended inside a number
    try:
        # A whole row has all its numbers: the floats of a binary row may begin with a digit and a newline, too.
        if [float(field) for field in fields] and (not ended or len(fields) == dim):
            return True
    except ValueError:
        pass
    # a damaged text row should be reported as such, and float32 bytes hardly ever avoid every control character
    return suffix != ".bin" and not re.search(rb"[\x00-\x08\x0e-\x1f]", sample)


def _may_be_binary(sample: bytes, dim: int) -> bool:
    """Say whether the sample is rows of a word, a space, 4 D bytes and a newline; lines of text end elsewhere."""
    start = 0
    while (space := sample.find(b" ", start)) >= 0:
        end = space + 1 + 4 * dim
        if b"\n" in sample[start:space] or sample[end : end + 1] not in (b"\n", b""):
            return False
        if end >= len(sample):
            break
        start = end + 1
    return start == len(sample) or (start > 0 and len(sample) >= SNIFF_BYTES)  # of a longer file the last row is cut


def _get_uncompressed_suffix(path: Path) -> str:
    """Return the extension, or the one before the extension of a compression."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED_SUFFIXES else suffix
