"""What a file is, from its first bytes; the extension only settles what bytes cannot."""

from __future__ import annotations

import re
from pathlib import Path

from mumon.errors import FormatError
from mumon.formats.base import HEADER, MAX_HEADER_BYTES, as_format_errors, open_stream

SNIFF_BYTES = 1 << 16
SNIFF_NUMBERS = 1 << 16  # more of them in a row are believed unseen
COMPRESSED_SUFFIXES = {".gz", ".bz2", ".xz", ".zst"}
TEXT_SUFFIXES = {".txt", ".vec", ".w2v"}
# None of these is how text in UTF-8 begins, but for the first: a word may be PAR1, so Parquet must end with it as well.
MAGIC = {b"PAR1": "parquet", b"PK\3\4": "npz", b"\x93NUMPY": "npy", b"\xba\x16\x4f\x2f": "fasttext-bin"}
NUMBERS = re.compile(rb"[-+.eE\d]+(?:\t[-+.eE\d]+)+\t?\r?\n?")  # of a row, or of as much of it as was looked at


def detect_format_name(source: Path) -> str:
    """The name of the format of something that exists."""
    if source.is_dir():
        return "mumon"
    with open_stream(source) as stream, as_format_errors(source):
        first = stream.file.readline(MAX_HEADER_BYTES)
        if not first:
            raise FormatError(f"{source} is empty (0 bytes of vectors); write or download it again")
        refuse_pickle(first, source)
        for magic, name in MAGIC.items():
            if first.startswith(magic) and (name != "parquet" or _ends_in(source, magic)):
                return name
        suffix = uncompressed_suffix(source)
        header = HEADER.fullmatch(first)
        if suffix == ".tsv" or (header is None and NUMBERS.fullmatch(first) and _has_metadata(source)):
            return "projector"
        if header is None or suffix == ".glove":
            return "glove"
        dim = min(max(int(header[2]), 0), SNIFF_NUMBERS)
        sample = stream.file.read(SNIFF_BYTES + 32 * dim)
    if suffix == ".bin" and _may_be_binary(sample, dim):  # four bytes of a float may well be "0.25"
        return "word2vec-bin"
    return "word2vec-text" if _looks_like_text(sample, dim, suffix) else "word2vec-bin"


def refuse_pickle(first: bytes, source: Path) -> None:
    """Say what to do with a file that gensim saved; no UTF-8 begins like a pickle."""
    if first[:1] == b"\x80":
        raise FormatError(
            f"{source} is a pickle, perhaps gensim's, which would run what is in it (its first byte is 0x80); let "
            "gensim write it by wv.save_word2vec_format and load that"
        )


def _ends_in(path: Path, magic: bytes) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        file.seek(-min(len(magic), path.stat().st_size), 2)
        return file.read() == magic


def _has_metadata(path: Path) -> bool:
    """A row of numbers between tabs may also be a number as the word, and its vector."""
    from mumon.formats.projector import find_metadata

    try:
        find_metadata(path)
    except FormatError:
        return False
    return True


def _looks_like_text(sample: bytes, dim: int, suffix: str) -> bool:
    row, ended, _ = sample.partition(b"\n")
    if not ended and len(sample) >= SNIFF_BYTES and suffix in TEXT_SUFFIXES:
        return True  # a very long first word: so many bytes of floats would hold a newline
    fields = row.rstrip(b" \r").rsplit(b" ", dim)[1:]
    if not ended:
        fields = fields[:-1]  # the sample may have ended inside a number
    try:
        # A whole row has all its numbers: floats of a binary row may begin with a digit and a newline, too.
        if [float(field) for field in fields] and (not ended or len(fields) == dim):
            return True
    except ValueError:
        pass
    # a damaged text row should be reported as such, and float32 bytes hardly ever avoid every control character
    return suffix != ".bin" and not re.search(rb"[\x00-\x08\x0e-\x1f]", sample)


def _may_be_binary(sample: bytes, dim: int) -> bool:
    """Whether the sample is rows of a word, a space, 4 D bytes and a newline: text breaks its lines elsewhere."""
    start = 0
    while (space := sample.find(b" ", start)) >= 0:
        end = space + 1 + 4 * dim
        if b"\n" in sample[start:space] or sample[end : end + 1] not in (b"\n", b""):
            return False
        if end >= len(sample):
            break
        start = end + 1
    return start == len(sample) or (start > 0 and len(sample) >= SNIFF_BYTES)  # of a longer file the last row is cut


def uncompressed_suffix(path: Path) -> str:
    """The extension, or that before the extension of a compression."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in COMPRESSED_SUFFIXES else suffix
