"""The work that every system does: a plain text file and the same settings."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from mumon.errors import CorpusError, OptionError
from mumon.utils.atomic import atomic_file

WARM_UP_LINES = 2000
CORPUS_NAME, WARM_UP_NAME = "corpus.txt", "warm-up.txt"
PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True)
class Work:
    """The settings of a training. Every system keeps its own learning rate."""

    dim: int = 300
    window: int = 5
    negative: int = 5
    epochs: int = 5
    min_count: int = 5
    sample: float = 1e-3

    def __post_init__(self) -> None:
        for name, least in (("dim", 1), ("window", 1), ("negative", 1), ("epochs", 1), ("min_count", 1), ("sample", 0)):
            if not getattr(self, name) >= least:
                raise OptionError(f"{name} is {getattr(self, name)}; it must be at least {least}")


@dataclass(frozen=True)
class Job:
    """One training: the work, the number of threads, the seed and the file for the vectors."""

    corpus: Path
    output: Path
    work: Work
    threads: int
    seed: int

    def values(self) -> dict[str, Any]:
        """Return everything that a peer's program or a command template may use."""
        paths = {"corpus": str(self.corpus), "output": str(self.output)}
        return {**paths, **asdict(self.work), "threads": self.threads, "seed": self.seed}


@dataclass(frozen=True)
class BenchCorpus:
    """A plain text file with one sentence per line, and its counts."""

    path: Path
    warm_up: Path
    names: list[str]
    sentences: int
    tokens: int
    words: int
    trained_words: int
    trained_tokens: float  # expected in one epoch

    def to_json(self) -> dict[str, Any]:
        """Return the counts and the names of the files, without their paths on this machine."""
        fields = asdict(self)
        return {name: fields[name] for name in fields if name not in ("path", "warm_up")}


def estimate_trained_tokens(counts: Any, min_count: int, sample: float) -> float:
    """Estimate how many tokens of an epoch remain after rare words are dropped and frequent ones subsampled.

    Parameters
    ----------
    counts
        The counts of all words.
    min_count, sample
        As in `Word2Vec`.

    Returns
    -------
    float
        The expected number of tokens.

    Examples
    --------
    >>> import numpy as np
    >>> estimate_trained_tokens(np.array([50, 30, 2]), min_count=5, sample=0)
    80.0
    >>> round(estimate_trained_tokens(np.array([999_000, 1_000]), min_count=5, sample=1e-3))
    33607
    """
    from mumon.training.sampling import CERTAIN, compute_keep_chances

    frequent = counts[counts >= min_count]
    return float((frequent * (compute_keep_chances(frequent, sample) / CERTAIN)).sum())


def prepare_corpus(inputs: Sequence[str], folder: Path, work: Work, sentences: int | None = None) -> BenchCorpus:
    """Put the text where every system can read it: uncompressed and in one file.

    Parameters
    ----------
    inputs
        Paths of text files.
    folder
        Where the file goes.
    work
        Decides which words are trained.
    sentences
        Use only this many lines; None means all.

    Returns
    -------
    BenchCorpus
        The file and its counts.

    Raises
    ------
    CorpusError
        If a file is not plain text, or if no word is frequent enough.
    """
    from mumon.corpus import corpus_from_files
    from mumon.utils.threads import available_cores

    path, warm_up = folder / CORPUS_NAME, folder / WARM_UP_NAME
    files = write_plain_text(inputs, path, sentences)
    with path.open("rb") as lines:
        warm_up.write_bytes(b"".join(islice(lines, WARM_UP_LINES)))
    encoded = corpus_from_files([path], workers=available_cores(), reuse=False)
    trained_words = int((encoded.counts >= work.min_count).sum())
    if not trained_words:
        raise CorpusError(
            f"none of the {len(encoded.counts):,} words occurs {work.min_count} times; lower --min-count or add text"
        )
    return BenchCorpus(
        path=path,
        warm_up=warm_up,
        names=[Path(name).name for name in files],
        sentences=encoded.sentences,
        tokens=encoded.tokens,
        words=len(encoded.counts),
        trained_words=trained_words,
        trained_tokens=estimate_trained_tokens(encoded.counts, work.min_count, work.sample),
    )


def write_plain_text(inputs: Sequence[str], path: Path, sentences: int | None = None) -> list[str]:
    """Write the lines of text files into one plain text file, or link to it if it is one already.

    Parameters
    ----------
    inputs
        Paths of text files, which may be compressed.
    path
        The file to write.
    sentences
        Use only this many lines; None means all.

    Returns
    -------
    list of str
        The names of the files that were read.
    """
    from mumon.corpus.sources import find_files

    files = find_files(inputs)
    if sentences is None and len(files) == 1 and _check_plain(files[0]):
        _link(Path(files[0]), path)
    else:
        with atomic_file(path) as out:
            _copy_lines(files, out, sentences)
    return files


def _check_plain(name: str) -> bool:
    """Return whether peers can read a file as it is, which they cannot if it is compressed; refuse other formats."""
    path = Path(name)
    if not path.is_file():
        raise CorpusError(f"{name} is not a file, but every system reads it for each run; save it as one first")
    with _open_raw(name) as raw:
        from mumon.utils.compression import detect_compression

        if raw.peek(4)[:4] == PARQUET_MAGIC or {".jsonl", ".ndjson", ".json", ".parquet"} & set(path.suffixes):
            raise CorpusError(f"{name} is not plain text, and peers read nothing else; write one sentence per line")
        return detect_compression(raw) is None


def _copy_lines(files: Sequence[str], out: IO[bytes], sentences: int | None) -> None:
    from mumon.utils.compression import DAMAGE_ERRORS, decompress

    left = sentences
    for name in files:
        _check_plain(name)
        try:
            with _open_raw(name) as raw:
                for line in islice(decompress(raw), left):
                    out.write(line if line.endswith(b"\n") else line + b"\n")
                    left = None if left is None else left - 1
        except DAMAGE_ERRORS as error:
            raise CorpusError(f"{name} is damaged or cut short ({error}); make or fetch it again") from None


def _open_raw(name: str) -> io.BufferedReader:
    return io.BufferedReader(io.FileIO(name), 1 << 20)


def _link(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    try:
        target.symlink_to(source.resolve())
    except OSError:  # links may be forbidden, as on Windows
        shutil.copyfile(source, target)


def empty_corpus_cache(folder: str | os.PathLike[str]) -> None:
    """Delete the corpora that mumon encoded in a cache folder, so that the next run encodes its text again."""
    shutil.rmtree(Path(folder) / "corpora", ignore_errors=True)
