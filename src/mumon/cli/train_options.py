"""The options of `mumon train`, and what they are called in Python."""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated, Any

import typer

from mumon.cli.options import parse_number
from mumon.errors import OptionError


class Update(str, Enum):
    """The CBOW update that is applied."""

    correct = "correct"
    faulty = "faulty"


class MergeVocab(str, Enum):
    """The words that a model has after more training."""

    old = "old"
    new = "new"
    union = "union"


class Matrices(str, Enum):
    """Where the two matrices are during training."""

    memory = "memory"
    disk = "disk"


def option(flags: str, help_: str, **more: Any) -> Any:
    """Return an option whose help text itself names the default, if there is one."""
    return typer.Option(*flags.split(), help=help_, show_default=False, **more)


CLUSTER, ESTIMATE = "On a cluster", "Estimate"

Corpus = Annotated[
    list[str] | None,
    typer.Argument(
        help="Files, folders, quoted globs or - for standard input: text with one sentence per line (also .gz .bz2 "
        ".xz .zst), JSON lines (.jsonl) or Parquet; or URLs of these.",
        show_default=False,
    ),
]
Output = Annotated[
    str | None,
    option(
        "-o --output",
        "The model folder to write, or a file of vectors alone: .bin .txt .glove (not needed for an estimate).",
    ),
]
Objective = Annotated[str | None, option("--objective", "cbow or sg, skip-gram (default: cbow).", metavar="NAME")]
UpdateOption = Annotated[
    Update | None, option("--update", "CBOW's true gradient, or word2vec.c's update (default: correct).")
]
Exact = Annotated[bool | None, option("--exact", "One step per window with fresh noise words, as in the paper.")]
CbowSum = Annotated[bool | None, option("--cbow-sum", "Sum the context vectors instead of averaging them.")]
Positions = Annotated[
    int | None,
    option("--positions", "Learn weights of this many groups of distances to each side, e.g. 4 (default: 0).", min=0),
]
Subwords = Annotated[
    str | None,
    option(
        "--subwords", "Learn vectors of character n-grams, e.g. 3-6: any word then has a vector.", metavar="MIN-MAX"
    ),
]
Buckets = Annotated[
    str | None,
    option("--buckets", "With --subwords: rows that n-grams are hashed into (k, M) (default: 2M).", metavar="NUMBER"),
]
PoolRows = Annotated[
    bool | None, option("--pool-rows", "With --subwords: average all rows of a window alike, as fastText does.")
]
Dim = Annotated[int | None, option("--dim --vector-size", "Dimensions of the vectors (default: 100).", min=1)]
Window = Annotated[
    int | None, option("--window", "Words to each side (default: 10; sg, exact, faulty, sum: 5).", min=1)
]
FixedWindow = Annotated[bool | None, option("--fixed-window", "Always use the full window.")]
Negative = Annotated[int | None, option("--negative", "Noise words per target (default: 5).", min=1)]
SharedNegatives = Annotated[
    int | None, option("--shared-negatives", "Noise words shared by a batch (default: 16; sg: 32).", min=1)
]
Batch = Annotated[int | None, option("--batch", "Targets that share noise words (default: 8; sg: 32).", min=1)]
NsExponent = Annotated[float | None, option("--ns-exponent", "Noise ∝ count^this (default: 0.75).")]
RateExponent = Annotated[
    float | None, option("--rate-exponent", "Rates ∝ share^-this (default: 0.25; 0 with --exact).", min=0)
]
TargetWeight = Annotated[
    float | None,
    option(
        "--target-weight",
        "Vectors are source + this × target rows (default: 0.25; positions: 0.5; sg, exact, faulty, sum: 0).",
        min=0,
    ),
]
Epochs = Annotated[int | None, option("--epochs", "Passes over the corpus (default: 5).", min=1)]
TotalEpochs = Annotated[
    int | None, option("--total-epochs", "Epochs of the rate schedule, if you will train more later.", min=1)
]
Lr = Annotated[float | None, option("--lr --alpha", "First learning rate (default: by tokens × epochs).")]
MinLr = Annotated[float | None, option("--min-lr --min-alpha", "Last learning rate (default: 0.0001).")]
Subsample = Annotated[float | None, option("--sample", "Subsampling threshold, 0 for none (default: 0.001).")]
Vocab = Annotated[str | None, option("--vocab", "Use this vocabulary: a file of `word count` lines.")]
SaveVocab = Annotated[str | None, option("--save-vocab", "Also write the vocabulary here.")]
From = Annotated[str | None, option("--from", "Continue from this model, or start from these vectors.")]
Merge = Annotated[
    MergeVocab | None,
    option("--merge-vocab", "With --from: keep the old words, the new ones, or both (default: union)."),
]
Shuffle = Annotated[bool | None, option("--shuffle", "Shuffle the sentences before each epoch.")]
Seed = Annotated[int | None, option("--seed", "Seed of all random draws (default: 1).", min=0)]
Workers = Annotated[
    int | None, option("--workers", "Threads; of each node on a cluster (default: one per core).", min=1)
]
Threads = Annotated[int | None, option("--threads", "Another name of --workers.", min=1)]
MatricesOption = Annotated[
    Matrices | None,
    option("--matrices", "Where the matrices are; disk is for models larger than the memory (default: memory)."),
]
CheckpointEvery = Annotated[
    str | None, option("--checkpoint-every", "A time (30s, 10m, 2h), a number of tokens (50M) or never (default: 10m).")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an unfinished run of the same command.")]
Restart = Annotated[bool, typer.Option("--restart", help="Discard an unfinished run and start again.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Report progress as JSON lines on standard output.")]
Ray = Annotated[
    str | None,
    option("--ray", "Train on a Ray cluster: its address, auto, or local.", rich_help_panel=CLUSTER, metavar="ADDRESS"),
]
Nodes = Annotated[
    int | None, option("--nodes", "Machines to train on (default: all of them).", rich_help_panel=CLUSTER, min=1)
]
SyncEvery = Annotated[
    str | None,
    option(
        "--sync-every", "Tokens that each node trains between exchanges: 500k, 2M … (default: automatic).",
        rich_help_panel=CLUSTER, metavar="TOKENS",
    ),
]  # fmt: skip
Estimate = Annotated[
    bool,
    option("--estimate", "Train nothing; estimate time, memory and disk.", rich_help_panel=ESTIMATE),
]
Tokens = Annotated[
    str | None,
    option("--tokens", "Estimate for this many tokens (k, M, G) of text.", rich_help_panel=ESTIMATE, metavar="NUMBER"),
]
Words = Annotated[
    str | None,
    option("--words", "Estimate for this many distinct words (k, M, G).", rich_help_panel=ESTIMATE, metavar="NUMBER"),
]
Json = Annotated[bool, option("--json", "With --estimate: print JSON, for programs.", rich_help_panel=ESTIMATE)]

# The names of options in Python, where they differ. Three more have other values as well: see `build_model_options`.
PYTHON_NAMES = {
    "dim": "vector_size",
    "lr": "alpha",
    "min_lr": "min_alpha",
    "max_vocab": "max_final_vocab",
}


def build_model_options(options: dict[str, Any]) -> dict[str, Any]:
    """Translate the options of the command line to those of `Word2Vec`.

    Parameters
    ----------
    options
        The options by their names on the command line; those that are None were left out.

    Returns
    -------
    dict
        Keyword arguments of `Word2Vec`, without what was left out.

    Examples
    --------
    >>> build_model_options({"dim": 300, "window": None, "cbow_sum": True, "update": Update.faulty})
    {'vector_size': 300, 'update': 'faulty', 'cbow_mean': 0}
    """
    chosen = {PYTHON_NAMES.get(name, name): value for name, value in options.items() if value is not None}
    chosen = {name: value.value if isinstance(value, Enum) else value for name, value in chosen.items()}
    if "cbow_sum" in chosen:
        chosen["cbow_mean"] = int(not chosen.pop("cbow_sum"))
    if "fixed_window" in chosen:
        chosen["shrink_windows"] = not chosen.pop("fixed_window")
    if "subwords" in chosen:
        chosen["min_n"], chosen["max_n"] = parse_lengths(chosen.pop("subwords"))
        if "buckets" in chosen:
            chosen["bucket"] = parse_number("--buckets", chosen.pop("buckets"))
    elif "buckets" in chosen or "pool_rows" in chosen:
        raise OptionError("--buckets and --pool-rows are about n-grams; add --subwords 3-6, or leave them out")
    return chosen


def parse_lengths(text: str) -> tuple[int, int]:
    """Read the least and greatest length of n-grams.

    >>> parse_lengths("3-6"), parse_lengths("5")
    ((3, 6), (5, 5))
    """
    found = re.fullmatch(r"(\d{1,3})(?:-(\d{1,3}))?", text.strip())
    if found is None:
        raise OptionError(f"--subwords is {text!r}; write the least and greatest length of n-grams, such as 3-6")
    return int(found[1]), int(found[2] or found[1])
