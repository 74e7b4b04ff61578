"""results.md: the tables of a benchmark for people; and the writing of all result files."""

from __future__ import annotations

from pathlib import Path

from mumon.experiments.bench.machine import format_machine
from mumon.experiments.bench.plots import PLOT_NAMES, draw_quality, draw_times
from mumon.experiments.bench.results import Results, SummaryRow
from mumon.experiments.bench.runner import MEAN
from mumon.experiments.plot_style import FORMATS
from mumon.utils.atomic import atomic_file

REPORT_NAME = "results.md"


def write_report(results: Results, folder: Path, plots: bool = True) -> list[Path]:
    """Write the results of a benchmark into a folder.

    Parameters
    ----------
    results
        The runs so far.
    folder
        Where results.json, results.md and the plots go.
    plots
        Whether to draw the plots; they are left out, with a note, if matplotlib is missing.

    Returns
    -------
    list of Path
        The files that were written.
    """
    if len(results.runs) == 1:  # plots of an earlier comparison would look like this one's
        for path in (folder / f"{name}.{kind}" for name in PLOT_NAMES for kind in FORMATS):
            path.unlink(missing_ok=True)
    paths = [results.save(folder)]
    if plots and results.summarise():
        try:
            drawn = [*draw_times(results, folder), *draw_quality(results, folder)]
        except ImportError:
            drawn = []
            note = 'plots are left out: matplotlib is not installed; try pip install "mumon[bench]"'
            if note not in results.notes:
                results.notes.append(note)
        paths += drawn
    with atomic_file(folder / REPORT_NAME) as file:
        file.write(format_markdown(results).encode())
    return [*paths, folder / REPORT_NAME]


def format_markdown(results: Results) -> str:
    """Format the whole report as Markdown."""
    work, corpus = results.work, results.corpus
    sentences = [
        f"{', '.join(corpus.names[:3])}{' …' * (len(corpus.names) > 3)}: {corpus.sentences:,} sentences, "
        f"{corpus.tokens:,} tokens, {corpus.words:,} different words, {corpus.trained_words:,} of them kept.",
        f"{work.dim} dimensions, window {work.window}, {work.negative} negatives, {work.epochs} "
        f"epoch{'s' * (work.epochs > 1)}, minimum count {work.min_count}, subsampling at {work.sample:g}; every system "
        "at its own default rate.",
        f"Wall time from text to saved vectors, each run in a process of its own; median [fastest–slowest] of "
        f"{results.repeats} interleaved run{'s' * (results.repeats > 1)}.",
    ]
    if not results.complete:
        sentences.append("**Not all runs were made.**")
    parts = ["# mumon bench", "\n".join(sentences)]
    parts += [_format_table(results, threads) for threads in results.threads]
    if len(results.threads) > 1:
        parts.append(_format_scaling(results))
    parts += [_explain_columns(results), *[f"- {note}" for note in results.notes]]
    names = {system.id: system.name for system in results.systems}
    parts += [
        f"- {names[run.system]} ({run.threads} threads) failed: {run.failed}" for run in results.find_failed_runs()
    ]
    parts += ["## Machine", _format_rows(["", ""], [list(pair) for pair in format_machine(results.machine)], "---")]
    return "\n\n".join(parts) + "\n"


def _format_table(results: Results, threads: int) -> str:
    rows = [row for row in results.summarise() if row.threads == threads]
    head = ["system", "seconds", "×", "raw tokens/s", "trained tokens/s", "memory", *results.tasks]
    head += [MEAN] * bool(results.tasks)
    body = [
        [
            row.name,
            format_seconds(row),
            format_relative(row),
            format_speed(row.raw_tokens_per_second),
            format_speed(row.trained_tokens_per_second),
            format_memory(row),
            *(format_score(row.scores.get(task)) for task in results.tasks),
            *[format_mean(row)] * bool(results.tasks),
        ]
        for row in rows
    ]
    return f"## {threads} thread{'s' * (threads > 1)}\n\n" + _format_rows(head, body)


def _format_scaling(results: Results) -> str:
    """Format seconds by threads, and the speed relative to the fewest threads."""
    head = ["system", *(f"{threads} thread{'s' * (threads > 1)}" for threads in results.threads)]
    body = []
    for system in results.systems:
        found = {row.threads: row for row in results.summarise() if row.system == system.id}
        cells = [format_scaling(found.get(threads)) for threads in results.threads]
        body.append([system.name, *cells])
    return "## Seconds by threads\n\n" + _format_rows(head, body)


def _explain_columns(results: Results) -> str:
    reference = {system.id: system.name for system in results.systems}.get(results.find_reference() or "")
    lines = [f"× is the speed relative to {reference}."] if reference else []
    if results.tasks:
        lines.append(
            "Scores × 100 on all items whose words are known, averaged over runs; the mean comes with its standard "
            "deviation between runs and, in brackets, the 95 % interval from resampling the items."
        )
    return " ".join(lines)


def _format_rows(head: list[str], body: list[list[str]], others: str = "---:") -> str:
    rows = [head, ["---", *[others] * (len(head) - 1)], *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def format_seconds(row: SummaryRow) -> str:
    """Format the median time, and the range if there are several runs."""
    digits = 1 if row.seconds >= 10 else 2
    middle = f"{row.seconds:,.{digits}f}"
    return middle if row.repeats < 2 else f"{middle} [{row.fastest:,.{digits}f}–{row.slowest:,.{digits}f}]"


def format_relative(row: SummaryRow) -> str:
    """Format the speed relative to the reference."""
    return "–" if row.relative is None else f"{row.relative:.2f}"


def format_scaling(row: SummaryRow | None) -> str:
    """Format seconds, and the speed relative to the fewest threads."""
    if row is None:
        return "–"
    return f"{row.seconds:,.{1 if row.seconds >= 10 else 2}f}" + (f" (×{row.scaling:.2f})" if row.scaling else "")


def format_speed(tokens: float) -> str:
    """Format tokens per second in short.

    >>> format_speed(2_345_678), format_speed(98_765)
    ('2.35 M', '98.8 k')
    """
    return f"{tokens / 1e6:.2f} M" if tokens >= 1e6 else f"{tokens / 1e3:.1f} k"


def format_memory(row: SummaryRow) -> str:
    """Format the largest peak of all runs."""
    return "–" if row.peak_bytes is None else f"{row.peak_bytes / 1e6:,.0f} MB"


def format_score(score: float | None) -> str:
    """Format a score, or a dash where it is not defined."""
    return "–" if score is None or score != score else f"{score:.1f}"


def format_mean(row: SummaryRow) -> str:
    """Format the mean score, its standard deviation between runs, and the interval over items."""
    cell = format_score(row.scores.get(MEAN))
    if row.spread is not None:
        cell += f" ± {row.spread:.1f}"
    return cell if row.interval is None else f"{cell} [{row.interval[0]:.1f} … {row.interval[1]:.1f}]"
