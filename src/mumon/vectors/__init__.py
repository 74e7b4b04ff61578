"""Word vectors and the questions they answer.

`WordVectors` is one class built of a chain: `storage` (words and rows) → `lookup` (word to vector) → `search`
(neighbours) → `similarity`, and `lookup` → `attributes` (counts and the like) → `mutation` (adding and changing words).
No link of the chain uses what only a later one defines.
"""

from mumon.vectors.fasttext_vectors import FastTextVectors
from mumon.vectors.word_vectors import WordVectors

__all__ = ["FastTextVectors", "WordVectors"]
