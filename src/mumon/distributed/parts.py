"""Parts of an encoded corpus: how a task on any machine encodes them, and how their word counts are merged."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus, TextOptions
from mumon.corpus.encode import CorpusWriter
from mumon.corpus.shards import Shard, read_shard
from mumon.corpus.text import prepare
from mumon.corpus.word_table import ByteTable
from mumon.training.engine import cut_blocks

PART_TOKENS = 2_000_000  # 8 MB of ids: many parts per epoch, but few enough for the driver to keep track of
SAMPLES_PER_PART, SAMPLE_TOKENS = 16, 128  # consecutive tokens, which the rule for learning rates needs


@dataclass(frozen=True)
class PartMetadata:
    """What the driver needs to know about a part."""

    tokens: int
    sentences: int
    squares: float  # the sum of squared sentence lengths
    replaced: int  # characters that were not UTF-8
    blocks: npt.NDArray[np.int64]  # the tokens of each block
    samples: list[Any]  # Arrow arrays of words
    digest: str


@dataclass(frozen=True)
class PartData:
    """The tokens of a part, as in an `EncodedCorpus`; ids are those of the part's own words."""

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]


def encode_shard(shard: Shard, options: TextOptions) -> Iterator[Any]:
    """Encode a shard of the text, part by part.

    Parameters
    ----------
    shard
        Which bytes of which file.
    options
        How text becomes words.

    Yields
    ------
    object
        For each part three: an Arrow table of its words and counts, its `PartData`, its `PartMetadata`.
    """
    pieces = read_shard(shard, options, lambda _: None)
    while True:
        with TemporaryDirectory(prefix="mumon-part-") as folder:
            writer, table, replaced, more = CorpusWriter(Path(folder)), ByteTable(), 0, False
            try:
                for piece in pieces:
                    text, bad = prepare(piece, options)
                    writer.append(0, *table.encode(text))
                    replaced += bad
                    if writer.tokens >= PART_TOKENS:
                        more = True
                        break
                if writer.tokens:
                    writer.finish([table])
            finally:
                writer.close()
            if writer.tokens:
                yield from _read_part(Path(folder), replaced)
        if not more:
            return


def _read_part(folder: Path, replaced: int) -> Iterator[Any]:
    import pyarrow as pa

    words = pa.ipc.open_file(pa.OSFile(str(folder / "words.arrow"))).read_all().combine_chunks()
    data = PartData(np.fromfile(folder / "ids.i32", np.int32), np.fromfile(folder / "offsets.i64", np.int64))
    yield words
    yield data
    yield describe_part(data, words.column("word"), replaced)


def describe_part(data: PartData, words: Any, replaced: int = 0) -> PartMetadata:
    """Collect what the driver needs to know about a part.

    Parameters
    ----------
    data
        The tokens.
    words
        An Arrow array: the bytes of each id's word.
    replaced
        How many characters were not UTF-8.

    Returns
    -------
    PartMetadata
        Sizes, samples, and a digest of data and words.
    """
    import pyarrow as pa

    lengths = np.diff(data.offsets).astype(np.float64)
    starts = np.unique(np.linspace(0, max(len(data.ids) - SAMPLE_TOKENS, 0), SAMPLES_PER_PART).astype(np.int64))
    samples = [words.take(pa.array(data.ids[start : start + SAMPLE_TOKENS])) for start in starts.tolist()]
    digest = hashlib.blake2b(digest_size=16)
    for array in (data.ids, data.offsets):
        digest.update(array.data)
    digest.update(b"\n".join(words.to_pylist()))
    blocks = np.diff(data.offsets[cut_blocks(data.offsets)])
    return PartMetadata(
        len(data.ids), len(lengths), float(lengths @ lengths), replaced, blocks, samples, digest.hexdigest()
    )


def cut_corpus(corpus: EncodedCorpus) -> Iterator[PartData]:
    """Cut a corpus that the driver has encoded into parts of about PART_TOKENS tokens."""
    bounds = np.searchsorted(corpus.offsets, np.arange(0, corpus.tokens, PART_TOKENS))
    for first, last in zip(bounds, [*bounds[1:], corpus.sentences], strict=True):
        offsets = np.array(corpus.offsets[first : last + 1])
        if len(offsets) > 1:
            yield PartData(np.array(corpus.read(int(offsets[0]), int(offsets[-1]))), offsets - offsets[0])


def merge_words(*tables: Any) -> Any:
    """Merge several Arrow tables of words and counts into one."""
    import pyarrow as pa

    grouped = pa.concat_tables(tables).group_by("word").aggregate([("count", "sum")])
    return pa.table({"word": grouped.column("word"), "count": grouped.column("count_sum")}).combine_chunks()


def find_rows(words: Any, known: Any, unk: int) -> npt.NDArray[np.int32]:
    """Find the row of each word of a part.

    Parameters
    ----------
    words
        An Arrow array: the words of the part.
    known
        An Arrow array: the word of each row.
    unk
        What to return for words without a row: -1, or the row of unknown words.

    Returns
    -------
    array
        A row for each word of the part.
    """
    import pyarrow.compute as pc

    return np.ascontiguousarray(pc.fill_null(pc.index_in(words, known), unk).to_numpy(), np.int32)
