"""Hostile files that code tells better than bytes: (target of the fuzzer, what it is, how to make it)."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import zlib

MB = 1 << 20


class Executed:
    """Unpickling this would run a command."""

    def __reduce__(self):
        import os

        return os.system, ("touch executed",)


def zstd_bomb(unit, size):
    """A frame of RLE blocks, 128 kB in 4 bytes each; `unit` is one byte."""
    blocks = [struct.pack("<I", (1 << 17) << 3 | 1 << 1)[:3] + unit] * (size >> 17)
    return b"\x28\xb5\x2f\xfd\x00\x58" + b"".join(blocks) + b"\x01\x00\x00"


def xz_with_dictionary(data, size_code):
    """The same stream with a header that asks for another dictionary: 40 is 4 GB."""
    packed = bytearray(lzma.compress(data))
    header = (packed[12] + 1) * 4
    packed[16] = size_code
    packed[12 + header - 4 : 12 + header] = struct.pack("<I", zlib.crc32(bytes(packed[12 : 12 + header - 4])))
    return bytes(packed)


def safetensors(header, data=b"", size=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def tensor(begin, end, shape=(4, 2), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def parquet(texts=("the cat sat",), promise=None):
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(pa.table({"text": list(texts)}), sink, compression="zstd", use_dictionary=False)
    data = sink.getvalue()
    if promise is None:
        return data
    assert data[6] == 0x15 and data[7] < 0x80  # the size of the first page follows, in one byte
    return data[:7] + promise + data[8:]


def npz(vectors=None, packing=0, **arrays):
    """An archive as np.savez makes it; `vectors` are the bytes of that array's file."""
    import zipfile

    import numpy as np

    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", packing) as archive:
        for name, array in {"words": np.array(["a", "b"]), "vectors": np.ones((2, 3)), **arrays}.items():
            file = io.BytesIO()
            np.save(file, array)
            archive.writestr(f"{name}.npy", vectors if name == "vectors" and vectors else file.getvalue())
    return sink.getvalue()


def npy(shape, kind="<f4", data=b"\0" * 24):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data


ENTRY = struct.pack("<qb", 1, 0)


def fasttext(*settings, nwords=1, rows=1, columns=2, words=b"a\0" + ENTRY):
    """A model of one word; `settings` are dim, bucket, minn and maxn."""
    dim, bucket, minn, maxn = settings or (2, 0, 0, 0)
    head = struct.pack("<ii12id", 793712314, 12, dim, 5, 5, 1, 5, 1, 1, 2, bucket, minn, maxn, 100, 1e-4)
    head += struct.pack("<3i2q", nwords, nwords, 0, 9, -1)
    return head + words + struct.pack("<?2q", False, rows, columns) + b"\0" * 8


def config(**training):
    """A whole config.json of the fuzzer's model, but for some settings."""
    import examples

    content = json.loads(examples.make_model_files()["config.json"])
    content["training"].update(training)
    return json.dumps(content).encode()


def vocab(**changes):
    return json.dumps({"words": ["a", "b", "c"], "counts": [3, 2, 1], **changes}).encode()


# These are read: strange, but what they say is meant, or may be.
READ = {
    "a number of 3 MB", "workers 1000000000", "unk ../../etc/passwd", "other files",
    "a word of 60,000 letters",
    "200,000 dots", "200,000 blanks", "200,000 quotes", "100,000 dots and hyphens", "lists in lists, made again",
}  # fmt: skip
PICKLES = {protocol: pickle.dumps({"vectors": Executed()}, protocol) for protocol in (0, 2, 4)}
PACKED = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
BOMBS = {
    "a line without end": b"x" * (12 * MB),
    "blank lines": b"\n" * (12 * MB),
    "spaces after a header": b"1000 100000000\n" + b" " * (12 * MB),
    "rows of zeros": b"99999999 300\n" + b"\0" * (12 * MB),
    "many rows": b"ab 1\n" * (2 * MB),
    "many numbers": b"a" + b" 11" * (3 * MB),
}

HOSTILE = [
    *((target, f"pickle {n}", lambda data=data: data) for n, data in PICKLES.items() for target in
      ("word2vec-text", "word2vec-bin", "glove", "detect", "model-model.safetensors", "model-config.json", "task")),
    ("damaged-packed", "packed pickle", lambda: gzip.compress(PICKLES[4])),
    *(("damaged-packed", f"{what}, {kind}", lambda data=data, pack=pack: pack(data))
      for what, data in BOMBS.items() for kind, pack in PACKED.items() if kind == "gz" or what == "a line without end"),
    ("damaged-packed", "zstd of 8 GB", lambda: zstd_bomb(b"x", 8 << 30)),
    ("damaged-packed", "zstd of newlines", lambda: zstd_bomb(b"\n", 1 << 30)),
    ("damaged-packed", "zstd with a window of 2 GB", lambda: b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x0b\x00\x00x"),
    ("damaged-packed", "zstd that promises 2^60 bytes", lambda: b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 1 << 60)),
    ("damaged-packed", "xz that wants 4 GB", lambda: xz_with_dictionary(b"1 1\na 1\n", 40)),
    ("damaged-packed", "gz in gz", lambda: gzip.compress(gzip.compress(b"1 1\na 1\n"))),
    ("damaged-packed", "10,000 empty members", lambda: gzip.compress(b"") * 10_000),
    ("glove", "a plain line without end", lambda: b"x" * (6 * MB)),
    ("word2vec-text", "a number of 3 MB", lambda: b"1 1\na 0." + b"1" * (3 * MB)),
    ("word2vec-bin", "2^59 rows", lambda: b"999999999999999999 999999999999999999\na \0\0\0\0"),
    ("npz", "objects", lambda: npz(words=[Executed(), Executed()])),
    ("npz", "2^60 rows", lambda: npz(npy("(1152921504606846976, 4)"))),
    ("npz", "rows of 2^60 numbers", lambda: npz(npy("(2, 1152921504606846976)"))),
    ("npz", "a word of 2^31 letters", lambda: npz(npy("(2,)", "<U2147483647"))),
    ("npz", "zeros, packed", lambda: npz(packing=8, counts=[0] * (3 * MB))),
    ("npz", "a program for a header", lambda: npz(
        b"\x93NUMPY\1\0\x40\0" + b"__import__('os').system('touch executed')".ljust(64))),
    ("npz", "a pickle", lambda: PICKLES[4]),
    ("npy", "2^60 rows", lambda: npy("(1152921504606846976, 4)") + b"\n====\na\n"),
    ("npy", "words without end", lambda: npy("(2, 3)") + b"\n====\n" + b"x" * (6 * MB)),
    ("projector", "numbers without end", lambda: b"1\t" * (3 * MB) + b"\n====\na\n"),
    ("projector", "a count of 5,000 digits", lambda: b"1\t2\n\n====\nword\tcount\na\t" + b"9" * 5000 + b"\n"),
    ("parquet", "a page of 2 GB", lambda: parquet(promise=b"\xfe\xff\xff\xff\x0f")),
    ("fasttext", "2^31 words", lambda: fasttext(nwords=(1 << 31) - 1)),
    ("fasttext", "2^40 rows", lambda: fasttext(2, (1 << 31) - 1, 0, 0, rows=1 << 31)),
    ("fasttext", "rows of 2^31 numbers", lambda: fasttext((1 << 31) - 1, 0, 0, 0, columns=(1 << 31) - 1)),
    ("fasttext", "n-grams of 2^31 letters", lambda: fasttext(2, 1, 1, (1 << 31) - 1, rows=2)),
    ("fasttext", "a word without end", lambda: fasttext(words=b"x" * (6 * MB))),
    ("fasttext", "a word of 60,000 letters", lambda: fasttext(
        2, 1, 1, 64, rows=2, words=b"\x80x" * 30_000 + b"\0" + ENTRY) + b"\0" * 8),
    ("model-int8", "scales beyond all", lambda: safetensors(
        {"embeddings": tensor(0, 15, (5, 3), "I8"), "weights": tensor(15, 35, (5,))},
        b"\1" * 15 + b"\xff\xff\x7f\x7f" * 5)),
    ("corpus-packed", "a word without end", lambda: zstd_bomb(b"x", 8 << 30)),
    ("corpus-packed", "text without end", lambda: zstd_bomb(b"\n", 8 << 30)),
    ("corpus-json", "a record without end", lambda: bz2.compress(b'{"text": "' + b"x" * (12 * MB))),
    ("corpus-json", "lists in lists", lambda: b"[" * 200_000),
    ("corpus-json", "an integer of 5,000 digits", lambda: b'{"text": ' + b"1" * 5000 + b"}"),
    ("corpus-parquet", "a page that promises 2 GB", lambda: parquet(promise=b"\xfe\xff\xff\xff\x0f")),
    ("corpus-parquet", "a text of 40 MB in 4 kB", lambda: parquet(["x" * (10 * MB)] * 4)),
    ("corpus-running", "200,000 dots", lambda: b"." * 200_000 + b"a"),
    ("corpus-running", "200,000 blanks", lambda: b"a." + b" " * 200_000 + b"a"),
    ("corpus-running", "200,000 quotes", lambda: b"a." + b"'" * 200_000 + b"a"),
    ("corpus-running", "100,000 dots and hyphens", lambda: b"-." * 100_000 + b"a"),
    ("task", "outliers of many", lambda: b"\x04" + b"a\n" * 50_000 + b"\n" + b"b\n" * 50_000),
    ("task", "a field of 200 kB", lambda: b"\x01a,b,1\na," + b"x" * 200_000 + b",2\n"),
    ("task", "a bomb", lambda: b"\x01" + zstd_bomb(b"\n", 8 << 30)),
    ("task", "a damaged zstd", lambda: b"\x01\x28\xb5\x2f\xfd\x00\xff\xff"),
    ("vocabulary", "a count of 5,000 digits", lambda: b"a " + b"1" * 5000),
    ("vocabulary", "counts beyond 2^63", lambda: b"a 9223372036854775807\nb 1\n"),
    ("model-vocab.json", "wide counts", lambda: vocab(counts=["x" * MB, *map(str, range(2000))])),
    ("model-vocab.json", "half a character", lambda: b'{"words": ["a", "b", "\\ud800"], "counts": null}'),
    ("model-vocab.json", "counts beyond 2^63", lambda: vocab(counts=[2**62, 2**62, 2**62])),
    ("model-vocab.json", "lists in lists", lambda: b'{"words": ' + b"[" * 200_000),
    ("model-vocab.json", "NaN", lambda: b'{"words": ["a", "b", "c"], "counts": [NaN, 1, 1]}'),
    *(("model-config.json", f"{name} {str(value)[:20]}", lambda name=name, value=value: config(**{name: value}))
      for name, value in [
          ("window", "x"), ("workers", 10**9), ("workers", -1), ("batch", 10**15), ("negative", 10**30),
          ("alpha", 10**400), ("alpha", 1e308), ("seed", 10**400), ("unk", ["a"]), ("unk", "../../etc/passwd"),
          ("text_field", {}), ("objective", "x"), ("epochs", None), ("tokens_before", "x"), ("tokens_before", [1]),
          ("schedule", {"alpha": 0.1, "min_alpha": 0, "total": 10**400}), ("schedule", "../../etc/passwd"),
          ("schedule", {"alpha": 0.1, "min_alpha": 0, "total": 5, "done": "x"}),
          ("schedule", {"alpha": 0.1, "min_alpha": 0, "total": 5, "done": 10**18}),
      ]),
    ("model-config.json", "sizes beyond all", lambda: config().replace(
        b'"vocab_size": 3', b'"vocab_size": 1' + b"0" * 400)),
    ("model-config.json", "other files", lambda: config(model="../../etc/passwd", vocab="/etc/passwd")),
    ("model-history.json", "infinite tokens", lambda: b'{"epochs": [{"epoch": 1, "loss": 1, "alpha": 1, '
     b'"tokens": 1e999, "trained_tokens": 1, "seconds": 1}]}'),
    ("model-model.safetensors", "a header of 2^63 bytes", lambda: safetensors({}, size=1 << 63)),
    ("model-model.safetensors", "a header of 2^40 bytes", lambda: safetensors({}, size=1 << 40)),
    ("model-model.safetensors", "offsets beyond the file", lambda: safetensors(
        {"embeddings": tensor(0, 1 << 40)}, b"\0" * 32)),
    ("model-model.safetensors", "offsets backwards", lambda: safetensors({"embeddings": tensor(32, 0)}, b"\0" * 32)),
    ("model-model.safetensors", "a shape beyond all", lambda: safetensors(
        {"embeddings": tensor(0, 32, (1 << 62, 1 << 62))}, b"\0" * 32)),
    ("model-model.safetensors", "tensors that overlap", lambda: safetensors(
        {"embeddings": tensor(0, 32), "output": tensor(8, 32, (3, 2))}, b"\0" * 32)),
    ("model-model.safetensors", "a name twice", lambda: safetensors(
        b'{"embeddings":' + json.dumps(tensor(0, 32)).encode() + b',"embeddings":'
        + json.dumps(tensor(1 << 40, 1 << 41)).encode() + b"}", b"\0" * 32)),
    ("model-model.safetensors", "lists in lists", lambda: safetensors(b"[" * 200_000)),
    ("sweep-plan", "lists in lists", lambda: b"[" * 200_000),
    ("sweep-runs", "lists in lists", lambda: b"[" * 200_000 + b"\n\n"),
    ("sweep-runs", "options that are none", lambda: b'{"options": 5, "seed": 1}\n{}\n'),
    ("sweep-result", "lists in lists, made again", lambda: b'{"tested": ' + b"[" * 200_000),
]  # fmt: skip
