"""Batches of items of similar length, in an order that depends only on the seed and the epoch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mumon.experiments.extrinsic.inputs import RaggedArray, SplitInputs

Items = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """Some items: texts as rows of vectors (items, longest), padded with 0; their lengths; all labels in one list."""

    items: Items
    texts: list[Tensor]
    lengths: list[Tensor]
    labels: Tensor


def draw_batches(
    part: SplitInputs, items: Items, size: int, longest: int | None, order: np.random.Generator | None = None
) -> Iterator[Batch]:
    """Group items into batches of similar length, so that there is little padding.

    Parameters
    ----------
    part
        The texts and labels of a split.
    items
        The numbers of the items to use.
    size
        Items in a batch.
    longest
        Cut texts to this many words; None means never.
    order
        Shuffles the batches, and which items of the same length share one. Without it, batches are in order of length.

    Yields
    ------
    Batch
        All items, each once.
    """
    if order is not None:
        items = order.permutation(items)
    lengths = np.sum([column.lengths[items] for column in part.columns], axis=0)
    ranked = items[np.argsort(lengths, kind="stable")]
    firsts = np.arange(0, len(ranked), size)
    for first in firsts if order is None else order.permutation(firsts):
        yield _build_batch(part, ranked[first : first + size], longest)


def _build_batch(part: SplitInputs, items: Items, longest: int | None) -> Batch:
    texts, lengths = zip(*(_pad_texts(column, items, longest) for column in part.columns), strict=True)
    labels = np.concatenate([part.labels[item] for item in items])
    return Batch(items, list(texts), list(lengths), torch.from_numpy(labels.astype(np.int64)))


def _pad_texts(column: RaggedArray, items: Items, longest: int | None) -> tuple[Tensor, Tensor]:
    texts = [column[item][:longest] for item in items]
    lengths = np.array([len(text) for text in texts])
    padded = np.zeros((len(texts), lengths.max()), np.int64)
    padded[np.arange(lengths.max()) < lengths[:, None]] = np.concatenate(texts)
    return torch.from_numpy(padded), torch.from_numpy(lengths)
