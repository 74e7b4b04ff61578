"""`mumon paper`: the paper's tables and figures, as one report."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mumon.cli import options

if TYPE_CHECKING:
    from mumon.experiments.paper import PaperReport
    from mumon.utils.progress import Progress

COLOURS = {"holds": "green", "does not hold": "red", "undecided": "yellow", "not judged": "cyan"}


def paper(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[all|NAME…]",
            help="Experiments: table1 extrinsic times norms angle curves sampler negatives rates gradcheck sizes "
            "both-sides sentences growth positions subwords c4.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option(help="small (minutes), medium (an hour or two on 2 cores) or full (the paper's settings).")
    ] = "small",
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            help="Text, one sentence per line; without it, the small scale makes up a language.", show_default=False
        ),
    ] = None,
    output: Annotated[str, typer.Option("-o", "--output", help="The folder of the report.")] = "paper-report",
    cache: Annotated[
        str | None,
        typer.Option(help="Where measurements are kept (default: the folder cache of the report).", show_default=False),
    ] = None,
    extrinsic: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="What mumon eval --extrinsic --json printed, to include.", show_default=False
        ),
    ] = None,
    bench: Annotated[
        str | None, typer.Option(metavar="JSON", help="results.json of mumon bench, to include.", show_default=False)
    ] = None,
    c4: Annotated[
        list[str] | None,
        typer.Option(help="A second corpus, for 768 dimensions and 5 M words (at full scale).", show_default=False),
    ] = None,
    more: Annotated[
        list[str] | None,
        typer.Option(help="More text, which growth adds to the corpus for its largest part.", show_default=False),
    ] = None,
    german: Annotated[
        list[str] | None,
        typer.Option(help="German text, on which subwords are trained, too.", show_default=False),
    ] = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Only estimate the time and the memory.")] = False,
    render: Annotated[
        bool,
        typer.Option("--render", help="Measure nothing: write the pages again from the report's data (and --bench)."),
    ] = False,
    workers: options.Workers = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Repeat the paper's experiments, and compare each of its claims with what was measured here.

    Writes a report that needs no network, every table as CSV and every figure as SVG and PNG. Measurements are kept:
    the same command resumes, and measures only what is new. The full scale first estimates time and memory.

    Example: mumon paper all --scale medium --corpus wiki.txt -o report
    """
    from mumon.errors import TrainingError
    from mumon.experiments.paper import render_paper

    progress = options.reporter(quiet)
    if render:
        texts = {"--corpus": corpus, "--c4": c4, "--more": more, "--german": german}
        _refuse_beside_render({"--estimate": estimate, **texts, "NAMES": names})
    elif estimate or (scale == "full" and corpus):
        files = {"corpus": corpus or [], "c4": c4 or [], "more": more or [], "german": german or []}
        _estimate(names or ["all"], scale, files, workers, progress, json and estimate)
    if estimate:
        return
    asked: dict[str, Any] = {"scale": scale, "corpus": corpus, "c4": c4, "more": more, "german": german}
    asked |= {"output": output, "cache": cache, "extrinsic": extrinsic, "bench": bench}
    asked |= {"threads": workers, "command": _command(), "progress": progress}
    report = render_paper(output, bench) if render else _run(names or ["all"], asked, progress)
    if json:
        import json as json_

        print(json_.dumps(report.to_json(), ensure_ascii=False))
    elif not quiet:
        _show(report)
    if report.failed:
        first, reason = next(iter(report.failed.items()))
        raise TrainingError(f"{len(report.failed)} experiments failed, the first is {first}: {reason}")


def _refuse_beside_render(given: dict[str, Any]) -> None:
    """Refuse what says what to measure, where nothing is measured."""
    from mumon.errors import OptionError

    unused = [name for name, value in given.items() if value]
    if unused:
        raise OptionError(
            f"--render measures nothing and writes all sections again, and {len(unused)} options say what to measure; "
            f"leave out {' and '.join(unused)}"
        )


def _run(names: list[str], asked: dict[str, Any], progress: Progress) -> PaperReport:
    from mumon.experiments.paper import run_paper
    from mumon.utils.signals import Interrupted, reword_interrupt

    try:
        return run_paper(names, **asked)
    except (Interrupted, KeyboardInterrupt) as stopped:
        progress.close()
        cache = asked["cache"] or f"{asked['output']}/cache"
        raise reword_interrupt(
            stopped, f"stopped; what was measured is kept in {cache}, and the same command resumes"
        ) from None


def _command() -> str:
    """Return the command line without its folders, for the report."""
    words = (re.sub(r"[^=\s]*[/\\\\]", "", word) for word in sys.argv[1:])
    return " ".join(["mumon", *map(shlex.quote, words)])


def _estimate(
    names: list[str],
    scale: str,
    files: dict[str, list[str]],
    workers: int | None,
    progress: Progress,
    json: bool,
) -> None:
    """Print what the experiments would take, on standard error."""
    import json as json_
    from dataclasses import asdict

    from mumon.corpus import corpus_from_files
    from mumon.experiments.paper import estimate as estimates
    from mumon.experiments.paper.run import choose_items
    from mumon.experiments.paper.scales import find_scale
    from mumon.utils.threads import available_cores

    chosen, workers = find_scale(scale), workers or available_cores()
    wanted = {item.name for item in choose_items(names)[0]}
    read = {
        text: corpus_from_files(names, workers=workers, progress=progress) for text, names in files.items() if names
    }
    sizes = {text: estimates.measure_corpus(", ".join(files[text]), read[text], chosen) for text in read}
    first = sizes.get("corpus") or (estimates.GENERATED_SIZE if scale == "small" else estimates.WIKIPEDIA_SIZE)
    second = sizes.get("c4") or (estimates.C4_SIZE if scale == "full" and "corpus" not in sizes else None)
    more, german = (sizes[text].tokens if text in sizes else 0 for text in ("more", "german"))
    progress.note("measuring how fast this machine trains …")
    needs = estimates.estimate_items(chosen, first, second, workers, wanted, more, german)
    if json:
        print(
            json_.dumps({"corpus": asdict(first), "c4": second and asdict(second), "needs": [asdict(n) for n in needs]})
        )
    else:
        lines = (
            estimates.format_estimate(needs, first, second, workers) if needs else ["0 trainings: these take seconds"]
        )
        print("\n".join(lines), file=sys.stderr)


def _show(report: PaperReport) -> None:
    from mumon.cli.tables import escape, print_text

    for section in report.sections.values():
        print_text(f"\n[bold]{section.title}[/]")
        for verdict in section.verdicts:
            colour = COLOURS[verdict.outcome]
            print_text(f"  [{colour}]{verdict.outcome}[/]  {escape(verdict.claim)}")
            print_text(f"      [dim]{escape(verdict.ours)}[/]")
    print_text(f"\nThe report is {escape(report.page)} ({report.seconds:.0f} s).")
