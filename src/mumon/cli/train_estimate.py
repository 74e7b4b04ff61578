"""`mumon train --estimate`: what the training would take, instead of the training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mumon.utils.progress import Progress
    from mumon.word2vec import Word2Vec


def show_estimate(
    model: Word2Vec,
    given: dict[str, Any],
    corpus: list[str],
    merge_vocab: Any,
    output: str | None,
    checkpoint_every: str | None,
    tokens: int | None,
    words: int | None,
    nodes: int,
    progress: Progress,
    as_json: bool,
) -> None:
    """Estimate the training of a model with these options, and print it."""
    import json

    from mumon.corpus.sources import STDIN
    from mumon.errors import OptionError
    from mumon.estimate import TrainingPlan, estimate
    from mumon.estimate.report import format_lines, to_json
    from mumon.training.checkpoints import DEFAULT_EVERY, Every

    if STDIN in corpus or any(Path(name).is_fifo() for name in corpus):
        raise OptionError(
            "standard input and pipes can be read only once; name a file, or give --tokens and --words alone"
        )
    rates = given.get("total_epochs"), given.get("alpha"), given.get("min_alpha")
    epochs = model._plan(given.get("epochs"), *rates)[1] if model.history else model.epochs
    every = Every.parse(checkpoint_every or DEFAULT_EVERY)
    plan = TrainingPlan(model, epochs, corpus, merge_vocab, tokens, words, output, every, nodes)
    with progress:
        found = estimate(plan, progress)
    print(json.dumps(to_json(found), ensure_ascii=False) if as_json else "\n".join(format_lines(found)))
