"""`mumon bench`: the same work for mumon and its peers, side by side; or a closer look at samplers or the machine."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mumon.cli import options

if TYPE_CHECKING:
    from mumon.experiments.bench.results import Results
    from mumon.utils.progress import Progress


def bench(
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            help="Plain text with one sentence per line, perhaps compressed: files, folders or quoted globs.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="The folder for results and plots.")] = "bench-results",
    systems: Annotated[
        str | None,
        typer.Option(
            help="Ids of the systems to compare, separated by commas (default: all that are installed).",
            show_default=False,
        ),
    ] = None,
    external: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COMMAND",
            help="Another program, with {corpus} {output} {dim} {window} {negative} {epochs} {min_count} {sample} "
            "{threads} {seed} in its command line.",
            show_default=False,
        ),
    ] = None,
    dim: Annotated[int, typer.Option("--dim", "--vector-size", min=1, help="Dimensions of the vectors.")] = 300,
    window: Annotated[int, typer.Option(min=1, help="Words to each side.")] = 5,
    negative: Annotated[int, typer.Option(min=1, help="Noise words per target.")] = 5,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the corpus.")] = 5,
    min_count: Annotated[int, typer.Option(min=1, help="Drop words that occur less often.")] = 5,
    sample: Annotated[float, typer.Option(min=0, help="Subsampling threshold, 0 for none.")] = 1e-3,
    sentences: Annotated[int | None, typer.Option(min=1, help="Read only this many lines.", show_default=False)] = None,
    workers: Annotated[
        str | None,
        typer.Option(
            "--workers", "--threads", help="Threads, or a list such as 1,2,4 (default: all cores).", show_default=False
        ),
    ] = None,
    scaling: Annotated[bool, typer.Option("--scaling", help="1, 2, 4, … threads, up to all cores.")] = False,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each system, interleaved.")] = 3,
    reference: Annotated[str, typer.Option(help="The system that speeds are compared with.")] = "gensim-cbow",
    no_quality: Annotated[bool, typer.Option("--no-quality", help="Measure time and memory alone.")] = False,
    sampler: Annotated[bool, typer.Option("--sampler", help="Compare ways to draw noise words instead.")] = False,
    draws: Annotated[int, typer.Option(min=1, help="With --sampler: the number of draws to time.")] = 10_000_000,
    vocab: Annotated[str, typer.Option(help="With --sampler: sizes of the vocabulary.")] = "1e3,1e4,1e5,1e6,1e7",
    machine: Annotated[bool, typer.Option("--machine", help="Describe and measure this machine instead.")] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Train with mumon, gensim, word2vec.c and fastText on the same text, and compare time, memory and quality.

    Each run is a process of its own, timed from text to saved vectors. Runs are interleaved, and every system has its
    own default learning rate. OUTPUT gets results.json, results.md and plots. The extra "bench" of mumon installs the
    other systems.

    Example: mumon bench corpus.txt --sentences 100000
    """
    from mumon.errors import OptionError
    from mumon.experiments.bench.comparison import BenchOptions
    from mumon.experiments.bench.systems import choose_systems, parse_external_system
    from mumon.experiments.bench.work import Work

    progress = options.reporter(quiet)
    if sampler or machine:
        if corpus or sampler == machine:
            raise OptionError("--sampler and --machine are separate benchmarks; give 1 of them, and no text")
        _measure_samplers(draws, vocab, Path(output), progress, json, quiet) if sampler else _measure_machine(json)
        return
    if not corpus:
        raise OptionError("there is no text to train on; name at least 1 file, or use --sampler or --machine")
    ids = None if systems is None else options.split_names(systems)
    chosen = choose_systems(ids, [parse_external_system(text) for text in external or ()])
    work = Work(dim, window, negative, epochs, min_count, sample)
    how = BenchOptions(_parse_workers(workers, scaling), repeats, sentences, reference, quality=not no_quality)
    results = _compare(
        {"corpus": corpus, "folder": Path(output), "work": work, "chosen": chosen, "options": how}, progress
    )
    if json:
        print(json_.dumps(results.to_json(), ensure_ascii=False))
    elif not quiet:
        from mumon.cli.bench_tables import show

        show(results, Path(output))


def _parse_workers(text: str | None, scaling: bool) -> list[int] | None:
    """Return the numbers in --workers, or for --scaling the powers of two up to all cores."""
    from mumon.errors import OptionError
    from mumon.utils.threads import available_cores

    if text is not None:
        try:
            return [int(part) for part in text.split(",")]
        except ValueError:
            raise OptionError(f"--workers is {text!r}; write whole numbers with commas between, such as 1,2") from None
    cores = available_cores()
    return sorted({2**power for power in range(cores.bit_length()) if 2**power < cores} | {cores}) if scaling else None


def _compare(arguments: dict[str, Any], progress: Progress) -> Results:
    """Compare the systems; the message after Ctrl-C says how many runs are kept."""
    from mumon.experiments.bench.comparison import BenchInterrupted, compare
    from mumon.utils.signals import reword_interrupt

    try:
        return compare(**arguments, progress=progress)
    except BenchInterrupted as stopped:
        runs = "1 run is" if stopped.runs == 1 else f"{stopped.runs} runs are"
        raise reword_interrupt(stopped, f"stopped; {runs} kept in {arguments['folder']}") from None


def _measure_samplers(draws: int, vocab: str, folder: Path, progress: Progress, json: bool, quiet: bool) -> None:
    from mumon.experiments.bench.sampler_times import measure_samplers, parse_sizes

    results = measure_samplers(parse_sizes(vocab), draws, folder, progress)
    if json:
        print(json_.dumps(results))
    elif not quiet:
        from mumon.cli.bench_tables import show_samplers

        show_samplers(results, folder)


def _measure_machine(json: bool) -> None:
    from mumon.experiments.bench.machine import describe_machine
    from mumon.experiments.bench.roofline import measure_machine

    machine = {**describe_machine(), "limits": measure_machine()}
    if json:
        print(json_.dumps(machine))
        return
    from mumon.cli.bench_tables import show_machine

    show_machine(machine)
