"""tokenizer.json: how model2vec and sentence-transformers split text into the words of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mumon.corpus.text import WORD


def choose_unknown_token(words: Sequence[str], wanted: Any) -> str:
    """The word that stands for all others: the one that was trained as such, or a name that is still free."""
    if isinstance(wanted, str):
        return wanted
    taken, name, number = set(words), "[UNK]", 0
    while name in taken:
        number += 1
        name = f"[UNK{number}]"
    return name


def tokenizer(entries: Sequence[str], unk: str, training: Mapping[str, Any]) -> dict[str, Any]:
    """What the `tokenizers` library would save for a WordLevel model."""
    words_only = {"type": "Split", "pattern": {"Regex": WORD}, "behavior": "Removed", "invert": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"} if training.get("lowercase") else None,
        "pre_tokenizer": words_only if training.get("tokenize") else {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": dict(zip(entries, range(len(entries)), strict=True)), "unk_token": unk},
    }
