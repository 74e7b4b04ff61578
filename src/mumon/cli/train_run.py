"""How `mumon train` trains: checkpoints beside the model, a new model or one to go on from, and saving it."""

from __future__ import annotations

import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mumon.training.checkpoints import Checkpoints
    from mumon.utils.progress import Progress
    from mumon.word2vec import Word2Vec


class Kept(NamedTuple):
    """What was said about checkpoints."""

    every: str | None
    resume: bool
    restart: bool


def run_training(
    corpus: list[str],
    given: dict[str, Any],
    from_: str | None,
    merge: str | None,
    output: str,
    save_vocab: str | None,
    kept: Kept,
    progress: Progress,
) -> None:
    from mumon.training.checkpoints import Checkpoints
    from mumon.utils.signals import hold_signals

    checkpoints = Checkpoints(_beside(output), kept.every, resume=kept.resume, restart=kept.restart)
    if from_ is None or Path(from_) != Path(output):
        _refuse_finished(output, checkpoints)
    with checkpoints.held():
        model = _train(corpus, given, from_, merge, checkpoints, progress)
        with hold_signals() as held:  # the work is done; stopping now would be to lose it
            if save_vocab is not None and model.vocabulary is not None:
                model.vocabulary.save(save_vocab)
            _save(model, output)
            checkpoints.discard()
    if held.signum is not None:
        held.deliver(f"stopped when {output} was already trained; it is saved", None)
    size = f"{len(model.wv):,} words × {model.vector_size}"
    progress.note(f"saved {output}: {size}; try: mumon similar {shlex.quote(output)} WORD")


def _beside(output: str) -> Path:
    """The folder of checkpoints; a link and what it leads to have the same."""
    from mumon.training.checkpoints import SUFFIX

    path = Path(output).resolve() if Path(output).is_symlink() else Path(output)
    return path.with_name(f"{path.name}{SUFFIX}")


def _refuse_finished(output: str, checkpoints: Checkpoints) -> None:
    """To resume what is finished would be to train it all again."""
    from mumon.errors import OptionError

    if checkpoints.resume and not checkpoints.found() and Path(output).exists():
        raise OptionError(f"{output} is there and 0 checkpoints are, so no run of it is unfinished; leave out --resume")


def _train(
    corpus: list[str],
    given: dict[str, Any],
    from_: str | None,
    merge_vocab: str | None,
    checkpoints: Checkpoints,
    progress: Progress,
) -> Word2Vec:
    from mumon.word2vec import Word2Vec

    if from_ is None:
        return Word2Vec(corpus_file=corpus, progress=progress, checkpoints=checkpoints, **given)
    model = starting_model(from_, given, progress)
    model.train(
        corpus_file=corpus,
        epochs=given.get("epochs"),
        total_epochs=given.get("total_epochs"),
        start_alpha=given.get("alpha"),
        end_alpha=given.get("min_alpha"),
        merge_vocab=merge_vocab or "union",  # type: ignore[arg-type]
        checkpoints=checkpoints,
    )
    return model


def starting_model(from_: str, given: dict[str, Any], progress: Progress) -> Word2Vec:
    """The model to go on from; options that were given replace what it was trained with."""
    from mumon.corpus import TextOptions
    from mumon.formats.directory import is_trainable
    from mumon.training.model_runs import MODEL_OPTIONS
    from mumon.training.settings import Settings
    from mumon.word2vec import Word2Vec

    if not Path(from_).is_dir() or not is_trainable(from_):
        return Word2Vec.from_vectors(from_, progress=progress, **given)
    model = Word2Vec.load(from_, matrices=given.get("matrices", "memory"), progress=progress)
    if "backend" in given:
        model.backend = given["backend"]
    if "sg" in given:
        given["objective"] = "sg" if given["sg"] else "cbow"
    before = model.settings
    if given.get("objective", before.objective) != before.objective:  # which has numbers of its own
        given = {"shared_negatives": None, "batch": None, **given}
    model.settings = replace(before, **{f.name: given[f.name] for f in fields(Settings) if f.name in given})
    model.text = replace(model.text, **{f.name: given[f.name] for f in fields(TextOptions) if f.name in given})
    if any(getattr(model.settings, name) != getattr(before, name) for name in ("objective", "update", "cbow_mean")):
        model.alpha = None  # another objective has another rate, on a schedule of its own
        given.setdefault("total_epochs", given.get("epochs", model.epochs))
    for name in MODEL_OPTIONS:
        if name in given:
            setattr(model, name, given[name])
    return model


def _save(model: Word2Vec, output: str) -> None:
    from mumon.formats import format_for

    if format_for(output).name == "mumon":
        model.save(output)
    else:
        model.wv.save(output)
