"""Finding phrases (new york → new_york), with the names and results of gensim 4's `models.phrases`."""

from mumon.phrases.frozen import FrozenPhrases, Phraser
from mumon.phrases.model import Phrases
from mumon.phrases.scorers import ENGLISH_CONNECTOR_WORDS, npmi_scorer, original_scorer

__all__ = ["ENGLISH_CONNECTOR_WORDS", "FrozenPhrases", "Phraser", "Phrases", "npmi_scorer", "original_scorer"]
