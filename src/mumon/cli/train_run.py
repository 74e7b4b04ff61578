"""How `mumon train` trains: a new model or one to continue, checkpoints beside it, and saving it."""

from __future__ import annotations

import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mumon.training.checkpoints import Checkpoints
    from mumon.utils.progress import Progress
    from mumon.word2vec import Word2Vec

ALGORITHM = ("objective", "update", "cbow_mean", "exact")  # settings that decide the default window and rate


class CheckpointOptions(NamedTuple):
    """When checkpoints are written, and what happens to an unfinished run."""

    every: str | None
    resume: bool
    restart: bool


def run_training(
    corpus: list[str],
    model_options: dict[str, Any],
    from_: str | None,
    merge: str | None,
    output: str,
    save_vocab: str | None,
    checkpoint_options: CheckpointOptions,
    progress: Progress,
) -> None:
    """Train a model and save it; stopped at any time, it leaves a checkpoint.

    Parameters
    ----------
    corpus
        Files, folders, globs or URLs of text.
    model_options
        Keyword arguments of `Word2Vec`.
    from_
        A model to continue, or vectors to start from.
    merge
        The words that a continued model has: "old", "new" or "union".
    output
        Where the model is saved.
    save_vocab
        A file for the vocabulary as well.
    checkpoint_options
        When checkpoints are written, and whether an unfinished run is continued or discarded.
    progress
        The reporter.
    """
    from mumon.training.checkpoints import Checkpoints
    from mumon.utils.signals import hold_signals

    every, resume, restart = checkpoint_options
    checkpoints = Checkpoints(_place_checkpoints(output), every, resume=resume, restart=restart)
    if from_ is None or Path(from_) != Path(output):
        _refuse_finished(output, checkpoints)
    with checkpoints.hold():
        model = _train(corpus, model_options, from_, merge, checkpoints, progress)
        with hold_signals() as held:  # the work is done, and stopping now would lose it
            if save_vocab is not None and model.vocabulary is not None:
                model.vocabulary.save(save_vocab)
            _save(model, output)
            checkpoints.discard()
    if held.signum is not None:
        held.deliver(f"stopped when {output} was already trained; it is saved", None)
    size = f"{len(model.wv):,} words × {model.vector_size}"
    progress.note(f"saved {output}: {size}; try: mumon similar {shlex.quote(output)} WORD")


def _place_checkpoints(output: str) -> Path:
    """Return the folder of checkpoints, which is the same for a link and for its target."""
    from mumon.training.checkpoints import SUFFIX

    path = Path(output).resolve() if Path(output).is_symlink() else Path(output)
    return path.with_name(f"{path.name}{SUFFIX}")


def _refuse_finished(output: str, checkpoints: Checkpoints) -> None:
    """Refuse to resume a finished run: it would be trained all over again."""
    from mumon.errors import OptionError

    if checkpoints.resume and not checkpoints.find() and Path(output).exists():
        raise OptionError(
            f"{output} is finished: there are 0 checkpoints to resume from; leave out --resume to train it again"
        )


def _train(
    corpus: list[str],
    model_options: dict[str, Any],
    from_: str | None,
    merge_vocab: str | None,
    checkpoints: Checkpoints,
    progress: Progress,
) -> Word2Vec:
    from mumon.fasttext import make_model

    if from_ is None:
        return make_model(corpus_file=corpus, progress=progress, checkpoints=checkpoints, **model_options)
    model = open_model(from_, model_options, progress)
    model.train(
        corpus_file=corpus,
        epochs=model_options.get("epochs"),
        total_epochs=model_options.get("total_epochs"),
        start_alpha=model_options.get("alpha"),
        end_alpha=model_options.get("min_alpha"),
        merge_vocab=merge_vocab or "union",  # type: ignore[arg-type]
        checkpoints=checkpoints,
    )
    return model


def open_model(from_: str, model_options: dict[str, Any], progress: Progress) -> Word2Vec:
    """Return the model to continue, with new options in place of those that it was trained with.

    Parameters
    ----------
    from_
        A model folder, or vectors to start from.
    model_options
        Keyword arguments of `Word2Vec`; what another objective implies is added to them.
    progress
        The reporter.
    """
    from mumon.corpus import TextOptions
    from mumon.errors import OptionError
    from mumon.fasttext import FastText, choose_class, load_trained
    from mumon.formats import detect
    from mumon.formats.directory import is_trainable
    from mumon.training.model_options import MODEL_OPTIONS
    from mumon.training.settings import Settings

    if not Path(from_).is_dir() or not is_trainable(from_):
        if Path(from_).is_file() and detect(from_).name == "fasttext-bin" and "min_n" not in model_options:
            return FastText.from_facebook(from_, progress=progress, **model_options)
        return choose_class(model_options).from_vectors(from_, progress=progress, **model_options)
    if "min_n" in model_options:
        raise OptionError(f"the model {from_} keeps the n-grams that it has, if any; leave out --subwords")
    model = load_trained(from_, matrices=model_options.get("matrices", "memory"), progress=progress)
    if "backend" in model_options:
        model.backend = model_options["backend"]
    before = model.settings
    if model_options.get("objective", before.objective) != before.objective:  # which has numbers of its own
        for name in ("shared_negatives", "batch"):
            model_options.setdefault(name, None)
        model_options.setdefault("positions", 0)
    changed = any(model_options.get(name, getattr(before, name)) != getattr(before, name) for name in ALGORITHM)
    if changed and before.window == replace(before, window=None).window:  # type: ignore[arg-type]
        model_options.setdefault("window", None)
    model.settings = replace(
        before, **{f.name: model_options[f.name] for f in fields(Settings) if f.name in model_options}
    )
    model.text = replace(
        model.text, **{f.name: model_options[f.name] for f in fields(TextOptions) if f.name in model_options}
    )
    if any(getattr(model.settings, name) != getattr(before, name) for name in ("objective_record", *ALGORITHM)):
        model.alpha = None  # another algorithm has another rate, on a schedule of its own
        model_options.setdefault("total_epochs", model_options.get("epochs", model.epochs))
    for name in MODEL_OPTIONS:
        if name in model_options:
            setattr(model, name, model_options[name])
    return model


def _save(model: Word2Vec, output: str) -> None:
    from mumon.formats import format_for

    if format_for(output).name == "mumon":
        model.save(output)
    else:
        model.wv.save(output)
