"""Finding phrases (new york → new_york), with the names and results of gensim 4's `models.phrases`.

scorers    how strongly two words belong together
table      strings and their counts in arrays
stream     sentences, many at a time
counting   counts the words and pairs of a text
matching   finds phrases in numbered text
files      phrases as JSON
finder     what both kinds of phrases do: find, join, save
model      `Phrases`, which learns, and `FrozenPhrases`
"""

from mumon.phrases.model import FrozenPhrases, Phraser, Phrases
from mumon.phrases.scorers import ENGLISH_CONNECTOR_WORDS, npmi_scorer, original_scorer

__all__ = ["ENGLISH_CONNECTOR_WORDS", "FrozenPhrases", "Phraser", "Phrases", "npmi_scorer", "original_scorer"]
