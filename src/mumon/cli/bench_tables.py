"""The tables of `mumon bench`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mumon.cli.tables import escape, new_table, print_table, print_text
from mumon.experiments.bench.machine import format_machine
from mumon.experiments.bench.report import (
    format_mean,
    format_memory,
    format_relative,
    format_scaling,
    format_score,
    format_seconds,
    format_speed,
)
from mumon.experiments.bench.runner import MEAN

if TYPE_CHECKING:
    from rich.table import Table

    from mumon.experiments.bench.results import Results


def show(results: Results, folder: Path) -> None:
    """Print the tables of a comparison on standard output."""
    print_text()
    for threads in results.threads:
        print_table(_build_speeds(results, threads))
    if len(results.threads) > 1:
        print_table(_build_scaling(results))
    if results.tasks:
        print_table(_build_scores(results))
    for run in results.find_failed_runs():
        print_text(f"[red]{escape(run.system)} failed: {escape(run.failed)}[/]")
    print_text(f"everything, with plots: {escape(folder)}")


def _new_table(title: str, *columns: str) -> Table:
    table = new_table(title, "", *columns)
    table.columns[0].header = "system"
    return table


def _build_speeds(results: Results, threads: int) -> Table:
    work = f"{results.corpus.tokens:,} tokens × {results.work.epochs} epoch{'s' * (results.work.epochs > 1)}"
    title = f"{threads} thread{'s' * (threads > 1)}, {work}; × is the speed of {results.find_reference()}"
    table = _new_table(escape(title), "seconds", "×", "raw tokens/s", "trained/s", "memory")
    for row in results.summarise():
        if row.threads == threads:
            speeds = format_speed(row.raw_tokens_per_second), format_speed(row.trained_tokens_per_second)
            table.add_row(escape(row.name), format_seconds(row), format_relative(row), *speeds, format_memory(row))
    return table


def _build_scaling(results: Results) -> Table:
    heads = [f"{threads} thread{'s' * (threads > 1)}" for threads in results.threads]
    table = _new_table("seconds by threads, and the gain over the fewest", *heads)
    for system in results.systems:
        found = {row.threads: row for row in results.summarise() if row.system == system.id}
        table.add_row(escape(system.name), *(format_scaling(found.get(threads)) for threads in results.threads))
    return table


def _build_scores(results: Results) -> Table:
    table = _new_table("scores × 100, mean ± deviation of the runs [95 % over items]", *results.tasks, MEAN)
    for row in results.summarise():
        if row.threads == max(results.threads):
            cells = [format_score(row.scores.get(task)) for task in results.tasks]
            table.add_row(escape(row.name), *cells, escape(format_mean(row)))
    return table


def _new_sampler_table(title: str, *columns: str) -> Table:
    table = _new_table(title, *columns)
    table.columns[0].header = "sampler"
    return table


def show_samplers(results: dict[str, Any], folder: Path) -> None:
    """Print the tables of the sampler benchmark."""
    title = f"{results['draws']:,} draws, one thread"
    speeds = _new_sampler_table(title, "words", "build, s", "draws, s", "ns/draw", "memory")
    errors = _new_sampler_table(
        "drawn against wanted probability", "words", "largest error", "mean error", "never drawn", "distance"
    )
    for row in results["rows"]:
        each = 1e9 * row["draw_seconds"] / results["draws"]
        times = f"{row['build_seconds']:.3f}", f"{row['draw_seconds']:.3f}", f"{each:.1f}"
        speeds.add_row(row["sampler"], f"{row['words']:,}", *times, f"{row['bytes'] / 1e6:,.1f} MB")
        wrong = f"{row['largest_error']:.1e}", f"{row['mean_error']:.1e}"
        never = f"{row['never_drawn']:,} ({row['never_drawn'] / row['words']:.1%})"
        errors.add_row(row["sampler"], f"{row['words']:,}", *wrong, never, f"{row['distance']:.1e}")
    print_table(speeds)
    print_table(errors)
    print_text(f"everything, with a plot: {escape(folder)}")


def show_machine(machine: dict[str, Any]) -> None:
    """Print the description of the machine and its limits."""
    for name, value in format_machine(machine):
        print(f"{name:>10}  {value}")
    limits = machine["limits"]
    table = new_table("limits", "", *(f"{threads} thread{'s' * (threads > 1)}" for threads in limits["threads"]))
    for limit in limits["rows"]:
        values = [f"{value:,.1f} {limit['unit']}" for value in limit["values"]]
        table.add_row(escape(limit["name"]), *values)
    print_table(table)
    token, peak, reached = limits["per_token"], limits["rows"][0]["values"], limits["rows"][2]["values"]
    shares = ", ".join(f"{100 * now / most:.0f} %" for now, most in zip(reached, peak, strict=True))
    print(
        f"a CBOW token of 300 dimensions: {token['flops'] / 1e3:.1f} kFLOP of products, {token['bytes'] / 1e3:.1f} kB "
        f"of rows read and written; the kernel reaches {shares} of the large product's speed"
    )
