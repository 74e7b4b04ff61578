"""The model directory: safetensors and JSON, no pickle, which mumon, model2vec and sentence-transformers all load.

    model.safetensors   embeddings (V + 1, D) float32, the last row zeros for unknown words; output (V, D) if kept
    vocab.json          {"words": [...], "counts": [...] or null}
    config.json         the marker {"format": "mumon"}, the sizes, and the trainer's settings under "training"
    history.json        what each epoch did, where there was training; the only file with clock times in it
    tokenizer.json      WordLevel, one entry per row, for the other two libraries
    modules.json        what sentence-transformers looks for

Row i of embeddings is word i of vocab.json. When the settings name an unknown word that was trained ("unk") there is
no row of zeros: that word's row plays its part. The same training with one thread gives the same bytes in every file
but history.json.
"""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mumon import __version__
from mumon.atomic import CONFIG_NAME, FORMAT_MARKER, atomic_directory
from mumon.errors import FormatError, OptionError, one_line
from mumon.formats.base import Counts, Floats, LoadedVectors, check_writable, first_non_finite_row
from mumon.strict_json import parse

FORMAT_VERSION = 1
TENSORS_NAME = "model.safetensors"
VOCAB_NAME = "vocab.json"
HISTORY_NAME = "history.json"
MOST_READINGS = 100  # of a model that is replaced again and again


@dataclass(frozen=True)
class LoadedModel:
    """A model directory in memory; `config` is the dictionary that was given to `save_model`."""

    words: list[str]
    counts: Counts | None
    vectors: Floats
    output: Floats | None
    config: dict[str, Any]
    history: list[dict[str, Any]]


def read(path: Path, limit: int | None = None) -> LoadedVectors:
    """The vectors alone, for the registry of formats."""
    model = load_model(path, output=False)
    counts = None if model.counts is None else model.counts[:limit]
    return LoadedVectors(model.words[:limit], model.vectors[:limit], counts)


def write(path: Path, words: Sequence[str], vectors: Floats, counts: Counts | None = None) -> None:
    """The vectors alone, for the registry of formats."""
    save_model(path, words, counts, vectors)


def save_model(
    path: str | os.PathLike[str],
    words: Sequence[str],
    counts: Counts | None,
    vectors: Floats,
    output: Floats | None = None,
    config: Mapping[str, Any] | None = None,
    history: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write a model directory atomically.

    Of `config`, `lowercase`, `tokenize` and `unk` also shape tokenizer.json; the rest is kept for `load_model`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tiny.mumon"
    >>> save_model(path, ["a", "b"], None, np.eye(2, dtype=np.float32), config={"window": 5})
    >>> load_model(path).words, load_model(path).config
    (['a', 'b'], {'window': 5})
    """
    from mumon.formats.tokenizer import tokenizer  # it needs the corpus package, which loading does not

    vectors = np.asarray(vectors, np.float32)
    check_writable(words, vectors)
    if output is not None:
        if output.shape != vectors.shape:
            raise FormatError(f"output is {output.shape} where vectors are {vectors.shape}; save matrices of one shape")
        bad = first_non_finite_row(output)
        if bad is not None:
            raise FormatError(f"row {bad + 1} of output holds nan or inf; train the model again")
    training = dict(config or {})
    about = Description(words, counts, vectors.shape[1], training.get("unk"))
    with atomic_directory(path) as directory:
        about.write(directory, training, history)
        write_tensors(directory, vectors, output, about.zero_row)
        entries = [*words, about.unk] if about.zero_row else words
        _write_json(directory / "tokenizer.json", tokenizer(entries, about.unk, training))
        module = {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}
        _write_json(directory / "modules.json", [module], indent=2)


class Description:
    """Everything of a model directory that its matrices do not say; the words are checked when it is made."""

    def __init__(self, words: Sequence[str], counts: Counts | None, dim: int, unk: Any) -> None:
        from mumon.formats.tokenizer import unknown_token

        self.unk = unknown_token(words, unk)
        self.zero_row = self.unk not in set(words)
        checked = _checked_counts(counts, len(words), "counts")
        self._shape = len(words), dim
        self._vocab = {"words": list(words), "counts": None if checked is None else checked.tolist()}

    def write(self, directory: Path, training: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> None:
        """Write config.json, vocab.json and history.json."""
        _write_json(directory / CONFIG_NAME, _config(self._shape, self.zero_row, dict(training)), indent=2)
        _write_json(directory / VOCAB_NAME, self._vocab)
        if history:
            _write_json(directory / HISTORY_NAME, {"epochs": list(history)}, indent=2)


def load_model(path: str | os.PathLike[str], *, output: bool = True) -> LoadedModel:
    """Read a model directory, checking each file against the others; `output=False` leaves the output matrix.

    The files are those of one model even while another process saves over it: if the directory was replaced meanwhile,
    it is read again.
    """
    directory = Path(path)
    for _ in range(MOST_READINGS):
        identity = _identity(directory)
        try:
            loaded = _load(directory, output)
        except Exception:  # files of two models fit together in no way at all
            if identity == _identity(directory):
                raise
        else:
            if identity == _identity(directory):
                return loaded
    raise FormatError(f"{directory} was replaced {MOST_READINGS} times while it was read; load it when that is over")


def _identity(directory: Path) -> tuple[int, int, int] | None:
    try:
        stat = directory.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_ctime_ns  # with the time of its last rename: numbers are given out again


def _load(directory: Path, output: bool) -> LoadedModel:
    config = _read_config(directory)
    V, D = _size(config, "vocab_size", directory), _size(config, "vector_size", directory)
    words, counts = _read_vocab(directory / VOCAB_NAME, V)
    vectors, out = _read_tensors(directory / TENSORS_NAME, V, D, config["unknown_row"], output)
    return LoadedModel(words, counts, vectors, out, config["training"], _read_history(directory / HISTORY_NAME))


def is_trainable(path: str | os.PathLike[str]) -> bool:
    """Whether a model directory says how it was trained, as a conversion of bare vectors does not."""
    return bool(_read_config(Path(path))["training"])


def _read_config(directory: Path) -> dict[str, Any]:
    if directory.is_file():
        raise FormatError(f"{directory} is a file, not a model directory; read it with WordVectors or from_vectors")
    if not directory.is_dir():
        raise FormatError(f"there is no model directory at {directory}; check the name")
    config = _read_json(directory / CONFIG_NAME)
    if config.get("format") != FORMAT_MARKER:
        raise FormatError(f"{directory} is not a mumon model: its {CONFIG_NAME} has no format 'mumon'; check the name")
    if config.get("format_version") != FORMAT_VERSION:
        shown = reprlib.repr(config.get("format_version"))
        raise FormatError(
            f"{directory} has format version {shown} where this mumon reads {FORMAT_VERSION}; install a newer mumon"
        )
    if not isinstance(config.get("training"), dict) or not isinstance(config.get("unknown_row"), bool):
        raise FormatError(f"{directory / CONFIG_NAME} has no usable training or unknown_row; save the model again")
    return config


def _config(shape: tuple[int, ...], zero_row: bool, training: dict[str, Any]) -> dict[str, Any]:
    V, D = shape
    config = {
        "format": FORMAT_MARKER,
        "format_version": FORMAT_VERSION,
        "mumon_version": __version__,
        "vocab_size": V,
        "vector_size": D,
        "unknown_row": zero_row,
        "training": training,
        # model2vec: plain means of whole sentences
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": D,
        "normalize": False,
        "max_length": None,
        "embedding_dtype": "float32",
    }
    try:
        json.dumps(training, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(f"one of the {len(training)} settings cannot be saved ({error}); use plain values") from None
    return config


def _write_json(path: Path, value: Any, indent: int | None = None) -> None:
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    path.write_bytes(text.encode() + b"\n")


def write_tensors(directory: Path, vectors: Floats, output: Floats | None, zero_row: bool) -> None:
    """Write safetensors block by block; the library would need a second, contiguous copy of each matrix in memory."""
    D = vectors.shape[1]
    zeros = np.zeros((int(zero_row), D), np.float32)
    tensors = {"embeddings": [vectors, zeros], **({} if output is None else {"output": [output]})}
    header: dict[str, Any] = {}
    end = 0
    for name, parts in tensors.items():
        start, rows = end, sum(map(len, parts))
        end = start + 4 * D * rows
        header[name] = {"dtype": "F32", "shape": [rows, D], "data_offsets": [start, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the data begins 8-byte aligned
    with (directory / TENSORS_NAME).open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for part in (part for parts in tensors.values() for part in parts):
            for start in range(0, len(part), 8192):
                file.write(np.ascontiguousarray(part[start : start + 8192], "<f4").data)


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():  # nor a pipe or device, which might never end
        raise FormatError(f"{path.parent} has no {path.name}; it is not a whole mumon model, so save it again")
    try:
        value = parse(path.read_bytes())
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read as JSON ({one_line(error)}); save the model again") from None
    if not isinstance(value, dict):
        raise FormatError(f"{path} holds a {type(value).__name__} where an object was expected; save the model again")
    return value


def _size(config: dict[str, Any], key: str, directory: Path) -> int:
    value = config.get(key)
    if type(value) is not int or not 1 <= value < 1 << 63:
        raise FormatError(
            f"{directory / CONFIG_NAME} has {key} {reprlib.repr(value)}, not a number of at least 1; save it again"
        )
    return value


def _read_history(path: Path) -> list[dict[str, Any]]:
    epochs = _read_json(path).get("epochs") if path.exists() else []
    if not isinstance(epochs, list) or not all(isinstance(epoch, dict) for epoch in epochs):
        raise FormatError(f"{path} has no list of epochs; save the model again")
    return epochs


def _read_vocab(path: Path, V: int) -> tuple[list[str], Counts | None]:
    vocab = _read_json(path)
    words = vocab.get("words")
    if not isinstance(words, list) or not set(map(type, words)) <= {str}:
        raise FormatError(f"{path} has no list of words; save the model again")
    if len(words) != V:
        raise FormatError(f"{path} has {len(words)} words where {CONFIG_NAME} says {V}; save the model again")
    if len(set(words)) != V:
        first: dict[str, int] = {}
        row = next(row for row, word in enumerate(words) if first.setdefault(word, row) != row)
        raise FormatError(
            f"{path} has {words[row][:60]!r} as word {first[words[row]] + 1} and {row + 1}; save it again"
        )
    counts = vocab.get("counts")
    if isinstance(counts, list) and not set(map(type, counts)) <= {int}:
        counts = []  # NumPy would make all as large as the largest, were there strings
    return words, _checked_counts(counts, V, str(path))


def _checked_counts(counts: Any, V: int, where: str) -> Counts | None:
    """Counts as an array, or one sentence about what is wrong with them."""
    if counts is None:
        return None
    try:
        array = np.asarray(counts)
    except ValueError:  # lists inside the list
        array = np.empty(0)
    if array.shape != (V,) or array.dtype.kind != "i":
        raise FormatError(f"{where}: the counts are not {V} whole numbers, one per word; save the model again")
    if array.min() < 0:
        row = int(array.argmin())
        raise FormatError(f"{where}: the count of word {row + 1} is {array[row]}, below 0; save the model again")
    if array.sum(dtype=np.float64) >= 2.0**63:
        raise FormatError(f"{where}: the counts of the {V} words add up to 2^63 or more; save the model again")
    return array.astype(np.int64)


def _read_tensors(path: Path, V: int, D: int, zero_row: bool, output: bool) -> tuple[Floats, Floats | None]:
    """The matrices, mapped from the file: nothing is copied, and changing them in memory leaves the file as it is."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FormatError(f"{path.parent} has no {path.name}; it is not a whole mumon model, so save it again")
    expected = {"embeddings": (V + zero_row, D), "output": (V, D)}
    tensors: dict[str, Floats] = {}
    try:
        with safe_open(path, framework="numpy") as file:  # checks that the header and the size of the file are right
            present = set(file.keys())
            if "embeddings" not in present:
                raise FormatError(f"{path} has no tensor 'embeddings' among its {len(present)}; save the model again")
            for name in sorted(present & expected.keys()):
                layout = file.get_slice(name)
                shape, dtype = tuple(layout.get_shape()), str(layout.get_dtype())
                if shape != expected[name] or dtype != "F32":
                    raise FormatError(
                        f"{path}: {name} is {dtype} {shape} where F32 {expected[name]} follows from {CONFIG_NAME}; "
                        "save the model again"
                    )
                if name == "embeddings" or output:
                    tensors[name] = _mapped(path, name, shape)
    except FormatError:
        raise
    except (SafetensorError, OSError, ValueError, LookupError, TypeError) as error:  # the last three from `_mapped`
        reason = one_line(error)
        raise FormatError(f"{path} cannot be read ({reason}); the file may be truncated, so save it again") from None
    for name, tensor in tensors.items():
        bad = first_non_finite_row(tensor)
        if bad is not None:
            raise FormatError(f"{path}: row {bad + 1} of {name} holds nan or inf; train the model again")
    if zero_row and tensors["embeddings"][V].any():
        raise FormatError(f"{path}: row {V + 1} of embeddings, for unknown words, is not zeros; save the model again")
    return tensors["embeddings"][:V], tensors.get("output")


def _mapped(path: Path, name: str, shape: tuple[int, ...]) -> Floats:
    """One tensor of a file that the library has found whole; it would copy the tensor, and does not say where it is."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        begin: int = parse(file.read(size))[name]["data_offsets"][0]
    matrix = np.memmap(path, "<f4", "c", 8 + size + begin, shape).view(np.ndarray)
    return matrix.copy() if os.name == "nt" else matrix  # Windows would not let a mapped model be replaced
