"""The learning rate for a corpus when the user names none: what `Settings.default_alpha` has to know of it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mumon.corpus import EncodedCorpus
from mumon.training.sampling import crowding, heaviest_share
from mumon.training.settings import Settings


def alpha_for(
    settings: Settings,
    tokens: int,
    corpus: EncodedCorpus,
    counts: npt.NDArray[np.int64],
    lookup: npt.NDArray[np.int32],
) -> float:
    """The rate to start from for so many tokens, epochs included, of a corpus like this one."""
    words = (counts, settings.sample, settings.row_exponent)
    pieces = (lookup[piece] for piece in corpus.pieces(settings.batch))
    crowd = 1.0 if settings.exact else crowding(pieces, *words)
    return settings.default_alpha(tokens, heaviest_share(*words), corpus.usual_length, crowd)
