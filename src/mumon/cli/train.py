"""`mumon train`: from text to a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mumon.cli import options
from mumon.cli import train_options as o

if TYPE_CHECKING:
    from mumon.utils.progress import Progress
    from mumon.word2vec import Word2Vec

# Options that `Word2Vec` does not take.
OTHER_OPTIONS = {
    *("corpus", "output", "save_vocab", "from_", "merge_vocab", "checkpoint_every", "resume", "restart", "threads"),
    *("quiet", "log_json", "ray", "nodes", "sync_every", "estimate", "tokens", "words", "json"),
}


def train(
    corpus: o.Corpus = None,
    output: o.Output = None,
    objective: o.Objective = None,
    update: o.UpdateOption = None,
    exact: o.Exact = None,
    cbow_sum: o.CbowSum = None,
    positions: o.Positions = None,
    subwords: o.Subwords = None,
    buckets: o.Buckets = None,
    pool_rows: o.PoolRows = None,
    dim: o.Dim = None,
    window: o.Window = None,
    fixed_window: o.FixedWindow = None,
    negative: o.Negative = None,
    shared_negatives: o.SharedNegatives = None,
    batch: o.Batch = None,
    ns_exponent: o.NsExponent = None,
    rate_exponent: o.RateExponent = None,
    target_weight: o.TargetWeight = None,
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
    workers: o.Workers = None,
    threads: o.Threads = None,
    matrices: o.MatricesOption = None,
    checkpoint_every: o.CheckpointEvery = None,
    resume: o.Resume = False,
    restart: o.Restart = False,
    quiet: options.Quiet = False,
    log_json: o.LogJson = False,
    ray: o.Ray = None,
    nodes: o.Nodes = None,
    sync_every: o.SyncEvery = None,
    estimate: o.Estimate = False,
    tokens: o.Tokens = None,
    words: o.Words = None,
    json: o.Json = False,
) -> None:
    """Train word vectors on CORPUS and save them.

    If it is stopped or killed, the same command with --resume continues it.
    Checkpoints are kept in OUTPUT.checkpoints until OUTPUT is saved.
    With --estimate, it only shows how much time, memory and disk the training would take.

    Example: mumon train corpus.txt -o king.mumon --dim 300
    """
    workers = _choose_workers(workers, threads, ray, nodes)
    model_options = o.build_model_options({name: v for name, v in locals().items() if name not in OTHER_OPTIONS})
    corpus = corpus or []
    _check(corpus, output, save_vocab, from_, merge_vocab, model_options, estimate)
    exchange = _check_cluster(ray, nodes, sync_every, estimate)
    merge = None if merge_vocab is None else merge_vocab.value
    size = _parse_size(estimate, tokens, words, json)
    progress = options.reporter(quiet, log_json)
    if estimate:
        model = _build_model(model_options, from_, progress)
        if from_ is not None:
            merge = merge or "union"
        elif model.vocabulary is None:
            merge = "new"
        _show_estimate(model, model_options, corpus, merge, output, checkpoint_every, size, nodes or 1, progress, json)
        return
    assert output is not None
    if ray is not None:
        from mumon.distributed import Cluster

        model_options["backend"] = Cluster(address=ray, nodes=nodes, workers=workers, sync_every=exchange)
    from mumon.cli.train_run import CheckpointOptions, run_training

    when = CheckpointOptions(checkpoint_every, resume, restart)
    run_training(corpus, model_options, from_, merge, output, save_vocab, when, progress)


def _check(
    corpus: list[str],
    output: str | None,
    save_vocab: str | None,
    from_: str | None,
    merge_vocab: o.MergeVocab | None,
    model_options: dict[str, Any],
    estimate: bool,
) -> None:
    """Refuse options that contradict each other, before anything is read."""
    from mumon.errors import OptionError
    from mumon.formats import check_target

    if not estimate and not corpus:
        raise typer.BadParameter("name at least 1 text to read.", param_hint="CORPUS...")
    if not estimate and output is None:
        raise typer.BadParameter("name the model to write.", param_hint="'-o' / '--output'")
    if output is not None:
        options.check_output(corpus, output)
        check_target(output)
    if save_vocab is not None:
        options.check_output(corpus, save_vocab, *([] if output is None else [output]))
        options.check_vocabulary_target(save_vocab)
    if from_ is None and merge_vocab is not None:
        raise OptionError("--merge-vocab is about the words of another model; name that model with --from")
    if from_ is not None and ("vector_size" in model_options or "vocab" in model_options):
        raise OptionError("the model of --from has its own dimensions and words; leave out --dim and --vocab")


def _choose_workers(workers: int | None, threads: int | None, ray: str | None, nodes: int | None) -> int | None:
    """Return the number of threads; refuse `--ray --workers N`, which once meant N machines."""
    from mumon.errors import OptionError

    if ray is not None and workers is not None and nodes is None:
        raise OptionError(
            f"--workers {workers} is a number of threads, not of machines; write --nodes {workers} for machines, or "
            f"--threads {workers} for threads"
        )
    if workers is not None and threads is not None and workers != threads:
        raise OptionError(f"--workers {workers} and --threads {threads} are the same option; give it once")
    return threads if workers is None else workers


def _check_cluster(ray: str | None, nodes: int | None, sync_every: str | None, estimate: bool) -> int | None:
    """Refuse the options of a cluster without one; return the tokens between exchanges."""
    from mumon.errors import OptionError

    if ray is None and nodes is not None:
        raise OptionError(
            f"--nodes {nodes} is for a cluster; name the cluster with --ray, or write --workers {nodes} for threads of "
            "this machine"
        )
    if ray is None and sync_every is not None:
        raise OptionError(f"--sync-every {sync_every} is for the nodes of a cluster; name the cluster with --ray")
    if estimate and ray is not None and nodes is None:
        raise OptionError("--estimate does not connect to the cluster; give its number of nodes, such as --nodes 8")
    return options.parse_number("--sync-every", sync_every)


def _parse_size(estimate: bool, tokens: str | None, words: str | None, json: bool) -> tuple[int | None, int | None]:
    """Return the tokens and words to estimate for, if there are any."""
    from mumon.errors import OptionError

    for name, value in (("--tokens", tokens), ("--words", words), ("--json", json)):
        if value and not estimate:
            option = name if value is True else f"{name} {value}"
            raise OptionError(f"{option} is for an estimate, which trains nothing; add --estimate, or leave it out")
    return options.parse_number("--tokens", tokens), options.parse_number("--words", words)


def _build_model(model_options: dict[str, Any], from_: str | None, progress: Progress) -> Word2Vec:
    """Return the untrained model of an estimate."""
    from mumon.cli.train_run import open_model
    from mumon.fasttext import make_model

    if from_ is not None:
        return open_model(from_, model_options, progress)
    return make_model(progress=progress, **model_options)


def _show_estimate(
    model: Word2Vec,
    model_options: dict[str, Any],
    corpus: list[str],
    merge_vocab: Any,
    output: str | None,
    checkpoint_every: str | None,
    size: tuple[int | None, int | None],
    nodes: int,
    progress: Progress,
    as_json: bool,
) -> None:
    """Estimate the training of a model, and print it."""
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
    rates = (model_options.get(name) for name in ("total_epochs", "alpha", "min_alpha"))
    epochs = model._run.plan(model.epochs, model_options.get("epochs"), *rates)[1] if model.history else model.epochs
    every = Every.parse(checkpoint_every or DEFAULT_EVERY)
    plan = TrainingPlan(model, epochs, corpus, merge_vocab, *size, output, every, nodes)
    with progress:
        found = estimate(plan, progress)
    print(json.dumps(to_json(found), ensure_ascii=False) if as_json else "\n".join(format_lines(found)))
