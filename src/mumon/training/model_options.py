"""The options of a model beside its settings: which are saved, and checks of them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from mumon.corpus import TextOptions
from mumon.errors import OptionError
from mumon.training.objectives import CBOW, SKIPGRAM
from mumon.training.settings import Settings

MODEL_OPTIONS = ("alpha", "min_alpha", "epochs", "min_count", "max_final_vocab", "unk")
# What a saved model gives back to the constructor.
SAVED_OPTIONS = (
    *(field.name for field in fields(Settings)),
    *(field.name for field in fields(TextOptions)),
    *MODEL_OPTIONS,
    "comment",
)
MERGES = ("old", "new", "union")


def choose_objective(objective: str | None, sg: int) -> str:
    """Return the name of the objective that `objective` and gensim's `sg` ask for; refuse a contradiction."""
    if objective is None:
        return SKIPGRAM.name if sg else CBOW.name
    if sg and objective != SKIPGRAM.name:
        raise OptionError(f"sg=1 asks for skip-gram and objective={objective!r} for another; give one of the two")
    return objective


def check_matrices(matrices: Any) -> bool:
    """Return whether matrices are to be on disk."""
    if matrices not in ("memory", "disk"):
        raise OptionError(f"matrices is {matrices!r}; it must be memory or disk")
    return bool(matrices == "disk")


def check_merge(merge_vocab: Any) -> None:
    """Refuse an unknown way of merging vocabularies."""
    if merge_vocab is not None and merge_vocab not in MERGES:
        raise OptionError(f"merge_vocab is {merge_vocab!r}; it must be old, new or union")


def check_unk(unk: str | None) -> None:
    """Refuse a word for all others that cannot be saved."""
    try:
        (unk or "").encode()
    except UnicodeEncodeError:
        raise OptionError(f"unk is {unk!r}, which cannot be written as UTF-8; choose another word") from None


def check_saved(saved: dict[str, Any]) -> None:
    """Refuse values of a saved model that the constructor, which trusts its caller, would accept."""
    if not isinstance(saved["objective"], str):
        raise OptionError("objective is not a name")
    for name in ("unk", "text_field", "comment"):
        if not isinstance(saved.get(name), str | None):
            raise OptionError(f"{name} is neither text nor null")
    for name in ("tokenize", "lowercase"):
        if not isinstance(saved.get(name, False), bool):
            raise OptionError(f"{name} is neither true nor false")


def refuse_variants(hs: int, null_word: int, sorted_vocab: int) -> None:
    """Refuse what of gensim's constructor has no counterpart."""
    if hs:
        raise OptionError("hs=1 (hierarchical softmax) is not offered; mumon trains with negative sampling only")
    if null_word:
        raise OptionError("null_word=1 serves gensim's Doc2Vec only; leave it out")
    if not sorted_vocab:
        raise OptionError("sorted_vocab=0 is not offered: words are always in the order of their counts; leave it out")
