"""`mumon train`: from text to a saved model."""

from __future__ import annotations

from dataclasses import fields, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mumon.cli import options

if TYPE_CHECKING:
    from mumon.checkpoints import Checkpoints
    from mumon.model import Word2Vec
    from mumon.progress import Progress


class Objective(str, Enum):
    """What a window trains."""

    cbow = "cbow"
    sg = "sg"


class Update(str, Enum):
    """Which CBOW update is applied."""

    correct = "correct"
    faulty = "faulty"


class MergeVocab(str, Enum):
    """Whose words a continued model has."""

    old = "old"
    new = "new"
    union = "union"


def _option(flags: str, help_: str, **more: Any) -> Any:
    return typer.Option(*flags.split(), help=help_, show_default=False, **more)


def train(
    corpus: options.Corpus,
    output: Annotated[
        str, typer.Option("-o", "--output", help="The model folder to write, or vectors only: .bin .txt .glove")
    ],
    objective: Annotated[Objective | None, _option("--objective", "CBOW or skip-gram (default: cbow).")] = None,
    update: Annotated[
        Update | None, _option("--update", "CBOW's true gradient, or word2vec.c's update (default: correct).")
    ] = None,
    exact: Annotated[
        bool | None, _option("--exact", "One step per window with fresh noise words, as in the paper.")
    ] = None,
    cbow_sum: Annotated[bool | None, _option("--cbow-sum", "Sum the context vectors instead of averaging.")] = None,
    dim: Annotated[
        int | None, _option("--dim --vector-size", "Dimensions of the vectors (default: 100).", min=1)
    ] = None,
    window: Annotated[int | None, _option("--window", "Words to each side (default: 5).", min=1)] = None,
    fixed_window: Annotated[bool | None, _option("--fixed-window", "Always the full window.")] = None,
    negative: Annotated[int | None, _option("--negative", "Noise words per target (default: 5).", min=1)] = None,
    shared_negatives: Annotated[
        int | None, _option("--shared-negatives", "Noise words shared by a batch (default: 16; sg: 32).", min=1)
    ] = None,
    batch: Annotated[
        int | None, _option("--batch", "Targets that share noise words (default: 8; sg: 32).", min=1)
    ] = None,
    ns_exponent: Annotated[float | None, _option("--ns-exponent", "Noise ∝ count^this (default: 0.75).")] = None,
    rate_exponent: Annotated[
        float | None,
        _option("--rate-exponent", "Rates ∝ share^-this (default: 0.25; 0 with --exact).", min=0),
    ] = None,
    epochs: Annotated[int | None, _option("--epochs", "Passes over the corpus (default: 5).", min=1)] = None,
    total_epochs: Annotated[
        int | None, _option("--total-epochs", "Length of the rate schedule, to go on along it later.", min=1)
    ] = None,
    lr: Annotated[float | None, _option("--lr --alpha", "First learning rate (default: by tokens × epochs).")] = None,
    min_lr: Annotated[float | None, _option("--min-lr --min-alpha", "Last learning rate (default: 0.0001).")] = None,
    sample: Annotated[float | None, _option("--sample", "Subsampling threshold, 0 for none (default: 0.001).")] = None,
    min_count: options.MinCount = None,
    max_vocab: options.MaxVocab = None,
    unk: options.Unk = None,
    vocab: Annotated[str | None, _option("--vocab", "Use this vocabulary (word count lines).")] = None,
    save_vocab: Annotated[str | None, _option("--save-vocab", "Also write the vocabulary here.")] = None,
    from_: Annotated[str | None, _option("--from", "Go on from this model or start from these vectors.")] = None,
    merge_vocab: Annotated[
        MergeVocab | None, _option("--merge-vocab", "With --from: whose words to keep (default: union).")
    ] = None,
    tokenize: options.Tokenize = None,
    lowercase: options.Lowercase = None,
    text_field: options.TextField = None,
    shuffle: Annotated[bool | None, _option("--shuffle", "Another sentence order each epoch.")] = None,
    seed: Annotated[int | None, _option("--seed", "Seed of all random draws (default: 1).", min=0)] = None,
    threads: options.Threads = None,
    checkpoint_every: Annotated[
        str | None,
        _option("--checkpoint-every", "A time (30s, 10m, 2h), a number of tokens (50M) or never (default: 10m)."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run of the same command.")] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Throw an unfinished run away.")] = False,
    quiet: options.Quiet = False,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Report progress as JSON lines on standard output.")
    ] = False,
) -> None:
    """Train word vectors on CORPUS and save them.

    Stopped or killed, it goes on with the same command and --resume.
    Checkpoints are kept in OUTPUT.checkpoints until OUTPUT is saved.

    Example: mumon train corpus.txt -o king.mumon --dim 300
    """
    from mumon.checkpoints import Checkpoints
    from mumon.errors import OptionError
    from mumon.formats import check_target
    from mumon.signals import held_signals

    options.spare_inputs(corpus, output)
    check_target(output)
    if save_vocab is not None:
        options.spare_inputs(corpus, save_vocab, output)
        options.check_vocabulary_target(save_vocab)
    if from_ is None and merge_vocab is not None:
        raise OptionError("--merge-vocab says what to do with the words of another model; name that with --from")
    if from_ is not None and (dim is not None or vocab is not None):
        raise OptionError("--from brings its own dimension and words; leave out --dim and --vocab")
    given: dict[str, Any] = {
        "sg": None if objective is None else int(objective is Objective.sg),
        "update": None if update is None else update.value,
        "exact": exact,
        "cbow_mean": None if cbow_sum is None else int(not cbow_sum),
        "vector_size": dim,
        "window": window,
        "shrink_windows": None if fixed_window is None else not fixed_window,
        "negative": negative,
        "shared_negatives": shared_negatives,
        "batch": batch,
        "ns_exponent": ns_exponent,
        "rate_exponent": rate_exponent,
        "epochs": epochs,
        "total_epochs": total_epochs,
        "alpha": lr,
        "min_alpha": min_lr,
        "sample": sample,
        "min_count": min_count,
        "max_final_vocab": max_vocab,
        "unk": unk,
        "vocab": vocab,
        "tokenize": tokenize,
        "lowercase": lowercase,
        "text_field": text_field,
        "shuffle": shuffle,
        "seed": seed,
        "workers": threads,
    }
    given = {name: value for name, value in given.items() if value is not None}
    progress = options.reporter(quiet, log_json)
    checkpoints = Checkpoints(_beside(output), checkpoint_every, resume=resume, restart=restart)
    if from_ is None or Path(from_) != Path(output):
        _refuse_finished(output, checkpoints)
    merge = None if merge_vocab is None else merge_vocab.value
    with checkpoints.held():
        model = _train(corpus, given, from_, merge, checkpoints, progress)
        with held_signals() as held:  # the work is done; stopping now would be to lose it
            if save_vocab is not None and model.vocabulary is not None:
                model.vocabulary.save(save_vocab)
            _save(model, output)
            checkpoints.discard()
    if held.signum is not None:
        held.obey(f"stopped when {output} was already trained; it is saved", None)
    progress.note(f"saved {output}: {len(model.wv):,} words × {model.vector_size}; try: mumon similar {output} WORD")


def _beside(output: str) -> Path:
    """The folder of checkpoints; a link and what it leads to have the same."""
    from mumon.checkpoints import SUFFIX

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
    from mumon.model import Word2Vec

    if from_ is None:
        return Word2Vec(corpus_file=corpus, progress=progress, checkpoints=checkpoints, **given)
    model = _start(from_, given, progress)
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


def _start(from_: str, given: dict[str, Any], progress: Progress) -> Word2Vec:
    """The model to go on from; options that were given replace what it was trained with."""
    from mumon.corpus import TextOptions
    from mumon.formats.directory import is_trainable
    from mumon.model import Word2Vec
    from mumon.model_runs import MODEL_OPTIONS
    from mumon.settings import Settings

    if not Path(from_).is_dir() or not is_trainable(from_):
        return Word2Vec.from_vectors(from_, progress=progress, **given)
    model = Word2Vec.load(from_, progress=progress)
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
