"""`mumon sweep`: which options are best, chosen on the dev halves and tested once."""

from __future__ import annotations

import json as json_
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mumon.cli import options

if TYPE_CHECKING:
    from mumon.experiments.sweep import SweepResult
    from mumon.utils.progress import Progress

# Options by their names on the command line, in the order in which the grid runs: the rate changes fastest, so that
# the curves are finished one after the other.
PYTHON_NAMES = {
    "objective": "objective",
    "update": "update",
    "dim": "vector_size",
    "window": "window",
    "positions": "positions",
    "negative": "negative",
    "shared-negatives": "shared_negatives",
    "batch": "batch",
    "ns-exponent": "ns_exponent",
    "rate-exponent": "rate_exponent",
    "target-weight": "target_weight",
    "sample": "sample",
    "min-count": "min_count",
    "epochs": "epochs",
    "min-lr": "min_alpha",
    "lr": "alpha",
}


def _list_option(flags: str, help_: str) -> Any:
    return typer.Option(*flags.split(), help=help_, show_default=False, metavar="LIST")


def sweep(
    corpus: options.Corpus,
    output: Annotated[
        str, typer.Option("-o", "--output", help="The folder of the sweep; the same command resumes there.")
    ],
    lr: Annotated[
        str | None,
        _list_option(
            "--lr --alpha", "First learning rates (default, if no other list: 0.025,0.05,0.075,0.1,0.15,0.2,0.3,0.45)."
        ),
    ] = None,
    epochs: Annotated[str | None, _list_option("--epochs", "Passes over the corpus.")] = None,
    window: Annotated[str | None, _list_option("--window", "Words to each side.")] = None,
    positions: Annotated[
        str | None, _list_option("--positions", "Groups of distances with learned weights, 0 for none.")
    ] = None,
    negative: Annotated[str | None, _list_option("--negative", "Noise words per target.")] = None,
    shared_negatives: Annotated[
        str | None, _list_option("--shared-negatives", "Noise words shared by a batch.")
    ] = None,
    batch: Annotated[str | None, _list_option("--batch", "Targets that share noise words.")] = None,
    dim: Annotated[str | None, _list_option("--dim --vector-size", "Dimensions of the vectors.")] = None,
    sample: Annotated[str | None, _list_option("--sample", "Subsampling thresholds.")] = None,
    min_count: Annotated[str | None, _list_option("--min-count", "Drop words that occur less often.")] = None,
    ns_exponent: Annotated[str | None, _list_option("--ns-exponent", "Noise ∝ count^this.")] = None,
    rate_exponent: Annotated[str | None, _list_option("--rate-exponent", "Rates ∝ share^-this.")] = None,
    target_weight: Annotated[
        str | None, _list_option("--target-weight", "Vectors are source + this × target rows.")
    ] = None,
    min_lr: Annotated[str | None, _list_option("--min-lr --min-alpha", "Last learning rates.")] = None,
    objective: Annotated[str | None, _list_option("--objective", "cbow, sg, or both: cbow,sg.")] = None,
    update: Annotated[str | None, _list_option("--update", "correct, faulty, or both: correct,faulty.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="One step per window, as in the paper.")] = False,
    random: Annotated[
        int | None,
        typer.Option(
            "--random",
            min=1,
            metavar="N",
            help="Draw this many configurations from lists, or from ranges such as 0.01..0.5.",
            show_default=False,
        ),
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(
            "--tasks",
            help="Tasks to choose by: names or files, separated by commas (default: ws353,men,rw,syn,mixed).",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            "--compare",
            metavar="OPTION",
            help="Test the best of each value of this option, e.g. update.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Train each configuration with this many seeds.")] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The first seed, also used by --random.")] = 1,
    workers: options.Workers = None,
    tokenize: options.Tokenize = None,
    lowercase: options.Lowercase = None,
    text_field: options.TextField = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train CORPUS with many options, choose the best on the dev halves of the tasks, and test it once.

    A LIST is 0.05,0.1,0.2: every combination of all lists is trained. One value applies to all runs. The corpus is
    encoded once. Ctrl-C loses only the current run: the same command resumes, and longer lists train only what is new.

    Example: mumon sweep corpus.txt -o sweep --lr 0.05,0.1,0.2 --window 5,10
    """
    lists = {
        "objective": objective,
        "update": update,
        "dim": dim,
        "window": window,
        "positions": positions,
        "negative": negative,
        "shared-negatives": shared_negatives,
        "batch": batch,
        "ns-exponent": ns_exponent,
        "rate-exponent": rate_exponent,
        "target-weight": target_weight,
        "sample": sample,
        "min-count": min_count,
        "epochs": epochs,
        "min-lr": min_lr,
        "lr": lr,
    }
    common = {"exact": exact or None, "tokenize": tokenize, "lowercase": lowercase, "text_field": text_field}
    progress = options.reporter(quiet)
    arguments = {
        "folder": output,
        "tasks": None if tasks is None else options.split_names(tasks),
        "search": "grid" if random is None else "random",
        "draws": random,
        "seed": seed,
        "seeds": range(seed, seed + seeds),
        "fixed": {name: value for name, value in {**common, "workers": workers}.items() if value is not None},
        "compare": None if compare is None else PYTHON_NAMES.get(compare.lstrip("-"), compare.replace("-", "_")),
        "progress": progress,
    }
    result = _run(corpus, _build_space(lists, random is not None), arguments, progress)
    from mumon.cli.sweep_tables import show

    if json:
        print(json_.dumps(result.to_json(), ensure_ascii=False))
    elif not quiet:
        show(result)


def _build_space(lists: dict[str, str | None], at_random: bool) -> dict[str, Any]:
    """Return the values of each option; the default rates are added if nothing else varies."""
    from mumon.experiments.sweep.space import check_space, find_swept_options, parse_values

    space = {
        PYTHON_NAMES[name]: parse_values(PYTHON_NAMES[name], text) for name, text in lists.items() if text is not None
    }
    if "alpha" not in space and not find_swept_options(space):
        space |= check_space(None, "random" if at_random else "grid")
    return space


def _run(corpus: list[str], space: dict[str, Any], arguments: dict[str, Any], progress: Progress) -> SweepResult:
    """Run the sweep; the message after Ctrl-C says how many runs are kept."""
    from mumon.experiments.sweep import sweep as run
    from mumon.experiments.sweep.runs import count_finished_runs
    from mumon.utils.signals import reword_interrupt

    try:
        return run(corpus, space, **arguments)
    except KeyboardInterrupt as error:
        progress.close()
        done = count_finished_runs(arguments["folder"])
        runs = f"{done} finished run{'s' * (done != 1)} {'are' if done != 1 else 'is'} kept"
        raise reword_interrupt(error, f"stopped; {runs}, and the same command resumes") from None
