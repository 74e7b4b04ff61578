"""The model directory: safetensors and JSON, no pickle, which mumon, model2vec and sentence-transformers all load.

    model.safetensors   embeddings (V + 1, D), the last row zeros for unknown words; output (V, D) if kept; float32;
                        positions (groups, D), the weights of positions, in a model that was trained with them;
                        of a model with subwords ngrams (N, D), the rows of its n-grams, buckets (N,), which of the
                        buckets they are, and own (V, D), the words' own rows
    vocab.json          {"words": [...], "counts": [...] or null}
    config.json         the marker {"format": "mumon"}, the sizes, and the trainer's settings under "training"
    history.json        what each epoch did, where there was training; the only file with clock times in it
    tokenizer.json      WordLevel, one entry per row, for the other two libraries
    modules.json        what sentence-transformers looks for

Row i of embeddings is word i of vocab.json. When the settings name an unknown word that was trained ("unk") there is
no row of zeros, and that word's row is used instead. The same training with one thread gives the same bytes in every
file except history.json.

Vectors without training may be float16 or int8, the latter with a scale per row in a tensor "weights", by which the
other two libraries multiply as well. Such a folder has no output matrix, so its training cannot be continued.
"""

from __future__ import annotations

import json
import os
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mumon import __version__
from mumon.errors import FormatError, OptionError, to_one_line
from mumon.formats.base import (
    Counts,
    Floats,
    LoadedVectors,
    Source,
    check_counts,
    check_writable,
    find_non_finite_row,
    make_source,
)
from mumon.formats.detection import refuse_pickle
from mumon.formats.tensors import (
    TENSORS_NAME,
    Tensors,
    TensorWriter,
    name_ngram_tensors,
    read_tensors,
    write_tensors,
)
from mumon.utils.atomic import CONFIG_NAME, FORMAT_MARKER, atomic_directory
from mumon.utils.strict_json import parse

if TYPE_CHECKING:
    from mumon.corpus.subwords import Subwords

FORMAT_VERSION = 1
VOCAB_NAME = "vocab.json"
HISTORY_NAME = "history.json"
MAX_READ_ATTEMPTS = 100  # for a model that is replaced again and again


@dataclass(frozen=True)
class LoadedModel:
    """A model directory in memory.

    Attributes
    ----------
    words, counts
        One of each per row; counts may be unknown.
    vectors, output
        The source rows, and the output rows if they were saved.
    config, history
        What `save_model` was called with: what the model says of its training, and its epochs.
    text
        How text is split into words, for vectors without training.
    positions
        The weights of positions, in the order of the text, if they were saved.
    own, subwords
        The words' own rows and the rows of n-grams, of a model with subwords.
    """

    words: list[str]
    counts: Counts | None
    vectors: Floats
    output: Floats | None
    config: dict[str, Any]
    history: list[dict[str, Any]]
    text: dict[str, Any] = field(default_factory=dict)
    positions: Floats | None = None
    own: Floats | None = None
    subwords: Subwords | None = None


@contextmanager
def open_source(path: Path, limit: int | None = None) -> Iterator[Source]:
    """Open the vectors alone, for the registry of formats.

    Parameters
    ----------
    path
        The model folder.
    limit
        Only this many rows.
    """
    model = load_model(path)
    counts = None if model.counts is None else model.counts[:limit]
    text = _select_text_settings(model.config or model.text)
    integers = has_integer_keys(text, model.words, path)
    loaded = LoadedVectors(model.words[:limit], model.vectors[:limit], counts, model.subwords, integers)
    yield replace(make_source(path, loaded, text), output=model.output, training=model.config)


def write_source(path: Path, source: Source, dtype: str) -> None:
    """Write the vectors alone, block by block, for the registry of formats.

    Parameters
    ----------
    path
        The folder to write.
    source
        The words and rows.
    dtype
        The kind of numbers.
    """
    words: list[str] = []
    counts: list[Counts] = []
    text = dict(source.text)
    with atomic_directory(path) as directory:
        with (directory / TENSORS_NAME).open("wb") as file:
            writer = TensorWriter(file, source.dim, dtype, source.rows, more=name_ngram_tensors(source.subwords, dtype))
            for block in source.blocks:
                writer.add(block.vectors, block.words)
                words += block.words
                if block.counts is not None:
                    counts.append(block.counts)
            known = np.concatenate(counts) if counts else None
            description = ModelDescription(words, known, source.dim, text.get("unk"))
            writer.finish(description.zero_row)
        description.write(directory, {}, (), dtype, text, source.subwords)
        description.write_library_files(directory, text)


def _select_text_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Select the settings that say how words are found in text."""
    flags = ("lowercase", "tokenize", "integer_keys")
    selected: dict[str, Any] = {name: True for name in flags if settings.get(name) is True}
    return {**selected, "unk": settings["unk"]} if isinstance(settings.get("unk"), str) else selected


def has_integer_keys(settings: Mapping[str, Any], words: Sequence[str], path: str | os.PathLike[str]) -> bool:
    """Say whether the words of a model are integers written as decimals.

    Parameters
    ----------
    settings
        The model's settings, of which `integer_keys` says so.
    words
        The words, which are checked if it does.
    path
        Of the model, for the error.

    Returns
    -------
    bool
    """
    if settings.get("integer_keys") is not True:
        return False
    for row, word in enumerate(words):
        if not re.fullmatch(r"0|-?[1-9][0-9]{0,4000}", word):
            raise FormatError(
                f"{os.fspath(path)} has integers as words, but word {row + 1} is {word[:60]!r}; save it again"
            )
    return True


def save_model(
    path: str | os.PathLike[str],
    words: Sequence[str],
    counts: Counts | None,
    vectors: Floats,
    output: Floats | None = None,
    config: Mapping[str, Any] | None = None,
    history: Sequence[Mapping[str, Any]] = (),
    positions: Floats | None = None,
    own: Floats | None = None,
    subwords: Subwords | None = None,
) -> None:
    """Write a model directory atomically.

    Parameters
    ----------
    path
        The directory, which is replaced if it is a model.
    words
        V different words.
    counts
        How often each was seen, or None.
    vectors
        The (V, D) matrix of word vectors.
    output
        The (V, D) output matrix, which further training needs.
    config
        Settings as plain JSON values; `load_model` returns them. `lowercase`, `tokenize` and `unk` also shape
        tokenizer.json.
    history
        A record for each epoch.
    positions
        The weights of positions, (groups, D), of a model that has any.
    own, subwords
        The words' own rows (V, D), and the rows of n-grams, of a model that has any.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "tiny.mumon"
    >>> save_model(path, ["a", "b"], None, np.eye(2, dtype=np.float32), config={"window": 5})
    >>> load_model(path).words, load_model(path).config
    (['a', 'b'], {'window': 5})
    """
    vectors = np.asarray(vectors, np.float32)
    check_writable(words, vectors)
    if output is not None:
        if output.shape != vectors.shape:
            raise FormatError(f"output is {output.shape} where vectors are {vectors.shape}; save matrices of one shape")
        bad = find_non_finite_row(output)
        if bad is not None:
            raise FormatError(f"row {bad + 1} of output holds nan or inf; train the model again")
    ngrams = None if subwords is None else subwords.rows
    more = {"weights of positions": positions, "words' own rows": own, "rows of n-grams": ngrams}
    for name, rows in more.items():
        if rows is not None and find_non_finite_row(rows) is not None:
            raise FormatError(f"one of {len(rows)} {name} holds nan or inf; train the model again")
    training = dict(config or {})
    description = ModelDescription(words, counts, vectors.shape[1], training.get("unk"))
    with atomic_directory(path) as directory:
        description.write(directory, training, history, subwords=subwords)
        tensors = name_training_tensors(positions, own, subwords)
        write_tensors(directory, vectors, output, description.zero_row, tensors)
        description.write_library_files(directory, training)


def name_training_tensors(
    positions: Floats | None, own: Floats | None, subwords: Subwords | None
) -> dict[str, NDArray[Any]]:
    """Return the tensors, by name, that a model has beside its two matrices; see `save_model`."""
    named = {"positions": positions, "own": own}
    return {name: rows for name, rows in named.items() if rows is not None} | name_ngram_tensors(subwords)


class ModelDescription:
    """All of a model directory except its matrices; the words are checked when it is made.

    Parameters
    ----------
    words, counts
        The words, and how often each was seen, or None.
    dim
        The numbers in a row.
    unk
        The unknown word that was trained, or None: then a row of zeros with an unused name is added.
    """

    def __init__(self, words: Sequence[str], counts: Counts | None, dim: int, unk: Any) -> None:
        self.unk = unk if isinstance(unk, str) else _find_free_name(words)
        self.zero_row = self.unk not in set(words)
        checked = check_counts(counts, len(words), "counts")
        self._shape = len(words), dim
        self._vocab: dict[str, Any] = {"words": list(words), "counts": None if checked is None else checked.tolist()}

    def write(
        self,
        directory: Path,
        training: Mapping[str, Any],
        history: Sequence[Mapping[str, Any]],
        dtype: str = "float32",
        text: Mapping[str, Any] | None = None,
        subwords: Subwords | None = None,
    ) -> None:
        """Write config.json, vocab.json and history.json.

        Parameters
        ----------
        directory
            Where to write.
        training
            The settings of the training; empty for vectors without training.
        history
            A record for each epoch; without any, history.json is not written.
        dtype
            Of the vectors.
        text
            How text is split into words, for vectors without training.
        subwords
            The n-grams, if there are any.
        """
        config = _build_config(self._shape, self.zero_row, dict(training), dtype)
        if text:
            config["text"] = dict(text)
        if subwords is not None:
            config["subwords"] = asdict(subwords.ngrams)
        _write_json(directory / CONFIG_NAME, config, indent=2)
        _write_json(directory / VOCAB_NAME, self._vocab)
        if history:
            _write_json(directory / HISTORY_NAME, {"epochs": list(history)}, indent=2)

    def write_library_files(self, directory: Path, text: Mapping[str, Any]) -> None:
        """Write tokenizer.json and modules.json, which model2vec and sentence-transformers need."""
        words = self._vocab["words"]
        entries = [*words, self.unk] if self.zero_row else words
        _write_json(directory / "tokenizer.json", _build_tokenizer(entries, self.unk, text))
        module = {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}
        _write_json(directory / "modules.json", [module], indent=2)


def _find_free_name(words: Sequence[str]) -> str:
    """Return a name for unknown words that is not a word."""
    taken, name, number = set(words), "[UNK]", 0
    while name in taken:
        number += 1
        name = f"[UNK{number}]"
    return name


def _build_tokenizer(entries: Sequence[str], unk: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Build what the `tokenizers` library would save for a WordLevel model."""
    from mumon.corpus.running_text import WORD  # imported here because loading does not need the corpus package

    words_only = {"type": "Split", "pattern": {"Regex": WORD}, "behavior": "Removed", "invert": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"} if settings.get("lowercase") else None,
        "pre_tokenizer": words_only if settings.get("tokenize") else {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": dict(zip(entries, range(len(entries)), strict=True)), "unk_token": unk},
    }


def load_model(path: str | os.PathLike[str], *, output: bool = True) -> LoadedModel:
    """Read a model directory, checking each file against the others.

    The files always belong to one model: if another process replaced the directory meanwhile, it is read again.

    Parameters
    ----------
    path
        The directory.
    output
        Whether to read the output matrix, and the weights of positions.

    Returns
    -------
    LoadedModel
        Its matrices are mapped from the file.
    """
    directory = Path(path)
    for _ in range(MAX_READ_ATTEMPTS):
        identity = _identify(directory)
        try:
            loaded = _load_once(directory, output)
        except Exception:  # files of two different models do not fit together
            if identity == _identify(directory):
                raise
        else:
            if identity == _identify(directory):
                return loaded
    raise FormatError(f"{directory} was replaced {MAX_READ_ATTEMPTS} times while it was read; load it later")


def _identify(directory: Path) -> tuple[int, int, int] | None:
    try:
        stat = directory.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_ctime_ns  # the last, because inode numbers are reused


def _load_once(directory: Path, output: bool) -> LoadedModel:
    config = _read_config(directory)
    V, D = _read_size(config, "vocab_size", directory), _read_size(config, "vector_size", directory)
    words, counts = _read_vocab(directory / VOCAB_NAME, V)
    tensors = read_tensors(directory / TENSORS_NAME, V, D, config["unknown_row"], output)
    history, text = _read_history(directory / HISTORY_NAME), config.get("text")
    text = text if isinstance(text, dict) else {}
    subwords = _read_subwords(config.get("subwords"), tensors, directory)
    model = words, counts, tensors.vectors, tensors.output, config["training"], history, text
    return LoadedModel(*model, tensors.positions, tensors.own, subwords)


def _read_subwords(options: Any, tensors: Tensors, directory: Path) -> Subwords | None:
    """Return the rows of n-grams with what config.json says of them; None if the model has none."""
    rows, kept = tensors.ngrams, tensors.buckets
    if rows is None and options is None:
        return None
    from mumon.corpus.subwords import Ngrams, Subwords  # other vectors do without the corpus package

    try:
        ngrams = Ngrams(**options)
    except (TypeError, OptionError) as error:
        raise FormatError(f"{directory} has unusable subwords ({to_one_line(error)}); save the model again") from None
    if rows is None or len(rows) != (ngrams.bucket if kept is None else len(kept)):
        found = 0 if rows is None else len(rows)
        raise FormatError(f"{directory} has {found} rows of n-grams for {ngrams.bucket} buckets; save the model again")
    if kept is not None and len(kept):
        ascending = np.sort(kept)
        if ascending[0] < 0 or ascending[-1] >= ngrams.bucket or (np.diff(ascending) == 0).any():
            problem = f"{len(kept)} buckets that are not different numbers below {ngrams.bucket}"
            raise FormatError(f"{directory} has {problem}; save the model again")
    return Subwords(rows, ngrams.min_n, ngrams.max_n, kept, ngrams.bucket)


def is_trainable(path: str | os.PathLike[str]) -> bool:
    """Say whether a model directory has settings of a training, which one converted from vectors has not."""
    return bool(_read_config(Path(path))["training"])


def _read_config(directory: Path) -> dict[str, Any]:
    if directory.is_file():
        with directory.open("rb") as file:
            refuse_pickle(file.read(2), directory)
        raise FormatError(f"{directory} is a file, not a model directory; read it with WordVectors or from_vectors")
    if not directory.is_dir():
        raise FormatError(f"there is no model directory at {directory}; check the name")
    config = _read_json(directory / CONFIG_NAME)
    if config.get("format") != FORMAT_MARKER:
        raise FormatError(f"{directory} is not a mumon model: its {CONFIG_NAME} has no format 'mumon'; check the name")
    if config.get("format_version") != FORMAT_VERSION:
        found = reprlib.repr(config.get("format_version"))
        raise FormatError(
            f"{directory} has format version {found} where this mumon reads {FORMAT_VERSION}; install a newer mumon"
        )
    if not isinstance(config.get("training"), dict) or not isinstance(config.get("unknown_row"), bool):
        raise FormatError(f"{directory / CONFIG_NAME} has no usable training or unknown_row; save the model again")
    return config


def _build_config(shape: tuple[int, ...], zero_row: bool, training: dict[str, Any], dtype: str) -> dict[str, Any]:
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
        "embedding_dtype": dtype,
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


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():  # a pipe or device might never end
        raise FormatError(f"{path.parent} has no {path.name}; it is not a whole mumon model, so save it again")
    try:
        value = parse(path.read_bytes())
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read as JSON ({to_one_line(error)}); save the model again") from None
    if not isinstance(value, dict):
        raise FormatError(f"{path} holds a {type(value).__name__} where an object was expected; save the model again")
    return value


def _read_size(config: dict[str, Any], key: str, directory: Path) -> int:
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
        counts = []  # refused below; with strings among them NumPy would make all as wide as the widest
    return words, check_counts(counts, V, str(path))
