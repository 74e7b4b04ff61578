"""Loading the kernels of a training while its text is still being read.

Loading them from the cache takes a tenth of a second, as long as encoding a small text. Compiling them, once per
machine, takes some ten seconds, which a long text hides. Numba compiles one kernel at a time, and those of the
tokeniser have to come first: so loading begins when the first piece of the text is encoded.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mumon.corpus import EncodedCorpus
from mumon.corpus.subwords import Bags
from mumon.training.engine import Engine
from mumon.training.settings import Settings
from mumon.training.weights import allocate_matrix
from mumon.utils.progress import Progress
from mumon.utils.threads import work_ahead


class LoadingProgress(Progress):
    """Passes on the reports of reading, the first of which starts the loading.

    Parameters
    ----------
    progress
        Where the reports go.
    load
        Loads the kernels. It runs in a thread of its own, once; its errors are those of training, and appear there.
    """

    def __init__(self, progress: Progress, load: Callable[[], None]) -> None:
        self._progress, self._load = progress, load
        self._begun = False

    def begin(self) -> None:
        """Begin to load, unless that has begun."""
        if not self._begun:
            self._begun = True
            work_ahead(self._load, "mumon-load-training")

    def start(self, stage: str, total: int, unit: str) -> None:
        self._progress.start(stage, total, unit)

    def update(self, done: int, **fields: float) -> None:
        self.begin()
        self._progress.update(done, **fields)

    def update_node(self, name: str, done: int, share: int, speed: float) -> None:
        self._progress.update_node(name, done, share, speed)

    def finish(self, summary: str, **fields: float) -> None:
        self._progress.finish(summary, **fields)

    def note(self, text: str) -> None:
        self._progress.note(text)

    def close(self) -> None:
        self._progress.close()


def load_kernels(settings: Settings, columns: int, locked: bool = False) -> None:
    """Load all kernels that training calls, from the cache or by compiling them: train a block without a token.

    Parameters
    ----------
    settings
        Of the training.
    columns
        Dimensions of the vectors.
    locked
        Whether source rows have factors for their steps, for which there is another version of the kernels.
    """
    if not hasattr(settings.objective_record.kernel(settings.exact), "signatures"):
        return  # plain Python, with NUMBA_DISABLE_JIT=1 or of another package: there is nothing to load
    source, target = (allocate_matrix(1, columns) for _ in range(2))
    counts, locks = np.ones(1, np.int64), np.ones(1, np.float32) if locked else None
    bags = Bags(np.arange(2), np.zeros(1, np.int32)) if settings.objective_record.has_bags else None
    engine = Engine(counts, source, target, settings, locks, bags=bags)
    nothing, lookup = np.zeros(0, np.int32), np.zeros(1, np.int32)
    for array in (nothing, lookup):
        array.setflags(write=False)  # as in training: Numba has another version for writable arrays
    corpus = EncodedCorpus(nothing, np.zeros(2, np.int64), [], counts, 0, "", False)
    engine.make_block_trainer(corpus, lookup, np.arange(2))(0, 0, 0.0)
