"""`mumon info`: what a model holds and how it was trained."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Any

from mumon.cli import options


def info(model: options.Model, json: options.Json = False) -> None:
    """Show what MODEL holds and how it was trained.

    Example: mumon info king.mumon
    """
    from mumon.formats import detect
    from mumon.formats.directory import load_model
    from mumon.training.run_state import Epoch
    from mumon.vectors.word_vectors import WordVectors

    facts: dict[str, Any] = {"path": model, "format": detect(model).name}
    training: dict[str, Any] = {}
    history: list[dict[str, Any]] = []
    if Path(model).is_dir():
        loaded = load_model(model)
        vectors = WordVectors(loaded.words, loaded.vectors, loaded.counts)
        training, history = loaded.config, loaded.history
        facts["output_vectors"] = loaded.output is not None
    else:
        vectors = WordVectors.load(model)
    facts |= {"words": len(vectors), "vector_size": vectors.vector_size}
    if vectors.counts is not None:
        facts["counted_tokens"] = sum(vectors.counts.tolist())  # Python integers, which do not overflow
    facts["mean_norm"] = round(float(vectors.norms.mean()), 4)
    facts["first_words"] = vectors.index_to_key[:8]
    if json:
        print(json_.dumps({**facts, "training": training, "history": history}, ensure_ascii=False))
        return
    if isinstance(plan := training.get("schedule"), dict):
        training["schedule"] = ", ".join(f"{name} {value}" for name, value in plan.items())
    _print_facts({**facts, **training})
    if history:
        print("\n epoch      loss   last rate   tokens/s")
        for epoch in map(Epoch.from_json, history):
            print(f"{epoch.epoch:6d} {epoch.loss:9.4f} {epoch.alpha:11.5f} {epoch.tokens_per_second:10,.0f}")


def _print_facts(fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if value is None:
            continue
        text = " ".join(map(str, value)) if isinstance(value, list) else f"{value:,}" if type(value) is int else value
        print(f"{name.replace('_', ' '):>18}  {text}")
