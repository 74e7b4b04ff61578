"""Word vectors and the questions they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mumon.vectors.word_vectors import WordVectors

if TYPE_CHECKING:
    from mumon.vectors.fasttext_vectors import FastTextVectors

__all__ = ["FastTextVectors", "WordVectors"]


def __getattr__(name: str) -> Any:
    """Import `FastTextVectors` when it is first used: it brings the corpus package, which lookups do without."""
    if name == "FastTextVectors":
        from mumon.vectors.fasttext_vectors import FastTextVectors

        return FastTextVectors
    raise AttributeError(f"module 'mumon.vectors' has no attribute {name!r}")
