"""A corpus that is encoded on a cluster and stays there: the driver has its metadata, nodes fetch their parts."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus, TextOptions
from mumon.corpus.shards import find_shards
from mumon.corpus.word_table import sort_by_rank
from mumon.distributed.cluster import RESERVED_CPUS, import_ray
from mumon.distributed.parts import PartMetadata, cut_corpus, describe_part, encode_shard, merge_words
from mumon.errors import CorpusError, MumonError, to_one_line
from mumon.utils.progress import Progress

FAN_IN = 8  # tables of words that one task merges


@dataclass(frozen=True)
class RemotePart:
    """A part of the text on the cluster: references to its data and to the table of its words, and its metadata."""

    data: Any
    words: Any
    metadata: PartMetadata


@dataclass(frozen=True, eq=False)
class DistributedCorpus(EncodedCorpus):
    """An `EncodedCorpus` whose tokens are on the cluster: `ids` and `offsets` are empty."""

    parts: tuple[RemotePart, ...] = ()

    @property
    def tokens(self) -> int:
        """The number of tokens in the text."""
        return sum(part.metadata.tokens for part in self.parts)

    @property
    def sentences(self) -> int:
        """The number of sentences in the text."""
        return sum(part.metadata.sentences for part in self.parts)

    @property
    def usual_length(self) -> float:
        """The mean over all tokens of the length of their sentence."""
        return sum(part.metadata.squares for part in self.parts) / self.tokens

    def read(self, begin: int, end: int) -> npt.NDArray[np.int32]:
        """Refuse to read tokens, which are not on this machine."""
        raise CorpusError(
            f"tokens {begin:,} to {end:,} are on the cluster; encode the text on this machine to read them"
        )

    def pieces(self, size: int, most: int = 512) -> Iterator[npt.NDArray[np.int32]]:
        """Yield up to `most` pieces of `size` consecutive tokens, from the samples in the parts' metadata."""
        import pyarrow.compute as pc

        samples = [sample for part in self.parts for sample in part.metadata.samples]
        chosen = np.unique(np.linspace(0, len(samples) - 1, most).astype(np.int64)).tolist()
        for sample in (samples[i] for i in chosen):
            yield np.ascontiguousarray(pc.index_in(sample[:size], self.words).to_numpy(), np.int32)

    @property
    def known_digest(self) -> str:
        """A digest that is equal for the same text cut into the same parts."""
        return hashlib.blake2b("".join(p.metadata.digest for p in self.parts).encode(), digest_size=16).hexdigest()


def encode_on_cluster(
    files: Sequence[str | os.PathLike[str]], options: TextOptions, progress: Progress
) -> DistributedCorpus:
    """Encode files on the cluster, in tasks that Ray runs on any machine.

    Parameters
    ----------
    files
        Files, folders, globs or URLs that all machines can read.
    options
        How text becomes words.
    progress
        Where to report.

    Returns
    -------
    DistributedCorpus
        The words and counts are those of the whole text; the tokens stay on the cluster.
    """
    parts = list(_encode_shards(find_shards(files, options), options, progress))
    if not parts:
        raise CorpusError(f"{os.fspath(files[0])} holds 0 words; give it text with one sentence per line")
    ray = import_ray()
    merge = ray.remote(merge_words).options(num_cpus=RESERVED_CPUS, max_retries=3)
    tables = [part.words for part in parts]
    while len(tables) > 1:
        tables = [merge.remote(*tables[first : first + FAN_IN]) for first in range(0, len(tables), FAN_IN)]
    table = _fetch(ray, tables[0])
    words, counts = sort_by_rank(table.column("word").combine_chunks(), table.column("count").to_numpy())
    corpus = _build_corpus(words, counts, parts, integers=False)
    progress.finish(f"read {corpus.tokens:,} tokens in {corpus.sentences:,} sentences", tokens=corpus.tokens)
    for note in corpus.notes():
        progress.note(note)
    return corpus


def distribute_corpus(corpus: EncodedCorpus) -> DistributedCorpus:
    """Cut a corpus that the driver has encoded into parts, and put them where nodes can fetch them.

    Parameters
    ----------
    corpus
        A corpus on this machine; one that is on the cluster already is returned unchanged.

    Returns
    -------
    DistributedCorpus
        The same text.
    """
    import pyarrow as pa

    if isinstance(corpus, DistributedCorpus):
        return corpus
    ray = import_ray()
    table = pa.table({"word": corpus.words, "count": corpus.counts}).combine_chunks()
    words = ray.put(table)
    parts = [RemotePart(ray.put(data), words, describe_part(data, table.column("word"))) for data in cut_corpus(corpus)]
    return _build_corpus(corpus.words, corpus.counts, parts, corpus.integers)


def _encode_shards(shards: list[Any], options: TextOptions, progress: Progress) -> Iterator[RemotePart]:
    """Encode shards in tasks, as many at a time as there are CPUs, and yield their parts in the order of the text."""
    ray = import_ray()
    # A task needs no more than training leaves, so that Ray can run it again if a node is lost with its parts.
    task = ray.remote(encode_shard).options(
        num_returns="streaming", num_cpus=RESERVED_CPUS, max_retries=3, scheduling_strategy="SPREAD"
    )
    at_once, tokens = max(1, int(ray.cluster_resources().get("CPU", 1))), 0
    progress.start("reading", len(shards), "shards")
    running = [task.remote(shard, options) for shard in shards[:at_once]]
    for number in range(len(shards)):
        results = running[number]
        while (words := next(results, None)) is not None:
            data = next(results, words)  # a task that fails yields its error, and nothing more
            metadata = next(results, data)
            part = RemotePart(data, words, _fetch(ray, metadata))
            tokens += part.metadata.tokens
            progress.update(number, tokens=tokens)
            yield part
        if number + at_once < len(shards):
            running.append(task.remote(shards[number + at_once], options))
        running[number] = None
        progress.update(number + 1, tokens=tokens)


def _fetch(ray: Any, reference: Any) -> Any:
    """Fetch the result of a task; an error that the user can mend is raised as it is."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, MumonError):
            raise error.cause from None
        reason = to_one_line(error.cause or error)
        raise CorpusError(f"a task of the cluster failed ({reason}); check that all its machines have mumon") from None


def _build_corpus(
    words: Any, counts: npt.NDArray[np.int64], parts: list[RemotePart], integers: bool
) -> DistributedCorpus:
    replaced = sum(part.metadata.replaced for part in parts)
    no_tokens = np.empty(0, np.int32), np.zeros(1, np.int64)
    return DistributedCorpus(*no_tokens, words, counts, replaced, "", False, integers, parts=tuple(parts))
