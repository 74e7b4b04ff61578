"""gensim.models.phrases: words that belong together."""

from mumon.phrases import ENGLISH_CONNECTOR_WORDS, FrozenPhrases, Phraser, Phrases, npmi_scorer, original_scorer

__all__ = ["ENGLISH_CONNECTOR_WORDS", "FrozenPhrases", "Phraser", "Phrases", "npmi_scorer", "original_scorer"]
