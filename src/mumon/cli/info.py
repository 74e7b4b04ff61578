"""`mumon info`: what a model holds and how it was trained."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mumon.cli import options

if TYPE_CHECKING:
    from mumon.formats.directory import LoadedModel


def info(
    model: options.Model,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Draw the weights of positions into FILE (.png, .svg, .pdf).", show_default=False
        ),
    ] = None,
    json: options.Json = False,
) -> None:
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
    groups: list[dict[str, Any]] = []
    loaded: LoadedModel | None = None
    if Path(model).is_dir():
        loaded = load_model(model)
        vectors = WordVectors(loaded.words, loaded.vectors, loaded.counts)
        training, history = loaded.config, loaded.history
        facts["output_vectors"] = loaded.output is not None
        groups = _describe_positions(loaded)
    else:
        vectors = WordVectors.load(model)
    if plot is not None:
        _draw_positions(model, loaded if groups else None, plot)
    facts |= {"words": len(vectors), "vector_size": vectors.vector_size}
    if vectors.counts is not None:
        facts["counted_tokens"] = sum(vectors.counts.tolist())  # Python integers, which do not overflow
    facts["mean_norm"] = round(float(vectors.norms.mean()), 4)
    facts["first_words"] = vectors.index_to_key[:8]
    if groups:
        facts["position_weights"] = groups
    if json:
        print(json_.dumps({**facts, "training": training, "history": history}, ensure_ascii=False))
        return
    if groups:
        facts["position_weights"] = _format_positions(groups)
    if isinstance(plan := training.get("schedule"), dict):
        training["schedule"] = ", ".join(f"{name} {value}" for name, value in plan.items())
    _print_facts({**facts, **training})
    if history:
        print("\n epoch      loss   last rate   tokens/s")
        for epoch in map(Epoch.from_json, history):
            print(f"{epoch.epoch:6d} {epoch.loss:9.4f} {epoch.alpha:11.5f} {epoch.tokens_per_second:10,.0f}")


def _draw_positions(model: str, loaded: LoadedModel | None, path: str) -> None:
    """Draw the weights of positions of a model; without any, say how to train them."""
    from mumon.errors import OptionError
    from mumon.experiments.position_plot import save_position_plot

    if loaded is None or loaded.positions is None:
        raise OptionError(f"{model} has 0 weights of positions to draw; train with --positions 4")
    save_position_plot(path, loaded.positions, int(loaded.config["window"]))


def _describe_positions(loaded: LoadedModel) -> list[dict[str, Any]]:
    """Return the mean and the spread of the weights of each group of places, in the order of the text."""
    from mumon.training.objectives import list_position_groups

    weights, window = loaded.positions, loaded.config.get("window")
    if weights is None or not isinstance(window, int) or window < 1:
        return []
    if len(weights) % 2 or len(weights) > 2 * ((window - 1).bit_length() + 1):  # not of this window: damaged
        return []
    places = list_position_groups(len(weights), window)
    return [
        {
            "side": side,
            "from": first,
            "to": last,
            "mean": round(float(row.mean()), 4),
            "spread": round(float(row.std()), 4),
        }
        for (side, first, last), row in zip(places, weights, strict=True)
    ]


def _format_positions(groups: list[dict[str, Any]]) -> str:
    """Write the mean weights on one line.

    >>> _format_positions([{"side": side, "from": 1, "to": 5, "mean": 0.98} for side in ("left", "right")])
    'left 1–5 0.98 | right 1–5 0.98'
    """
    sides = {side: [group for group in groups if group["side"] == side] for side in ("left", "right")}
    return " | ".join(f"{side} {', '.join(map(_format_group, listed))}" for side, listed in sides.items())


def _format_group(group: dict[str, Any]) -> str:
    distances = str(group["from"]) if group["from"] == group["to"] else f"{group['from']}–{group['to']}"
    return f"{distances} {group['mean']:.2f}"


def _print_facts(fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if value is None:
            continue
        text = " ".join(map(str, value)) if isinstance(value, list) else f"{value:,}" if type(value) is int else value
        print(f"{name.replace('_', ' '):>18}  {text}")
