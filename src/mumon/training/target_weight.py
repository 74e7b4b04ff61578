"""How much of the target rows the vectors contain that users get: v + λ v′.

Training makes two vectors for each word: its source row v, as a context of others, and its target row v′, as the word
that is predicted. word2vec gives users v alone. v′ knows the same words from the other side.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mumon.training.settings import Settings


def choose_target_weight(settings: Settings, counts: npt.NDArray[np.int64]) -> float:
    """Return the weight λ of the target rows.

    Parameters
    ----------
    settings
        Of the training. A weight that the user gave is taken.
    counts
        How often the word of each row occurs.

    Returns
    -------
    float

    >>> choose_target_weight(Settings(), np.full(1000, 10_000))
    0.25
    >>> choose_target_weight(Settings(exact=True), np.full(1000, 10_000))
    0.0
    """
    if settings.target_weight is not None:
        return settings.target_weight
    return settings.objective_record.target_weight(settings)
