"""A checkpoint on disk: a model directory, and checkpoint.json, which says how far training was.

    model.safetensors, vocab.json, config.json, history.json   as in every model directory
    checkpoint.json    the plan of the run, its position, digests of corpus and vocabulary, checksums of the other files

checkpoint.json is written last, and the directory is renamed when all of it is on the disk, so a checkpoint with its
final name is complete. The checksums detect disks that lose data. A checkpoint is also a model that any command reads.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mumon.errors import FormatError, to_one_line
from mumon.formats.directory import HISTORY_NAME, VOCAB_NAME, LoadedModel, load_model
from mumon.formats.tensors import TENSORS_NAME
from mumon.utils.atomic import CONFIG_NAME
from mumon.utils.strict_json import parse

STATE_NAME = "checkpoint.json"
FORMAT, FORMAT_VERSION = "mumon checkpoint", 1
CHECKSUM_FILES = (CONFIG_NAME, HISTORY_NAME, TENSORS_NAME, VOCAB_NAME)
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class CheckpointState:
    """How far a run was, beside its matrices and its history; the fields are the keys of checkpoint.json."""

    run: str  # an identifier that all checkpoints of a run share
    mumon_version: str
    plan: dict[str, Any]  # every option that decides the result
    schedule: dict[str, Any]  # of the learning rate, as it was when the run began
    first_epoch: int  # the number of epochs before the run
    blocks: int  # in one epoch
    tally: dict[str, Any]  # totals of the epoch that was under way
    corpus: str  # a digest
    corpus_tokens: int
    vocabulary: str  # a digest


def write_state(folder: Path, state: CheckpointState) -> None:
    """Write checkpoint.json into a folder that has all the other files already."""
    checksums = {path.name: _compute_checksum(path) for path in sorted(folder.iterdir())}
    record = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(state), "checksums": checksums}
    (folder / STATE_NAME).write_text(json.dumps(record, allow_nan=False, indent=2) + "\n", "utf-8")


def read_checkpoint(folder: Path) -> tuple[LoadedModel, CheckpointState]:
    """Read a checkpoint and check it.

    Parameters
    ----------
    folder
        The checkpoint.

    Returns
    -------
    (LoadedModel, CheckpointState)

    Raises
    ------
    FormatError
        If anything is not as it was written.
    """
    state, checksums = _read_state(folder / STATE_NAME)
    for name, checksum in checksums.items():
        if name not in CHECKSUM_FILES or not (folder / name).is_file():
            raise FormatError(f"{folder} has no {name[:40]!r}, one of its {len(checksums)} files")
        if _compute_checksum(folder / name) != checksum:
            raise FormatError(f"{folder / name} is not what was written: its checksum is not {checksum!r:.40}")
    model = load_model(folder)
    if digest_vocabulary(model.words) != state.vocabulary:
        raise FormatError(f"{folder} has {len(model.words):,} words that are not those of its {STATE_NAME}")
    if model.output is None or len(model.history) < state.first_epoch:
        raise FormatError(f"{folder} lacks output vectors, or the first {state.first_epoch} epochs of its history")
    return model, state


def read_run_id(folder: Path) -> str | None:
    """Return the identifier of the run that a checkpoint belongs to, or None if it cannot be read."""
    try:
        return _read_state(folder / STATE_NAME)[0].run
    except FormatError:
        return None


def _read_state(path: Path) -> tuple[CheckpointState, dict[str, int]]:
    kinds = {"dict[str, Any]": dict, "int": int, "str": str}
    try:
        record = parse(path.read_bytes())
        if record["format"] != FORMAT or record["format_version"] != FORMAT_VERSION:
            found = f"{record['format']!r:.40} {record['format_version']!r:.40}"
            raise ValueError(f"format {found} where {FORMAT!r} {FORMAT_VERSION} was expected")
        values = {field.name: record[field.name] for field in fields(CheckpointState)}
        for field in fields(CheckpointState):
            if type(values[field.name]) is not kinds[str(field.type)]:
                raise ValueError(f"{field.name} is {values[field.name]!r:.40}")
        state, checksums = CheckpointState(**values), record["checksums"]
        if not isinstance(checksums, dict) or state.first_epoch < 0 or type(state.plan.get("epochs")) is not int:
            raise ValueError("no checksums, a first epoch below 0 or no number of epochs")
        return state, checksums
    except FileNotFoundError:
        raise FormatError(f"{path.parent} has no {path.name}, so it is no checkpoint") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} cannot be used ({to_one_line(error)})") from None


def digest_vocabulary(words: list[str]) -> str:
    """Return a digest of the words in their order."""
    digest = hashlib.blake2b(digest_size=16)
    for word in words:
        digest.update(word.encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def _compute_checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while part := file.read(CHUNK_BYTES):
            checksum = zlib.crc32(part, checksum)
    return checksum
