"""The work that every system is given: a plain text file and the same settings."""

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
    """What is trained. Every system keeps its own learning rate."""

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
    """One training: the work, on how many threads, from which seed, into which file."""

    corpus: Path
    output: Path
    work: Work
    threads: int
    seed: int

    def values(self) -> dict[str, Any]:
        """Everything a peer's program or a command template may ask for."""
        paths = {"corpus": str(self.corpus), "output": str(self.output)}
        return {**paths, **asdict(self.work), "threads": self.threads, "seed": self.seed}


@dataclass(frozen=True)
class BenchCorpus:
    """A plain text file with one sentence per line, and what is in it."""

    path: Path
    warm_up: Path
    names: list[str]
    sentences: int
    tokens: int
    words: int
    trained_words: int
    trained_tokens: float  # expected in one epoch

    def to_json(self) -> dict[str, Any]:
        """What is worth keeping; files by their names, not by their places on this machine."""
        fields = asdict(self)
        return {name: fields[name] for name in fields if name not in ("path", "warm_up")}


def estimate_trained_tokens(counts: Any, min_count: int, sample: float) -> float:
    """How many tokens of one epoch remain, on average, after the rare words are dropped and the frequent subsampled.

    >>> import numpy as np
    >>> estimate_trained_tokens(np.array([50, 30, 2]), min_count=5, sample=0)
    80.0
    >>> round(estimate_trained_tokens(np.array([999_000, 1_000]), min_count=5, sample=1e-3))
    33607
    """
    from mumon.training.sampling import CERTAIN, keep_chances

    kept = counts[counts >= min_count]
    return float((kept * (keep_chances(kept, sample) / CERTAIN)).sum())


def prepare_corpus(inputs: Sequence[str], folder: Path, work: Work, sentences: int | None = None) -> BenchCorpus:
    """Put the text where every system can read it: unpacked, in one file, perhaps only its first lines."""
    from mumon.corpus import corpus_from_files
    from mumon.utils.threads import available_cores

    path, warm_up = folder / CORPUS_NAME, folder / WARM_UP_NAME
    files = write_plain_text(inputs, path, sentences)
    with path.open("rb") as lines:
        warm_up.write_bytes(b"".join(islice(lines, WARM_UP_LINES)))
    encoded = corpus_from_files([path], workers=available_cores(), reuse=False)
    kept = int((encoded.counts >= work.min_count).sum())
    if not kept:
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
        trained_words=kept,
        trained_tokens=estimate_trained_tokens(encoded.counts, work.min_count, work.sample),
    )


def write_plain_text(inputs: Sequence[str], path: Path, sentences: int | None = None) -> list[str]:
    """Make `path` a plain text file of the inputs' lines, perhaps only the first; gives the names of the inputs."""
    from mumon.corpus.sources import find_files

    files = find_files(inputs)
    if sentences is None and len(files) == 1 and _check_plain(files[0]):
        _link(Path(files[0]), path)
    else:
        with atomic_file(path) as out:
            _copy_lines(files, out, sentences)
    return files


def _check_plain(name: str) -> bool:
    """Whether a file can be given to peers as it is; refused if no reading of its lines would make it text."""
    path = Path(name)
    if not path.is_file():
        raise CorpusError(f"{name} is not a file, and every system reads it again for each run; save it as one first")
    with _open_raw(name) as raw:
        from mumon.utils.compression import detect_compression

        if raw.peek(4)[:4] == PARQUET_MAGIC or {".jsonl", ".ndjson", ".json", ".parquet"} & set(path.suffixes):
            raise CorpusError(f"{name} is not plain text, which is all that peers read; write one sentence per line")
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
    except OSError:  # not every system lets everyone make links
        shutil.copyfile(source, target)


def empty_corpus_cache(folder: str | os.PathLike[str]) -> None:
    """Forget the corpora that mumon encoded in a cache folder, so that the next run encodes its text again."""
    shutil.rmtree(Path(folder) / "corpora", ignore_errors=True)
