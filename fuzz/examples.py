"""Whole little files of every kind, which the mutations start from, and what every refusal must look like."""

from __future__ import annotations

import functools
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mumon.checkpoints import Checkpoints
from mumon.formats import write_vectors
from mumon.model import Word2Vec
from mumon.sweep.plan import Plan
from mumon.sweep.runs import Run, _line
from mumon.sweep.space import Range

WORDS = ["the", "naïve", "new-york", "of"]
CHECKPOINT = "epoch-1-block-1.mumon"
MODEL_FILES = ("config.json", "vocab.json", "history.json", "model.safetensors")
LONGEST_SENTENCE = 1000  # of a refusal, beside the names it repeats

TEXTS = [
    b"the cat sat\non the mat \xff\n\nthe end",
    "Mr. Smith doesn’t care… Does he?\n\n“Yes.” naïve e.g. this".encode(),
]
TASKS = [
    b'word1,word2,score\ncup,mug,9.5\n"cup",sky,0.5\n',
    b": capitals\nathens greece oslo norway\n# no\n: family\nhe she king queen\n",
    b"dog\tanimal\noak\tplant\n",
    b": fruit\napple\npear\n\nhammer\nsky\n: tools\nsaw\nfile\n\npear\n",
]


def check_sentence(error: Exception) -> None:
    """A refusal is one sentence on one line, which begins small and does not end in a full stop."""
    message = str(error)
    assert message and message.isprintable(), f"not one printable line: {message!r}"
    assert len(message) <= LONGEST_SENTENCE, f"{len(message)} characters: {message[:200]!r}"
    assert not message.endswith("."), message


def vectors(format: str) -> bytes:
    """Four words and their vectors in a format."""
    values = np.random.default_rng(0).standard_normal((len(WORDS), 3)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "v"
        write_vectors(path, WORDS, values, format=format)
        return path.read_bytes()


@functools.cache
def checkpoint_files() -> dict[str, bytes]:
    """The files of a checkpoint between two epochs."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Checkpoints(folder, "1k")
        Word2Vec([["a", "b", "c"]] * 999, vector_size=2, min_count=1, workers=1, checkpoints=kept, progress=False)
        return {path.name: path.read_bytes() for path in kept.found()[0].iterdir()}


@functools.cache
def model_files() -> dict[str, bytes]:
    """The files of a model that was trained a little."""
    model = Word2Vec([["a", "b", "c"], ["b", "a"]] * 4, vector_size=2, min_count=1, epochs=2, workers=1, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m")
        return {name: (Path(folder) / "m" / name).read_bytes() for name in MODEL_FILES}


def parquets() -> list[bytes]:
    """Texts as Parquet, with and without a dictionary and packing."""
    table = pa.table({"text": ["the cat sat", None, "on the mat"], "n": [1, 2, 3]})
    files = []
    for packing, dictionary in (("none", False), ("snappy", True), ("zstd", False)):
        sink = io.BytesIO()
        pq.write_table(table, sink, compression=packing, use_dictionary=dictionary)
        files.append(sink.getvalue())
    return files


def plan() -> Plan:
    """A plan with every kind of value that one has."""
    return Plan(
        corpus="0" * 32,
        tokens=1000,
        tasks={"ws353": "1" * 32},
        space={"alpha": Range(0.01, 0.5), "sg": [0, 1], "window": [2, 5], "unk": [None, "<unk>"]},
        fixed={"epochs": 5, "exact": True, "text_field": None},
        seeds=(1, 2),
        search="random",
        draws=3,
        seed=1,
    )


def runs() -> bytes:
    """Two finished runs, one of which failed."""
    done = Run({"alpha": 0.1, "sg": 0}, 1, {"ws353": 60.5, "men": float("nan")}, 60.5, 9, 10, 2.5, 1.5)
    return _line(done) + _line(Run({"alpha": 9.0, "sg": 0}, 1, failed="the loss stopped being finite"))


def result() -> bytes:
    """The part of a sweep's result that a later call reads."""
    scores = {"ws353": {"dev": {"score": 1.0}}}
    tested = {"name": "best", "run": "0", "options": {}, "seed": 1, "model": "best.mumon", "scores": scores}
    return json.dumps({"tested": [tested], "comparisons": []}).encode()
