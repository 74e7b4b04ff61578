"""Words become numbers: what a network reads, as files that are named by a digest of their content.

Two files make an input: a task's sentences as numbers of its words, and, for each embedding, which row each of these
words has. Row 0 is zero, for words that the embedding lacks; it never changes, even when the others are trained. The
files last as long as the call that needs them; their digests are what tells trials apart for ever.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mumon.claims import claim, remove_abandoned
from mumon.evaluation.extrinsic.examples import Examples, Kind
from mumon.evaluation.words import Finder
from mumon.vectors import WordVectors

PREFIX = ".inputs-"
Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class Ragged:
    """Lists of numbers, one after another; list i ends before `ends[i]`."""

    values: Numbers
    ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> Numbers:
        return self.values[self.ends[index - 1] if index else 0 : self.ends[index]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many numbers each list has."""
        return np.diff(self.ends, prepend=0)


@dataclass(frozen=True)
class Part:
    """One split of a task: for each item its texts (rows of vectors) and labels."""

    columns: list[Ragged]
    labels: Ragged


@dataclass(frozen=True)
class Inputs:
    """A task as one embedding sees it."""

    kind: Kind
    labels: list[str]
    parts: dict[str, Part]
    vectors: NDArray[np.float32]


@contextmanager
def inputs_folder(home: Path) -> Iterator[Path]:
    """A folder for inputs that goes with the block; those that killed processes left are cleared."""
    for left in home.glob(f"{PREFIX}*"):
        remove_abandoned(left)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=home))
    try:
        with claim(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_examples(examples: Examples, words: list[str], folder: Path) -> str:
    """Write a task's sentences as numbers of `words`, and tell the digest that names the file."""
    numbers = {word: number for number, word in enumerate(words)}
    arrays: dict[str, NDArray[Any]] = {}
    for name, split in examples.splits.items():
        for place, column in enumerate(split.columns):
            _put(arrays, f"{name}.{place}", [[numbers[word] for word in sentence] for sentence in column])
        _put(arrays, f"{name}.labels", split.labels)
    about = {"kind": examples.kind, "labels": examples.labels, "splits": list(examples.splits)}
    return _write(arrays, {"task": json.dumps(about)}, folder)  # one entry: several would come in any order


def write_vectors(wv: WordVectors, words: list[str], folder: Path) -> tuple[str, int]:
    """Write the vectors of a task's words; tells the digest that names the file, and how many words were found."""
    found = np.array(Finder(wv).rows(words))
    used, rows = np.unique(found, return_inverse=True)
    missing = int(used[0] < 0)  # np.unique sorts, so the missing ones have the first place, which is row 0
    matrix = np.zeros((len(used) + 1 - missing, wv.vector_size), np.float32)
    matrix[1:] = wv.vectors[used[missing:]]
    arrays = {"rows": (rows + 1 - missing).astype(np.int32), "vectors": matrix}
    return _write(arrays, {}, folder), int((found >= 0).sum())


def read_inputs(folder: Path, data: str, vectors: str) -> Inputs:
    """What the two files of an input say together."""
    from safetensors import safe_open
    from safetensors.numpy import load_file

    embedded = load_file(_place(folder, vectors))
    with safe_open(_place(folder, data), "numpy") as file:
        about = json.loads(file.metadata()["task"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    parts = {}
    for name in about["splits"]:
        places = sorted(key.split(".")[1] for key in arrays if key.startswith(f"{name}.") and key.endswith(".values"))
        columns = [
            Ragged(embedded["rows"][arrays[f"{name}.{place}.values"]], arrays[f"{name}.{place}.ends"])
            for place in places
            if place != "labels"
        ]
        parts[name] = Part(columns, Ragged(arrays[f"{name}.labels.values"], arrays[f"{name}.labels.ends"]))
    return Inputs(about["kind"], about["labels"], parts, embedded["vectors"])


def _put(arrays: dict[str, NDArray[Any]], name: str, lists: list[list[int]]) -> None:
    arrays[f"{name}.values"] = np.fromiter((value for items in lists for value in items), np.int32)
    arrays[f"{name}.ends"] = np.fromiter(accumulate(map(len, lists)), np.int64, len(lists))


def _write(arrays: Mapping[str, NDArray[Any]], about: dict[str, str], folder: Path) -> str:
    from safetensors.numpy import save

    content = save(dict(arrays), about or None)
    digest = hashlib.blake2b(content, digest_size=12).hexdigest()
    _place(folder, digest).write_bytes(content)
    return digest


def _place(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.safetensors"
