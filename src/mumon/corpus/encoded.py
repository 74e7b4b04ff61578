"""The encoded corpus on disk: written once, memory-mapped by every run over the same text with the same options.

It contains the whole vocabulary, unpruned. `min_count`, `max_final_vocab`, a vocabulary file or another model's words
are a lookup from ranks to rows, applied while training reads, so that one encoding serves all of them. Standard input,
pipes and Python iterables are encoded in the same way into a folder that vanishes with the object. A sentence of more
than 10,000 tokens is cut; no token is lost.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from mumon.corpus.cache import INFO_FILE, Stamp, are_unchanged, cache_folder, create_folder, publish, read_stamps, touch
from mumon.corpus.encode import CorpusWriter, encode_files, encode_sequences
from mumon.corpus.filesystem import is_url
from mumon.corpus.sources import find_files, format_name, is_json_lines
from mumon.corpus.text import TextOptions
from mumon.errors import CorpusError
from mumon.utils.arrow import unwrap_numbers
from mumon.utils.progress import Progress

AT_ONCE = 1 << 20  # tokens, sentences or words that are processed together
NO_STAMPS = "the server does not say when these files change: the text is encoded for this run only"
ENCODING_VERSION = 1  # raise it when the files change their meaning: older caches are then not used


@dataclass(frozen=True, eq=False)
class EncodedCorpus:
    """Text as numbers. Words are numbered by rank: 0 is the most frequent word of the corpus.

    `ids[offsets[s]:offsets[s+1]]` is sentence s. Nothing is pruned here, so that one encoding serves every vocabulary.
    `corpus_from_files` and `corpus_from_sentences` make one.

    Attributes
    ----------
    ids, offsets
        The words of the text by rank, and where each sentence begins.
    words, counts
        The words by rank (an Arrow array of bytes), and how often each occurs.
    replaced
        The number of characters that were not UTF-8.
    fingerprint
        Of the files and the text options: the name of the encoding in the cache.
    reused
        Whether an earlier run had encoded it.
    integers
        Whether the tokens were integers, whose decimals are the words.
    file
        Of the ids; kept open, because its name may be removed.
    remarks
        What was unusual when it was encoded.
    """

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    words: Any
    counts: npt.NDArray[np.int64]
    replaced: int
    fingerprint: str
    reused: bool
    integers: bool = False
    file: IO[bytes] | None = None
    remarks: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """The number of words of the text, counting repetitions."""
        return len(self.ids)

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return len(self.offsets) - 1

    @property
    def usual_length(self) -> float:
        """The length of the sentence that a token is in, on average over tokens."""
        squares = 0.0
        for first in range(0, self.sentences, AT_ONCE):
            lengths = np.diff(self.offsets[first : first + AT_ONCE + 1]).astype(np.float64)
            squares += float(lengths @ lengths)
        return squares / self.tokens

    @property
    def known_digest(self) -> str:
        """The result of `compute_digest`, if it is known already, or else an empty string."""
        return ""

    def read(self, begin: int, end: int) -> npt.NDArray[np.int32]:
        """Return ids[begin:end], read from the file: pages of a memory map count as memory that grows with the corpus.

        Parameters
        ----------
        begin, end
            Positions of tokens.

        Returns
        -------
        ndarray
            The ids.
        """
        if self.file is None or not hasattr(os, "pread"):
            return self.ids[begin:end]
        size = self.ids.itemsize
        data = os.pread(self.file.fileno(), size * (end - begin), size * begin)
        if len(data) < size * (end - begin):
            raise CorpusError(f"the encoded corpus ends before token {end:,} of {self.tokens:,}; encode the text again")
        return np.frombuffer(data, np.int32)

    def pieces(self, size: int, most: int = 512) -> Iterator[npt.NDArray[np.int32]]:
        """Read pieces of consecutive tokens, evenly spread over the text.

        Parameters
        ----------
        size
            The tokens of a piece.
        most
            The largest number of pieces.

        Yields
        ------
        ndarray
            The ids of a piece.
        """
        starts = np.linspace(0, max(self.tokens - size, 0), most).astype(np.int64)
        return (self.read(begin, min(begin + size, self.tokens)) for begin in np.unique(starts).tolist())

    def notes(self) -> list[str]:
        """Return sentences about how the text was read, for the user."""
        notes = list(self.remarks)
        if self.reused:
            notes.append(f"{self.tokens:,} tokens in {self.sentences:,} sentences, encoded by an earlier run")
        if self.replaced:
            notes.append(f"{self.replaced:,} characters were not valid UTF-8 and became U+FFFD")
        return notes

    def __repr__(self) -> str:
        return f"<EncodedCorpus: {self.tokens:,} tokens, {self.sentences:,} sentences, {len(self.counts):,} words>"


def compute_digest(corpus: EncodedCorpus) -> str:
    """Return a digest of the text itself: a copy of a file, or a touched one, is still the same corpus.

    Parameters
    ----------
    corpus
        The corpus.

    Returns
    -------
    str
        32 hexadecimal digits, equal for equal words in equal sentences, however they are stored.

    Examples
    --------
    >>> from mumon.corpus import corpus_from_sentences
    >>> one, same, other = (corpus_from_sentences(s) for s in ([["a", "b"]], [["a", "b"]], [["a"], ["b"]]))
    >>> compute_digest(one) == compute_digest(same), compute_digest(one) == compute_digest(other)
    (True, False)
    """
    if corpus.known_digest:
        return corpus.known_digest
    digest = hashlib.blake2b(digest_size=16)
    for first in range(0, corpus.tokens, AT_ONCE):
        digest.update(corpus.read(first, min(first + AT_ONCE, corpus.tokens)).tobytes())
    for first in range(0, len(corpus.offsets), AT_ONCE):
        digest.update(corpus.offsets[first : first + AT_ONCE].tobytes())
    for first in range(0, len(corpus.words), AT_ONCE):
        digest.update(b"\n".join(corpus.words[first : first + AT_ONCE].to_pylist()) + b"\n")
    return digest.hexdigest()


def corpus_from_files(
    inputs: Sequence[str | os.PathLike[str]],
    options: TextOptions | None = None,
    *,
    workers: int = 1,
    reuse: bool = True,
    progress: Progress | None = None,
) -> EncodedCorpus:
    """Encode text files, or open what an earlier run encoded from the same unchanged files.

    Parameters
    ----------
    inputs
        Files, folders (all files below), globs, URLs of these, or "-" for standard input.
    options
        How text becomes sentences of words; by default one sentence per line, words between white space.
    workers
        The number of threads.
    reuse
        Whether to look for the encoding in the cache, and to keep it there.
    progress
        Receives the progress; by default nothing is shown.

    Returns
    -------
    EncodedCorpus
        The corpus.

    Raises
    ------
    CorpusError
        If a file is missing, cannot be read or is not text, or if there are no words.

    Examples
    --------
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

    origin = ", ".join(map(format_name, names[:3])) + (" …" if len(names) > 3 else "")
    stamps = read_stamps(names) if reuse else None
    if stamps is None:
        return encode_temporarily(encode, origin, *([NO_STAMPS] if reuse and any(map(is_url, names)) else []))
    records = [is_json_lines(name, options) for name in names]  # a link may have another suffix than its file
    key = json.dumps([ENCODING_VERSION, stamps, records, asdict(options)])
    fingerprint = hashlib.sha256(key.encode()).hexdigest()[:24]
    target = cache_folder() / fingerprint
    with contextlib.suppress(OSError, ValueError, KeyError):  # missing or damaged: Arrow's errors are ValueErrors
        corpus = _open(target, fingerprint, reused=True)
        touch(target)
        return corpus
    with create_folder(stamps) as (folder, remark):
        _write_info(folder, *encode(folder), origin, stamps)
        if not remark and not are_unchanged(names, stamps):
            remark = "the text changed while it was read; this encoding of it is used only once"
        if remark:
            return _open_temporarily(folder, remark)
        # Opened before it is published, because another process may then delete it. Windows cannot rename open files.
        opened = None if os.name == "nt" else _open(folder, fingerprint)
        published = publish(folder, target, _is_whole)
        return opened or (_open(target, fingerprint) if published else _open_temporarily(folder))


def corpus_from_sentences(sentences: Iterable[Iterable[Any]], *, progress: Progress | None = None) -> EncodedCorpus:
    """Encode an iterable of token sequences, which is read once; the encoding vanishes with the object.

    Parameters
    ----------
    sentences
        Sequences of strings, or of integers, such as items or the nodes of a graph.
    progress
        Receives the progress; by default nothing is shown.

    Returns
    -------
    EncodedCorpus
        The corpus.

    Examples
    --------
    >>> corpus_from_sentences([["a", "b"], ["b"]])
    <EncodedCorpus: 3 tokens, 2 sentences, 2 words>
    """
    return encode_temporarily(
        lambda folder: encode_sequences(sentences, folder, progress or Progress()), "the iterable"
    )


def encode_temporarily(encode: Callable[[Path], tuple[CorpusWriter, int]], origin: str, *remarks: str) -> EncodedCorpus:
    """Encode text into a folder that no other run will find.

    Parameters
    ----------
    encode
        Writes the encoding into a folder.
    origin
        What to call the text in errors.
    remarks
        What the user should know.

    Returns
    -------
    EncodedCorpus
        The corpus. Its files vanish with it.
    """
    with create_folder() as (folder, _):
        _write_info(folder, *encode(folder), origin, [])
        return _open_temporarily(folder, *remarks)


def _open_temporarily(folder: Path, *remarks: str) -> EncodedCorpus:
    """Open an encoding whose folder is about to be removed; its files vanish with the object."""
    corpus = _open(folder, folder.name, remarks=remarks)
    if os.name == "nt":  # which cannot remove open files
        weakref.finalize(corpus, shutil.rmtree, folder, ignore_errors=True)
    return corpus


def _is_whole(folder: Path) -> bool:
    try:
        return _open(folder, folder.name).tokens > 0
    except (OSError, ValueError, KeyError):
        return False


def _write_info(folder: Path, writer: CorpusWriter, replaced: int, origin: str, stamps: list[Stamp]) -> None:
    if not writer.tokens:
        raise CorpusError(f"{origin} holds 0 words; give it text with one sentence per line")
    info = {
        "tokens": writer.tokens,
        "sentences": writer.sentences,
        "replaced": replaced,
        "integers": writer.integers,
        "inputs": stamps,
    }
    (folder / INFO_FILE).write_text(json.dumps(info))


def _open(folder: Path, fingerprint: str, reused: bool = False, remarks: tuple[str, ...] = ()) -> EncodedCorpus:
    info = json.loads((folder / INFO_FILE).read_text())  # before Arrow is loaded: usually there is none
    import pyarrow as pa

    table = pa.ipc.open_file(pa.memory_map(str(folder / "words.arrow"))).read_all()
    file = (folder / "ids.i32").open("rb")
    corpus = EncodedCorpus(
        ids=np.memmap(file, np.int32, "r", shape=(info["tokens"],)),
        offsets=np.memmap(folder / "offsets.i64", np.int64, "r", shape=(info["sentences"] + 1,)),
        words=table.column("word"),
        counts=unwrap_numbers(table.column("count")),
        replaced=info["replaced"],
        fingerprint=fingerprint,
        reused=reused,
        integers=info.get("integers", False),
        file=file,
        remarks=remarks,
    )
    weakref.finalize(corpus, file.close)
    if not corpus.offsets[-1] == corpus.counts.sum() == corpus.tokens:
        raise ValueError("the files do not belong together")
    return corpus
