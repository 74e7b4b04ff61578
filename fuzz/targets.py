"""What is fuzzed: each target reads one kind of file with the reader that mumon's users reach.

A target's `read` gets a folder and the bytes of a file. It may raise MumonError; what it returns must be consistent, or
it raises AssertionError. To add a target, write a `read` and put it into TARGETS with a few seeds: whole files from
which the mutations start. The files in seeds/NAME are seeds, too.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import examples
import numpy as np
import pyarrow as pa

from mumon.corpus.sources import read_pieces
from mumon.corpus.text import TextOptions, prepare
from mumon.corpus.vocabulary import Vocabulary
from mumon.corpus.word_table import ByteTable
from mumon.errors import MumonError
from mumon.evaluation.task_files import read_task
from mumon.experiments.sweep import plan, result, runs
from mumon.formats import detect, read_vectors
from mumon.formats.base import LoadedVectors
from mumon.formats.checkpoint import STATE_NAME, read_checkpoint
from mumon.formats.directory import load_model
from mumon.training.resume import restore_position
from mumon.vectors.fasttext_vectors import FastTextVectors
from mumon.word2vec import Word2Vec

Read = Callable[[Path, bytes], Any]
SEEDS = Path(__file__).parent / "seeds"
SUFFIXES = ("", ".txt", ".bin", ".glove", ".tsv", ".npz", ".npy", ".parquet")
PACKERS: Sequence[Callable[[bytes], bytes]] = (
    lambda data: gzip.compress(data, 1),
    lambda data: bz2.compress(data, 1),
    lambda data: lzma.compress(data, preset=0),
    lambda data: pa.compress(data, "zstd", asbytes=True),
)


@dataclass(frozen=True)
class Target:
    """A reader and the files from which its fuzzing starts."""

    read: Read
    seeds: Sequence[bytes]


def load_seeds(name: str) -> list[bytes]:
    """Return the seeds of a target: those made by code, and the hostile files in its folder."""
    stored = sorted((SEEDS / name).iterdir()) if (SEEDS / name).is_dir() else []
    return [*TARGETS[name].seeds, *(path.read_bytes() for path in stored)]


def _read_vectors(format: str | None, name: str = "v") -> Read:
    def read(folder: Path, data: bytes) -> None:
        path = folder / name
        path.write_bytes(data)
        check_vectors(read_vectors(path, format))

    return read


def _read_detected(folder: Path, data: bytes) -> None:
    """Read any bytes under any name: the first byte chooses the extension."""
    path = folder / f"v{SUFFIXES[data[0] % len(SUFFIXES)] if data else ''}"
    path.write_bytes(data[1:])
    detect(path)
    check_vectors(read_vectors(path))


def _read_compressed(folder: Path, data: bytes) -> None:
    """Read compressed bytes: the first byte chooses the compression, the format and the extension."""
    choice = data[0] if data else 0
    name = f"v{SUFFIXES[choice // 4 % 4]}"
    _read_vectors((None, "word2vec-text", "word2vec-bin", "glove")[choice // 16 % 4], name)(
        folder, PACKERS[choice % 4](data[1:])
    )


def _read_pair(format: str, name: str, side: str) -> Read:
    """Make a reader of two files in one input, which a line of equals signs separates."""

    def read(folder: Path, data: bytes) -> None:
        first, _, second = data.partition(examples.SEPARATOR)
        (folder / side).write_bytes(second)
        _read_vectors(format, name)(folder, first)

    return read


def _read_array(folder: Path, data: bytes) -> None:
    """Replace one array of an archive, and correct its checksum; the first byte chooses which."""
    files = examples.make_arrays()
    files[list(files)[data[0] % len(files) if data else 0]] = data[1:]
    with zipfile.ZipFile(folder / "v.npz", "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.npy", content)
    check_vectors(read_vectors(folder / "v.npz", "npz"))


def _read_fasttext(folder: Path, data: bytes) -> None:
    path = folder / "m.bin"
    path.unlink(missing_ok=True)  # the previous file may still be mapped
    path.write_bytes(data)
    loaded = read_vectors(path, "fasttext-bin")
    check_vectors(loaded)
    vectors = FastTextVectors.of(loaded)
    for word in ("unseen", "naïve", "", "x"):
        try:
            assert np.isfinite(vectors[word]).all()
            vectors.most_similar(word, topn=2)
        except MumonError as error:
            examples.check_sentence(error)


def _read_small_model(folder: Path, data: bytes) -> None:
    """Replace the matrix of a model folder of int8."""
    path = folder / "int8.mumon"
    if not path.exists():
        path.mkdir()
        for file, content in examples.make_small_model_files().items():
            (path / file).write_bytes(content)
    (path / "model.safetensors").unlink(missing_ok=True)
    (path / "model.safetensors").write_bytes(data)
    check_vectors(load_model(path))


def check_vectors(loaded: Any) -> None:
    """Check that words and rows agree, that no word is repeated, and that every number is finite."""
    assert loaded.vectors.shape[0] == len(loaded.words) == len(set(loaded.words)) > 0
    assert loaded.vectors.ndim == 2 and loaded.vectors.shape[1] > 0 and loaded.vectors.dtype == np.float32
    assert np.isfinite(loaded.vectors).all()
    assert loaded.counts is None or (len(loaded.counts) == len(loaded.words) and loaded.counts.min() >= 0)
    "".join(loaded.words).encode()


def _read_model(name: str) -> Read:
    """Make a reader of a model folder with one file replaced."""

    def read(folder: Path, data: bytes) -> None:
        path = folder / f"{name}.mumon"
        if not path.exists():
            path.mkdir()
            for file, content in examples.make_model_files().items():
                (path / file).write_bytes(content)
        (path / name).write_bytes(data)
        try:
            check_vectors(load_model(path))
        except MumonError as error:
            examples.check_sentence(error)
        model = Word2Vec.load(path, progress=False)
        wv = model.wv
        check_vectors(LoadedVectors(wv.index_to_key, wv.vectors, wv.counts))
        assert np.isfinite(model.syn1neg).all() and model.syn1neg.shape == model.wv.vectors.shape
        json.dumps([epoch.to_json() for epoch in model.history], allow_nan=False)
        assert repr(model)

    return read


def _read_checkpoint(folder: Path, data: bytes) -> None:
    """Replace the state of a checkpoint, with checksums of its other files, and restore the position of the run."""
    path = folder / "kept" / examples.CHECKPOINT
    if not path.exists():
        path.mkdir(parents=True)
        for file, content in examples.make_checkpoint_files().items():
            (path / file).write_bytes(content)
    (path / STATE_NAME).write_bytes(data)
    loaded, state = read_checkpoint(path)
    check_vectors(loaded)
    history, schedule, position = restore_position(loaded, state)
    assert len(history) == state.first_epoch and 0 <= position.tally.blocks <= state.blocks
    assert np.isfinite(schedule.rate(0))


def _read_vocabulary(folder: Path, data: bytes) -> None:
    path = folder / "vocab.txt"
    path.write_bytes(data)
    vocabulary = Vocabulary.load(path)
    assert len(vocabulary.index) == len(vocabulary.counts) == len(vocabulary) > 0
    assert vocabulary.counts.min() >= 0 and vocabulary.counts.sum() >= 0


def _read_corpus(name: str, options: TextOptions) -> Read:
    def read(folder: Path, data: bytes) -> None:
        path, table = folder / name, ByteTable(1 << 10)
        path.write_bytes(data)
        for piece in read_pieces(str(path), options, lambda size: None):
            text, replaced = prepare(piece, options)
            _, ends = table.encode(text)
            assert replaced >= 0 and len(ends) == text.count(b"\n")
        assert len(table.to_arrow()) == table.types == len(table.read_counts())

    return read


def _read_task_file(folder: Path, data: bytes) -> None:
    """Read a task; the first byte chooses its kind."""
    path = folder / "task.txt"
    path.write_bytes(data[1:])
    task = read_task(path, kind=(None, "similarity", "analogy", "categories", "outliers")[data[0] % 5 if data else 0])
    assert len(task.items) == len(task.sections) > 0 and all(map(all, task.items))
    assert task.gold is None or (len(task.gold) == len(task) and np.isfinite(task.gold).all())
    task.fold("dev"), task.groups()


def _read_plan(folder: Path, data: bytes) -> None:
    path = folder / "sweep.json"
    path.write_bytes(data)
    old = plan._read_plan(path)
    for new in (examples.make_plan(), old):
        new.differs(old), old.differs(new)


def _read_runs(folder: Path, data: bytes) -> None:
    (folder / runs.RUNS_NAME).write_bytes(data)
    for run in runs.RunLog(folder).runs.values():
        runs._format_line(run)


def _read_result(folder: Path, data: bytes) -> None:
    (folder / result.RESULT_NAME).write_bytes(data)
    result.read_earlier_tests(folder)


_TEXT, _BINARY = examples.make_vectors("word2vec-text"), examples.make_vectors("word2vec-bin")
_GLOVE, _MODEL = examples.make_vectors("glove"), examples.make_model_files()
_OTHERS = examples.make_archives()[:1] + examples.make_tables()[:1] + examples.make_fasttexts()[:1]

TARGETS = {
    "word2vec-text": Target(_read_vectors("word2vec-text"), [_TEXT]),
    "word2vec-bin": Target(_read_vectors("word2vec-bin"), [_BINARY]),
    "glove": Target(_read_vectors("glove"), [_GLOVE]),
    "npz": Target(_read_vectors("npz", "v.npz"), examples.make_archives()),
    "npz-array": Target(_read_array, [bytes([n]) + data for n, data in enumerate(examples.make_arrays().values())]),
    "npy": Target(_read_pair("npy", "v.npy", "v.words.txt"), examples.make_pairs("npy", "v.npy", "v.words.txt")),
    "projector": Target(
        _read_pair("projector", "v.tsv", "v.metadata.tsv"), examples.make_pairs("projector", "v.tsv", "v.metadata.tsv")
    ),
    "parquet": Target(_read_vectors("parquet", "v.parquet"), examples.make_tables()),
    "fasttext": Target(_read_fasttext, examples.make_fasttexts()),
    "model-int8": Target(_read_small_model, [examples.make_small_model_files()["model.safetensors"]]),
    "detect": Target(_read_detected, [b"\0" + data for data in (_TEXT, _BINARY, _GLOVE, *_OTHERS)]),
    "packed": Target(_read_compressed, [bytes([n]) + data for n in range(4) for data in (_TEXT, _BINARY, _GLOVE)]),
    "damaged-packed": Target(_read_vectors(None), [pack(data) for pack in PACKERS for data in (_TEXT, _BINARY)]),
    **{f"model-{name}": Target(_read_model(name), [content]) for name, content in _MODEL.items()},
    "checkpoint": Target(_read_checkpoint, [examples.make_checkpoint_files()[STATE_NAME]]),
    "vocabulary": Target(_read_vocabulary, [b"the 9\nnew york 4\nof\t3\n"]),
    "corpus-plain": Target(_read_corpus("c.txt", TextOptions()), examples.TEXTS),
    "corpus-packed": Target(
        _read_corpus("c", TextOptions(lowercase=True)), [p(t) for p in PACKERS for t in examples.TEXTS]
    ),
    "corpus-running": Target(_read_corpus("c.txt", TextOptions(tokenize=True, lowercase=True)), examples.TEXTS),
    "corpus-json": Target(_read_corpus("c.jsonl", TextOptions()), [b'{"text": "a b"}\n{"text": null, "n": [1.5]}\n']),
    "corpus-parquet": Target(_read_corpus("c.parquet", TextOptions()), examples.make_parquets()),
    "task": Target(_read_task_file, [bytes([n]) + data for n in range(5) for data in examples.TASKS]),
    "sweep-plan": Target(_read_plan, [json.dumps(examples.make_plan().to_json()).encode()]),
    "sweep-runs": Target(_read_runs, [examples.make_runs()]),
    "sweep-result": Target(_read_result, [examples.make_result()]),
}
