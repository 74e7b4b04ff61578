"""The paper's networks: BiLSTMs over word vectors, for a sentence, a pair of sentences, or every word of one."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mumon.experiments.extrinsic.batches import Batch
from mumon.experiments.extrinsic.inputs import Inputs

ENCODER_LAYERS = 2  # of the sentence encoder; the tagger has one


class WordEmbedding(nn.Module):
    """A layer of word vectors, frozen or trained; row 0 stays zero."""

    def __init__(self, vectors: NDArray[np.float32], tuned: bool, dropout: float) -> None:
        super().__init__()
        table = torch.from_numpy(np.array(vectors))
        if tuned:
            self.table = nn.Parameter(table)
        else:
            self.register_buffer("table", table, persistent=False)  # not among the weights that are saved
        self.dropout = nn.Dropout(dropout)

    def forward(self, rows: Tensor) -> Tensor:
        return self.dropout(nn.functional.embedding(rows, self.table, padding_idx=0))


class BiLSTM(nn.Module):
    """A bidirectional LSTM over padded sequences; its states are (items, longest, 2 × width).

    A forward LSTM reads the words before the padding. So the backward LSTM is a forward one over sequences that are
    reversed within their lengths. Its states are the same as with packed sequences, in about half the time on a CPU.
    States beyond the end of a sequence mean nothing.
    """

    def __init__(self, dim: int, width: int, layers: int, dropout: float = 0.0) -> None:
        super().__init__()
        sizes = [dim, *[2 * width] * (layers - 1)]
        self.forwards = nn.ModuleList(nn.LSTM(size, width, batch_first=True) for size in sizes)
        self.backwards = nn.ModuleList(nn.LSTM(size, width, batch_first=True) for size in sizes)
        self.dropout = nn.Dropout(dropout)  # between layers

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(x.shape[1])
        mirrored = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)[:, :, None]
        for layer, (forwards, backwards) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            x = self.dropout(x) if layer else x
            backward = backwards(_reorder(x, mirrored))[0]
            x = torch.cat([forwards(x)[0], _reorder(backward, mirrored)], dim=2)
        return x


def _reorder(x: Tensor, places: Tensor) -> Tensor:
    return torch.gather(x, 1, places.expand(-1, -1, x.shape[2]))


def _mask_words(x: Tensor, lengths: Tensor) -> Tensor:
    """Return which places (items, longest) hold a word rather than padding."""
    return torch.arange(x.shape[1]) < lengths[:, None]


class Encoder(nn.Module):
    """A two-layer BiLSTM; a sentence is the largest value of each state over its words (max-pooling)."""

    def __init__(self, dim: int, width: int, dropout: float) -> None:
        super().__init__()
        self.lstm = BiLSTM(dim, width, ENCODER_LAYERS, dropout)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        states = self.lstm(x, lengths)
        return states.masked_fill(~_mask_words(x, lengths)[:, :, None], -torch.inf).amax(dim=1)


class Classifier(nn.Module):
    """One sentence goes to a linear layer; two have their own encoders, and [v; w; v−w; v⊙w] goes to an MLP."""

    def __init__(self, inputs: Inputs, width: int, hidden: int, dropout: float, tuned: bool) -> None:
        super().__init__()
        dim, labels = inputs.vectors.shape[1], len(inputs.labels)
        texts = 2 if inputs.kind == "pair" else 1
        self.words = WordEmbedding(inputs.vectors, tuned, dropout)
        self.encoders = nn.ModuleList(Encoder(dim, width, dropout) for _ in range(texts))
        self.head: nn.Module = nn.Sequential(nn.Dropout(dropout), nn.Linear(2 * width, labels))
        if texts == 2:
            self.head = nn.Sequential(
                nn.Dropout(dropout),
                nn.Linear(8 * width, hidden),
                nn.Tanh(),
                nn.Dropout(dropout),
                nn.Linear(hidden, labels),
            )

    def forward(self, batch: Batch) -> Tensor:
        texts = zip(self.encoders, batch.texts, batch.lengths, strict=True)
        v, *others = [encoder(self.words(text), lengths) for encoder, text, lengths in texts]
        if not others:
            return self.head(v)
        w = others[0]
        return self.head(torch.cat([v, w, v - w, v * w], dim=1))


class Tagger(nn.Module):
    """A single-layer BiLSTM and a linear layer over the states of each word."""

    def __init__(self, inputs: Inputs, width: int, dropout: float, tuned: bool) -> None:
        super().__init__()
        self.words = WordEmbedding(inputs.vectors, tuned, dropout)
        self.lstm = BiLSTM(inputs.vectors.shape[1], width, layers=1)
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(2 * width, len(inputs.labels)))

    def forward(self, batch: Batch) -> Tensor:
        """Compute the scores of the labels, (words of all items one after another, labels)."""
        (rows,), (lengths,) = batch.texts, batch.lengths
        states = self.lstm(self.words(rows), lengths)
        return self.head(states[_mask_words(rows, lengths)])
