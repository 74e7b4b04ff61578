"""The encoded corpus on disk: made once, memory-mapped by every run that asks for the same text in the same way."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from mumon import paths
from mumon.corpus.encode import CorpusWriter, encode_files, encode_sequences
from mumon.corpus.sources import find_files, is_json_lines, spoken_name
from mumon.corpus.text import TextOptions
from mumon.errors import CorpusError
from mumon.progress import Progress

ENCODING = 1  # raise when the files below change meaning: older caches are then made again
INFO = "corpus.json"  # written last: its presence says that the others are whole
ABANDONED_SECONDS = 7 * 24 * 3600  # an encoding unfinished for so long has no process behind it any more


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """Text as numbers. Words are numbered by rank: 0 is the most frequent word of the corpus.

    ids[offsets[s]:offsets[s+1]] is sentence s. Nothing is pruned here, so that one encoding serves every vocabulary.
    """

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    words: Any  # Arrow array of bytes, by rank
    counts: npt.NDArray[np.int64]
    replaced: int  # characters that were not UTF-8
    fingerprint: str
    reused: bool  # whether an earlier run had encoded it
    file: IO[bytes] | None = None  # of the ids; open, so that it outlives its name

    @property
    def tokens(self) -> int:
        """How many words the text has, counting repetitions."""
        return len(self.ids)

    @property
    def sentences(self) -> int:
        """How many sentences the text has."""
        return len(self.offsets) - 1

    def read(self, begin: int, end: int) -> npt.NDArray[np.int32]:
        """ids[begin:end], read from the file: pages of a memory map look like memory that grows with the corpus."""
        if self.file is None or not hasattr(os, "pread"):
            return self.ids[begin:end]
        size = self.ids.itemsize
        data = os.pread(self.file.fileno(), size * (end - begin), size * begin)
        if len(data) < size * (end - begin):
            raise CorpusError(f"the encoded corpus ends before token {end:,} of {self.tokens:,}; encode the text again")
        return np.frombuffer(data, np.int32)

    def notes(self) -> list[str]:
        """What a person should know of how it was read."""
        notes = []
        if self.reused:
            notes.append(f"{self.tokens:,} tokens in {self.sentences:,} sentences, encoded by an earlier run")
        if self.replaced:
            notes.append(f"{self.replaced:,} characters were not valid UTF-8 and became U+FFFD")
        return notes

    def __repr__(self) -> str:
        return f"<EncodedCorpus: {self.tokens:,} tokens, {self.sentences:,} sentences, {len(self.counts):,} words>"


def corpus_from_files(
    inputs: Sequence[str | os.PathLike[str]],
    options: TextOptions | None = None,
    *,
    workers: int = 1,
    reuse: bool = True,
    progress: Progress | None = None,
) -> EncodedCorpus:
    """Encode files, folders, globs or "-", or open what an earlier run encoded from the same unchanged files.

    >>> import pathlib, tempfile
    >>> text = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> _ = text.write_text("the cat saw the dog\\nthe end\\n")
    >>> corpus_from_files([text], reuse=False)
    <EncodedCorpus: 7 tokens, 2 sentences, 5 words>
    """
    options = options or TextOptions()
    names = find_files(inputs)

    def encode(folder: Path) -> tuple[CorpusWriter, int]:
        return encode_files(names, options, folder, workers, progress or Progress())

    about = ", ".join(map(spoken_name, names[:3])) + (" …" if len(names) > 3 else "")
    if not reuse or not all(Path(name).is_file() for name in names):  # "-" and pipes have no identity to remember
        return _temporary(encode, about)
    stamps = [_stamp(name) for name in names]
    records = [is_json_lines(name, options) for name in names]  # a link may have another suffix than its file
    key = json.dumps([ENCODING, stamps, records, asdict(options)])
    fingerprint = hashlib.sha256(key.encode()).hexdigest()[:24]
    kept = _home() / fingerprint
    try:
        return _open(kept, fingerprint, reused=True)
    except (OSError, ValueError, KeyError):  # not there, or damaged: Arrow's errors are ValueErrors too
        shutil.rmtree(kept, ignore_errors=True)
    aside = _new_folder()
    try:
        _write_info(aside, *encode(aside), about, stamps)
        _forget_stale(_home())
        if aside.parent != _home():  # the cache cannot be written to: that only costs the reuse
            return _opened_for_now(aside)
        try:
            aside.rename(kept)
        except OSError:  # another process was first with the same corpus
            shutil.rmtree(aside)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return _open(kept, fingerprint, reused=False)


def corpus_from_sentences(sentences: Iterable[Iterable[Any]], *, progress: Progress | None = None) -> EncodedCorpus:
    """Encode an iterable of token sequences, reading it once; its files vanish with the object.

    >>> corpus_from_sentences([["a", "b"], ["b"]])
    <EncodedCorpus: 3 tokens, 2 sentences, 2 words>
    """
    return _temporary(lambda folder: encode_sequences(sentences, folder, progress or Progress()), "the iterable")


def _temporary(encode: Callable[[Path], tuple[CorpusWriter, int]], about: str) -> EncodedCorpus:
    folder = _new_folder()
    try:
        _write_info(folder, *encode(folder), about, [])
        return _opened_for_now(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _opened_for_now(folder: Path) -> EncodedCorpus:
    """An encoding whose files vanish with the object."""
    corpus = _open(folder, folder.name, reused=False)
    weakref.finalize(corpus, shutil.rmtree, folder, ignore_errors=True)
    return corpus


def _home() -> Path:
    return paths.cache_directory() / "corpora"


def _new_folder() -> Path:
    """A folder to encode into: in the cache, for temporary folders are often kept in memory; else among those."""
    try:
        _home().mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".encoding-", dir=_home()))
    except OSError:
        return Path(tempfile.mkdtemp(prefix="mumon-"))


def _stamp(name: str) -> tuple[str, int, int]:
    stat = Path(name).stat()
    return str(Path(name).resolve()), stat.st_size, stat.st_mtime_ns


def _write_info(
    folder: Path, writer: CorpusWriter, replaced: int, about: str, stamps: list[tuple[str, int, int]]
) -> None:
    if not writer.tokens:
        raise CorpusError(f"{about} holds 0 words; give it text with one sentence per line")
    info = {"tokens": writer.tokens, "sentences": writer.sentences, "replaced": replaced, "inputs": stamps}
    (folder / INFO).write_text(json.dumps(info))


def _open(folder: Path, fingerprint: str, reused: bool) -> EncodedCorpus:
    import pyarrow as pa

    info = json.loads((folder / INFO).read_text())
    table = pa.ipc.open_file(pa.memory_map(str(folder / "words.arrow"))).read_all()
    file = (folder / "ids.i32").open("rb")
    corpus = EncodedCorpus(
        ids=np.memmap(file, np.int32, "r", shape=(info["tokens"],)),
        offsets=np.memmap(folder / "offsets.i64", np.int64, "r", shape=(info["sentences"] + 1,)),
        words=table.column("word"),
        counts=table.column("count").to_numpy(),
        replaced=info["replaced"],
        fingerprint=fingerprint,
        reused=reused,
        file=file,
    )
    weakref.finalize(corpus, file.close)
    return corpus


def _forget_stale(home: Path) -> None:
    """Delete encodings of files that have changed or gone, which can never be asked for again, and abandoned ones."""
    with contextlib.suppress(OSError):  # other processes come and go in this folder, too
        for folder in home.iterdir():
            if _is_stale(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_stale(folder: Path) -> bool:
    try:
        if folder.name.startswith("."):
            return time.time() - folder.stat().st_mtime > ABANDONED_SECONDS
        stamps = [tuple(stamp) for stamp in json.loads((folder / INFO).read_text())["inputs"]]
        return stamps != [_stamp(name) for name, *_ in stamps]
    except (OSError, ValueError, KeyError, TypeError):
        return True
