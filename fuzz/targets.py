"""What is fuzzed: each target reads one kind of file with the reader that mumon's users reach.

A target's `read` gets a folder and the bytes of a file. It may raise MumonError; whatever it gives back must hold
together, or it raises AssertionError. To add a target, write a `read` and put it into TARGETS with a few seeds: whole
files that the mutations start from. What is in seeds/NAME is read as well.
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
    """A reader and the files that its fuzzing starts from."""

    read: Read
    seeds: Sequence[bytes]


def seeds_of(name: str) -> list[bytes]:
    """The seeds of a target: those made by code, and the hostile files that are kept."""
    kept = sorted((SEEDS / name).iterdir()) if (SEEDS / name).is_dir() else []
    return [*TARGETS[name].seeds, *(path.read_bytes() for path in kept)]


def _vectors(format: str | None, name: str = "v") -> Read:
    def read(folder: Path, data: bytes) -> None:
        path = folder / name
        path.write_bytes(data)
        check_vectors(read_vectors(path, format))

    return read


def _detected(folder: Path, data: bytes) -> None:
    """Any bytes under any name: the first byte chooses the extension."""
    path = folder / f"v{SUFFIXES[data[0] % len(SUFFIXES)] if data else ''}"
    path.write_bytes(data[1:])
    detect(path)
    check_vectors(read_vectors(path))


def _packed(folder: Path, data: bytes) -> None:
    """Bytes that are packed whole: the first byte chooses how, the format and the extension."""
    choice = data[0] if data else 0
    name = f"v{SUFFIXES[choice // 4 % 4]}"
    _vectors((None, "word2vec-text", "word2vec-bin", "glove")[choice // 16 % 4], name)(
        folder, PACKERS[choice % 4](data[1:])
    )


def _pair(format: str, name: str, side: str) -> Read:
    """Two files in one: a line of equals signs parts them."""

    def read(folder: Path, data: bytes) -> None:
        first, _, second = data.partition(examples.BETWEEN)
        (folder / side).write_bytes(second)
        _vectors(format, name)(folder, first)

    return read


def _array(folder: Path, data: bytes) -> None:
    """One array of an archive, with the checksum that it should have; the first byte chooses which."""
    files = examples.arrays()
    files[list(files)[data[0] % len(files) if data else 0]] = data[1:]
    with zipfile.ZipFile(folder / "v.npz", "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.npy", content)
    check_vectors(read_vectors(folder / "v.npz", "npz"))


def _fasttext(folder: Path, data: bytes) -> None:
    path = folder / "m.bin"
    path.unlink(missing_ok=True)  # the one before may still be mapped
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


def _small_model(folder: Path, data: bytes) -> None:
    """The matrix of a folder of int8 replaced."""
    path = folder / "int8.mumon"
    if not path.exists():
        path.mkdir()
        for file, content in examples.small_model_files().items():
            (path / file).write_bytes(content)
    (path / "model.safetensors").unlink(missing_ok=True)
    (path / "model.safetensors").write_bytes(data)
    check_vectors(load_model(path))


def check_vectors(loaded: Any) -> None:
    """Words and rows agree, no word comes twice, and every number is one."""
    assert loaded.vectors.shape[0] == len(loaded.words) == len(set(loaded.words)) > 0
    assert loaded.vectors.ndim == 2 and loaded.vectors.shape[1] > 0 and loaded.vectors.dtype == np.float32
    assert np.isfinite(loaded.vectors).all()
    assert loaded.counts is None or (len(loaded.counts) == len(loaded.words) and loaded.counts.min() >= 0)
    "".join(loaded.words).encode()


def _model(name: str) -> Read:
    """One file of a model folder replaced, the others as they were saved."""

    def read(folder: Path, data: bytes) -> None:
        path = folder / f"{name}.mumon"
        if not path.exists():
            path.mkdir()
            for file, content in examples.model_files().items():
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


def _checkpoint(folder: Path, data: bytes) -> None:
    """The state of a checkpoint, with checksums for the files that are there; training goes on from what is read."""
    path = folder / "kept" / examples.CHECKPOINT
    if not path.exists():
        path.mkdir(parents=True)
        for file, content in examples.checkpoint_files().items():
            (path / file).write_bytes(content)
    (path / STATE_NAME).write_bytes(data)
    loaded, state = read_checkpoint(path)
    check_vectors(loaded)
    history, schedule, position = restore_position(loaded, state)
    assert len(history) == state.first_epoch and 0 <= position.tally.blocks <= state.blocks
    assert np.isfinite(schedule.rate(0))


def _vocabulary(folder: Path, data: bytes) -> None:
    path = folder / "vocab.txt"
    path.write_bytes(data)
    vocabulary = Vocabulary.load(path)
    assert len(vocabulary.index) == len(vocabulary.counts) == len(vocabulary) > 0
    assert vocabulary.counts.min() >= 0 and vocabulary.counts.sum() >= 0


def _corpus(name: str, options: TextOptions) -> Read:
    def read(folder: Path, data: bytes) -> None:
        path, table = folder / name, ByteTable(1 << 10)
        path.write_bytes(data)
        for piece in read_pieces(str(path), options, lambda size: None):
            text, replaced = prepare(piece, options)
            _, ends = table.encode(text)
            assert replaced >= 0 and len(ends) == text.count(b"\n")
        assert len(table.to_arrow()) == table.types == len(table.read_counts())

    return read


def _task(folder: Path, data: bytes) -> None:
    """The first byte chooses the kind of task."""
    path = folder / "task.txt"
    path.write_bytes(data[1:])
    task = read_task(path, kind=(None, "similarity", "analogy", "categories", "outliers")[data[0] % 5 if data else 0])
    assert len(task.items) == len(task.sections) > 0 and all(map(all, task.items))
    assert task.gold is None or (len(task.gold) == len(task) and np.isfinite(task.gold).all())
    task.fold("dev"), task.groups()


def _plan(folder: Path, data: bytes) -> None:
    path = folder / "sweep.json"
    path.write_bytes(data)
    old = plan._read_plan(path)
    for new in (examples.plan(), old):
        new.differs(old), old.differs(new)


def _runs(folder: Path, data: bytes) -> None:
    (folder / runs.RUNS_NAME).write_bytes(data)
    for run in runs.RunLog(folder).runs.values():
        runs._format_line(run)


def _result(folder: Path, data: bytes) -> None:
    (folder / result.RESULT_NAME).write_bytes(data)
    result.read_earlier_tests(folder)


_TEXT, _BINARY = examples.vectors("word2vec-text"), examples.vectors("word2vec-bin")
_GLOVE, _MODEL = examples.vectors("glove"), examples.model_files()
_OTHERS = examples.archives()[:1] + examples.tables()[:1] + examples.fasttexts()[:1]

TARGETS = {
    "word2vec-text": Target(_vectors("word2vec-text"), [_TEXT]),
    "word2vec-bin": Target(_vectors("word2vec-bin"), [_BINARY]),
    "glove": Target(_vectors("glove"), [_GLOVE]),
    "npz": Target(_vectors("npz", "v.npz"), examples.archives()),
    "npz-array": Target(_array, [bytes([n]) + data for n, data in enumerate(examples.arrays().values())]),
    "npy": Target(_pair("npy", "v.npy", "v.words.txt"), examples.pairs("npy", "v.npy", "v.words.txt")),
    "projector": Target(
        _pair("projector", "v.tsv", "v.metadata.tsv"), examples.pairs("projector", "v.tsv", "v.metadata.tsv")
    ),
    "parquet": Target(_vectors("parquet", "v.parquet"), examples.tables()),
    "fasttext": Target(_fasttext, examples.fasttexts()),
    "model-int8": Target(_small_model, [examples.small_model_files()["model.safetensors"]]),
    "detect": Target(_detected, [b"\0" + data for data in (_TEXT, _BINARY, _GLOVE, *_OTHERS)]),
    "packed": Target(_packed, [bytes([n]) + data for n in range(4) for data in (_TEXT, _BINARY, _GLOVE)]),
    "damaged-packed": Target(_vectors(None), [pack(data) for pack in PACKERS for data in (_TEXT, _BINARY)]),
    **{f"model-{name}": Target(_model(name), [content]) for name, content in _MODEL.items()},
    "checkpoint": Target(_checkpoint, [examples.checkpoint_files()[STATE_NAME]]),
    "vocabulary": Target(_vocabulary, [b"the 9\nnew york 4\nof\t3\n"]),
    "corpus-plain": Target(_corpus("c.txt", TextOptions()), examples.TEXTS),
    "corpus-packed": Target(_corpus("c", TextOptions(lowercase=True)), [p(t) for p in PACKERS for t in examples.TEXTS]),
    "corpus-running": Target(_corpus("c.txt", TextOptions(tokenize=True, lowercase=True)), examples.TEXTS),
    "corpus-json": Target(_corpus("c.jsonl", TextOptions()), [b'{"text": "a b"}\n{"text": null, "n": [1.5]}\n']),
    "corpus-parquet": Target(_corpus("c.parquet", TextOptions()), examples.parquets()),
    "task": Target(_task, [bytes([n]) + data for n in range(5) for data in examples.TASKS]),
    "sweep-plan": Target(_plan, [json.dumps(examples.plan().to_json()).encode()]),
    "sweep-runs": Target(_runs, [examples.runs()]),
    "sweep-result": Target(_result, [examples.result()]),
}
