"""Where a training runs. `ThreadBackend` is this machine; `distributed.backend` has a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus, TextOptions
from mumon.corpus.inputs import choose_input, find_paths, read_corpus
from mumon.training.kernel_loader import load_kernels
from mumon.training.model_state import ModelState
from mumon.training.thread_runner import ThreadRunner
from mumon.training.trainer import EpochRunner
from mumon.utils.progress import Progress

Paths = Sequence[str | os.PathLike[str]]


class Backend(Protocol):
    """What a session needs of the place where it trains."""

    def connect(self, progress: Progress) -> AbstractContextManager[Any]:
        """Return a context in which the place can be used."""

    def read_files(self, paths: Paths, text: TextOptions, progress: Progress) -> EncodedCorpus | None:
        """Encode files there; None if this machine is to encode them."""

    def distribute(self, corpus: EncodedCorpus) -> EncodedCorpus:
        """Make a corpus that this machine has encoded available there."""

    def describe_run(self, resumed: dict[str, Any] | None) -> dict[str, Any]:
        """Return what a run there must have in common with the run that it resumes (`resumed` is that one's plan)."""

    def load_kernels(self, state: ModelState) -> None:
        """Load what this machine will train a model with; called in a thread of its own while the text is read."""

    def make_runner(
        self,
        corpus: EncodedCorpus,
        lookup: npt.NDArray[np.int32],
        state: ModelState,
        plan: dict[str, Any],
        progress: Progress,
    ) -> tuple[EpochRunner, dict[str, Any]]:
        """Return what trains the epochs, and what is to be added to the plan of the run."""


class ThreadBackend:
    """This machine: threads that share the two matrices."""

    def connect(self, progress: Progress) -> AbstractContextManager[Any]:
        """Return an empty context."""
        return nullcontext()

    def read_files(self, paths: Paths, text: TextOptions, progress: Progress) -> EncodedCorpus | None:
        """Return None: this machine encodes them as any other corpus."""
        return None

    def distribute(self, corpus: EncodedCorpus) -> EncodedCorpus:
        """Return the corpus as it is."""
        return corpus

    def describe_run(self, resumed: dict[str, Any] | None) -> dict[str, Any]:
        """Return nothing: any number of threads can resume a run."""
        return {}

    def load_kernels(self, state: ModelState) -> None:
        """Load the kernels of the model's settings."""
        locked = state.vocabulary is not None and state.read_locks() is not None
        load_kernels(state.settings, state.vector_size, locked)

    def make_runner(
        self,
        corpus: EncodedCorpus,
        lookup: npt.NDArray[np.int32],
        state: ModelState,
        plan: dict[str, Any],
        progress: Progress,
    ) -> tuple[EpochRunner, dict[str, Any]]:
        """Return a runner of threads."""
        counts, locks = state.require_vocabulary().counts, state.read_locks()
        state.fit_shared_weights(progress)
        matrices = state.source, state.target
        return ThreadRunner(corpus, lookup, counts, *matrices, state.settings, locks, state.weights, state.bags), {}


class CorpusReader:
    """Reads the corpora of a model. What can be read only once is kept from `build_vocab` for the `train` after it."""

    def __init__(self) -> None:
        self._once: tuple[Any, EncodedCorpus] | None = None

    def read(
        self,
        sentences: Any,
        corpus_file: Any,
        text: TextOptions,
        workers: int,
        backend: Backend,
        progress: Progress,
    ) -> EncodedCorpus:
        """Encode a corpus.

        Parameters
        ----------
        sentences, corpus_file
            As given to `Word2Vec.train`: one of them.
        text
            How files become words.
        workers
            Threads that encode.
        backend
            Where training runs: a cluster encodes files itself.
        progress
            Where to report.

        Returns
        -------
        EncodedCorpus
        """
        corpus_argument = choose_input(sentences, corpus_file)
        if not isinstance(corpus_argument, EncodedCorpus):
            paths = find_paths(corpus_argument, corpus_file is not None, text)
            encoded = None if paths is None else backend.read_files(paths, text, progress)
            if encoded is not None:
                return encoded
        if self._once is not None and self._once[0] is corpus_argument:
            corpus, once = self._once[1], True
        else:
            corpus, once = read_corpus(corpus_argument, corpus_file is not None, text, workers, progress)
        if once:
            self._once = (corpus_argument, corpus)
        return backend.distribute(corpus)

    def forget(self) -> None:
        """Let go of the corpus that was kept."""
        self._once = None
