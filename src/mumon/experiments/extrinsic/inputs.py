"""The inputs of networks: words as numbers, in files that are named by a digest of their content.

An input is two files: a task's sentences as numbers of its words and, for each embedding, the row of each of these
words. Row 0 is zero, for words that the embedding lacks; it never changes, even if the others are trained. The files
are deleted at the end of the call, but their digests identify trials permanently.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.evaluation.word_lookup import WordFinder
from mumon.experiments.extrinsic.examples import Examples, Kind
from mumon.utils.file_lock import FileLock, lock_file, remove_abandoned
from mumon.vectors.word_vectors import WordVectors

FOLDER_PREFIX = ".inputs-"
CLITIC = re.compile(r"(.+?)(n['’]t|['’](?:s|m|d|re|ve|ll))", re.IGNORECASE)  # the parts of don't and it's
Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class RaggedArray:
    """Lists of numbers in one array; list i ends before `ends[i]`."""

    values: Numbers
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> Numbers:
        return self.values[self.ends[index - 1] if index else 0 : self.ends[index]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each list."""
        return np.diff(self.ends, prepend=0)


@dataclass(frozen=True)
class SplitInputs:
    """One split of a task: for each item its texts, as rows of vectors, and its labels."""

    columns: list[RaggedArray]
    labels: RaggedArray


@dataclass(frozen=True)
class Inputs:
    """A task as one embedding represents it."""

    kind: Kind
    labels: list[str]
    parts: dict[str, SplitInputs]
    vectors: NDArray[np.float32]


@contextmanager
def open_inputs_folder(home: Path) -> Iterator[Path]:
    """Make a folder for inputs that is deleted after the block; folders of killed processes are deleted first."""
    for old in home.glob(f"{FOLDER_PREFIX}*"):
        remove_abandoned(old)
    folder, lock = _lock_new_folder(home)
    try:
        with lock:
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _lock_new_folder(home: Path) -> tuple[Path, FileLock]:
    while True:  # another process may remove a new folder before it is locked
        folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=home))
        with suppress(FileNotFoundError):
            return folder, lock_file(folder)


def write_examples(examples: Examples, words: Iterable[str], folder: Path) -> str:
    """Write a task's sentences as numbers of its words.

    Parameters
    ----------
    examples
        The task.
    words
        All its words; their places are their numbers.
    folder
        Where the file goes.

    Returns
    -------
    str
        The digest that names the file.
    """
    numbers = {word: number for number, word in enumerate(words)}
    arrays: dict[str, NDArray[Any]] = {}
    for name, split in examples.splits.items():
        for place, column in enumerate(split.columns):
            _add_lists(arrays, f"{name}.{place}", [[numbers[word] for word in sentence] for sentence in column])
        _add_lists(arrays, f"{name}.labels", split.labels)
    task = {"kind": examples.kind, "labels": examples.labels, "splits": list(examples.splits)}
    return _write_tensors(arrays, {"task": json.dumps(task)}, folder)  # one entry: the order of several is not fixed


@dataclass(frozen=True)
class WrittenVectors:
    """The digest that names a file of vectors, how many running words have one, and whether all are finite."""

    digest: str
    found: int
    finite: bool


def write_vectors(
    wv: WordVectors, words: Mapping[str, int], folder: Path, *, whole: bool, random: int | None = None
) -> WrittenVectors:
    """Write the vectors of a task's words.

    Parameters
    ----------
    wv
        The embedding.
    words
        The words of the task with their counts.
    folder
        Where the file goes.
    whole
        Whether words stay whole because each has a label. Otherwise a word with a clitic (don't) that the embedding
        lacks is replaced by its two parts.
    random
        A seed; the rows get numbers from the standard normal distribution instead of the embedding's.

    Returns
    -------
    WrittenVectors
        The digest that names the file, and how many words were found.
    """
    finder = WordFinder(wv)
    known = [_find_rows(word, finder, whole) for word in words]
    used = sorted({row for rows in known for row in rows if row >= 0})
    places = {row: place for place, row in enumerate(used, 1)}  # row 0 is for missing words
    matrix = np.zeros((len(used) + 1, wv.vector_size), np.float32)
    if random is None:
        matrix[1:] = wv.vectors[used]
    else:
        matrix[1:] = np.random.default_rng([random, *matrix.shape]).standard_normal((len(used), wv.vector_size))
    arrays: dict[str, NDArray[Any]] = {"vectors": matrix}
    arrays["rows"] = np.array([places.get(row, 0) for rows in known for row in rows], np.int32)
    if len(arrays["rows"]) > len(words):
        arrays["ends"] = np.fromiter(accumulate(map(len, known)), np.int64)
    found = sum(count for count, rows in zip(words.values(), known, strict=True) if max(rows) >= 0)
    return WrittenVectors(_write_tensors(arrays, {}, folder), found, bool(np.isfinite(matrix).all()))


def _find_rows(word: str, finder: WordFinder, whole: bool) -> list[int]:
    """Find the rows of a word, -1 where it is missing."""
    row = finder.find(word)[0]
    if row < 0 and not whole and (parts := CLITIC.fullmatch(word)):
        return finder.find_rows(parts.groups())
    return [row]


def read_inputs(folder: Path, data: str, vectors: str) -> Inputs:
    """Read the two files of an input.

    Parameters
    ----------
    folder
        Where they are.
    data, vectors
        The digests that name them.

    Returns
    -------
    Inputs
        The task as the embedding represents it.
    """
    from safetensors import safe_open
    from safetensors.numpy import load_file

    embedded = load_file(_build_path(folder, vectors))
    ends = embedded.get("ends", np.arange(1, len(embedded["rows"]) + 1))
    rows = RaggedArray(embedded["rows"], ends)
    with safe_open(_build_path(folder, data), "numpy") as file:
        task = json.loads(file.metadata()["task"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is not a dict)
    texts = range(2 if task["kind"] == "pair" else 1)
    parts = {
        name: SplitInputs(
            [_replace_words_by_rows(_build_ragged(arrays, f"{name}.{place}"), rows) for place in texts],
            _build_ragged(arrays, f"{name}.labels"),
        )
        for name in task["splits"]
    }
    return Inputs(task["kind"], task["labels"], parts, embedded["vectors"])


def _replace_words_by_rows(words: RaggedArray, rows: RaggedArray) -> RaggedArray:
    """Replace each number of a word by the rows of its vectors, which may be two."""
    lengths = rows.lengths[words.values]
    ends = np.cumsum(lengths)
    places = np.arange(len(lengths) and ends[-1]) - np.repeat(ends - lengths, lengths)  # within a word
    starts = (rows.ends - rows.lengths)[words.values]
    return RaggedArray(rows.values[np.repeat(starts, lengths) + places], ends[words.ends - 1])


def _build_ragged(arrays: Mapping[str, NDArray[Any]], name: str) -> RaggedArray:
    return RaggedArray(arrays[f"{name}.values"], arrays[f"{name}.ends"])


def _add_lists(arrays: dict[str, NDArray[Any]], name: str, lists: list[list[int]]) -> None:
    arrays[f"{name}.values"] = np.fromiter((value for items in lists for value in items), np.int32)
    arrays[f"{name}.ends"] = np.fromiter(accumulate(map(len, lists)), np.int64, len(lists))


def _write_tensors(arrays: Mapping[str, NDArray[Any]], metadata: dict[str, str], folder: Path) -> str:
    from safetensors.numpy import save

    content = save(dict(arrays), metadata or None)
    digest = hashlib.blake2b(content, digest_size=12).hexdigest()
    _build_path(folder, digest).write_bytes(content)
    return digest


def _build_path(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.safetensors"
