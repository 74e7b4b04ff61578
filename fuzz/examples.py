"""Small whole files of every kind, from which the mutations start, and what every error must look like."""

from __future__ import annotations

import functools
import io
import json
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mumon.experiments.sweep.plan import Plan
from mumon.experiments.sweep.runs import Run, _format_line
from mumon.experiments.sweep.space import Range
from mumon.formats import write_vectors
from mumon.training.checkpoints import Checkpoints
from mumon.word2vec import Word2Vec

WORDS = ["the", "naïve", "new-york", "of"]
CHECKPOINT = "epoch-1-block-1.mumon"
MODEL_FILES = ("config.json", "vocab.json", "history.json", "model.safetensors")
SEPARATOR = b"\n====\n"  # between two files in one input
MAX_SENTENCE = 1000  # characters of an error, with the names that it repeats

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
    """Check that an error is one sentence on one line, without a full stop."""
    message = str(error)
    assert message and message.isprintable(), f"not one printable line: {message!r}"
    assert len(message) <= MAX_SENTENCE, f"{len(message)} characters: {message[:200]!r}"
    assert not message.endswith("."), message


def write_example(format: str, name: str = "v", dtype: str = "float32", counts: bool = False) -> dict[str, bytes]:
    """Write four words and their vectors in a format; return the contents of its files by name."""
    values = np.random.default_rng(0).standard_normal((len(WORDS), 3)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write_vectors(path, WORDS, values, np.arange(4, 0, -1) if counts else None, format, dtype)
        found = path if path.is_dir() else path.parent
        return {file.name: file.read_bytes() for file in sorted(found.iterdir())}


def make_vectors(format: str) -> bytes:
    """Return the only file of a format."""
    return write_example(format)["v"]


def make_archives() -> list[bytes]:
    """Make NumPy's archives: ours of all dtypes, and one that is compressed."""
    sink = io.BytesIO()
    np.savez_compressed(sink, words=np.array(WORDS), vectors=np.ones((4, 2)), counts=np.arange(4))
    kinds = (("float32", True), ("float16", False), ("int8", True))
    return [*(write_example("npz", "v.npz", dtype, counts)["v.npz"] for dtype, counts in kinds), sink.getvalue()]


@functools.cache
def _read_arrays() -> dict[str, bytes]:
    """Return the files inside an archive of int8."""
    with zipfile.ZipFile(io.BytesIO(write_example("npz", "v.npz", "int8", True)["v.npz"])) as archive:
        return {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}


def make_arrays() -> dict[str, bytes]:
    """Return the arrays of an archive of int8, in a dictionary that may be changed."""
    return dict(_read_arrays())


def make_tables() -> list[bytes]:
    """Make vectors as Parquet: ours of all dtypes, and a table as other programs write it."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"word": WORDS, "vector": [[1.0, 2.0]] * 4, "count": [1, 2, 3, 4]}), sink)
    kinds = (("float32", True), ("float16", False), ("int8", True))
    made = [write_example("parquet", "v.parquet", dtype, counts)["v.parquet"] for dtype, counts in kinds]
    return [*made, sink.getvalue()]


def make_pairs(format: str, name: str, side: str) -> list[bytes]:
    """Make the two files of a format as one input, with counts and without."""
    both = (write_example(format, name, counts=counts) for counts in (True, False))
    return [SEPARATOR.join([files[name], files[side]]) for files in both]


def make_fasttexts() -> list[bytes]:
    """Make fastText's models: with n-grams, without, and with labels."""
    models = []
    for kind, bucket, minn, maxn, labels in ((2, 5, 3, 6, 0), (1, 0, 0, 0, 0), (3, 4, 1, 2, 2)):
        words = [word.encode() for word in WORDS]
        head = struct.pack("<ii12id", 793712314, 12, 2, 5, 5, 1, 5, 1, 1, kind, bucket, minn, maxn, 100, 1e-4)
        head += struct.pack("<3i2q", len(words) + labels, len(words), labels, 99, -1)
        for number, word in enumerate([*words, *[b"__label__%d" % n for n in range(labels)]]):
            head += word + b"\0" + struct.pack("<qb", 9 - number, number >= len(words))
        rows = len(words) + bucket
        head += struct.pack("<?2q", False, rows, 2) + np.linspace(-1, 1, 2 * rows, dtype="<f4").tobytes()
        models.append(head + struct.pack("<?2q", False, 4, 2) + bytes(32))
    return models


@functools.cache
def make_small_model_files() -> dict[str, bytes]:
    """Make the files of a model folder of int8."""
    return write_example("mumon", "m", "int8", True)


@functools.cache
def make_checkpoint_files() -> dict[str, bytes]:
    """Make the files of a checkpoint between two epochs."""
    with tempfile.TemporaryDirectory() as folder:
        kept = Checkpoints(folder, "1k")
        Word2Vec([["a", "b", "c"]] * 999, vector_size=2, min_count=1, workers=1, checkpoints=kept, progress=False)
        return {path.name: path.read_bytes() for path in kept.find()[0].iterdir()}


@functools.cache
def make_model_files() -> dict[str, bytes]:
    """Make the files of a model that was trained a little."""
    model = Word2Vec([["a", "b", "c"], ["b", "a"]] * 4, vector_size=2, min_count=1, epochs=2, workers=1, progress=False)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m")
        return {name: (Path(folder) / "m" / name).read_bytes() for name in MODEL_FILES}


def make_parquets() -> list[bytes]:
    """Make texts as Parquet, with and without a dictionary and compression."""
    table = pa.table({"text": ["the cat sat", None, "on the mat"], "n": [1, 2, 3]})
    files = []
    for packing, dictionary in (("none", False), ("snappy", True), ("zstd", False)):
        sink = io.BytesIO()
        pq.write_table(table, sink, compression=packing, use_dictionary=dictionary)
        files.append(sink.getvalue())
    return files


def make_plan() -> Plan:
    """Make a plan with values of every kind."""
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


def make_runs() -> bytes:
    """Make two finished runs, one of which failed."""
    done = Run({"alpha": 0.1, "sg": 0}, 1, {"ws353": 60.5, "men": float("nan")}, 60.5, 9, 10, 2.5, 1.5)
    return _format_line(done) + _format_line(Run({"alpha": 9.0, "sg": 0}, 1, failed="the loss stopped being finite"))


def make_result() -> bytes:
    """Make the part of a sweep's result that a later call reads."""
    scores = {"ws353": {"dev": {"score": 1.0}}}
    tested = {"name": "best", "run": "0", "options": {}, "seed": 1, "model": "best.mumon", "scores": scores}
    return json.dumps({"tested": [tested], "comparisons": []}).encode()
