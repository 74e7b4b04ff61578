"""`mumon train`: from text to a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from mumon.cli import options
from mumon.cli import train_options as o

if TYPE_CHECKING:
    from mumon.utils.progress import Progress

# What `Word2Vec` is not told.
BESIDE_TRAINING = {
    *("corpus", "output", "save_vocab", "from_", "merge_vocab", "checkpoint_every", "resume", "restart"),
    *("quiet", "log_json", "ray", "workers", "sync_every", "estimate", "tokens", "words", "json"),
}


def train(
    corpus: o.Corpus = None,
    output: o.Output = None,
    objective: o.ObjectiveOption = None,
    update: o.UpdateOption = None,
    exact: o.Exact = None,
    cbow_sum: o.CbowSum = None,
    dim: o.Dim = None,
    window: o.Window = None,
    fixed_window: o.FixedWindow = None,
    negative: o.Negative = None,
    shared_negatives: o.SharedNegatives = None,
    batch: o.Batch = None,
    ns_exponent: o.NsExponent = None,
    rate_exponent: o.RateExponent = None,
    epochs: o.Epochs = None,
    total_epochs: o.TotalEpochs = None,
    lr: o.Lr = None,
    min_lr: o.MinLr = None,
    sample: o.Subsample = None,
    min_count: options.MinCount = None,
    max_vocab: options.MaxVocab = None,
    unk: options.Unk = None,
    vocab: o.Vocab = None,
    save_vocab: o.SaveVocab = None,
    from_: o.From = None,
    merge_vocab: o.Merge = None,
    tokenize: options.Tokenize = None,
    lowercase: options.Lowercase = None,
    text_field: options.TextField = None,
    shuffle: o.Shuffle = None,
    seed: o.Seed = None,
    threads: o.Threads = None,
    matrices: o.MatricesOption = None,
    checkpoint_every: o.CheckpointEvery = None,
    resume: o.Resume = False,
    restart: o.Restart = False,
    quiet: options.Quiet = False,
    log_json: o.LogJson = False,
    ray: o.Ray = None,
    workers: o.Workers = None,
    sync_every: o.SyncEvery = None,
    estimate: o.Estimate = False,
    tokens: o.Tokens = None,
    words: o.Words = None,
    json: o.Json = False,
) -> None:
    """Train word vectors on CORPUS and save them.

    Stopped or killed, it goes on with the same command and --resume.
    Checkpoints are kept in OUTPUT.checkpoints until OUTPUT is saved.
    With --estimate it only tells what that would take.

    Example: mumon train corpus.txt -o king.mumon --dim 300
    """
    given = o.given_options({name: value for name, value in locals().items() if name not in BESIDE_TRAINING})
    corpus = corpus or []
    _check(corpus, output, save_vocab, from_, merge_vocab, given, estimate)
    exchange = _check_cluster(ray, workers, sync_every, estimate)
    merge = None if merge_vocab is None else merge_vocab.value
    size = _size(estimate, tokens, words, json)
    progress = options.reporter(quiet, log_json)
    if estimate:
        _estimate(corpus, given, from_, merge, output, checkpoint_every, size, workers or 1, progress, json)
        return
    assert output is not None
    if ray is not None:
        from mumon.distributed import Cluster

        given["backend"] = Cluster(address=ray, nodes=workers, workers=threads, sync_every=exchange)
    from mumon.cli.train_run import Kept, run_training

    run_training(corpus, given, from_, merge, output, save_vocab, Kept(checkpoint_every, resume, restart), progress)


def _check(
    corpus: list[str],
    output: str | None,
    save_vocab: str | None,
    from_: str | None,
    merge_vocab: o.MergeVocab | None,
    given: dict[str, Any],
    estimate: bool,
) -> None:
    """Refuse what cannot be meant, before anything is read."""
    from mumon.errors import OptionError
    from mumon.formats import check_target

    if not estimate and not corpus:
        raise typer.BadParameter("there is nothing to read.", param_hint="CORPUS...")
    if not estimate and output is None:
        raise typer.BadParameter("it is missing.", param_hint="'-o' / '--output'")
    if output is not None:
        options.spare_inputs(corpus, output)
        check_target(output)
    if save_vocab is not None:
        options.spare_inputs(corpus, save_vocab, *([] if output is None else [output]))
        options.check_vocabulary_target(save_vocab)
    if from_ is None and merge_vocab is not None:
        raise OptionError("--merge-vocab says what to do with the words of another model; name that with --from")
    if from_ is not None and ("vector_size" in given or "vocab" in given):
        raise OptionError("--from brings its own dimension and words; leave out --dim and --vocab")


def _check_cluster(ray: str | None, workers: int | None, sync_every: str | None, estimate: bool) -> int | None:
    """Refuse the options of a cluster where there is none; gives the tokens between exchanges."""
    from mumon.errors import OptionError

    if ray is None and workers is not None:
        raise OptionError(
            f"--workers {workers} asks for nodes of a cluster; name it with --ray, or say --threads {workers} for "
            "threads of this machine"
        )
    if ray is None and sync_every is not None:
        raise OptionError(f"--sync-every {sync_every} is for the nodes of a cluster; name the cluster with --ray")
    if estimate and ray is not None and workers is None:
        raise OptionError("--estimate asks no cluster how many nodes it has, for example 8; say so with --workers 8")
    return options.number("--sync-every", sync_every)


def _size(estimate: bool, tokens: str | None, words: str | None, json: bool) -> tuple[int | None, int | None]:
    """The tokens and words to estimate for, where they are given."""
    from mumon.errors import OptionError

    for name, value in (("--tokens", tokens), ("--words", words), ("--json", json)):
        if value and not estimate:
            shown = name if value is True else f"{name} {value}"
            raise OptionError(f"{shown} is for an estimate, which trains nothing; add --estimate, or leave it out")
    return options.number("--tokens", tokens), options.number("--words", words)


def _estimate(
    corpus: list[str],
    given: dict[str, Any],
    from_: str | None,
    merge: str | None,
    output: str | None,
    every: str | None,
    size: tuple[int | None, int | None],
    nodes: int,
    progress: Progress,
    json: bool,
) -> None:
    from mumon.cli.train_estimate import show_estimate
    from mumon.word2vec import Word2Vec

    if from_ is None:
        model = Word2Vec(progress=progress, **given)
        merge = "new" if model.vocabulary is None else None
    else:
        from mumon.cli.train_run import starting_model

        model, merge = starting_model(from_, given, progress), merge or "union"
    show_estimate(model, given, corpus, merge, output, every, *size, nodes, progress, json)
